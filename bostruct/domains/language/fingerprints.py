"""Write the contents of modules as JSON data that are equal in every process, without addresses or set orders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from itertools import chain
from types import BuiltinMethodType, CellType, CodeType, FunctionType, MethodType, ModuleType

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Json
from bostruct.domains.language.errors import LanguageError

ADDRESS = " at 0x"
WORKERS_MAIN = "__mp_main__"  # the name of a script's main module in the processes that it starts


def canonical_data(what: str, value: object) -> Json:
    """Return JSON data for a constant, equal for equal constants.

    Raises LanguageError if only its address distinguishes the constant from others.
    """
    if isinstance(value, np.generic):
        return canonical_data(what, value.item())
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_type_name(value), [canonical_data(what, part) for part in value]]
    if isinstance(value, set | frozenset):
        return [_type_name(value), sorted((canonical_data(what, part) for part in value), key=json.dumps)]
    if isinstance(value, dict):
        pairs = [[canonical_data(what, key), canonical_data(what, part)] for key, part in value.items()]
        return [_type_name(value), sorted(pairs, key=json.dumps)]
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return [_type_name(value), value.dtype.str, list(value.shape), value.tobytes().hex()]
    if is_dataclass(value) and not isinstance(value, type):
        return [_type_name(value), [canonical_data(what, getattr(value, field.name)) for field in fields(value)]]
    found = identity_of(value)
    if found == _type_name(value):  # neither a function nor a supported type
        found = [found, repr(value)]
        if type(value).__repr__ is object.__repr__ or ADDRESS in found[1]:
            raise LanguageError(
                f"{what}: expected a value with the same repr in every process, or a function of a module; "
                f"got {short_repr(value)}: give its class a __repr__ that describes its contents"
            )
    return found


def canonical_value(what: str, value: object, name: Json) -> Json:
    """Return JSON data for a value of a module, equal for equal values with equal names.

    name: the name by which the value was chosen, or a tuple that contains such names; None if it has none.

    Raises LanguageError if the value has no name and only its address distinguishes it from others.
    """
    if name is None:
        return canonical_data(what, value)
    try:
        known = canonical_data(what, value)
    except LanguageError:
        known = None
    return ["named", canonical_data(what, name), known]


def readable_data(what: str, value: object) -> Json:
    """Return a value itself if JSON supports it, otherwise its `canonical_data`; raises LanguageError."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        return json.loads(json.dumps(plain, allow_nan=False))
    except (TypeError, ValueError):
        return canonical_data(what, value)


def identity_of(thing: object, around: tuple[int, ...] = ()) -> Json:
    """Return JSON data that identify a function or an implementation.

    The data are its module, its name, and the strings, numbers and functions that it contains. Other objects may change
    and are represented only by their type; `traits_beyond_name` completes them.
    """
    if isinstance(thing, np.generic):
        return identity_of(thing.item())
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if id(thing) in around:
        return ["around", around.index(id(thing))]
    if isinstance(thing, Enum) and not isinstance(thing, tuple):
        return [_type_name(thing), thing.name]
    parts = _closure_parts(thing)
    if parts is None or is_dataclass(thing):
        if callable(thing) and isinstance(getattr(thing, "__name__", None), str):  # a class or a C function
            return _qualified_name(thing)
        if parts is None:
            return _type_name(thing)
    contents = [identity_of(part, (*around, id(thing))) for part in parts]
    if isinstance(thing, FunctionType):
        return [*_qualified_name(thing), contents]
    if isinstance(thing, MethodType):
        return contents
    return ["partial" if isinstance(thing, partial) else _type_name(thing), contents]


