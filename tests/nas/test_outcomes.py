"""Outcomes of trainings: what errors come to, when a training is hopeless, which epoch counts."""

from __future__ import annotations

from bostruct.nas.outcomes import Epoch, is_hopeless
from bostruct.nas.recipes import COMBO


def test_early_stop_is_the_published_rule():
    def stops(*errors):
        return is_hopeless([Epoch(0.0, error) for error in errors], 2)

    assert not stops(0.5, 0.6)
    assert stops(0.5, 0.6, 0.51)
    assert not stops(0.5, 0.6, 0.5)
    assert stops(0.9, 0.5, 0.6, 0.51)
    assert COMBO.patience == 10
