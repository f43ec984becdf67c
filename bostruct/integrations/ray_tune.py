"""A searcher for `tune.Tuner` of Ray, and the conversion of Tune's search spaces."""

from __future__ import annotations

import math
import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bostruct.checks import check_integer, missing_package, short_repr
from bostruct.contracts import BostructError, DomainError, PointError, SpaceExhausted
from bostruct.domains.space.discrete import Categorical
from bostruct.domains.space.levels import is_level
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.space import Space
from bostruct.domains.space.variable import Variable
from bostruct.output_files import write_output
from bostruct.storage.backends import open_storage
from bostruct.storage.documents import MemoryStorage
from bostruct.study.study import Study

try:
    from ray.tune.search import Searcher, sample
    from ray.tune.search.variant_generator import parse_spec_vars
except ModuleNotFoundError as error:
    raise missing_package(error.name or "ray", "ray") from error

__all__ = ["BostructSearch"]


NOT_DRAWN = {
    sample.Normal: "a normal distribution has no bounds; give bounds, as tune.uniform(low, high)",
    sample.Grid: "a grid is listed, not searched; use tune.choice",
}
DIRECTIONS = {"min": "minimize", "max": "maximize"}
MADE_BY = "bostruct.integrations.ray_tune.BostructSearch 1"