def traits_beyond_name(thing: object, around: tuple[int, ...] = ()) -> Iterator[str | None]:
    """Yield the data that `identity_of` omits: the code of functions with shared names, and None for unknown contents.

    Lambdas and nested functions share their names. The contents of a list, a dict or an object of a user's class are
    unknown, because they may change.
    """
    if thing is None or isinstance(thing, bool | int | float | str | Enum | np.generic) or id(thing) in around:
        return
    if isinstance(thing, FunctionType) and "<" in thing.__qualname__:
        yield hashlib.blake2b(repr(_code_data(thing.__code__)).encode(), digest_size=16).hexdigest()
    parts = _closure_parts(thing)
    if parts is None:
        if not _is_known_by_name(thing):
            yield None
        return
    for part in parts:
        yield from traits_beyond_name(part, (*around, id(thing)))


def identify_object(value: object) -> Hashable:
    """Return a key that two live objects share only if they are identical, or equal integers or strings."""
    return (type(value), value) if type(value) in (int, str) else id(value)


def identify_parts(thing: object) -> Hashable:
    """Return a key that two live implementations share only if they have the same type and contain the same objects.

    `identity_of` and `traits_beyond_name` are then equal for both.
    """
    if isinstance(thing, partial):
        return type(thing), len(thing.args), *map(identify_object, _closure_parts(thing) or ())
    if is_dataclass(thing) and not isinstance(thing, type) and type(thing).__dictoffset__:
        attributes = vars(thing)
        own = [identify_parts(part) if type(part) is partial else id(part) for part in attributes.values()]
        return type(thing), *attributes, *own
    return id(thing)


def traits_of_value(value: object) -> Iterator[str | None]:
    """Yield the `traits_beyond_name` of the functions in a constant, which `canonical_data` omits."""
    if isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from traits_of_value(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from traits_of_value(key)
            yield from traits_of_value(part)
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            yield from traits_of_value(getattr(value, field.name))
    elif isinstance(value, MethodType | partial) or isinstance(getattr(value, "__name__", None), str):
        yield from traits_beyond_name(value)  # for any other value, `canonical_data` is complete


def _closure_parts(thing: object) -> Iterable[object] | None:
    """Return the objects inside a thing that `identity_of` examines, or None if it examines none."""
    if isinstance(thing, FunctionType):
        return closure_values(thing)
    if isinstance(thing, partial):
        return [thing.func, *thing.args, *chain.from_iterable(sorted(thing.keywords.items()))]
    if isinstance(thing, MethodType):
        return [thing.__func__, thing.__self__]
    if isinstance(thing, tuple):
        return thing
    if is_dataclass(thing) and not isinstance(thing, type):
        return [getattr(thing, field.name) for field in fields(thing)]
    return None


def _is_known_by_name(thing: object) -> bool:
    """Return whether module and name identify a thing: a class, a C function, or an object without contents."""
    if isinstance(thing, BuiltinMethodType) and not isinstance(thing.__self__, ModuleType | type | None):
        return False
    if callable(thing) and isinstance(getattr(thing, "__name__", None), str):
        return "<" not in _qualified_name(thing)[1]
    kind: type = type(thing)
    return kind.__mro__[1:] == (object,) and getattr(thing, "__dict__", None) == {} and "<" not in kind.__qualname__


def _code_data(code: CodeType) -> tuple[object, ...]:
    """Return the code of a function without file names and line numbers."""
    constants = tuple(map(_constant_data, code.co_consts))
    return code.co_code, code.co_names, code.co_freevars, code.co_varnames, constants


def _constant_data(value: object) -> object:
    if isinstance(value, CodeType):
        return _code_data(value)
    return (
        sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
    )  # the order of a set differs between processes


def _type_name(thing: object) -> str:
    return ".".join(_qualified_name(type(thing)))


def _qualified_name(thing: Callable[..., object]) -> list[str]:
    module = getattr(thing, "__module__", None) or ""
    return ["__main__" if module == WORKERS_MAIN else module, getattr(thing, "__qualname__", thing.__name__)]


def closure_values(function: FunctionType) -> list[object]:
    """Return the values of a function's closure, then its positional and keyword defaults."""
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    return [*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]


def _is_filled(cell: CellType) -> bool:
    """Return whether a closure cell has a value."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
