"""Methods for several objectives, and for outcome constraints."""

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
    """Return a searcher for some objectives and outcome constraints; unchanged for one objective without constraints.

    Bayesian optimization whose score is a logarithm gets a surrogate for each objective and each constraint. The score
    is the method's own score for one objective, and the logarithm of the expected hypervolume improvement for several,
    plus the logarithm of the probability of feasibility. With several objectives, each is compressed less, and rules of
    exploration, which follow the progress of one value, are omitted. Under constraints, the search of a space without
    continuous variables continues with pairs of changes.

    Any other searcher minimizes the history's values. With one objective, they rank feasible points before all others.
    With several objectives, evolution, Hyperband and successive narrowing see the ranks of NSGA-II, random search needs
    no values, and any other searcher minimizes a random weighting at each suggestion (`Scalarized`).

    n_objectives: number of objectives, at least 1.
    n_limits: number of outcome constraints, at least 0.
    """
    if n_objectives == 1 and n_limits == 0:
        return searcher

    def model(search: BayesianSearch) -> BayesianSearch | None:
        return _model_outputs(search, n_objectives, n_limits) if search.score.is_logarithm else None

    def other(one: Searcher) -> Searcher:
        return one if n_objectives == 1 or one.reads_objectives else Scalarized(one)

    return searcher.change_model(model, other)


def allow_repeats(searcher: Searcher, who: str) -> Searcher:
    """Return a searcher that may suggest an observed point again; raise DomainError if the method never does.

    The method needs a Gaussian process: a random forest has no covariances to predict the effect of one more value.
    """
    repeating = searcher.with_repeats()
    if repeating is None:
        chosen = f"{who} ({searcher.note})" if searcher.note else who
        raise DomainError(
            f"repeats: {chosen} never suggests an observed point; methods with a Gaussian process do, such as auto, "
            "combo and nasbot"
        )
    return repeating


def _model_outputs(searcher: BayesianSearch, n_objectives: int, n_limits: int) -> BayesianSearch:
    """Return Bayesian optimization with a surrogate for each output and a score of all outputs."""
    surrogate, domain = searcher.surrogate.on_all_variables(), searcher.domain
    objective = surrogate if n_objectives == 1 else surrogate.compress_less()
    can_pair = domain.lists_many and not domain.n_continuous

    def score(objective_score: ScoreBuilder) -> ScoreBuilder:
        if n_objectives > 1:
            objective_score = HypervolumeImprovement(LogHypervolumeImprovement, n_objectives)
        if not n_limits:
            return objective_score
        return WithinLimits(objective_score.without_draws(), ProbabilityOfImprovement(), domain.take, n_objectives)

    return replace(
        searcher,
        surrogate=Outputs(objective, surrogate.for_violation(ViolationWarping), n_objectives, n_limits),
        score=searcher.score.around(score),
        exploration=searcher.exploration if n_objectives == 1 else None,
        maximizer=PairSearch(searcher.maximizer) if n_limits and can_pair else searcher.maximizer,
    )
