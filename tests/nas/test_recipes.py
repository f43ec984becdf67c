"""Recipes: what they refuse, and those of the papers, field by field."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from bostruct.nas import Recipe, recipes

PLAIN = {
    "momentum": 0.9, "weight_decay": 0.0, "schedule": "constant", "drops": (), "loss": "squared",
    "every_decision": False, "shift": 0, "flip": False, "statistics": "running", "score": "last", "patience": 0,
    "label_smoothing": 0.0, "gradient_norm": 0.0, "dropout": 0.0,
}  # fmt: skip

PUBLISHED = {
    "COMBO": {  # Oh et al. 2019, supplement 4.4 and its code
        "epochs": 20, "batch_size": 100, "optimizer": "adam", "learning_rate": 1e-3, "weight_decay": 5e-5,
        "statistics": "batch", "score": "best", "patience": 10,
    },
    "DEEP_ARCHITECT": {  # Negrinho et al. 2019, section 7; batches, shifts and flips from its repository
        "epochs": 25, "batch_size": 128, "optimizer": "adam", "learning_rate": 1e-3, "shift": 4, "flip": True,
    },
    "DEEP_ARCHITECT_RETRAIN": {  # there, one of its grid
        "epochs": 600, "batch_size": 128, "optimizer": "sgd", "learning_rate": 0.025, "weight_decay": 3e-4,
        "schedule": "cosine", "shift": 4, "flip": True,
    },
    "NASBOT_CNN": {  # Kandasamy et al. 2018: steps of the paper, the rest of its code
        "epochs": 48, "batch_size": 32, "optimizer": "sgd", "learning_rate": 0.005, "weight_decay": 2e-4,
        "schedule": "steps", "drops": ((15 / 48, 0.1), (40 / 48, 0.01)), "every_decision": True, "shift": 4,
        "flip": True, "score": "best",
    },
    "NASBOT_MLP": {  # there
        "epochs": 200, "batch_size": 256, "optimizer": "sgd", "learning_rate": 1e-5, "momentum": 0.0,
        "loss": "absolute", "score": "best",
    },
    "WRS": {  # Florea and Andonie 2019, section 5; optimizer, rate and batches are not stated there
        "epochs": 10, "batch_size": 128, "optimizer": "adam", "learning_rate": 1e-3,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_recipes_of_the_papers_field_by_field(name):
    recipe = getattr(recipes, name)
    assert {one.name: getattr(recipe, one.name) for one in fields(Recipe)} == PLAIN | PUBLISHED[name]


def test_steps_are_those_of_nasbot():
    assert recipes.NASBOT_CNN.epochs * 40_000 // recipes.NASBOT_CNN.batch_size == 60_000
    rates = [recipes.NASBOT_CNN.rate(epoch / 48) for epoch in (0, 14.9, 15, 39.9, 40, 47.9)]
    assert rates == pytest.approx([5e-3, 5e-3, 5e-4, 5e-4, 5e-5, 5e-5])
    assert recipes.NASBOT_MLP.epochs * (25_600 // recipes.NASBOT_MLP.batch_size) == 20_000


REFUSED: tuple[tuple[dict[str, Any], str], ...] = (
    ({"schedule": "steps"}, "drops: expected drops with the schedule 'steps'"),
    ({"drops": ((0.5, 0.1),)}, "none with others, got .* with 'constant'"),
    ({"schedule": "steps", "drops": (0.5, 0.1)}, "drops: expected pairs"),
    ({"schedule": "steps", "drops": 3}, "drops: expected pairs"),
    ({"schedule": "steps", "drops": ((2.0, 0.1),)}, "drops: share"),
    ({"schedule": "steps", "drops": ((0.0, 0.1),)}, r"ascending shares in \(0, 1\)"),
    ({"schedule": "steps", "drops": ((0.6, 0.1), (0.5, 0.01))}, r"ascending shares in \(0, 1\)"),
    ({"schedule": "steps", "drops": ((0.5, -1.0),)}, "drops: factor"),
    ({"flip": "yes"}, "flip: expected True or False, got 'yes'"),
    ({"every_decision": 1}, "every_decision: expected True or False, got 1"),
)


@pytest.mark.parametrize(("wrong", "message"), REFUSED)
def test_what_means_nothing_is_refused(wrong, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Recipe(**wrong)


def test_drops_may_be_a_list():
    recipe = Recipe(schedule="steps", drops=[[0.5, 0.1]])  # type: ignore[arg-type]
    assert recipe.drops == ((0.5, 0.1),)
    assert hash(recipe) == hash(Recipe(schedule="steps", drops=((0.5, 0.1),)))


def test_rates_follow_their_schedules():
    triangle = Recipe(schedule="triangle", learning_rate=1.0)
    assert triangle.rate(0.2) == pytest.approx(1.0, abs=0.01)
    assert triangle.rate(0.1) == pytest.approx(0.5, abs=0.01)
    assert triangle.rate(0.6) == pytest.approx(0.5)
    assert Recipe(schedule="cosine", learning_rate=1.0).rate(0.5) == pytest.approx(0.5)
    steps = Recipe(schedule="steps", learning_rate=1.0, drops=((0.5, 0.1), (0.75, 0.01)))
    assert [steps.rate(share) for share in (0.0, 0.49, 0.5, 0.8)] == [1.0, 1.0, 0.1, 0.01]
    for wrong in ({"epochs": 0}, {"optimizer": "adamw"}, {"learning_rate": 0.0}, {"momentum": 1.0}, {"loss": "huber"}):
        with pytest.raises((TypeError, ValueError), match=next(iter(wrong))):
            Recipe(**wrong)
