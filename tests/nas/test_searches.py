"""The searches of `bostruct nas`, as values."""

from __future__ import annotations

import pytest

from bostruct.nas import searches


def test_epochs_are_another_search():
    assert searches.search_of("diabetes", epochs=7).recipe.epochs == 7
    assert searches.search_of("diabetes").title == "diabetes"
    assert searches.search_of("diabetes", epochs=7).title == "diabetes epochs=7"
    with pytest.raises(ValueError, match="dataset: expected one of digits, diabetes, cifar10"):
        searches.search_of("imagenet")
    with pytest.raises(ValueError, match="data: expected a folder for cifar10"):
        searches.search_of("cifar10")
