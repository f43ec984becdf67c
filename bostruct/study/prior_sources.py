"""Reading the trials of earlier studies, given as studies, results or files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import Domain, PointError
from bostruct.methods.transfer import PriorTask
from bostruct.storage.backends import open_storage
from bostruct.storage.json_text import dump
from bostruct.storage.protocol import Storage
from bostruct.study.history import Trial
from bostruct.study.ledger import Ledger
from bostruct.study.prior import MOST_TRIALS
from bostruct.study.records import JsonDomain, is_same_description, readable_domain
from bostruct.study.result import Result
from bostruct.study.space_changes import check_stored

PriorSource = object  # a Study, a Result, the path of a file, or a Storage with one study
Trials = tuple[str, tuple[Trial, ...]]  # of a study, after its direction


def read_prior(given: Iterable[PriorSource] | None, domain: Domain, direction: str) -> list[PriorTask]:
    """Return the completed trials of each earlier study, as points of a domain and values to minimize.

    given: studies, results, or files with one study each; None for none.
    domain: of the new study.
    direction: of the new study, which must be that of the others.

    Raises TypeError, ValueError and PointError, naming the one that is wrong, and StorageError for a file.
    """
    if given is None:
        return []
    if isinstance(given, str | bytes | os.PathLike | Mapping | Result | Storage) or not isinstance(given, Iterable):
        raise TypeError(f"prior: expected a sequence of studies, such as prior=[study], got {short_repr(given)}")
    sources = list(given)
    if len(sources) > MOST_TRIALS:
        raise ValueError(f"prior: expected at most {MOST_TRIALS} studies, got {len(sources)}")
    return [_read_task(f"prior[{i}]", source, domain, direction) for i, source in enumerate(sources)]


def _read_task(label: str, source: PriorSource, domain: Domain, direction: str) -> PriorTask:
    theirs, trials = _read_trials(label, source, domain)
    if theirs != direction:
        raise ValueError(f"{label}: expected a study that is to {direction}, got one that is to {theirs}")
    points, values = [], []
    for trial in trials:
        if trial.value is None or trial.unread is not None:
            continue
        try:
            points.append(domain.parse(trial.point))
        except PointError as error:
            raise PointError(f"{label}: trial {trial.number} is no point of the new space: {error}") from error
        values.append(trial.value if direction == "minimize" else -trial.value)
    if not points:
        raise ValueError(f"{label}: expected a study with completed trials, got one of {len(trials)} without any")
    return PriorTask(domain.join(points), np.array(values, dtype=np.float64))


def _read_trials(label: str, source: PriorSource, domain: Domain) -> Trials:
    """Return direction and trials; raise TypeError for what has none."""
    if isinstance(source, str | os.PathLike | Storage):
        return _read_stored(label, source, domain)
    found = source if isinstance(source, Result) else getattr(source, "result", None)
    if not isinstance(found, Result):
        raise TypeError(
            f"{label}: expected a Study, a Result, or the path of a file with one study, got {short_repr(source)}"
        )
    return found.direction, tuple(found.trials[number] for number in sorted(found.order))  # those that `where` kept


def _read_stored(label: str, source: str | os.PathLike[str] | Storage, domain: Domain) -> Trials:
    """Raise StorageError for a file that cannot be read, ValueError where only its own space can read its points."""
    place = open_storage(source)
    stored = place.read(None)
    row = check_stored(stored, place.label)
    own = domain if is_same_description(row.domain, dump(domain.to_json())) else readable_domain(None, row)
    if isinstance(own, JsonDomain):
        raise ValueError(
            f"{label}: the file does not hold all of the study's space; open it with Study.load(..., space=..., "
            "read_only=True), and give that"
        )
    return row.direction, Ledger(own, stored, None, place.label).trials
