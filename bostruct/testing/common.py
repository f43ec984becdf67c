"""Helpers of all laws: messages, copies of batches, and failing global generators."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import linecache
import random
import sys
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar
from unittest.mock import patch

import numpy as np
import sklearn.ensemble  # noqa: F401  importing it, or SciPy, draws from the global generator

from bostruct.checks import short_repr
from bostruct.contracts import Array, Batch, BostructError, Domain, Json, Point, SpaceExhausted

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")

NOT_DRAWS = {"RandomState", "Generator", "BitGenerator", "SeedSequence", "default_rng", "get_state", "set_state"}
# errors of a part that violates its contract, and of a law that receives values of another form
FORM_ERRORS = (TypeError, AttributeError, LookupError, ValueError, ArithmeticError, BostructError)


class SingleChangesPair(NamedTuple):
    """The same points twice: `changes` is a batch of neighborhoods as the domain lists them, `rows` a plain batch."""

    changes: Batch
    rows: Batch


def is_raised(error: type[Exception], step: Callable[[], object]) -> bool:
    """Return whether a step raises an error of a type; other errors propagate."""
    try:
        step()
    except error:
        return True
    return False


def read_back(data: Json) -> Json:
    """Return the JSON round trip of data; raise AssertionError if JSON does not support them."""
    try:
        return json.loads(json.dumps(data, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise AssertionError(f"stored data are plain JSON: {error}, got {short_repr(data)}") from error


def copy_batch(domain: Domain, xs: Batch) -> Batch:
    """Return an equal batch of new objects: the points, decoded from JSON."""
    return domain.join([domain.decode(read_back(domain.encode(x))) for x in xs])


def sample_changes(domain: Domain, xs: Batch, most: int, rng: np.random.Generator) -> SingleChangesPair | None:
    """Return neighbors of points as their domain lists them, and as a plain batch; None if a domain lists none.

    most: maximum number of neighbors of each point, at least 1.
    rng: random number generator.
    """
    local = domain.traits.local
    if local is None or not local.lists_many:
        return None
    near = local.sample_neighborhoods(xs, most, rng)[0]
    return SingleChangesPair(near, copy_batch(domain, near)) if len(near) else None


def assert_close(found: Any, expected: Any, tolerance: float, law: str) -> None:
    """Raise AssertionError, with the law and the differences, unless two arrays are equal up to rounding.

    tolerance: the largest absolute difference.
    """
    assert np.shape(found) == np.shape(expected), f"{law}: expected shape {np.shape(expected)}, got {np.shape(found)}"
    ours, theirs = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        is_close = (ours == theirs) | (np.abs(ours - theirs) <= tolerance) | (np.isnan(ours) & np.isnan(theirs))
    if is_close.all():
        return
    place = tuple(int(i) for i in np.argwhere(~is_close)[0])
    position = f" at {place}, the first of {int((~is_close).sum())} numbers that differ" if place else ""
    raise AssertionError(f"{law}: expected {theirs[place]}, got {ours[place]}{position}")


def check_defaults(
    part: object, base: type, calls: Mapping[str, Callable[[Any], Sequence[Array]]], tolerance: float
) -> None:
    """Check that overridden members return the same as the slower defaults of the base class.

    tolerance: the largest absolute difference.
    """
    for name, call in calls.items():
        default = getattr(base, name)
        if getattr(type(part), name) is not default:
            for found, expected in zip(call(getattr(part, name)), call(functools.partial(default, part)), strict=True):
                assert_close(found, expected, tolerance, f"{name} agrees with its default in {base.__name__}")


def check_array(found: Any, n_dimensions: int, law: str) -> Array:
    """Return an array; raise AssertionError, with the law and the actual value, for any other form."""
    assert isinstance(found, np.ndarray), f"{law}: expected an array, got {short_repr(found)}"
    assert found.ndim == n_dimensions, f"{law}: expected {n_dimensions} dimensions, got shape {found.shape}"
    return found


def every_point(domain: Domain, most: int, rng: np.random.Generator) -> Batch | None:
    """Return all points of a small domain as a batch; None if there are more than `most`, or none was found.

    most: maximum number of points, at least 1.
    rng: random number generator.
    """
    if not domain.size <= most:
        return None
    found: dict[Hashable, Point] = {}
    for x in domain.sample(4 * int(domain.size), rng):
        found.setdefault(domain.key(x), x)
    while len(found) < domain.size:
        try:
            x = domain.sample_unseen(frozenset(found), rng)
        except SpaceExhausted:
            break
        if domain.key(x) in found:
            break
        found[domain.key(x)] = x
    return domain.join(list(found.values())) if found else None


@contextlib.contextmanager
def naming(part: object) -> Iterator[None]:
    """Prefix the messages of laws inside the block with the class of a part, which breaks the law.

    An error in the part, or caused by its result, is also a violation: the message names the method that raised it, or
    the current line of the law, and the error remains its cause.
    """
    broken = f"{getattr(part, '__name__', type(part).__name__)} breaks the law: "
    try:
        yield
    except AssertionError as error:
        if not str(error).startswith(broken):
            error.args = (f"{broken}{error}",)
        raise
    except FORM_ERRORS as error:
        raise AssertionError(f"{broken}{_locate_error(error)}") from error


def names_part(law: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Prefix every message of a law with the class of the part, as `naming` does."""
    first = next(iter(inspect.signature(law).parameters))

    @functools.wraps(law)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        with naming(args[0] if args else kwargs.get(first)):
            return law(*args, **kwargs)

    return run


def _locate_error(error: Exception) -> str:
    """Describe in one sentence the source of an error and the current line of the law."""
    steps = traceback.extract_tb(error.__traceback__)
    laws = __file__.rpartition("common.py")[0]
    last = max((i for i, step in enumerate(steps) if step.filename.startswith(laws)), default=0)
    step, called = steps[last], steps[last + 1 : last + 2]
    source = f"{called[0].name} raised" if called else "a result does not have the form of the contract,"
    message = " ".join(str(error).split())
    line = linecache.getline(step.filename, step.lineno or 0).strip()
    return f"{source} {type(error).__name__}: {message}; the law was at `{line}`"


@contextlib.contextmanager
def no_global_randomness() -> Iterator[None]:
    """Make any use of the global generators of `random` and `numpy.random` fail; detect a use of torch's."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("global random state was used; draw from the given generator")

    seeded = np.random.default_rng

    def refuse_unseeded(seed: Any = None) -> Any:
        return refuse() if seed is None else seeded(seed)

    torch = sys.modules.get("torch")
    torch_state = torch.get_rng_state() if torch else None
    with contextlib.ExitStack() as patches:
        for module, skipped in ((np.random, NOT_DRAWS), (random, set[str]())):
            for name in module.__all__:
                if name not in skipped and not isinstance(getattr(module, name), type):
                    patches.enter_context(patch.object(module, name, refuse))
        patches.enter_context(patch.object(np.random, "default_rng", refuse_unseeded))
        yield
    if torch is not None:
        assert torch.equal(torch.get_rng_state(), torch_state), "torch's global random state was used"
