"""What peers are handed in the benchmark of experiments: rows of numbers, limits, failures, several objectives."""

import importlib.util
import itertools
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from benchmarks.experiments.digits import Digits
from benchmarks.experiments.instances import Instance, Measured
from benchmarks.experiments.optuna_search import BROKEN, OptunaSearch
from benchmarks.experiments.telling import ObservedTrial, Record

pytestmark = pytest.mark.slow  # of the code of a benchmark, not of the package

MIXED = bo.Space(
    {"order": bo.Permutation(list("abcd")), "color": ["red", "green", "blue"], "size": bo.Ordinal([1, 2, 4, 8])}
)
INITIAL = [
    {"order": tuple(order), "color": color, "size": 4}
    for order, color in zip(itertools.permutations("abcd"), ["red", "blue"] * 5, strict=False)
]


def measure(point) -> Measured:
    """Fail on red with a in front; else two values and a limited number."""
    if point["color"] == "red" and point["order"][0] == "a":
        raise bo.Infeasible("no")
    place = float(point["order"].index("d"))
    return Measured((place + 0.1 * point["size"], float(point["size"])), (place,))


def make(n_objectives: int, with_limit: bool, space: bo.Space = MIXED) -> Instance:
    """Make an instance of some of the numbers that `measure` gives."""

    def own(point) -> Measured:
        found = measure(point)
        return Measured(found.objectives[:n_objectives], found.limited if with_limit else ())

    corners = ((0.0, 5.0), (0.0, 9.0)) if n_objectives > 1 else ()
    return Instance(space, own, {"place": 1.0} if with_limit else {}, corners=corners, may_fail=True)


def run(search, instance: Instance, trials: int) -> list[tuple]:
    """Ask and tell a search in turn; return the points with what they measured."""
    found = []
    for _ in range(trials):
        point = search.ask()
        instance.space.parse(point)
        try:
            measured = instance.measure(point)
        except bo.Infeasible:
            measured = None
        search.tell(point, measured)
        found.append((point, measured))
    return found


@pytest.fixture
def unfitted(monkeypatch):
    """Leave the GPs of BoTorch as they begin: a fit of one to `MIXED` takes up to half a minute."""
    if importlib.util.find_spec("botorch"):
        monkeypatch.setattr("botorch.fit.fit_gpytorch_mll", lambda _: None)


def test_rows_are_all_points():
    digits = Digits(MIXED)
    assert [tuple(one) for one in digits.digits] == [(4, True), (3, True), (2, True), (3, False), (4, True)]
    points = [MIXED.present(x) for x in MIXED.enumerate()]
    rows = {tuple(digits.encode(point)) for point in points}
    assert rows == set(itertools.product(*(range(one.size) for one in digits.digits)))
    assert all(digits.decode(digits.encode(point)) == point for point in points)


def test_a_failure_is_told_as_the_worst_once_there_is_a_value():
    record = Record(make(2, True))
    assert record.add(INITIAL[0], None) == record.list_observed() == []
    first, held = record.add(INITIAL[1], Measured((-3.0, -1.0), (0.5,)))
    assert first == ObservedTrial(1, INITIAL[1], (-3.0, -1.0), (-0.5,), False)
    assert held == ObservedTrial(0, INITIAL[0], (-3.0, -1.0), (0.5,), True)  # breaks the limit; no success has it yet
    assert record.add(INITIAL[3], Measured((-4.0, 5.0), (4.0,))) == record.successes[1:]
    (worst,) = record.add(INITIAL[2], None)
    assert worst == ObservedTrial(3, INITIAL[2], (-3.0, 5.0), (3.0,), True)
    assert record.list_observed() == [worst._replace(n=0, point=INITIAL[0]), *record.successes, worst]
    assert record.list_points() == [INITIAL[1], INITIAL[3], INITIAL[0], INITIAL[2]]
    assert record.find_best() == INITIAL[3]


@pytest.mark.usefixtures("unfitted")
@pytest.mark.parametrize(
    ("peer", "n_objectives"), [("botorch", 1), ("optuna", 1), ("optuna", 2), ("smac", 1), ("smac", 2)]
)
def test_peers_that_were_told_no_value_go_on_and_learn_of_failures_with_the_first_one(peer, n_objectives):
    """Values are negative, so that 0 would be better than all of them."""
    pytest.importorskip(peer)
    corners = ((-9.0, 0.0),) * n_objectives if n_objectives > 1 else ()
    instance = Instance(MIXED, lambda _: Measured((0.0,)), corners=corners, may_fail=True)
    search = make_peer(peer, instance)
    points = []
    for n in range(14):
        points.append(search.ask())
        search.tell(points[-1], None if n < 12 else Measured((-5.0 + n / 10.0,) * n_objectives))
    assert points[:10] == INITIAL
    assert len(search.record.successes) == 2
    assert len(search.record.list_points()) == 14
    assert search.recommend() == points[12]
    if peer == "optuna":
        assert {value for trial in search.study.trials for value in trial.values} == {-3.8, -3.7}
    if peer == "smac":
        costs = [np.atleast_1d(one.cost) for one in search.facade.runhistory.values() if one.status == 1]
        assert {float(cost) for own in costs for cost in own} == {-3.8, -3.7}


