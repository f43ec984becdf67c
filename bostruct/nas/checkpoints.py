"""Checkpoints of trainings after every epoch, from which a killed training resumes."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import nn

from bostruct.nas.data import Dataset
from bostruct.nas.outcomes import Epoch
from bostruct.nas.recipes import Recipe

_DIGESTS: WeakKeyDictionary[Dataset, str] = WeakKeyDictionary()


@dataclass
class TrainingState:
    """The state of a training in a checkpoint."""

    network: nn.Module
    optimizer: torch.optim.Optimizer
    generator: torch.Generator
    epochs: list[Epoch] = field(default_factory=list)


def checkpoint_identity(data: Dataset, recipe: Recipe, seed: int, device: torch.device) -> dict[str, str]:
    """Return the settings that a training must share with a checkpoint to resume from it, by name."""
    return {
        "data": data_digest(data),
        "recipe": repr(recipe),
        "seed": str(seed),
        "device": device.type,
        "torch": str(torch.__version__),
    }


def data_digest(data: Dataset) -> str:
    """Return a digest of the content and shapes of a data set that a training uses.

    It is computed once during the lifetime of the data set.
    """
    if data not in _DIGESTS:
        digest = hashlib.blake2b(repr((data.task, data.classes, data.mean, data.scale)).encode(), digest_size=16)
        for one in (*data.train, *data.validation):
            digest.update(repr((one.dtype, tuple(one.shape))).encode())
            digest.update(one.detach().cpu().contiguous().numpy().tobytes())
        _DIGESTS[data] = digest.hexdigest()
    return _DIGESTS[data]


def save_checkpoint(path: Path | None, state: TrainingState, about: Mapping[str, str]) -> None:
    """Write network, optimizer, random states and epochs atomically: the file is complete or does not exist.

    path: path of the file, None for no checkpoint.
    """
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    torch.save({"about": dict(about), **_contents(state)}, partial)
    with contextlib.suppress(FileNotFoundError):  # deleted by another process with the same training
        os.replace(partial, path)


def load_checkpoint(path: Path | None, state: TrainingState, about: Mapping[str, str]) -> None:
    """Restore a training from a checkpoint.

    The training is unchanged if there is no file, and, with a warning, if the file is damaged or of another training.

    path: path of the file, None for no checkpoint.
    """
    if path is None:
        return
    _sweep(path)
    if not path.exists():
        return
    before = copy.deepcopy(_contents(state))
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        if differing := [name for name, value in about.items() if saved["about"][name] != value]:
            warnings.warn(f"{path}: of another training (other {', '.join(differing)}), it starts over", stacklevel=3)
            return
        _restore(state, saved)
    except Exception as error:  # a checkpoint only saves time: the training can be repeated without it
        _restore(state, before)
        warnings.warn(f"{path}: not a whole checkpoint, the training starts over ({error!r})", stacklevel=3)


def delete_checkpoint(path: Path | None) -> None:
    """Delete the file of a completed or failed training, and its partial files of killed processes.

    path: path of the file, None for no checkpoint.
    """
    if path is not None:
        path.unlink(missing_ok=True)
        _sweep(path)


def _sweep(path: Path) -> None:
    """Delete partial files of processes that were killed while they saved."""
    for partial in path.parent.glob(f"{path.name}.*"):
        partial.unlink(missing_ok=True)


def _contents(state: TrainingState) -> dict[str, Any]:
    device = state.generator.device
    return {
        "network": state.network.state_dict(),
        "optimizer": state.optimizer.state_dict(),
        "generator": state.generator.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
        "epochs": [tuple(epoch) for epoch in state.epochs],
    }


def _restore(state: TrainingState, saved: Mapping[str, Any]) -> None:
    state.network.load_state_dict(saved["network"])
    # The groups of this optimizer are kept: only one of the two optimizers may have graphs.
    groups = state.optimizer.state_dict()["param_groups"]
    rates = [group["lr"] for group in groups]
    state.optimizer.load_state_dict({"state": saved["optimizer"]["state"], "param_groups": groups})
    for group, rate in zip(state.optimizer.param_groups, rates, strict=True):
        group["lr"] = rate  # set before every step; with graphs it is the tensor that they read
    state.generator.set_state(saved["generator"])
    torch.set_rng_state(saved["torch"])
    if saved["cuda"] is not None:
        torch.cuda.set_rng_state(saved["cuda"], state.generator.device)
    state.epochs[:] = [Epoch(*one) for one in saved["epochs"]]
