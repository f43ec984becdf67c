"""Escape from plateaus of schedules: where it is used, when it mutates, and that a search is no longer caught."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.methods import auto
from bostruct.methods.exploration import PlateauEscape, escape_plateaus
from bostruct.study.history import History

SHOP = bo.Space({"p": bo.Permutation({"a": 3, "b": 3, "c": 3}, resources={"a": [1, 2, 3], "b": [2, 3, 1], "c": 3})})


def tell(*values):
    """Return a history of different random points with these values."""
    return History.of(SHOP, SHOP.sample(len(values), np.random.default_rng(0)), values)


def ask(*values, state=None, wait=4):
    return PlateauEscape(wait)(SHOP, tell(*values), state, np.random.default_rng(0))


def test_orders_with_resources_have_it_and_no_other_space():
    assert auto(SHOP).exploration == escape_plateaus(SHOP) == PlateauEscape()
    assert escape_plateaus(bo.Space({"p": bo.Permutation(["a", "b", "c"])})) is None
    assert escape_plateaus(bo.Space({"b": bool})) is None


@pytest.mark.parametrize(
    "values",
    [
        (5.0, 3.0, 3.0, 3.0, 3.0, 3.0),
        (3.0, 5.0, 3.0, 5.0, 3.0),  # half of the last four
        (4.0, 3.0, 3.0, 9.0, 9.0, 3.0, 3.0),
    ],
)
def test_on_a_plateau_every_other_suggestion_is_an_unseen_mutation_of_the_last_best_point(values):
    found = ask(*values)
    history = tell(*values)
    assert found.origin == "mutation"
    assert "equal the best, and none is better" in found.why
    assert SHOP.key(found.point) not in history.seen
    best = [x for x, value in zip(history.completed, values, strict=True) if value == 3.0][-1]
    near = {SHOP.key(x) for x in SHOP.neighbors(best)}
    assert SHOP.key(found.point) in near
    assert ask(*values, state=found.state) == (None, False, "", "random")
    assert ask(*values, state=False).point is not None


@pytest.mark.parametrize(
    "values",
    [
        (5.0,),
        (3.0, 3.0, 3.0, 3.0),  # nothing was told before
        (5.0, 5.0, 3.0, 3.0, 3.0),  # one of the last four was better
        (3.0, 5.0, 5.0, 5.0, 3.0),
        (3.0, 4.0, 4.0, 4.0, 4.0),  # a plateau, but not of the best
    ],
)
def test_elsewhere_the_model_is_asked(values):
    assert ask(*values).point is None


def test_how_long_it_waits_is_checked_and_counts():
    assert ask(3.0, 3.0, 4.0, wait=2).point is not None
    assert ask(3.0, 3.0, 4.0, 4.0, wait=2).point is None
    with pytest.raises(ValueError, match="wait"):
        PlateauEscape(1)
    with pytest.raises(TypeError, match="wait"):
        PlateauEscape(2.0)  # type: ignore[arg-type]
