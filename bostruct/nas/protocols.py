"""How the papers train and score networks on CIFAR-10: recipe, split, repeats, and where we depart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

from bostruct.checks import short_repr
from bostruct.nas.objectives import NetworkObjective
from bostruct.nas.recipes import COMBO, DEEP_ARCHITECT, FAST_IMAGES, NASBOT_CNN, WRS, Recipe


class Protocol(NamedTuple):
    """How a paper trains and scores a network on CIFAR-10.

    recipe: how the network is trained.
    train: number of images to train on.
    validation: number of images to validate with.
    repeats: trainings of a network, whose errors are averaged.
    departures: from what is published, in words.
    """

    recipe: Recipe
    train: int
    validation: int
    repeats: int
    departures: str


PROTOCOLS: dict[str, Protocol] = {
    "combo": Protocol(COMBO, 40_000, 10_000, 4, "none of the code's; the paper says 30,000 training images"),
    "deeparchitect": Protocol(
        DEEP_ARCHITECT,
        40_000,
        10_000,
        1,
        "split, batch size and augmentation are not published; what was found was trained anew by a grid of 18 recipes "
        "around bostruct.nas.recipes.DEEP_ARCHITECT_RETRAIN",
    ),
    "nasbot": Protocol(
        NASBOT_CNN,
        40_000,
        10_000,
        1,
        "60,000 steps as in the paper, whose rate is 0.01, with the code's rate of 0.005 and its drops, which takes "
        "80,000; the best of 48 validations, in the code of 20; shifts by 4 pixels for crops of enlarged images; "
        "running averages of batch normalization keep 0.9 a step for 0.997",
    ),
    "wrs": Protocol(
        WRS,
        40_000,
        10_000,
        1,
        "validates on 10,000 training images, where the paper trains on 50,000 and seems to use the test set; "
        "optimizer, rate and batch size are not published",
    ),
    "fast": Protocol(FAST_IMAGES, 40_000, 10_000, 1, "of no paper: larger batches, a triangular rate, label smoothing"),
}
RECIPE_FIELDS = frozenset(one.name for one in fields(Recipe))
OBJECTIVE_FIELDS = frozenset(one.name for one in fields(NetworkObjective)) - {"data"}


def objective_settings(protocol: Protocol, settings: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments of a `NetworkObjective` by a protocol.

    protocol: gives the arguments.
    settings: changes to them, by the names of a `NetworkObjective` and of a `Recipe`.

    Raises TypeError, ValueError.
    """
    if unknown := sorted(set(settings) - RECIPE_FIELDS - OBJECTIVE_FIELDS):
        known = ", ".join(sorted(RECIPE_FIELDS | OBJECTIVE_FIELDS))
        raise ValueError(f"settings: {unknown[0]!r} is none; expected some of {known}")
    given = {"recipe": protocol.recipe, "repeats": protocol.repeats}
    given |= {name: value for name, value in settings.items() if name in OBJECTIVE_FIELDS}
    if not isinstance(given["recipe"], Recipe):
        raise TypeError(f"settings: recipe: expected a Recipe, got {short_repr(given['recipe'])}")
    changed = {name: value for name, value in settings.items() if name in RECIPE_FIELDS}
    return given | {"recipe": replace(given["recipe"], **changed)}
