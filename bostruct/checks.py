"""Checks of arguments, whose errors have one form: the argument, what is allowed, what was given."""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from bostruct.contracts import Array, Batch, Domain, DomainError, MissingExtra, Point, PredicateError

Trait = TypeVar("Trait", bound=Domain)
Part = TypeVar("Part")
ROUNDING = 1e-13  # relative to the values: a smaller spread is a rounding error
SMALLEST_SCALE = 1e-150  # its square does not underflow
MOST_CHOICES = 30  # allowed values in a message
MEMORY_UNKNOWN = 2**33  # bytes, assumed if the system does not report its memory


def short_repr(value: object, limit: int = 80) -> str:
    """Return `repr` of a value in one line, cut to the maximum length of a message.

    value: any object.
    limit: maximum number of characters.
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


def check_objective(objective: object, n_objectives: int) -> int:
    """Return the position of an objective, from 0; raise TypeError or ValueError if there is none there."""
    if check_integer("objective", objective, 0) > 0 and n_objectives == 1:
        raise ValueError(f"objective: expected 0, because there is one objective, got {objective}")
    return check_integer("objective", objective, 0, n_objectives - 1)


def check_draw(m: object, rng: object) -> None:
    """Raise TypeError or ValueError unless m is an integer from 0 and rng a numpy Generator.

    m: number of points to sample, an int >= 0.
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
    try:
        number = float(value)
    except OverflowError:  # an integer beyond the largest float
        number = np.inf
    if not np.isfinite(number) or not low <= value <= high or not above < value < below:
        got = short_repr(value if isinstance(value, int) else number)
        raise ValueError(f"{name}: expected a finite number{_describe_interval(low, high, above, below)}, got {got}")
    return number


def _describe_interval(low: float, high: float, above: float, below: float) -> str:
    """Return the allowed interval, as the end of a phrase; "" if any number is allowed."""
    least, most = max(low, above), min(high, below)
    if most == np.inf:
        return "" if least == -np.inf else f" {'of at least' if low > above else 'above'} {least}".removesuffix(".0")
    if least == -np.inf:
        return f" {'of at most' if high < below else 'below'} {most}".removesuffix(".0")
    opening, closing = "[" if low > above else "(", "]" if high < below else ")"
    return f" in {opening}{least}, {most}{closing}"


def check_choice(name: str, value: object, allowed: Any) -> Any:
    """Return an allowed value; raise ValueError for any other.

    name: name of the argument, which starts the message.
    value: the given value.
    allowed: collection of the allowed values.
    """
    if value not in allowed:
        raise ValueError(
            f"{name}: expected one of {list_first(allowed, MOST_CHOICES)}; got {short_repr(value)}"
            f"{did_you_mean(value, allowed)}"
        )
    return value


def list_first(names: Collection[object], most: int) -> str:
    """Return the first names, at most `most`, separated by commas, and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(map(str, itertools.islice(names, most)))}{more}"


def hide_addresses(text: str) -> str:
    """Return a text without memory addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-fA-F]+", "", text)


def did_you_mean(given: object, names: Iterable[object]) -> str:
    """Return the end of an error message that suggests the most similar name; "" if no name is similar."""
    from difflib import get_close_matches

    known = {str(name).lower(): repr(name) if isinstance(name, str) else str(name) for name in names}
    close = get_close_matches((given if isinstance(given, str) else short_repr(given)).lower(), known, n=1)
    return f". Did you mean {known[close[0]]}?" if close else ""


def first_occurrences(domain: Domain, xs: Batch) -> list[int]:
    """Return the positions of points without an equal earlier point, ascending."""
    positions = {key: position for position, key in reversed(list(enumerate(domain.keys(xs))))}
    return sorted(positions.values())


def check_part(
    name: str, part: object, base: type[Part], also: str = "", hint: str = "", error: type[TypeError] = TypeError
) -> Part:
    """Return a part that inherits from a base; raise TypeError, which names the base, for any other.

    name: name of the argument, which starts the message.
    part: the given object.
    base: an abstract base class.
    also: other allowed arguments, for the message, such as "a name or ".
    hint: advice, which ends the message.
    error: class of the error.
    """
    if isinstance(part, base):
        return part
    packages = itertools.accumulate(base.__module__.split("."), "{}.{}".format)
    public = (package for package in packages if base.__name__ in dir(sys.modules[package]))
    home = next(public, base.__module__)
    got = type(part).__name__
    if isinstance(part, type):
        got = f"the class {part.__name__}"
    elif type(part) is not object and type(part).__module__ == "builtins":  # show a string or number, not its type
        got = hide_addresses(short_repr(part))
    raise error(f"{name}: expected {also}a {home}.{base.__name__} (subclass it), got {got}{hint}")


