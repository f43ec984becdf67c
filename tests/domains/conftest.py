"""What tests of domains share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator, the same for each test; a file that needs other draws has its own."""
    return np.random.default_rng(0)
