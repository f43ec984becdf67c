"""Failures whose cause is the machine, not the point: a lost GPU, a full disk, no memory, a module that is not there.

Imported by worker processes before they do anything, hence light.
"""

from __future__ import annotations

import contextlib
import errno
import re
import sys
from traceback import clear_frames
from typing import NamedTuple

CONTROL_SECONDS = 60.0  # for a small allocation; a process that is slower does not show that there is no memory
HOST_CONTROL = "bytearray(b'x') * 2**26"  # written, since an untouched page takes no memory
GPU_CONTROL = "import torch; torch.ones(2**20, device='cuda:{}').sum().item()"
MAX_TEXT = 10_000  # characters of a message that are read
EARLIER = ", met before in the same process"
NUMBER_OF_GPU = re.compile(r"\bGPU (\d+)\b")


class Cause(NamedTuple):
    """A cause of failures by the machine.

    name: for people, and for records.
    types: names of exception classes.
    codes: values of `errno`.
    text: a pattern that the message matches, whatever its class is; empty for none.
    control: code that fails in another process, too, if the machine is the cause; empty if no control is needed.
    stays: True if the process has it from then on, at whatever point.
    """

    name: str
    types: frozenset[str] = frozenset()
    codes: frozenset[int] = frozenset()
    text: str = ""
    control: str = ""
    stays: bool = False


# The first one that fits. CUDA errors that lose no context, such as an invalid configuration, are of their point.
CAUSES = (
    Cause(
        "no memory on the GPU",
        types=frozenset({"OutOfMemoryError"}),
        text=r"(CUDA|HIP) (error: )?out of memory|(CUDA|HIP)_ERROR_OUT_OF_MEMORY|cudaErrorMemoryAllocation"
        r"|CUBLAS_STATUS_ALLOC_FAILED|RESOURCE_EXHAUSTED: Out of memory",
        control=GPU_CONTROL,
    ),
    Cause(
        "a lost GPU",
        text=r"an illegal (memory access|instruction) was encountered|device-side assert triggered"
        r"|unspecified launch failure|misaligned address|hardware stack error|invalid program counter"
        r"|uncorrectable (ECC|NVLink) error|the launch timed out and was terminated|context is destroyed"
        r"|(CUDA|HIP) (driver )?error: (unknown|initialization) error|no CUDA-capable device is detected"
        r"|CUDA-capable device(s|\(s\) is/) ?are busy|No CUDA GPUs are available"
        r"|(CUDA|HIP)_ERROR_(ILLEGAL_(ADDRESS|INSTRUCTION)|ASSERT|LAUNCH_(FAILED|TIMEOUT)|MISALIGNED_ADDRESS|UNKNOWN"
        r"|HARDWARE_STACK_ERROR|INVALID_PC|ECC_UNCORRECTABLE|(NOT_|DE)INITIALIZED|CONTEXT_IS_DESTROYED|NO_DEVICE)"
        r"|CU(BLAS|DNN)_STATUS_(NOT_INITIALIZED|EXECUTION_FAILED|INTERNAL_ERROR)",
        stays=True,
    ),
    Cause(
        "a full disk",
        codes=frozenset({errno.ENOSPC, errno.EDQUOT}),
        text=r"No space left on device|Disk quota exceeded|database or disk is full",
    ),
    Cause(
        "no memory on the host",
        types=frozenset({"MemoryError"}),
        codes=frozenset({errno.ENOMEM}),
        text=r"DefaultCPUAllocator: (can't|not enough)|std::bad_alloc|Cannot allocate memory",
        control=HOST_CONTROL,
    ),
    Cause("a failing disk or file system", codes=frozenset({errno.EIO, errno.ESTALE, errno.EROFS})),
    Cause("too many open files", codes=frozenset({errno.EMFILE, errno.ENFILE}), stays=True),
    Cause("a module that cannot be imported", types=frozenset({"ImportError"})),
    Cause("a broken pool", types=frozenset({"BrokenExecutor"}), stays=True),
)


_met: set[Cause] = set()  # causes that stay, in this process


def find_cause(error: BaseException) -> Cause | None:
    """Return the cause by the machine that an exception, or what it was raised from, is a sign of; None for none.

    error: as the objective raised it.
    """
    for one in _chain(error, with_context=False):
        for cause in CAUSES:
            if isinstance(one, Exception) and _is_sign(one, cause):
                return cause
    return None


def _chain(error: BaseException, with_context: bool) -> list[BaseException]:
    """Return an exception and those it came of; with its context also those that were handled when it was raised."""
    found: list[BaseException] = []
    following: BaseException | None = error
    while following is not None and all(following is not one for one in found):
        found.append(following)
        following = following.__cause__ or (following.__context__ if with_context else None)
    return found


def _is_sign(error: Exception, cause: Cause) -> bool:
    if cause.types & {kind.__name__ for kind in type(error).__mro__}:
        return True
    if isinstance(error, OSError) and error.errno in cause.codes:
        return True
    return bool(cause.text) and re.search(cause.text, str(error)[:MAX_TEXT]) is not None


def name_cause(error: BaseException) -> str | None:
    """Return the name of the cause if an exception of an objective is a failure of the machine; None if of its point.

    error: whose frames lose their variables if memory was short.

    Memory that is short is of the point, unless a small allocation in a process of its own fails, too. The name ends in
    `EARLIER` if this process met a cause before that stays.
    """
    cause = find_cause(error)
    if cause is None:
        return None
    if not cause.control:
        earlier = EARLIER if cause in _met else ""
        _met.update({cause} if cause.stays else ())
        return cause.name + earlier
    _free_memory(error)
    gpu = NUMBER_OF_GPU.search(str(error))
    return cause.name if fails_control(cause.control.format(gpu[1] if gpu else 0)) else None


def name_cause_of_kill() -> str | None:
    """Return the cause if a process that was killed, as a system without memory does, shows a lack of it; else None."""
    cause = next(cause for cause in CAUSES if cause.control == HOST_CONTROL)
    return cause.name if fails_control(cause.control) else None


def fails_control(code: str) -> bool:
    """Run a line of Python in a process of its own, and return True if it fails.

    code: that allocates a little. One that needs a GPU proves nothing if this process sees none.
    """
    import subprocess

    if "torch" in code and not ((torch := sys.modules.get("torch")) and torch.cuda.is_available()):
        return False
    nowhere = subprocess.DEVNULL
    command = [sys.executable, "-c", code]
    try:
        ended = subprocess.run(
            command, stdin=nowhere, stdout=nowhere, stderr=nowhere, timeout=CONTROL_SECONDS, check=False
        )
        return ended.returncode != 0
    except subprocess.TimeoutExpired:
        return False
    except MemoryError:
        return True
    except OSError as error:  # perhaps there is not even room for a process
        return error.errno in (errno.ENOMEM, errno.EAGAIN)


def _free_memory(error: BaseException) -> None:
    """Let go of what the frames of an exception hold, and of what torch keeps of a GPU for later."""
    for one in _chain(error, with_context=True):
        clear_frames(one.__traceback__)
    if (torch := sys.modules.get("torch")) is not None:
        with contextlib.suppress(Exception):  # a device that does not answer
            torch.cuda.empty_cache()
