"""NAS-Bench-201: all cells of four tensors and five operations, trained for 200 epochs on three data sets."""

from __future__ import annotations

from functools import partial

import numpy as np

from bostruct.checks import check_choice
from bostruct.problems import official
from bostruct.problems.architectures import ArchitectureProblem
from bostruct.problems.tabular import (
    Lookup,
    NoisyLookup,
    check_table,
    point_means,
    read_arrays,
    rows_of,
    table_domain,
    with_noise,
)

SOURCE = "Dong and Yang, ICLR 2020 (NAS-Bench-201); Dong et al. 2021 (NATS-Bench, topology)"
NASBENCH201_DATA_SETS = {"cifar10": "c10", "cifar100": "c100", "imagenet16-120": "in16"}
N_INITIAL = 10


def nasbench201(file: str, data: str = "cifar100", noise_seed: int | None = None) -> ArchitectureProblem:
    """Return a problem of NAS-Bench-201: validation error in percent after 200 epochs.

    `reported` is the mean test error.

    file: an .npz with ``edges`` (n, 6), and for each data set (c10, c100, in16) ``_val_200ep`` (n, seeds), NaN where a
    seed was not trained, and ``_test_200ep_mean`` (n,), accuracies in percent; or the official folder or file of
    NATS-Bench or NAS-Bench-201, as `official.read_nats` reads it.
    data: "cifar10", "cifar100" or "imagenet16-120".
    noise_seed: None for the mean over the trainings; a seed for one of them, drawn by it.

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
