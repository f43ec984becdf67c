"""Data sets on the device, as networks see them: moved there once, and gone when nobody holds the data set any more."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from bostruct.nas.data import Dataset, Examples
from bostruct.nas.devices import with_index


class DeviceParts(NamedTuple):
    """Examples on a device, inputs float32, (input - mean) / scale; images channels-last on a GPU.

    train: to train on.
    validation: to score with while a search runs.
    test: to score with once it has ended.
    """

    train: Examples
    validation: Examples
    test: Examples


_ON_DEVICE = WeakTensorKeyDictionary()  # inputs or targets of a part of a data set -> where and how -> the tensor there
_WHOLES = WeakTensorKeyDictionary()  # inputs of the first share of some training examples -> all of these


def on_device(data: Dataset, device: torch.device) -> DeviceParts:
    """Return a data set's parts on a device, the same tensors at every call; they must not be changed.

    data: with its tensors anywhere.
    device: where they are wanted.
    """
    there = with_index(device)  # "cuda" and "cuda:0" can be one
    return DeviceParts(*(_examples_on_device(part, data, there) for part in (data.train, data.validation, data.test)))


def fraction_of(data: Dataset, fraction: float) -> Dataset:
    """Return `Dataset.part`; on a device it is the first examples of the whole there, no copy of its own.

    data: the whole.
    fraction: share of the training examples, in (0, 1].
    """
    if fraction == 1.0:
        return data
    part = data.part(fraction)
    _WHOLES[part.train.inputs] = data.train
    return part


def _examples_on_device(examples: Examples, data: Dataset, device: torch.device) -> Examples:
    whole: Examples | None = _WHOLES.get(examples.inputs)
    if whole is not None:
        there, n = _examples_on_device(whole, data, device), len(examples.inputs)
        return Examples(there.inputs[:n], there.targets[:n])
    inputs = _memoize(
        examples.inputs, (str(device), data.mean, data.scale), lambda: _normalize_inputs(examples.inputs, data, device)
    )
    targets = _memoize(examples.targets, str(device), lambda: examples.targets.to(device))
    return Examples(inputs, targets)


def _memoize(source: Tensor, key: Hashable, make: Callable[[], Tensor]) -> Tensor:
    """Return what `make` makes of a tensor; it is made once for as long as somebody holds that tensor."""
    held: Any = _ON_DEVICE.setdefault(source, {})  # of Hashable to Tensor, which torch does not state
    if key not in held:
        made = make()
        if made is source:  # already there; kept here it would keep itself
            return made
        if made.is_cuda:
            torch.cuda.current_stream(made.device).synchronize()  # other streams may read it from now on
        held[key] = made
    return held[key]


def _normalize_inputs(inputs: Tensor, data: Dataset, device: torch.device) -> Tensor:
    values = inputs.to(device)
    values = values.float() / 255.0 if values.dtype == torch.uint8 else values
    shape = (1, -1, *[1] * (values.dim() - 2))
    mean, scale = (torch.tensor(one, device=device).reshape(shape) for one in (data.mean, data.scale))
    values = (values - mean) / scale
    if device.type == "cuda" and values.dim() == 4:
        values = values.contiguous(memory_format=torch.channels_last)
    return values
