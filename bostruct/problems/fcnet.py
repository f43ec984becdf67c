"""FC-Net: perceptrons of two layers and their training settings on four regression sets; a table of all 62,208."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bostruct.checks import check_choice, check_integer, short_repr
from bostruct.contracts import Array, DomainError, IntArray
from bostruct.domains.architecture.table import PERCEPTRON_CHOICES, TableDomain, shared_table
from bostruct.domains.joint import JointPoint, joint_domain
from bostruct.domains.space.discrete import Categorical, Ordinal
from bostruct.domains.space.space import Space
from bostruct.problems import official
from bostruct.problems.base import (
    GENERATED_SEEDS,
    ArchitectureProblem,
    InitialPoints,
    SpaceProblem,
    prove_by_enumeration,
)
from bostruct.problems.tabular import BROKEN_NPZ, read_arrays, with_noise

SOURCE = "Klein and Hutter 2019 (tabular benchmarks for joint architecture and hyperparameter optimization)"
FCNET_DATA_SETS = ("protein_structure", "naval_propulsion", "slice_localization", "parkinsons_telemonitoring")
NETWORK_VARIABLES = ("activation_fn_1", "n_units_1", "activation_fn_2", "n_units_2")  # the rest are training settings
N_INITIAL = 10


@dataclass(frozen=True, eq=False)
class FCNetError:
    """Log10 of the error of one training, drawn by only `seed` and the configuration; without a seed, the mean.

    table: log10 errors, with an axis for each variable and a last axis for the trainings.
    seed: an integer from 0, or None for the mean over trainings.
    """

    table: Array
    seed: int | None

    def __call__(self, vertices: IntArray) -> Array:
        if self.seed is None:
            return self.mean(vertices)
        drawn = [np.random.default_rng([self.seed, *map(int, row)]).integers(self.table.shape[-1]) for row in vertices]
        return self.table[(*vertices.T, np.array(drawn, dtype=np.int64))]

    def mean(self, vertices: IntArray, n_simulations: int = 1) -> Array:
        """Return the mean over all trainings (m,).

        vertices: points (m, d).
        """
        return self.table[tuple(vertices.T)].mean(axis=-1)


@dataclass(frozen=True, eq=False)
class JointFCNetError:
    """The error of a joint point: a perceptron and the other variables of its training."""

    trained: FCNetError
    networks: TableDomain
    axes: tuple[int, ...]

    def __call__(self, x: JointPoint) -> float:
        network, training = x.parts
        code = self.networks.members[self.networks.index_of(network)][0]
        row = np.empty(len(self.axes), dtype=np.int64)
        row[list(self.axes)] = [*code, *training]
        return float(self.trained(row[None])[0])


def fcnet(file: str, data: str = "protein_structure", noise_seed: int | None = None) -> SpaceProblem:
    """Return the problem of FC-Net: log10 of the validation error (mean squared) after 100 epochs.

    Configurations that diverge reach 7.

    file: an .npz with an array of errors for each data set, with an axis for each variable and a last axis for the
        trainings, and ``space``, JSON: [[name, values], ...] in the order of the axes; or an official HDF5 file, or
        the folder of such files.
    data: "protein_structure", "naval_propulsion", "slice_localization" or "parkinsons_telemonitoring".
    noise_seed: seed that draws one of the trainings; None for their mean.

    Raises ValueError, MissingExtra for HDF5 without h5py.
    """
    space, table = _load_table(file, data)
    seed = None if noise_seed is None else check_integer("noise_seed", noise_seed, 0)
    quiet = SpaceProblem(
        name=f"fcnet:file={file},data={data}",
        space=space,
        vertex_objective=FCNetError(table, None),
        initial=InitialPoints(GENERATED_SEEDS, tuple(map(int, space.n_choices)), count=N_INITIAL),
        source=SOURCE,
        configs=tuple(GENERATED_SEEDS),
    )
    known = prove_by_enumeration(quiet)
    if seed is None:
        return known
    drawn = FCNetError(table, seed)
    return replace(known, name=f"{quiet.name},noise_seed={seed}", vertex_objective=drawn, mean=drawn.mean)


def fcnet_joint(file: str, data: str = "protein_structure", noise_seed: int | None = None) -> ArchitectureProblem:
    """Return `fcnet` over points of two parts: ``network``, an `Architecture`, and ``training``, the other five.

    Values are the same as in `fcnet`.

    noise_seed: seed that draws one of the trainings; None for their mean.

    Raises ValueError, also if the file's networks are not the networks of FC-Net; MissingExtra for HDF5 without h5py.
    """
    space, table = _load_table(file, data)
    listed = list(space.variables)
    for name, choices in zip(NETWORK_VARIABLES, PERCEPTRON_CHOICES, strict=True):
        variable = space.variables.get(name)
        found = () if variable is None or variable.choices is None else tuple(map(str, variable.choices))
        if found != choices:
            raise ValueError(f"file: {file}: space: expected {name} of {', '.join(choices)}; got {short_repr(found)}")
    training = [name for name in listed if name not in NETWORK_VARIABLES]
    networks = shared_table("fcnet")
    domain = joint_domain({"network": networks, "training": Space({name: space.variables[name] for name in training})})
    axes = tuple(map(listed.index, (*NETWORK_VARIABLES, *training)))
    means = table.mean(axis=-1).transpose(axes)
    code = tuple(map(int, np.unravel_index(means.argmin(), means.shape)))
    networks_of, rows = [networks.at(networks.index_of_code(code[:4]))], np.array([code[4:]])
    quiet = ArchitectureProblem(
        name=f"fcnet-joint:file={file},data={data}",
        space=domain,
        objective=JointFCNetError(FCNetError(table, None), networks, axes),
        source=SOURCE,
        n_initial=N_INITIAL,
        optimum=float(means.min()),
        optimum_source="proved by enumeration of the table",
        optimal=domain.points([networks_of, rows])[0],
    )
    return with_noise(quiet, noise_seed, lambda seed: JointFCNetError(FCNetError(table, seed), networks, axes))


def _load_table(file: str, data: str) -> tuple[Space, Array]:
    """Return the space of the variables, and log10 of the errors."""
    check_choice("data", data, FCNET_DATA_SETS)
    if official.is_hdf5(file):
        variables, errors = official.read_fcnet(file, data)
        space = _space_of(file, variables)
    else:
        errors = read_arrays(file, (data,), official.FCNET_FILES)[data]
        space = _space(file)
    shape = tuple(space.n_choices.tolist())
    if errors.shape[:-1] != shape or not errors.size or not ((errors > 0) & (errors < np.inf)).all():
        raise ValueError(
            f"file: {file}: {data}: expected positive errors of shape {shape} and trainings, all finite, got shape "
            f"{errors.shape}"
        )
    return space, np.log10(errors.astype(np.float64))


def _space(file: str) -> Space:
    text = "nothing"
    try:
        with np.load(Path(file), allow_pickle=False) as stored:
            text = str(stored["space"]) if "space" in stored else text
        listed = [(str(name), list(values)) for name, values in json.loads(text)]
    except (*BROKEN_NPZ, TypeError) as error:
        raise ValueError(f"file: {file}: space: expected JSON [[name, values], ...], got {short_repr(text)}") from error
    return _space_of(file, listed)


def _space_of(file: str, listed: Iterable[tuple[str, Sequence[object]]]) -> Space:
    """Return the space of the variables, ordered if the values are numbers, unordered if they are strings."""
    listed = [(name, list(values)) for name, values in listed]
    names = [name for name, _ in listed]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise ValueError(f"file: {file}: space: expected each name once, got {short_repr(twice[0])} twice")
    ordered = {name: all(isinstance(value, int | float) for value in values) for name, values in listed}
    try:
        return Space({name: (Ordinal if ordered[name] else Categorical)(values) for name, values in listed})
    except DomainError as error:
        raise ValueError(f"file: {file}: space: {error}") from error
