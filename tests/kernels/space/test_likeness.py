"""The kernel of values that are alike: its distances by hand, the laws, and what it predicts of choices never tried."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.domains.space.descriptors import MOST_APART, Descriptors, read_counts
from bostruct.domains.space.graphs import CompleteGraph
from bostruct.domains.space.likeness import Likeness
from bostruct.kernels.space.effects import GraphEffect
from bostruct.kernels.space.likeness import (
    CHOICE,
    MAX_REFERENCE,
    ChoiceEffect,
    LikenessDistances,
    LikenessEffect,
    find_measures,
)
from bostruct.kernels.space.registry import main_effects
from bostruct.methods.defaults import space_kernel
from bostruct.testing import check_kernel
from tests.strategies import rngs

N = 12


def draw_table(rng: np.random.Generator, n: int = N, p: int = 2, q: int = 9, n_texts: int = 1) -> Descriptors:
    return Descriptors(
        {f"x{i}": rng.normal(size=n) for i in range(p)},
        rng.integers(0, 2, (n, q)).astype(np.uint8),
        tuple(f"b{i}" for i in range(q)),
        {f"t{i}": tuple("uvw"[k] for k in rng.integers(3, size=n)) for i in range(n_texts)},
    )


def rows(n: int = N) -> np.ndarray:
    return np.arange(n)[:, None]


def scale(distances: np.ndarray) -> np.ndarray:
    """Scale to a mean of 1 over pairs of different rows."""
    n = len(distances)
    return distances * (n * (n - 1) / distances.sum())


def draw_counts(rng: np.random.Generator, n: int = N, q: int = 7) -> Descriptors:
    counts = rng.poisson(0.8, size=(n, q))
    return Descriptors({}, np.zeros((n, 0), np.uint8), counts=read_counts("Candidates", counts))


def test_counts_are_compared_as_gauche_compares_them():
    """`batch_tanimoto_sim` of GAUCHE (Griffiths et al. 2023), with its values for two pairs by hand."""
    table = draw_counts(np.random.default_rng(0))
    xs = table.counts.toarray()
    dot, squares = xs @ xs.T, (xs**2).sum(axis=1)
    similarity = (dot + 1e-6) / (1e-6 + squares[:, None] + squares - dot)
    assert_allclose(LikenessDistances(table).compare(rows(), rows())[1], scale(1.0 - similarity), atol=1e-5)
    pairs = read_counts("Candidates", [[2, 0, 1], [1, 0, 1], [0, 3, 0], [0, 0, 0], [0, 0, 0]])
    measure = find_measures(Descriptors({}, np.zeros((5, 0), np.uint8), counts=pairs))[1]
    found = measure.compare(np.array([0, 0, 3]), np.array([0, 1, 2, 4]))
    assert found.tolist() == [[0.0, 0.25, 1.0, 1.0], [0.0, 0.25, 1.0, 1.0], [1.0, 1.0, 1.0, 0.0]]
    assert (measure.compare(np.array([1]), np.array([0, 0, 3])) == [[0.25, 0.25, 1.0]]).all()


# Of `batch_tanimoto_sim` of GAUCHE 0.1.6 (kernels/fingerprint_kernels/tanimoto_kernel.py), run in float64.
FINGERPRINTS = [[2, 0, 1, 0], [1, 0, 1, 0], [0, 3, 0, 1], [4, 1, 0, 2], [1, 1, 1, 1]]
OF_GAUCHE = [
    [0.9999999999999998, 0.7500000624999844, 6.666666222222251e-08, 0.4444444753086402, 0.5000000833333194],
    [0.7500000624999844, 1.0, 8.333332638888946e-08, 0.21052635734071803, 0.5000001249999688],
    [6.666666222222252e-08, 8.333332638888946e-08, 1.0000000000000002, 0.1923077233727799, 0.40000005999999405],
    [0.4444444753086402, 0.21052635734071803, 0.19230772337277988, 1.0000000000000002, 0.38888892283950427],
    [0.5000000833333194, 0.5000001249999688, 0.400000059999994, 0.38888892283950427, 0.9999999999999998],
]


def test_similarities_are_those_that_gauche_computes():
    table = Descriptors({}, np.zeros((5, 0), np.uint8), counts=read_counts("Candidates", FINGERPRINTS))
    found = 1.0 - find_measures(table)[1].compare(np.arange(5), np.arange(5))
    assert_allclose(found, OF_GAUCHE, atol=2e-7)  # GAUCHE adds 1e-6 to both sides of its fraction


def test_tanimoto_of_counts_is_positive_semidefinite_and_a_gradient_away():
    rng = np.random.default_rng(1)
    table = draw_counts(rng, 40)
    similarity = 1.0 - find_measures(table)[1].compare(np.arange(40), np.arange(40))
    assert np.linalg.eigvalsh(similarity).min() > -1e-10
    space = bo.Space({"x": bo.Candidates.from_fingerprints(table.counts, range(100, 140))})
    check_kernel(space_kernel(space), space, rng)
    check_kernel(main_effects(space), space, rng)


def test_distances_are_those_of_the_definitions():
    table = draw_table(np.random.default_rng(0))
    found = LikenessDistances(table).compare(rows(), rows())
    values = [table.row(i) for i in range(N)]
    for k in (0, 1):
        by_hand = [[(one[k] - other[k]) ** 2 for other in values] for one in values]
        assert_allclose(found[1 + k], scale(np.array(by_hand)), atol=1e-12)
    bits = [set(np.flatnonzero(own).tolist()) for own in table.bits]
    tanimoto = [[1 - len(one & other) / len(one | other) for other in bits] for one in bits]
    assert_allclose(found[3], scale(np.array(tanimoto)), atol=1e-6)
    same = [[float(one[-1] != other[-1]) for other in values] for one in values]
    assert_allclose(found[4], scale(np.array(same)), atol=1e-12)
    assert_allclose(found[0], CHOICE * (1.0 - np.eye(N)))


def test_many_numbers_are_one_standardized_distance():
    table = draw_table(np.random.default_rng(0), p=MOST_APART + 1, q=0, n_texts=0)
    wide = Descriptors({name: 5.0 + 1e3 * column for name, column in table.numbers.items()}, table.bits)
    columns = np.column_stack(list(table.numbers.values()))
    columns = columns / columns.std(axis=0)
    by_hand = ((columns[:, None] - columns) ** 2).sum(axis=2)
    for one in (table, wide):
        assert_allclose(LikenessDistances(one).compare(rows(), rows())[1], scale(by_hand), atol=1e-9)


def test_rows_without_bits_are_alike():
    bits = np.zeros((3, 9), dtype=np.uint8)
    bits[2, 0] = 1
    found = LikenessDistances(Descriptors({}, bits, tuple("abcdefghi"))).compare(rows(3), rows(3))
    assert found[1, 0, 1] == 0.0
    assert found[1, 0, 2] == found[1, 1, 2] > 1.0


def list_likenesses(rng: np.random.Generator) -> list[Likeness | None]:
    features = rng.normal(size=(N, 3))
    kernel = features @ features.T + np.eye(N)
    distances = np.linalg.norm(features[:, None] - features, axis=2)
    made = [bo.Categorical(range(N), kernel=kernel), bo.Categorical(range(N), distances=distances)]
    return [draw_table(rng), *(one.likeness for one in made)]


@given(rngs())
def test_effects_are_centered_and_positive_semidefinite(rng):
    for likeness in list_likenesses(rng):
        assert likeness is not None
        effect = LikenessEffect(likeness)
        gram = effect.gram(rows(), rows())
        assert_allclose(gram.sum(axis=0), 0.0, atol=1e-6)
        assert_allclose(effect.diag(rows()), gram.diagonal(), atol=1e-6)
        assert effect.diag(rows()).mean() == pytest.approx(1.0, abs=1e-6)
        assert np.linalg.eigvalsh(gram).min() > -1e-6


@pytest.mark.parametrize("n", [N, MAX_REFERENCE + 50])
def test_the_order_of_the_rows_changes_nothing(n):
    rng = np.random.default_rng(n)
    table, order, some = draw_table(rng, n), rng.permutation(n), rng.integers(n, size=(9, 1))
    other = table.take(order.tolist())
    for make in (lambda one: LikenessDistances(one).compare, lambda one: LikenessEffect(one).gram):
        assert_allclose(make(other)(some, some), make(table)(order[some], order[some]), atol=1e-9)


def test_effects_of_plain_choices_are_those_of_a_complete_graph():
    xs, ys = np.array([[0], [3], [1]]), np.array([[3], [4]])
    plain, graph = ChoiceEffect(5), GraphEffect(CompleteGraph(5))
    assert_allclose(plain.gram(xs, ys), graph.gram(xs, ys))
    assert_allclose(plain.diag(xs), graph.diag(xs))


def test_a_large_comparison_is_that_of_its_parts():
    table = draw_table(np.random.default_rng(0), 900)
    whole = LikenessDistances(table).compare(rows(900), rows(900))
    assert_allclose(whole[:, 3:5, 7:9], LikenessDistances(table).compare(rows()[3:5], rows()[7:9]), atol=1e-6)
    assert all(one.between(np.arange(3), np.arange(3)).shape == (3, 3) for one in find_measures(table))


SPACES = {
    "alone": {"x": bo.Candidates(np.random.default_rng(0).normal(size=(20, 3)))},
    "mixed": {
        "c": bo.Categorical(list("abc"), descriptors={"p": [1.0, 2.0, 4.0]}),
        "d": bo.Categorical(list("abc"), descriptors={"p": [1.0, 2.0, 4.0]}),
        "k": bo.Categorical(list("abc"), kernel=np.eye(3) + 0.5, when={"c": "b"}),
        "bits": bo.Candidates(np.random.default_rng(0).integers(0, 2, (9, 12))),
        "b": bool,
        "r": bo.Real(0, 1),
        "o": bo.Permutation(range(3)),
    },
}


@pytest.mark.parametrize("name", SPACES)
def test_laws(name):
    space, rng = bo.Space(SPACES[name]), np.random.default_rng(0)
    check_kernel(space_kernel(space), space, rng)
    check_kernel(main_effects(space), space, rng)
    check_kernel(main_effects(space, trusts_order=False), space, rng)


def test_each_distance_has_a_parameter_and_plain_categories_keep_theirs():
    assert space_kernel(bo.Space(SPACES["alone"])).parameters[0].size == 4
    plain = space_kernel(bo.Space({"c": list("abc"), "d": list("abcd")}))
    alike = space_kernel(bo.Space({"c": list("abc"), "d": bo.Categorical(list("abcd"), kernel=np.eye(4) + 0.2)}))
    assert [plain.parameters[0].size, alike.parameters[0].size] == [2, 3]


def test_choices_that_were_never_tried_are_predicted_from_those_alike():
    """Of 30 bases 10 are tried, of acidities in no order: the best of all 30 is suggested next or soon."""
    rng = np.random.default_rng(1)
    acidity = rng.normal(size=30)
    with bo.Study({"base": bo.Categorical(range(30), descriptors={"pKa": acidity})}, seed=0) as study:
        result = study.optimize(lambda point: float((acidity[point["base"]] - 0.3) ** 2), 14)
    assert result.best_point["base"] == np.argmin((acidity - 0.3) ** 2)


def test_choices_that_clipping_makes_the_same_are_the_same():
    """Of four choices the first three become one: what rounding leaves between them is no distance."""
    matrix = np.array([[1.0, 2.0, 2.0, 0.0], [2.0, 1.0, 2.0, 0.0], [2.0, 2.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        variable = bo.Categorical(list("abcd"), kernel=matrix)
    likeness = variable.likeness
    assert likeness is not None
    found = LikenessDistances(likeness).compare(rows(4), rows(4))[1]
    is_last = rows(4) == 3
    assert_allclose(found, scale((is_last != is_last.T).astype(float)), atol=0.0)
    space = bo.Space({"x": variable})
    check_kernel(main_effects(space), space, np.random.default_rng(0))


@pytest.mark.parametrize("factor", [1e-320, 1e-200, 1e-170, 1e170, 1e200, 8e307])
def test_the_unit_of_descriptors_and_matrices_changes_nothing(factor):
    column, apart = np.array([0.0, 1.0, 2.0, -2.0]), 1.0 - np.eye(4)
    apart[0, 3] = apart[3, 0] = 1.5
    given = {"descriptors": {"x": column}, "distances": apart, "kernel": np.eye(4) + 0.5 * apart}
    for name, values in given.items():
        changed = {"x": column * factor} if name == "descriptors" else values * factor
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = [bo.Categorical(list("abcd"), **{name: one}).likeness for one in (values, changed)]
        tables = [LikenessDistances(one).compare(rows(4), rows(4)) for one in found if one is not None]
        assert_allclose(tables[1], tables[0], rtol=1e-3)
