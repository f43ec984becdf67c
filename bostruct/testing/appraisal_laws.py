"""The laws of an appraisal, what a searcher says of the points told, and of what it says of other points."""

from __future__ import annotations

import numpy as np

from bostruct.checks import short_repr
from bostruct.contracts import (
    Appraisal,
    HasAppraisal,
    HasPrediction,
    HistoryView,
    NumericalError,
    Predicted,
    Prediction,
    State,
)
from bostruct.testing.common import assert_close, check_array, no_global_randomness


def check_appraisal(searcher: HasAppraisal, history: HistoryView, state: State, seed: int) -> None:
    """Check that an appraisal speaks of each completed point, and is the same for the same seed.

    searcher: that appraises.
    history: at least one completed point.
    state: of the searcher's last suggestion.
    seed: of the generator given.
    """
    found = []
    for _ in range(2):
        try:
            with no_global_randomness():
                found.append(searcher.appraise(history, state, np.random.default_rng(seed)))
        except NumericalError:  # which a model that cannot be fitted may say
            return
    first, again = found
    assert isinstance(first, Appraisal), f"appraise returns an Appraisal: got {short_repr(first)}"
    n = len(history.values)
    eligible = check_array(first.eligible, 1, "eligible is one bool a completed point (n,)")
    is_right = eligible.dtype == np.bool_ and eligible.shape == (n,)
    assert is_right, f"eligible is one bool a completed point: expected {n}, got {eligible.shape} of {eligible.dtype}"
    assert np.array_equal(again.eligible, eligible), "appraise with the same generator finds the same points eligible"
    if first.prediction is not None:
        _check_prediction(first.prediction, n)
        assert again.prediction is not None, "appraise with the same generator predicts each time"
        law = "appraise with the same generator predicts the same"
        assert_close(again.prediction.mean, first.prediction.mean, 0.0, law)


def check_predicted(searcher: HasPrediction, history: HistoryView, state: State, seed: int) -> None:
    """Check that a searcher predicts each point asked for, and the same for the same seed.

    searcher: that predicts.
    history: whatever was told.
    state: of the searcher's last suggestion.
    seed: of the generators.
    """
    xs = searcher.domain.sample(3, np.random.default_rng(seed))
    found = []
    for _ in range(2):
        try:
            with no_global_randomness():
                found.append(searcher.predict(history, state, xs, np.random.default_rng(seed)))
        except NumericalError:  # which a model that cannot be fitted may say
            return
    first, again = found
    assert isinstance(first, Predicted), f"predict returns a Predicted: got {short_repr(first)}"
    for array, other, name in zip(first, again, Predicted._fields, strict=True):
        shape = "(m,)" if name == "log_chance" else "(k, s, m)"
        array = check_array(array, 1 if name == "log_chance" else 3, f"the {name} predicted is {shape}")
        assert array.shape[-1] == 3, f"the {name} predicted is {shape}: expected m = 3, got {array.shape}"
        assert np.array_equal(array, other), f"predict with the same generator finds the same {name}"
    assert np.all(np.isfinite(first.mean)), "the mean predicted is finite"
    assert np.all(np.isfinite(first.variance) & (first.variance >= 0.0)), "the variance predicted is at least 0"
    assert np.all(first.log_chance <= 0.0), "the log chance predicted is at most 0"


def _check_prediction(prediction: Prediction, n: int) -> None:
    for array, name in zip(prediction, Prediction._fields, strict=True):
        array = check_array(array, 2, f"the {name} of an appraisal is (s, n)")
        assert array.shape[1] == n, f"the {name} of an appraisal is (s, n): expected n = {n}, got {array.shape}"
        assert np.all(np.isfinite(array)), f"the {name} of an appraisal is finite"
    assert np.all(prediction.variance >= 0.0), "the variance of an appraisal is at least 0"
