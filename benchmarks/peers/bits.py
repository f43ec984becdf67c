"""Problems on bits and categories, relabeled at random: seed s determines the instance and its optimum."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from scipy.sparse import csr_array

import bostruct as bo
from benchmarks.peers.tasks import Point, Task
from bostruct import problems

NK_VARIABLES, NK_CHOICES, NK_OTHERS = 30, 5, 3
LABS_LENGTH = 50
QUBO_BITS, QUBO_DENSITY = 80, 0.1
LARGE_LABS, LARGE_QUBO = 100, 6_000
NEIGHBORS = 5  # of the classifier whose features are selected
FEATURE_COST = 0.01  # of error, for using all features


def registered(spec: str, seed: int) -> Task:
    """Make a problem of the package, relabeled.

    spec: its name and parameters, with ``{}`` for the seed.
    seed: of the instance, and of the labels.
    """
    problem = problems.load(f"{spec.format(seed)}{',' if ':' in spec else ':'}relabel={seed}")
    assert isinstance(problem.space, bo.Space)
    return Task(problem.space, problem.noise_free)


def nk_landscape(seed: int) -> Task:
    """Make an NK landscape (Kauffman 1993): each variable's share depends on itself and on 3 others, drawn at random.

    Shares are uniform in [0, 1]; the value is their mean.
    """
    rng = np.random.default_rng([seed, 11])
    others = [rng.choice(np.delete(np.arange(NK_VARIABLES), i), NK_OTHERS, replace=False) for i in range(NK_VARIABLES)]
    inputs = np.array([[i, *found] for i, found in enumerate(others)])
    shares = rng.random((NK_VARIABLES, *[NK_CHOICES] * (NK_OTHERS + 1)))
    names = [f"v{i}" for i in range(NK_VARIABLES)]

    def value(point: Point) -> float:
        chosen = np.array([int(point[name][1:]) for name in names])
        return float(np.mean(shares[(np.arange(NK_VARIABLES), *chosen[inputs].T)]))

    return Task(bo.Space({name: [f"c{k}" for k in range(NK_CHOICES)] for name in names}), value)


def low_autocorrelation(seed: int, length: int = LABS_LENGTH) -> Task:
    """Make the low autocorrelation of signs: minus the merit factor.

    The best value of 50 signs is -8.170 (Packebusch and Mertens 2016). The sign that each bit represents is drawn at
    random, because optima have patterns.
    """
    signs = np.random.default_rng([seed, 12]).choice([-1, 1], length)

    def value(point: Point) -> float:
        s = np.where(_bits(point), signs, -signs)
        correlations = np.correlate(s, s, "full")[length:]
        return -(length**2) / (2.0 * float(correlations @ correlations))

    return Task(_bit_space(length), value)


def quadratic(seed: int) -> Task:
    """Make a quadratic function of 80 bits: standard normal weights of each bit and of a tenth of all pairs."""
    rng = np.random.default_rng([seed, 13])
    weights = rng.normal(size=(QUBO_BITS, QUBO_BITS)) * (rng.random((QUBO_BITS, QUBO_BITS)) < QUBO_DENSITY)
    weights = np.triu(weights, 1) + np.diag(rng.normal(size=QUBO_BITS))
    flipped = rng.integers(2, size=QUBO_BITS).astype(bool)

    def value(point: Point) -> float:
        x = (_bits(point) ^ flipped).astype(float)
        return float(x @ weights @ x)

    return Task(_bit_space(QUBO_BITS), value)


def large_quadratic(seed: int) -> Task:
    """Make a quadratic function of 6,000 bits, as `quadratic` does, with a tenth of the pairs."""
    rng, n_pairs = np.random.default_rng([seed, 15]), int(QUBO_DENSITY * LARGE_QUBO * (LARGE_QUBO - 1) / 2)
    first, second = rng.integers(LARGE_QUBO, size=(2, n_pairs))
    weights = csr_array((rng.normal(size=n_pairs), (first, second)), shape=(LARGE_QUBO, LARGE_QUBO))
    linear, flipped = rng.normal(size=LARGE_QUBO), rng.integers(2, size=LARGE_QUBO).astype(bool)

    def value(point: Point) -> float:
        x = (_bits(point) ^ flipped).astype(float)
        return float(x @ (weights @ x) + linear @ x)

    return Task(_bit_space(LARGE_QUBO), value)


def feature_selection(seed: int) -> Task:
    """Make the choice of features for a nearest-neighbor classifier: its error rate, plus a small cost per feature.

    The data are the UCI data set on breast cancer, which scikit-learn includes, with as many features of pure noise.
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    xs, ys = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng([seed, 14])
    columns = np.hstack([StandardScaler().fit_transform(xs), rng.normal(size=xs.shape)])
    columns = columns[:, rng.permutation(columns.shape[1])]

    def value(point: Point) -> float:
        used = _bits(point)
        if not used.any():
            return 1.0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = cross_val_score(KNeighborsClassifier(NEIGHBORS), columns[:, used], ys, cv=3)
        return 1.0 - float(np.mean(scores)) + FEATURE_COST * float(np.mean(used))

    return Task(_bit_space(columns.shape[1]), value)


def _bit_space(d: int) -> bo.Space:
    return bo.Space({f"b{i}": bool for i in range(d)})


def _bits(point: Point) -> np.ndarray:
    return np.array([point[f"b{i}"] for i in range(len(point))], dtype=bool)


BITS = {
    "max-3-sat 60/300": partial(registered, "max3sat:seed={}"),
    "max-cut 28": partial(registered, "maxcut:seed={}"),
    "contamination": partial(registered, "contamination:case={},lambda=0.0001"),
    "ising": partial(registered, "ising:case={},lambda=0.01"),
    "pest": partial(registered, "pest"),
    "nk 30x5": nk_landscape,
    "labs-50": low_autocorrelation,
    "qubo-80": quadratic,
    "features": feature_selection,
}

LARGE = {  # with many variables
    "max-3-sat 1000/5000": partial(registered, "max3sat:variables=1000,clauses=5000,seed={}"),
    "labs-100": partial(low_autocorrelation, length=LARGE_LABS),
    "qubo-6000": large_quadratic,
}
