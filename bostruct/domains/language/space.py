"""Define search spaces of programs as a domain."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from bostruct.checks import check_choice, check_integer, short_repr
from bostruct.contracts import (
    DRAWS_UNSEEN,
    Choice,
    ChoiceDomain,
    Count,
    DomainError,
    Exact,
    Infeasible,
    Infinite,
    Json,
    LocalDomain,
    ParsedJson,
    PointError,
    Presented,
    SpaceExhausted,
    TreeDomain,
    draw_unseen,
)
from bostruct.domains.architecture.layers import CNN_ALL_KERNELS, Family
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language import changes, sampling
from bostruct.domains.language.counting import count
from bostruct.domains.language.errors import LanguageError, NoneFeasible, TooDeep
from bostruct.domains.language.features import LRUCache, coordinate_of, coordinates, count_modules, tokens
from bostruct.domains.language.program import COUNT_BUDGET, PartialProgram, Program, build_program, check_generator
from bostruct.domains.language.sampling import EvenDraws
from bostruct.domains.language.values import Trace, Value
from bostruct.domains.language.walk import Walk

MAX_KEPT_TRACES = 2_000  # maximum traces of a space whose programs are listed once and cached
MAX_LISTED_TRACES = 100_000  # maximum traces of a space whose programs are listed if draws find no unseen program
LISTING_WORK = 500_000  # modules to build for a list: a few seconds
QUICK_BUDGET = 20_000  # modules to visit to find out whether a space is small
NEIGHBORS_LISTED = 100_000
NEIGHBORS_COUNTED = 2_000
NEIGHBORS_COUNTED_OF_ENDLESS = 100  # a change in an infinite space may open any number of programs
N_FAMILY_DRAWS = 64  # programs sampled to choose the family of layers
FINGERPRINT_SAMPLES = 8  # programs sampled for a space's fingerprint
DESCRIPTION_WORK = 25_000  # modules built per suggestion of a method that uses features of sampled programs


class SearchSpace(PartialProgram, LocalDomain, ChoiceDomain, TreeDomain):
    """All programs that a function can build and that agree with the assigned values.

    A space is immutable: `assign` returns a new one. Points are `Trace`s; an objective receives a `Program`.

    Parameters
    ----------
    builder : callable
        Function that returns (inputs, outputs), like the functions of `bostruct.language`. It is called once. The
        functions of substitution modules are called when their hyperparameters have values. All must be deterministic.
    max_depth : int
        Maximum nesting of substitutions, 1 to 400. Draws that need more are discarded.
    max_decisions : int
        Maximum number of choices of a program, at least 1. Draws that need more are discarded.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """

    @property
    def size(self) -> float:
        """The number of traces, an upper bound on the number of programs; ``math.inf`` if infinite or not found."""
        found = self._count
        return found.count if isinstance(found, Exact) else math.inf

    @cached_property
    def _count(self) -> Count:
        return self.count()

    def quick_count(self) -> Count:
        """Count the traces with a quarter of the default budget of `count`."""
        return self._quick_count

    @cached_property
    def _quick_count(self) -> Count:
        return count(self._walk, QUICK_BUDGET)

    @cached_property
    def is_listed(self) -> bool:
        """True if all programs are known: at most 2,000 traces, whose programs can be compared in a few seconds.

        ``sample(by="architecture")`` then samples programs uniformly; otherwise it samples traces uniformly.
        """
        return can_list(self, MAX_KEPT_TRACES)

    @cached_property
    def _programs(self) -> tuple[Trace, ...]:
        return list_programs(self)

    def sample(
        self, m: int, rng: np.random.Generator, by: Literal["decision", "architecture"] = "decision"
    ) -> list[Trace]:
        """Draw traces independently.

        A draw by decisions that has become large (nested more than 8 deep after 100 choices, or deeper than half of
        `max_depth`) continues with values that need the fewest substitutions to end, each with the same probability.

        Parameters
        ----------
        m : int
            Number of traces, at least 0.
        rng : numpy.random.Generator
            Source of randomness.
        by : {"decision", "architecture"}, default "decision"
            "decision": each value of a decision has the same probability. "architecture": each program has if the space
            `is_listed`, otherwise each trace, of which several may build equal programs.

        Returns
        -------
        list of Trace
            The traces.

        Raises
        ------
        NoneFeasible
            If no draw is feasible.
        DomainError
            If programs must be counted but cannot be.
        """
        check_integer("m", m, 0)
        check_generator(rng)
        if check_choice("by", by, ("decision", "architecture")) == "architecture":
            return [self._draw_evenly(rng) for _ in range(m)]
        draw = partial(sampling.sample_walk, self._walk, rng, self.max_decisions)
        return [self._trace(sampling.retry_until_feasible(draw)) for _ in range(m)]

    def _draw_evenly(self, rng: np.random.Generator) -> Trace:
        """Return a random program if programs are listed, otherwise a random trace."""
        if self.is_listed and self._programs:
            return self._programs[int(rng.integers(len(self._programs)))]
        if not isinstance(self._count, Exact):
            raise sampling.refuse_uncounted(self._count)
        values = self._even_draws.values(rng)
        if values is not None:
            return self._trace(sampling.replay(self._walk, values))
        by_counts = sampling.program_uniform_policy(rng, COUNT_BUDGET)
        draw = partial(sampling.follow, self._walk, by_counts, self.max_decisions)
        return self._trace(sampling.retry_until_feasible(draw))

    @cached_property
    def _even_draws(self) -> EvenDraws:
        return EvenDraws(self._walk)

    def sample_unseen(self, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Trace:
        """Return a trace whose program is not in `seen`.

        The distribution is that of `sample`; if few programs are left, they are equally likely.
        """
        found = self._quick_count
        if not (seen and isinstance(found, Exact) and 2 * len(seen) >= found.count and self.is_listed):
            keys = partial(map, self.key)  # a key may take milliseconds: computed lazily
            if (x := draw_unseen(self.sample, keys, seen, rng)) is not None:
                return x
            if not can_list(self, MAX_LISTED_TRACES):
                raise SpaceExhausted(f"no unseen program in {DRAWS_UNSEEN} draws; {len(seen)} were seen")
        left = [x for x in self._programs if self.key(x) not in seen]
        if not left:
            raise SpaceExhausted(f"all {len(self._programs)} programs of the space have been seen")
        return left[int(rng.integers(len(left)))]

    def program_size(self) -> float:
        """Return the mean number of modules of eight sampled programs."""
        return self._modules[0]

    @property
    def most_described(self) -> int:
        """The maximum number of programs whose tokens one suggestion should compute, for about half a second."""
        return max(16, int(DESCRIPTION_WORK / max(1.0, self._modules[1])))

    @cached_property
    def _modules(self) -> tuple[float, float]:
        """The mean numbers over eight sampled programs of all modules, and of modules that are not shared."""
        drawn = map(self._walk_of, self.sample(FINGERPRINT_SAMPLES, np.random.default_rng(0)))
        total, unshared = np.mean([count_modules(walk) for walk in drawn], axis=0)
        return float(total), float(unshared)

    def check(self, x: object) -> None:
        """Raise PointError unless x is the trace of a program of this space."""
        if not isinstance(x, Trace):
            raise PointError(f"expected a Trace, got {short_repr(x)}")
        try:
            self._walk_of(x)
        except Infeasible as error:
            raise PointError(f"{short_repr(x)} is infeasible: {error}") from error

    def parse(self, point: Presented) -> Trace:
        """Return a trace from a `Trace`, a dict of values, a terminal space or a program."""
        if isinstance(point, SearchSpace | Program):
            point = point.trace
        return self.replay(point).trace

    def present(self, x: Mapping[str, Value]) -> Program:
        """Return the program of a trace, the argument of an objective."""
        return build_program(self._walk_of(x), self.builder)

    def encode(self, x: Trace) -> Json:
        return x.to_json()

    def decode(self, data: ParsedJson) -> Trace:
        """Return the trace for a result of `encode`."""
        return Trace.from_json(data)

    def key(self, x: Trace) -> str:
        return self._fingerprint_of(x)

    @cached_property
    def _fingerprint_of(self) -> LRUCache[Trace, str]:
        return LRUCache(lambda x: self.present(x).fingerprint)

    def encodings(self, batch: Iterable[Trace]) -> list[Hashable]:
        return list(batch)

    def mutate(self, x: Mapping[str, Value], rng: np.random.Generator) -> Trace:
        """Return a trace with another value for one choice; the other keys keep their values if possible.

        A permutation in one choice (`OneOfKFactorial`) changes to a neighbor if a feasible neighbor exists.
        """
        return self._trace(changes.mutate(self._walk, self._walk_of(x), check_generator(rng), self.max_decisions))

    def crossover(self, x: Mapping[str, Value], y: Mapping[str, Value], rng: np.random.Generator) -> Trace:
        """Take each value from x or y at random.

        Raises NoneFeasible.
        """
        return self._trace(changes.cross_over(self._walk, Trace(x), Trace(y), check_generator(rng), self.max_decisions))

    def neighbors(self, x: Trace) -> list[Trace]:
        """List all traces that differ from x in exactly one of the shared keys, in a fixed order.

        A permutation in one choice changes by a swap of two items, a move of one, or a reversal.
        """
        found = changes.list_at_most(changes.neighbors(self._walk, self._walk_of(x)), NEIGHBORS_LISTED)
        if found is None:
            raise DomainError(f"neighbors: more than {NEIGHBORS_LISTED}; use sample_neighbors")
        return found

    def sample_neighbors(self, x: Trace, m: int, rng: np.random.Generator) -> list[Trace]:
        """Return m random neighbors, or all neighbors in their order if there are at most m.

        If there are more than 2,000 neighbors (more than 100 in an infinite space), or listing them would take long,
        changes are sampled uniformly without repetition, and new choices at random. Fewer than m are returned if
        programs have thousands of modules and sampling m would take several seconds.
        """
        end = self._walk_of(x)
        if (affordable := changes.affordable_listing(self._walk, end)) is not None:
            is_endless = isinstance(self._quick_count, Infinite)
            counted = NEIGHBORS_COUNTED_OF_ENDLESS if is_endless else max(m, NEIGHBORS_COUNTED)
            found = changes.list_at_most(changes.neighbors(self._walk, end), min(counted, affordable))
            if found is not None and len(found) <= m:
                return found
            if found is not None:
                return [found[i] for i in np.sort(rng.choice(len(found), size=m, replace=False, shuffle=False))]
        m = min(m, changes.affordable_draws(end))
        drawn: dict[Trace, None] = {}
        for _ in range(50 * m):
            if changes.count_differences(x, near := self.mutate(x, rng)) == 1:  # all other shared values are unchanged
                drawn[near] = None
            if len(drawn) == m:
                break
        return list(drawn)

    def coordinates(self, x: Trace) -> tuple[Choice, ...]:
        return coordinates(self._walk_of(x))

    def names(self, x: Trace) -> tuple[str, ...]:
        return tuple(h.path for h in self._walk_of(x).chosen)

    def resample(self, x: Trace, names: Sequence[str], rng: np.random.Generator) -> Trace:
        resampled = set(names)
        kept = {path: value for path, value in x.items() if path not in resampled}
        choose = sampling.trace_policy(kept, sampling.uniform_policy(rng))
        return self._trace(
            sampling.retry_until_feasible(lambda: sampling.follow(self._walk, choose, self.max_decisions))
        )

    def tokens(self, xs: Iterable[Trace]) -> list[npt.NDArray[np.int64]]:
        return [self._tokens(x) for x in xs]

    def decisions(self, x: Trace) -> tuple[int, ...]:
        return tuple(int(one.value) for one in self.coordinates(x)[len(self._walk.chosen) :])

    def options(self, made: Sequence[int]) -> int:
        with _as_infeasible():
            h = sampling.follow_decisions(self._walk, made).next()
        return 0 if h is None else len(h.values)

    def choice_after(self, made: Sequence[int]) -> Choice | None:
        with _as_infeasible():
            h = sampling.follow_decisions(self._walk, made).next()
        return None if h is None else coordinate_of(h, 0)

    def decide(self, name: str, value: float) -> int:
        return round(value)

    def roll_out(self, made: Sequence[int], rng: np.random.Generator) -> Trace:
        with _as_infeasible():
            start = sampling.follow_decisions(self._walk, made)
            return self._trace(sampling.sample_walk(start, rng, self.max_decisions))

    def architectures(self, xs: Iterable[Trace]) -> list[Architecture]:
        try:
            return [self._architecture(x) for x in xs]
        except LanguageError as error:
            raise DomainError(f"these programs have no architecture: {error}") from error

    @cached_property
    def _architecture(self) -> LRUCache[Trace, Architecture]:
        return LRUCache(lambda x: self.present(x).to_architecture(self._family))

    @cached_property
    def _family(self) -> Family | None:
        """The family with all kernel sizes if sampled programs need it or several families; otherwise None.

        Distances are defined only between architectures of one family.
        """
        drawn = self.sample(N_FAMILY_DRAWS, np.random.default_rng(0))
        found = [self.present(x).to_architecture() for x in drawn]
        is_one = len({one.family for one in found}) == 1
        labels = {layer.label for one in found for layer in one.layers}
        return None if is_one or not labels <= CNN_ALL_KERNELS.by_name.keys() else CNN_ALL_KERNELS

    def _walk_of(self, x: Mapping[str, Value]) -> Walk:
        """Return the finished walk of a trace; raises TraceError and Infeasible."""
        return self._walk_cache(x if isinstance(x, Trace) else Trace(x))

    @cached_property
    def _walk_cache(self) -> LRUCache[Trace, Walk]:
        return LRUCache(partial(sampling.replay, self._walk))

    @cached_property
    def _tokens(self) -> LRUCache[Trace, npt.NDArray[np.int64]]:
        return LRUCache(lambda x: tokens(self._walk_of(x)))

    def _trace(self, end: Walk) -> Trace:
        trace = end.trace()
        self._walk_cache.add(trace, end)
        return trace

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that identify a space by its initial state and eight sampled programs."""
        outermost = [[m.path, list(m.inputs), list(m.outputs)] for m in self._walk.modules()]
        choices = [[h.path, h.values] for h in self.hyperparameters]
        rng = np.random.default_rng(0)
        drawn = [self.present(x).fingerprint_by_names for x in self.sample(FINGERPRINT_SAMPLES, rng)]
        data = json.dumps([outermost, choices, self.trace.to_json(), drawn])
        return hashlib.blake2b(data.encode(), digest_size=16).hexdigest()

    def to_json(self) -> Json:
        """Return JSON data that identify the space; it cannot be rebuilt from them, since a space is a function."""
        name = getattr(self.builder, "__qualname__", type(self.builder).__qualname__)
        return {"domain": "language", "builder": name, "fingerprint": self.fingerprint}


@contextmanager
def _as_infeasible() -> Iterator[None]:
    """Treat too deep nesting as infeasible, for step-by-step searches."""
    try:
        yield
    except (TooDeep, NoneFeasible) as error:
        raise Infeasible(str(error)) from error


def can_list(space: SearchSpace, most: int) -> bool:
    """Return whether a space has programs, and few enough traces to compare their programs in a few seconds."""
    found = space.quick_count()
    if not isinstance(found, Exact) or not 0 < found.count <= most:
        return False
    try:
        return found.count * space.program_size() <= LISTING_WORK
    except NoneFeasible:  # if no draw is feasible, a list would visit too many infeasible walks
        return False


def list_programs(space: SearchSpace) -> tuple[Trace, ...]:
    """Return the first trace of each program of a space, in the order of choice."""
    found: dict[Hashable, Trace] = {}
    for x in space.enumerate("depth"):
        found.setdefault(space.key(x), x)
    return tuple(found.values())
