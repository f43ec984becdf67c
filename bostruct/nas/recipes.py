"""Recipes for training networks: the protocols of the papers, and a fast recipe."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from bostruct.checks import check_bool, check_choice, check_integer, check_number, short_repr

Optimizer = Literal["adam", "sgd"]
Schedule = Literal["constant", "cosine", "steps", "triangle"]
ScoreRule = Literal["best", "last"]
Statistics = Literal["running", "batch"]


@dataclass(frozen=True)
class Recipe:
    """A recipe for training a network.

    Parameters
    ----------
    epochs : int, default 20
        Passes over the training examples, at least 1.
    batch_size : int, default 100
        Examples per step, at least 1.
    optimizer : {"adam", "sgd"}, default "adam"
        The optimizer.
    learning_rate : float, default 0.001
        The highest learning rate, above 0.
    momentum : float, default 0.9
        Momentum of "sgd", in [0, 1).
    weight_decay : float, default 0.0
        Weight decay, at least 0.
    schedule : {"constant", "cosine", "steps", "triangle"}, default "constant"
        The learning rate over time: constant, a cosine to 0, steps (see `drops`), or linearly up in the first fifth,
        then linearly down to 0.
    drops : tuple of tuple of (float, float), default ()
        For "steps": from the share `drops[i][0]` of all epochs onward, ascending in (0, 1), the rate is multiplied by
        `drops[i][1]`, above 0.
    loss : {"squared", "absolute"}, default "squared"
        The loss of regressions. The loss of classifications is cross-entropy.
    every_decision : bool, default False
        Whether the loss is the sum over the decision layers, instead of the loss of their mean.
    shift : int, default 0
        Largest random shift of training images in pixels, with zeros beyond the edge.
    flip : bool, default False
        Whether half of the training images are mirrored.
    statistics : {"running", "batch"}, default "running"
        The statistics of batch normalization at scoring: running averages, or statistics of the batch.
    score : {"best", "last"}, default "last"
        The validation error of the best or of the last epoch.
    patience : int, default 0
        Stop if none of the last `patience` epochs is as good as the epoch before them. 0 never stops.
    label_smoothing : float, default 0.0
        Label smoothing, in [0, 1).
    gradient_norm : float, default 0.0
        Largest norm of the gradients; 0 for no limit.
    dropout : float, default 0.0
        Probability of dropout before the decision layers of an architecture, in [0, 1).

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid.
    """

    epochs: int = 20
    batch_size: int = 100
    optimizer: Optimizer = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.9
    weight_decay: float = 0.0
    schedule: Schedule = "constant"
    drops: tuple[tuple[float, float], ...] = ()
    loss: Literal["squared", "absolute"] = "squared"
    every_decision: bool = False
    shift: int = 0
    flip: bool = False
    statistics: Statistics = "running"
    score: ScoreRule = "last"
    patience: int = 0
    label_smoothing: float = 0.0
    gradient_norm: float = 0.0
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name, low in (("epochs", 1), ("batch_size", 1), ("shift", 0), ("patience", 0)):
            check_integer(name, getattr(self, name), low)
        check_number("learning_rate", self.learning_rate, above=0.0)
        for name in ("weight_decay", "gradient_norm"):
            check_number(name, getattr(self, name), 0.0)
        for name in ("momentum", "label_smoothing", "dropout"):
            check_number(name, getattr(self, name), 0.0, below=1.0)
        choices = {"optimizer": Optimizer, "schedule": Schedule, "score": ScoreRule, "statistics": Statistics}
        for name, allowed in choices.items():
            check_choice(name, getattr(self, name), get_args(allowed))
        check_choice("loss", self.loss, ("squared", "absolute"))
        for name in ("every_decision", "flip"):
            check_bool(name, getattr(self, name))
        object.__setattr__(self, "drops", _check_drops(self.drops))
        if bool(self.drops) != (self.schedule == "steps"):
            raise ValueError(
                f"drops: expected drops with the schedule 'steps' and none with others, got {self.drops} with "
                f"{self.schedule!r}"
            )

    def rate(self, progress: float) -> float:
        """Return the learning rate at a time of the training.

        Parameters
        ----------
        progress : float
            The completed share of the training, in [0, 1).
        """
        if self.schedule == "cosine":
            return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))
        if self.schedule == "triangle":
            return self.learning_rate * min((progress + 1e-3) / 0.2, (1.0 - progress) / 0.8, 1.0)
        factor = 1.0
        for start, times in self.drops:
            factor = times if progress >= start else factor
        return self.learning_rate * factor


def _check_drops(given: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return pairs (share, factor); raise TypeError or ValueError for other input."""
    try:
        drops = tuple((share, factor) for share, factor in given)
    except (TypeError, ValueError) as error:
        raise TypeError(f"drops: expected pairs (share of all epochs, factor), got {short_repr(given)}") from error
    before = 0.0
    for share, factor in drops:
        check_number("drops: factor", factor, above=0.0)
        if not before < check_number("drops: share", share, 0.0, 1.0) < 1.0:
            raise ValueError(f"drops: expected ascending shares in (0, 1), got {short_repr(given)}")
        before = share
    return drops


