"""The sampler in Optuna: its runs are those of a study of ours, whatever Optuna does with trials."""

from __future__ import annotations

import importlib
import logging
import pickle

import optuna
import pytest

import bostruct as bo
from bostruct.contracts import BostructError, DomainError, MissingExtra, PointError
from bostruct.integrations import optuna_spaces
from bostruct.integrations.optuna import BostructSampler

SPACE = bo.Space(
    {
        "order": bo.Permutation(list("abcd")),
        "rate": bo.Real(1e-3, 1.0, log=True),
        "kind": ["a", "b"],
        "width": bo.Integer(1, 64, log=True, when={"kind": "b"}),
    }
)
SMALL = {"a": ["x", "y", "z"], "b": bool}


def cost(point):
    if point["rate"] > 0.5:
        raise ValueError("diverged")
    places = sum(i * "abcd".index(item) for i, item in enumerate(point["order"]))
    return places + point["rate"] + abs(point.get("width", 20) - 8) / 8


def ask_small(trial):
    return trial.suggest_categorical("a", ["x", "y", "z"]), trial.suggest_categorical("b", [True, False])


def cost_small(trial):
    a, b = ask_small(trial)
    return "xyz".index(a) + b


def run_by_definition(seed, n=14, **settings):
    """Return the parameters of a run in which no space is given."""
    study = optuna.create_study(sampler=BostructSampler(seed=seed, **settings))
    study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2 + trial.suggest_int("k", 1, 9), n)
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize("method", ["auto", "annealing"])
def test_a_run_is_that_of_a_study_of_ours(method):
    ours = bo.Study(SPACE, method=method, seed=3)
    ours.optimize(cost, 16)
    sampler = BostructSampler(SPACE, method=method, seed=3)
    theirs = optuna.create_study(sampler=sampler)
    theirs.optimize(lambda trial: cost(sampler.suggest_point(trial)), 16, catch=ValueError)
    assert [trial.value for trial in theirs.trials] == [trial.value for trial in ours.trials]
    assert {trial.status for trial in ours.trials} == {"completed", "failed"}
    for mine, other in zip(ours.trials, theirs.trials, strict=True):
        assert other.params == {name: value for name, value in mine.point.items() if name != "order"}
        assert other.user_attrs["order"] == list(mine.point["order"])


def test_limits_and_objectives_are_those_of_a_study_of_ours():
    def measure(a, b):
        return (a + b / 10, a - b / 10), {"sum": a + b / 10 - 1.2}

    space = {"a": bo.Real(0.0, 1.0), "b": bo.Integer(0, 10)}
    ours = bo.Study(space, seed=0, directions=["minimize", "maximize"], constraints={"sum": ("<=", 0.0)})

    def our_objective(point):
        values, constraints = measure(**point)
        return {"value": values, "constraints": constraints}

    def their_objective(trial):
        values, constraints = measure(trial.suggest_float("a", 0, 1), trial.suggest_int("b", 0, 10))
        trial.set_constraint("sum", constraints["sum"])
        return values

    ours.optimize(our_objective, 13)
    sampler = BostructSampler(space, seed=0)
    theirs = optuna.create_study(sampler=sampler, directions=["minimize", "maximize"])
    theirs.optimize(their_objective, 13)
    assert [tuple(trial.values) for trial in theirs.trials] == [trial.values for trial in ours.trials]


def test_the_same_seed_is_the_same_run_and_another_is_not():
    assert run_by_definition(0) == run_by_definition(0) != run_by_definition(1)


def test_a_pickled_sampler_goes_on_as_if_it_had_never_stopped():
    space = {f"b{i}": bool for i in range(6)}

    def objective(trial):
        return sum(trial.suggest_categorical(name, [False, True]) for name in space)

    def run(stops):
        study = optuna.create_study(sampler=BostructSampler(space, method="annealing", seed=0))
        for n in stops:
            study.optimize(objective, n)
            study.sampler = pickle.loads(pickle.dumps(study.sampler))
        return [trial.params for trial in study.trials]

    assert run([9, 9]) == run([18])


@pytest.mark.parametrize("space", [SMALL, None])
def test_points_are_not_repeated_by_samplers_that_share_a_study(space, tmp_path):
    def load():
        place = optuna.storages.journal.JournalFileBackend(str(tmp_path / "journal.log"))
        storage = optuna.storages.JournalStorage(place)
        sampler = BostructSampler(space, seed=0)
        return optuna.create_study(study_name="s", storage=storage, load_if_exists=True, sampler=sampler)

    load().optimize(cost_small, 1)
    studies = [load(), load()]
    waiting = [study.ask() for study in studies]
    points = {ask_small(trial) for trial in waiting}  # running, and seen by each other
    for i in range(3):
        studies[i % 2].optimize(cost_small, 1)
    points |= {(trial.params["a"], trial.params["b"]) for trial in studies[0].trials}
    assert len(points) == 6


