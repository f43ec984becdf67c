"""Limit the calls of predicates that one suggestion may make, in all its parts together.

The limit belongs to the running context, as with `decimal.localcontext`: a suggestion passes through the searcher, the
maximizer and the parts of a joint domain, none of which depends on whether a space has predicates. The outcome depends
only on the calls of the suggestion, never on earlier calls, so that a resumed study equals an uninterrupted study.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

MAX_CALLS = 300_000
RESERVED_CALLS = 30_000  # for the one unseen point that every suggestion can fall back on


@dataclass(eq=False)
class CallLimit:
    """The number of calls of predicates that may still be made.

    left: number of calls.
    """

    left: float = math.inf
    reserved: float = 0
    charged: list[Any] = field(default_factory=list)

    @property
    def is_reached(self) -> bool:
        """True if the search in progress may call no predicate anymore."""
        return self.left <= self.reserved


UNLIMITED = CallLimit()
_current: ContextVar[CallLimit] = ContextVar("call_limit", default=UNLIMITED)


def call_limit() -> CallLimit:
    """Return the limit of the running context, an infinite one if none was set."""
    return _current.get()


@contextmanager
def limit_calls(most: float = MAX_CALLS, reserved: float = RESERVED_CALLS) -> Iterator[CallLimit]:
    """Set a new limit for the block, instead of an enclosing limit.

    most: number of calls of predicates.
    """
    limit = CallLimit(most, reserved)
    token = _current.set(limit)
    try:
        yield limit
    finally:
        _current.reset(token)


@contextmanager
def limit_search() -> Iterator[CallLimit]:
    """Let the block use two thirds of the calls that are left, under a new limit if there is none."""
    if call_limit() is UNLIMITED:
        with limit_calls(), limit_search() as limit:
            yield limit
        return
    limit, before = call_limit(), call_limit().reserved
    limit.reserved += max(0.0, (limit.left - before) // 3)
    try:
        yield limit
    finally:
        limit.reserved = before


@contextmanager
def release_calls() -> Iterator[CallLimit]:
    """Let the block use the reserved calls too, under a new limit if there is none."""
    if call_limit() is UNLIMITED:
        with limit_calls(reserved=0) as limit:
            yield limit
        return
    limit, before = call_limit(), call_limit().reserved
    limit.reserved = 0
    try:
        yield limit
    finally:
        limit.reserved = before


def charge_once(domain: Any, calls: int) -> None:
    """Subtract the calls of a survey of a domain, once for each limit, whether it was made now or long before."""
    limit = call_limit()
    if not any(domain is one for one in limit.charged):
        limit.charged.append(domain)
        limit.left -= calls
