"""FC-Net: perceptrons of two layers and how they are trained, on four regression sets; a table of all 62,208."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bostruct.checks import check_choice, check_integer, shown
from bostruct.contracts import Array
from bostruct.domains.graphs import IntArray
from bostruct.domains.space import Space
from bostruct.domains.variables import Categorical, Ordinal
from bostruct.problems.base import GENERATED_SEEDS, InitialPoints, Problem, proved_by_enumeration
from bostruct.problems.tabular import read_arrays

SOURCE = "Klein and Hutter 2019 (tabular benchmarks for joint architecture and hyperparameter optimisation)"
DATA = ("protein_structure", "naval_propulsion", "slice_localization", "parkinsons_telemonitoring")
N_INITIAL = 10


@dataclass(frozen=True, eq=False)
class Trained:
    """Log10 of the error of one training, drawn by `seed` and the configuration alone; without a seed their mean.

    table: log10 errors, an axis a variable, the last the trainings.
    """

    table: Array
    seed: int | None

    def __call__(self, vertices: IntArray) -> Array:
        if self.seed is None:
            return self.mean(vertices)
        drawn = [np.random.default_rng([self.seed, *map(int, row)]).integers(self.table.shape[-1]) for row in vertices]
        return self.table[(*vertices.T, np.array(drawn, dtype=np.int64))]

    def mean(self, vertices: IntArray, n_simulations: int = 1) -> Array:
        """Over all trainings; n_simulations is of no use."""
        del n_simulations
        return self.table[tuple(vertices.T)].mean(axis=-1)


def fcnet(file: str, data: str = "protein_structure", noise: int | None = None) -> Problem:
    """Log10 of the validation error (mean squared) after 100 epochs; configurations that diverge reach 7.

    file: an .npz with an array of errors for each of the data sets, an axis a variable, the last the trainings; and
    ``space``, JSON: [[name, values], ...] in the order of the axes. data: "protein_structure", "naval_propulsion",
    "slice_localization" or "parkinsons_telemonitoring". noise: None for the mean over the trainings; a seed for one of
    them, drawn by it. Raises ValueError.
    """
    errors = read_arrays(file, (check_choice("data", data, DATA),))[data]
    space = _space(file)
    if errors.shape[:-1] != tuple(space.n_choices) or not (errors > 0).all():
        raise ValueError(
            f"file: {file}: {data}: expected positive errors of shape {tuple(space.n_choices)} and trainings"
        )
    seed = None if noise is None else check_integer("noise", noise, 0)
    table = np.log10(errors.astype(np.float64))
    quiet = Problem(
        name=f"fcnet:file={file},data={data}",
        space=space,
        objective=Trained(table, None),
        initial=InitialPoints(GENERATED_SEEDS, tuple(map(int, space.n_choices)), count=N_INITIAL),
        source=SOURCE,
        configs=tuple(GENERATED_SEEDS),
    )
    known = proved_by_enumeration(quiet)
    if seed is None:
        return known
    noisy = Trained(table, seed)
    return replace(known, name=f"{quiet.name},noise={seed}", objective=noisy, mean=noisy.mean)


def _space(file: str) -> Space:
    """Numbers are ordered, texts are not."""
    with np.load(Path(file), allow_pickle=False) as stored:
        text = str(stored["space"]) if "space" in stored else "nothing"
    try:
        listed = [(str(name), list(values)) for name, values in json.loads(text)]
    except (ValueError, TypeError) as error:
        raise ValueError(f"file: {file}: space: expected JSON [[name, values], ...], got {shown(text)}") from error
    ordered = {name: all(isinstance(value, int | float) for value in values) for name, values in listed}
    return Space({name: (Ordinal if ordered[name] else Categorical)(values) for name, values in listed})
