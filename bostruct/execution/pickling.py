"""Objectives and points as bytes for a worker process."""

from __future__ import annotations

import sys
from collections import ChainMap
from importlib import import_module
from io import BytesIO
from pickle import HIGHEST_PROTOCOL
from types import ModuleType
from typing import Any, ClassVar


def pickle_for_worker(name: str, value: Any) -> bytes:
    """Pickle a value by cloudpickle, and modules of every kind by their names.

    name: of the value, for the message.
    value: an objective or a point.

    Raises TypeError where it cannot be pickled.

    Libraries put instances of subclasses of ModuleType into `sys.modules`, such as `torch.ops`, which no pickle takes.
    cloudpickle meets them without being asked to: a function that reads `torch` takes along each loaded submodule whose
    name occurs in its code, be it for something else.
    """
    import cloudpickle

    kinds = {type(module) for module in sys.modules.copy().values() if isinstance(module, ModuleType)} - {ModuleType}

    table: Any = cloudpickle.Pickler.dispatch_table

    class Pickler(cloudpickle.Pickler):
        dispatch_table: ClassVar[Any] = ChainMap(dict.fromkeys(kinds, _by_name), table)

    try:
        with BytesIO() as file:
            Pickler(file).dump(value)
            return file.getvalue()
    except Exception as error:
        raise TypeError(
            f"{name}: cannot be sent to a worker process: {error!r}. It refers to what only this process has, such as "
            "a lock, a connection or a generator; make that inside the objective, or do without workers and "
            "trial_timeout"
        ) from error


def _by_name(module: ModuleType) -> Any:
    name = module.__name__
    return (import_module, (name,)) if sys.modules.get(name) is module else module.__reduce_ex__(HIGHEST_PROTOCOL)
