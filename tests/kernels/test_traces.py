"""The kernel on choices, where one place holds other values in other programs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

import bostruct as bo
from bostruct.kernels.traces import TraceKernel
from bostruct.language import D, IntRange, SearchSpace, siso_module, substitution_module
from bostruct.methods.default_kernels import program_kernel
from bostruct.surrogates.priors import Normal
from bostruct.testing.kernel_laws import check_kernel


def growing():
    """The choice of ``x`` is at one place whatever ``n`` is, among as many values as ``n`` says."""
    return substitution_module(
        "S",
        lambda dh: siso_module("M", {"x": IntRange(1, dh["n"])}),
        {"n": D([1, 2, 3])},
        ["in"],
        ["out"],
        keyed_by=(),
    )


class Chosen(NamedTuple):
    path: str
    kind: str
    value: float
    count: float
    ordered: bool


def test_laws_where_the_values_of_a_place_differ():
    space = SearchSpace(growing)
    check_kernel(program_kernel(space), space, np.random.default_rng(0))
    result = bo.minimize(lambda p: -float(p.nodes[0].values["x"]), space, 6, method="auto", seed=0)
    assert result.best_value == -3.0


@pytest.mark.parametrize(
    ("other", "distance"),
    [
        (Chosen("a", "k", 1, 3, True), 0.5),
        (Chosen("a", "k", 1, 2, True), 2.0),
        (Chosen("a", "k", 0, 1, True), 2.0),
        (Chosen("a", "k", 0, 3, False), 2.0),
        (Chosen("b", "k", 0, 3, True), 2.0),
    ],
)
def test_choices_of_other_values_are_other_choices(other, distance):
    kernel = TraceKernel(lambda x: x, ("k",), Normal(0.0, 1.0), 0.0)
    xs, ys = [[Chosen("a", "k", 0, 3, True)]], [[other]]
    for ahead, behind in ((xs, ys), (ys, xs)):
        np.testing.assert_allclose(kernel.prepare(ahead, behind)[0], [[distance]])
