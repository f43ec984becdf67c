"""Fixtures of the bridges' tests."""

from __future__ import annotations

import sys

import pytest


@pytest.fixture(autouse=True)
def _quiet_optuna():
    """Optuna logs errors alone, where a test has imported it."""
    optuna = sys.modules.get("optuna")
    if optuna is None:
        yield
        return
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)
