"""Speed of OTMANN: one pair, a matrix, preparing and mutating an architecture; compared with POT in the same process.

    OMP_NUM_THREADS=1 python -m benchmarks.speed.otmann

The population is like the population of NASBOT's search: its initial pool and mutations of it, 9 to 36 layers; large
networks have up to 60. All solvers start from prepared architectures, compute distances for four structural weights,
alternate pair by pair in one thread, and must agree to 1e-9. POT's solvers use the transport program in its balanced
form (Kandasamy et al. 2018, appendix A.1): `public` calls `ot.emd2` on all layers, `raw` calls POT's compiled solver
without its checks, and `blocks` calls `raw` for each block of labels that has layers on both sides, with closed forms
if both sides have one layer. `linprog` is SciPy's solver of the same program of all layers, including the time to build
the program, for some of the pairs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
import ot
import scipy.optimize
import scipy.sparse
from ot.lp.emd_wrap import emd_c

from benchmarks.speed.report import YARDSTICK, Row, at_most, main, median, plain_row
from bostruct.contracts import Array
from bostruct.domains.architecture.domain import ArchitectureDomain, Bounds, cnn_domain, mlp_domain
from bostruct.domains.architecture.value import Architecture
from bostruct.kernels.otmann.distance import Profile, cached_profile, otmann_distances, profile
from bostruct.kernels.otmann.settings import REFERENCE, cost_table

N_PAIRS = 400
EACH = 20
COPIES = 5
ITERATIONS = 100_000
FORBIDDEN = 1e3  # instead of an infinite cost; costs of 2 or more are never used


def population(n: int, seed: int) -> list[Architecture]:
    """Return the published pool and repeated mutations of it: 9 to 36 layers."""
    domain = cnn_domain(Bounds(min_layers=9, max_layers=36))
    rng = np.random.default_rng(seed)
    found = list(domain.pool)
    while len(found) < n:
        found.append(domain.mutate(found[int(rng.integers(len(found)))], rng))
    return found[:n]


def large_population(domain: ArchitectureDomain, n: int, seed: int) -> list[Architecture]:
    """Return networks like those of a long search: the published pool after 3 to 25 mutations, up to 60 layers."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        x = domain.pool[int(rng.integers(len(domain.pool)))]
        for _ in range(int(rng.integers(3, 26))):
            x = domain.mutate(x, rng)
        found.append(x)
    return found


def balance(costs: Array, masses: Array, masses2: Array) -> tuple[Array, Array, Array]:
    """Return supplies, demands and costs, with a layer added to each side that takes the unmatched mass."""
    total, total2 = masses.sum(), masses2.sum()
    padded = np.ones((len(masses) + 1, len(masses2) + 1))
    padded[:-1, :-1] = np.minimum(costs, FORBIDDEN)
    padded[-1, -1] = 0.0
    return np.append(masses, total2) / (total + total2), np.append(masses2, total) / (total + total2), padded


def by_pot(solve: Callable[..., float], p: Profile, q: Profile) -> Array:
    """Return the distances with one program over all layers for each structural weight."""
    table = cost_table(POPULATION[0].family, REFERENCE)
    mismatch = table.mismatch[p.labels[:, None], q.labels]
    structure = np.abs(p.paths[:, :, None] - q.paths[:, None, :]).sum(axis=0)
    scale = p.masses.sum() + q.masses.sum()
    return np.array(
        [scale * solve(*balance(mismatch + nu * structure, p.masses, q.masses)) for nu in REFERENCE.weights]
    )


def by_blocks(p: Profile, q: Profile) -> Array:
    """Return the distances with one program for each structural weight and shared block of labels."""
    table = cost_table(POPULATION[0].family, REFERENCE)
    distances = np.full(len(REFERENCE.weights), p.masses.sum() + q.masses.sum())
    for block in range(table.n_blocks):
        rows, columns = (slice(r.starts[block], r.starts[block + 1]) for r in (p, q))
        masses, masses2 = p.masses[rows], q.masses[columns]
        if not len(masses) or not len(masses2):
            continue
        mismatch = table.mismatch[p.labels[rows][:, None], q.labels[columns]]
        structure = np.abs(p.paths[:, rows, None] - q.paths[:, None, columns]).sum(axis=0)
        scale = masses.sum() + masses2.sum()
        for w, nu in enumerate(REFERENCE.weights):
            costs = mismatch + nu * structure
            if costs.size == 1:
                distances[w] += min(costs[0, 0] - 2.0, 0.0) * min(masses[0], masses2[0])
            else:
                distances[w] += scale * (raw(*balance(costs, masses, masses2)) - 1.0)
    return distances


def raw(supply: Array, demand: Array, costs: Array) -> float:
    return float(emd_c(supply, demand * (supply.sum() / demand.sum()), costs, ITERATIONS, 1)[1])


def public(supply: Array, demand: Array, costs: Array) -> float:
    return float(ot.emd2(supply, demand, costs))


def linprog(supply: Array, demand: Array, costs: Array) -> float:
    n, m = costs.shape
    sums = scipy.sparse.vstack([scipy.sparse.kron(scipy.sparse.eye(n), np.ones((1, m))),
                                scipy.sparse.kron(np.ones((1, n)), scipy.sparse.eye(m))])  # fmt: skip
    return float(scipy.optimize.linprog(costs.ravel(), A_eq=sums.tocsr(), b_eq=np.append(supply, demand)).fun)


