"""What peers are handed in the benchmark of experiments: rows of numbers, limits, failures, several objectives."""

import itertools

import numpy as np
import pytest

import bostruct as bo
from benchmarks.experiments.digits import Digits
from benchmarks.experiments.instances import Instance, Measured
from benchmarks.experiments.optuna_search import BROKEN, OptunaSearch
from benchmarks.experiments.telling import Record

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


def test_rows_are_all_points():
    digits = Digits(MIXED)
    assert [tuple(one) for one in digits.digits] == [(4, True), (3, True), (2, True), (3, False), (4, True)]
    points = [MIXED.present(x) for x in MIXED.enumerate()]
    rows = {tuple(digits.encode(point)) for point in points}
    assert rows == set(itertools.product(*(range(one.size) for one in digits.digits)))
    assert all(digits.decode(digits.encode(point)) == point for point in points)


def test_a_failure_is_told_as_the_worst_so_far():
    record = Record(make(2, True))
    first = record.add(INITIAL[0], None)
    assert (first.objectives, first.slacks, first.failed) == ((0.0, 0.0), (1.0,), True)
    record = Record(make(2, True))
    assert record.add(INITIAL[1], Measured((3.0, 1.0), (0.5,))).slacks == (-0.5,)
    record.add(INITIAL[3], Measured((2.0, 5.0), (4.0,)))
    worst = record.add(INITIAL[0], None)
    assert (worst.objectives, worst.slacks) == ((3.0, 5.0), (3.0,))
    assert record.find_best() == INITIAL[3]


@pytest.mark.parametrize("sampler", ["TPE", pytest.param("GP", marks=pytest.mark.slow), "NSGA-II"])
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
        slack, failed = trial.user_attrs[BROKEN]
        assert failed == (1.0 if measured is None else -1.0)
        assert measured is None or slack == measured.limited[0] - 1.0
        assert measured is None or tuple(trial.values) == measured.objectives


@pytest.mark.parametrize(("n_objectives", "with_limit"), [(1, False), (1, True), (2, False)])
def test_botorch_searches_points_that_it_was_not_told(n_objectives, with_limit):
    pytest.importorskip("botorch")
    from benchmarks.experiments.botorch_search import BoTorchSearch

    instance = make(n_objectives, with_limit)
    search = BoTorchSearch(instance, INITIAL, 0)
    found = run(search, instance, 11)
    assert [point for point, _ in found[:10]] == INITIAL
    assert len({tuple(point.values()) for point, _ in found}) == 11
    assert search.recommend() in [point for point, _ in found]


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
