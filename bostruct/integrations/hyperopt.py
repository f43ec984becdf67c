"""Read trials of Hyperopt as a data frame for `Study.add_frame`; they are dicts, and the package is not imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bostruct.checks import did_you_mean, optional_import, short_repr
from bostruct.contracts import Presented

if TYPE_CHECKING:
    from pandas import DataFrame

ERROR = 3  # hyperopt.JOB_STATE_ERROR
OURS = ("value", "status", "reason")  # columns of results


def read_trials(
    trials: object, choices: Mapping[str, Sequence[object]] | None = None, objective: str = "loss"
) -> DataFrame:
    """Read trials of Hyperopt as a data frame for `Study.add_frame`; needs the extra `pandas`.

    The frame has a column for each label, empty if the trial lacks it, then `value`, `status` and `reason`. Trials with
    status ``fail`` or with an error have failed; an unfinished trial has no value.

    >>> trial = {"state": 2, "misc": {"vals": {"x": [0.5], "kind": [1]}}, "result": {"loss": 2.0, "status": "ok"}}
    >>> study = bo.Study({"x": bo.Real(0, 1), "kind": ["linear", "tree"]})
    >>> study.add_frame(read_trials([trial], choices={"kind": ["linear", "tree"]}))[0].point
    {'x': 0.5, 'kind': 'tree'}

    Parameters
    ----------
    trials : object
        `Trials` of Hyperopt, or its list `trials.trials`, whose dicts have `misc.vals` and `result`.
    choices : mapping of str to sequence of object, optional
        Options of each `hp.choice` and `hp.pchoice` by its label, because Hyperopt stores the index of an option.
    objective : str, default "loss"
        The key of `result` with the value.

    Raises
    ------
    TypeError
        If a trial is not such a dict.
    ValueError
        For an index without an option, an unknown label, or a label that is the name of a column of results.
    MissingExtra
    """
    pandas = optional_import("pandas", "pandas")
    documents = getattr(trials, "trials", trials)
    if not isinstance(documents, Sequence) or isinstance(documents, str):
        raise TypeError(f"trials: expected Trials of Hyperopt, or its list trials.trials, got {short_repr(trials)}")
    options = choices or {}
    rows = [_read_document(f"trials[{i}]", one, options, objective) for i, one in enumerate(documents)]
    labels = list(dict.fromkeys(name for row in rows for name in row if name not in OURS))
    for name in options if rows else ():
        if name not in labels:
            raise ValueError(f"choices: expected labels of {labels}, got {name!r}{did_you_mean(name, labels)}")
    return pandas.DataFrame(rows, columns=[*labels, *OURS], dtype=object)


def _read_document(
    place: str, document: Any, choices: Mapping[str, Sequence[object]], objective: str
) -> dict[str, Presented]:
    """Return a trial's values by their labels, with its value, status and reason."""
    try:
        vals, result, misc = document["misc"]["vals"], document.get("result") or {}, document["misc"]
        row = {name: found[0] for name, found in vals.items() if len(found)}  # if empty, the trial lacks the label
        status = "failed" if document.get("state") == ERROR or result.get("status") == "fail" else None
    except (KeyError, TypeError, AttributeError):
        raise TypeError(f"{place}: expected a dict with misc.vals and result, got {short_repr(document)}") from None
    for name in row.keys() & set(OURS):
        raise ValueError(f"{place}: expected no label {name!r}, the name of a column of results")
    for name, options in choices.items():
        index = row.get(name, 0)
        if index not in range(len(options)):
            raise ValueError(f"{place}: {name}: expected an index below {len(options)}, got {short_repr(index)}")
        row |= {name: options[int(index)]} if name in row else {}
    error = misc.get("error") or ()  # the type of an exception, and its message
    reason = (error[-1] if error else result.get("failure")) if status else None
    return row | {"value": None if status else result.get(objective), "status": status, "reason": reason}