def ours(x: Architecture, y: Architecture) -> Array:
    return otmann_distances([x], [y]).distance[0, 0]


def microseconds(work: Callable[[], object]) -> float:
    """Return the CPU time of a call in this thread."""
    YARDSTICK.take()
    begin = time.thread_time()
    work()
    return 1e6 * (time.thread_time() - begin)


def preparing_time(x: Architecture) -> float:
    """Return the microseconds to prepare a new architecture: its canonical order, fingerprint and profile.

    Several copies are timed at once, because reading the clock may take as long as one copy.
    """
    copies = [Architecture(x.layers, x.edges, x.family) for _ in range(COPIES)]  # without derived attributes
    prepare = cached_profile.__wrapped__
    return microseconds(lambda: [prepare(copy, REFERENCE) for copy in copies]) / COPIES


def time_pairs(rng: np.random.Generator, n_pairs: int) -> dict[str, float]:
    """Return the median microseconds of each solver, alternating pair by pair; linprog on one of `EACH` pairs."""
    routes: dict[str, list[float]] = {"ours": [], "POT blocks": [], "POT raw": [], "POT public": [], "linprog": []}
    for k in range(n_pairs):
        i, j = (int(k) for k in rng.integers(len(POPULATION), size=2))
        x, y = POPULATION[i], POPULATION[j]
        p, q = profile(x, REFERENCE), profile(y, REFERENCE)
        found: list[Array] = []
        for name, route in (
            ("ours", partial(ours, x, y)),
            ("POT blocks", partial(by_blocks, p, q)),
            ("POT raw", partial(by_pot, raw, p, q)),
            ("POT public", partial(by_pot, public, p, q)),
        ):
            routes[name].append(microseconds(lambda keep=found, route=route: keep.append(route())))
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], rtol=1e-9, atol=1e-7)
        if k % EACH == 0:
            routes["linprog"].append(microseconds(lambda p=p, q=q, keep=found: keep.append(by_pot(linprog, p, q))))
            np.testing.assert_allclose(found[-1], found[0], rtol=1e-6, atol=1e-5)
    return {name: median(times) for name, times in routes.items()}


def large_rows(name: str, domain: ArchitectureDomain, miniature: bool) -> list[Row]:
    """Return the rows of pairs of large networks, one by one and in a matrix."""
    xs = large_population(domain, 4 if miniature else 60, seed=71900123)
    otmann_distances(xs)  # prepares the networks
    rng = np.random.default_rng(1)
    pairs = [(int(i), int(j)) for i, j in rng.integers(len(xs), size=(8 if miniature else N_PAIRS, 2))]
    alone = median([microseconds(lambda i=i, j=j: ours(xs[i], xs[j])) for i, j in pairs])
    matrix = median([microseconds(lambda: otmann_distances(xs)) for _ in range(1 if miniature else 5)])
    sizes = [len(x) for x in xs]
    blocks = [int(np.diff(cached_profile(x, REFERENCE).starts).max()) for x in xs]
    text = f"{median(sizes):.0f}, {max(sizes)}; {median(blocks):.0f}, {max(blocks)}"
    return [
        at_most(f"one pair of large {name}, four weights", 30.0, alone, " µs"),
        at_most("a pair of them in a 60 x 60 matrix, mean", 30.0, matrix / (len(xs) * (len(xs) - 1) / 2), " µs"),
        plain_row("their layers, median, most; those of one block", text),
    ]


def measure(miniature: bool) -> list[Row]:
    otmann_distances(POPULATION[:2])  # compiles
    rng = np.random.default_rng(1)
    n_pairs, repeats = (8, 1) if miniature else (N_PAIRS, 9)
    routes = time_pairs(rng, n_pairs)
    some = [(int(i), int(j)) for i, j in rng.integers(len(POPULATION), size=(n_pairs, 2))]
    alone = median([microseconds(lambda i=i, j=j: ours(POPULATION[i], POPULATION[j])) for i, j in some])
    matrix = median([microseconds(lambda: otmann_distances(POPULATION)) for _ in range(repeats)])
    prepared = median([preparing_time(x) for x in POPULATION])
    domain = cnn_domain()
    child = median([microseconds(lambda x=x: domain.mutate(x, rng)) for x in POPULATION])
    return [
        at_most("one pair, four weights, in a row", 60.0, alone, " µs"),
        plain_row("one pair, in turn with POT's routes", f"{routes['ours']:.3g} µs"),
        *(plain_row(f"{name}, times ours", f"{routes[name] / routes['ours']:.3g}x") for name in list(routes)[1:]),
        at_most("100 x 100 matrix", 300.0, matrix / 1e3, " ms"),
        *large_rows("CNN", cnn_domain(), miniature),
        *large_rows("perceptrons", mlp_domain(), miniature),
        at_most("preparing one architecture", 0.3, prepared / 1e3, " ms"),
        at_most("one mutated child", 1.0, child / 1e3, " ms"),
    ]


POPULATION = population(100, seed=0)

if __name__ == "__main__":
    main("OTMANN", measure)
