"""Synthetic problems with conditions: trees of choices with numbers, as in the selection of a learner.

    python -m benchmarks.conditions DATA

refits one problem to the tables of FC-Net in the folder DATA, and writes `FIT`. `python -m benchmarks.sparse` runs all
problems. Seed s of a problem is one instance. Values are errors, which are minimized.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import bostruct as bo
from benchmarks.peers.tables import FCNET, open_arrays
from benchmarks.peers.tasks import Task
from bostruct.contracts import Array
from bostruct.problems.fcnet import FCNET_DATA_SETS

FIT = Path(__file__).with_name("fcnet_fit.json")
CEILING = 0.5  # the error of a constant prediction
LAYERS = (1, 2)  # of FC-Net
BRANCH_AXES = ("activation_fn_1", "activation_fn_2", "lr_schedule")
NUMBER_AXES = ("init_lr", "batch_size", "n_units_1", "n_units_2", "dropout_1", "dropout_2")
Point = Mapping[str, Any]


def share(variable: Any, value: float) -> float:
    """Return a number as a share of its range, on its linear or logarithmic scale."""
    description = variable.describe()
    low, high = description["low"], description["high"]
    if description.get("log", False):
        return math.log(value / low) / math.log(high / low)
    return (value - low) / (high - low)


def learners(seed: int) -> Task:
    """Make the choice of one of six learners, each with its own numbers and some with a choice.

    A learner's error is a floor plus a smooth bowl around a drawn optimum; the numbers have different effects and
    interact in pairs. The error is at most `CEILING`. Floors are close, and most learners are bad at random settings.
    """
    space = bo.Space(
        {
            "scale": ["none", "standard", "quantile"],
            "learner": ["linear", "svm", "tree", "forest", "boosting", "neighbors"],
            "alpha": bo.Real(1e-4, 1e2, log=True, when={"learner": "linear"}),
            "mixing": bo.Real(0.0, 1.0, when={"learner": "linear"}),
            "C": bo.Real(1e-3, 1e3, log=True, when={"learner": "svm"}),
            "kernel": bo.Categorical(["rbf", "polynomial"], when={"learner": "svm"}),
            "gamma": bo.Real(1e-5, 1e1, log=True, when={"kernel": "rbf"}),
            "degree": bo.Integer(2, 5, when={"kernel": "polynomial"}),
            "complexity": bo.Real(1e-4, 1.0, log=True, when={"learner": "tree"}),
            "split": bo.Integer(2, 128, log=True, when={"learner": "tree"}),
            "trees": bo.Integer(10, 2_000, log=True, when={"learner": "forest"}),
            "features": bo.Real(0.0, 1.0, when={"learner": "forest"}),
            "leaf": bo.Integer(1, 100, log=True, when={"learner": "forest"}),
            "booster": bo.Categorical(["linear", "trees", "dropout"], when={"learner": "boosting"}),
            "rate": bo.Real(1e-4, 1.0, log=True, when={"learner": "boosting"}),
            "rounds": bo.Integer(3, 2_000, log=True, when={"learner": "boosting"}),
            "penalty": bo.Real(1e-3, 1e3, log=True, when={"learner": "boosting"}),
            "depth": bo.Integer(1, 15, when={"booster": ["trees", "dropout"]}),
            "rows": bo.Real(0.1, 1.0, when={"booster": ["trees", "dropout"]}),
            "drop": bo.Real(0.0, 1.0, when={"booster": "dropout"}),
            "k": bo.Integer(1, 50, log=True, when={"learner": "neighbors"}),
            "metric": bo.Categorical(["l1", "l2", "cosine"], when={"learner": "neighbors"}),
        }
    )
    rng = np.random.default_rng([seed, 31])
    numbers = [name for name, one in space.variables.items() if one.kind in ("Real", "Integer")]
    names = space.variables["learner"].choices
    floors = dict(zip(names, 0.08 + 0.04 * rng.random(len(names)), strict=True))
    widths = dict(zip(names, 0.15 + 0.3 * rng.random(len(names)), strict=True))
    optima = {name: rng.uniform(0.1, 0.9) for name in numbers}
    rates = {name: rng.gamma(1.0, 3.0) for name in numbers}
    pairs = {pair: rng.uniform(-0.8, 0.8) for pair in itertools.combinations(numbers, 2)}
    choices = ("scale", "kernel", "booster", "metric")
    effects = {
        (name, value, learner): abs(rng.normal(0.0, 0.02))
        for name in choices
        for value in space.variables[name].choices
        for learner in names
    }

    def truth(point: Point) -> float:
        learner = point["learner"]
        own = [name for name in numbers if name in point]
        gaps = {
            name: math.sqrt(rates[name]) * (share(space.variables[name], point[name]) - optima[name]) for name in own
        }
        far = sum(x * x for x in gaps.values())
        far += sum(pairs[i, j] * gaps[i] * gaps[j] for i, j in itertools.combinations(own, 2)) / max(len(own) - 1, 1)
        error = floors[learner] + widths[learner] * (1.0 - math.exp(-far))
        error += sum(effects[name, point[name], learner] for name in choices if name in point)
        return min(error, CEILING)

    return Task(space, truth)


def training(seed: int) -> Task:
    """Make the training of a network: an optimizer, a schedule, a regularizer and up to four layers, each with numbers.

    The loss is a random function of the shares of all numbers: a bowl with an optimum that depends on the choices, plus
    40 random waves. In the waves, numbers that a point lacks are 0.
    """
    widths = {f"units {k}": bo.Integer(8, 512, log=True, when={"layers": list(range(k, 5))}) for k in range(1, 5)}
    space = bo.Space(
        {
            "rate": bo.Real(1e-5, 1.0, log=True),
            "batch": bo.Integer(8, 512, log=True),
            "optimizer": ["sgd", "adam", "rmsprop", "lbfgs"],
            "momentum": bo.Real(0.0, 0.99, when={"optimizer": "sgd"}),
            "nesterov": bo.Categorical(["no", "yes"], when={"optimizer": "sgd"}),
            "beta": bo.Real(0.8, 0.999, when={"optimizer": "adam"}),
            "decay": bo.Real(1e-6, 1.0, log=True, when={"optimizer": ["adam", "rmsprop"]}),
            "memory": bo.Integer(3, 50, when={"optimizer": "lbfgs"}),
            "schedule": ["constant", "step", "cosine"],
            "every": bo.Integer(1, 50, log=True, when={"schedule": "step"}),
            "factor": bo.Real(0.01, 0.9, log=True, when={"schedule": "step"}),
            "restarts": bo.Integer(1, 8, when={"schedule": "cosine"}),
            "regularizer": ["none", "dropout", "mixup"],
            "dropout": bo.Real(0.0, 0.8, when={"regularizer": "dropout"}),
            "mixup": bo.Real(0.01, 2.0, log=True, when={"regularizer": "mixup"}),
            "layers": bo.Integer(1, 4),
            **widths,
        }
    )
    rng = np.random.default_rng([seed, 32])
    numbers = [name for name, one in space.variables.items() if one.kind in ("Real", "Integer")]
    choices = {name: one.choices for name, one in space.variables.items() if name not in numbers}
    levels = {(name, value): rng.normal(0.0, 0.15) for name, values in choices.items() for value in values}
    optima = rng.uniform(0.15, 0.85, len(numbers))
    shifts = {key: rng.normal(0.0, 0.1, len(numbers)) for key in levels}
    rates = rng.gamma(1.0, 2.0, len(numbers))
    directions, phases = rng.normal(0.0, 2.0, (40, len(numbers))), rng.uniform(0.0, 2.0 * math.pi, 40)
    heights = rng.normal(0.0, 0.1 / math.sqrt(20.0), 40)

    def truth(point: Point) -> float:
        has = np.array([name in point for name in numbers])
        shares = np.array([share(space.variables[name], point[name]) if name in point else 0.0 for name in numbers])
        chosen = [(name, point[name]) for name in choices if name in point]
        optimum = optima + sum(shifts[key] for key in chosen)
        bowl = float(np.sum(rates * has * (shares - optimum) ** 2)) / math.sqrt(len(numbers))
        waves = float(heights @ np.cos(directions @ (shares * has) + phases))
        return bowl + waves + sum(levels[key] for key in chosen)

    return Task(space, truth)


def make_network_space() -> bo.Space:
    """Make the space of two layers and their training; each activation and each schedule has its own numbers."""
    layers = {}
    for layer in LAYERS:
        layers[f"activation {layer}"] = bo.Categorical(["relu", "tanh"])
        for name in ("relu", "tanh"):
            own = {f"activation {layer}": name}
            layers[f"units {layer} of {name}"] = bo.Integer(16, 512, log=True, when=own)
            layers[f"dropout {layer} of {name}"] = bo.Real(0.0, 0.6, when=own)
    rates = {f"rate of {name}": bo.Real(5e-4, 1e-1, log=True, when={"schedule": name}) for name in ("const", "cosine")}
    return bo.Space({**layers, "schedule": ["const", "cosine"], **rates, "batch": bo.Integer(8, 64, log=True)})


def fitted_network(seed: int) -> Task:
    """Make the training of a network of two layers: log10 of the error, by polynomials fitted to FC-Net's tables.

    seed: modulo four, chooses the data set; also shifts the shares of the numbers by up to a tenth.
    """
    space, fits = make_network_space(), json.loads(FIT.read_text())[FCNET_DATA_SETS[seed % len(FCNET_DATA_SETS)]]
    shift = np.random.default_rng([seed, 33]).uniform(-0.1, 0.1, len(NUMBER_AXES))

    def truth(point: Point) -> float:
        first, second, schedule = point["activation 1"], point["activation 2"], point["schedule"]
        own = [f"rate of {schedule}", "batch", f"units 1 of {first}", f"units 2 of {second}"]
        own += [f"dropout 1 of {first}", f"dropout 2 of {second}"]
        shares = np.array([share(space.variables[name], point[name]) for name in own])
        fit = fits[f"{first} {second} {schedule}"]
        return float(expand(np.clip(shares + shift, 0.0, 1.0)[None])[0] @ np.array(fit))

    return Task(space, truth)


def expand(shares: Array) -> Array:
    """Return all monomials of the shares of n points, of degree at most three (n, k)."""
    n, d = shares.shape
    terms = [one for size in range(4) for one in itertools.combinations_with_replacement(range(d), size)]
    return np.stack([shares[:, list(one)].prod(axis=1) if one else np.ones(n) for one in terms], axis=1)


def fit_tables(data: Path) -> dict[str, dict[str, list[float]]]:
    """Return the least-squares polynomials for log10 of the mean error, by data set and branch; print R^2.

    data: the folder of the tables.
    """
    found = dict[str, dict[str, list[float]]]()
    with open_arrays(data / FCNET) as stored:
        axes = dict(json.loads(str(stored["space"])))
        names = list(axes)
        grids = [to_shares(axes[name], "drop" not in name) for name in NUMBER_AXES]
        shares = np.stack([one.ravel() for one in np.meshgrid(*grids, indexing="ij")], axis=1)
        for data_set in FCNET_DATA_SETS:
            errors = np.log10(np.minimum(stored[data_set].astype(np.float64), 10.0).mean(axis=-1))
            table = errors.transpose([names.index(name) for name in (*BRANCH_AXES, *NUMBER_AXES)])
            found[data_set] = {}
            for branch in itertools.product(*(range(len(axes[name])) for name in BRANCH_AXES)):
                values, terms = table[branch].ravel(), expand(shares)
                weights = np.linalg.lstsq(terms, values, rcond=None)[0]
                key = " ".join(str(axes[name][i]) for name, i in zip(BRANCH_AXES, branch, strict=True))
                found[data_set][key] = [float(f"{x:.4g}") for x in weights]
                print(data_set, key, f"R^2 {1.0 - np.var(values - terms @ weights) / np.var(values):.3f}")
    return found


def to_shares(values: Sequence[float], is_log: bool) -> Array:
    """Return the values of an axis as shares of their range."""
    own = np.log(values) if is_log else np.array(values, dtype=np.float64)
    return (own - own.min()) / (own.max() - own.min())


CONDITIONAL = {"six learners": learners, "network with conditions": training, "FC-Net, fitted": fitted_network}


if __name__ == "__main__":
    FIT.write_text(json.dumps(fit_tables(Path(sys.argv[1])), separators=(",", ":")) + "\n")
