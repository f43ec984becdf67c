"""Refusals of requests: their codes, and the statuses of HTTP that go with them."""

from __future__ import annotations

CODES: dict[str, int] = {
    "bad_json": 400,
    "bad_request": 400,
    "bad_protocol": 400,
    "unknown_request": 400,
    "bad_value": 422,
    "unknown_study": 404,
    "unknown_trial": 404,
    "trial_finished": 409,
    "lease_lost": 409,
    "space_exhausted": 409,
    "study_finished": 409,
    "study_exists": 409,
    "key_reused": 409,
    "nothing_completed": 409,
    "several_objectives": 409,
    "not_allowed": 403,
    "suggestion_failed": 500,
    "internal": 500,
    "storage": 503,
    "stopping": 503,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "length_required": 411,
    "too_large": 413,
    "too_many_requests": 429,
    "header_too_large": 431,
}


class Refusal(Exception):
    """A request that is not served.

    code: one of `CODES`.
    message: for people: what was given, and what is allowed.
    facts: plain JSON that the answer has besides, by name.
    """

    def __init__(self, code: str, message: str, **facts: object) -> None:
        super().__init__(message)
        self.code = code
        self.facts = facts

    @property
    def status(self) -> int:
        """The status of HTTP that goes with the code."""
        return CODES[self.code]
