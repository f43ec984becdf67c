"""The requests of the protocol: their fields, and which part of a study answers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from bostruct.checks import check_integer, check_number, did_you_mean, short_repr
from bostruct.contracts import ParsedJson
from bostruct.serving.refusals import Refusal
from bostruct.serving.served_study import ServedStudy
from bostruct.serving.trial_json import Facts

PROTOCOL = 1
MOST_ASKED = 256  # trials of one request
MOST_LISTED = 1000
LEAST_LEASE, LONGEST_LEASE = 0.1, 1e7  # seconds
LONGEST_TEXT = 200  # letters of a name, a key or an id
COMMON = ("request", "study", "id", "key", "protocol")
OUTCOME = ("value", "values", "sd", "repeats", "constraints", "failed", "infeasible")
TOLD = ("value", "values", "repeats", "failed", "infeasible", "reports")  # of which a tell needs one
OF_EVALUATION = ("finished", "reports", "retry")
CREATED = ("space", "direction", "directions", "constraints", "method", "seed", "initial_points")

Request = dict[str, ParsedJson]


class Operation(NamedTuple):
    """One kind of request.

    fields: beside those of all requests.
    answer: returns the facts of the answer of a study.
    needs: fields that must be there.
    changes: whether it changes the study, so that a key means something.
    """

    fields: tuple[str, ...]
    answer: Callable[[ServedStudy, Request], Facts]
    needs: tuple[str, ...] = ()
    changes: bool = True


def _ask(study: ServedStudy, given: Request) -> Facts:
    n = check_integer("n", given.get("n", 1), 1, MOST_ASKED)
    return study.ask(n, _read_lease(given))


def _tell(study: ServedStudy, given: Request) -> Facts:
    outcome = _read_outcome(given) | {name: given[name] for name in OF_EVALUATION if given.get(name) is not None}
    if not outcome.keys() & set(TOLD):
        raise Refusal("bad_request", f"tell: expected one of the fields {', '.join(TOLD)}, which all are missing")
    if isinstance(retry := outcome.get("retry"), int) and not isinstance(retry, bool):
        check_integer("retry", retry, 0, 1000)
    return study.tell(_read_trial(given), _read_started(given), outcome)


def _add(study: ServedStudy, given: Request) -> Facts:
    return study.add(given["point"], _read_outcome(given))


def _renew(study: ServedStudy, given: Request) -> Facts:
    return study.renew(_read_trial(given), _read_started(given), _read_lease(given))


def _list_trials(study: ServedStudy, given: Request) -> Facts:
    first = check_integer("from", given.get("from", 0), 0)
    return study.list_trials(first, check_integer("limit", given.get("limit", 100), 1, MOST_LISTED))


def _finish(study: ServedStudy, given: Request) -> Facts:
    return study.finish(read_text("reason", given.get("reason", "a client finished it")))


OPERATIONS: dict[str, Operation] = {
    "describe": Operation((), lambda study, _: study.describe(), changes=False),
    "ask": Operation(("n", "lease"), _ask),
    "tell": Operation(("trial", "started", *OUTCOME, *OF_EVALUATION), _tell, ("trial",)),
    "renew": Operation(("trial", "started", "lease"), _renew, ("trial",), changes=False),
    "requeue": Operation(("trial",), lambda study, given: study.requeue(_read_trial(given)), ("trial",)),
    "add": Operation(("point", *OUTCOME), _add, ("point",)),
    "best": Operation((), lambda study, _: study.find_best(), changes=False),
    "recommended": Operation((), lambda study, _: study.recommend(), changes=False),
    "trials": Operation(("from", "limit"), _list_trials, changes=False),
    "finish": Operation(("reason",), _finish),
}
OF_SERVER: dict[str, tuple[str, ...]] = {"studies": (), "create": CREATED}  # requests without a study, by their fields


def check_request(given: Request) -> str:
    """Return the kind of a request; raise Refusal where its kind, its fields or its version are not known.

    given: the request.
    """
    kind = given.get("request")
    known = [*OF_SERVER, *OPERATIONS]
    if not isinstance(kind, str) or kind not in known:
        hint = did_you_mean(kind[:LONGEST_TEXT], known) if isinstance(kind, str) else ""
        raise Refusal("unknown_request", f"request: expected one of {', '.join(known)}; got {short_repr(kind)}{hint}")
    if (version := given.get("protocol", PROTOCOL)) != PROTOCOL or isinstance(version, bool):
        raise Refusal("bad_protocol", f"protocol: expected {PROTOCOL}, got {short_repr(version)}")
    fields = OF_SERVER[kind] if kind in OF_SERVER else OPERATIONS[kind].fields
    if unknown := [name for name in given if name not in (*COMMON, *fields)]:
        allowed = ", ".join((*fields, *COMMON))
        hint = did_you_mean(unknown[0][:LONGEST_TEXT], fields)
        raise Refusal("bad_request", f"{kind}: expected the fields {allowed}; got {short_repr(unknown[0])}{hint}")
    if kind in OPERATIONS and (missing := [name for name in OPERATIONS[kind].needs if given.get(name) is None]):
        raise Refusal("bad_request", f"{kind}: expected the field {missing[0]}, which is missing")
    return kind


def read_text(name: str, given: object) -> str:
    """Return a short text; raise ValueError for anything else.

    name: of the field, which opens the message.
    given: as the client sent it.
    """
    if not isinstance(given, str) or not 0 < len(given) <= LONGEST_TEXT:
        raise ValueError(f"{name}: expected a string of 1 to {LONGEST_TEXT} letters, got {short_repr(given)}")
    return given


def _read_lease(given: Request) -> float | None:
    lease = given.get("lease")
    return None if lease is None else check_number("lease", lease, LEAST_LEASE, LONGEST_LEASE)


def _read_started(given: Request) -> float | None:
    return None if given.get("started") is None else check_number("started", given["started"], 0.0)


def _read_trial(given: Request) -> int:
    return check_integer("trial", given["trial"], 0)


def _read_outcome(given: Request) -> dict[str, Any]:
    """Return what a client says of an evaluation as arguments of `Study.tell`."""
    outcome = {name: given[name] for name in OUTCOME if given.get(name) is not None}
    value, values = outcome.get("value"), outcome.pop("values", None)
    if isinstance(value, list | dict | str):
        raise TypeError(f"value: expected a number; got {short_repr(value)}; several objectives have `values`")
    if values is None:
        return outcome
    if value is not None:
        raise ValueError("values: expected none beside a value, got both")
    if not isinstance(values, list) or not values:
        raise TypeError(f"values: expected a list with a number for each objective, got {short_repr(values)}")
    return outcome | {"value": values[0] if len(values) == 1 else tuple(values)}
