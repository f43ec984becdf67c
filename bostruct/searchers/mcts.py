"""Monte Carlo tree search over decisions: UCT on the objective and on predictions (Negrinho et al. 2019)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from bostruct.checks import check_choice, check_integer, check_number
from bostruct.contracts import (
    Array,
    Batch,
    HistoryView,
    Infeasible,
    Json,
    Point,
    Searcher,
    State,
    Suggestion,
    TreeDomain,
)
from bostruct.searchers.proposals import fall_back

RewardRule = Literal["rank", "value"]
COPIES_PER_TRY = 10  # walks by new decisions to points that other decisions led to before


@dataclass
class TreeNode:
    """A node of the tree.

    visits: number of finished and running trials. rewarded: number of finished trials. total: sum of their rewards.
    children: nodes by the position of the next choice; None until the node is expanded.
    """

    visits: int = 0
    rewarded: int = 0
    total: float = 0.0
    children: dict[int, TreeNode] | None = None

    @property
    def mean(self) -> float:
        return self.total / self.rewarded if self.rewarded else 0.0


@dataclass(frozen=True)
class CachedDecisions:
    """A cache of a domain's deterministic decisions and numbers of options, which each suggestion needs again."""

    domain: TreeDomain
    ways: dict[Hashable, tuple[int, ...]] = field(default_factory=dict)
    known: dict[tuple[int, ...], int] = field(default_factory=dict)

    def decisions(self, xs: Sequence[Point]) -> list[tuple[int, ...]]:
        """Return the decisions of each point, as `Domain.decisions` does."""
        keys = self.domain.keys(self.domain.join(xs))
        for key, x in zip(keys, xs, strict=True):
            if key not in self.ways:
                self.ways[key] = self.domain.decisions(x)
        return [self.ways[key] for key in keys]

    def options(self, made: tuple[int, ...]) -> int:
        """Return the number of options of the next decision; 0 at an end, or if the decisions are infeasible."""
        if made not in self.known:
            try:
                self.known[made] = self.domain.options(made)
            except Infeasible:
                self.known[made] = 0
        return self.known[made]


@dataclass(frozen=True)
class ExhaustedPrefixes:
    """The decision prefixes below which no unseen point is left.

    options: decisions made -> the number of options of the next decision.
    prefixes: the prefixes below which no unseen point is left.
    """

    options: Callable[[tuple[int, ...]], int]
    prefixes: set[tuple[int, ...]] = field(default_factory=set)

    def add(self, made: tuple[int, ...]) -> None:
        """Add a prefix below which no unseen point is left, and all shorter prefixes that it completes."""
        self.prefixes.add(made)
        while made:
            made = made[:-1]
            if any((*made, i) not in self.prefixes for i in range(self.options(made))):
                return
            self.prefixes.add(made)


@dataclass(frozen=True)
class MCTS(Searcher):
    """Monte Carlo tree search over decisions with UCT (Negrinho et al. 2019, section 7.2).

    Each suggestion descends a tree of decisions, to the child with the largest mean reward plus exploration * sqrt(2
    log(visits of the parent) / visits of the child). Unvisited children come first, and ties are broken at random.
    Below the first unexpanded node, decisions are random.

    The published rewards are accuracies. The default is a variant: the reward of a trial is the share of completed
    trials that are not better, which is independent of the scale of the values. The tree is rebuilt from the history
    for each suggestion, one node per trial, in the order observed: O(trials x decisions), without stored state. Running
    trials count as visits; infeasible and failed trials count as visits with reward 0. Seen points, and decisions that
    only lead to seen points, are not visited again.

    exploration: weight of the second term, at least 0.
    rewards: "rank", or "value", 1 minus the value, which is the published accuracy if values are errors from 0 to 1.
    tries: maximum number of walks per suggestion until an unseen point is reached, at least 1. Walks by new decisions
        to seen points do not count, up to ten per try.

    Raises TypeError, ValueError.
    """

    domain: TreeDomain
    exploration: float = 0.33
    tries: int = 100
    rewards: RewardRule = "rank"

    def __post_init__(self) -> None:
        check_number("exploration", self.exploration, 0.0)
        check_integer("tries", self.tries, 1)
        check_choice("rewards", self.rewards, REWARDS)

    @cached_property
    def _cache(self) -> CachedDecisions:
        return CachedDecisions(self.domain)

    def settings(self) -> dict[str, Json]:
        rewards = {} if self.rewards == "rank" else {"rewards": self.rewards}  # older studies lack it
        return {"exploration": self.exploration, "tries": self.tries} | rewards

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        root, exhausted = self._grow_tree(history)
        tries, copies = self.tries, COPIES_PER_TRY * self.tries
        while tries and copies and () not in exhausted.prefixes:
            made = descend(root, self._cache.options, exhausted, self.exploration, rng)
            x = roll_out(self.domain, made, rng)
            if x is not None and self.domain.key(x) not in history.seen:
                return Suggestion(x, state, {"origin": "model", "depth": len(made), "nodes": _count_nodes(root)})
            if x is not None and (way := self.domain.decisions(x)) not in exhausted.prefixes:
                exhausted.add(way)  # other decisions led to this point before
                copies -= 1
                continue
            tries -= 1
            if not self._cache.options(made):  # infeasible decisions; at others, another draw may succeed
                exhausted.add(made)
        why = "the tree is exhausted" if () in exhausted.prefixes else "no walk reached an unseen point"
        return fall_back(self.domain, history, state, rng, why)

    def _grow_tree(self, history: HistoryView) -> tuple[TreeNode, ExhaustedPrefixes]:
        root, exhausted = TreeNode(), ExhaustedPrefixes(self._cache.options)
        points = [*history.completed, *history.failed, *history.running]
        completed = REWARDS[self.rewards](history.values).tolist()
        rewards = [*completed, *[0.0] * len(history.failed), *[None] * len(history.running)]
        for decisions, reward in zip(self._cache.decisions(points), rewards, strict=True):
            _backpropagate(root, decisions, reward)
            exhausted.add(decisions)
        return root, exhausted


