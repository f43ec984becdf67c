"""Protocols of the papers: what is published, and settings that depart from it."""

from __future__ import annotations

import pytest

from bostruct.nas import CIFAR10Objective, recipes
from bostruct.nas.cifar import PROTOCOLS


def test_protocols_are_as_published():
    facts = {  # recipe, images to train on and to validate with, repeats
        "combo": ("COMBO", 40_000, 10_000, 4),
        "deeparchitect": ("DEEP_ARCHITECT", 40_000, 10_000, 1),
        "nasbot": ("NASBOT_CNN", 40_000, 10_000, 1),
        "wrs": ("WRS", 40_000, 10_000, 1),
        "fast": ("FAST_IMAGES", 40_000, 10_000, 1),
    }
    found = {name: one[:4] for name, one in PROTOCOLS.items()}
    assert found == {name: (getattr(recipes, recipe), *rest) for name, (recipe, *rest) in facts.items()}
    assert all(one.departures for one in PROTOCOLS.values())
    with pytest.raises(ValueError, match="protocol: expected one of combo"):
        CIFAR10Objective("nowhere", "enas")  # type: ignore[arg-type]
