"""Parts from other packages: by an entry point of an installed package, or as `module:name`.

No part is imported, and no entry point is read, before a name is looked up that bostruct itself does not have.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from bostruct.checks import did_you_mean, short_repr

METHODS, DOMAINS, PROBLEMS = (f"bostruct.{kind}" for kind in ("methods", "domains", "problems"))
REFERENCE = re.compile(r"(?P<module>[^:=]+):(?P<name>[^\W\d]\w*(\.[^\W\d]\w*)*)")
MOST_LISTED = 10  # names of a module, in a message


def is_reference(text: object) -> bool:
    """Return whether a text has the form `module:name`, or `file.py:name`."""
    return isinstance(text, str) and REFERENCE.fullmatch(text) is not None


def import_reference(argument: str, reference: str) -> Any:
    """Import the object `module:name`, from the current directory and the path, as ``python -m`` does.

    Raises ValueError, with the module, the name and what was found, or the error in the module.
    """
    found = REFERENCE.fullmatch(reference)
    if found is None:
        raise ValueError(f"{argument}: expected module:name, got {short_repr(reference)}")
    value: Any = _import_module(argument, found["module"])
    for name in found["name"].split("."):
        try:
            value = getattr(value, name)
        except AttributeError:
            public = [one for one in getattr(value, "__dict__", ()) if not one.startswith("_")]
            listed = ", ".join(public[:MOST_LISTED]) + (", ..." if len(public) > MOST_LISTED else "")
            raise ValueError(
                f"{argument}: {reference}: {_describe_value(value)} has no {name!r}; it has {listed or 'no names'}"
                f"{did_you_mean(name, public)}"
            ) from None
    return value


def _describe_value(value: object) -> str:
    if isinstance(value, ModuleType):
        return f"the module {value.__name__} ({getattr(value, '__file__', None) or 'built in'})"
    return short_repr(value)


def _import_module(argument: str, given: str) -> ModuleType:
    file = Path(given) if given.endswith(".py") else None
    if file is not None and not file.is_file():
        raise ValueError(f"{argument}: {given}: there is no such file")
    folder, name = (os.getcwd(), given) if file is None else (str(file.resolve().parent), file.stem)
    if folder not in sys.path:
        sys.path.insert(0, folder)  # permanently: later imports of the module, and worker processes, need it, too
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise ValueError(f"{argument}: importing {given} failed: {explain(error)}") from error
        missing = f"there is no module {error.name!r}, neither in {folder} nor on Python's path"
        raise ValueError(f"{argument}: {missing}") from error
    except Exception as error:
        raise ValueError(f"{argument}: importing {given} failed: {explain(error)}") from error
    path = getattr(module, "__file__", None)
    if file is not None and (path is None or Path(path).resolve() != file.resolve()):
        found = f"the module {name!r} is {path or 'built in'}; give the file another name"
        raise ValueError(f"{argument}: {given}: {found}")
    return module


def explain(error: BaseException) -> str:
    """Return an exception as text: its class, its message, and the line of code that raised it."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    own = [frame for frame in frames if Path(frame.filename) != Path(__file__)]
    where = f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{where}"


def list_plugins(group: str, taken: Iterable[str] = ()) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, in alphabetical order; none is loaded."""
    found = sorted(entry_points(group=group), key=lambda one: (one.name, one.value))
    return {one.name: one for one in reversed(found) if one.name not in taken} if found else {}


def list_loadable(group: str, taken: Iterable[str] = ()) -> list[str]:
    """Load the entry points of a group, and return the names of those that load, for a message."""
    return [name for name, point in list_plugins(group, taken).items() if _is_loadable(point)]


def _is_loadable(point: EntryPoint) -> bool:
    try:
        load_plugin("", point)
    except ValueError:
        return False
    return True


def explain_taken(group: str, taken: Iterable[str]) -> dict[str, str]:
    """Return the reasons why entry points with names of bostruct itself are left out, by name."""
    found = sorted((one for one in entry_points(group=group) if one.name in taken), key=lambda one: one.name)
    return {one.name: f"{describe_plugin(one)} has a name of bostruct itself; give it another name" for one in found}


def load_plugin(argument: str, point: EntryPoint) -> Any:
    """Load an entry point; raise ValueError, with its name and package, if that fails."""
    try:
        return point.load()
    except Exception as error:
        raise ValueError(f"{argument}: {describe_plugin(point)} cannot be loaded: {explain(error)}") from error


def describe_plugin(point: EntryPoint) -> str:
    """Return the name, the group and the package of an entry point, for a message."""
    package = "an unknown package" if point.dist is None else f"the package {point.dist.name} {point.dist.version}"
    return f"{point.name!r} ({point.value}, of the group {point.group} of {package})"
