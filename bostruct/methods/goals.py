"""Methods for several objectives, and for limits on measured numbers."""

from __future__ import annotations

from dataclasses import replace

from bostruct.acquisition.functions import ProbabilityOfImprovement
from bostruct.acquisition.local_search import PairSearch
from bostruct.contracts import (
    Domain,
    DomainError,
    ScoreBuilder,
    Searcher,
    Surrogate,
)
from bostruct.goals.hypervolume import LogHypervolumeImprovement
from bostruct.methods.auto import Explained
from bostruct.searchers.baselines import EvolutionSearch, RandomSearch
from bostruct.searchers.bayesian import BayesianSearch
from bostruct.searchers.hyperband import Hyperband, SuccessiveNarrowing
from bostruct.searchers.limits import WithinLimits
from bostruct.searchers.multi_objective import HypervolumeImprovement, Scalarized
from bostruct.searchers.scores import Feasible, NoisyImprovement
from bostruct.surrogates.map_gp import MAPGP, NoiseSelection
from bostruct.surrogates.outputs import Outputs
from bostruct.surrogates.target_fidelity import AtTargetFidelity
from bostruct.surrogates.warping import OutputWarping, SlackWarping

FAR_ABOVE = 10.0  # scales above the median from which on one of several objectives is compressed
SORTS = (EvolutionSearch, RandomSearch, SuccessiveNarrowing)  # only the order of the values counts, if they do


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

    searcher: of one objective; one that learns from earlier tasks serves no other goals.
    n_objectives: at least 1.
    n_limits: at least 0.
    """
    if n_objectives == 1 and n_limits == 0:
        return searcher
    if isinstance(searcher, Explained):
        return replace(searcher, searcher=serve_goals(searcher.searcher, n_objectives, n_limits))
    if isinstance(searcher, Hyperband):
        model = searcher.proposals
        return searcher if model is None else replace(searcher, proposals=serve_goals(model, n_objectives, n_limits))
    if isinstance(searcher, BayesianSearch) and searcher.score.is_logarithm:
        score = _score_outputs(searcher.score, searcher.domain, n_objectives, n_limits)
        return replace(_model_outputs(searcher, n_objectives, n_limits), score=score)
    return searcher if n_objectives == 1 or isinstance(searcher, SORTS) else Scalarized(searcher)


def allow_repeats(searcher: Searcher, who: str) -> Searcher:
    """Return the searcher that may ask for a told point again; raises DomainError for a method that never does.

    It takes a Gaussian process: a random forest has no covariances, by which one more value is judged.

    searcher: of one objective without limits.
    who: the name that people call it by.
    """
    if isinstance(searcher, Explained):
        return replace(searcher, searcher=allow_repeats(searcher.searcher, f"{who} ({searcher.note})"))
    if not isinstance(searcher, BayesianSearch) or not searcher.surrogate.has_covariance:
        raise DomainError(
            f"repeats: {who} never asks for a point again; methods with a Gaussian process do, such as auto, combo and "
            "nasbot"
        )
    return replace(searcher, repeats=True)


def _model_outputs(searcher: BayesianSearch, n_objectives: int, n_limits: int) -> BayesianSearch:
    """Return Bayesian optimization with a surrogate for each output."""
    surrogate = searcher.surrogate
    objective = surrogate if n_objectives == 1 else _compress_less(surrogate)
    can_pair = searcher.domain.lists_many and not searcher.domain.n_continuous
    return replace(
        searcher,
        surrogate=Outputs(objective, _without_value(surrogate), n_objectives, n_limits),
        exploration=searcher.exploration if n_objectives == 1 else None,
        maximizer=PairSearch(searcher.maximizer) if n_limits and can_pair else searcher.maximizer,
    )


def _score_outputs(score: ScoreBuilder, domain: Domain, n_objectives: int, n_limits: int) -> ScoreBuilder:
    """Return the score of all outputs; a chance of success stays around it."""
    if isinstance(score, Feasible):
        return replace(score, score=_score_outputs(score.score, domain, n_objectives, n_limits))
    if isinstance(score, NoisyImprovement) and n_limits:
        score = score.plain  # its draws are at all points told, those that break a limit among them
    promise = score if n_objectives == 1 else HypervolumeImprovement(LogHypervolumeImprovement, n_objectives)
    return WithinLimits(promise, ProbabilityOfImprovement(), domain.take, n_objectives) if n_limits else promise


def _compress_less(surrogate: Surrogate) -> Surrogate:
    """Return the surrogate of one of several objectives, of which only what is very far above the median is compressed.

    A front reaches far above the median of an objective whose best values most trials share, such as the least size. In
    logarithms the hypervolume would draw the search to that end of the front.
    """
    if isinstance(surrogate, AtTargetFidelity):
        return replace(surrogate, surrogate=_compress_less(surrogate.surrogate))
    if isinstance(surrogate, OutputWarping):
        return replace(surrogate, beyond=FAR_ABOVE, of_distinct=True)
    return surrogate


def _without_value(surrogate: Surrogate) -> Surrogate:
    """Return the surrogate of a slack: that of the objective, without what is known of the objective alone."""
    if isinstance(surrogate, AtTargetFidelity):
        return replace(surrogate, surrogate=_without_value(surrogate.surrogate))
    return SlackWarping(_learn_near_zero(surrogate.surrogate if isinstance(surrogate, OutputWarping) else surrogate))


def _learn_near_zero(surrogate: Surrogate) -> Surrogate:
    """Return the surrogate that learns from the slacks nearest to 0 where it cannot learn from all."""
    if isinstance(surrogate, NoiseSelection):
        quiet, noisy = (replace(one, near_zero=True) for one in (surrogate.quiet, surrogate.noisy))
        return replace(surrogate, quiet=quiet, noisy=noisy)
    return replace(surrogate, near_zero=True) if isinstance(surrogate, MAPGP) else surrogate
