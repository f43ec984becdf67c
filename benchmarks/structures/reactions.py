"""Yields of chemical reactions, whose parts are alike as far as their SMILES strings are.

The tables are Suzuki-Miyaura couplings (Perera et al. 2018) and Buchwald-Hartwig aminations (Ahneman et al. 2018).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import bostruct as bo
from benchmarks.peers.measured import reaction
from benchmarks.peers.tasks import Task
from bostruct.contracts import IntArray

LONGEST = 4  # characters of a fragment
N_BITS = 512  # of a fingerprint


def reactions(name: str, seed: int, path: Path, alike: bool = True) -> Task:
    """Make the choice of the parts of a reaction, which have fingerprints: minus the yield, as a share.

    name: "suzuki_miyaura" or "buchwald_hartwig".
    seed: unused, since the table is one; seeds differ in their initial points.
    path: the folder of the tables.
    alike: False for parts without fingerprints, which are plain categories.
    """
    task = reaction(name, seed, path)
    if not alike:
        return task
    variables = {part: bo.Categorical(one.choices, descriptors=fingerprints(one.choices)) for part, one in _parts(task)}
    return task._replace(space=bo.Space(variables, task.space.constraints))


def fingerprints(smiles: Sequence[str]) -> IntArray:
    """Return which fragments of up to 4 characters SMILES strings have, hashed to 512 bits (n, 512).

    smiles: n strings; the empty one, where a part was left out, has no bits.
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
