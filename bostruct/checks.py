"""Refusals in one wording: the argument, what is allowed, what was given."""

from __future__ import annotations

import importlib
import inspect
import itertools
import logging
import os
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from bostruct.contracts import Array, Batch, Domain, DomainError, MissingExtra, Point, PredicateError

Trait = TypeVar("Trait", bound=Domain)
Part = TypeVar("Part")
ROUNDING = 1e-13  # a spread that is a smaller share of the values than this is rounding
SMALLEST_SCALE = 1e-150  # whose square does not underflow
MEMORY_UNKNOWN = 2**33  # bytes, taken if the system does not say


def short_repr(value: object, limit: int = 80) -> str:
    """Return `repr` of a value in one line, cut if it grows too long for a message.

    value: anything.
    limit: the most characters.
    """
    try:
        text = repr(value)
    except Exception as error:  # an integer of more than 4,300 digits, an object with a faulty __repr__
        text = f"<{type(value).__name__} without a text: {error}>"
    if "\n" in text:  # arrays and frames have lines
        text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 3] + "..."


def check_integer(name: str, value: object, low: int, high: float = np.inf) -> int:
    """Return an integer in [low, high] as int; raise TypeError or ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name}: expected an integer, got {short_repr(value)}")
    if not low <= value <= high:
        allowed = f"at least {low}" if high == np.inf else f"between {low} and {high}"
        raise ValueError(f"{name}: expected {allowed}, got {short_repr(int(value))}")
    return int(value)


def check_draw(m: object, rng: object) -> None:
    """Raise TypeError or ValueError unless m is an integer from 0 and rng a numpy Generator.

    m: how many to draw, an int >= 0.
    """
    check_integer("m", m, 0)
    if not isinstance(rng, np.random.Generator):
        raise TypeError(
            "rng: expected a numpy.random.Generator, such as numpy.random.default_rng(0), got " + short_repr(rng)
        )


def check_number(
    name: str,
    value: object,
    low: float = -np.inf,
    high: float = np.inf,
    *,
    above: float = -np.inf,
    below: float = np.inf,
) -> float:
    """Return a finite number within bounds as float; raise TypeError or ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(f"{name}: expected a number, got {short_repr(value)}")
    number = _as_float(value)
    if not np.isfinite(number) or not low <= value <= high or not above < value < below:
        got = short_repr(value if isinstance(value, int) else number)
        raise ValueError(f"{name}: expected a finite number{_describe_interval(low, high, above, below)}, got {got}")
    return number


def _describe_interval(low: float, high: float, above: float, below: float) -> str:
    """Return the interval of what is allowed, empty if that is any number."""
    least, most = max(low, above), min(high, below)
    if least == -np.inf and most == np.inf:
        return ""
    opening, closing = "[" if low > above else "(", "]" if high < below else ")"
    return f" in {opening}{least}, {most}{closing}"


def _as_float(value: int | float | np.integer | np.floating) -> float:
    """Return a number as float, infinite if it is an integer beyond the largest one."""
    try:
        return float(value)
    except OverflowError:
        return np.inf


def check_choice(name: str, value: object, allowed: Any) -> Any:
    """Return a value that is allowed; raise ValueError for any other.

    name: of the argument, which opens the message.
    value: as given.
    allowed: collection of values.
    """
    if value not in allowed:
        raise ValueError(
            f"{name}: expected one of {', '.join(map(str, allowed))}; got "
            f"{short_repr(value)}{did_you_mean(value, allowed)}"
        )
    return value


def hide_addresses(text: str) -> str:
    """Return a text without the places of objects in memory, which change from process to process."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def did_you_mean(given: object, names: Iterable[object]) -> str:
    """Write the end of a refusal that asks for the name most like the one given; nothing if none is like it."""
    from difflib import get_close_matches

    known = {str(name).lower(): repr(name) if isinstance(name, str) else str(name) for name in names}
    close = get_close_matches((given if isinstance(given, str) else short_repr(given)).lower(), known, n=1)
    return f". Did you mean {known[close[0]]}?" if close else ""


def first_occurrences(domain: Domain, xs: Batch) -> list[int]:
    """Return the positions of the points that did not occur before, ascending."""
    positions = {key: position for position, key in reversed(list(enumerate(domain.keys(xs))))}
    return sorted(positions.values())


def check_part(
    name: str, part: object, base: type[Part], also: str = "", hint: str = "", error: type[TypeError] = TypeError
) -> Part:
    """Return a part that inherits from a base; raise TypeError, which names the base, for any other.

    name: of the argument, which opens the message.
    part: as given.
    base: an abstract base class.
    also: what else the argument may be, for the message, such as "a name or ".
    hint: what to do, which ends the message.
    error: its class.
    """
    if isinstance(part, base):
        return part
    packages = itertools.accumulate(base.__module__.split("."), "{}.{}".format)
    public = (package for package in packages if base.__name__ in dir(sys.modules[package]))
    home = next(public, base.__module__)
    got = type(part).__name__
    if isinstance(part, type):
        got = f"the class {part.__name__}"
    elif type(part) is not object and type(part).__module__ == "builtins":  # a text or a number, not its type
        got = hide_addresses(short_repr(part))
    raise error(f"{name}: expected {also}a {home}.{base.__name__} (subclass it), got {got}{hint}")


def require(found: Trait | None, domain: Domain, base: type[Trait], method: str, role: str = "") -> Trait:
    """Return the domain if it has a trait; raise DomainError, with the first words of the base's docstring, if not."""
    if found is not None:
        return found
    wide = name_wide(domain)
    lacking = "has none" if wide else f"is no bostruct.contracts.{base.__name__}"
    need = re.split(r"[.:]\s|\.$", base.__doc__ or base.__name__, maxsplit=1)[0]
    got = f"{type(domain).__name__}{wide}{role}, which {lacking}"
    raise DomainError(f"method: {method} needs {need[:1].lower() + need[1:]}, got {got}")


