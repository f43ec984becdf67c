"""The batches of an epoch: each example once, in places that stay, images moved and mirrored."""

from __future__ import annotations

import torch

from bostruct.nas import Recipe
from bostruct.nas.devices import DeviceExamples
from bostruct.nas.steps import Batches, Moves, count_steps
from tests.nas.graphs import CPU


def on_cpu(inputs):
    return DeviceExamples(inputs, torch.arange(len(inputs)), torch.zeros(1), torch.ones(1))


def test_buffers_stay_where_they_are():
    images = on_cpu(torch.rand(70, 3, 8, 8))
    batches = Batches(images, Recipe(batch_size=32, shift=2, flip=True), torch.Generator().manual_seed(0))
    places = set()
    for _ in range(3):
        batches.reshuffle()
        seen = []
        for _ in range(batches.steps):
            seen.append(batches.take()[1])
            batches.record_loss(torch.tensor(1.0))
        places.add((batches._moves._down.data_ptr(), batches._order.data_ptr()))
        assert len(set(torch.cat(seen).tolist())) == 64
    assert len(places) == 1


def moved(images, recipe):
    moves = Moves(len(images), recipe, CPU)
    moves.draw(torch.Generator().manual_seed(0))
    return moves.apply(images, torch.arange(len(images)))


def test_augmentation_moves_and_mirrors_each_image_by_itself():
    images = torch.arange(2 * 3 * 5 * 5, dtype=torch.float32).reshape(2, 3, 5, 5).repeat(200, 1, 1, 1)
    found = moved(images, Recipe(flip=True))
    mirrored = (found == images.flip(3)).flatten(1).all(dim=1)
    kept = (found == images).flatten(1).all(dim=1)
    assert (mirrored | kept).all()
    assert 0.4 < mirrored.float().mean() < 0.6
    counts = {int(one.sum()) for one in moved(torch.ones(400, 1, 5, 5), Recipe(shift=2))}
    assert counts == {a * b for a in (3, 4, 5) for b in (3, 4, 5)}
    assert Batches(on_cpu(images), Recipe(), torch.Generator())._moves is None


def test_what_is_left_over_waits_and_too_few_are_one_batch():
    assert [count_steps(n, Recipe(batch_size=32)) for n in (1, 31, 32, 63, 64)] == [1, 1, 1, 1, 2]


def test_losses_are_noted_in_their_order():
    batches = Batches(on_cpu(torch.rand(9, 2)), Recipe(batch_size=3), torch.Generator())
    batches.reshuffle()
    for loss in (1.0, 2.0, 4.0):
        batches.record_loss(torch.tensor(loss))
    assert batches.losses.tolist() == [1.0, 2.0, 4.0]


def test_examples_are_selected_in_their_memory_format():
    images, chosen = torch.rand(6, 3, 4, 5), torch.tensor([4, 0, 4])
    for given in (images, images.contiguous(memory_format=torch.channels_last)):
        found = on_cpu(given).take(chosen)[0]
        assert torch.equal(found, images[chosen])
        assert found.stride(1) == given.stride(1)
