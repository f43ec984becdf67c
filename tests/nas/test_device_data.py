"""Data on a device: moved there once, and gone with the data set."""

from __future__ import annotations

import gc
import weakref

import torch

from bostruct.nas import Dataset, diabetes
from bostruct.nas.devices import fraction_of, on_device
from tests.nas.graphs import CPU


def test_data_are_moved_once_and_go_with_the_data_set():
    data = diabetes()
    first = on_device(data, CPU)
    assert on_device(data, CPU).train.inputs is first.train.inputs
    part = fraction_of(data, 0.5)
    there = on_device(part, CPU)
    assert there.validation.inputs is first.validation.inputs
    assert there.train.inputs.data_ptr() == first.train.inputs.data_ptr()  # the first examples, and no copy of them
    assert torch.equal(there.train.inputs, on_device(data.part(0.5), CPU).train.inputs)
    assert torch.equal(there.train.targets, part.train.targets)
    scaled = Dataset("d", data.task, data.train, data.validation, data.test, data.classes, (1.0,), (2.0,))
    assert not torch.equal(on_device(scaled, CPU).train.inputs, first.train.inputs)
    held = weakref.ref(first.train.inputs)
    del data, first, part, scaled, there
    gc.collect()
    assert held() is None
