"""How well `auto` foretells failures: of the points to which it gives a chance of success, the share that succeed.

    python -m benchmarks.chance_reliability [--seeds 5] [--picture FILE]     # about five CPU minutes

Each rule fails points for a reason that only an evaluation reveals. After 30, 60 and 90 trials of `auto` the chance is
predicted of 200 random points, and before each trial of the point that is asked. The table of
docs/evidence/auto-parts.md is printed; FILE, docs/images/reliability/chance.svg by default, shows it.
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
EDGES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)  # of the bins of chances
COLORS = {"random points": "#0072B2", "points that `auto` asks": "#D55E00"}
Point = Mapping[str, Any]


class Rule(NamedTuple):
    """A space, an objective to minimize, and the points that succeed.

    space: of its points.
    objective: of the points that succeed.
    succeeds: whether a point does.
    """

    space: dict[str, Any]
    objective: Callable[[Point], float]
    succeeds: Callable[[Point], bool]


class Foretold(NamedTuple):
    """Chances that were predicted, and what came of their points.

    chances: in [0, 1] (m,).
    succeeded: 1 where the point succeeded, else 0 (m,).
    """

    chances: np.ndarray
    succeeded: np.ndarray


def forbid_pairs(seed: int) -> Rule:
    """Return ten letters of six in a row, of which a sixth of all steps from letter to letter are banned.

    seed: from 0.
    """
    rng = np.random.default_rng(seed)
    banned, worth = rng.random((6, 6)) < 1 / 6, rng.normal(size=(10, 6))
    names = [f"x{i}" for i in range(10)]

    def succeeds(point: Point) -> bool:
        letters = [point[name] for name in names]
        return not any(banned[a, b] for a, b in pairwise(letters))

    space = {name: bo.Categorical(range(6)) for name in names}
    return Rule(space, lambda point: float(sum(worth[i, point[name]] for i, name in enumerate(names))), succeeds)


def limit_product(seed: int) -> Rule:
    """Return a kernel's launch: threads times width must fit, and the more the faster.

    seed: from 0.
    """
    weights = 0.5 + np.random.default_rng(seed).random(4)
    space = {"threads": [1, 2, 4, 8, 16, 32], "width": range(8, 129, 8), "unroll": range(1, 7), "cache": bool}

    def objective(point: Point) -> float:
        shares = np.log2(point["threads"]) / 5, point["width"] / 128, point["unroll"] / 6, float(point["cache"])
        return -float(weights @ np.array(shares))

    return Rule(space, objective, lambda point: point["threads"] * point["width"] <= 512)


def limit_sum(seed: int) -> Rule:
    """Return 20 bits of a knapsack, of which a weighed sum must stay below its half.

    seed: from 0.
    """
    rng = np.random.default_rng(seed)
    weights, worth = rng.random(20), rng.random(20)
    names = [f"b{i:02}" for i in range(20)]

    def weigh(point: Point, by: np.ndarray) -> float:
        return float(sum(one for one, name in zip(by, names, strict=True) if point[name]))

    space = dict.fromkeys(names, bool)
    return Rule(space, lambda point: -weigh(point, worth), lambda point: weigh(point, weights) < 0.45 * weights.sum())


RULES: dict[str, Callable[[int], Rule]] = {"pairs": forbid_pairs, "product": limit_product, "sum": limit_sum}


def foretell(rule: Rule, seed: int) -> dict[str, Foretold]:
    """Run `auto`, and return what it foretold of random points and of those that it asked.

    rule: what fails.
    seed: of the run.
    """
    space, rng = bo.Space(rule.space), np.random.default_rng([seed, 7])
    found: dict[str, list[tuple[float, bool]]] = {kind: [] for kind in COLORS}
    with bo.Study(space, seed=seed) as study:
        for number in range(N_TRIALS):
            if number in LOOKS:
                drawn = [space.present(x) for x in space.sample(N_RANDOM, rng)]
                told = zip(study.predict(drawn).chance.tolist(), map(rule.succeeds, drawn), strict=True)
                found["random points"] += list(told)
            trial = study.ask()
            succeeded = rule.succeeds(trial.point)
            if trial.origin == "model":
                found["points that `auto` asks"].append((float(study.predict([trial.point]).chance[0]), succeeded))
            if succeeded:
                study.tell(trial, rule.objective(trial.point))
            else:
                study.tell(trial, infeasible="does not fit")
    return {kind: _unzip(pairs) for kind, pairs in found.items()}


def _unzip(pairs: list[tuple[float, bool]]) -> Foretold:
    both = np.array(pairs, dtype=np.float64).reshape(-1, 2)
    return Foretold(both[:, 0], both[:, 1])


def bin_chances(found: Foretold) -> list[tuple[int, float, float]]:
    """Return for each bin of `EDGES` the number of points, their mean chance, and the share that succeeded.

    found: chances and what came of them; means of a bin without points are NaN.
    """
    places = np.clip(np.searchsorted(EDGES, found.chances, side="right") - 1, 0, len(EDGES) - 2)
    rows = []
    for place in range(len(EDGES) - 1):
        here = places == place
        n = int(here.sum())
        chance, share = (float(one[here].mean()) if n else float("nan") for one in found)
        rows.append((n, chance, share))
    return rows


def join(parts: list[Foretold]) -> Foretold:
    """Return what was foretold in several runs as one.

    parts: at least one.
    """
    return Foretold(*(np.concatenate([one[i] for one in parts]) for i in range(2)))


def draw(found: Mapping[str, Foretold], picture: Path) -> None:
    """Draw the share that succeeded against the mean chance of each bin.

    found: by the kind of points.
    picture: where the figure is written.
    """
    axes = new_axes(4.8, 4.4)
    axes.plot([0, 1], [0, 1], color="#7b8794", linestyle=(0, (4, 3)), linewidth=1.2, label="as foretold")
    for kind, marker in zip(found, "os", strict=True):
        bins = [row for row in bin_chances(found[kind]) if row[0]]
        counts, chances, shares = (np.array(column) for column in zip(*bins, strict=True))
        errors = 1.96 * np.sqrt(np.maximum(shares * (1.0 - shares), 0.25 / counts) / counts)
        label = kind.replace("`", "")
        axes.errorbar(
            chances, shares, yerr=errors, marker=marker, capsize=3, color=COLORS[kind], linewidth=1.4, label=label
        )
    axes.set(xlabel="chance of success, as predicted", ylabel="share that succeeded", xlim=(0, 1), ylim=(-0.05, 1.05))
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
    print("| chance | " + " | ".join(f"{kind}: points | mean chance | succeeded" for kind in together) + " |")
    print("| --- |" + " --- |" * 3 * len(together))
    for place, rows in enumerate(zip(*map(bin_chances, together.values()), strict=True)):
        cells = [f"{n} | {chance:.2f} | {share:.2f}" if n else "0 |  | " for n, chance, share in rows]
        print(f"| {EDGES[place]:g} to {EDGES[place + 1]:g} | {' | '.join(cells)} |")
    draw(together, given.picture)


if __name__ == "__main__":
    main()
