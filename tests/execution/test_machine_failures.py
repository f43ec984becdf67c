"""Failures of the machine are told from those of a point by the type, the code and the text of an exception."""

from __future__ import annotations

import errno
import gc
import subprocess
import sys
import weakref
from concurrent.futures import BrokenExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest

from bostruct.execution import evaluation
from bostruct.execution.evaluation import evaluate, fails_control, find_cause, name_cause, name_cause_of_kill


@pytest.fixture(autouse=True)
def fresh_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "_met", set())


GPU, DISK, MODULE, POOL = "a lost GPU", "a full disk", "a module that cannot be imported", "a broken pool"
GPU_MEMORY, HOST_MEMORY = "no memory on the GPU", "no memory on the host"


class AcceleratorError(RuntimeError):
    """As of torch."""


class OutOfMemoryError(RuntimeError):
    """As of torch."""


class StoreError(Exception):
    """Of no kind that is known."""


def _raised_from(cause: BaseException) -> RuntimeError:
    error = RuntimeError("training failed")
    error.__cause__ = cause
    return error


def _raised_while_handling(cause: BaseException) -> ValueError:
    error = ValueError("no such layer")
    error.__context__ = cause
    return error


LOST = "CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be reported later"
FOUND: list[tuple[BaseException, str | None]] = [
    (RuntimeError(LOST), GPU),
    (AcceleratorError(LOST), GPU),
    (AcceleratorError("CUDA error: device-side assert triggered"), GPU),
    (RuntimeError("CUDA error: unspecified launch failure"), GPU),
    (RuntimeError("CUDA error: no CUDA-capable device is detected"), GPU),
    (StoreError("[700] Call to cuMemcpyDtoH results in CUDA_ERROR_ILLEGAL_ADDRESS"), GPU),
    (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), GPU),
    (RuntimeError("CUDA error: invalid configuration argument"), None),
    (RuntimeError("CUDA error: no kernel image is available for execution on the device"), None),
    (OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 1 has a total capacity of"), GPU_MEMORY),
    (AcceleratorError("CUDA error: out of memory"), GPU_MEMORY),
    (OSError(errno.ENOSPC, "No space left on device"), DISK),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), DISK),
    (StoreError("database or disk is full"), DISK),
    (RuntimeError("OSError: [Errno 28] No space left on device: '/data/a.pt'"), DISK),
    (FileNotFoundError(errno.ENOENT, "No such file or directory"), None),
    (MemoryError(), HOST_MEMORY),
    (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate"), HOST_MEMORY),
    (OSError(errno.ENOMEM, "Cannot allocate memory"), HOST_MEMORY),
    (ImportError("cannot import name 'x'"), MODULE),
    (ModuleNotFoundError("No module named 'xgboost'"), MODULE),
    (BrokenExecutor(), POOL),
    (BrokenProcessPool("a child process terminated abruptly"), POOL),
    (ValueError("negative rate"), None),
    (KeyError("CUDA"), None),
    (_raised_from(RuntimeError(LOST)), GPU),
    (_raised_while_handling(ImportError("no optional package")), None),
]


@pytest.mark.parametrize(("error", "name"), FOUND, ids=lambda one: repr(one)[:60])
def test_each_failure_has_its_cause(error: BaseException, name: str | None) -> None:
    cause = find_cause(error)
    assert (None if cause is None else cause.name) == name


@pytest.mark.parametrize(("error", "name"), FOUND, ids=lambda one: repr(one)[:60])
@pytest.mark.parametrize("fails", [True, False])
def test_memory_that_is_short_is_of_the_machine_if_a_control_fails_too(error, name, fails, monkeypatch):
    run: list[str] = []
    monkeypatch.setattr(evaluation, "fails_control", lambda code: run.append(code) or fails)
    is_memory = name in (GPU_MEMORY, HOST_MEMORY)
    assert name_cause(error) == (None if is_memory and not fails else name)
    assert len(run) == is_memory
    if name == GPU_MEMORY:
        assert ("cuda:1" if "GPU 1" in str(error) else "cuda:0") in run[0]


def test_a_control_is_a_small_allocation_in_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not fails_control(evaluation.HOST_CONTROL)
    assert name_cause_of_kill() is None
    assert fails_control("raise MemoryError")
    monkeypatch.setattr(evaluation, "CONTROL_SECONDS", 0.2)
    assert not fails_control("import time; time.sleep(60)")  # that is no proof
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not fails_control("raise MemoryError  # of torch")  # which this process does not use
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert not fails_control(evaluation.HOST_CONTROL)  # another reason than memory

    def lack(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(subprocess, "run", lack)
    assert fails_control(evaluation.HOST_CONTROL)
    assert name_cause_of_kill() == HOST_MEMORY


def test_what_a_point_holds_is_let_go_before_the_control(monkeypatch: pytest.MonkeyPatch) -> None:
    class Large:
        pass

    alive: list[bool] = []
    held: list[Any] = []

    def control(_: str) -> bool:
        gc.collect()
        alive.append(held[0]() is not None)
        return False

    def objective(_: object) -> float:
        large = Large()
        held.append(weakref.ref(large))
        raise MemoryError

    monkeypatch.setattr(evaluation, "fails_control", control)
    found = evaluate(objective, 0)
    assert alive == [False]
    assert (found.machine, found.outcome.failed) == (None, "MemoryError")
    assert "raise MemoryError" in str(found.trace)


def test_an_error_that_cannot_be_read_is_of_its_point() -> None:
    class Silent(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    def objective(_: object) -> float:
        raise Silent

    found = evaluate(objective, 0)
    assert found.machine is None
    assert found.outcome.failed == "Silent: (cannot be shown: SystemExit)"


def test_a_cause_that_stays_in_the_process_is_named_so_from_the_second_time_on() -> None:
    assert name_cause(RuntimeError("CUDA error: unspecified launch failure")) == GPU
    assert name_cause(RuntimeError("CUDA error: device-side assert triggered")) == GPU + evaluation.EARLIER
    for _ in range(2):
        assert name_cause(OSError(errno.ENOSPC, "full")) == DISK
