"""All builders of scores of single objectives obey their laws, and each planted fault breaks one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from bostruct import Binary, Categorical, Integer, Space, methods
from bostruct.acquisition.functions import LogExpectedImprovement
from bostruct.contracts import Array, Batch, Score, ScoreBuilder
from bostruct.searchers.scores import Improvement, NoisyImprovement, best_predicted
from bostruct.surrogates.latent_draws import LatentSampler
from bostruct.testing import check_score_builder

SPACE = Space({"a": Integer(0, 9), "b": Categorical(["x", "y", "z"]), "c": Binary()})
SURROGATE = methods.map_surrogate(methods.default_kernel(SPACE), SPACE)
PLAIN = Improvement(LogExpectedImprovement(), best_predicted)


@pytest.mark.parametrize("method", ["auto", "combo", "smac"])
def test_the_scores_of_methods_obey(method: str) -> None:
    made: Any = methods.searcher(method, SPACE)
    for seed in range(2):
        check_score_builder(made.score, SPACE, made.surrogate, np.random.default_rng(seed))


def test_drawn_improvements_obey() -> None:
    builder = NoisyImprovement(PLAIN, LogExpectedImprovement(), LatentSampler(8, 4), 0.01)
    check_score_builder(builder, SPACE, SURROGATE, np.random.default_rng(0))


@dataclass(frozen=True)
class Changed(Score):
    """A score, but for one fault."""

    score: Score
    fault: str
    draws: np.random.Generator

    def __call__(self, xs: Batch) -> Array:
        found = self.score(xs)
        if self.fault == "is random":
            return found + self.draws.normal()
        if self.fault == "is no number":
            return np.where(found < np.median(found), np.nan, found)
        return {"has columns": found[:, None], "is short": found[1:]}.get(self.fault, found)


@dataclass(frozen=True)
class Faulty(ScoreBuilder):
    """A builder, but for one fault."""

    fault: str
    draws = np.random.default_rng(0)

    def __call__(self, posterior: Any, history: Any, rng: np.random.Generator) -> Any:
        if self.fault == "draws globally":
            np.random.random()  # noqa: NPY002
        score = PLAIN(posterior, history, rng)
        return score.__call__ if self.fault == "is a function" else Changed(score, self.fault, self.draws)

    def build_from(self, posterior: Any, history: Any, state: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        score = self(posterior, history, rng)
        if self.fault == "differs from a call":
            return Twice(score), None
        return score, {"array": (1, 2)} if self.fault == "state is no JSON" else None

    def learn_feasibility(self, posterior: Any, history: Any, state: Any, rng: np.random.Generator) -> Any:
        return 0.5 if self.fault == "feasibility is a number" else None


@dataclass(frozen=True)
class Twice(Score):
    """Twice the score."""

    score: Score

    def __call__(self, xs: Batch) -> Array:
        return 2.0 * self.score(xs)


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("is random", "the same seed"),
        ("is no number", "a score is a number"),
        ("has columns", r"score is \(m,\)"),
        ("is short", "a score is"),
        ("draws globally", "random"),
        ("is a function", "score"),
        ("differs from a call", "build_from without a state"),
        ("state is no JSON", "survives JSON"),
        ("feasibility is a number", "learn_feasibility"),
    ],
)
def test_each_fault_is_found(fault: str, law: str) -> None:
    with pytest.raises((AssertionError, TypeError), match=law):
        check_score_builder(Faulty(fault), SPACE, SURROGATE, np.random.default_rng(0))


def test_the_builder_without_a_fault_obeys() -> None:
    check_score_builder(Faulty("none"), SPACE, SURROGATE, np.random.default_rng(0))


def test_a_function_is_refused() -> None:
    builder: Any = PLAIN.__call__
    with pytest.raises(TypeError, match="ScoreBuilder"):
        check_score_builder(builder, SPACE, SURROGATE, np.random.default_rng(0))
