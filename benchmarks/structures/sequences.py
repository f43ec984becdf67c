"""Sequences of letters: RNA that must fold into a given structure, and functions with motifs and banned steps."""

from __future__ import annotations

import importlib
import sys
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

import bostruct as bo
from benchmarks.peers.tasks import Point, Task, Value, from_problem
from bostruct.integrations.holo import read_test_function
from bostruct.problems.motifs import motifs

PUZZLES = ("65", "40", "15")  # from Eterna100, with 40, 38 and 30 bases: three branches, three arms, a bulge
FILE = Path("rna", "eterna100_puzzles.tsv")  # in the folder of the data
SKIPPED = f"{FILE} is read: from github.com/eternagame/eterna100-benchmarking, then --data DIR"
EHRLICH_LENGTH, EHRLICH_MOTIFS, MOTIF_LENGTH = 15, 2, 5
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"


def load_target(puzzle: str, data: Path | None) -> str:
    """Return the structure of a puzzle, in dots and brackets.

    puzzle: number of the puzzle, such as one of `PUZZLES`.
    data: folder of the file, if any.

    Raises FileNotFoundError if the file does not exist.
    """
    if data is None or not (data / FILE).exists():
        raise FileNotFoundError(SKIPPED)
    rows = [line.split("\t") for line in (data / FILE).read_text(encoding="utf-8").splitlines()]
    return next(row[2] for row in rows if row[0] == puzzle)


def rna(target: str, seed: int) -> Task:
    """Make RNA inverse folding: find bases whose structure of minimum free energy is the target.

    target: the structure in dots and brackets.
    seed: unused; seeds differ in their initial points.

    The value is the share of places at which the two structures differ. Needs ViennaRNA.
    """
    del seed
    vienna = importlib.import_module("RNA")

    def value(point: Point) -> float:
        structure, _ = vienna.fold(point["sequence"])
        return sum(own != wanted for own, wanted in zip(structure, target, strict=True)) / len(target)

    return Task(bo.Space({"sequence": bo.Sequence("ACGU", len(target))}), value)


def ehrlich_holo(seed: int, data: Path | None = None) -> Task:
    """Make an Ehrlich function of pytorch-holo (Stanton et al. 2024): 15 letters of 20, two motifs of five.

    seed: seed of the instance, from 0.
    data: folder into which the package was installed; None if it is importable.

    The value is minus the function, whose maximum is 1. Sequences with a banned step fail.
    """
    function = make_ehrlich(AMINO_ACIDS, EHRLICH_LENGTH, EHRLICH_MOTIFS, MOTIF_LENGTH, seed, data)
    return task_of_ehrlich(AMINO_ACIDS, function)


def make_ehrlich(letters: str, length: int, motifs: int, motif_length: int, seed: int, data: Path | None) -> Any:
    """Return an Ehrlich function of pytorch-holo.

    letters: letters of the sequences.
    length: length of the sequences.
    motifs: number of motifs.
    motif_length: length of each motif.
    seed, data: see `ehrlich_holo`.
    """
    return _load_ehrlich(data)(
        num_states=len(letters), dim=length, num_motifs=motifs, motif_length=motif_length, random_seed=seed + 1
    )


def task_of_ehrlich(letters: str, function: Any) -> Task:
    """Make the task of an Ehrlich function, whose value is minus the function.

    letters: letters of the sequences.
    function: the result of `make_ehrlich`.
    """
    problem = read_test_function(function, letters)
    return Task(cast(bo.Space, problem.space), cast(Value, problem))


def _load_ehrlich(data: Path | None) -> Any:
    """Return the class of Ehrlich functions, whose package may be installed in the folder of the data."""
    if data is not None and str(data) not in sys.path:
        sys.path.append(str(data))
    return importlib.import_module("holo.test_functions.closed_form").Ehrlich


def draw_feasible(task: Task, n: int, seed: int) -> list[Point]:
    """Draw random points until n of them do not fail.

    task: a task in which a random point may fail.
    n: number of points.
    seed: seed of the points.
    """
    rng, found = np.random.default_rng([seed, 31]), list[Point]()
    while len(found) < n:
        for x in task.space.sample(100, rng):
            point = task.space.present(x)
            try:
                task.value(point)
            except bo.Infeasible:
                continue
            found.append(point)
    return found[:n]


def hidden_motif(seed: int, data: Path | None = None) -> Task:
    """Make sequences of 10 to 30 letters of 8 that must have two motifs of four letters anywhere.

    seed: seed of the motifs.
    data: unused.
    """
    del data
    return from_problem(motifs(seed))


def _fold(puzzle: str, seed: int, data: Path | None) -> Task:
    return rna(load_target(puzzle, data), seed)


RNA = {f"rna {puzzle}": partial(_fold, puzzle) for puzzle in PUZZLES}
EHRLICH = {"ehrlich holo 15": ehrlich_holo}
RNA_TEXT = """\
Sequences of bases that should fold into a structure of Eterna100: three branches, three arms or a bulge. The value is
the share of bases that are paired differently. Needs ViennaRNA, and the puzzles as `--data DIR`."""
EHRLICH_TEXT = """\
Ehrlich functions of pytorch-holo (Stanton et al. 2024), 15 letters of 20 with two motifs of five. Sequences with a
banned step fail. All start with ten sequences that do not. The optimum is -1."""
MOTIF_TEXT = """\
Sequences of 10 to 30 letters of 8 that should have two hidden motifs of four letters anywhere."""
