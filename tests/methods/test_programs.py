"""Searchers on programs: the laws of searchers, studies that resume, and that they are worth running."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct import methods
from bostruct.contracts import DomainError
from bostruct.domains.language import sampling
from bostruct.domains.language.walk import Walk
from bostruct.language import (
    D,
    Infeasible,
    SearchSpace,
    siso_module,
    siso_optional,
    siso_sequential,
    substitution_module,
)
from bostruct.methods.defaults import program_kernel
from bostruct.storage.protocol import StudyMismatch
from bostruct.testing.change_laws import check_crossover, check_mutation
from bostruct.testing.domain_laws import check_domain
from bostruct.testing.kernel_laws import check_kernel
from bostruct.testing.searcher_laws import check_searcher
from examples.language_figures import figure_4
from tests.domains.language.more_programs import endless, genetic_stages, layers_of_kinds, shallow_and_wide, wiring_cost

SPACE = SearchSpace(figure_4)
ON_PROGRAMS = ["auto", "evolution", "regularized-evolution", "annealing", "hill-climbing", "smbo", "mcts", "random"]


def copies():
    """Three places for a layer: of 27 traces 15 programs, since what is left out leaves no trace in the graph."""
    layer = lambda: siso_module("A", {"x": D([0, 1])})  # noqa: E731
    return siso_sequential([siso_optional(layer, D([0, 1])) for _ in range(3)])


@pytest.mark.parametrize("space", [SPACE, SearchSpace(layers_of_kinds), SearchSpace(copies)])
def test_domain_laws(space):
    rng = np.random.default_rng(0)
    check_domain(space, rng, rebuildable=False)
    x, y = space.sample(2, rng)
    check_mutation(space, x, rng)
    check_crossover(space, x, y, rng)


@pytest.mark.parametrize("method", ON_PROGRAMS)
def test_searcher_laws(method):
    check_searcher(methods.METHODS[method], SPACE, shallow_and_wide, np.random.default_rng(0), n_trials=14)


def rising():
    """A number, and behind it one that is not below: at one place, of more choices or of fewer."""
    low = D(range(4))

    def above(values):
        return siso_module("High", {"value": D(range(values["low"], 5))})

    rest = substitution_module("Rest", above, {"low": low}, ["in"], ["out"], keyed_by=())
    return siso_sequential([siso_module("Low", {"value": low}), rest])


@pytest.mark.parametrize("method", [*ON_PROGRAMS, "smac", "wrs"])
def test_a_place_with_other_choices_from_program_to_program(method):
    def objective(program):
        low, high = (module.values["value"] for module in program.nodes)
        return abs(low - 1) + abs(high - 4)

    study = bo.Study(SearchSpace(rising), method=method, seed=0)
    result = study.optimize(objective, 60, progress=False)
    assert len(result.trials) == 14  # 5 + 4 + 3 + 2, all of them
    assert result.best_value == 0.0
    assert len(bo.importance(study).main) == 2


@pytest.mark.parametrize("method", [name for name in ON_PROGRAMS if name != "hill-climbing"])
def test_infinite_spaces_are_searched(method):
    result = bo.maximize(
        lambda p: -abs(len(p) - 6.2) + 0.01 * p.nodes[0].values["filters"],
        SearchSpace(endless),
        30,
        method=method,
        seed=1,
    )
    assert result.n_completed == 30
    assert result.best_value > -2.0


def test_neighbors_in_endless_spaces_cost_little(monkeypatch):
    space, rng = SearchSpace(endless), np.random.default_rng(0)
    x = space.sample(1, rng)[0]
    made = []
    copied = Walk.copy
    monkeypatch.setattr(Walk, "copy", lambda walk: made.append(1) or copied(walk))
    near = space.sample_neighbors(x, 16, rng)
    assert len(set(near)) == 16
    assert len(made) < 1_000
    for other in near:
        space.check(other)


@pytest.mark.parametrize("method", ["random", "hill-climbing", "smbo"])
def test_small_spaces_are_exhausted_without_drawing_on_and_on(method, monkeypatch):
    def part(dh):
        if dh["n"] * dh["k"] > 6:
            raise Infeasible("too large")
        return siso_module("A", {"x": D(range(dh["n"] * dh["k"])), **dh})

    chosen = {"n": [1, 2, 3], "k": [1, 2, 3, 4]}
    space = SearchSpace(
        lambda: substitution_module("Part", part, {k: D(v) for k, v in chosen.items()}, ["in"], ["out"])
    )
    drawn = []
    drawing = sampling.sample_walk
    monkeypatch.setattr(sampling, "sample_walk", lambda *given: drawn.append(1) or drawing(*given))
    result = bo.minimize(lambda p: p.nodes[0].values["x"], space, 60, method=method, seed=0)
    assert result.n_completed == space.size == 31
    if method != "smbo":  # it draws its candidates
        assert len(drawn) < 400


@pytest.mark.parametrize("method", [*ON_PROGRAMS, "smac", "wrs"])
def test_each_program_is_evaluated_once(method):
    result = bo.minimize(
        lambda p: abs(len(p) - 2.5) + sum(n.values["x"] for n in p.nodes),
        SearchSpace(copies),
        30,
        method=method,
        seed=0,
    )
    assert len(result.trials) == len({trial.point.fingerprint for trial in result.trials}) == 15


def test_a_stored_study_with_copies_loads_and_they_stay_data(tmp_path):
    space = SearchSpace(copies)
    same = [x for x in space.enumerate() if len(space.present(x)) == 1 and space.present(x).nodes[0].values["x"] == 0]
    with bo.Study(space, seed=0, storage=tmp_path / "runs.db") as study:
        for value, x in enumerate(same):
            study.add(x, float(value))
    with bo.Study.load(tmp_path / "runs.db", space=space) as study:
        assert [trial.value for trial in study.trials] == [0.0, 1.0, 2.0]
        result = study.optimize(lambda p: float(len(p)) + 5.0, 40, progress=False)
    fingerprints = [trial.point.fingerprint for trial in result.trials]
    assert len(set(fingerprints)) == 15 == len(fingerprints) - 2


def test_programs_have_fidelities_in_joint_domains():
    domain = bo.joint_domain({"program": SPACE, "training": {"epochs": bo.Fidelity([1, 4])}})
    result = bo.minimize(
        lambda p: shallow_and_wide(p["program"]) + 1.0 / p["training"]["epochs"], domain, 12, method="hyperband", seed=0
    )
    assert {t.point["training"]["epochs"] for t in result.trials} == {1, 4}
    auto = bo.minimize(lambda p: shallow_and_wide(p["program"]), domain, 11, method="auto", seed=0)
    assert auto.trials[-1].origin == "model"


@pytest.mark.parametrize("method", ON_PROGRAMS)
def test_a_study_of_programs_resumes_exactly(tmp_path, method):
    whole = bo.minimize(shallow_and_wide, SPACE, 15, method=method, seed=5)
    path = tmp_path / "runs.db"
    for cut in (1, 11, 15):
        with bo.Study(SearchSpace(figure_4), method=method, seed=5, storage=path) as study:
            study.optimize(shallow_and_wide, cut)
            if cut == 11:
                study.ask()
    assert [t.value for t in study.trials] == [t.value for t in whole.trials]
    with pytest.raises(DomainError, match="figure_4 is a function, which cannot be stored"):
        bo.Study.load(path)
    with bo.Study.load(path, read_only=True) as stored:
        assert stored.best_point == dict(whole.best_point.trace)
    with pytest.raises(StudyMismatch, match="another domain"):
        bo.Study(SearchSpace(layers_of_kinds), method=method, seed=5, storage=path)


def test_programs_travel_to_workers():
    result = bo.minimize(shallow_and_wide, SPACE, 8, method="random", seed=0, workers=2)
    alone = bo.minimize(shallow_and_wide, SPACE, 8, method="random", seed=0)
    assert sorted(t.value for t in result.trials) == sorted(t.value for t in alone.trials)


def test_kernels_on_programs():
    rng = np.random.default_rng(0)
    for space in (SPACE, SearchSpace(layers_of_kinds), SearchSpace(endless)):
        check_kernel(program_kernel(space), space, rng)


def test_ordered_values_are_alike_by_their_distance():
    space = SearchSpace(layers_of_kinds)
    path = {"SISORepeat-0.num_reps": 1, "SISORepeat-0/SISOOr-0.idx": "dense"}
    key = "SISORepeat-0/SISOOr-0[dense]/Dense-0.units"
    xs = [space.parse(path | {key: units}) for units in (1.0, 2.0, 4.0)]
    kernel = program_kernel(space)
    gram = kernel.gram(np.zeros(kernel.parameters[0].size), kernel.prepare(xs))
    np.testing.assert_allclose(gram[0], np.exp([0.0, -1.0 / 3.0, -1.0]))


def test_tokens_are_the_same_everywhere():
    x = SPACE.parse(
        {
            "SISORepeat-0.num_reps": 1,
            "SISOOptional-0.opt": 0,
            "Conv2D-0.filters": 64,
            "SISORepeat-0/Conv2D-0.filters": 64,
            "SISORepeat-1/Conv2D-0.filters": 64,
            "SISORepeat-1/Conv2D-1.filters": 128,
        }
    )
    tokens = SPACE.tokens([x])[0]
    assert (len(tokens), int(np.bitwise_xor.reduce(tokens))) == (24, 5507362053055357783)


@pytest.mark.slow
def test_model_based_methods_beat_random_search_on_wirings():
    space = SearchSpace(genetic_stages)
    final = {
        method: [bo.minimize(wiring_cost, space, 30, method=method, seed=s).best_value for s in range(2)]
        for method in ("random", "auto", "smbo", "regularized-evolution")
    }
    for method in ("auto", "smbo", "regularized-evolution"):
        gains = [ours - theirs for ours, theirs in zip(final[method], final["random"], strict=True)]
        assert max(gains) <= -2.0, (method, gains)
