"""Methods for several objectives, and for limits on measured numbers."""

from __future__ import annotations

from dataclasses import replace

from bostruct.acquisition.functions import ProbabilityOfImprovement
from bostruct.acquisition.local_search import PairSearch
from bostruct.contracts import DomainError, ScoreBuilder, Searcher
from bostruct.goals.hypervolume import LogHypervolumeImprovement
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.outputs import HypervolumeImprovement, Scalarized, WithinLimits
from bostruct.surrogates.outputs import Outputs
from bostruct.surrogates.warping import ViolationWarping


def serve_goals(searcher: Searcher, n_objectives: int, n_limits: int) -> Searcher:
    """Return the searcher for some objectives and limits: itself for one objective without limits.

    Bayesian optimization whose score is a logarithm gets a surrogate for each objective and each limit. The score is
    that of the method for one objective, and the logarithm of the expected hypervolume improvement for several, plus
    the logarithm of the chance that all limits are kept. For several objectives less of each is compressed, and what
    explores by the progress of one value is left out. Under limits the search of a space without continuous numbers
    goes on by pairs of changes.

    Any other searcher sees the history's values, which for one objective order feasible points before all others. Of
    several objectives evolution, Hyperband and successive narrowing see positions, as NSGA-II sorts points, and random
    search needs none; every other one minimizes a random weighting of the objectives at each suggestion (`Scalarized`).

    n_objectives: at least 1.
    n_limits: at least 0.
    """
    if n_objectives == 1 and n_limits == 0:
        return searcher

    def model(search: BayesianSearch) -> BayesianSearch | None:
        return _model_outputs(search, n_objectives, n_limits) if search.score.is_logarithm else None

    def other(one: Searcher) -> Searcher:
        return one if n_objectives == 1 or one.reads_objectives else Scalarized(one)

    return searcher.change_model(model, other)


def allow_repeats(searcher: Searcher, who: str) -> Searcher:
    """Return the searcher that may ask for an observed point again; raises DomainError for a method that never does.

    It takes a Gaussian process: a random forest has no covariances, by which one more value is judged.
    """
    repeating = searcher.with_repeats()
    if repeating is None:
        chosen = f"{who} ({searcher.note})" if searcher.note else who
        raise DomainError(
            f"repeats: {chosen} never asks for a point again; methods with a Gaussian process do, such as auto, combo "
            "and nasbot"
        )
    return repeating


def _model_outputs(searcher: BayesianSearch, n_objectives: int, n_limits: int) -> BayesianSearch:
    """Return Bayesian optimization with a surrogate for each output, whose score is that of all outputs."""
    surrogate, domain = searcher.surrogate.on_all_variables(), searcher.domain
    objective = surrogate if n_objectives == 1 else surrogate.compress_less()
    can_pair = domain.lists_many and not domain.n_continuous

    def score(promise: ScoreBuilder) -> ScoreBuilder:
        if n_objectives > 1:
            promise = HypervolumeImprovement(LogHypervolumeImprovement, n_objectives)
        if not n_limits:
            return promise
        return WithinLimits(promise.without_draws(), ProbabilityOfImprovement(), domain.take, n_objectives)

    return replace(
        searcher,
        surrogate=Outputs(objective, surrogate.for_violation(ViolationWarping), n_objectives, n_limits),
        score=searcher.score.around(score),
        exploration=searcher.exploration if n_objectives == 1 else None,
        maximizer=PairSearch(searcher.maximizer) if n_limits and can_pair else searcher.maximizer,
    )
