"""Describe a program without building it: its choices as coordinates, and bags of hashed tokens.

Tokens are 63-bit BLAKE2 digests of text, equal in every process. The tokens of a program are the types of its modules,
the types at both ends of its edges within a part, and each choice twice, by its path and by the type and local name of
its module (Negrinho et al. 2019, section 7.2, whose names contained counters of creation order).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

from bostruct.contracts import Choice, token
from bostruct.domains.language.build import MAX_EXPANSIONS
from bostruct.domains.language.fingerprints import identify_object, identify_parts
from bostruct.domains.language.graph import Discrete, Fragment
from bostruct.domains.language.hyperparameters import read_order
from bostruct.domains.language.sampling import module_ancestors
from bostruct.domains.language.values import Value
from bostruct.domains.language.walk import Walk

CACHE_SIZE = 4_096
FEWEST_COMPARED = 10  # parts that no choice needed: fewer are built in less time than equal ones are found
INSTANCE_NUMBER = re.compile(r"-\d+(?=$|\.)")

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


class LRUCache(Generic[Key, Found]):
    """A cache of the results for the most recently used keys."""

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
        """Store a result; beyond 4096 results, evict the least recently used."""
        if len(self._known) >= CACHE_SIZE:
            del self._known[next(iter(self._known))]
        self._known[key] = found


@lru_cache(maxsize=100_000)
def choice_kind(path: str) -> str:
    """Return ``Conv2D.filters`` for ``SISORepeat-0/Conv2D-3.filters``; a user's name is returned unchanged."""
    return INSTANCE_NUMBER.sub("", path.rpartition("/")[2])


def coordinates(walk: Walk) -> tuple[Choice, ...]:
    """Return the choices of a walk, in order."""
    pairs = zip(walk.chosen, walk.values.values(), strict=True)
    return tuple(coordinate_of(h, h.positions[v], read_order(h, walk.values) if h.things else None) for h, v in pairs)


def coordinate_of(h: Discrete, position: int, order: tuple[int, ...] | None = None) -> Choice:
    """Return a choice as a coordinate."""
    return Choice(h.path, choice_kind(h.path), position, len(h.values), h.ordered, order)


def tokens(walk: Walk) -> npt.NDArray[np.int64]:
    """Return the tokens of the parts and choices of a finished walk, with repetitions (t,)."""
    are_few = len(walk.unbuilt()) < FEWEST_COMPARED
    parts = [*map(_part_tokens, walk.fragments(build=are_few)), *_unbuilt_tokens(walk)]
    chosen = map(_choice_tokens, walk.values.keys(), walk.values.values())
    return np.frombuffer(b"".join((*parts, *chosen)), dtype=np.int64)


@lru_cache(maxsize=200_000, typed=True)
def _choice_tokens(path: str, value: Value) -> bytes:
    return _digests([f"{path} = {value!r}", f"{choice_kind(path)} = {value!r}"])


def count_modules(walk: Walk) -> tuple[int, int]:
    """Count all modules of a finished walk, and those in parts that other programs probably do not share.

    A part is shared if its module has few possible values and lies in a shared part.
    """
    total = unshared = 0
    is_shared: dict[Fragment, bool] = {}
    for fragment in sorted(walk.fragments(), key=lambda one: one.depth):
        host = fragment.host
        is_shared[fragment] = host is None or (
            is_shared[host.fragment] and math.prod(len(h.values) for h in module_ancestors(host)) <= MAX_EXPANSIONS
        )
        total += len(fragment.modules)
        unshared += 0 if is_shared[fragment] else len(fragment.modules)
    return total, unshared


def _unbuilt_tokens(walk: Walk) -> Iterator[bytes]:
    """Yield the tokens of the parts that no choice needed; of equal parts, only the first is built."""
    known: dict[Hashable, bytes] = {}
    for module in walk.unbuilt():
        function = module.substitution.fn  # type: ignore[union-attr]
        values = (*module.constants.values(), *map(walk.value, module.hyperparameters.values()))
        key = identify_parts(function), *module.constants, *module.hyperparameters, *map(identify_object, values)
        if key not in known:
            known[key] = _part_tokens(walk.expansion(module))  # type: ignore[arg-type]
        yield known[key]


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
    """Return digests in the memory layout of an array; joining bytes is several times as fast as joining arrays."""
    return np.array([*map(_recurring_token, texts)], dtype=np.int64).tobytes()


_recurring_token = lru_cache(maxsize=10_000)(token)  # programs have the same types of modules and edges