def test_workers_evaluate_different_points():
    study = optuna.create_study(sampler=BostructSampler(SMALL, seed=0))
    study.optimize(cost_small, 6, n_jobs=3)
    assert len({(trial.params["a"], trial.params["b"]) for trial in study.trials}) == 6


def test_an_exhausted_space_is_drawn_from_again_and_the_log_says_so(caplog):
    study = optuna.create_study(sampler=BostructSampler(SMALL, seed=0))
    with caplog.at_level(logging.WARNING, "bostruct"):
        study.optimize(cost_small, 9)
    assert len(study.trials) == 9
    assert [record.getMessage() for record in caplog.records] == [
        "BostructSampler: all 6 points of the space have been seen; points are drawn at random again"
    ]


def test_conditions_hold_in_every_trial_also_in_those_that_a_user_fixed():
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["b", "a"])  # in another order than the space has them
        return trial.suggest_int("width", 1, 64, log=True) if kind == "b" else 70

    space = {"kind": ["a", "b"], "width": SPACE.variables["width"]}
    sampler = BostructSampler(space, seed=0)
    study = optuna.create_study(sampler=sampler)
    for fixed in ({"kind": "b"}, {"kind": "a"}, {"kind": "b", "width": 7}):
        study.enqueue_trial(fixed)
    study.optimize(objective, 12)
    assert [set(trial.params) for trial in study.trials[:3]] == [{"kind", "width"}, {"kind"}, {"kind", "width"}]
    assert study.trials[2].params == {"kind": "b", "width": 7}
    assert len({tuple(trial.params.items()) for trial in study.trials if trial.params["kind"] == "b"}) == 11


def test_conditions_are_learned_from_trials_where_no_space_is_given():
    def objective(trial):
        n = trial.suggest_int("n", 1, 3)
        return sum((trial.suggest_float(f"width{i}", 0.0, 1.0) - 0.5) ** 2 for i in range(n)) - n

    sampler = BostructSampler(seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, 25)
    found = {name: when for name, when in sampler._trials.conditions.items() if when}
    assert found == {"width1": {"n": bo.OneOf(2, 3)}, "width2": {"n": bo.OneOf(3)}}
    assert len(sampler._trials.model._completed.read()) >= 24  # all of them are data
    assert study.best_value < -2.9


def test_a_space_of_distributions_holds_before_the_first_trial():
    distributions = {
        "x": optuna.distributions.FloatDistribution(0, 1, step=0.25),
        "one": optuna.distributions.CategoricalDistribution(["only"]),
    }
    study = optuna.create_study(sampler=BostructSampler(distributions, seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1, step=0.25) + (t.suggest_categorical("one", ["only"]) == "x"), 5)
    assert sorted(trial.params["x"] for trial in study.trials) == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_a_permutation_beside_parameters_that_no_space_declares():
    sampler = BostructSampler(structure={"order": bo.Permutation(list("abc")), "dose": "ordinal"}, seed=0)
    study = optuna.create_study(sampler=sampler)
    study.enqueue_trial({}, user_attrs={"order": ["c", "a", "b"]})
    seen = []

    def objective(trial):
        order = sampler.suggest(trial, "order")
        assert sampler.suggest(trial, "order") == order
        seen.append(tuple(order))
        return "".join(order) + str(trial.suggest_categorical("dose", [1, 5, 10])) != "abc5"

    study.optimize(objective, 12)
    assert seen[0] == ("c", "a", "b")
    assert [tuple(trial.user_attrs["order"]) for trial in study.trials] == seen
    later = {(trial.params["dose"], *trial.user_attrs["order"]) for trial in study.trials[1:]}
    assert len(later) == 11
    domain = sampler._find_domain(study, study.trials[-1].distributions)
    assert domain == bo.Space({"dose": bo.Ordinal([1, 5, 10]), "order": bo.Permutation(list("abc"))})


def test_a_structured_value_outlives_the_space_that_it_was_chosen_in():
    sampler = BostructSampler(structure={"order": bo.Permutation(list("abc"))}, seed=0)
    study = optuna.create_study(sampler=sampler)
    first, second = study.ask(), study.ask()
    orders = [sampler.suggest(trial, "order") for trial in (first, second)]
    third = study.ask()
    chosen = third.relative_params == {} and sampler._trials.find_chosen(study, 2)["order"]
    first.suggest_float("x", 0, 1)
    study.tell(first, 1.0)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + sampler.suggest(trial, "order").index("a"), 2)
    assert list(sampler.suggest(third, "order")) == chosen
    assert len({tuple(order) for order in (*orders, chosen)}) == 3


def test_a_domain_that_is_no_space_is_one_structured_parameter():
    sampler = BostructSampler(bo.mlp_domain(), method="random", seed=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: len(sampler.suggest_point(trial)), 3)
    assert all(isinstance(trial.user_attrs["point"], dict) for trial in study.trials)


