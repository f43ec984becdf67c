"""The kernel of sequences: its distances by hand, the laws, and which sums it learns."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import bostruct as bo
from bostruct.kernels.space.registry import main_effects
from bostruct.kernels.space.sequence import SequenceEffect, SequenceFactor, SequenceShape
from bostruct.methods.defaults import space_kernel
from bostruct.testing import check_kernel
from tests.strategies import rngs


def compare_by_hand(x, y, shortest, width):
    """By the definitions, letter after letter, in texts."""
    places = [float(x[i : i + 1] != y[i : i + 1]) for i in range(width)]
    pairs = []
    for gap in range(1, min(3, width - 1) + 1):
        mine, theirs = (Counter(zip(one, one[gap:], strict=False)) for one in (x, y))
        pairs.append(0.25 * sum((mine[pair] - theirs[pair]) ** 2 for pair in mine | theirs))
    lengths = [10.0 * ((len(x) - len(y)) / (width - shortest)) ** 2] if shortest < width else []
    return places + pairs + lengths


@pytest.mark.parametrize(
    "variable", [bo.Sequence("AB", 2), bo.Sequence("ABC", (1, 6)), bo.Sequence("ACGU", 9)], ids=repr
)
def test_distances_are_those_of_the_definitions(variable):
    rng = np.random.default_rng(0)
    xs, ys = variable.sample(6, rng), variable.sample(5, rng)
    shape = SequenceShape(len(variable.letters), variable.longest, variable.shortest)
    factor = SequenceFactor(shape, 1)
    texts = [[variable.present(row) for row in rows.tolist()] for rows in (xs, ys)]
    expected = np.array([[compare_by_hand(x, y, shape.shortest, shape.width) for y in texts[1]] for x in texts[0]])
    theta = rng.normal(size=factor.n_parameters)
    log_gram = factor.log_gram(theta, factor.prepare(xs, ys))
    assert_allclose(log_gram, -expected @ (0.5 * np.exp(-2.0 * theta)), atol=1e-9)


@given(st.integers(2, 5), st.integers(2, 9), st.booleans(), rngs())
def test_nothing_depends_on_what_letters_are_called(k, width, varies, rng):
    variable = bo.Sequence(range(k), (1, width) if varies else width)
    xs, ys, names = variable.sample(4, rng), variable.sample(3, rng), np.append(rng.permutation(k), k)
    shape = SequenceShape(k, width, variable.shortest)
    factor, effect = SequenceFactor(shape, 1), SequenceEffect(shape)
    theta = rng.normal(size=factor.n_parameters)
    renamed = factor.log_gram(theta, factor.prepare(names[xs], names[ys]))
    assert_allclose(renamed, factor.log_gram(theta, factor.prepare(xs, ys)), atol=1e-9)
    assert_allclose(effect.gram(names[xs], names[ys]), effect.gram(xs, ys), atol=1e-9)


SPACES = {
    "alone": {"s": bo.Sequence("ABC", 4)},
    "varying": {"s": bo.Sequence("AB", (1, 4))},
    "several": {
        "s": bo.Sequence("ACGU", (2, 5)),
        "b": bool,
        "t": bo.Sequence("WXYZ", (2, 5)),
        "u": bo.Sequence("AB", 2),
    },
    "mixed": {"c": list("abc"), "s": bo.Sequence("ABC", (1, 3), when={"c": "a"}), "r": bo.Real(0, 1), "i": range(5)},
}


@pytest.mark.parametrize("name", SPACES)
def test_laws(name):
    space, rng = bo.Space(SPACES[name]), np.random.default_rng(0)
    check_kernel(space_kernel(space), space, rng)
    check_kernel(main_effects(space), space, rng)


def test_sequences_of_one_shape_share_a_factor():
    kernel = space_kernel(bo.Space(SPACES["several"]))
    assert [block.size for block in kernel.parameters] == [(5 + 3 + 1) + 1 + (5 + 3 + 1) + (2 + 1)]
    assert sorted(one.variables for one in kernel.factors) == [(0, 2), (1,), (3,)]


@pytest.mark.parametrize(
    "variable", [bo.Sequence("AB", 2), bo.Sequence("ACGU", 12), bo.Sequence(range(20), 30)], ids=repr
)
def test_the_effect_is_about_one_of_equal_sequences_and_zero_on_average(variable):
    effect = SequenceEffect(SequenceShape(len(variable.letters), variable.longest, variable.longest))
    xs = variable.sample(400, np.random.default_rng(0))
    gram = effect.gram(xs, xs)
    assert_allclose(gram.diagonal(), effect.diag(xs))
    assert gram.diagonal().mean() == pytest.approx(1.0, abs=0.05)
    assert np.linalg.eigvalsh(gram).min() > -1e-8
    assert abs(gram[~np.eye(400, dtype=bool)].mean()) < 0.02


def test_a_word_that_may_stand_anywhere_is_found():
    """The best value after 40 trials is better than that of evolution."""
    word, space = "FACE", bo.Space({"s": bo.Sequence("ABCDEF", (6, 12))})

    def cost(point):
        text = point["s"]
        return -max(sum(a == b for a, b in zip(text[i:], word, strict=False)) for i in range(len(text) - 3))

    ours, evolved = (bo.minimize(cost, space, 40, method=name, seed=1) for name in ("auto", "evolution"))
    assert ours.best_value < evolved.best_value
