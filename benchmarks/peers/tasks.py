"""Problems that need no file: numbers, numbers mixed with categories, pipelines with conditions, earlier tasks.

Seed s of a problem determines its instance: the optimum, the labels of categories, and the split of the data.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

import bostruct as bo
from bostruct import problems
from bostruct.problems.base import StructuredProblem
from bostruct.problems.branin import branin_at

Point = Mapping[str, Any]
Value = Callable[[Point], float]


class Task(NamedTuple):
    """An instance of a problem, which is minimized.

    space: of the points.
    value: of a point.
    earlier: values of the tasks of earlier studies, by their relation to this task; empty if there are none.
    """

    space: bo.Space
    value: Value
    earlier: Mapping[str, Value] = {}


def from_problem(problem: StructuredProblem) -> Task:
    """Make the task of a generated problem with one objective and no outcome constraints.

    problem: its objective returns a number.
    """
    return Task(problem.space, cast(Value, problem.objective))


def rosenbrock(x: np.ndarray) -> float:
    """Return the Rosenbrock function, with minimum 0 at ones."""
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def levy(x: np.ndarray) -> float:
    """Return the Levy function, with minimum 0 at ones."""
    w = 1.0 + (x - 1.0) / 4.0
    inner = (w[:-1] - 1.0) ** 2 * (1.0 + 10.0 * np.sin(math.pi * w[:-1] + 1.0) ** 2)
    last = (w[-1] - 1.0) ** 2 * (1.0 + math.sin(2.0 * math.pi * w[-1]) ** 2)
    return float(math.sin(math.pi * w[0]) ** 2 + inner.sum() + last)


def ackley(x: np.ndarray) -> float:
    """Return the Ackley function, with minimum 0 at zeros."""
    near = 20.0 * math.exp(-0.2 * math.sqrt(float(np.mean(x * x))))
    return 20.0 + math.e - near - math.exp(float(np.mean(np.cos(2.0 * math.pi * x))))


HARTMANN_WEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
HARTMANN_RATES = np.array(
    [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
)
HARTMANN_CENTERS = 1e-4 * np.array(
    [
        [1312, 1696, 5569, 124, 8283, 5886],
        [2329, 4135, 8307, 3736, 1004, 9991],
        [2348, 1451, 3522, 2883, 3047, 6650],
        [4047, 8828, 8732, 5743, 1091, 381],
    ]
)


def hartmann(x: np.ndarray) -> float:
    """Return the six-dimensional Hartmann function, with minimum -3.322, at a point of the unit cube."""
    return -float(HARTMANN_WEIGHTS @ np.exp(-np.sum(HARTMANN_RATES * (x - HARTMANN_CENTERS) ** 2, axis=1)))


def _vector(point: Point) -> np.ndarray:
    return np.array([point[f"x{i}"] for i in range(len(point))])


def numbers(function: Callable[[np.ndarray], float], d: int, low: float, high: float, seed: int) -> Task:
    """Make a problem with only real numbers; seeds differ in their initial points."""
    del seed
    return Task(bo.Space({f"x{i}": bo.Real(low, high) for i in range(d)}), lambda point: function(_vector(point)))


def branin_task(seed: int) -> Task:
    """Make Branin; the related earlier task is scaled, and shifted by up to 1.5 along each variable."""
    shift = np.random.default_rng([seed, 7]).uniform(-1.5, 1.5, 2)
    earlier: dict[str, Value] = {
        "related": lambda point: 2.0 * float(branin_at(point["x"] + shift[0], point["y"] + shift[1])) + 50.0,
        "unrelated": lambda point: abs(math.sin(3.0 * point["x"] + seed) * point["y"]) + point["x"],
        "opposite": lambda point: -float(branin_at(point["x"], point["y"])),
    }
    space = bo.Space({"x": bo.Real(-5.0, 10.0), "y": bo.Real(0.0, 15.0)})
    return Task(space, lambda point: float(branin_at(point["x"], point["y"])), earlier)


def max3sat(seed: int) -> Task:
    """Make Max-3-SAT; the unrelated earlier task is another instance, and 0.3 of it is added to the related task."""
    spec = "max3sat:variables=28,clauses=140,seed={}"
    own, other = (problems.load(spec.format(instance)) for instance in (seed, seed + 1000))
    earlier: dict[str, Value] = {
        "related": lambda point: own(point) + 0.3 * other(point),
        "unrelated": other,
        "opposite": lambda point: -own(point),
    }
    return Task(own.space, own, earlier)


def mixed_ackley(seed: int) -> Task:
    """Make Ackley on 5 categories of 7 unordered labels and 5 reals, with its optimum drawn at random."""
    rng = np.random.default_rng([seed, 1])
    levels = [rng.permutation(np.linspace(-1.0, 1.0, 7)) for _ in range(5)]
    shift = np.concatenate([[own[rng.integers(7)] for own in levels], rng.uniform(-0.8, 0.8, 5)])
    space = bo.Space(
        {f"c{i}": [f"label {k}" for k in range(7)] for i in range(5)} | {f"r{i}": bo.Real(-1.0, 1.0) for i in range(5)}
    )

    def value(point: Point) -> float:
        chosen = [levels[i][int(point[f"c{i}"].split()[1])] for i in range(5)]
        return ackley(np.array([*chosen, *(point[f"r{i}"] for i in range(5))]) - shift)

    return Task(space, value)


def mixed_branin(seed: int) -> Task:
    """Make Branin; two categories choose its place, height and scale."""
    rng = np.random.default_rng([seed, 2])
    places, heights, scales = rng.uniform(-2.0, 2.0, (6, 2)), rng.uniform(0.0, 8.0, 6), rng.uniform(0.5, 2.0, 4)
    space = bo.Space(
        {
            "place": [f"place {k}" for k in range(6)],
            "scale": [f"scale {k}" for k in range(4)],
            "x": bo.Real(-5.0, 10.0),
            "y": bo.Real(0.0, 15.0),
        }
    )

    def value(point: Point) -> float:
        k, scale = int(point["place"].split()[1]), scales[int(point["scale"].split()[1])]
        return scale * float(branin_at(point["x"] + places[k, 0], point["y"] + places[k, 1])) + heights[k]

    return Task(space, value)


def _data(name: str, seed: int) -> tuple[Any, ...]:
    """Load a UCI data set that scikit-learn includes, or generate a data set, and split it."""
    from sklearn import datasets
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    if name == "moons":
        xs, ys = datasets.make_moons(500, noise=0.35, random_state=seed)
        xs = np.hstack([xs, np.random.default_rng(seed).normal(size=(500, 4))])
    elif name == "hastie":
        xs, ys = datasets.make_hastie_10_2(600, random_state=seed)
    elif name == "clusters":
        own = {"n_features": 20, "n_informative": 8, "n_classes": 4, "class_sep": 0.9}
        xs, ys = datasets.make_classification(600, **own, random_state=seed)
    else:
        xs, ys = getattr(datasets, f"load_{name}")(return_X_y=True)
    return tuple(
        train_test_split(StandardScaler().fit_transform(xs), ys, test_size=0.4, random_state=seed, stratify=ys)
    )


def training(name: str, seed: int) -> Task:
    """Make the training of a small network on a UCI data set that scikit-learn includes; the value is its log loss."""
    space = bo.Space(
        {
            "activation": ["relu", "tanh", "logistic"],
            "solver": ["sgd", "adam"],
            "units": bo.Integer(4, 64, log=True),
            "batch": bo.Ordinal([16, 32, 64, 128]),
            "rate": bo.Real(1e-5, 1.0, log=True),
            "decay": bo.Real(1e-7, 1.0, log=True),
        }
    )
    return Task(space, partial(_train, _data(name, seed)))


def _train(data: tuple[Any, ...], point: Point) -> float:
    from sklearn.metrics import log_loss
    from sklearn.neural_network import MLPClassifier

    fitted, held_out, labels, expected = data
    network = MLPClassifier(
        (point["units"],),
        activation=point["activation"],
        solver=point["solver"],
        batch_size=point["batch"],
        learning_rate_init=point["rate"],
        alpha=point["decay"],
        max_iter=8,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            network.fit(fitted, labels)
        except ValueError:  # weights that overflow
            return 5.0
        loss = log_loss(expected, network.predict_proba(held_out))
    return float(min(loss, 5.0)) if math.isfinite(loss) else 5.0


def pipeline(name: str, seed: int) -> Task:
    """Make the choice of one of three classifiers, each with its own numbers; the value is its error rate."""
    space = bo.Space(
        {
            "scale": ["none", "whiten"],
            "n_components": bo.Real(0.5, 0.999, when={"scale": "whiten"}),
            "model": ["svm", "forest", "logistic"],
            "C": bo.Real(1e-3, 1e3, log=True, when={"model": "svm"}),
            "gamma": bo.Real(1e-5, 1e1, log=True, when={"model": "svm"}),
            "trees": bo.Integer(5, 60, log=True, when={"model": "forest"}),
            "depth": bo.Integer(1, 20, when={"model": "forest"}),
            "features": bo.Real(0.05, 1.0, when={"model": "forest"}),
            "penalty": bo.Real(1e-4, 1e4, log=True, when={"model": "logistic"}),
        }
    )
    return Task(space, partial(_classify, _data(name, seed)))


def _classify(data: tuple[Any, ...], point: Point) -> float:
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    fitted, held_out, labels, expected = data
    steps: list[Any] = [PCA(point["n_components"], whiten=True)] if point["scale"] == "whiten" else []
    if point["model"] == "svm":
        steps.append(SVC(C=point["C"], gamma=point["gamma"], max_iter=2_000))
    elif point["model"] == "forest":
        own = {"max_depth": point["depth"], "max_features": point["features"]}
        steps.append(RandomForestClassifier(point["trees"], **own, random_state=0))
    else:
        steps.append(LogisticRegression(C=point["penalty"], max_iter=100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(*steps).fit(fitted, labels)
        return float(1.0 - model.score(held_out, expected))
