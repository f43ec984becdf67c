"""bostruct in Ray Tune: a searcher for `tune.Tuner`."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bostruct.checks import check_integer, missing_package, short_repr
from bostruct.contracts import BostructError, SpaceExhausted
from bostruct.domains.space.space import Space
from bostruct.integrations.ray_tune_spaces import TuneSpace
from bostruct.output_files import write_output
from bostruct.storage.backends import open_storage
from bostruct.storage.documents import MemoryStorage
from bostruct.study.study import Study

try:
    from ray.tune.search import Searcher
except ModuleNotFoundError as error:
    raise missing_package(error.name or "ray", "ray") from error

__all__ = ["BostructSearch"]

DIRECTIONS = {"min": "minimize", "max": "maximize"}
MADE_BY = "bostruct.integrations.ray_tune.BostructSearch 1"


class BostructSearch(Searcher):
    """A searcher of Ray Tune whose suggestions are those of a method of bostruct; needs the extra `ray`.

    space: a search space of Tune, or a `Space`, whose points are the configurations then. None for the ``param_space``
        of the tuner.
    metric: name of the reported number, or several of them for several objectives; None for that of the tuner.
    mode: ``min`` or ``max``, or one for each metric; None for that of the tuner.
    method: a name, such as ``auto``.
    seed: an integer from 0; None draws one. Nothing global is seeded.
    points_to_evaluate: configurations to begin with, complete ones.
    evaluated_rewards: their values where they were evaluated already; None where they are to be.
    threads: for model work, from 1; None leaves them alone.

    A trial that ends in an error, or without the metric, has failed, and a scheduler that stops one early leaves its
    last report as its value. Running trials are believed, and no configuration is suggested twice. Once all are, the
    search is finished. Raises DomainError for what is no search space, PointError, TypeError, ValueError.
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
        self._study: Study | None = None  # made at the first question
        self._stored: bytes | None = None  # the file of a study that was restored, until it is opened
        self._numbers: dict[str, int] = {}  # of the trials in flight, by the identifiers of Tune
        self._max_concurrent: int | None = None

    def set_search_properties(self, metric: Any, mode: Any, config: dict[str, Any], **spec: Any) -> bool:
        """Take what the tuner was given, where the searcher was not given it; False where it has a space already.

        metric, mode: as of the class.
        config: the ``param_space``.
        spec: not used.
        """
        del spec
        if self._metric is None:
            self._set_goal(metric, self._mode or mode)
        if self._space is not None:
            return False
        self._space = TuneSpace(config)
        return True

    def suggest(self, trial_id: str) -> Any:
        """Return the next configuration, None while enough trials run, ``FINISHED`` where none is left.

        trial_id: of Tune.
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
        """Learn from the end of a trial.

        trial_id: of Tune; one that this searcher did not suggest is ignored.
        result: its last report; None where it made none.
        error: True where it ended in an error.
        """
        if (number := self._numbers.pop(trial_id, None)) is None:
            return
        study, missing = self._open(), [name for name in self._metrics if name not in (result or {})]
        if error or result is None:
            study.tell(number, failed="its trial in Ray Tune ended in an error")
        elif missing:
            study.tell(number, failed=f"its trial in Ray Tune reported no {', '.join(missing)}")
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
        """Learn from a trial of another search.

        parameters: its configuration, a complete one.
        value: its metric.
        error: True where it ended in an error.
        pruned: True where it was stopped early; its last value counts.
        intermediate_values: its reports; the last one is the value of a pruned trial without one.
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
        """Take the number of trials that may run at once, as ``TuneConfig(max_concurrent_trials=)`` gives it.

        max_concurrent: from 1.
        """
        self._max_concurrent = check_integer("max_concurrent", max_concurrent, 1)
        return True

    def save(self, checkpoint_path: str) -> None:
        """Write the searcher, with its study and the trials in flight, to a file; Tune does so by itself.

        checkpoint_path: of the file, a pickle, as all that Tune saves. An earlier one is replaced.

        Raises OutputRefused, a FileExistsError, for any other file; OSError.
        """
        write_output(checkpoint_path, self._pack(), "searcher", overwrite=None)

    def restore(self, checkpoint_path: str) -> None:
        """Go on from a file of `save`, with the suggestions that the saved searcher would have made.

        checkpoint_path: of the file.

        Loading a pickle may run code: restore what you trust. Raises BostructError for any other file.
        """
        try:
            self._unpack(Path(checkpoint_path).read_bytes())
        except (pickle.UnpicklingError, EOFError, TypeError, ValueError) as error:
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
        """Take metric and mode, of one objective or several."""
        self._metric: Any = metric if metric is None or isinstance(metric, str) else list(metric)
        self._mode: Any = mode if mode is None or isinstance(mode, str) else list(mode)
        modes = [] if self._mode is None else self._mode if isinstance(self._mode, list) else [self._mode]
        if any(one not in DIRECTIONS for one in modes):
            raise ValueError(f"mode: expected 'min' or 'max', got {short_repr(mode)}")
        if isinstance(self._metric, list) and (not isinstance(self._mode, list) or len(modes) != len(self._metric)):
            raise ValueError(f"mode: expected one for each of the metrics {self._metric}, got {short_repr(mode)}")

    def _open(self) -> Study:
        """Return the study, made or restored now where it was not."""
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
        """Return the study of a file, in memory, its trials in flight running as they were."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "study.db"
            path.write_bytes(stored)
            found = open_storage(path).read(None)
        # Tune goes on with these trials, which no process left: it is not counted as another attempt.
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
