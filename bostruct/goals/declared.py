"""The goals of a study: a direction for each objective, and limits on measured quantities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, cast

from bostruct.checks import check_choice, check_number, did_you_mean, short_repr
from bostruct.contracts import BostructError, ParsedJson
from bostruct.outcome import Outcome, storable

Direction = Literal["minimize", "maximize"]
DIRECTIONS = ("minimize", "maximize")
MOST_LETTERS = 100  # maximum length of an objective's name
GENERIC = ("fun", "func", "function", "evaluate", "run", "train", "main", "target", "black_box", "blackbox")
SENSES = ("<=", ">=")
LARGEST_VIOLATION = 1e150
Declared = Mapping[str, tuple[str, float]]  # limits as a user writes them: {"latency": ("<=", 10.0)}


class LimitError(ValueError):
    """Raised if an outcome lacks the quantity of a limit, or has a quantity without a limit."""


@dataclass(frozen=True)
class Limit:
    """A limit on a quantity that each evaluation measures.

    sense: ``<=`` or ``>=``.
    bound: a finite number, in the units of the quantity.
    """

    name: str
    sense: str
    bound: float

    def violation(self, measured: float) -> float:
        """Return the violation by a measured quantity, at most 0 if the limit is satisfied.

        It is clipped to 1e150, since models square it.
        """
        violation = measured - self.bound if self.sense == "<=" else self.bound - measured
        return min(max(violation, -LARGEST_VIOLATION), LARGEST_VIOLATION)

    def __str__(self) -> str:
        return f"{self.name} {self.sense} {self.bound:g}"


@dataclass(frozen=True)
class Goals:
    """The goals of a study: one direction for each objective, and any number of limits.

    directions: ``minimize`` or ``maximize``, at least one.
    repeats: whether the method may evaluate a point again to reduce noise.
    suggest_seconds: time limit of a suggestion in seconds; None for no limit.
    names: names of the objectives for display; empty if they have none.
    """

    directions: tuple[Direction, ...] = ("minimize",)
    limits: tuple[Limit, ...] = ()
    repeats: bool = False
    suggest_seconds: float | None = None
    names: tuple[str, ...] = ()

    @cached_property
    def n_objectives(self) -> int:
        """The number of objectives."""
        return len(self.directions)

    def name_objective(self, objective: int) -> str:
        """Return the name of an objective; by default ``value``, or its position if there are several."""
        if self.names:
            return self.names[objective]
        return "value" if self.n_objectives == 1 else f"objective {objective}"

    def named_after(self, objective: object) -> Goals:
        """Return goals with a function's name for a single unnamed objective, unless the name is not informative."""
        while isinstance(objective, partial):
            objective = objective.func
        name = str(getattr(objective, "__name__", ""))
        is_generic = "objective" in name or name in GENERIC or not 2 < len(name) <= MOST_LETTERS
        unchanged = self.names or self.n_objectives > 1 or is_generic or not name.isidentifier()
        return self if unchanged else replace(self, names=(name,))

    @property
    def is_single(self) -> bool:
        """True for one objective without limits."""
        return self.n_objectives == 1 and not self.limits

    @property
    def is_default(self) -> bool:
        """True for one objective to be minimized, without limits."""
        return self.is_single and self.direction == "minimize"

    @property
    def direction(self) -> Direction:
        """The direction of the only objective; raises BostructError if there are several."""
        if self.n_objectives > 1:
            raise BostructError(f"the study has {self.n_objectives} objectives: read directions")
        return self.directions[0]

    def orient(self, values: Iterable[float]) -> tuple[float, ...]:
        """Return the values with signs for minimization."""
        pairs = zip(values, self.directions, strict=True)
        return tuple([-value if direction == "maximize" else value for value, direction in pairs])

    def violations(self, outcome: Outcome) -> tuple[float, ...]:
        """Return the violation of each limit, at most 0 if it is satisfied."""
        return tuple(limit.violation(outcome.constraints[limit.name]) for limit in self.limits)

    def find_broken(self, outcome: Outcome) -> tuple[str, ...]:
        """Return the names of the limits that an outcome violates; none if it has no values."""
        if not outcome.values or not self.limits:
            return ()
        return tuple(limit.name for limit in self.limits if limit.violation(outcome.constraints[limit.name]) > 0.0)

    def check(self, outcome: Outcome) -> Outcome:
        """Return an outcome; raise an error if it does not match the goals.

        Raises TypeError for a wrong number of values, or noise of several objectives; LimitError if the quantity of a
        limit is missing, or a quantity has no limit; ValueError if the variance of the noise is not finite.
        """
        if outcome.sd is not None and not math.isfinite(outcome.sd * outcome.sd):
            raise ValueError(f"sd: expected a number whose square is finite, up to 1.3e154, got {outcome.sd!r}")
        return self.check_stored(outcome)

    def check_stored(self, outcome: Outcome) -> Outcome:
        """Return an outcome; raise the errors of `check`, except for the variance, which older files did not check."""
        if not outcome.values:
            return outcome
        if len(outcome.values) != self.n_objectives or self.n_objectives > 1:
            self._check_values(outcome)
        if not self.limits and not outcome.constraints:
            return outcome
        names = [limit.name for limit in self.limits]
        for name in (name for name in outcome.constraints if name not in names):
            raise LimitError(
                f"constraints: got {name!r}, on which the study declares no limit; it has "
                f"{', '.join(map(repr, names)) or 'none'}{did_you_mean(name, names)}"
            )
        for limit in (limit for limit in self.limits if limit.name not in outcome.constraints):
            raise LimitError(
                f"constraints: expected a number for {limit.name!r}, on which the study has a limit, got "
                f"{', '.join(map(repr, outcome.constraints)) or 'none'}; return or tell "
                f"{{'value': ..., 'constraints': {{{limit.name!r}: ...}}}}"
            )
        return outcome

    def _check_values(self, outcome: Outcome) -> None:
        count, expected = len(outcome.values), self.n_objectives
        if expected > 1 and (outcome.sd is not None or outcome.repeats):
            raise TypeError("sd, repeats: expected none for several objectives, whose noise is learned")
        if count == expected:
            return
        if expected == 1:
            raise TypeError(
                f"value: expected one number, got {count}, {short_repr(outcome.values)}; directions=[...] of a study, "
                "or of minimize, declares several objectives"
            )
        given = f"{count} numbers, {short_repr(outcome.values)}" if count > 1 else f"one, {outcome.values[0]!r}"
        raise TypeError(f"value: expected a tuple of {expected} numbers, one for each direction, got {given}")

    def __str__(self) -> str:
        named = zip(self.directions, self.names or [""] * self.n_objectives, strict=True)
        return ", ".join([*(" ".join(filter(None, one)) for one in named), *map(str, self.limits)])

    def to_arguments(self) -> dict[str, Any]:
        """Return the arguments of `Study` that declare these goals."""
        several = self.n_objectives > 1
        return {
            "direction": "minimize" if several else self.direction,
            "directions": self.directions if several else None,
            "constraints": {limit.name: (limit.sense, limit.bound) for limit in self.limits} or None,
            "repeats": "auto" if self.repeats else None,
            "objective_name": self.names or None,
        }

    def to_json(self) -> dict[str, ParsedJson]:
        """Return the goals as plain JSON, for `from_json`."""
        limits = {limit.name: [limit.sense, limit.bound] for limit in self.limits}
        declared: dict[str, ParsedJson] = {"directions": list(self.directions), "constraints": limits}
        if self.suggest_seconds is not None:
            declared["suggest_seconds"] = self.suggest_seconds
        if self.names:
            declared["objective_name"] = list(self.names)
        return declared | ({"repeats": "auto"} if self.repeats else {})

    @classmethod
    def from_json(cls, data: ParsedJson) -> Goals:
        """Build goals from the result of `to_json`; raises TypeError, ValueError, LookupError or AttributeError."""
        optional = {"repeats", "suggest_seconds", "objective_name"}
        if not isinstance(data, dict) or data.keys() - optional != {"directions", "constraints"}:
            raise ValueError(f"goals: expected directions and constraints, got {short_repr(data)}")
        limits = {name: tuple(limit) for name, limit in data["constraints"].items()}
        names = data.get("objective_name") or [""]  # earlier revisions allowed blank names
        more = data.get("repeats"), data.get("suggest_seconds"), names if all(map(str.strip, names)) else None
        return declare_goals("minimize", data["directions"], limits, *more)


