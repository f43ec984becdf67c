"""Data on a device: moved there once, and gone with the data set."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest
import torch

from bostruct.nas import Dataset, Examples, diabetes, train
from bostruct.nas.devices import fraction_of, on_device
from tests.nas.graphs import CPU
from tests.nas.trainings import CONVOLUTION, QUICK, RESIDUAL, built


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


def images(n, pixels=8):
    """Return a data set of bytes, and the same as float32 that are normalized."""
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randint(256, (3 * n, 3, pixels, pixels), dtype=torch.uint8, generator=generator)
    classes = torch.randint(4, (3 * n,), generator=generator)
    mean, scale = (0.49, 0.48, 0.44), (0.25, 0.24, 0.26)
    shift, factor = (torch.tensor(one).reshape(1, 3, 1, 1) for one in (mean, scale))
    floats = (numbers.float() / 255.0 - shift) / factor
    parts = (
        [Examples(one, t) for one, t in zip(each.split(n), classes.split(n), strict=True)] for each in (numbers, floats)
    )
    return Dataset("bytes", "classification", *next(parts), 4, mean, scale), Dataset(
        "floats", "classification", *next(parts), 4
    )


@pytest.mark.parametrize(
    "settings", [{}, {"shift": 2}, {"flip": True}, {"shift": 3, "flip": True}, {"statistics": "batch"}]
)
def test_trainings_on_bytes_are_those_on_floats_bit_for_bit(settings):
    recipe = replace(QUICK, epochs=2, **settings)
    for network in (CONVOLUTION, RESIDUAL):
        found = [train(built(network, data, 0.2), data, recipe, 3) for data in images(70)]
        assert found[0].epochs == found[1].epochs
        assert found[0].test_error == found[1].test_error
        states = [one.network.state_dict() for one in found]
        assert all(torch.equal(value, states[1][name]) for name, value in states[0].items())


def test_images_take_a_quarter_of_the_bytes_of_floats_and_no_copy_on_a_cpu():
    small, large = (on_device(data, CPU) for data in images(50, pixels=32))
    taken = [sum(part.inputs.nbytes for part in parts) for parts in (small, large)]
    assert taken == [150 * 3 * 32 * 32, 4 * 150 * 3 * 32 * 32]
    data = images(50)[0]
    assert on_device(data, CPU).train.inputs is data.train.inputs
