"""Spaces that are refused, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.space import SearchSpace


def check_refusal(builder: Callable[[], Any], match: str, kind: type[Exception] = LanguageError) -> None:
    """Check that a space is refused when it is written, in these words, by an error of this kind."""
    with pytest.raises(kind, match=match):
        SearchSpace(builder)