class BostructSearch(Searcher):
    """A searcher of Ray Tune whose suggestions come from a method of bostruct; needs the extra `ray`.

    space: a search space of Tune, or a `Space`, whose points are then the configurations. If None, the ``param_space``
        of the tuner.
    metric: name of the reported metric, or a list of names for several objectives. If None, the metric of the tuner.
    mode: ``min`` or ``max``, or a list with one for each metric. If None, the mode of the tuner.
    method: name of a method, such as ``auto``.
    seed: seed, at least 0; if None, a seed is drawn. No global generator is seeded.
    points_to_evaluate: complete configurations to evaluate first.
    evaluated_rewards: values of these configurations if they were evaluated already, otherwise None.
    threads: number of threads for model computations, at least 1; if None, threads are not limited.

    A trial that ends in an error, or without the metric, has failed. The value of a trial that a scheduler stops early
    is its last report. The model conditions on running trials. No configuration is suggested twice, and the search is
    finished when all have been. Raises DomainError for an invalid search space, PointError, TypeError, ValueError.
    """

    def __init__(
        self,
        space: Mapping[str, object] | Space | None = None,
        metric: str | Sequence[str] | None = None,
        mode: str | Sequence[str] | None = None,
        *,
        method: str = "auto",
        seed: int | None = None,
        points_to_evaluate: Sequence[Mapping[str, object]] | None = None,
        evaluated_rewards: Sequence[float] | None = None,
        threads: int | None = 1,
    ) -> None:
        super().__init__()
        self._method = method
        self._seed = None if seed is None else check_integer("seed", seed, 0)
        self._points = list(points_to_evaluate or [])
        self._rewards = None if evaluated_rewards is None else list(evaluated_rewards)
        if self._rewards is not None and len(self._rewards) != len(self._points):
            raise ValueError(
                f"evaluated_rewards: expected one for each of {len(self._points)} points_to_evaluate, got "
                f"{len(self._rewards)}"
            )
        self._threads = threads
        self._space = None if space is None else TuneSpace(space)
        self._set_goal(metric, mode)
        self._study: Study | None = None  # created by the first suggestion
        self._stored: bytes | None = None  # the file of a study that was restored, until it is opened
        self._numbers: dict[str, int] = {}  # numbers of the trials in flight, by the identifiers of Tune
        self._max_concurrent: int | None = None

    def set_search_properties(self, metric: Any, mode: Any, config: dict[str, Any], **spec: Any) -> bool:
        """Take the tuner's settings that the searcher lacks; return False if the searcher has a space already.

        metric, mode: see the class.
        config: the ``param_space``.
        spec: ignored.
        """
        if self._metric is None:
            self._set_goal(metric, self._mode or mode)
        if self._space is not None:
            return False
        self._space = TuneSpace(config)
        return True

    def suggest(self, trial_id: str) -> Any:
        """Return the next configuration, None while enough trials run, ``FINISHED`` if no configuration is left.

        trial_id: identifier of the trial in Tune.
        """
        study = self._open()
        if self._max_concurrent is not None and len(self._numbers) >= self._max_concurrent:
            return None
        try:
            trial = study.ask()
        except SpaceExhausted:
            return Searcher.FINISHED
        self._numbers[trial_id] = trial.number
        assert self._space is not None
        return self._space.write(trial.point)

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Record the outcome of a trial.

        trial_id: identifier of the trial in Tune; trials that this searcher did not suggest are ignored.
        result: last report of the trial; None if it made no report.
        error: True if it ended in an error.
        """
        if (number := self._numbers.pop(trial_id, None)) is None:
            return
        study = self._open()
        if error or result is None:
            study.tell(number, failed="its trial in Ray Tune ended in an error")
        elif missing := [name for name in self._metrics if name not in result]:
            reported = "".join(f"; {name} = {result[name]}" for name in self._metrics if name in result)
            study.tell(number, failed=f"its trial in Ray Tune reported no {', '.join(missing)}{reported}")
        else:
            values = tuple(float(result[name]) for name in self._metrics)
            study.tell(number, values if isinstance(self._metric, list) else values[0])

    def add_evaluated_point(
        self,
        parameters: dict[str, Any],
        value: Any,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Record a trial of another search.

        parameters: complete configuration.
        value: value of the metric.
        error: True if the trial ended in an error.
        pruned: True if the trial was stopped early; its last value counts.
        intermediate_values: reports of the trial; the last report is the value of a pruned trial without a value.
        """
        if pruned and value is None and intermediate_values:
            value = intermediate_values[-1]
        study = self._open()
        assert self._space is not None
        point = self._space.read(parameters)
        if error or value is None:
            study.add(point, failed="its trial in Ray Tune ended in an error" if error else "it has no value")
        else:
            study.add(point, value)

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """Set the number of trials that may run at once, from ``TuneConfig(max_concurrent_trials=)``.

        max_concurrent: at least 1.
        """
        self._max_concurrent = check_integer("max_concurrent", max_concurrent, 1)
        return True

    def save(self, checkpoint_path: str) -> None:
        """Write the searcher, with its study and the trials in flight, to a file; Tune calls this itself.

        checkpoint_path: path of the file, a pickle like all files of Tune. An earlier checkpoint is replaced.

        Raises OutputRefused, a FileExistsError, if the path has any other file; OSError.
        """
        write_output(checkpoint_path, self._pack(), "searcher", overwrite=None)

    def restore(self, checkpoint_path: str) -> None:
        """Continue from a file of `save`, with the suggestions that the saved searcher would have made.

        checkpoint_path: path of the file.

        Loading a pickle may run code: restore only files that you trust. Raises BostructError for any other file.
        """
        try:
            self._unpack(Path(checkpoint_path).read_bytes())
        except (pickle.UnpicklingError, EOFError, TypeError, ValueError, ImportError, AttributeError) as error:
            raise BostructError(f"{checkpoint_path}: was not written by BostructSearch.save: {error}") from error

    def __getstate__(self) -> dict[str, Any]:
        return {key: part for key, part in vars(self).items() if key != "_study"} | {"_packed": self._pack()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        packed = state.pop("_packed")
        self.__dict__.update(state, _study=None)
        self._unpack(packed)

    @property
    def study(self) -> Study:
        """The study that the searcher keeps in memory."""
        return self._open()

    @property
    def _metrics(self) -> list[str]:
        return self._metric if isinstance(self._metric, list) else [str(self._metric)]

    def _set_goal(self, metric: Any, mode: Any) -> None:
        """Set metric and mode, for one objective or several."""
        self._metric: Any = metric if metric is None or isinstance(metric, str) else list(metric)
        self._mode: Any = mode if mode is None or isinstance(mode, str) else list(mode)
        modes = [] if self._mode is None else self._mode if isinstance(self._mode, list) else [self._mode]
        if any(one not in DIRECTIONS for one in modes):
            raise ValueError(f"mode: expected 'min' or 'max', got {short_repr(mode)}")
        if isinstance(self._metric, list) and (not isinstance(self._mode, list) or len(modes) != len(self._metric)):
            raise ValueError(f"mode: expected one for each of the metrics {self._metric}, got {short_repr(mode)}")

    def _open(self) -> Study:
        """Return the study; the first call creates or restores it."""
        if self._study is None:
            if self._space is None or self._metric is None or self._mode is None:
                raise BostructError(
                    "BostructSearch needs space, metric and mode, its own, or param_space and TuneConfig(metric=, "
                    f"mode=) of the tuner; it has metric={self._metric!r}, mode={self._mode!r}, and "
                    f"{'no space' if self._space is None else 'a space'}"
                )
            self._study = self._make(self._space) if self._stored is None else self._reopen(self._space, self._stored)
            self._stored = None
        return self._study

    def _make(self, space: TuneSpace) -> Study:
        points = [space.read(point) for point in self._points]
        goals: dict[str, Any] = (
            {"directions": [DIRECTIONS[one] for one in self._mode]}
            if isinstance(self._mode, list)
            else {"direction": DIRECTIONS[str(self._mode)]}
        )
        study = Study(
            space.space,
            method=self._method,
            seed=self._seed,
            initial_points=points if self._rewards is None else None,
            threads=self._threads,
            **goals,
        )
        for point, reward in zip(points, self._rewards or [], strict=False):
            study.add(point, reward)
        return study

    def _reopen(self, space: TuneSpace, stored: bytes) -> Study:
        """Return the study of a file, in memory; its trials in flight are still running."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.db"
            path.write_bytes(stored)
            found = open_storage(path).read(None)
        # Tune continues these trials, which no process has left: this is not another attempt.
        rows = [row._replace(attempts=row.attempts - (row.status == "running")) for row in found.trials]
        memory = MemoryStorage()
        memory.save(found._replace(trials=rows)).close()
        study = Study.load(memory, space=space.space, method=self._method, threads=self._threads)
        if self._numbers:
            study.ask(len(self._numbers))
        return study

    def _pack(self) -> bytes:
        import cloudpickle

        study = self._stored if self._study is None else _export(self._study)
        goal = self._metric, self._mode
        return cloudpickle.dumps((MADE_BY, goal, self._space, self._numbers, self._max_concurrent, study))

    def _unpack(self, packed: bytes) -> None:
        made_by, goal, space, self._numbers, self._max_concurrent, self._stored = pickle.loads(packed)
        if made_by != MADE_BY:
            raise ValueError("another searcher made it")
        if self._metric is None or self._mode is None:
            self._set_goal(*goal)
        self._space = space if self._space is None else self._space
        self._study = None


def _export(study: Study) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "study.db")
        study.save(path)
        return Path(path).read_bytes()


class TuneSpace:
    """The space of a search space of Tune, and the conversion between points and configurations.

    param_space: argument of `tune.Tuner`, or a `Space`, whose points are then the configurations.

    A variable in a nested dict is named by its path, ``model/width``. A domain of one value is not a variable. Raises
    DomainError for unsupported samplers (`grid_search`, `sample_from`, normal distributions), and for domains inside
    lists.
    """

    def __init__(self, param_space: Mapping[str, object] | Space) -> None:
        self._paths: dict[str, tuple[str, ...]] = {}
        self._grids: dict[str, Grid] = {}
        self._fixed: dict[str, object] = {}  # values of domains of one value
        if isinstance(param_space, Space):
            self.space = param_space
            return
        _, domains, grids = parse_spec_vars(dict(param_space))
        if grids:
            raise DomainError(f"{_path_name(grids[0][0])}: {NOT_DRAWN[sample.Grid]}")
        variables = {_path_name(path): self._read(path, domain) for path, domain in domains}
        kept = {name: variable for name, variable in variables.items() if variable is not None}
        if not kept:
            raise DomainError("param_space: expected at least one domain with several values, such as tune.uniform")
        self.space = Space(kept)

    def write(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """Return the configuration of a point, nested like the search space.

        point: presented point of the space.
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
        """Return the point of a configuration, nested or with paths as names; only variables are included.

        config: configuration with a value for each variable.

        Raises PointError if a value is missing or not a multiple of its step.
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
        """Return the variable of a domain; None for a domain of one value."""
        name = _path_name(path)
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
            got = "tune.sample_from" if isinstance(domain, sample.Function) else f"a {type(domain).__name__}"
            raise DomainError(f"{name}: {got} is not a search space; give a domain, such as tune.choice")
        if not isinstance(sampler, sample.Uniform | sample.LogUniform):
            raise DomainError(
                f"{name}: the sampler {type(sampler).__name__} is unknown; use tune.uniform or loguniform"
            )
        low, high = domain.lower, domain.upper
        is_integer = isinstance(domain, sample.Integer)
        if step is None and not is_integer:
            return self._fix(name, low) if low == high else Real(float(low), float(high), log=log)
        if step is None or (is_integer and step == 1):
            return self._count(name, int(low), int(high) - 1, log)  # the upper bound is exclusive
        self._grids[name] = Grid(step)
        first, last = _round_in(low / step, math.ceil), _round_in(high / step, math.floor)
        return self._count(name, first, last, log)

    def _count(self, name: str, low: int, high: int, log: bool) -> Variable | None:
        return self._fix(name, low) if low == high else Integer(low, high, log=log)

    def _fix(self, name: str, value: object) -> None:
        self._fixed[name] = value


@dataclass(frozen=True)
class Grid:
    """A grid of multiples of a step; the variable is the multiple.

    step: distance between neighbors.
    """

    step: float

    def read(self, name: str, value: float) -> int:
        """Return a value as a number of steps; raise PointError if it is not a multiple.

        name: name of the variable.
        value: value in a configuration.
        """
        count = round(value / self.step)
        neighbors = ((count - 1) * self.step, (count + 1) * self.step)
        if count * self.step != value and not is_level(value, count * self.step, neighbors):
            raise PointError(f"{name}: expected a multiple of {self.step}, got {value!r}")
        return count

    def write(self, count: int) -> float:
        """Return a multiple of the step.

        count: number of steps.
        """
        return count * self.step


def _path_name(path: tuple[Any, ...]) -> str:
    return "/".join(map(str, path))


def _round_in(bound: float, rounding: Any) -> int:
    """Return the index of the last multiple inside a bound, up to rounding errors."""
    nearest = round(bound)
    return nearest if math.isclose(bound, nearest) else rounding(bound)
