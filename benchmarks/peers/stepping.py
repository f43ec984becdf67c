"""Searches of peers that call the objective themselves."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from benchmarks.peers.searches import Steps
from benchmarks.peers.tasks import Point


def step_through(run: Callable[[Callable[[Point], float]], None]) -> Steps:
    """Yield the points that a peer evaluates by calling the objective itself.

    run: called with the objective, in a separate thread.
    """
    asked: SimpleQueue[Point | BaseException] = SimpleQueue()
    values: SimpleQueue[float] = SimpleQueue()

    def value_of(point: Point) -> float:
        asked.put(point)
        return values.get()

    def target() -> None:
        try:
            run(value_of)
            raise RuntimeError("the peer ended its search")
        except BaseException as error:
            asked.put(error)

    Thread(target=target, daemon=True).start()
    while not isinstance(point := asked.get(), BaseException):
        values.put((yield point))
    raise point
