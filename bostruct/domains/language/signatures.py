"""When two substitution modules are written alike: they would build the same, whatever is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from types import FunctionType, MethodType
from typing import Any

from bostruct.domains.language.hyperparameters import DependentHyperparameter, Discrete, Value
from bostruct.domains.language.modules import Module
from bostruct.domains.language.walk import MISSING


class ById:
    """An object that equals itself alone, kept alive so that its identity is not given to another."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ById) and other.held is self.held

    def __hash__(self) -> int:
        return id(self.held)


def signature(module: Module, free: tuple[Discrete, ...], values: Mapping[str, Value]) -> Any:
    """Equal for modules that are built by the same code from equal things.

    free: its own hyperparameters without a value: only their possible values matter, unless its functions see them too.
    """
    if module.substitution is None:
        raise TypeError(f"expected a substitution module, got {module}")
    places = {h: i for i, h in enumerate(free)}
    own = tuple((name, _of(h, places, values, ())) for name, h in module.hyperparameters.items())
    code = _of(module.substitution.fn, {}, values, ())
    return own, tuple(h.values for h in free), code, tuple(module.inputs), tuple(module.outputs)


def _of(thing: Any, places: Mapping[Any, int], values: Mapping[str, Value], inside: tuple[Any, ...]) -> Any:
    if isinstance(thing, Discrete):
        if thing in places:
            return places[thing]
        return ById(thing), values.get(thing.path, MISSING)
    if isinstance(thing, DependentHyperparameter):
        return tuple((name, _of(h, places, values, inside)) for name, h in thing.parents.items()), ById(thing)
    if any(thing is one for one in inside):  # a function that calls itself
        return inside.index(thing), "recursion"
    if isinstance(thing, FunctionType):
        deeper = (*inside, thing)
        cells = [cell.cell_contents for cell in thing.__closure__ or () if _is_filled(cell)]
        parts = [*cells, *(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
        return ById(thing.__code__), tuple(_of(part, places, values, deeper) for part in parts)
    if isinstance(thing, MethodType):
        return ById(thing.__self__), ById(thing.__func__)
    if isinstance(thing, list | tuple):
        return type(thing), tuple(_of(part, places, values, (*inside, thing)) for part in thing)
    if isinstance(thing, dict):
        pairs = ((_of(k, places, values, inside), _of(v, places, values, (*inside, thing))) for k, v in thing.items())
        return dict, tuple(pairs)
    if thing is None or isinstance(thing, bool | int | float | str):
        return type(thing), thing
    return ById(thing)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not MISSING
    except ValueError:  # a name that is not bound yet
        return False
