"""Tables of trained networks: NAS-Bench-201, samples of NAS-Bench-101 and TransNAS-Bench-101, and NAS-Bench-Macro."""

from __future__ import annotations

from functools import partial

import numpy as np

from bostruct.checks import check_choice
from bostruct.contracts import Array, IntArray
from bostruct.domains.architecture.table import TableDomain
from bostruct.problems import official
from bostruct.problems.base import ArchitectureProblem
from bostruct.problems.tabular import (
    Lookup,
    NoisyLookup,
    check_codes,
    check_table,
    point_means,
    read_arrays,
    rows_of,
    table_domain,
    with_noise,
)

SOURCE = "Dong and Yang, ICLR 2020 (NAS-Bench-201); Dong et al. 2021 (NATS-Bench, topology)"
NASBENCH201_DATA_SETS = {"cifar10": "c10", "cifar100": "c100", "imagenet16-120": "in16"}
NB101_SOURCE = "Ying et al., ICML 2019 (NAS-Bench-101)"
TRANSNAS_SOURCE = "Duan et al., CVPR 2021 (TransNAS-Bench-101)"
MACRO_SOURCE = "Su et al., CVPR 2021 (NAS-Bench-Macro)"
N_INITIAL = 10
UPPER_TRIANGLE = np.triu_indices(7, 1)
BEST_POSSIBLE = {  # best possible metric of each task, minus which the metric of a network is its value
    "class_scene": 100.0,
    "class_object": 100.0,
    "autoencoder": 1.0,
    "normal": 1.0,
    "jigsaw": 100.0,
    "room_layout": 0.0,
    "segmentsemantic": 100.0,
}


def nasbench101(file: str) -> ArchitectureProblem:
    """Return the problem of NAS-Bench-101: validation error in percent of cells with seven vertices.

    file: an .npz with ``adjacency`` (n, 7, 7), upper triangular, ``ops`` (n, 7): 0 the input, 1 the output, 2 max-pool
    3 x 3, 3 convolution 1 x 1, 4 convolution 3 x 3, and ``val_acc`` (n,) in percent. Raises ValueError.
    """
    arrays = read_arrays(file, ("adjacency", "ops", "val_acc"))
    adjacency, ops = arrays["adjacency"], arrays["ops"]
    if adjacency.shape[1:] != (7, 7) or ops.shape[1:] != (7,) or (np.tril(adjacency) != 0).any():
        raise ValueError(f"file: {file}: expected upper triangular adjacency (n, 7, 7) and ops (n, 7)")
    if (ops[:, 0] != 0).any() or (ops[:, 6] != 1).any():
        raise ValueError(f"file: {file}: ops: expected the input (0) first and the output (1) last")
    edges, inner = adjacency[:, *UPPER_TRIANGLE], ops[:, 1:6]
    check_codes(file, "adjacency", edges, 0, (2,) * edges.shape[1])
    check_codes(file, "ops", inner, 2, (3,) * inner.shape[1])
    codes = np.concatenate([edges.astype(np.int64), inner.astype(np.int64) - 2], axis=1)  # unsigned codes would wrap
    return _problem(f"nasbench101:file={file}", file, "nasbench101", codes, 100.0 - arrays["val_acc"], NB101_SOURCE)


def nasbench201(file: str, data: str = "cifar100", noise_seed: int | None = None) -> ArchitectureProblem:
    """Return a problem of NAS-Bench-201: validation error in percent after 200 epochs.

    `reported` is the mean test error.

    file: an .npz with ``edges`` (n, 6), and for each data set (c10, c100, in16) ``_val_200ep`` (n, seeds), NaN if a
        seed was not trained, and ``_test_200ep_mean`` (n,), accuracies in percent; or the official folder or file of
        NATS-Bench or NAS-Bench-201, see `official.read_nats`.
    data: "cifar10", "cifar100" or "imagenet16-120".
    noise_seed: seed that draws one of the trainings; None for their mean.

    Isomorphic cells are one point: its value is the mean over the cells of their means over seeds. Raises ValueError.
    """
    short = NASBENCH201_DATA_SETS[check_choice("data", data, NASBENCH201_DATA_SETS)]
    validation, test = f"{short}_val_200ep", f"{short}_test_200ep_mean"
    if official.is_nats(file):
        arrays = official.read_nats(file)
    else:
        arrays = read_arrays(file, ("edges", validation, test), official.NATS_FILES)
    if arrays[validation].ndim != 2 or np.isnan(arrays[validation]).all(axis=1).any():
        raise ValueError(f"file: {file}: {validation}: expected a row of seeds with a value for each cell")
    check_table(file, "nasbench201", arrays["edges"], arrays[test], "edges")
    domain = table_domain("nasbench201", arrays["edges"])
    rows = rows_of(domain, arrays["edges"])
    errors = 100.0 - arrays[validation].astype(np.float64)
    means = point_means(np.nanmean(errors, axis=1), rows)
    tested = point_means(100.0 - arrays[test].astype(np.float64), rows)
    quiet = ArchitectureProblem(
        name=f"nasbench201:file={file},data={data}",
        space=domain,
        objective=Lookup(domain, means),
        source=SOURCE,
        n_initial=min(N_INITIAL, domain.size),
        optimum=float(means.min()),
        optimum_source="proved by enumeration",
        optimal=domain.at(int(means.argmin())),
        report=Lookup(domain, tested),
        report_optimum=float(tested.min()),
    )
    return with_noise(quiet, noise_seed, partial(NoisyLookup, domain, errors, rows))