def require(found: Trait | None, domain: Domain, base: type[Trait], method: str, role: str = "") -> Trait:
    """Return a domain with a trait; otherwise raise DomainError, with the first words of the base's docstring."""
    if found is not None:
        return found
    wide = name_wide(domain)
    lacking = "is not one choice" if wide else f"is no bostruct.contracts.{base.__name__}"
    need = re.split(r"[.:]\s|\.$", base.__doc__ or base.__name__, maxsplit=1)[0]
    got = f"{type(domain).__name__}{wide}{role}, which {lacking}"
    raise DomainError(f"method: {method} needs {need[:1].lower() + need[1:]}, got {got}")


def list_wide(domain: Domain) -> list[str]:
    """List the names of a domain's multi-column variables."""
    return [name for name, one in domain.variables.items() if one.width != 1]


def name_wide(domain: Domain) -> str:
    """Name the first multi-column variable of a domain, for a message; "" if there is none."""
    wide = list_wide(domain)
    return f" with the {type(domain.variables[wide[0]]).__name__} {wide[0]!r}" if wide else ""


def count_own_frames() -> int:
    """Return the `stacklevel` with which the caller's warning points to the code that called the package."""
    frame, own = inspect.currentframe(), {__name__.partition(".")[0], "weakref", "contextlib"}  # the last two call back
    level = 0  # for this function, whose frame the warning does not count
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in own:
        frame, level = frame.f_back, level + 1
    return level


def try_mutation(domain: Domain, x: Point, rng: np.random.Generator) -> Point | None:
    """Mutate a point; return None if bounds or constraints allow no other, raise PredicateError if a predicate fails.

    rng: random number generator.
    """
    try:
        return domain.mutate(x, rng)
    except PredicateError:
        raise
    except DomainError:
        return None


def has_hardly_grown(counts: Sequence[int], before: Sequence[int], growth: float) -> bool:
    """Return whether no count has decreased, or has increased by a given share or more.

    growth: the share of the earlier count, at least 0; with 0, the result is False.
    """
    return all(0 <= now - then < growth * then for now, then in zip(counts, before, strict=True))


def has_spread(values: Array, rounding: float = ROUNDING) -> bool:
    """Return whether the standard deviation of values exceeds rounding errors, and thus measures their scale.

    values: (n,), n at least 1.
    rounding: largest standard deviation that counts as zero, relative to the largest absolute value, >= 0.
    """
    with np.errstate(over="ignore"):
        return float(np.std(values)) > max(rounding * float(np.max(np.abs(values))), SMALLEST_SCALE)


def check_bool(name: str, value: object) -> bool:
    """Return True or False; raise TypeError for anything else."""
    if not isinstance(value, bool):
        raise TypeError(f"{name}: expected True or False, got {short_repr(value)}")
    return value


def check_answer(answer: object) -> bool:
    """Return the answer of a predicate as a bool; raise TypeError unless it is True, False, 1 or 0.

    Another number may be a margin that its author requires to be at least 0, and None a forgotten return.
    """
    if isinstance(answer, bool | np.bool_) or (isinstance(answer, int) and answer in (0, 1)):
        return bool(answer)
    raise TypeError(f"expected True or False, got {short_repr(answer)}")


def add_note(error: BaseException, note: str, result: object = None) -> None:
    """Add a note to an error, and a result as `error.result`, unless the error rejects them, as a frozen class does.

    result: result of the call that the error ends; None for none. It replaces the result of an inner call. If the error
        already has another `result`, ours is `error.bostruct_result`, and the note uses that name.
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
    """Return the command that installs bostruct with an extra from a checkout; no package index has bostruct yet."""
    target = f"'.[{extra}]'" if extra else "."
    return f"pip install {target} in a checkout of bostruct"


def optional_import(module: str, extra: str | None = None) -> ModuleType:
    """Import an optional module; raise MissingExtra, with the command that installs the missing module.

    module: dotted name; modules that it imports may also be missing.
    extra: the extra that installs it; None for torch and gpytorch, which a plain installation has.
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
    """Return whether this system supports study files and worker processes, which Windows does not."""
    try:
        importlib.import_module("fcntl")
    except ModuleNotFoundError:
        return False
    return True


def memory_size() -> int:
    """Return the bytes of memory that this process may use: of the machine, or of its control group if smaller."""
    try:
        found = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows
        return MEMORY_UNKNOWN
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as file:
            return min(found, int(file.read()))
    except (OSError, ValueError):  # no control group, or no limit
        return found


def load_by_name(name: str) -> Any:
    """Import an object by its name "package.module:name", for a convenience method that needs it only when called.

    Raises ImportError and AttributeError.

    Such methods (compilers of a program, plots of a result) would otherwise need cyclic imports.
    """
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)
