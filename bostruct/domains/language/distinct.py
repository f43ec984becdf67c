"""Tell the programs of a space apart, where several traces build equal ones: list them, draw unseen ones."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal, Protocol

import numpy as np

from bostruct.contracts import DRAWS_UNSEEN, SpaceExhausted, draw_unseen
from bostruct.domains.counts import Count, Exact
from bostruct.domains.language.errors import NoneFeasible
from bostruct.domains.language.trace import Trace

MAX_KEPT_TRACES = 2_000  # of a space whose programs are listed once and kept
MAX_LISTED_TRACES = 100_000  # of a space whose programs are listed where draws no longer find an unseen one
LISTING_WORK = 500_000  # modules to build for a list: some seconds


class Programs(Protocol):
    """The view of a space that telling its programs apart needs."""

    def quick_count(self) -> Count: ...
    def program_size(self) -> float: ...
    def enumerate(self, order: Literal["depth", "length"] | None = None) -> Iterator[Trace]: ...
    def sample(self, m: int, rng: np.random.Generator) -> list[Trace]: ...
    def key(self, x: Trace) -> Hashable: ...


def can_list(space: Programs, most: int) -> bool:
    """Tell whether a space has programs, and so few traces that these can be compared in some seconds.

    space: of programs.
    most: traces.
    """
    found = space.quick_count()
    if not isinstance(found, Exact) or not 0 < found.count <= most:
        return False
    try:
        return found.count * space.program_size() <= LISTING_WORK
    except NoneFeasible:  # where draws find none, a list would visit too many ways that lead nowhere
        return False


def list_programs(space: Programs) -> tuple[Trace, ...]:
    """Return the first trace of each program of a space, in the order of choice.

    space: of few programs.
    """
    found: dict[Hashable, Trace] = {}
    for x in space.enumerate("depth"):
        found.setdefault(space.key(x), x)
    return tuple(found.values())


def draw_unseen_program(space: Programs, seen: AbstractSet[Hashable], rng: np.random.Generator) -> Trace:
    """Draw a trace whose program was not seen; raises SpaceExhausted where there is none, or none is found.

    space: of programs.
    seen: keys of programs.
    rng: `numpy.random.Generator`.
    """
    if (x := draw_unseen(space, seen, rng)) is not None:
        return x
    if not can_list(space, MAX_LISTED_TRACES):
        raise SpaceExhausted(f"no unseen program in {DRAWS_UNSEEN} draws; {len(seen)} were seen")
    return draw_one_unseen(space, list_programs(space), seen, rng)


def draw_one_unseen(
    space: Programs, programs: Sequence[Trace], seen: AbstractSet[Hashable], rng: np.random.Generator
) -> Trace:
    """Draw one of the programs that were not seen, each equally likely; raises SpaceExhausted.

    space: of programs.
    programs: a trace of each of its programs.
    seen: keys of programs.
    rng: `numpy.random.Generator`.
    """
    left = [x for x in programs if space.key(x) not in seen]
    if not left:
        raise SpaceExhausted(f"all {len(programs)} programs of the space have been seen")
    return left[int(rng.integers(len(left)))]