def make_peer(peer: str, instance: Instance) -> Any:
    """Make the search of a peer on an instance."""
    from benchmarks.experiments.botorch_search import BoTorchSearch
    from benchmarks.experiments.smac_search import SMACSearch

    if peer == "optuna":
        return OptunaSearch("TPE", instance, INITIAL, 0)
    return {"botorch": BoTorchSearch, "smac": SMACSearch}[peer](instance, INITIAL, 0)


@pytest.mark.usefixtures("unfitted")
def test_botorch_aims_beyond_the_front_of_points_that_did_not_fail(monkeypatch):
    pytest.importorskip("botorch")
    from benchmarks.experiments import botorch_search

    seen = []
    aim = botorch_search._improve_hypervolume
    monkeypatch.setattr(
        botorch_search, "_improve_hypervolume", lambda model, told: (seen.append(told), aim(model, told))[1]
    )
    instance = make(2, False)
    found = run(botorch_search.BoTorchSearch(instance, INITIAL, 0), instance, 11)
    assert None in [measured for _, measured in found[:10]]
    np.testing.assert_equal(seen, [[measured.objectives for _, measured in found[:10] if measured]])


@pytest.mark.parametrize("sampler", ["TPE", "GP", "NSGA-II"])
@pytest.mark.parametrize("n_objectives", [1, 2])
def test_optuna_is_told_limits_and_failures(sampler, n_objectives):
    pytest.importorskip("optuna")
    if sampler == "GP":
        pytest.importorskip("torch")
    instance = make(n_objectives, True)
    search = OptunaSearch(sampler, instance, INITIAL, 0)
    found = run(search, instance, 13)
    assert [point for point, _ in found[:10]] == INITIAL
    for trial, (_, measured) in zip(search.study.trials, found, strict=True):
        violation, failed = trial.user_attrs[BROKEN]
        assert failed == (1.0 if measured is None else -1.0)
        assert measured is None or violation == measured.limited[0] - 1.0
        assert measured is None or tuple(trial.values) == measured.objectives


@pytest.mark.parametrize(
    ("n_objectives", "with_limit", "fits"),
    [
        (1, False, False),
        (1, True, False),
        (2, False, False),  # compiles an extension of torch
        (1, True, True),
    ],
)
def test_botorch_searches_points_that_it_was_not_told(n_objectives, with_limit, fits, request):
    pytest.importorskip("botorch")
    torch = pytest.importorskip("torch")
    if not fits:
        request.getfixturevalue("unfitted")
    from benchmarks.experiments.botorch_search import BoTorchSearch

    instance = make(n_objectives, with_limit)
    search = BoTorchSearch(instance, INITIAL, 0)
    found = run(search, instance, 11)
    assert [point for point, _ in found[:10]] == INITIAL
    assert len({tuple(point.values()) for point, _ in found}) == 11
    assert search.recommend() in [point for point, _ in found]
    best = torch.tensor(search.vectors.encode(INITIAL[1:2]))  # by this score
    assert search._maximize(lambda xs: -(xs[:, 0] - best).abs().sum(1)) not in [point for point, _ in found]


def test_botorch_finds_the_feasible_end_of_a_line():
    """Eight bits whose sum is to be large, and at most 5: four trials after the initial points are enough."""
    pytest.importorskip("botorch")
    from benchmarks.experiments.botorch_search import BoTorchSearch

    space = bo.Space({f"b{i}": bool for i in range(8)})
    total = Instance(
        space, lambda point: Measured((-float(sum(point.values())),), (float(sum(point.values())),)), {"n": 5.0}
    )
    initial = [space.present(x) for x in np.random.default_rng(0).integers(2, size=(10, 8))]
    found = run(BoTorchSearch(total, initial, 0), total, 14)
    assert max(one.limited[0] for _, one in found if one.limited[0] <= 5.0) == 5.0


@pytest.mark.parametrize("n_objectives", [1, 2])
def test_smac_is_told_one_or_several_costs(n_objectives):
    pytest.importorskip("smac")
    from benchmarks.experiments.smac_search import SMACSearch

    instance = make(n_objectives, False)
    found = run(SMACSearch(instance, INITIAL, 0), instance, 12)
    assert [point for point, _ in found[:10]] == INITIAL


def test_peers_are_handed_only_what_they_know():
    with pytest.raises(TypeError, match="expected choices and orders; got sequence"):
        Digits(bo.Space({"sequence": bo.Sequence("ABC", 4)}))
