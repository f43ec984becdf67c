"""Data sets as tensors, split into training, validation and test examples. Those here come with scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from bostruct.checks import check_choice, check_integer, check_number
from bostruct.contracts import Array

THIRDS, FIFTHS = 3, 5
Task = Literal["classification", "regression"]


class Examples(NamedTuple):
    """inputs: (n, ...) float32, or uint8 for images in 0..255. targets: (n,) classes, or (n, targets) float32."""

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.inputs)

    def to(self, device: torch.device) -> Examples:
        return Examples(self.inputs.to(device), self.targets.to(device))


@dataclass(frozen=True, eq=False)
class Dataset:
    """name: for messages and file names. classes: or targets of a regression. mean, scale: a channel, of inputs once
    bytes are divided by 255; a network sees (input - mean) / scale. Raises ValueError where sizes disagree.
    """

    name: str
    task: Task
    train: Examples
    validation: Examples
    test: Examples
    classes: int
    mean: tuple[float, ...] = (0.0,)
    scale: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        check_choice("task", self.task, get_args(Task))
        check_integer("classes", self.classes, 1)
        for part, examples in (("train", self.train), ("validation", self.validation), ("test", self.test)):
            if len(examples.inputs) != len(examples.targets) or not len(examples.inputs):
                raise ValueError(
                    f"{part}: expected as many inputs as targets, at least 1; got {len(examples.inputs)} and "
                    f"{len(examples.targets)}"
                )

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Of one example."""
        return tuple(self.train.inputs.shape[1:])

    def part(self, fraction: float) -> Dataset:
        """The same with the first share of the training examples, at least one; fraction in (0, 1]."""
        check_number("fraction", fraction, 1e-12, 1.0)
        n = max(1, round(fraction * len(self.train.inputs)))
        return replace(self, train=Examples(self.train.inputs[:n], self.train.targets[:n]))


def digits() -> Dataset:
    """1,797 images of digits, 1 x 8 x 8, with scikit-learn: a third each to train on, to validate and to test.

    In an order drawn with seed 0, the same everywhere. So few to train on leave networks something to differ in.
    """
    from sklearn.datasets import load_digits

    pixels, classes = load_digits(return_X_y=True)
    images = np.asarray(pixels, dtype=np.float64).reshape(-1, 1, 8, 8) / 16.0
    train, validation, test = _split(images, torch.as_tensor(classes, dtype=torch.int64), THIRDS)
    mean, scale = float(train.inputs.mean()), float(train.inputs.std())
    return Dataset("digits", "classification", train, validation, test, 10, (mean,), (scale,))


def diabetes() -> Dataset:
    """442 patients, 10 features, the progression of diabetes after a year, with scikit-learn: 266, 88 and 88 of them.

    Features and target have mean 0 and variance 1 on the training part, as in Kandasamy et al. 2018.
    """
    from sklearn.datasets import load_diabetes

    features, progression = load_diabetes(return_X_y=True)
    return regression("diabetes", np.asarray(features), np.asarray(progression))


def regression(name: str, features: Array, targets: Array, seed: int = 0) -> Dataset:
    """A regression on (n, d) features and (n,) or (n, t) targets: 0.6 to train on, 0.2 to validate, 0.2 to test.

    Drawn with `seed`; all standardised by the training part, columns that do not vary at 0 (Kandasamy et al. 2018).
    """
    targets = np.asarray(targets, dtype=np.float64).reshape(len(features), -1)
    order = _order(len(features), seed)
    cut = order[: len(features) - 2 * (len(features) // FIFTHS)]
    both = [_standardised(np.asarray(one, dtype=np.float64), cut) for one in (features, targets)]
    train, validation, test = _split(both[0], torch.as_tensor(both[1], dtype=torch.float32), FIFTHS, seed)
    return Dataset(name, "regression", train, validation, test, targets.shape[1])


DATASETS: dict[str, Callable[[], Dataset]] = {"digits": digits, "diabetes": diabetes}


def _standardised(columns: Array, rows: np.ndarray) -> Array:
    spread = columns[rows].std(axis=0)
    varies = spread > 1e-9 * (1.0 + np.abs(columns[rows]).max(axis=0))
    return (columns - columns[rows].mean(axis=0)) / np.where(varies, spread, 1.0) * varies


def _order(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n)


def _split(inputs: Array, targets: Tensor, held: int, seed: int = 0) -> tuple[Examples, Examples, Examples]:
    """One part in `held` to validate, as many to test, the rest to train on."""
    n = len(inputs)
    cuts = np.split(_order(n, seed), [n - 2 * (n // held), n - n // held])
    values = torch.as_tensor(np.asarray(inputs, dtype=np.float32))
    return tuple(Examples(values[cut], targets[cut]) for cut in map(torch.as_tensor, cuts))  # type: ignore[return-value]
