"""Choices that a file cannot tell apart: Python objects whose descriptions differ by their place in memory alone."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator

from bostruct.checks import count_own_frames, hide_addresses
from bostruct.contracts import ParsedJson
from bostruct.storage.json_text import parse


def warn_of_alike_choices(domain: str, where: str) -> None:
    """Warn where a file holds several choices of one variable by the same description.

    domain: of a study, as JSON text.
    where: name of the storage, for messages.
    """
    if '"repr"' in domain and (shown := next(_find_alike(parse(hide_addresses(domain))), None)):
        warnings.warn(
            f"{where} holds choices by their repr, and several read {shown}. Give them a repr each of its own, or keep "
            "their order whenever the study is opened: another order would give trials other choices unnoticed",
            stacklevel=count_own_frames(),
        )


def _find_alike(description: ParsedJson) -> Iterator[str]:
    """Yield each description that several objects of one list share."""
    parts = description.values() if isinstance(description, dict) else description
    if isinstance(description, list):
        texts = (one["repr"] for one in description if isinstance(one, dict) and one.keys() == {"repr"})
        yield from (text for text, count in Counter(texts).items() if count > 1)
    for part in parts:
        if isinstance(part, dict | list):
            yield from _find_alike(part)