def transnas_macro(file: str, task: str = "class_scene") -> ArchitectureProblem:
    """Return the problem of TransNAS-Bench-101's macro space: the best possible metric minus the network's metric.

    file: an .npz with ``arch`` (n, 6), 0 for no module, and ``val_metric`` (n, 7), a column for each task.

    Networks without a value for the task are left out. Raises ValueError.
    """
    column = list(BEST_POSSIBLE).index(check_choice("task", task, BEST_POSSIBLE))
    arrays = read_arrays(file, ("arch", "val_metric"))
    if arrays["val_metric"].ndim != 2 or arrays["val_metric"].shape[1] != len(BEST_POSSIBLE):
        raise ValueError(f"file: {file}: val_metric: expected {len(BEST_POSSIBLE)} columns")
    values = BEST_POSSIBLE[task] - arrays["val_metric"][:, column].astype(np.float64)
    known = ~np.isnan(values)
    name = f"transnas-macro:file={file},task={task}"
    return _problem(name, file, "transnas-macro", arrays["arch"][known], values[known], TRANSNAS_SOURCE)


def transnas_micro(file: str) -> ArchitectureProblem:
    """Return the problem of TransNAS-Bench-101's micro space: validation error in percent of cells.

    file: an .npz with ``arch`` (n, 6): 0 none, 1 skip, 2 convolution 1 x 1, 3 convolution 3 x 3 on the edges 0-1, 0-2,
    1-2, 0-3, 1-3, 2-3; and ``val_top1`` (n,) in percent. Raises ValueError.
    """
    arrays = read_arrays(file, ("arch", "val_top1"))
    name = f"transnas-micro:file={file}"
    return _problem(name, file, "transnas-micro", arrays["arch"], 100.0 - arrays["val_top1"], TRANSNAS_SOURCE)


def nasbench_macro(file: str, noise_seed: int | None = None) -> ArchitectureProblem:
    """Return the problem of NAS-Bench-Macro: test error in percent on CIFAR-10 of chains of eight blocks.

    Validation errors are not published.

    file: an .npz with ``arch`` (n, 8): 0 identity, 1 MBConv 3 x 3, 2 MBConv 5 x 5, and ``test_acc`` (n, trainings) in
        percent; or the official JSON file.
    noise_seed: seed that draws one of the trainings; None for their mean.

    Isomorphic networks are one point, and have the same trainings in the table. Raises ValueError.
    """
    names = ("arch", "test_acc")
    arrays = official.read_macro(file) if official.is_json(file) else read_arrays(file, names, official.MACRO_FILE)
    if arrays["test_acc"].ndim != 2 or np.isnan(arrays["test_acc"]).any():
        raise ValueError(f"file: {file}: test_acc: expected a row of trainings for each network")
    errors = 100.0 - arrays["test_acc"].astype(np.float64)
    name = f"nasbench-macro:file={file}"
    quiet = _problem(name, file, "nasbench-macro", arrays["arch"], errors.mean(axis=1), MACRO_SOURCE)
    rows = rows_of(quiet.space, arrays["arch"])
    return with_noise(quiet, noise_seed, partial(NoisyLookup, quiet.space, errors, rows))


def _problem(
    name: str, file: str, space: str, codes: IntArray, values: Array, source: str
) -> ArchitectureProblem[TableDomain]:
    check_table(file, space, codes, values)
    domain = table_domain(space, codes)
    means = point_means(values.astype(np.float64), rows_of(domain, codes))
    return ArchitectureProblem(
        name=name,
        space=domain,
        objective=Lookup(domain, means),
        source=source,
        n_initial=min(N_INITIAL, domain.size),
        optimum=float(means.min()),
        optimum_source="proved by enumeration of the table",
        optimal=domain.at(int(means.argmin())),
    )
