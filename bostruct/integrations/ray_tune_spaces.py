"""Search spaces of Ray Tune as spaces, and their configurations as points."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bostruct.checks import missing_package, short_repr
from bostruct.contracts import DomainError, PointError
from bostruct.domains.space.discrete import Categorical
from bostruct.domains.space.levels import is_level
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable

try:
    from ray.tune.search import sample
    from ray.tune.search.variant_generator import parse_spec_vars
except ModuleNotFoundError as error:
    raise missing_package(error.name or "ray", "ray") from error

NOT_DRAWN = {
    sample.Normal: "a normal distribution has no bounds; give bounds, as tune.uniform(low, high)",
    sample.Grid: "a grid is listed, not searched; use tune.choice",
}


@dataclass(frozen=True)
class Grid:
    """The multiples of a number, which a variable counts.

    step: between neighbors.
    """

    step: float

    def read(self, name: str, value: float) -> int:
        """Return how often a value has the step; raise PointError where it is no multiple.

        name: of the variable.
        value: of a configuration.
        """
        count = round(value / self.step)
        beside = ((count - 1) * self.step, (count + 1) * self.step)
        if count * self.step != value and not is_level(value, count * self.step, beside):
            raise PointError(f"{name}: expected a multiple of {self.step}, got {value!r}")
        return count

    def write(self, count: int) -> float:
        """Return a multiple of the step.

        count: of the steps.
        """
        return count * self.step


class TuneSpace:
    """The space of a search space of Tune, and the way between its points and configurations.

    param_space: as `tune.Tuner` takes it, or a `Space`, whose points are the configurations then.

    A variable in a nested dict is named by its path, ``model/width``. What has one value is no variable. Raises
    DomainError for samplers that are no search space (`grid_search`, `sample_from`, normal distributions), and for
    domains inside lists.
    """

    def __init__(self, param_space: Mapping[str, object] | Space) -> None:
        self._paths: dict[str, tuple[str, ...]] = {}
        self._grids: dict[str, Grid] = {}
        self._fixed: dict[str, object] = {}  # values of domains that have no other
        if isinstance(param_space, Space):
            self.space = param_space
            return
        _, domains, grids = parse_spec_vars(dict(param_space))
        if grids:
            raise DomainError(f"{_name(grids[0][0])}: {NOT_DRAWN[sample.Grid]}")
        variables = {_name(path): self._read(path, domain) for path, domain in domains}
        kept = {name: variable for name, variable in variables.items() if variable is not None}
        if not kept:
            raise DomainError("param_space: expected at least one domain with several values, such as tune.uniform")
        self.space = Space(kept)

    def write(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration of a point, nested as the search space is.

        point: as the space presents it.
        """
        config: dict[str, Any] = {}
        for name, value in {**point, **self._fixed}.items():
            *folders, last = self._paths.get(name, (name,))
            inside = config
            for folder in folders:
                inside = inside.setdefault(folder, {})
            inside[last] = self._grids[name].write(value) if name in self._grids else value
        return config

    def read(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return the point of a configuration, nested or with paths as names; what is no variable is left out.

        config: with a value for each variable.

        Raises PointError where a value is missing or no multiple of its step.
        """
        if not self._paths:
            return dict(config)
        return {name: self._find(config, name) for name in self._paths if name not in self._fixed}

    def _find(self, config: Mapping[str, Any], name: str) -> Any:
        inside: Any = config
        for part in (name,) if name in config else self._paths[name]:
            if not isinstance(inside, Mapping) or part not in inside:
                raise PointError(f"{name}: missing in the configuration {short_repr(config)}")
            inside = inside[part]
        return self._grids[name].read(name, inside) if name in self._grids else inside

    def _read(self, path: tuple[Any, ...], domain: Any) -> Variable | None:
        """Return the variable of a domain; None for one of a single value."""
        name = _name(path)
        if not all(isinstance(part, str) for part in path):
            raise DomainError(f"{name}: a domain inside a list cannot be searched; give it a name of its own")
        self._paths[name] = path
        try:
            return self._read_domain(name, domain)
        except DomainError as error:
            raise error if str(error).startswith(name) else DomainError(f"{name}: {error}") from None

    def _read_domain(self, name: str, domain: Any) -> Variable | None:
        sampler, step = domain.get_sampler(), None
        if isinstance(sampler, sample.Quantized):
            sampler, step = sampler.get_sampler(), sampler.q
        for kind, why in NOT_DRAWN.items():
            if isinstance(sampler, kind):
                raise DomainError(f"{name}: {why}")
        log = isinstance(sampler, sample.LogUniform)
        if isinstance(domain, sample.Categorical):
            choices = list(domain.categories)
            return Categorical(choices) if len(choices) > 1 else self._fix(name, choices[0])
        if not isinstance(domain, sample.Float | sample.Integer):
            raise DomainError(f"{name}: {_describe(domain)} is no search space; give a domain, such as tune.choice")
        if not isinstance(sampler, sample.Uniform | sample.LogUniform):
            raise DomainError(
                f"{name}: the sampler {type(sampler).__name__} is unknown; use tune.uniform or loguniform"
            )
        low, high = domain.lower, domain.upper
        is_integer = isinstance(domain, sample.Integer)
        if step is None and not is_integer:
            return self._fix(name, low) if low == high else Real(float(low), float(high), log=log)
        if step is None or (is_integer and step == 1):
            return self._count(name, int(low), int(high) - 1, log)  # its upper bound is left out
        self._grids[name] = Grid(step)
        first, last = _round_in(low / step, math.ceil), _round_in(high / step, math.floor)
        return self._count(name, first, last, log)

    def _count(self, name: str, low: int, high: int, log: bool) -> Variable | None:
        return self._fix(name, low) if low == high else Integer(low, high, log=log)

    def _fix(self, name: str, value: object) -> None:
        self._fixed[name] = value


def _name(path: tuple[Any, ...]) -> str:
    return "/".join(map(str, path))


def _describe(domain: object) -> str:
    return "tune.sample_from" if isinstance(domain, sample.Function) else f"a {type(domain).__name__}"


def _round_in(bound: float, rounding: Any) -> int:
    """Return the index of the last multiple inside a bound, which floating point may miss by a hair."""
    nearest = round(bound)
    return nearest if math.isclose(bound, nearest) else rounding(bound)
