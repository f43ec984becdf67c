"""Joint domains: the laws of a domain, one part at a time, the last unseen point, and every refusal by its words."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError, PointError, SpaceExhausted
from bostruct.domains.joint import Joint, JointPoint
from bostruct.testing import domain_laws
from tests.architectures import GOLDEN, SMALL_CNN, SMALL_MLP
from tests.strategies import constrained_spaces, rngs, spaces

TRAINING = bo.Space({"rate": bo.Ordinal([0.1, 0.01, 0.001]), "optimizer": ["sgd", "adam"], "augment": bool})
NETWORKS = bo.joint_domain({"architecture": SMALL_CNN, "training": TRAINING})

some_examples = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(4)


def joint(*parts) -> Joint:
    return bo.joint_domain({f"part {i}": part for i, part in enumerate(parts)})


def every_point(domain: Joint) -> list[JointPoint]:
    """Of parts that are all spaces."""
    parts = [[part.present(x) for x in part.enumerate()] for part in domain.domains]
    return [domain.parse(dict(zip(domain.part_names, chosen, strict=True))) for chosen in itertools.product(*parts)]


def single() -> bo.Space:
    """Of one valid point."""
    return bo.Space({"a": bool}, [lambda point: point["a"]])


def n_changed(x: JointPoint, y: JointPoint) -> int:
    return sum(a != b for a, b in zip(x.key, y.key, strict=True))


class TestLaws:
    @some_examples
    @given(st.lists(spaces(2), min_size=1, max_size=3), rngs())
    def test_of_spaces(self, parts, rng):
        domain_laws.check_domain(joint(*parts), rng)

    @settings(parent=some_examples, max_examples=5)
    @given(spaces(2), constrained_spaces(2), rngs())
    def test_of_constrained_and_joint_parts(self, free, constrained, rng):
        domain_laws.check_domain(joint(constrained, joint(free, constrained)), rng, rebuildable=False)

    @settings(parent=some_examples, max_examples=5)
    @given(spaces(1), constrained_spaces(1), rngs())
    def test_size_uniformity_and_exhaustion(self, free, constrained, rng):
        for domain in (joint(free, constrained), joint(constrained, free)):
            domain_laws.check_enumeration(domain, every_point(domain), rng)

    @pytest.mark.parametrize("part", [SMALL_CNN, SMALL_MLP, bo.cnn_domain()], ids=["small cnn", "small mlp", "cnn"])
    def test_of_an_architecture_and_a_space(self, part, rng):
        domain = bo.joint_domain({"architecture": part, "training": TRAINING})
        domain_laws.check_domain(domain, rng)
        assert domain.size == math.inf


class TestPoints:
    def test_are_what_the_user_writes(self):
        chain, training = (
            "conv3-16 conv3-16 max-pool fc-16 softmax",
            {"rate": 0.01, "optimizer": "adam", "augment": True},
        )
        shown = NETWORKS.present(NETWORKS.parse({"architecture": chain, "training": training}))
        assert list(shown.items()) == [("architecture", bo.Architecture.chain(chain)), ("training", training)]

    def test_are_equal_where_their_parts_are(self, rng):
        x = NETWORKS.sample(1, rng)[0]
        same = NETWORKS.decode(NETWORKS.encode(x))
        assert (same, {x, same}) == (x, {x})
        assert NETWORKS.mutate(x, rng) != x

    def test_cannot_be_changed(self, rng):
        x = NETWORKS.sample(2, rng)[1]
        for y in (x, NETWORKS.mutate(x, rng), NETWORKS.parse(NETWORKS.present(x))):
            with pytest.raises(ValueError, match="read-only"):
                y.parts[1][0] = 1

    def test_parts_are_batches_of_their_domains(self, rng):
        xs = NETWORKS.sample(3, rng)
        rows = NETWORKS.part("training", xs)
        assert rows.tolist() == [x.parts[1].tolist() for x in xs]
        assert NETWORKS.part("training", []).shape == (0, 3)
        assert NETWORKS.part("architecture", xs) == [x.parts[0] for x in xs]

    def test_a_dict_of_variables_stands_for_its_space(self):
        assert joint({"a": bool, "b": range(3)}) == joint(bo.Space({"a": bool, "b": range(3)}))

    def test_the_order_of_parts_counts(self):
        assert NETWORKS != SWAPPED

    def test_size(self):
        assert joint(bo.Space({"a": bool, "b": [1, 2, 3]}), single()).size == 6
        large = bo.Space({f"x{i}": bool for i in range(1000)})
        assert joint(large, large).size == 2**2000
        assert joint(large, large, SMALL_CNN).size == math.inf


class TestChanges:
    def test_a_mutation_changes_one_part(self, rng):
        x = NETWORKS.sample(1, rng)[0]
        children = [NETWORKS.mutate(x, rng) for _ in range(60)]
        assert {n_changed(x, y) for y in children} == {1}
        assert 15 <= sum(y.key[0] != x.key[0] for y in children) <= 45  # 30 expected, standard deviation 4

    def test_a_part_of_one_point_stays(self, rng):
        domain = joint(single(), {"b": bool})
        x = domain.sample(1, rng)[0]
        assert {domain.mutate(x, rng).key[1] != x.key[1] for _ in range(20)} == {True}
        with pytest.raises(DomainError, match=r"no point other than .* was found by changing one part"):
            joint(single(), single()).mutate(joint(single(), single()).sample(1, rng)[0], rng)

    def test_neighbors_change_one_part_the_first_part_first(self):
        domain = joint({"a": range(3)}, {"b": ["p", "q", "r"]})
        x = domain.parse({"part 0": {"a": 1}, "part 1": {"b": "p"}})
        near = [tuple(v for part in domain.present(y).values() for v in part.values()) for y in domain.neighbors(x)]
        assert near == [(0, "p"), (2, "p"), (1, "q"), (1, "r")]

    def test_neighbors_are_those_of_the_product_graph(self, rng):
        """Of two parts as of one space with the variables of both."""
        first, second = {"a": bool, "b": range(4)}, {"c": ["p", "q", "r"]}
        whole, parts = bo.Space(first | second), joint(first, second)
        for row in whole.sample(10, rng):
            x = parts.parse({"part 0": dict(list(whole.present(row).items())[:2]), "part 1": {"c": "pqr"[row[2]]}})
            near = [np.concatenate(y.parts).tolist() for y in parts.neighbors(x)]
            assert near == whole.neighbors(row).tolist()

    def test_some_neighbors_are_equally_likely(self, rng):
        domain = joint({"a": ["p", "q", "r"]}, {"b": bool, "c": bool})
        x = domain.sample(1, rng)[0]
        counts = dict.fromkeys(domain.keys(domain.neighbors(x)), 0)
        for _ in range(800):
            for y in domain.sample_neighbors(x, 2, rng):
                counts[y.key] += 1
        assert sorted(counts.values())[0] > 320  # 400 expected, standard deviation 14
        assert sum(counts.values()) == 1600

    def test_without_neighbors_in_a_part_there_are_none(self):
        for lacking in (NETWORKS, joint(TRAINING, joint(TRAINING, SMALL_CNN))):
            assert lacking.traits[:3] == (None, None, None)
        both = joint(TRAINING, TRAINING)
        assert all(one is both for one in both.traits[:3])

    def test_a_child_inherits_architectures_whole_and_mixes_spaces(self, rng):
        x = NETWORKS.parse({"architecture": GOLDEN["a"], "training": TRAINING.present(np.array([0, 0, 0]))})
        y = NETWORKS.parse({"architecture": GOLDEN["s4"], "training": TRAINING.present(np.array([2, 1, 1]))})
        children = [NETWORKS.crossover(x, y, rng) for _ in range(100)]
        assert {child.parts[0] for child in children} == {GOLDEN["a"], GOLDEN["s4"]}
        mixed = {tuple(child.parts[1].tolist()) for child in children}
        assert mixed == set(itertools.product([0, 2], [0, 1], [0, 1]))


class TestUnseen:
    def test_the_last_point_is_found_among_many(self, rng):
        """All but one of 2^12 points, in three parts, are seen: random draws would hardly meet it."""
        domain = joint(*({f"x{i}": bool for i in range(n)} for n in (4, 3, 5)))
        keys = domain.keys(every_point(domain))
        for left in (keys[0], keys[2_876], keys[-1]):
            assert domain.sample_unseen(frozenset(keys) - {left}, rng).key == left
        with pytest.raises(SpaceExhausted, match=r"no unseen point of the joint domain was found; 4096 were seen$"):
            domain.sample_unseen(frozenset(keys), rng)

    def test_another_architecture_where_all_training_was_seen_with_the_known_ones(self, rng, monkeypatch):
        domain = bo.joint_domain({"training": {"augment": bool}, "architecture": SMALL_CNN})
        stuck = domain.sample(1, rng)
        monkeypatch.setattr(Joint, "sample", lambda _domain, m, _rng: stuck * m)
        assert domain.sample_unseen(frozenset(domain.keys(stuck)), rng) != stuck[0]


REFUSED_PARTS = [
    ({}, "parts: expected a mapping from at least one name to a domain, got {}"),
    ([TRAINING], r"parts: expected a mapping from at least one name to a domain, got \[Space"),
    ({"": TRAINING}, "parts: expected names that are non-empty strings, got ''"),
    ({3: TRAINING}, "parts: expected names that are non-empty strings, got 3"),
    ({"a": 7}, r"parts: a: expected a dict of .* or a bostruct\.contracts\.Domain \(subclass it\), got 7$"),
    ({"a": object()}, r"a: expected .*, got object$"),
    ({"a": {}}, "variables: expected 1 to 10000, got 0"),
]


@pytest.mark.parametrize(("parts", "words"), REFUSED_PARTS)
def test_refused_parts(parts, words):
    with pytest.raises(DomainError, match=words):
        bo.joint_domain(parts)


TRAINED = {"rate": 0.1, "optimizer": "sgd", "augment": False}
SWAPPED = bo.joint_domain({"training": TRAINING, "architecture": SMALL_CNN})
REFUSED_POINTS = [
    (7, r"point: expected a dict with the keys \['architecture', 'training'\], got 7"),
    ({"architecture": GOLDEN["a"]}, r"point: expected a dict with the keys \['architecture', 'training'\], got"),
    ({"architecture": 7, "training": TRAINED}, "architecture: expected an Architecture, got 7"),
    ({"architecture": GOLDEN["a"], "training": TRAINED | {"rate": 1}}, "training: rate: expected one of .*got 1"),
]


@pytest.mark.parametrize(("point", "words"), REFUSED_POINTS)
def test_refused_points(point, words):
    with pytest.raises(PointError, match=words):
        NETWORKS.parse(point)


def test_refused_batch_values(rng):
    for x in (7, joint(TRAINING).sample(1, rng)[0]):
        with pytest.raises(PointError, match="point: expected a JointPoint of architecture, training, got"):
            NETWORKS.check(x)
    with pytest.raises(PointError, match="architecture: expected an Architecture, got array"):
        NETWORKS.check(SWAPPED.sample(1, rng)[0])
    with pytest.raises(PointError, match="expected a dict with the keys"):
        NETWORKS.decode({"architecture": GOLDEN["a"].to_json()})


def cost(point: dict) -> float:
    return sum(point["architecture"].masses) * 1e-5 + point["training"]["rate"]


@pytest.mark.parametrize("method", ["random", "annealing"])
def test_a_study_comes_back_from_disk(method, tmp_path):
    def run(n_trials, storage=None):
        trials = bo.minimize(cost, NETWORKS, n_trials, method=method, seed=1, storage=storage).trials
        return [trial.point for trial in trials]

    path = tmp_path / "runs.db"
    points = run(25, path)
    with bo.Study.load(path) as study:
        assert (study.domain, [trial.point for trial in study.result.trials]) == (NETWORKS, points)
    assert run(30, path) == run(30)