def test_pruners_that_show_a_sampler_a_part_of_the_trials():
    def objective(trial):
        x = trial.suggest_float("x", 0, 1)
        for step in range(9):
            trial.report(x + 1 / (step + 1), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return x

    pruner = optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9)
    study = optuna.create_study(sampler=BostructSampler({"x": bo.Real(0, 1)}, seed=0), pruner=pruner)
    study.optimize(objective, 14)
    assert {trial.state.name for trial in study.trials} == {"COMPLETE", "PRUNED"}


def test_what_a_sampler_draws_at_random_is_logged(caplog):
    def objective(trial):
        return trial.suggest_float("y", 0, 1) if trial.suggest_float("x", 0, 1) > 0.5 else 1.0

    with caplog.at_level(logging.WARNING, "bostruct"):
        optuna.create_study(sampler=BostructSampler(seed=0)).optimize(objective, 8)
    messages = [record.getMessage() for record in caplog.records]
    assert [message for message in messages if "'y'" in message] == [
        "BostructSampler: parameter 'y' is drawn at random: not all trials have it, and no other parameter shows when; "
        "give search_space"
    ]


def test_a_new_branch_whose_condition_is_learned_is_no_warning(caplog):
    def objective(trial):
        kind = trial.suggest_categorical("kind", ["svm", "forest", "net"])
        if kind == "svm":
            return trial.suggest_float("c", 0.1, 9.0)
        return trial.suggest_float("width" if kind == "net" else "depth", 1.0, 9.0)

    study = optuna.create_study(sampler=BostructSampler(seed=0))
    with caplog.at_level(logging.INFO, "bostruct"):
        study.optimize(objective, 12)
    logged = [record for record in caplog.records if "drawn at random" in record.getMessage()]
    assert {record.levelname for record in logged} == {"INFO"}
    assert len(logged) == 2  # once for each branch but the one of the first trial


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"search_space": SMALL, "structure": {}}, ValueError, "structure: expected None with search_space"),
        ({"search_space": {"x": bo.Real(0, 1)}, "method": "combo"}, DomainError, "x"),
        ({"method": bo.Study(SMALL)._searcher}, TypeError, "method: expected a name without search_space"),
        ({"structure": {"x": "path"}}, TypeError, "structure['x']: expected 'ordinal' or a variable"),
        ({"structure": {"x": bo.Binary(when={"y": 1})}}, DomainError, "structure['x']: when:"),
        ({"structure": ["x"]}, TypeError, "structure: expected a dict"),
        ({"seed": -1}, ValueError, "seed"),
        ({"threads": 0}, ValueError, "threads"),
        ({"search_space": 3}, TypeError, "space: expected a Space"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, words):
    with pytest.raises(error) as caught:
        BostructSampler(**arguments)
    assert words in str(caught.value)


def ask_x(trial):
    return trial.suggest_float("x", 0, 1)


def choose_x(*choices):
    return lambda trial: trial.suggest_categorical("x", choices)


NO_PARAMETER = r"structure\['x'\].* is not a parameter of Optuna; sampler\.suggest\(trial, 'x'\) reads it"


@pytest.mark.parametrize(
    ("given", "ask", "words"),
    [
        ({"structure": {"x": "ordinal"}}, ask_x, r"structure\['x'\].*expected None for numbers"),
        (
            {"structure": {"x": bo.Ordinal(["a", "b"])}},
            choose_x("a", "c"),
            r"structure\['x'\].*expected the choices that",
        ),
        ({"structure": {"x": bo.Permutation([1, 2])}}, choose_x(1, 2), NO_PARAMETER),
        ({"search_space": {"x": bo.Real(2, 3)}}, ask_x, "x: expected an objective that uses the values of the sampler"),
        ({"method": "combo"}, ask_x, "'x'"),
    ],
    ids=["order of numbers", "other choices", "a permutation", "other values", "method"],
)
def test_what_does_not_fit_the_objective_is_refused_when_it_is_known(given, ask, words):
    study = optuna.create_study(sampler=BostructSampler(seed=0, **given))
    with pytest.raises(DomainError if "method" in given else ValueError, match=words):
        study.optimize(lambda trial: float(ask(trial) == "a"), 2)


def test_suggest_names_what_it_can_read():
    sampler = BostructSampler(SPACE, seed=0)
    trial = optuna.create_study(sampler=sampler).ask()
    with pytest.raises(ValueError, match="name: expected a structured parameter, 'order', got 'rate'"):
        sampler.suggest(trial, "rate")
    with pytest.raises(BostructError, match="suggest_point needs a sampler with a search space"):
        BostructSampler().suggest_point(trial)
    trial.set_user_attr("order", ["a", "a", "b", "c"])
    with pytest.raises(PointError, match="order: expected a value of the space as JSON"):
        sampler.suggest(trial, "order")


def test_an_optuna_without_constraints_of_trials_is_refused(monkeypatch):
    monkeypatch.setattr(optuna.trial, "FrozenTrial", type("FrozenTrial", (), {}))
    with pytest.raises(MissingExtra, match=r"needs Optuna 5\.0 or later"):
        importlib.reload(optuna_spaces)
