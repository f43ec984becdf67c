"""Facts of a run: flattened points, and how busy workers were."""

from __future__ import annotations

import pytest

from bostruct.analysis.report.facts import measure_busy, write_point
from bostruct.study.history import Trial


def run_trials(*spans: tuple[float, float]) -> list[Trial]:
    return [Trial(i, {}, "completed", 1.0, started=a, finished=b) for i, (a, b) in enumerate(spans)]


@pytest.mark.parametrize(
    ("spans", "workers", "share", "seconds", "pauses"),
    [
        ([(0, 4)], 1, 1.0, 4, 0),
        ([(0, 4), (6, 10)], 1, 0.8, 10, 0),
        ([(0, 4), (0, 4), (4, 6)], 2, 10 / 12, 6, 0),
        ([(0, 10), (1, 2), (5, 9)], 2, 0.75, 10, 0),  # one inside another
        ([(0, 10), (1000, 1010)], 1, 1.0, 20, 1),  # went on later
        ([(0, 200), (10, 20), (100, 110)], 2, 220 / 400, 200, 0),  # a long one spans the gap
    ],
)
def test_busy_is_the_share_of_the_time_of_all_workers(spans, workers, share, seconds, pauses):
    found = measure_busy(run_trials(*spans))
    assert found == (workers, pytest.approx(share), seconds, pauses)


def test_nothing_finished_is_not_busy():
    added = Trial(1, {}, "completed", 1.0, info={"origin": "added"}, started=1.0, finished=2.0)
    assert measure_busy([Trial(0, {}, "running"), added]) is None


def test_points_are_flattened_whole():
    assert write_point({"a": {"b": 1, "c": {}}, "d": "x"}) == {"a.b": "1", "a.c": "{}", "d": "'x'"}
    assert write_point({"a.b": 1, "a": {"b": 2}}) == {"a.b": "1", "a.b'": "2"}
    assert write_point((1, 2)) == {"point": "(1, 2)"}
