"""Trainings on disk, after every epoch, so that one that was killed goes on."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import torch


def save_checkpoint(path: Path | None, run: Any) -> None:
    """Write network, optimizer, random states and epochs, in one step: a file is whole or not there."""
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    device = next(run.network.parameters()).device
    held = {
        "network": run.network.state_dict(),
        "optimizer": run.optimizer.state_dict(),
        "generator": run.generator.get_state(),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state(device) if device.type == "cuda" else None,
        "epochs": [tuple(epoch) for epoch in run.epochs],
    }
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    torch.save(held, partial)
    os.replace(partial, path)


def load_checkpoint(path: Path | None, run: Any) -> None:
    """Bring a run to where the file left it; nothing where there is no file, or one that is damaged."""
    if path is None or not path.exists():
        return
    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
        epochs = held["epochs"]
    except Exception as error:  # it saves time and holds nothing that a training cannot make again
        warnings.warn(f"{path}: not a whole checkpoint, the training begins anew ({error!r})", stacklevel=3)
        return
    from bostruct.nas.training import Epoch

    run.network.load_state_dict(held["network"])
    rates = [group["lr"] for group in run.optimizer.param_groups]
    run.optimizer.load_state_dict(held["optimizer"])
    for group, rate in zip(run.optimizer.param_groups, rates, strict=True):
        group["lr"] = rate  # set before every step; on a GPU a tensor there, which the file holds on the CPU
    run.generator.set_state(held["generator"])
    torch.set_rng_state(held["torch"])
    if held["cuda"] is not None:
        torch.cuda.set_rng_state(held["cuda"], next(run.network.parameters()).device)
    run.epochs[:] = [Epoch(*one) for one in epochs]
