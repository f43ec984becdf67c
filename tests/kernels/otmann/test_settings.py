"""Settings of OTMANN: costs that make a distance, and refusals by their words."""

import re

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.architecture.layers import CNN, MLP, UNMATCHED, Family, Label
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.otmann.settings import PAPER, REFERENCE, Otmann, cost_table

SEPARABLE = CNN.with_label(Label("sep3", group="conv", image="strides"), {"conv3": 0.05}, "separable")


@pytest.mark.parametrize("family", [CNN, MLP, SEPARABLE], ids=lambda family: family.name)
@pytest.mark.parametrize("settings", [REFERENCE, PAPER], ids=["reference", "paper"])
def test_costs_are_a_metric(family, settings):
    costs = cost_table(family, settings).mismatch
    assert not costs.diagonal().any()
    detours = (costs[:, :, None] + costs).min(axis=1)
    np.testing.assert_array_less(costs, detours + 1e-12)


def test_the_figure_costs_of_a_new_label_are_those_of_the_cheapest_way():
    costs, row = cost_table(SEPARABLE, PAPER).mismatch, SEPARABLE.index
    assert costs[row["sep3"], row["conv5"]] == pytest.approx(0.05 + 0.1)
    assert costs[row["sep3"], row["fc"]] == UNMATCHED
    published = [row[label.name] for label in CNN.labels]
    np.testing.assert_array_equal(costs[np.ix_(published, published)], cost_table(CNN, PAPER).mismatch)
    new, known, other = (
        Architecture.chain(f"conv3-4 {label}-4 softmax", SEPARABLE) for label in ("sep3", "conv3", "conv5")
    )
    far = {pair: float(bo.otmann(*pair, PAPER).distance[0]) for pair in ((new, known), (known, other), (new, other))}
    assert far[new, other] == pytest.approx(far[new, known] + far[known, other]) == pytest.approx(2.4)


def own(change):
    def costs(family: Family):
        table = family.mismatch.copy()
        change(table, family.index)
        return table

    return Otmann(costs=costs)


def lopsided(table, row):
    table[row["conv3"], row["conv5"]] = 0.1


def short_cut(table, row):
    for one, other in (("conv3", "max-pool"), ("max-pool", "conv3"), ("conv5", "max-pool"), ("max-pool", "conv5")):
        table[row[one], row[other]] = 0.01


def itself(table, row):
    table[row["res5"], row["res5"]] = 0.3


def nothing_known(table, row):
    table[row["res5"], row["res5"]] = np.nan


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lopsided, "costs: expected a symmetric, non-negative table"),
        (nothing_known, "costs: expected a symmetric, non-negative table"),
        (itself, "costs: expected 0 on the diagonal for family cnn, got res5 matched to itself"),
        (short_cut, "costs: matching conv3 to conv5 costs 0.2, more than by way of max-pool"),
    ],
)
def test_costs_that_make_no_distance_are_refused(change, words):
    x = Architecture.chain("conv3-16 softmax")
    with pytest.raises(ValueError, match=words):
        bo.otmann(x, x, own(change))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"weights": [0.1]}, r"weights: expected a tuple of numbers such as \(0.1, 0.5\), got \[0.1\]"),
        ({"weights": np.array([0.1, 0.2])}, r"weights: expected a tuple of numbers .* got array"),
        ({"weights": ("0.1",)}, "weights: expected a number, got '0.1'"),
        ({"end_share": 1e308}, r"end_share: expected a finite number in \[0.0, 1e\+150\], got 1e\+308"),
        ({"end_floor": 1e151}, r"end_floor: expected a finite number in \[0.0, 1e\+150\], got 1e\+151"),
        ({"dense_factor": 1e307}, r"dense_factor: expected a finite number in \[1e-12, 1e\+150\], got 1e\+307"),
        ({"costs": np.eye(3)}, "costs: expected a function from a family to its table"),
        ({"attribute_costs": {"stride": 1.0}}, r"attribute_costs: expected a tuple .* got {'stride': 1.0}"),
        ({"attribute_costs": (("stride",),)}, r"attribute_costs: expected a tuple .* got \(\('stride',\),\)"),
        ({"attribute_costs": ((1, 0.5),)}, "attribute_costs: expected a tuple"),
        ({"attribute_costs": (("stride", -1.0),)}, r"attribute_costs\['stride'\]: expected a finite number"),
        ({"attribute_costs": (("stride", 1.0), ("stride", 2.0))}, "attribute_costs: expected each attribute once"),
    ],
)
def test_settings_are_refused_by_their_words(given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Otmann(**given)


@pytest.mark.parametrize("given", [{"end_share": 1e149}, {"dense_factor": 1e150}, {"end_floor": 1e150}])
def test_masses_beyond_all_measure_are_refused(given):
    one, other = Architecture.chain("conv3-16 fc-32 softmax"), Architecture.chain("conv3-8 fc-16 fc-8 softmax")
    name, value = next(iter(given.items()))
    words = re.escape("settings: expected masses of at most 1e+150 together, got ")
    with pytest.raises(ValueError, match=f"{words}.*{name}={re.escape(format(value, 'g'))}"):
        bo.otmann(one, other, Otmann(**given))


def test_the_largest_masses_give_finite_distances():
    settings = Otmann(end_share=0.0, end_floor=3e149)
    one, other = Architecture.chain("conv3-16 fc-32 softmax"), Architecture.chain("conv3-8 fc-16 fc-8 softmax")
    found = bo.otmann(one, other, settings)
    assert np.isfinite(found.distance**2).all()
    assert np.isfinite(found.plan).all()
    assert np.all(found.distance <= found.masses[0].sum() + found.masses[1].sum())
