"""Monte Carlo tree search over the decisions that make a point: UCT, as in Negrinho et al. 2019, section 7.2."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Array, DomainError, HasDecisions, HistoryView, Infeasible, Json, Point, State, Suggestion


@dataclass
class Node:
    """A choice that was made. visits: of finished and running trials; total: of the rewards of the finished ones."""

    visits: int = 0
    told: int = 0
    total: float = 0.0
    children: dict[int, Node] | None = None  # None until it is expanded

    @property
    def mean(self) -> float:
        return self.total / self.told if self.told else 0.0


@dataclass(frozen=True)
class MCTS:
    """Each suggestion walks down a tree of decisions, to the child with the largest mean reward plus
    exploration * sqrt(2 log(visits of the parent) / visits of the child), an unvisited one first, ties drawn; below the
    first node that was never expanded, decisions are drawn.

    Rewards are the share of completed trials that a trial is no worse than, so that the scale of the values means
    nothing; published, they are accuracies. The tree is grown again from the history at every suggestion, one node a
    trial, in the order told: O(trials x decisions), and nothing to store. Running trials count as visits; infeasible
    and failed ones as visits with reward 0. tries: walks, for a point that was not seen. Raises TypeError, ValueError.
    """

    domain: HasDecisions
    exploration: float = 0.33
    tries: int = 100

    def __post_init__(self) -> None:
        check_number("exploration", self.exploration, 0.0)
        check_integer("tries", self.tries, 1)

    def settings(self) -> dict[str, Json]:
        return {"exploration": self.exploration, "tries": self.tries}

    def initial_state(self) -> State:
        return None

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        """Raises SpaceExhausted when no unseen point is left."""
        root = self._grown(history)
        for _ in range(self.tries):
            try:
                x, depth = self._descend(root, rng)
            except (Infeasible, DomainError):  # what was drawn below leads nowhere; the next walk goes elsewhere
                continue
            if self.domain.keys(self.domain.join([x]))[0] not in history.seen:
                return Suggestion(x, state, {"origin": "model", "depth": depth, "nodes": _size(root)})
        why = f"{self.tries} walks met seen points alone"
        return Suggestion(self.domain.sample_unseen(history.seen, rng), state, {"origin": "fallback", "why": why})

    def _grown(self, history: HistoryView) -> Node:
        root = Node()
        for x, reward in zip(history.completed, rewards(history.values), strict=True):
            _visit(root, self.domain.decisions(x), float(reward))
        for x in history.failed:
            _visit(root, self.domain.decisions(x), 0.0)
        for x in history.running:
            _visit(root, self.domain.decisions(x), None)
        return root

    def _descend(self, root: Node, rng: np.random.Generator) -> tuple[Point, int]:
        """A point, and how many decisions the tree made. Visits are left on the way, also where it leads nowhere."""
        node, made = root, []
        node.visits += 1
        while node.children is not None and (options := self.domain.options(made)):
            choice = self._chosen(node, options, rng)
            node = node.children.setdefault(choice, Node())
            node.visits += 1
            made.append(choice)
        return self.domain.finished(made, rng), len(made)

    def _chosen(self, node: Node, options: int, rng: np.random.Generator) -> int:
        children = node.children or {}
        unvisited = [i for i in range(options) if i not in children or not children[i].visits]
        if unvisited:
            return unvisited[int(rng.integers(len(unvisited)))]
        spread = 2.0 * math.log(node.visits)
        scores = [children[i].mean + self.exploration * math.sqrt(spread / children[i].visits) for i in range(options)]
        best = max(scores)
        level = [i for i, score in enumerate(scores) if score == best]
        return level[int(rng.integers(len(level)))]


def rewards(values: Array) -> Array:
    """Of each value (n,) the share of all that are no smaller, in (0, 1]; the smallest gets 1."""
    if not len(values):
        return np.zeros(0)
    ordered = np.sort(values)
    return 1.0 - np.searchsorted(ordered, values, side="left") / len(values)


def _visit(root: Node, decisions: tuple[int, ...], reward: float | None) -> None:
    """Down the expanded nodes, then one further, which is expanded for the next time."""
    node = root
    path = [node]
    for choice in decisions:
        if node.children is None:
            node.children = {}
            node = node.children.setdefault(choice, Node())
            path.append(node)
            break
        node = node.children.setdefault(choice, Node())
        path.append(node)
    for one in path:
        one.visits += 1
        if reward is not None:
            one.told += 1
            one.total += reward


def _size(root: Node) -> int:
    return 1 + sum(_size(child) for child in (root.children or {}).values())
