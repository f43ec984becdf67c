"""Tables for tests: a file of invented accuracies, and the folder of the published tables."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

DATA = os.environ.get("BOSTRUCT_DATA")
needs_data = pytest.mark.skipif(not DATA, reason="BOSTRUCT_DATA does not name a folder of tables")


def edges_file(path: Path, codes: np.ndarray, seeds: int = 3) -> Path:
    """A table in the form of NAS-Bench-201's, of invented accuracies; the last training of odd rows is missing."""
    rng = np.random.default_rng(0)
    arrays = {"edges": codes.astype(np.uint8)}
    for name in ("c10", "c100", "in16"):
        validation = rng.uniform(10, 95, (len(codes), seeds)).astype(np.float32)
        validation[1::2, -1] = np.nan
        arrays |= {f"{name}_val_200ep": validation, f"{name}_test_200ep_mean": validation[:, 0] - 1}
    np.savez(path, **arrays)
    return path
