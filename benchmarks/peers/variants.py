"""Searches by `auto` with one part changed, to measure the effect of each part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import bostruct as bo
from benchmarks.peers.searches import Steps, ask_and_tell
from benchmarks.peers.tasks import Point, Task
from bostruct import methods
from bostruct.acquisition.functions import LOG_EI, LogAugmentedExpectedImprovement
from bostruct.kernels.space.registry import has_order_to_doubt
from bostruct.methods.defaults import space_kernel, success_model
from bostruct.methods.exploration import BranchExploration
from bostruct.searchers.scores import best_observed

FEW = 5  # points before the model is used, as with a prior
FROM_FEW = f"from {FEW} points"

Variant = Callable[[Any], Any]  # from `auto`, a `BayesianSearch` of a space, to the method that is compared with it


def with_variant(variant: Variant, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by a variant of `auto`.

    variant: makes the method from `auto`.
    """
    method = variant(methods.auto(task.space))
    given = initial[: method.n_initial]
    return ask_and_tell(bo.Study(task.space, method=method, seed=seed, initial_points=given))


def _model_of(auto: Any) -> Any:
    return auto.surrogate.on_all_variables().surrogate


def _with_model(auto: Any, model: Any) -> Any:
    return replace(auto, surrogate=replace(auto.surrogate, surrogate=model))


def _with_kernel(auto: Any, kernel: Any) -> Any:
    model = _model_of(auto)
    quiet, noisy = (replace(one, kernel=kernel) for one in (model.quiet, model.noisy))
    score = replace(auto.score, success=success_model(auto.domain, quiet))
    return replace(_with_model(auto, replace(model, quiet=quiet, noisy=noisy, smooth=None)), score=score)


def _trust_order(auto: Any) -> Any:
    if not has_order_to_doubt(auto.domain):
        return auto
    return _with_kernel(auto, _model_of(auto).quiet.kernel.first)


def _even_the_odds(auto: Any) -> Any:
    return _with_model(auto, replace(_model_of(auto), log_odds=0.0))


def _fit_always(auto: Any) -> Any:
    return _with_model(auto, replace(_model_of(auto), growth=0.0))


def _with_improvement(auto: Any, **changes: Any) -> Any:
    return replace(auto, score=replace(auto.score, score=replace(auto.score.score, **changes)))


VARIANTS: dict[str, partial[Steps]] = {
    name: partial(with_variant, variant)
    for name, variant in {
        "diffusion alone": lambda auto: _with_kernel(auto, space_kernel(auto.domain)),
        "order trusted": _trust_order,
        "no exploration": lambda auto: replace(auto, exploration=None),
        "explores every second": lambda auto: replace(auto, exploration=BranchExploration(2)),
        "quiet model alone": lambda auto: _with_model(auto, _model_of(auto).quiet),
        "noise at even odds": _even_the_odds,
        "no compression": lambda auto: replace(auto, surrogate=_model_of(auto)),
        "fitted at each trial": _fit_always,
        "EI": lambda auto: _with_improvement(auto, acquisition=LOG_EI),
        "augmented EI": lambda auto: _with_improvement(auto, acquisition=LogAugmentedExpectedImprovement()),
        "improves on told": lambda auto: _with_improvement(auto, incumbent=best_observed),
        FROM_FEW: lambda auto: replace(auto, n_initial=FEW),
    }.items()
}
