"""Trials and points as JSON that clients read, and points as they send them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from bostruct.contracts import Domain, ParsedJson, PointError, Presented
from bostruct.serving.refusals import Refusal
from bostruct.storage.json_text import MALFORMED

if TYPE_CHECKING:
    from bostruct.study.history import Trial

Facts: TypeAlias = dict[str, Any]  # of an answer: plain JSON by name, perhaps with tuples in it
WHERE_GIVEN = ("value", "reason", "sd", "repeats", "broken", "unread", "finished")


def trial_to_json(domain: Domain, trial: Trial) -> Facts:
    """Return a trial as plain JSON.

    domain: of the study.
    trial: in any state.

    A completed trial has `values`, and `value` where there is one objective. Parts that say nothing are left out.
    """
    point = trial.point if trial.unread is not None else domain.encode(domain.parse(trial.point))
    shown: Facts = {"number": trial.number, "status": trial.status, "point": point, "started": trial.started}
    for name in WHERE_GIVEN:
        if (part := getattr(trial, name)) not in (None, ()):
            shown[name] = part
    if trial.values:
        shown["values"] = trial.values
    if trial.constraints:
        shown["constraints"] = dict(trial.constraints)
    return shown | {"info": trial.info}


def point_from_json(domain: Domain, point: ParsedJson) -> Presented:
    """Return a point as the objective would receive it.

    domain: of the study.
    point: plain JSON, as `trial_to_json` writes it, or as a user writes it where JSON can say that.

    Raises Refusal for what is no point of the domain.
    """
    try:
        domain.parse(point)
    except MALFORMED as error:
        with suppress(*MALFORMED):  # values for which JSON has no word are encoded
            return domain.present(domain.decode(point))
        why = str(error) if isinstance(error, PointError) else f"expected a point of the space, got {point!r:.200}"
        raise Refusal("bad_value", f"point: {why}") from error
    return point
