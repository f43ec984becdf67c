"""The laws of a type of variable.

`check_variable` checks them on random values, and on all values of a small variable.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bostruct.checks import check_part, short_repr
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.variable import Variable
from bostruct.testing.batch_laws import spoil
from bostruct.testing.chance_laws import are_plausible, check_chance
from bostruct.testing.common import names_part, read_back

Columns = tuple[int, ...]

SMALL = 60  # maximum number of values that are all checked
FEW = 12  # values sampled from a larger variable
FEW_BACK = 2  # values, and neighbors per value, checked if neighbors are many
SOME_BACK = 6  # sampled neighbors of a value whose neighbors are all sampled
MOST_CHECKED = 200  # maximum rows of an array that are all validated
MOST_DRAWN = 10_000  # maximum neighbors of a value that are all sampled
SHARES = 2_520  # positions in [0, 1) at which a move is evaluated; divisible by each number up to 10
NOT_ENCODED: tuple[Any, ...] = ({"no": "value"}, [[]], [{}] * 9, "\0", {"vertex": -1}, [-(10**12)] * 9)


@names_part
def check_variable(variable: Variable, rng: np.random.Generator) -> None:
    """Check every law of a variable.

    Parameters
    ----------
    variable : Variable
        The variable to test; its class need not be registered.
    rng : Generator
        Generator of values.

    Raises
    ------
    AssertionError
        If a law is violated; the message states the class and the law.
    """
    check_part("variable", variable, Variable)
    for name in ("width", "size"):
        number = getattr(variable, name)
        is_right = isinstance(number, int) and number >= 1
        assert is_right, f"{name} is an integer from 1: got {number!r}"
    every = _enumerate_values(variable)
    drawn = _check_sample(variable, rng, every)
    values = sorted(every) if every is not None else list(dict.fromkeys(drawn))[:FEW]
    if every is None and variable.count_neighbors(values[0]) > MOST_CHECKED:
        values = values[:FEW_BACK]
    for value in values:
        _check_forms(variable, value)
        for large_steps in (False, True):
            _check_neighbors(variable, value, every, large_steps)
            _check_sampled_neighbors(variable, value, large_steps, rng)
        _check_variable_changes(variable, value, rng)
    _check_moves(variable, values, every, rng)
    _check_crossing(variable, values, rng)
    _check_refusals(variable, values, every)
    _check_description(variable, values)
    _check_listing(variable, values, every)


def as_columns(variable: Variable, found: Any, what: str) -> Columns:
    """Return the columns of a value as plain integers; raise AssertionError unless there are `width` of them."""
    is_row = isinstance(found, Sequence | np.ndarray) and not isinstance(found, str) and np.ndim(found) == 1
    is_right = is_row and all(isinstance(one, int | np.integer) and not isinstance(one, bool) for one in found)
    assert is_right, f"{what} returns integers: got {short_repr(found)}"
    assert len(found) == variable.width, f"{what} returns width = {variable.width} columns: got {short_repr(found)}"
    return tuple(int(one) for one in found)


def _rows(variable: Variable, found: Any, what: str) -> list[Columns]:
    """Return the rows of an integer array (m, width), each the columns of a value."""
    is_right = isinstance(found, np.ndarray) and found.ndim == 2 and found.dtype.kind == "i"
    assert is_right, f"{what} returns an integer array (m, width): got {short_repr(found)}"
    for row in found[:1]:
        as_columns(variable, row, what)
    rows = [tuple(row) for row in found.tolist()]
    for row in rows if len(rows) <= MOST_CHECKED else (*rows[:FEW], *rows[-FEW:]):
        _check_columns_of(variable, row, what)
    return rows


def _check_columns_of(variable: Variable, value: Columns, what: str) -> None:
    try:
        variable.check(value)
    except PointError as error:
        raise AssertionError(f"{what} returns columns of a value: got {value}; {error}") from error


def _enumerate_values(variable: Variable) -> frozenset[Columns] | None:
    """Return all values of a small variable after checks; None for any other."""
    if variable.size > SMALL:
        return None
    rows = _rows(variable, variable.enumerate(), "enumerate")
    assert len(set(rows)) == len(rows), "enumerate lists each value once"
    assert len(rows) == variable.size, f"enumerate lists all values: expected {variable.size}, got {len(rows)}"
    return frozenset(rows)


def _check_sample(variable: Variable, rng: np.random.Generator, every: frozenset[Columns] | None) -> list[Columns]:
    n_draws = 60 * len(every) if every is not None else 2 * FEW
    assert len(_rows(variable, variable.sample(0, rng), "sample")) == 0, "sample(0) returns an array (0, width)"
    rows = _rows(variable, variable.sample(n_draws, rng), "sample")
    assert len(rows) == n_draws, f"sample(m) returns m values: expected {n_draws}, got {len(rows)}"
    check_chance(lambda one: variable.sample(5, one).tolist(), "sample")
    if every is not None:
        counts = Counter(rows)
        for row in counts:
            assert row in every, f"enumerate lists all values: sample drew {row}"
        chances = _chances_of(variable, sorted(every))
        is_so = all(are_plausible([counts[row]], n_draws, chance) for row, chance in chances.items())
        law = f"sample draws values {'uniformly' if variable.is_even else 'with the probabilities of chances'}"
        assert is_so, f"{law}: of {n_draws} it drew {dict(counts)}"
    return rows


def _chances_of(variable: Variable, values: Sequence[Columns]) -> dict[Columns, float]:
    """Return the probability of each value of a variable, after checks."""
    if variable.is_even:
        return dict.fromkeys(values, 1.0 / len(values))
    found = variable.chances(np.array(values, dtype=np.int64))
    are_chances = np.shape(found) == (len(values),) and bool(np.all(found > 0.0)) and math.isclose(np.sum(found), 1.0)
    assert are_chances, f"chances returns probabilities (m,) of m values, with sum 1: got {short_repr(found)}"
    return dict(zip(values, found.tolist(), strict=True))


def _check_forms(variable: Variable, value: Columns) -> None:
    """Check that presented values and JSON round-trip and share no mutable state with the value."""
    for back, there, name in (
        (variable.parse, variable.present, "parse is the inverse of present"),
        (lambda data: variable.decode(read_back(data)), variable.encode, "decode is the inverse of encode"),
    ):
        shown = there(value)
        found = as_columns(variable, back(shown), name.partition(" ")[0])
        assert found == value, f"{name}: {value} became {short_repr(shown)}, and that {found}"
        before = repr(shown)
        spoil(shown)
        again = repr(there(value))
        assert again == before, f"callers may change a returned value: {name.split()[-1]} gave {before}, then {again}"


def _check_neighbors(variable: Variable, value: Columns, every: frozenset[Columns] | None, large_steps: bool) -> None:
    what = "neighbors with large_steps" if large_steps else "neighbors"
    near = _rows(variable, variable.neighbors(value, large_steps), what)
    assert len(set(near)) == len(near), f"{what} lists each value once: of {value} it lists {near}"
    again = _rows(variable, variable.neighbors(value, large_steps), what)
    assert again == near, f"{what} returns a fixed order: of {value}, {near} and then {again}"
    assert value not in near, f"no value is its own neighbor: {what} of {value} lists it"
    n_back = len(near) if every is not None else FEW if len(near) <= MOST_CHECKED else FEW_BACK
    for other in near[:n_back]:
        back = _rows(variable, variable.neighbors(other, large_steps), what)
        assert value in back, f"{what} are symmetric: {value} has {other}, but {other} has {back}"


def _check_sampled_neighbors(variable: Variable, value: Columns, large_steps: bool, rng: np.random.Generator) -> None:
    listed = set(_rows(variable, variable.neighbors(value, large_steps), "neighbors"))
    for m in (0, 3, len(listed)):
        drawn = _rows(variable, variable.sample_neighbors(value, m, rng, large_steps), "sample_neighbors")
        assert len(set(drawn)) == len(drawn), f"sample_neighbors draws each value once: of {value} it drew {drawn}"
        expected = min(m, len(listed))
        assert len(drawn) == expected, f"sample_neighbors draws m values: expected {expected}, got {len(drawn)}"
        assert value not in drawn, f"no value is its own neighbor: sample_neighbors of {value} drew it"
    every = _draw_all_neighbors(variable, value, large_steps, rng)
    if every is not None:
        unknown = [one for one in listed if _to_bytes(one) not in every]
        assert not unknown, (
            f"sample_neighbors draws among all neighbors: of {value} never {unknown[0]}, which is listed"
        )
        strange = [one for one in drawn if _to_bytes(one) not in every]
        assert not strange, f"sample_neighbors draws neighbors: of {value} {strange} are not"
    if every is None or len(every) > len(listed):  # the variable lists only some neighbors
        for other in [drawn[i] for i in rng.permutation(len(drawn))[:SOME_BACK]]:
            back = _draw_all_neighbors(variable, other, large_steps, rng)
            is_mutual = back is None or _to_bytes(value) in back
            assert is_mutual, f"sample_neighbors is symmetric: {value} has {other}, but {other} does not have {value}"
    check_chance(lambda one: variable.sample_neighbors(value, 3, one, large_steps).tolist(), "sample_neighbors")


def _draw_all_neighbors(
    variable: Variable, value: Columns, large_steps: bool, rng: np.random.Generator
) -> frozenset[bytes] | None:
    """Return the columns of all neighbors that `sample_neighbors` can return, after checks; None if they are many.

    A variable may list only some of its neighbors if `count_neighbors` reports more.
    """
    listed = variable.neighbors(value, large_steps)
    count = variable.count_neighbors(value, large_steps)
    law = f"count_neighbors counts the neighbors of {value}"
    assert count >= len(listed), f"{law}: expected {len(listed)} or more, got {count}"
    if count > MOST_DRAWN:
        return None
    drawn = variable.sample_neighbors(value, count, rng, large_steps)
    every = frozenset(row.tobytes() for row in np.ascontiguousarray(drawn, dtype=np.int64))
    assert len(every) == len(drawn), f"sample_neighbors draws each value once: of {value} it drew some twice"
    expected = len(every)
    assert count == expected, f"{law}: expected {expected}, the number that sample_neighbors draws, got {count}"
    for row in (*drawn[:FEW], *drawn[-FEW:]):
        _check_columns_of(variable, as_columns(variable, row, "sample_neighbors"), "sample_neighbors")
    return every


def _to_bytes(columns: Sequence[int] | np.ndarray) -> bytes:
    return np.asarray(columns, dtype=np.int64).tobytes()


def _check_variable_changes(variable: Variable, value: Columns, rng: np.random.Generator) -> None:
    """Check that a change of a value gives a neighbor, or a value of which it is a neighbor."""
    changed = variable.change_each(np.array([value] * FEW), rng)
    found = _rows(variable, changed, "change_each")
    assert len(found) == FEW, f"change_each draws a change of each value: expected {FEW}, got {len(found)}"
    every = _draw_all_neighbors(variable, value, False, rng)
    if every is not None:
        strange = {one for one in found if one != value and _to_bytes(one) not in every}
        assert not strange, f"change_each returns neighbors, or the value: of {value} {strange} are not"


def _check_moves(
    variable: Variable, values: Sequence[Columns], every: frozenset[Columns] | None, rng: np.random.Generator
) -> None:
    """Check that moves are symmetric with equal probabilities, or with the probabilities of `sample`."""
    if variable.size == 1:
        return
    chances: dict[Columns, Counter[Columns]] = {}
    n_shares = SHARES if every is not None else FEW
    for value in values:
        shares = [0.0, np.nextafter(1.0, 0.0), *(np.arange(n_shares) + rng.random()) / n_shares]
        reached = [_check_move(variable, value, float(share)) for share in shares]
        chances[value] = Counter(one for one in reached[2:] if one != value)
        assert chances[value], f"move reaches another value from {value}, for some of {n_shares} shares"
    if every is None:
        return
    drawn = _chances_of(variable, values)
    found = _find_unbalanced(chances, dict.fromkeys(values, 1.0))
    if found and not variable.is_even:
        found = _find_unbalanced(chances, drawn)
    assert not found, f"move is reversible for equal probabilities, or for the probabilities of sample: {found}"


def _find_unbalanced(moves: dict[Columns, Counter[Columns]], chances: dict[Columns, float]) -> str:
    """Describe two values between which moves do not preserve a distribution; "" if there are none."""
    tolerance = 2 + SHARES // 500
    for value, counts in moves.items():
        for other, count in counts.items():
            back, ratio = moves[other][value], chances[other] / chances[value]
            if abs(back * ratio - count) > tolerance * max(1.0, ratio):
                return f"to {other} from {value} at {count} of {SHARES} shares, to {value} from {other} at {back}"
    return ""


def _check_move(variable: Variable, value: Columns, share: float) -> Columns:
    found = as_columns(variable, variable.move(value, share), "move")
    _check_columns_of(variable, found, "move")
    return found


def _check_crossing(variable: Variable, values: Sequence[Columns], rng: np.random.Generator) -> None:
    """Check that children of values are valid values, or that no two values have children."""
    children = [variable.cross(mine, theirs, rng) for mine in values[:FEW] for theirs in values[:2]]
    if any(child is None for child in children):
        assert not any(children), f"cross returns None for all pairs of values, or for none: got {short_repr(children)}"
        return
    for child in children:
        _check_columns_of(variable, as_columns(variable, child, "cross"), "cross")


def _check_listing(variable: Variable, values: Sequence[Columns], every: frozenset[Columns] | None) -> None:
    """Check that overridden members agree with the defaults, and that the traits are right."""
    if every is not None:
        default = {tuple(row) for row in Variable.enumerate(variable).tolist()}
        assert default == every, f"enumerate lists all values that can be sampled: {len(default)}, got {len(every)}"
    if variable.width == 1:
        encoded = [read_back(variable.encode(value)) for value in values]
        found = np.asarray(variable.decode_column(encoded)).tolist()
        expected = [value[0] for value in values]
        assert found == expected, f"decode_column reads the values that encode returned: {expected}, got {found}"
    if variable.grid is not None:
        assert variable.grid is variable.choices, "the grid of a variable is its choices"
    if variable.values_are_choices:
        for value in values:
            choice, shown, written = variable.choices[value[0]], variable.present(value), variable.encode(value)
            law = f"by values_are_choices, {value} is presented and encoded as {short_repr(choice)}"
            assert shown == choice, f"{law}: present returns {short_repr(shown)}"
            assert written in (choice, {"vertex": value[0]}), f"{law}: encode returns {short_repr(written)}"


def _check_refusals(variable: Variable, values: Sequence[Columns], every: frozenset[Columns] | None) -> None:
    outside: set[Columns] = set()
    if every is not None:
        outside = {
            (*v[:i], v[i] + step, *v[i + 1 :]) for v in values for i in range(len(v)) for step in (-1, 1)
        } - every
    _check_refused(variable.parse, [object()], "parse")
    _check_refused(variable.decode, NOT_ENCODED, "decode")
    _check_refused(variable.check, sorted(outside), "check")


def _check_refused(read: Callable[[Any], object], wrong: Sequence[object], name: str) -> None:
    for given in wrong:
        try:
            read(given)
        except PointError:
            continue
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise AssertionError(f"{name} raises PointError for {short_repr(given)}: got {got}") from error
        raise AssertionError(f"{name} raises PointError for an invalid value: it accepted {short_repr(given)}")


def _check_description(variable: Variable, values: Sequence[Columns]) -> None:
    described = variable.describe()
    description = read_back(described)
    law = "describe returns plain JSON"
    assert description == described, f"{law}: {short_repr(described)} became {short_repr(description)}"
    whole: Any = read_back(variable.to_json())
    assert whole.get("kind") == variable.kind, f"to_json contains the kind: expected {variable.kind!r}, got {whole!r}"
    try:
        rebuilt = type(variable).from_json(description)
    except DomainError:  # choices that are Python objects have no JSON form
        return
    rebuilt.default_columns = variable.default_columns  # not part of the description
    law = "from_json rebuilds an equal variable from describe"
    assert rebuilt == variable, f"{law}: {short_repr(described)} became {short_repr(rebuilt.describe())}"
    assert hash(rebuilt) == hash(variable), f"{law}: equal variables have equal hashes"
    for name in ("size", "width"):
        ours, theirs = getattr(variable, name), getattr(rebuilt, name)
        assert theirs == ours, f"{law}: expected {name} {ours}, got {theirs}"
    for value in values:
        ours, theirs = (repr(one.present(value)) for one in (variable, rebuilt))
        assert theirs == ours, f"{law}: {value} is {ours}, and {theirs} in the rebuilt variable"
