"""Tell when two substitution modules are written alike: they would build the same, whatever is chosen."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from bostruct.domains.language.fingerprints import closure_values
from bostruct.domains.language.graph import DependentHyperparameter, Discrete, Module
from bostruct.domains.language.values import Value, targets_of
from bostruct.domains.language.walk import MISSING


class IdentityKey:
    """An object that equals itself alone, kept alive so that its identity is not given to another.

    held: any object.
    """

    __slots__ = ("target",)

    def __init__(self, held: object) -> None:
        self.target = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other.target is self.target

    def __hash__(self) -> int:
        return id(self.target)


def signature(module: Module, free: tuple[Discrete, ...], values: Mapping[str, Value]) -> Hashable:
    """Return a key that is equal for modules built by the same code from equal things.

    module: substitution module.
    free: its own hyperparameters without a value: only their possible values matter, unless its functions see them too.
    values: place -> value of those that have one.
    """
    if module.substitution is None:
        raise TypeError(f"expected a substitution module, got {module}")
    reader = _SignatureReader({h: i for i, h in enumerate(free)}, values)
    own = tuple((name, reader.of(h)) for name, h in module.hyperparameters.items())
    code = _SignatureReader({}, values).of(module.substitution.fn)
    return own, tuple(map(_values_key, free)), code, tuple(module.inputs), tuple(module.outputs)


def _values_key(h: Discrete) -> Hashable:
    """Return a key for the possible values; names of functions are equal only where the functions are."""
    return (h.values, tuple(IdentityKey(part) for part in targets_of(h.values))) if h.is_named else h.values


class _SignatureReader:
    """A reader of what functions hold.

    What is met again, such as a function that calls itself, is named by when it was.
    """

    def __init__(self, places: Mapping[Discrete, int], values: Mapping[str, Value]) -> None:
        self.places = places
        self.values = values
        self.met: dict[int, int] = {}

    def of(self, thing: object) -> Hashable:
        if isinstance(thing, Discrete):
            if thing in self.places:
                return self.places[thing]
            return IdentityKey(thing), self.values.get(thing.path, MISSING)
        if (plain := _plain_key(thing)) is not None:
            return plain
        if not isinstance(thing, DependentHyperparameter | FunctionType | partial | list | tuple | dict):
            return (
                (IdentityKey(thing.__self__), IdentityKey(thing.__func__))
                if isinstance(thing, MethodType)
                else IdentityKey(thing)
            )
        if (before := self.met.get(id(thing))) is not None:
            return before, "again"
        self.met[id(thing)] = len(self.met)
        if isinstance(thing, DependentHyperparameter):
            return tuple((name, self.of(h)) for name, h in thing.parents.items()), IdentityKey(thing)
        if isinstance(thing, FunctionType):
            return IdentityKey(thing.__code__), tuple(map(self.of, closure_values(thing)))
        if isinstance(thing, partial):
            return partial, self.of(thing.func), tuple(map(self.of, thing.args)), self.of(thing.keywords)
        if isinstance(thing, dict):
            return dict, tuple((self.of(key), self.of(value)) for key, value in thing.items())
        return type(thing), tuple(map(self.of, thing))


def _plain_key(thing: Any) -> Hashable:
    """Return a key for a value, or a tuple or frozenset of such, equal for equal ones; None for all else."""
    if thing is None or isinstance(thing, bool | int | float | str):
        return type(thing), thing
    if type(thing) not in (tuple, frozenset):
        return None
    parts = [_plain_key(part) for part in thing]
    return None if None in parts else (type(thing), type(thing)(parts))
