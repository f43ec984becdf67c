"""The searches of `bostruct nas`, as values."""

from __future__ import annotations

import numpy as np
import pytest

from bostruct.domains.architecture.domain import cnn_domain
from bostruct.nas import searches
from bostruct.nas.cifar import synthetic_cifar10
from bostruct.nas.searches import PAPER_SPACES


def test_epochs_are_another_search():
    assert searches.search_of("diabetes", epochs=7).recipe.epochs == 7
    assert searches.search_of("diabetes").title == "diabetes"
    assert searches.search_of("diabetes", epochs=7).title == "diabetes epochs=7"
    with pytest.raises(ValueError, match="dataset: expected one of digits, diabetes, cifar10"):
        searches.search_of("imagenet")
    with pytest.raises(ValueError, match="data: expected a folder for cifar10"):
        searches.search_of("cifar10")


def test_wrong_settings_of_a_paper_space_are_refused():
    for setting, message in [
        ({"space": "darts"}, "space: expected one of chains, combo-cell"),
        ({"scale": 0.0}, "scale"),
        ({"scale": 1.5}, "scale"),
        ({"protocol": "adam"}, "protocol"),
    ]:
        with pytest.raises(ValueError, match=message):
            searches.search_of("cifar10", data="synthetic", **({"scale": 0.002} | setting))
    with pytest.raises(ValueError, match="only cifar10 has them"):
        searches.search_of("digits", scale=0.5)


def test_at_full_scale_a_space_is_the_published_one():
    for space in PAPER_SPACES.values():
        domain = space.build(1.0)
        if space.protocol == "nasbot":
            assert domain == cnn_domain()
    assert PAPER_SPACES["deeparchitect-genetic"].build(1.0).count().count == 2**19
    assert PAPER_SPACES["combo-cell"].build(1.0).size == 2**31
    cell = PAPER_SPACES["combo-cell"]
    largest = {f"bit_{i}": 1 for i in range(31)}
    for scale in (1.0, 0.25):
        assert cell.objective(lambda _: 0.3, scale)(largest) == pytest.approx(0.32)
        assert cell.objective(lambda _: 0.3, scale)(dict.fromkeys(largest, 0)) == 0.92


def test_a_narrower_pool_of_nasbot_has_the_published_shapes():
    """Units are a quarter, at least 4; labels, strides and edges are those of the pool."""
    full, narrow = PAPER_SPACES["nasbot-cnn"].build(1.0), PAPER_SPACES["nasbot-cnn"].build(0.25)
    assert len(narrow.pool) == len(full.pool) == 12
    for one, other in zip(full.pool, narrow.pool, strict=True):
        assert one.edges == other.edges
        for layer, thin in zip(one.layers, other.layers, strict=True):
            assert layer._replace(units=None) == thin._replace(units=None)
            assert layer.units is None or thin.units == max(round(layer.units / 4), 4)


def test_images_made_up_have_ten_classes_and_are_the_same_by_their_seed():
    first, again = synthetic_cifar10(60, 20), synthetic_cifar10(60, 20)
    assert np.array_equal(first.train[0], again.train[0])
    assert [part[0].shape for part in first] == [(60, 3, 32, 32), (20, 3, 32, 32)]
    assert set(first.test[1]) == set(range(10))
    assert not np.array_equal(first.train[0], synthetic_cifar10(60, 20, seed=1).train[0])
    with pytest.raises(ValueError, match="train: expected at least 10"):
        synthetic_cifar10(9)