def declare_goals(
    direction: object,
    directions: object = None,
    constraints: object = None,
    repeats: object = None,
    suggest_seconds: object = None,
    objective_name: object = None,
) -> Goals:
    """Validate the arguments of a user, and return the goals that they declare.

    direction: ``minimize`` or ``maximize``, for a single objective.
    directions: one direction for each of several objectives; None for a single objective.
    constraints: the sense and the bound of each limit by the name of its quantity, ``{"latency": ("<=", 10.0)}``; None
        for no limits.
    repeats: ``auto`` to evaluate points again, only for a single objective without limits; None otherwise.
    suggest_seconds: time limit of a suggestion, at least 0.001; None for no limit.
    objective_name: the name of the objective, 1 to 100 characters; a list of names for several objectives; a function,
        for `Goals.named_after`; None for no name.

    Raises TypeError or ValueError, with the name of the argument.
    """
    check_choice("direction", direction, DIRECTIONS)
    check_choice("repeats", repeats, (None, "auto"))
    seconds = None if suggest_seconds is None else check_number("suggest_seconds", suggest_seconds, 1e-3)
    read = _read_directions(direction, directions)
    names = () if callable(objective_name) else _read_objective_names(objective_name, len(read))
    goals = Goals(read, _read_limits(constraints), repeats == "auto", seconds, names).named_after(objective_name)
    if goals.repeats and not goals.is_single:
        raise ValueError(
            f"repeats: expected None for several objectives, and with constraints, got {repeats!r}; "
            "with constraints, each trial may pass repeats=[...] to tell"
        )
    return goals


