"""Describe a program to searchers without building it: its choices as coordinates, and bags of hashed tokens.

Tokens are the same in every process: 63-bit BLAKE2 digests of text. Of a program they are the kinds of its modules, the
kinds at both ends of its edges within a part, and each choice twice, by its place and by the kind and local name of the
module that has it (Negrinho et al. 2019, section 7.2, whose names carried counters of creation order).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Choice, token
from bostruct.domains.language.build import MAX_EXPANSIONS
from bostruct.domains.language.graph import Discrete, Fragment
from bostruct.domains.language.hyperparameters import read_order
from bostruct.domains.language.sampling import module_ancestors
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk

CACHE_SIZE = 4_096
INSTANCE_NUMBER = re.compile(r"-\d+(?=$|\.)")

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


class LRUCache(Generic[Key, Found]):
    """A cache of results for the keys last asked for."""

    def __init__(self, find: Callable[[Key], Found]) -> None:
        self._find = find
        self._known: dict[Key, Found] = {}

    def __call__(self, key: Key) -> Found:
        found = self._known.pop(key, None)
        if found is None:
            found = self._find(key)
        self.add(key, found)
        return found

    def add(self, key: Key, found: Found) -> None:
        """Store a known result; beyond 4096, drop the one asked for longest ago."""
        if len(self._known) >= CACHE_SIZE:
            del self._known[next(iter(self._known))]
        self._known[key] = found


@lru_cache(maxsize=100_000)
def choice_kind(path: str) -> str:
    """Return ``Conv2D.filters`` for ``SISORepeat-0/Conv2D-3.filters``; a name that the user gave is its own kind."""
    return INSTANCE_NUMBER.sub("", path.rpartition("/")[2])


def coordinates(walk: Walk) -> tuple[Choice, ...]:
    """Return the choices of a walk, in order."""
    pairs = zip(walk.chosen, walk.values.values(), strict=True)
    return tuple(coordinate_of(h, h.positions[v], read_order(h, walk.values) if h.things else None) for h, v in pairs)


def coordinate_of(h: Discrete, position: int, order: tuple[int, ...] | None = None) -> Choice:
    """Return a choice as a coordinate."""
    return Choice(h.path, choice_kind(h.path), position, len(h.values), h.ordered, order)


def tokens(walk: Walk) -> npt.NDArray[np.int64]:
    """Return the tokens of the parts and choices of a finished walk, repeated as often as they occur (t,).

    Tokens are hashes of 63 bits, the same in every process.
    """
    parts = map(_part_tokens, walk.fragments())
    chosen = map(_choice_tokens, walk.values.keys(), walk.values.values())
    return np.frombuffer(b"".join((*parts, *chosen)), dtype=np.int64)


@lru_cache(maxsize=200_000, typed=True)
def _choice_tokens(path: str, value: Value) -> bytes:
    return _digests([f"{path} = {value!r}", f"{choice_kind(path)} = {value!r}"])


def count_modules(walk: Walk) -> tuple[int, int]:
    """Count the modules of a finished walk: all of them, and those in parts that no other program is likely to share.

    Parts are shared if their module can have few values, and lies in a part that is shared itself.
    """
    every = anew = 0
    is_shared: dict[Fragment, bool] = {}
    for fragment in sorted(walk.fragments(), key=lambda one: one.depth):
        host = fragment.host
        is_shared[fragment] = host is None or (
            is_shared[host.fragment] and math.prod(len(h.values) for h in module_ancestors(host)) <= MAX_EXPANSIONS
        )
        every += len(fragment.modules)
        anew += 0 if is_shared[fragment] else len(fragment.modules)
    return every, anew


def _part_tokens(fragment: Fragment) -> bytes:
    if fragment.tokens is None:
        kinds = [module.kind for module in fragment.modules if module.substitution is None]
        edges = [
            f"{port.source.module.kind}.{port.source.name} -> {module.kind}.{port.name}"
            for module in fragment.modules
            for port in module.inputs.values()
            if port.source is not None
        ]
        fragment.tokens = _digests([*kinds, *edges])
    return fragment.tokens


def _digests(texts: list[str]) -> bytes:
    """Return digests as arrays have them in memory: joined several times as fast as arrays are."""
    return np.array([*map(token, texts)], dtype=np.int64).tobytes()
