"""An executor of `concurrent.futures` for Ray, which has none itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Executor, Future
from typing import Any

from bostruct.checks import missing_package

try:
    import ray
except ModuleNotFoundError as error:
    raise missing_package(error.name or "ray", "ray") from error

__all__ = ["RayExecutor"]

_ray: Any = ray  # type checkers cannot resolve its names


class RayExecutor(Executor):
    """An executor whose calls are tasks of Ray; needs the extra `ray`.

    options: arguments of ``ray.remote`` for each call, such as ``num_cpus=2`` or ``num_gpus=0.5``. ``max_retries`` is 0
        by default, because `Study.optimize` itself restarts trials whose worker died.

    Calls run on the cluster to which ``ray.init`` has connected, or on a local cluster that the first call starts.
    Shutting the executor down leaves Ray running. Canceling a future ends its call; if it runs already, its
    worker process is killed.
    """

    def __init__(self, **options: Any) -> None:
        self._call = _ray.remote(**{"max_retries": 0} | options)(_call_function)
        self._lock = threading.Lock()
        self._pending: set[Future[Any]] = set()
        self._is_shut_down = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call as a task, and return its future; raise RuntimeError after `shutdown`.

        fn: function to call; Ray's cloudpickle serializes it and its arguments.
        args, kwargs: its arguments.
        """
        with self._lock:
            if self._is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            future = _TaskFuture(self._call.remote(fn, args, kwargs))
            self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Reject further calls.

        wait: True to return once all calls have ended.
        cancel_futures: True to end the calls in flight.
        """
        with self._lock:
            self._is_shut_down = True
        if cancel_futures:
            for future in list(self._pending):
                future.cancel()
        if wait:
            futures.wait(list(self._pending))


def _call_function(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


class _TaskFuture(Future[Any]):
    """The future of a task, which can be canceled until it is done, even while it runs.

    task: reference to its result.
    """

    def __init__(self, task: Any) -> None:
        super().__init__()
        self._task = task
        self._lock = threading.Lock()
        self._is_canceled = False
        task.future().add_done_callback(self._take)

    def cancel(self) -> bool:
        with self._lock:
            if not super().cancel():
                return False
            if not self._is_canceled:
                self._is_canceled = True
                self.set_running_or_notify_cancel()  # wakes waiting threads
        _ray.cancel(self._task, force=True)  # without force, Ray's interrupt waits for calls of C code
        return True

    def _take(self, done: Future[Any]) -> None:
        with self._lock:
            if self._is_canceled:
                return
            self.set_running_or_notify_cancel()
        error = done.exception()
        if error is None:
            self.set_result(done.result())
        else:
            self.set_exception(error)
