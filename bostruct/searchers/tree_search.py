"""Tree search on what a surrogate predicts: the optimizer of SMBO in the code of Negrinho et al. 2019."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_number
from bostruct.contracts import Array, Batch, Point, TreeDomain
from bostruct.searchers.mcts import CachedDecisions, ExhaustedPrefixes, TreeNode, descend, roll_out

Predict = Callable[[Batch], Array]  # points (m,) -> predicted values (m,), in standard deviations of those told


@dataclass(frozen=True)
class TreeSearch:
    """Monte Carlo tree search for points with small predicted values.

    Each walk goes down a tree of decisions by UCT, draws the decisions below it, and leaves on its way a reward between
    0 and 1: how little is predicted, by the logistic function of the predicted value in standard deviations of the
    values told. The published rewards are predicted accuracies, which are between 0 and 1 without it. A tree begins
    with nothing at every suggestion (published: after every evaluation), so there is nothing to store. The tree
    does not go to an end again; where draws do, its reward counts again.

    exploration: weight of the second term of UCT, at least 0; 1 is published for this use.

    Raises TypeError, ValueError.
    """

    exploration: float = 1.0

    def __post_init__(self) -> None:
        check_number("exploration", self.exploration, 0.0)

    def __call__(self, domain: TreeDomain, m: int, predict: Predict, rng: np.random.Generator) -> tuple[Batch, Array]:
        """Return the ends of the walks, fewer than m where some met, and their predicted values.

        domain: of decisions one after another.
        m: number of walks, at least 1.
        predict: points -> predicted values, in standard deviations of those told.
        rng: the only source of chance.
        """
        options = CachedDecisions(domain).options
        root, exhausted = TreeNode(), ExhaustedPrefixes(options)
        found: list[Point] = []
        values: dict[tuple[int, ...], float] = {}
        for _ in range(m):
            if () in exhausted.prefixes:
                break
            made = descend(root, options, exhausted, self.exploration, rng)
            x = roll_out(domain, made, rng)
            if x is None:  # the visits that it left make the next walk go elsewhere
                if not options(made):
                    exhausted.add(made)
                continue
            way = domain.decisions(x)
            if way not in values:
                found.append(x)
                values[way] = float(predict(domain.join([x]))[0])
                exhausted.add(way)
            _leave_reward(root, way, len(made), 1.0 / (1.0 + np.exp(np.clip(values[way], -500.0, 500.0))))
        return domain.join(found), np.array([*values.values()])


def _leave_reward(root: TreeNode, way: tuple[int, ...], depth: int, reward: float) -> None:
    """Add a reward to the nodes that a walk went through, which count its visit, and to a new one below them."""
    path = [root]
    for choice in way[:depth]:
        path.append((path[-1].children or {})[choice])
    if depth < len(way):
        child = TreeNode(visits=1)
        path[-1].children = {way[depth]: child}
        path.append(child)
    for node in path:
        node.told += 1
        node.total += reward
