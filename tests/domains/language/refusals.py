"""Spaces that are refused, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bostruct.domains.language.space import SearchSpace


def check_refusal(builder: Callable[[], Any], kind: type[Exception], match: str) -> None:
    """Check that a space is refused when it is written, by an error of this kind in these words."""
    with pytest.raises(kind, match=match):
        SearchSpace(builder)
