"""Spaces with conditions for tests: a fixed one of every kind of condition, and random ones."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

import bostruct as bo


def has_momentum(rate: float) -> bool:
    return rate > 0.5


def training_space() -> bo.Space:
    """Values, several values and predicates as conditions, nested, on choices and on a number."""
    return bo.Space(
        {
            "optimizer": ["sgd", "adam", "none"],
            "momentum": bo.Real(0.0, 0.99, when={"optimizer": "sgd"}),
            "nesterov": bo.Binary(when={"momentum": has_momentum}),
            "beta": bo.Ordinal([0.9, 0.99, 0.999], when={"optimizer": bo.OneOf("adam", "none")}),
            "layers": bo.Integer(1, 3),
            "width_2": bo.Integer(1, 8, when={"layers": lambda n: n >= 2}),
            "width_3": bo.Integer(1, 8, when={"layers": 3}),
        }
    )


def finite_space() -> bo.Space:
    """Conditions that a file holds, two of them on one variable, one on a later variable."""
    return bo.Space(
        {
            "c": bo.Binary(when={"b": bo.OneOf("x", "y"), "a": 1}),
            "a": [0, 1, 2],
            "b": bo.Categorical(["x", "y", "z"], when={"a": bo.OneOf(1, 2)}),
            "d": bool,
            "e": bo.Ordinal([1, 2, 4, 8], when={"c": True}),
        }
    )


@st.composite
def conditional_spaces(draw: st.DrawFn) -> bo.Space:
    """Spaces of 2 to 6 variables of 2 to 4 choices, each of which may depend on any before it."""
    sizes = draw(st.lists(st.integers(2, 4), min_size=2, max_size=6))
    variables: dict[str, Any] = {}
    for i, size in enumerate(sizes):
        when = {}
        for k in draw(st.lists(st.integers(0, i - 1), max_size=2, unique=True)) if i else []:
            values = draw(st.lists(st.integers(0, sizes[k] - 1), min_size=1, max_size=sizes[k], unique=True))
            when[f"v{k}"] = draw(st.sampled_from([values[0], bo.OneOf(*values), _is_one_of(tuple(values))]))
        kind = draw(st.sampled_from([bo.Categorical, bo.Ordinal]))
        variables[f"v{i}"] = kind(list(range(size)), when=when or None)
    try:
        return bo.Space(variables)
    except bo.DomainError:  # a variable that no point has
        return bo.Space({name: type(v)(v.choices) for name, v in variables.items()})


def _is_one_of(values: tuple[int, ...]) -> Any:
    return lambda value: value in values
