"""Steps are made again where nothing of them was written."""

from __future__ import annotations

import pytest

from bostruct.storage import writing
from bostruct.storage.protocol import RolledBack, StorageError
from bostruct.storage.writing import SECONDS, retry_rolled_back


def test_a_step_is_made_again_until_it_is_made() -> None:
    calls = []

    @retry_rolled_back
    def step(n: int) -> int:
        calls.append(n)
        if len(calls) < 3:
            raise RolledBack("lost")
        return n

    assert step(7) == 7
    assert calls == [7, 7, 7]


@pytest.mark.parametrize(("error", "count"), [(RolledBack, 5), (StorageError, 1)])
def test_it_is_not_made_again_forever_nor_after_another_error(error, count, monkeypatch):
    calls = []
    monkeypatch.setattr(writing, "monotonic", lambda: len(calls) * SECONDS / 3)  # at each call, and so after it

    @retry_rolled_back
    def step() -> None:
        calls.append(1)
        raise error("why")

    with pytest.raises(error, match="why"):
        step()
    assert len(calls) == count
