"""Yields of chemical reactions, in which the similarity of parts is the similarity of their SMILES strings.

The tables are Suzuki-Miyaura couplings (Perera et al. 2018) and Buchwald-Hartwig aminations (Ahneman et al. 2018).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

import bostruct as bo
from benchmarks.peers.measured import reaction
from benchmarks.peers.tasks import Task
from bostruct.contracts import IntArray

LONGEST = 4  # characters of a fragment
NAMES = {"suzuki": "suzuki_miyaura", "buchwald": "buchwald_hartwig"}
N_BITS = 512  # bits of a fingerprint
SKIPPED = "the tables of reactions are read: give the folder that has them in a folder reactions as --data DIR"


def reactions(name: str, seed: int, data: Path | None = None) -> Task:
    """Make the choice of the parts of a reaction, which have fingerprints: minus the yield, as a share.

    name: "suzuki_miyaura" or "buchwald_hartwig".
    seed: unused, since there is one table; seeds differ in their initial points.
    data: folder that contains the folder of the tables, if any.

    Raises FileNotFoundError if the tables do not exist.
    """
    if data is None or not (data / "reactions").exists():
        raise FileNotFoundError(SKIPPED)
    task = reaction(name, seed, data)
    variables = {part: bo.Categorical(one.choices, descriptors=fingerprints(one.choices)) for part, one in _parts(task)}
    return task._replace(space=bo.Space(variables, task.space.constraints))


def fingerprints(smiles: Sequence[str]) -> IntArray:
    """Return the fragments of up to 4 characters of SMILES strings, hashed to 512 bits (n, 512).

    smiles: n strings; the empty string of an omitted part has no bits.
    """
    bits = np.zeros((len(smiles), N_BITS), dtype=np.int64)
    for row, text in zip(bits, smiles, strict=True):
        for length in range(1, LONGEST + 1):
            for start in range(len(text) - length + 1):
                digest = hashlib.blake2b(text[start : start + length].encode(), digest_size=4).digest()
                row[int.from_bytes(digest) % N_BITS] = 1
    return bits


def _parts(task: Task) -> list[tuple[str, bo.Categorical]]:
    return [(part, one) for part, one in task.space.variables.items() if isinstance(one, bo.Categorical)]


REACTIONS = {name: partial(reactions, table) for name, table in NAMES.items()}
TEXT = """\
The best of the measured reactions of two tables, Suzuki-Miyaura couplings (Perera et al. 2018) and Buchwald-Hartwig
aminations (Ahneman et al. 2018), in 50 experiments; the value is minus the yield. `auto` knows which fragments
the SMILES string of each part has, and searches the measured reactions. **auto on plain categories** knows only names.

- **BoTorch Tanimoto** is a `SingleTaskGP` with a scaled Tanimoto kernel on the same fragments of all parts together,
  fitted by `fit_gpytorch_mll`. It asks for the reaction of the table with the largest log expected improvement.
- **Optuna GP** and **Optuna TPE** know only names. They do not know that 5 of the 3,960 aminations were not
  measured: such a suggestion is a trial and counts as the worst yield so far."""
