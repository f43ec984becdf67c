"""A random forest as a surrogate, as in SMAC (Hutter, Hoos and Leyton-Brown 2011)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import Array, Batch, Choice, Info, Point, Posterior, Prediction, State, Surrogate
from bostruct.surrogates.fanova import Feature, design_and_features, fill_design, fill_design_from_values, grow_forest
from bostruct.surrogates.hyperparameters import check_values
from bostruct.surrogates.standardization import standardize

SMALLEST_TREE_VARIANCE = 1e-8  # of standardized values, in case all trees agree


@dataclass(frozen=True)
class RandomForest(Surrogate):
    """A random forest, as in SMAC (Hutter, Hoos and Leyton-Brown 2011).

    Mean and variance are computed over the predictions of the trees. Trees are unpruned, grown on bootstrap samples,
    and try every choice at every cut.

    trees: number of trees, at least 1.
    values: m points -> the values of their choices (m, d), which is much faster if all points have the same choices in
        the same order; None if they do not.

    Raises TypeError, ValueError.
    """

    choices: Callable[[Point], Sequence[Choice]]
    trees: int = 32
    values: Callable[[Batch], Array] | None = None

    def __post_init__(self) -> None:
        check_integer("trees", self.trees, 1)

    @property
    def has_covariance(self) -> bool:
        return False

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[ForestPosterior, State, Info]:
        """Grow a forest.

        Returns the posterior, the state for the next call, and the info to record. Raises NumericalError.
        """
        check_values(values)
        standard, shift, scale = standardize(values)
        design, features = design_and_features([self.choices(x) for x in xs])
        forest = grow_forest(design, standard, int(rng.integers(2**31)), self.trees)
        return ForestPosterior(self, forest, tuple(features), shift, scale), state, {"trees": self.trees}


@dataclass(frozen=True, eq=False)
class ForestPosterior(Posterior):
    """A fitted forest.

    shift, scale: a standardized value is shift + scale * value in the user's units.
    """

    model: RandomForest
    forest: Any
    features: tuple[Feature, ...]
    shift: float
    scale: float

    def predict(self, xs: Batch) -> Prediction:
        """Return mean and variance over trees, (1, m) each."""
        if not len(xs):
            return Prediction(np.empty((1, 0)), np.empty((1, 0)))
        if self.model.values is not None:
            design = fill_design_from_values(self.model.values(xs), self.features)
        else:
            design = fill_design([self.model.choices(x) for x in xs], self.features)
        design = design.astype(np.float32)
        by_tree = np.stack([tree.predict(design)[:, 0] for tree in self.forest])
        mean, variance = by_tree.mean(axis=0), np.maximum(by_tree.var(axis=0), SMALLEST_TREE_VARIANCE)
        return Prediction(self.shift + self.scale * mean[None], self.scale**2 * variance[None])

    def screen(self, xs: Batch) -> Prediction:
        """Return the prediction of `predict`, because no cheaper one exists."""
        return self.predict(xs)