def read_reference(reference: Sequence[float], goals: Goals) -> tuple[float, ...]:
    """Return a reference point of several objectives with the signs for minimization.

    Raises TypeError or ValueError, with the position of the number.
    """
    k = goals.n_objectives
    if isinstance(reference, str | Mapping) or not isinstance(reference, Sized) or len(reference) != k:
        raise TypeError(f"reference: expected {k} numbers, one for each objective, got {short_repr(reference)}")
    return goals.orient(check_number(f"reference[{position}]", one) for position, one in enumerate(reference))


def _read_directions(direction: object, directions: object) -> tuple[Direction, ...]:
    if directions is None:
        return (cast(Direction, direction),)
    if direction != "minimize":
        raise ValueError("direction: expected none with directions, which has one for each objective")
    if isinstance(directions, str) or not isinstance(directions, Sequence) or not directions:
        hint = f"; for one objective, Study takes direction={directions!r}" if str(directions) in DIRECTIONS else ""
        raise TypeError(f"directions: expected a list of 'minimize' or 'maximize', got {short_repr(directions)}{hint}")
    for position, one in enumerate(directions):
        check_choice(f"directions[{position}]", one, DIRECTIONS)
    return tuple(directions)


def _read_objective_names(given: object, count: int) -> tuple[str, ...]:
    if given is None:
        return ()
    listed: Sequence[Any] = given if isinstance(given, tuple | list) else [given]
    names = [one for one in listed if isinstance(one, str) and one.strip() and len(one) <= MOST_LETTERS]
    if not len(names) == len(listed) == count:
        wanted = "a string" if count == 1 else f"a list of {count} strings"
        raise TypeError(
            f"objective_name: expected {wanted} of 1 to {MOST_LETTERS} characters, not blank, got {_short(given)}"
        )
    if any(one != storable(one) for one in names) or len(set(names)) < len(names):
        raise ValueError(f"objective_name: expected distinct names of valid Unicode, got {_short(given)}")
    return tuple(names)


def _read_limits(constraints: object) -> tuple[Limit, ...]:
    if constraints is None:
        return ()
    if not isinstance(constraints, Mapping):
        raise TypeError(
            f'constraints: expected limits by name, {{"latency": ("<=", 10.0)}}, got {_short(constraints)}; '
            "predicates of a point are constraints of its space: bo.Space(variables, constraints=[...])"
        )
    limits = []
    for name, limit in constraints.items():
        if not isinstance(name, str) or not name or name != storable(name):
            raise TypeError(f"constraints: expected names, non-empty strings of valid Unicode, got {_short(name)}")
        argument = f"constraints[{name!r}]"
        if not isinstance(limit, tuple | list) or len(limit) != 2:
            raise TypeError(f'{argument}: expected a sense and a bound, ("<=", 10.0), got {_short(limit)}')
        check_choice(f"{argument}[0]", limit[0], SENSES)
        limits.append(Limit(name, limit[0], check_number(f"{argument}[1]", limit[1])))
    return tuple(sorted(limits, key=lambda limit: limit.name))


def _short(value: object) -> str:
    return f"{short_repr(value)} ({type(value).__name__})"
