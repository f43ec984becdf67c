"""Studies described in JSON: a space that needs no code, goals, a method by its name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bostruct import methods
from bostruct.checks import check_choice, check_integer, short_repr
from bostruct.contracts import DomainError, ParsedJson, Presented
from bostruct.domains.space.clauses import clause_from_json
from bostruct.domains.space.registry import variable_from_json
from bostruct.domains.space.space import Space
from bostruct.goals.declared import Goals, declare_goals
from bostruct.serving.messages import Refusal, point_from_json
from bostruct.storage.json_text import MALFORMED, dump

if TYPE_CHECKING:
    from bostruct.storage.protocol import Storage
    from bostruct.study.study import Study

SPACE_FIELDS = ("domain", "variables", "constraints")


@dataclass(frozen=True)
class StudyDescription:
    """A study as a client describes it.

    seed: None if it is to be drawn.
    """

    name: str
    space: Space
    goals: Goals
    method: str = "auto"
    seed: int | None = None
    initial_points: tuple[Presented, ...] = ()

    def make(self, storage: str | Storage | None) -> Study:
        """Make the study, or go on with the stored one; raise what `Study` raises.

        storage: a file or another storage; None for memory.
        """
        from bostruct.study.study import Study

        points = self.initial_points or None
        given = {"method": self.method, "seed": self.seed, "name": self.name, "initial_points": points}
        return Study(self.space, storage=storage, **self.goals.to_arguments() | given)

    def check_same(self, study: Study) -> None:
        """Raise Refusal unless a study is the one described; a seed that is not given agrees."""
        ours = {"space": dump(self.space.to_json()), "goals": str(self.goals), "method": self.method}
        goals = replace(study.goals, names=())  # which a description lacks
        theirs = {"space": dump(study.domain.to_json()), "goals": str(goals), "method": study.result.method}
        if self.initial_points:
            given = [self.space.parse(one) for one in self.initial_points]
            ours["initial_points"] = dump([self.space.encode(x) for x in given])
            theirs["initial_points"] = dump([self.space.encode(self.space.parse(x)) for x in study.initial_points])
        if self.seed is not None:
            ours["seed"], theirs["seed"] = str(self.seed), str(study.seed)
        for name, given in ours.items():
            if given != theirs[name]:
                raise Refusal(
                    "study_exists",
                    f"create: the study {self.name!r} exists with another {name}: {short_repr(theirs[name], 200)}",
                )


def read_description(name: str, given: dict[str, ParsedJson]) -> StudyDescription:
    """Return the study that JSON describes; raise TypeError, ValueError, Refusal, which name what is wrong."""
    space = space_from_json(given.get("space"))
    goals = _read_goals(given)
    method = check_choice("method", given.get("method", "auto"), methods.list_names())  # imports no module of a client
    seed = None if given.get("seed") is None else check_integer("seed", given["seed"], 0, 2**63 - 1)
    points = _read_list("initial_points", given.get("initial_points"))
    return StudyDescription(name, space, goals, method, seed, tuple(point_from_json(space, one) for one in points))


def space_from_json(given: ParsedJson) -> Space:
    """Return the space that JSON describes, in the form in which `Space.to_json` writes it.

    Raises TypeError or DomainError, which name the variable that is wrong.
    """
    if not isinstance(given, dict) or not isinstance(given.get("variables"), dict):
        raise TypeError(f"space: expected an object with `variables`, an object, got {short_repr(given)}")
    if given.get("domain", "space") != "space" or not given.keys() <= set(SPACE_FIELDS):
        raise DomainError(f"space: expected the fields variables and constraints, got {short_repr(given)}")
    variables = {}
    for name, described in given["variables"].items():
        try:
            variables[name] = variable_from_json(name, described)
        except DomainError:
            raise
        except MALFORMED as error:
            expected = f"{name}: expected a variable as `describe` shows it, got {short_repr(described)}"
            raise DomainError(f"{expected}; {error}" if isinstance(error, ValueError) else expected) from error
    rules = _read_list("space.constraints", given.get("constraints") or None)
    try:
        return Space(variables, [clause_from_json(rule) for rule in rules])
    except DomainError:
        raise
    except MALFORMED as error:
        raise DomainError(f"space: {short_repr(error, 200)}") from error


def _read_goals(given: dict[str, ParsedJson]) -> Goals:
    limits = given.get("constraints")
    if limits is not None:
        if not isinstance(limits, dict) or not all(isinstance(one, list) for one in limits.values()):
            raise TypeError(f'constraints: expected constraints as {{"latency": ["<=", 10]}}, got {short_repr(limits)}')
        limits = {name: tuple(limit) for name, limit in limits.items()}
    try:
        return declare_goals(given.get("direction") or "minimize", given.get("directions"), limits)
    except MALFORMED as error:
        raise ValueError(str(error)) from error


def _read_list(name: str, given: ParsedJson) -> list[ParsedJson]:
    if given is not None and not isinstance(given, list):
        raise TypeError(f"{name}: expected a list, got {short_repr(given)}")
    return given or []
