"""An executor of `concurrent.futures` for jobs of submitit, on SLURM and on this machine."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from time import sleep
from typing import Any

from bostruct.checks import check_number, missing_package, short_repr

try:
    import submitit
except ModuleNotFoundError as error:
    raise missing_package(error.name or "submitit", "submitit") from error

__all__ = ["SubmititExecutor"]

log = logging.getLogger(__name__)


class SubmititExecutor(Executor):
    """An executor whose calls are jobs of submitit; needs the extra `submitit`.

    jobs: an executor of submitit, such as ``submitit.AutoExecutor("logs")``, with its parameters set.
    poll_seconds: seconds between polls of the jobs in flight, from 0.01. submitit polls SLURM at most once a minute.

    Each call is a separate job, with files in the folder of `jobs`, which this process and the nodes must share.
    Canceling a future cancels its job, even while it runs. If SLURM ends a job, its future has an exception.
    On one machine submitit cancels by SIGINT, which a process that was started with `nohup` or `&` may ignore.
    Raises TypeError if `jobs` is not an executor of submitit, ValueError.
    """

    def __init__(self, jobs: Any, poll_seconds: float = 1.0) -> None:
        if not isinstance(jobs, submitit.Executor):
            raise TypeError(f"jobs: expected an executor of submitit, such as AutoExecutor, got {short_repr(jobs)}")
        self._jobs = jobs
        self._poll_seconds = check_number("poll_seconds", poll_seconds, 0.01)
        self._pending: dict[Future[Any], Any] = {}  # future -> job
        self._changed = threading.Condition()
        self._is_shut_down = False
        self._watcher: threading.Thread | None = None

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start a call as a job, and return its future; raise RuntimeError after `shutdown`.

        fn: function to call; cloudpickle serializes it and its arguments.
        args, kwargs: its arguments.
        """
        with self._changed:
            if self._is_shut_down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            job = self._jobs.submit(fn, *args, **kwargs)
            future = _JobFuture(job)
            self._pending[future] = job
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="submitit jobs", daemon=True)
                self._watcher.start()
            self._changed.notify_all()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Reject further calls.

        wait: True to return once all jobs have ended.
        cancel_futures: True to cancel the jobs in flight.
        """
        with self._changed:
            self._is_shut_down = True
            self._changed.notify_all()
            watcher = self._watcher
        if cancel_futures:
            for future in list(self._pending):
                future.cancel()
        if wait and watcher is not None:
            watcher.join()

    def _watch(self) -> None:
        """Poll the jobs in flight until the executor is shut down and no job is left."""
        while True:
            with self._changed:
                while not self._pending:
                    if self._is_shut_down:
                        return
                    self._changed.wait()
                pending = list(self._pending.items())
            for future, job in pending:
                if future.done():  # it was canceled
                    future.set_running_or_notify_cancel()  # wakes waiting threads
                elif not self._finish(future, job):
                    continue
                del self._pending[future]
            sleep(self._poll_seconds)

    def _finish(self, future: Future[Any], job: Any) -> bool:
        """Give a future the result of its job; return False if the job has not ended."""
        try:
            if not job.done():
                return False
            error, result = job.exception(), None
            if error is None:
                result = job.result()
        except Exception as another:  # the file of the result cannot be read, or SLURM cannot be asked
            log.warning("job %s: %s", job.job_id, another)
            error, result = another, None
        if future.set_running_or_notify_cancel():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)
        return True


class _JobFuture(Future[Any]):
    """The future of a job, which can be canceled until it is done, even while it runs.

    job: job of submitit.
    """

    def __init__(self, job: Any) -> None:
        super().__init__()
        self._job = job

    def cancel(self) -> bool:
        if not super().cancel():
            return False
        self._job.cancel(check=False)
        return True
