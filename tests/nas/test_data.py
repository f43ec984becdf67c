"""Data sets: what is taken, as what it is held, and what is refused in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from bostruct.nas import NetworkObjective, Recipe
from bostruct.nas.data import Dataset, Examples, diabetes, digits, regression

RNG = np.random.default_rng(0)
FEATURES, VALUES = RNG.normal(size=(30, 4)), RNG.normal(size=30)
LABELS = np.arange(30) % 3


def made(targets: Any, *, inputs: Any = FEATURES, task: Any = "classification", classes: int = 3, **changed: Any):
    part = Examples(inputs, targets)
    given: dict[str, Any] = {"name": "own", "train": part, "validation": part, "test": part, **changed}
    return Dataset(task=task, classes=classes, **given)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, bool])
def test_arrays_are_taken_and_classes_of_any_integer_type(dtype):
    labels = (LABELS % 2).astype(dtype)
    features = FEATURES.copy()
    features.flags.writeable = False
    data = made(labels, inputs=features, classes=2)
    assert data.train.inputs.dtype == torch.float32
    assert data.train.targets.dtype == torch.int64
    np.testing.assert_array_equal(data.train.targets, LABELS % 2)
    np.testing.assert_allclose(data.train.inputs, FEATURES, rtol=1e-6)


def test_what_is_right_already_is_held_as_it_is():
    images = torch.zeros(5, 3, 2, 2, dtype=torch.uint8)
    labels = torch.arange(5)
    data = made(labels, inputs=images, classes=5)
    assert data.train.inputs is not None
    assert data.train.inputs.data_ptr() == images.data_ptr()
    assert data.train.targets.data_ptr() == labels.data_ptr()
    assert data.part(0.4).train.targets.tolist() == [0, 1]


def test_a_copy_is_held_of_an_array_that_may_change():
    features = FEATURES.astype(np.float32)
    data = made(LABELS, inputs=features)
    features[:] = 0.0
    np.testing.assert_array_equal(data.train.inputs, FEATURES.astype(np.float32))


def test_values_of_a_regression_are_a_column():
    flat = made(VALUES, task="regression", classes=1)
    column = made(VALUES[:, None], task="regression", classes=1)
    assert flat.train.targets.shape == (30, 1)
    assert torch.equal(flat.train.targets, column.train.targets)


def test_a_regression_on_one_dimensional_targets_trains_as_on_a_column():
    import bostruct as bo

    values = [
        NetworkObjective(made(targets, task="regression", classes=1), Recipe(epochs=2, batch_size=10))(
            bo.Architecture.chain("relu-4 linear")
        )
        for targets in (VALUES, VALUES[:, None])
    ]
    assert values[0] == values[1]


LARGE = FEATURES.copy()
LARGE[3, 2] = 1e300
HOLED = np.where(np.arange(30) == 7, np.nan, VALUES)

REFUSED = {
    "a tuple": (lambda: made(LABELS, test=(FEATURES, LABELS)), "test: expected Examples.*got tuple"),
    "nothing": (lambda: made(LABELS, test=None), "test: expected Examples.*got NoneType"),
    "floats as classes": (lambda: made(LABELS.astype(float)), r"train.targets: expected integers.*\(30,\) float64"),
    "one-hot": (lambda: made(np.eye(3, dtype=int)[LABELS]), r"train.targets: expected integers.*\(30, 3\) int64"),
    "a class too many": (lambda: made(LABELS + 1), r"train.targets: expected classes in 0\.\.2, got 1\.\.3"),
    "a negative class": (lambda: made(LABELS - 1), r"expected classes in 0\.\.2, got -1\.\.1"),
    "words": (lambda: made(np.array(["cat"] * 30)), "train.targets: expected a tensor or an array of numbers"),
    "too few": (lambda: made(LABELS[:-1]), "train: expected as many inputs as targets, got 30 and 29"),
    "infinite in float32": (lambda: made(LABELS, inputs=LARGE), "train.inputs: expected finite"),
    "complex": (lambda: made(LABELS, inputs=FEATURES * 1j), "train.inputs: expected real numbers"),
    "no examples": (lambda: made(LABELS[:0], inputs=FEATURES[:0]), r"train.inputs: expected shape \(n, ...\)"),
    "one dimension": (lambda: made(LABELS, inputs=VALUES), r"train.inputs: expected shape \(n, ...\).*\(30,\)"),
    "holes": (lambda: made(HOLED, task="regression", classes=1), "train.targets: expected finite"),
    "two targets": (lambda: made(FEATURES[:, :2], task="regression", classes=1), r"train.targets: expected shape"),
    "other shapes": (
        lambda: made(LABELS, validation=Examples(FEATURES[:, :3], LABELS)),
        r"validation.inputs: expected examples of shape \(4,\), as in train, got \(3,\)",
    ),
    "means": (lambda: made(LABELS, mean=(0.0, 0.0)), "mean: expected 1 number, or 4, one per channel, got 2"),
    "a bare mean": (lambda: made(LABELS, mean=0.5), "mean: expected a tuple of numbers, got 0.5"),
    "scale 0": (lambda: made(LABELS, scale=(0.0,)), "scale: expected a finite number"),
    "a name": (lambda: made(LABELS, name=3), "name: expected a string"),
    "flat features": (lambda: regression("r", VALUES, VALUES), r"features: expected shape \(n, d\), got \(30,\)"),
    "lengths": (lambda: regression("r", FEATURES, VALUES[:9]), "features, targets: .*got 30 and 9"),
    "rows": (lambda: regression("r", FEATURES[:4], VALUES[:4]), "at least 5, got 4 and 4"),
    "NaN": (lambda: regression("r", FEATURES, HOLED), "targets: expected finite"),
    "text": (lambda: regression("r", np.array([["a"]] * 9), VALUES[:9]), "features: expected an array of numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_trained_on_is_refused_by_name(case):
    make, message = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_five_rows_are_enough():
    data = regression("r", FEATURES[:5], VALUES[:5])
    assert [len(one) for one in (data.train, data.validation, data.test)] == [3, 1, 1]


def test_a_data_set_is_shown_by_its_shapes():
    assert repr(digits()) == (
        "Dataset('digits', classification, train 599, validation 599, test 599, inputs (1, 8, 8), classes 10)"
    )
    assert repr(diabetes().test) == "Examples(inputs (88, 10) float32, targets (88, 1) float32)"


def test_the_package_lists_what_it_has():
    import bostruct.nas

    assert set(bostruct.nas.__all__) <= set(dir(bostruct.nas))


def test_the_data_sets_are_split_without_overlap():
    data = digits()
    assert (len(data.train.inputs), len(data.validation.inputs), len(data.test.inputs)) == (599, 599, 599)
    assert data.input_shape == (1, 8, 8)
    rows = [set(map(bytes, part.inputs.numpy().reshape(len(part.inputs), -1))) for part in (data.train, data.test)]
    assert len(rows[0] & rows[1]) < 5  # a few digits occur twice
    data = diabetes()
    assert (len(data.train.inputs), len(data.validation.inputs), len(data.test.inputs)) == (266, 88, 88)
    assert data.train.inputs.mean(dim=0).abs().max() < 1e-5
    assert float(data.train.targets.std(unbiased=False)) == pytest.approx(1.0, abs=1e-5)
    assert len(data.part(0.1).train.inputs) == 27
    with pytest.raises(ValueError, match="fraction"):
        data.part(0.0)


def test_columns_that_do_not_vary_become_zero():
    features = np.column_stack([np.full(50, 7.0), np.arange(50.0)])
    data = regression("two", features, np.arange(50.0))
    assert not data.train.inputs[:, 0].any()
    assert torch.isfinite(data.test.inputs).all()


def test_examples_count_their_inputs():
    with pytest.raises(ValueError, match="as many inputs as targets"):
        replace(diabetes(), test=Examples(torch.zeros(3, 10), torch.zeros(2, 1)))