def descend(
    root: TreeNode,
    options: Callable[[tuple[int, ...]], int],
    exhausted: ExhaustedPrefixes,
    exploration: float,
    rng: np.random.Generator,
) -> tuple[int, ...]:
    """Return the decisions of a UCT descent; it adds visits along the path, even if the path is infeasible.

    options: decisions made -> the number of options of the next decision.
    exploration: weight of the second term of UCT, at least 0.
    """
    node, made = root, ()
    node.visits += 1
    while node.children is not None and (count := options(made)):
        left = [i for i in range(count) if (*made, i) not in exhausted.prefixes]
        choice = _select_child(node, left, exploration, rng)
        node = node.children.setdefault(choice, TreeNode())
        node.visits += 1
        made = (*made, choice)
    return made


def roll_out(domain: TreeDomain, made: tuple[int, ...], rng: np.random.Generator) -> Point | None:
    """Draw the remaining decisions; return None if they are infeasible.

    rng: random number generator.
    """
    try:
        return domain.roll_out(made, rng)
    except Infeasible:
        return None


def _select_child(node: TreeNode, left: list[int], exploration: float, rng: np.random.Generator) -> int:
    children = node.children or {}
    unvisited = [i for i in left if i not in children or not children[i].visits]
    if unvisited:
        return unvisited[int(rng.integers(len(unvisited)))]
    spread = 2.0 * math.log(node.visits)
    scores = [children[i].mean + exploration * math.sqrt(spread / children[i].visits) for i in left]
    best = max(scores)
    level = [i for i, score in zip(left, scores, strict=True) if score == best]
    return level[int(rng.integers(len(level)))]


def rank_rewards(values: Array) -> Array:
    """Return the reward of each value: the share of all values that are not smaller.

    values: values to minimize (n,). Returns rewards in (0, 1] (n,); the smallest value has reward 1.
    """
    if not len(values):
        return np.zeros(0)
    ordered = np.sort(values)
    return 1.0 - np.searchsorted(ordered, values, side="left") / len(values)


def accuracies(values: Array) -> Array:
    """Return the published reward of each value: 1 minus the value, the accuracy if values are errors.

    values: errors from 0 to 1 (n,). Returns rewards (n,).
    """
    return 1.0 - values


REWARDS: dict[str, Callable[[Array], Array]] = {"rank": rank_rewards, "value": accuracies}


def _backpropagate(root: TreeNode, decisions: tuple[int, ...], reward: float | None) -> None:
    """Add a trial to the expanded nodes on its path, and expand the next node."""
    node = root
    path = [node]
    for choice in decisions:
        if node.children is None:
            node.children = {}
            node = node.children.setdefault(choice, TreeNode())
            path.append(node)
            break
        node = node.children.setdefault(choice, TreeNode())
        path.append(node)
    for one in path:
        one.visits += 1
        if reward is not None:
            one.rewarded += 1
            one.total += reward


def _count_nodes(root: TreeNode) -> int:
    return 1 + sum(_count_nodes(child) for child in (root.children or {}).values())


Predict = Callable[[Batch], Array]  # points (m,) -> predicted values (m,), in standard deviations of the values


@dataclass(frozen=True)
class TreeSearch:
    """Monte Carlo tree search for points with small predicted values.

    Each walk descends a tree of decisions by UCT, draws the decisions below it, and adds a reward between 0 and 1 to
    its path, the logistic function of the negative predicted value in standard deviations of the observed values. The
    published rewards are predicted accuracies. Each suggestion starts with an empty tree (published: each evaluation).
    The tree does not descend to the same end twice; if random decisions reach it again, its reward counts again.

    exploration: weight of the second term of UCT, at least 0; 1 as published.

    Raises TypeError, ValueError.
    """

    exploration: float = 1.0

    def __post_init__(self) -> None:
        check_number("exploration", self.exploration, 0.0)

    def __call__(self, domain: TreeDomain, m: int, predict: Predict, rng: np.random.Generator) -> tuple[Batch, Array]:
        """Return the points that the walks reached, fewer than m if some coincide, and their predicted values.

        m: number of walks, at least 1.
        predict: points -> predicted values, in standard deviations of the observed values.
        rng: random number generator.
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
            if x is None:  # infeasible; the added visits direct the next walk elsewhere
                if not options(made):
                    exhausted.add(made)
                continue
            way = domain.decisions(x)
            if way not in values:
                found.append(x)
                values[way] = float(predict(domain.join([x]))[0])
                exhausted.add(way)
            _add_reward(root, way, len(made), 1.0 / (1.0 + np.exp(np.clip(values[way], -500.0, 500.0))))
        return domain.join(found), np.array([*values.values()])


def _add_reward(root: TreeNode, way: tuple[int, ...], depth: int, reward: float) -> None:
    """Add a reward to the nodes on a walk's path, whose visits are already counted, and to a new node below them."""
    path = [root]
    for choice in way[:depth]:
        path.append((path[-1].children or {})[choice])
    if depth < len(way):
        child = TreeNode(visits=1)
        path[-1].children = {way[depth]: child}
        path.append(child)
    for node in path:
        node.rewarded += 1
        node.total += reward
