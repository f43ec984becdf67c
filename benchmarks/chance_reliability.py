"""The calibration of the probability of success that `auto` predicts: the share of points that succeed.

    python -m benchmarks.chance_reliability [--seeds 5] [--picture FILE]     # about five CPU minutes

Each rule fails points for a reason that only an evaluation reveals. The probability of success is predicted for 200
random points after 30, 60 and 90 trials of `auto`, and for each suggested point before its trial. The command prints
the table of docs/evidence/auto-parts.md and draws it in FILE, by default docs/images/reliability/chance.svg.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bostruct as bo
from bostruct.display import new_axes

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "reliability" / "chance.svg"
N_TRIALS, LOOKS, N_RANDOM = 100, (30, 60, 90), 200
EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of the bins of probabilities
COLORS = {"random points": "#0072B2", "suggested points": "#D55E00"}
Point = Mapping[str, Any]


class Rule(NamedTuple):
    """A space, an objective to minimize, and the points that succeed.

    space: of its points.
    objective: of the points that succeed.
    succeeds: whether a point succeeds.
    """

    space: dict[str, Any]
    objective: Callable[[Point], float]
    succeeds: Callable[[Point], bool]


class Foretold(NamedTuple):
    """Predicted probabilities of success, and the outcomes of their points.

    chances: probabilities in [0, 1] (m,).
    succeeded: 1 if the point succeeded, otherwise 0 (m,).
    """

    chances: np.ndarray
    succeeded: np.ndarray


def forbid_pairs(seed: int) -> Rule:
    """Return sequences of ten of six letters, in which a sixth of all steps from letter to letter are banned.

    seed: from 0.
    """
    rng = np.random.default_rng(seed)
    banned, scores = rng.random((6, 6)) < 1 / 6, rng.normal(size=(10, 6))
    names = [f"x{i}" for i in range(10)]

    def succeeds(point: Point) -> bool:
        letters = [point[name] for name in names]
        return not any(banned[a, b] for a, b in pairwise(letters))

    space = {name: bo.Categorical(range(6)) for name in names}
    return Rule(space, lambda point: float(sum(scores[i, point[name]] for i, name in enumerate(names))), succeeds)


def limit_product(seed: int) -> Rule:
    """Return a kernel's launch: threads times width are limited, and larger values are faster.

    seed: from 0.
    """
    weights = 0.5 + np.random.default_rng(seed).random(4)
    space = {"threads": [1, 2, 4, 8, 16, 32], "width": range(8, 129, 8), "unroll": range(1, 7), "cache": bool}

    def objective(point: Point) -> float:
        shares = np.log2(point["threads"]) / 5, point["width"] / 128, point["unroll"] / 6, float(point["cache"])
        return -float(weights @ np.array(shares))

    return Rule(space, objective, lambda point: point["threads"] * point["width"] <= 512)


def limit_sum(seed: int) -> Rule:
    """Return a knapsack of 20 bits, whose weighted sum must be below 45% of the sum of the weights.

    seed: from 0.
    """
    rng = np.random.default_rng(seed)
    weights, values = rng.random(20), rng.random(20)
    names = [f"b{i:02}" for i in range(20)]

    def weigh(point: Point, by: np.ndarray) -> float:
        return float(sum(one for one, name in zip(by, names, strict=True) if point[name]))

    space = dict.fromkeys(names, bool)
    return Rule(space, lambda point: -weigh(point, values), lambda point: weigh(point, weights) < 0.45 * weights.sum())


RULES: dict[str, Callable[[int], Rule]] = {"pairs": forbid_pairs, "product": limit_product, "sum": limit_sum}


def foretell(rule: Rule, seed: int) -> dict[str, Foretold]:
    """Run `auto`, and return its predictions for random points and for the points that it suggested.

    rule: decides which points fail.
    seed: of the run.
    """
    space, rng = bo.Space(rule.space), np.random.default_rng([seed, 7])
    found: dict[str, list[tuple[float, bool]]] = {kind: [] for kind in COLORS}
    with bo.Study(space, seed=seed) as study:
        for number in range(N_TRIALS):
            if number in LOOKS:
                drawn = [space.present(x) for x in space.sample(N_RANDOM, rng)]
                pairs = zip(study.predict(drawn).chance.tolist(), map(rule.succeeds, drawn), strict=True)
                found["random points"] += list(pairs)
            trial = study.ask()
            succeeded = rule.succeeds(trial.point)
            if trial.origin == "model":
                found["suggested points"].append((float(study.predict([trial.point]).chance[0]), succeeded))
            if succeeded:
                study.tell(trial, rule.objective(trial.point))
            else:
                study.tell(trial, infeasible="does not fit")
    return {kind: _unzip(pairs) for kind, pairs in found.items()}


def _unzip(pairs: list[tuple[float, bool]]) -> Foretold:
    both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return Foretold(both[:, 0], both[:, 1])


def bin_chances(found: Foretold) -> list[tuple[int, float, float]]:
    """Return the number of points, their mean probability and the share that succeeded for each bin of `EDGES`.

    found: predictions and outcomes; means of a bin without points are NaN.
    """
    bins = np.clip(np.searchsorted(EDGES, found.chances, side="right") - 1, 0, len(EDGES) - 2)
    rows = []
    for k in range(len(EDGES) - 1):
        is_in_bin = bins == k
        n = int(is_in_bin.sum())
        probability, share = (float(one[is_in_bin].mean()) if n else float("nan") for one in found)
        rows.append((n, probability, share))
    return rows


def join(parts: list[Foretold]) -> Foretold:
    """Concatenate the predictions of several runs.

    parts: at least one.
    """
    return Foretold(*(np.concatenate([one[i] for one in parts]) for i in range(2)))


def draw(found: Mapping[str, Foretold], picture: Path) -> None:
    """Draw the share that succeeded against the mean predicted probability of each bin.

    found: by the kind of points.
    picture: file of the figure.
    """
    axes = new_axes(4.8, 4.4)
    axes.plot([0, 1], [0, 1], color="#7b8794", linestyle=(0, (4, 3)), linewidth=1.2, label="as predicted")
    for kind, marker in zip(found, "os", strict=True):
        bins = [row for row in bin_chances(found[kind]) if row[0]]
        counts, means, shares = (np.array(column) for column in zip(*bins, strict=True))
        errors = 1.96 * np.sqrt(np.maximum(shares * (1.0 - shares), 0.25 / counts) / counts)
        axes.errorbar(
            means, shares, yerr=errors, marker=marker, capsize=3, color=COLORS[kind], linewidth=1.4, label=kind
        )
    axes.set(xlabel="predicted probability of success", ylabel="share that succeeded", xlim=(0, 1), ylim=(-0.05, 1.05))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    picture.parent.mkdir(parents=True, exist_ok=True)
    axes.figure.savefig(picture, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    given = parser.parse_args()
    found: dict[str, list[Foretold]] = {kind: [] for kind in COLORS}
    for make in RULES.values():
        for seed in range(given.seeds):
            for kind, one in foretell(make(seed), seed).items():
                found[kind].append(one)
    together = {kind: join(parts) for kind, parts in found.items()}
    heads = " | ".join(f"{kind}: points | mean probability | succeeded" for kind in together)
    print(f"| probability | {heads} |")
    print("| --- |" + " --- |" * 3 * len(together))
    for k, rows in enumerate(zip(*map(bin_chances, together.values()), strict=True)):
        cells = [f"{n} | {mean:.2f} | {share:.2f}" if n else "0 |  | " for n, mean, share in rows]
        print(f"| {EDGES[k]:g} to {EDGES[k + 1]:g} | {' | '.join(cells)} |")
    draw(together, given.picture)


if __name__ == "__main__":
    main()
