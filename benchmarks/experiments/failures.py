"""Problems in which many points fail, for a reason that a search does not observe."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import bostruct as bo
from benchmarks.experiments.instances import Instance, from_task
from benchmarks.peers.measured import DEVICES, kernel_tuning
from benchmarks.peers.orders import ehrlich
from benchmarks.peers.run import N_INITIAL
from benchmarks.structures.sequences import draw_feasible, ehrlich_holo, make_ehrlich, task_of_ehrlich

LONG_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdef"
LONG_LENGTH, LONG_MOTIFS, LONG_MOTIF = 32, 4, 4
SKIPPED = "the tables of kernels are read: give the folder that has them in a folder kernel_tuning as --data DIR"


def letters_15(seed: int, data: Path | None = None) -> Instance:
    """Make an Ehrlich function of 15 letters of 8, with one variable per letter; the ten initial points do not fail.

    seed: seed of the instance.
    data: unused.
    """
    del data
    task = ehrlich(seed)
    return from_task(task, initial=tuple(draw_feasible(task, N_INITIAL, seed)))


def holo_15(seed: int, data: Path | None) -> Instance:
    """Make an Ehrlich function of pytorch-holo of 15 letters of 20; the ten initial points do not fail.

    seed, data: see `benchmarks.structures.sequences.ehrlich_holo`.
    """
    task = ehrlich_holo(seed, data)
    return from_task(task, initial=tuple(draw_feasible(task, N_INITIAL, seed)))


def holo_32(seed: int, data: Path | None) -> Instance:
    """Make an Ehrlich function of pytorch-holo of 32 letters of 32 with four motifs of four.

    seed, data: see `benchmarks.structures.sequences.ehrlich_holo`.

    A random sequence fails. The ten initial points are sampled by pytorch-holo along allowed steps.
    """
    function = make_ehrlich(LONG_LETTERS, LONG_LENGTH, LONG_MOTIFS, LONG_MOTIF, seed, data)
    rows = function.initial_solution(N_INITIAL).tolist()
    initial = [{"sequence": "".join(LONG_LETTERS[k] for k in row)} for row in rows]
    return from_task(task_of_ehrlich(LONG_LETTERS, function), initial=tuple(initial))


def hidden_kernel(kernel: str, seed: int, data: Path | None) -> Instance:
    """Make the tuning of a GPU kernel with hidden conditions: points that violate them fail.

    kernel: one of `benchmarks.peers.measured.DEVICES`.
    seed: selects the device.
    data: folder of the tables, if any.

    Raises FileNotFoundError if the tables do not exist.
    """
    task = kernel_tuning(kernel, seed, find_kernels(data))
    hidden = task._replace(space=bo.Space(task.space.variables))
    return from_task(hidden, nothing=task.value(draw_feasible(task, 1, seed)[0]))


def find_kernels(data: Path | None) -> Path:
    """Return the folder of the tables; raise FileNotFoundError if it has no tables of kernels.

    data: the folder, if any.
    """
    if data is None or not (data / "kernel_tuning").exists():
        raise FileNotFoundError(SKIPPED)
    return data


EHRLICH = {"ehrlich 15 categories": letters_15, "ehrlich holo 15": holo_15, "ehrlich holo 32": holo_32}
KERNELS = {f"kernel {name} hidden": partial(hidden_kernel, name) for name in DEVICES}
EHRLICH_TEXT = """\
Ehrlich functions (Stanton et al. 2024), whose sequences with a banned step fail: 15 letters of 8 as categories, and 15
letters of 20 and 32 of 32 by pytorch-holo as a `Sequence`. All start with ten sequences that do not fail. The optimum
is -1. **Failed** is the share of the trials after the 50th that fail."""
KERNELS_TEXT = """\
Run times of GPU kernels in milliseconds (Kernel Tuner's hub), half of which break a condition that no method knows,
and fail. The seed chooses the GPU. **Failed** is the share of the trials after the 50th that fail.
Optuna gets a failure as a violated constraint with the worst value so far, if any."""