def list_wide(domain: Domain) -> list[str]:
    """List the names of a domain's variables that are no single choice."""
    return [name for name, one in domain.variables.items() if one.width != 1]


def name_wide(domain: Domain) -> str:
    """Name the first variable of a domain that is no single choice, for the message; "" for none."""
    wide = list_wide(domain)
    return f" with the {type(domain.variables[wide[0]]).__name__} {wide[0]!r}" if wide else ""


def count_own_frames() -> int:
    """Return the `stacklevel` with which the caller's warning points to the code that called the package."""
    frame, own = inspect.currentframe(), {__name__.partition(".")[0], "weakref", "contextlib"}  # which call back
    level = 0  # of this function, which the warning does not see
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in own:
        frame, level = frame.f_back, level + 1
    return level


def try_mutation(domain: Domain, x: Point, rng: np.random.Generator) -> Point | None:
    """Mutate a point; return None if bounds or constraints leave it no other. A predicate that fails goes through.

    rng: random number generator.
    """
    try:
        return domain.mutate(x, rng)
    except PredicateError:
        raise
    except DomainError:
        return None


def has_hardly_grown(counts: Sequence[int], before: Sequence[int], growth: float) -> bool:
    """Return whether none of some counts has fallen, or has grown by a share.

    growth: the share of each, at least 0; with 0 what was learned never serves again.
    """
    return all(0 <= now - then < growth * then for now, then in zip(counts, before, strict=True))


def has_spread(values: Array, rounding: float = ROUNDING) -> bool:
    """Return whether the standard deviation of values is more than rounding, so that it says something of their scale.

    values: (n,), n at least 1.
    rounding: the share of the largest absolute value up to which a standard deviation counts as none, >= 0.
    """
    with np.errstate(over="ignore"):
        return float(np.std(values)) > max(rounding * float(np.max(np.abs(values))), SMALLEST_SCALE)


def check_bool(name: str, value: object) -> bool:
    """Return True or False; raise TypeError for anything else."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {short_repr(value)}")
    return value


def check_answer(answer: object) -> bool:
    """Return the answer of a predicate as True or False; raise TypeError for what is neither, nor 1 or 0.

    A number may be a margin that its author wants to be at least 0, and None a forgotten return.
    """
    if isinstance(answer, bool | np.bool_) or (isinstance(answer, int) and answer in (0, 1)):
        return bool(answer)
    raise TypeError(f"expected True or False, got {short_repr(answer)}")


def add_note(error: BaseException, note: str, result: object = None) -> None:
    """Add a line to an error, and a result as `error.result`, unless it refuses them, as a frozen class does.

    result: of the call that the error ends; None for none. It takes the place of the result of a call inside that one.
        If the error has a `result` of its own, ours is `error.bostruct_result`, and the note says so.
    """
    with suppress(Exception):
        if result is not None:
            former = getattr(error, "result", None)
            is_ours = type(former).__module__.startswith("bostruct.")
            name = "result" if former is None or is_ours else "bostruct_result"
            setattr(error, name, result)
            note = note.replace("error.result", f"error.{name}").replace("value.result", f"value.{name}")
            notes = getattr(error, "__notes__", [])
            notes[:] = [one for one in notes if f"error.{name}" not in one]
        if note:
            error.add_note(note)


def install_command(extra: str = "") -> str:
    """Say how to install bostruct with an extra; from a checkout, since no package index has bostruct yet."""
    target = f"'.[{extra}]'" if extra else "."
    return f"pip install {target} in a checkout of bostruct"


def optional_import(module: str, extra: str | None = None) -> ModuleType:
    """Import a module that the core runs without; raises MissingExtra, which says how to get what is missing.

    module: dotted name; what it imports in turn may be missing, too.
    extra: the extra that brings it; None for torch and gpytorch, which a plain install brings.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing_package(error.name or module, extra) from error


def missing_package(module: str, extra: str | None = None) -> MissingExtra:
    """Make the exception for a module that is not installed."""
    if extra is None:
        package = module.partition(".")[0]
        return MissingExtra(f"{package} is not installed, and this part of bostruct needs it: pip install {package}")
    return MissingExtra(f"{module} is not installed; it comes with the extra {extra!r}: {install_command(extra)}")


def has_posix() -> bool:
    """Return whether this system has what study files and worker processes need, which Windows lacks."""
    try:
        importlib.import_module("fcntl")
    except ModuleNotFoundError:
        return False
    return True


def memory_size() -> int:
    """Return the bytes of memory that this process may use: those of the machine, or of its control group if fewer."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return MEMORY_UNKNOWN
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return min(found, int(file.read()))
    except (OSError, ValueError):  # no control group, or one without a limit
        return found


def load_by_name(name: str) -> Any:
    """Import what "package.module:name" names: a convenience whose module is of no use before it is called.

    Raises ImportError and AttributeError.

    Values offer such conveniences (a program its compilers, a result its picture) without importing what imports them.
    """
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)


def announce_compilation(function: Any, seconds: str) -> None:
    """Log that a function compiled by Numba is not in its cache yet: on a terminal as a warning, which is seen.

    function: of `numba.njit(cache=True)`, whose file has the others that are compiled with it.
    seconds: that it takes, in words.
    """
    home = Path(function.stats.cache_path)
    if not any(home.glob(f"{Path(inspect.getfile(function.py_func)).stem}.*.nbi")):
        level = logging.WARNING if sys.stderr.isatty() else logging.INFO
        logging.getLogger("bostruct").log(level, "compiling, once for this installation; it takes %s", seconds)