FAST = Recipe(epochs=12, batch_size=64, learning_rate=4e-3, schedule="triangle", weight_decay=1e-4, gradient_norm=5.0)
"""The recipe of the searches that need no download: Adam, a triangular learning rate, gradients of norm at most 5."""

FAST_IMAGES = Recipe(
    epochs=12, batch_size=512, learning_rate=4e-3, schedule="triangle", weight_decay=1e-4, gradient_norm=5.0,
    label_smoothing=0.1, shift=2, flip=True,
)  # fmt: skip
"""The same for CIFAR-10: larger batches, small shifts and label smoothing, as in other fast trainings."""

COMBO = Recipe(
    epochs=20, batch_size=100, optimizer="adam", learning_rate=1e-3, weight_decay=5e-5, statistics="batch",
    score="best", patience=10,
)  # fmt: skip
"""Oh et al. 2019, supplement 4.4: no augmentation, batch statistics at validation, the best epoch, early stop."""

DEEP_ARCHITECT = Recipe(
    epochs=25, batch_size=128, optimizer="adam", learning_rate=1e-3, shift=4, flip=True, score="last"
)
"""Negrinho et al. 2019, section 7, while searching: Adam, 25 epochs. Batch size and augmentation are not in the paper;
these are the defaults of its repository."""

DEEP_ARCHITECT_RETRAIN = Recipe(
    epochs=600, batch_size=128, optimizer="sgd", learning_rate=0.025, momentum=0.9, weight_decay=3e-4,
    schedule="cosine", shift=4, flip=True, score="last",
)  # fmt: skip
"""Negrinho et al. 2019, section 7, for the network found: SGD with momentum 0.9, a cosine schedule, 600 epochs, the
best by validation of a grid of 18: `learning_rate` 0.1, 0.05, 0.025, 0.01, 0.005, 0.001 times `weight_decay` 1e-4,
3e-4, 5e-4. This recipe is from the middle of that grid; ``dataclasses.replace`` gives the others. Batch size and
augmentation are the same as in `DEEP_ARCHITECT`."""

NASBOT_CNN = Recipe(
    epochs=48, batch_size=32, optimizer="sgd", learning_rate=5e-3, momentum=0.9, weight_decay=2e-4, schedule="steps",
    drops=((15 / 48, 0.1), (40 / 48, 0.01)), every_decision=True, shift=4, flip=True, score="best",
)  # fmt: skip
"""Kandasamy et al. 2018, a mixture of paper and code. From the paper: 60,000 steps of 32 examples, 48 epochs on 40,000
images; its code takes 80,000 steps. From the code: momentum, weight decay, the rate of 0.005, a tenth of it from epoch
15 on and a hundredth from epoch 40 on (its later drops are after the end); the paper says 0.01, decreasing. The score
is the best of 48 validations, one per epoch; in the code it is the best of 20. Shifts by 4 pixels replace random crops
of images enlarged to 40 pixels; running averages of batch normalization keep 0.9 per step instead of 0.997."""

NASBOT_MLP = Recipe(
    epochs=200, batch_size=256, optimizer="sgd", learning_rate=1e-5, momentum=0.0, loss="absolute", score="best"
)
"""Kandasamy et al. 2018: SGD with a fixed step of 1e-5 in batches of 256, scored by the best of 200 validations. The
code trains on absolute errors, but the paper says squared errors. This recipe barely trains deep networks.

The code takes 200 loops of 100 steps, 20,000 in total; here an epoch replaces a loop, and has n // 256 steps for n
training examples: the same total if n is 25,600, fewer steps below, more above. With n examples,
``replace(NASBOT_MLP, epochs=20_000 // (n // 256))`` takes the published number of steps, with other validations. The
code validates on 5 batches of 1,000 examples; here all examples are used."""

NASBOT_MLP_MODERN = Recipe(
    epochs=30, batch_size=256, learning_rate=2e-3, schedule="triangle", gradient_norm=5.0, score="best"
)
"""The same search with Adam on squared errors, from no paper: rate, schedule, epochs and the gradient limit are
bostruct's. Use this recipe for comparisons."""

WRS = Recipe(epochs=10, batch_size=128, optimizer="adam", learning_rate=1e-3, score="last")
"""Florea and Andonie 2019, section 5: 10 epochs, no augmentation. Optimizer, rate and batch size are not stated there;
these are the usual defaults."""
