"""Data sets as tensors, split into training, validation and test examples; two data sets of scikit-learn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from bostruct.checks import check_choice, check_integer, check_number, short_repr
from bostruct.contracts import Array

THIRDS, FIFTHS = 3, 5
PARTS = ("train", "validation", "test")
Task = Literal["classification", "regression"]


class Examples(NamedTuple):
    """Examples of a data set: inputs and their targets.

    A `Dataset` also accepts NumPy arrays and tensors of other types, and converts them.

    Attributes
    ----------
    inputs : Tensor
        Inputs (n, ...), float32, or uint8 for images of 0 to 255.
    targets : Tensor
        Classes (n,), or float32 targets (n, targets).
    """

    inputs: Tensor
    targets: Tensor

    def __len__(self) -> int:  # type: ignore[override]
        return len(self.inputs)

    def __repr__(self) -> str:
        fields = (f"{name} {_describe_array(one)}" for name, one in zip(self._fields, self, strict=True))
        return f"Examples({', '.join(fields)})"

    def to(self, device: torch.device) -> Examples:
        """Return the examples on a device.

        Parameters
        ----------
        device : torch.device
            The device.
        """
        return Examples(self.inputs.to(device), self.targets.to(device))


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set, split into training, validation and test examples.

    Parameters
    ----------
    name : str
        The name in messages and files.
    task : {"classification", "regression"}
        The task.
    train, validation, test : Examples
        Examples of one shape, as tensors or NumPy arrays. Inputs must be finite; uint8 is kept, other types become
        float32. Targets of a classification are integers (n,) from 0 to classes - 1; targets of a regression are finite
        numbers (n, classes), or (n,) if classes is 1.
    classes : int
        The number of classes, or of targets of a regression, at least 1.
    mean, scale : sequence of float
        Mean and scale of the inputs after division of bytes by 255, one number for each channel (first dimension of an
        example), or one for all channels. The input of a network is (input - mean) / scale.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
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
        if not isinstance(self.name, str):
            raise TypeError(f"name: expected a string, got {short_repr(self.name)}")
        check_choice("task", self.task, get_args(Task))
        check_integer("classes", self.classes, 1)
        for part in PARTS:
            object.__setattr__(self, part, check_examples(part, getattr(self, part), self.task, self.classes))
        for part in PARTS[1:]:
            if (shape := tuple(getattr(self, part).inputs.shape[1:])) != self.input_shape:
                raise ValueError(
                    f"{part}.inputs: expected examples of shape {self.input_shape}, as in train, got {shape}"
                )
        for name, above in (("mean", -np.inf), ("scale", 0.0)):
            object.__setattr__(self, name, _each_channel(name, getattr(self, name), above, self.input_shape[0]))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{part} {len(getattr(self, part))}" for part in PARTS)
        what = "classes" if self.task == "classification" else "targets"
        return f"Dataset({self.name!r}, {self.task}, {sizes}, inputs {self.input_shape}, {what} {self.classes})"

    @property
    def input_shape(self) -> tuple[int, ...]:
        """The shape of one example, without the batch dimension."""
        return tuple(self.train.inputs.shape[1:])

    def part(self, fraction: float) -> Dataset:
        """Return the data set with only the first of its training examples.

        Parameters
        ----------
        fraction : float
            The share to keep, in (0, 1]; at least one example is kept.
        """
        check_number("fraction", fraction, high=1.0, above=0.0)
        n = max(1, round(fraction * len(self.train.inputs)))
        return replace(self, train=Examples(self.train.inputs[:n], self.train.targets[:n]))


def digits() -> Dataset:
    """Load 1,797 images of digits, 1 x 8 x 8, from scikit-learn, a third each for training, validation and test.

    The order is drawn with seed 0. There are so few training examples that networks differ in their errors.
    """
    from sklearn.datasets import load_digits

    pixels, classes = load_digits(return_X_y=True)
    images = np.asarray(pixels, dtype=np.float64).reshape(-1, 1, 8, 8) / 16.0
    train, validation, test = _split_examples(images, torch.as_tensor(classes, dtype=torch.int64), THIRDS)
    mean, scale = float(train.inputs.mean()), float(train.inputs.std())
    return Dataset("digits", "classification", train, validation, test, 10, (mean,), (scale,))


def diabetes() -> Dataset:
    """Load the progression of diabetes in 442 patients after a year, by 10 features, from scikit-learn.

    266 patients are for training, 88 for validation and 88 for test. Features and target have mean 0 and variance 1 on
    the training part, as in Kandasamy et al. 2018.
    """
    from sklearn.datasets import load_diabetes

    features, progression = load_diabetes(return_X_y=True)
    return regression("diabetes", np.asarray(features), np.asarray(progression))


def regression(name: str, features: Array, targets: Array, seed: int = 0) -> Dataset:
    """Make a data set of a regression: 60% of the examples for training, 20% for validation, 20% for test.

    All columns are standardized by the training part; constant columns become 0 (Kandasamy et al. 2018).

    Parameters
    ----------
    name : str
        The name in messages and files.
    features : array of shape (n, d)
        Finite numbers, n at least 5.
    targets : array of shape (n,) or (n, t)
        Finite numbers.
    seed : int, default 0
        Random seed of the split.

    Returns
    -------
    Dataset
        The data set.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """
    features, targets = _check_table("features", features), _check_table("targets", targets, single=True)
    n = len(features)
    if len(targets) != n or n < FIFTHS:
        raise ValueError(
            f"features, targets: expected equal numbers of rows, at least {FIFTHS}, got {n} and {len(targets)}"
        )
    order = _order(n, check_integer("seed", seed, 0))
    cut = order[: n - 2 * (n // FIFTHS)]
    both = [_standardize_columns(one, cut) for one in (features, targets)]
    train, validation, test = _split_examples(both[0], torch.as_tensor(both[1], dtype=torch.float32), FIFTHS, seed)
    return Dataset(name, "regression", train, validation, test, targets.shape[1])


def check_examples(part: str, given: object, task: Task, classes: int) -> Examples:
    """Check one part of a `Dataset`, and return it in the form of the data set.

    task: ``classification`` or ``regression``.
    classes: number of classes, or of targets of a regression.

    Raises TypeError, ValueError; the message names the part.
    """
    if not isinstance(given, Examples):
        raise TypeError(
            f"{part}: expected Examples(inputs, targets), got {type(given).__name__}: {short_repr(given, 40)}"
        )
    inputs = _tensor(f"{part}.inputs", given.inputs)
    inputs = inputs if inputs.dtype == torch.uint8 else inputs.to(torch.float32)
    if inputs.dim() < 2 or not inputs.numel():
        raise ValueError(f"{part}.inputs: expected shape (n, ...), all above 0, got {tuple(inputs.shape)}")
    _check_finite(f"{part}.inputs", inputs)
    targets = _tensor(f"{part}.targets", given.targets)
    chosen = _check_classes if task == "classification" else _check_targets
    targets = chosen(f"{part}.targets", targets, classes)
    if len(inputs) != len(targets):
        raise ValueError(f"{part}: expected as many inputs as targets, got {len(inputs)} and {len(targets)}")
    return Examples(inputs, targets)


def _tensor(name: str, given: object) -> Tensor:
    """Return a tensor unchanged, and a copy of any other array, because its owner may change it."""
    if isinstance(given, Tensor):
        tensor = given.detach() if given.requires_grad else given  # the same object: it is the key of caches
    else:
        try:
            tensor = torch.from_numpy(np.array(given, order="C"))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name}: expected a tensor or an array of numbers, got {_describe_array(given)}"
            ) from error
    if tensor.is_complex():
        raise TypeError(f"{name}: expected real numbers, got {tensor.dtype}")
    return tensor


def _check_classes(name: str, targets: Tensor, classes: int) -> Tensor:
    if targets.is_floating_point() or targets.dim() != 1:
        raise ValueError(f"{name}: expected integers of shape (n,), a class each, got {_describe_array(targets)}")
    targets = targets.to(torch.int64)
    low, high = (int(one) for one in targets.aminmax()) if len(targets) else (0, 0)
    if low < 0 or high >= classes:
        raise ValueError(f"{name}: expected classes in 0..{classes - 1}, got {low}..{high}")
    return targets


def _check_targets(name: str, targets: Tensor, count: int) -> Tensor:
    targets = targets.to(torch.float32)
    targets = targets[:, None] if targets.dim() == 1 else targets
    if targets.dim() != 2 or targets.shape[1] != count or not len(targets):
        raise ValueError(
            f"{name}: expected shape (n, {count}), n at least 1, as classes={count}, got {_describe_array(targets)}"
        )
    _check_finite(name, targets)
    return targets


def _check_finite(name: str, values: Tensor) -> None:
    """Check minimum and maximum, which are NaN if any number is: this allocates no tensor of the same size."""
    if values.is_floating_point() and not all(math.isfinite(one) for one in values.aminmax()):
        raise ValueError(f"{name}: expected finite numbers of float32, got NaN or infinity")


def _each_channel(name: str, given: object, above: float, channels: int) -> tuple[float, ...]:
    if isinstance(given, str) or not np.iterable(given):
        raise TypeError(f"{name}: expected a tuple of numbers, got {short_repr(given)}")
    numbers = tuple(check_number(name, one, above=above) for one in given)
    if len(numbers) not in (1, channels):
        raise ValueError(f"{name}: expected 1 number, or {channels}, one per channel, got {len(numbers)}")
    return numbers


def _describe_array(given: object) -> str:
    """Describe a value that may be large by its shape and type."""
    if isinstance(given, Tensor | np.ndarray):
        return f"{tuple(given.shape)} {str(given.dtype).removeprefix('torch.')}"
    return short_repr(given, 40)


def _check_table(name: str, given: Any, *, single: bool = False) -> Array:
    """Return a table (n, columns) of finite float64; if single, (n,) is one column. Raises TypeError, ValueError."""
    try:
        table = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: expected an array of numbers, got {short_repr(given, 40)}") from error
    table = table[:, None] if single and table.ndim == 1 else table
    if table.ndim != 2 or not table.shape[1]:
        allowed = "(n,) or (n, t)" if single else "(n, d)"
        raise ValueError(f"{name}: expected shape {allowed}, got {np.shape(given)}")
    if not np.isfinite(table).all():
        raise ValueError(f"{name}: expected finite numbers, got NaN or infinity")
    return table


def _standardize_columns(columns: Array, rows: np.ndarray) -> Array:
    spread = columns[rows].std(axis=0)
    varies = spread > 1e-9 * (1.0 + np.abs(columns[rows]).max(axis=0))
    return (columns - columns[rows].mean(axis=0)) / np.where(varies, spread, 1.0) * varies


def _order(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n)


def _split_examples(inputs: Array, targets: Tensor, parts: int, seed: int = 0) -> tuple[Examples, Examples, Examples]:
    """Split off one of `parts` equal parts for validation and one for test; the rest is for training."""
    n = len(inputs)
    cuts = np.split(_order(n, seed), [n - 2 * (n // parts), n - n // parts])
    values = torch.as_tensor(np.asarray(inputs, dtype=np.float32))
    return tuple(Examples(values[cut], targets[cut]) for cut in map(torch.as_tensor, cuts))  # type: ignore[return-value]
