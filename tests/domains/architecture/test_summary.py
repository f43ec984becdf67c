"""The numbers that describe an architecture to a model of tables."""

import math

from bostruct.domains.architecture.value import summarize
from tests.architectures import SMALL_CNN, renumbered


def test_a_summary_counts_layers_edges_and_labels():
    x = SMALL_CNN.pool[0]
    found = summarize(x)
    assert (found["layers"], found["edges"]) == (len(x.layers), len(x.edges))
    assert sum(value for name, value in found.items() if name.startswith("layers of ")) == len(x.layers)
    assert found["strides"] == sum(layer.stride > 1 for layer in x.layers)
    assert found["mass"] >= found["largest mass"] > 0.0
    assert found["most units"] == math.log1p(max(layer.units for layer in x.layers if layer.units is not None))


def test_all_architectures_of_a_family_have_the_same_numbers_and_equal_ones_equal_values(rng):
    drawn = SMALL_CNN.sample(20, rng)
    assert {tuple(summarize(x)) for x in drawn} == {tuple(summarize(drawn[0]))}
    assert all(math.isfinite(value) for x in drawn for value in summarize(x).values())
    assert all(summarize(renumbered(x, rng)) == summarize(x) for x in drawn)
    assert len({tuple(summarize(x).values()) for x in drawn}) > 10
