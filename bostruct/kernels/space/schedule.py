"""A kernel on orders of items that wait for each other: their end times and the makespan, with learned durations.

Items share resources and follow each other in chains; color refinement labels them canonically.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Array, IntArray, Kernel, Parameter, Prior, Pullback
from bostruct.domains.space.single_changes import SpaceBatch
from bostruct.kernels.algebra import mix_grams, slope_in_odds, weight_of

N_REFERENCE = 64  # random orders, whose ends set the scale of the features
Colors: TypeAlias = list[int]


@dataclass(frozen=True)
class ScheduleKernel(Kernel):
    """A linear kernel on the end times of items and on the makespan, with learned durations.

    k(x, y) = v m(x) m(y) + (1 - v) sum_i e_i(x) e_i(y), with the end e_i of item i and the makespan m, the largest end.
    Both are centered by their means over random orders with durations of 1, and divided by their spread there. theta
    has the logarithms of the durations, then the log odds of v. So the kernel can learn sums of ends and the makespan,
    and a duration affects all orders in which other items wait for its item.

    durations: prior of the logarithm of each duration, which is 0 initially.
    odds: prior of the log odds of v.
    initial: initial log odds of v.
    """

    waits: Waits
    first: int
    durations: Prior
    odds: Prior
    initial: float = 0.0

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        durations = Parameter("log_duration", len(self.waits.chains), self.durations, 0.0)
        return durations, Parameter("log_odds_makespan", 1, self.odds, self.initial)

    def prepare(self, xs: SpaceBatch, ys: IntArray | None = None) -> OrdersPair:
        return OrdersPair(self._orders(xs), None if ys is None else self._orders(ys))

    def gram(self, theta: Array, prepared: OrdersPair) -> Array:
        mine, theirs = self._compare(theta, prepared)
        return mix_grams(np.outer(mine.makespan, theirs.makespan), mine.ends @ theirs.ends.T, weight_of(theta[-1]))

    def diag(self, theta: Array, xs: SpaceBatch) -> Array:
        own, weight = self._describe(theta, self._orders(xs)), weight_of(theta[-1])
        return weight * np.square(own.makespan) + (1.0 - weight) * np.square(own.ends).sum(axis=1)

    def gram_and_pullback(self, theta: Array, prepared: OrdersPair) -> tuple[Array, Pullback]:
        mine, theirs = self._compare(theta, prepared)
        weight, (xs, ys) = weight_of(theta[-1]), prepared
        longest, each = np.outer(mine.makespan, theirs.makespan), mine.ends @ theirs.ends.T

        def pullback(cotangent: Array) -> Array:
            if ys is None:
                slope = self._pull(mine, mine, xs, weight, cotangent + cotangent.T)
            else:
                slope = self._pull(mine, theirs, xs, weight, cotangent)
                slope += self._pull(theirs, mine, ys, weight, cotangent.T)
            return np.append(slope * np.exp(theta[:-1]), slope_in_odds(cotangent, longest, each, weight))

        return mix_grams(longest, each, weight), pullback

    def input_vjp(self, theta: Array, xs: SpaceBatch, ys: IntArray) -> Callable[[Array], tuple[Array, Pullback]]:
        gram = self.gram(theta, self.prepare(xs, ys))
        return lambda shares: (gram, lambda _: np.zeros(shares.shape))

    def _pull(self, mine: Features, theirs: Features, slots: Slots, weight: float, cotangent: Array) -> Array:
        """Return the gradient of sum(cotangent * K) in the durations, only through the first batch (w,)."""
        _, spread, _, scale = self._reference
        to_ends = (1.0 - weight) / spread * (cotangent @ theirs.ends)
        last = mine.schedule.ends.argmax(axis=1)
        to_ends[np.arange(len(to_ends)), last] += weight / scale * (cotangent @ theirs.makespan)
        return pull_ends(slots, mine.schedule.on_resource, to_ends)

    def _compare(self, theta: Array, prepared: OrdersPair) -> tuple[Features, Features]:
        mine = self._describe(theta, prepared.xs)
        return mine, mine if prepared.ys is None else self._describe(theta, prepared.ys)

    def _describe(self, theta: Array, slots: Slots) -> Features:
        center, spread, typical, scale = self._reference
        found = schedule(slots, np.exp(theta[:-1]))
        return Features((found.ends - center) / spread, (found.ends.max(axis=1) - typical) / scale, found)

    def _orders(self, xs: SpaceBatch) -> Slots:
        rows = np.asarray(xs)
        return find_slots(self.waits, rows[:, self.first : self.first + len(self.waits.chains)])

    @cached_property
    def _reference(self) -> tuple[Array, float, float, float]:
        """The mean ends (w,), the root of their summed variance, the mean makespan and its sd, for durations of 1."""
        w, (items, classes) = len(self.waits.chains), label_canonically(*self.waits)
        orders = items[np.random.default_rng(0).permuted(np.tile(np.arange(w), (N_REFERENCE, 1)), axis=1)]
        turns = np.argsort(np.array(self.waits.chains)[orders], axis=1, kind="stable")
        np.put_along_axis(orders, turns, np.argsort(self.waits.chains, kind="stable")[None], axis=1)
        ends = schedule(find_slots(self.waits, orders), np.ones(w)).ends
        center = (np.bincount(classes, ends.mean(axis=0)) / np.bincount(classes))[classes]
        longest = ends.max(axis=1)
        spread, scale = float(np.sqrt(ends.var(axis=0).sum())), float(longest.std())
        return center, spread or 1.0, float(longest.mean()), scale or 1.0


class OrdersPair(NamedTuple):
    """Two batches of orders.

    ys: m orders; None for xs with themselves.
    """

    xs: Slots
    ys: Slots | None


class Features(NamedTuple):
    """The features of n orders that the kernel compares.

    ends: end of each item, centered and scaled (n, w); for random orders, the squares sum to about 1.
    makespan: end of the last item, centered and scaled (n,); for random orders, its square is about 1.
    """

    ends: Array
    makespan: Array
    schedule: Schedule


class Waits(NamedTuple):
    """The resource and the chain of each item, for which items wait for each other.

    resources: the number of the resource of each item (w,), from 0.
    chains: the number of the chain of each item (w,), from 0; a chain has the occurrences of an item in ascending
        order.
    """

    resources: tuple[int, ...]
    chains: tuple[int, ...]


class Slots(NamedTuple):
    """The places of n orders of w items in flat tables: an order has a slot for each resource, then one for each chain.

    orders: the item in each place (n, w).
    resources: the slot of the resource of the item in each place (w, n).
    chains: the slot of the item's chain (w, n).
    size: the number of slots of all orders.
    """

    orders: IntArray
    resources: IntArray
    chains: IntArray
    size: int


class Schedule(NamedTuple):
    """The schedules of n orders of w items.

    ends: end of each item (n, w).
    on_resource: whether the item in each place waits longer for its resource than for its chain (w, n).
    """

    ends: Array
    on_resource: npt.NDArray[np.bool_]


def find_slots(waits: Waits, orders: IntArray) -> Slots:
    """Return the slots of orders.

    orders: the item in each place (n, w).
    """
    resources, chains = np.array(waits.resources), np.array(waits.chains)
    n_resources = int(resources.max()) + 1
    n_slots = n_resources + int(chains.max()) + 1
    own = n_slots * np.arange(len(orders))
    return Slots(orders, resources[orders.T] + own, n_resources + chains[orders.T] + own, n_slots * len(orders))


def schedule(slots: Slots, durations: Array) -> Schedule:
    """Return the end of each item, which starts once its resource is free and its predecessor in its chain has ended.

    durations: duration of each item (w,), above 0.
    """
    orders, free = slots.orders, np.zeros(slots.size)  # when each resource and each chain is free
    times = durations[orders.T]
    ends, on_resource = np.empty_like(times), np.empty(times.shape, dtype=np.bool_)
    for place, (resource, chain) in enumerate(zip(slots.resources, slots.chains, strict=True)):
        ready, done = free.take(resource), free.take(chain)
        np.greater(ready, done, out=on_resource[place])
        end = np.add(np.maximum(ready, done), times[place], out=ends[place])
        free[resource] = end
        free[chain] = end
    of_items = np.empty(orders.shape)
    np.put_along_axis(of_items, orders, ends.T, axis=1)
    return Schedule(of_items, on_resource)


def pull_ends(slots: Slots, on_resource: npt.NDArray[np.bool_], cotangent: Array) -> Array:
    """Return the gradient of sum(cotangent * ends) in the durations (w,).

    cotangent: (n, w).
    """
    orders, carried = slots.orders, np.zeros(slots.size)
    slopes = np.take_along_axis(cotangent, orders, axis=1).T.copy()
    for place in range(orders.shape[1] - 1, -1, -1):
        resource, chain, slope = slots.resources[place], slots.chains[place], slopes[place]
        slope += carried.take(resource)
        slope += carried.take(chain)
        to_resource = slope * on_resource[place]
        carried[resource] = to_resource
        carried[chain] = slope - to_resource
    return np.bincount(orders.T.ravel(), weights=slopes.ravel(), minlength=orders.shape[1]).astype(np.float64)


class Labeling(NamedTuple):
    """A canonical order of w items, in read-only arrays.

    order: the item in each place (w,).
    classes: the number of the class of each item (w,); refinement cannot distinguish items of one class.
    """

    order: IntArray
    classes: IntArray


@lru_cache(maxsize=32)
def label_canonically(resources: tuple[int, ...], chains: tuple[int, ...]) -> Labeling:
    """Return items in a canonical order, independent (up to symmetries) of the numbers of items, resources and chains.

    Color refinement (1-dimensional Weisfeiler and Leman 1968) distinguishes items by their neighbors in their chain and
    by the items that share their resource. If some items still have the same color, one of them is put first, which
    distinguishes others (individualization, McKay 1981). Refinement may fail to distinguish items that no symmetry
    exchanges, as in strongly regular structures. Then the order depends on the numbers of the items.

    resources: the number of the resource of each item (w,), from 0.
    chains: the number of the chain of each item (w,), from 0; items of a chain follow each other in ascending order.
    """
    colors = classes = _refine_colors(resources, chains, [0] * len(chains))
    while (tied := _find_tie(colors)) is not None:
        colors = [2 * color for color in colors]
        colors[tied] -= 1
        colors = _refine_colors(resources, chains, colors)
    found = Labeling(np.argsort(colors), np.array(classes))
    for own in found:  # the result is cached
        own.flags.writeable = False
    return found


def _refine_colors(resources: Sequence[int], chains: Sequence[int], colors: Colors) -> Colors:
    """Refine colors, numbered from 0, by the colors of neighboring items until no color is split further."""
    before, after, last = [-1] * len(chains), [-1] * len(chains), dict[int, int]()  # the neighbors on a chain
    for item, chain in enumerate(chains):
        if chain in last:
            before[item], after[last[chain]] = last[chain], item
        last[chain] = item
    n, colors = 0, _rank_colors(colors)
    while n < (n := max(colors) + 1):
        shared: list[list[int]] = [[] for _ in range(max(resources) + 1)]
        for color, resource in zip(colors, resources, strict=True):
            shared[resource].append(color)
        users = _rank_colors([tuple(sorted(own)) for own in shared])
        padded = [*colors, -1]  # the neighbor's color at the ends of chains
        keys = [(color, padded[before[i]], padded[after[i]], users[resources[i]]) for i, color in enumerate(colors)]
        colors = _rank_colors(keys)
    return colors


def _rank_colors(keys: Sequence[Hashable]) -> Colors:
    """Return the rank of each key among the distinct keys, from 0."""
    ranks = {key: rank for rank, key in enumerate(sorted(set(keys)))}  # type: ignore[type-var]
    return [ranks[key] for key in keys]


def _find_tie(colors: Colors) -> int | None:
    """Return an item of the first color that several items have; None if all colors differ."""
    first: dict[int, int] = {}
    tied = [(color, first[color]) for item, color in enumerate(colors) if first.setdefault(color, item) != item]
    return min(tied)[1] if tied else None
