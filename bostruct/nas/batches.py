"""The training examples of an epoch, in batches of a new order, augmented: on tensors that stay where they are.

Which batch comes is read from a counter on the device, and losses are noted there: between the beginning and the end
of an epoch nothing is known on the CPU, and nothing waits.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from bostruct.nas.data import Examples
from bostruct.nas.recipes import Recipe


class Batches:
    """The training examples of an epoch in a new order, in batches of one size.

    What is left over waits for another epoch; where there are too few examples for one batch it is all of them.

    data: the training examples, on a device.
    recipe: gives size of the batches and augmentation.
    generator: draws orders and augmentations, on the same device.

    It has position, int64 (1,), which batch is next, and losses, (steps,), of this epoch, both on the device.
    """

    def __init__(self, data: Examples, recipe: Recipe, generator: torch.Generator) -> None:
        n, device = len(data.inputs), data.inputs.device
        self.size = min(recipe.batch_size, n)
        self.steps = count_steps(n, recipe)
        self.position = torch.zeros(1, dtype=torch.int64, device=device)
        self.losses = torch.zeros(self.steps, device=device)
        self._data, self._recipe, self._generator = data, recipe, generator
        self._order = torch.arange(n, device=device)
        self._places = torch.arange(self.size, device=device)
        self._inputs = data.inputs

    def reshuffle(self) -> None:
        """Draw a new order, augment images anew, and begin with the first batch."""
        n, given = len(self._order), self._data.inputs
        self._order.copy_(torch.randperm(n, generator=self._generator, device=given.device))
        images = augment(given, self._recipe, self._generator)
        if images is not given and self._inputs is given:
            self._inputs = images  # from now on the place of every epoch's images
        elif images is not given:
            self._inputs.copy_(images)
        self.position.zero_()

    def take(self) -> tuple[Tensor, Tensor]:
        """Return inputs and targets of the batch at `position`."""
        chosen = self._order.index_select(0, self.position * self.size + self._places)
        return select_examples(self._inputs, chosen), self._data.targets.index_select(0, chosen)

    def record_loss(self, loss: Tensor) -> None:
        """Note the loss of the batch at `position`, and go on to the next batch.

        loss: a number on the device, without gradient.
        """
        self.losses.index_copy_(0, self.position, loss.reshape(1))
        self.position += 1


def count_steps(n: int, recipe: Recipe) -> int:
    """Return the number of batches in an epoch, from 1.

    n: number of training examples, from 1.
    recipe: gives the size of a batch.
    """
    return n // min(recipe.batch_size, n)


def select_examples(inputs: Tensor, chosen: Tensor) -> Tensor:
    """Return inputs[chosen], of images in the memory format that they have.

    inputs: (n, ...).
    chosen: int64 (m,), on the same device.
    """
    if inputs.dim() == 4 and inputs.stride(1) == 1:
        return inputs.permute(0, 2, 3, 1).index_select(0, chosen).permute(0, 3, 1, 2)
    return inputs.index_select(0, chosen)


def augment(images: Tensor, recipe: Recipe, generator: torch.Generator) -> Tensor:
    """Move images by up to `shift` pixels either way and mirror half of them, all at once.

    images: (n, channels, height, width); examples of another shape are returned as they are.
    recipe: gives `shift` and `flip`.
    generator: draws what happens to each image, on the same device.
    """
    if images.dim() != 4 or not (recipe.shift or recipe.flip):
        return images
    n, _, height, width = images.shape
    device = images.device
    lines = torch.arange(height, device=device).expand(n, height)
    columns = torch.arange(width, device=device).expand(n, width)
    if recipe.flip:
        mirrored = torch.rand(n, 1, generator=generator, device=device) < 0.5
        columns = torch.where(mirrored, width - 1 - columns, columns)
    if recipe.shift:
        images = functional.pad(images, (recipe.shift,) * 4)
        reach = 2 * recipe.shift + 1
        lines = lines + torch.randint(reach, (n, 1), generator=generator, device=device)
        columns = columns + torch.randint(reach, (n, 1), generator=generator, device=device)
    every = torch.arange(n, device=device)[:, None, None]
    channels_last = images.permute(0, 2, 3, 1)
    return channels_last[every, lines[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
