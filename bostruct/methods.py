"""Methods by name: the only file that assembles parts from several layers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial, reduce
from itertools import cycle, islice
from typing import Any, Literal

import numpy as np

from bostruct.acquisition.evolution import Evolution
from bostruct.acquisition.functions import ExpectedImprovement, LogExpectedImprovement
from bostruct.acquisition.local_search import LocalSearch
from bostruct.acquisition.pseudo_boolean import SemidefiniteRelaxation, SimulatedAnnealing
from bostruct.acquisition.selection import Aging, ByRank, alike, by_fitness
from bostruct.checks import check_choice, shown
from bostruct.contracts import Array, DomainError, Searcher
from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.decisions import coordinate_values
from bostruct.domains.fidelity import Levels
from bostruct.domains.graphs import VariableGraph
from bostruct.domains.joint import Joint
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.features import Recent
from bostruct.domains.language.space import SearchSpace
from bostruct.domains.language.trace import Trace
from bostruct.domains.space import Space
from bostruct.kernels.blend import Blend
from bostruct.kernels.diffusion import DiffusionKernel
from bostruct.kernels.links import LogEdgeWeight, LogLengthscale
from bostruct.kernels.main_effects import MainEffects
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.kernels.otmann.kernel import OtmannKernel, OtmannSumKernel, Terms
from bostruct.kernels.otmann.settings import REFERENCE, Otmann
from bostruct.kernels.positive import PositivePart, Similarity
from bostruct.kernels.product import PartKernel, Product
from bostruct.kernels.traces import TraceKernel
from bostruct.searchers.annealing import Annealing
from bostruct.searchers.bayesian import BayesianSearch, best_observed, best_predicted
from bostruct.searchers.bocs import BOCS
from bostruct.searchers.designs import Design, PoolFirst, drawn
from bostruct.searchers.evolution import EvolutionSearch
from bostruct.searchers.hill_climbing import HillClimbing
from bostruct.searchers.hyperband import Hyperband
from bostruct.searchers.mcts import MCTS
from bostruct.searchers.random import RandomSearch
from bostruct.searchers.smbo import SMBO
from bostruct.searchers.surroundings import mutants, neighboring
from bostruct.searchers.tpe import TPE
from bostruct.searchers.wrs import WeightedRandomSearch
from bostruct.surrogates.at_top import AtTop
from bostruct.surrogates.combo_priors import EDGE_WEIGHT_PRIOR, ComboPriors
from bostruct.surrogates.fanova import VarianceShares
from bostruct.surrogates.forest import RandomForest
from bostruct.surrogates.hashed import HashedRidge
from bostruct.surrogates.horseshoe import HorseshoeRegression
from bostruct.surrogates.marginalized import MarginalizedGP
from bostruct.surrogates.mode import ModeGP
from bostruct.surrogates.monomials import Monomials
from bostruct.surrogates.nasbot_priors import around, log_range, nasbot_priors
from bostruct.surrogates.priors import Normal
from bostruct.surrogates.spectrum import WithSpectrum
from bostruct.surrogates.tempered import Tempered

DRAWN_TO_SCALE = 32  # architectures whose distances say what is far in a domain
INITIAL = 12  # points before a model of architectures is asked, where there is no pool


def auto(domain: Any) -> BayesianSearch:
    """The best that we know how to build: `for_space`, `for_programs`, or `nasbot` on anything else."""
    if isinstance(domain, SearchSpace):
        return for_programs(domain)
    return for_space(domain) if isinstance(domain, Space) else nasbot(domain)


def for_space(domain: Space) -> BayesianSearch:
    """A GP at its mode, log EI, local search around the best points; values far worse than the middle are drawn in.

    Its kernel blends main effects, which most objectives have and few data suffice for, with diffusion under a prior
    that is scaled by the number of variables.
    """
    kernel = Blend(MainEffects(graphs(domain)), lengthscale_kernel(domain), Normal(0.4, 1.0), initial=0.4)
    noise = Normal(-4.0 - 1.0, 1.0)  # the same for a noise variance that is log-normal with location -4, scale 1
    surrogate = ModeGP(kernel, domain.join, noise, noise.mean)
    return BayesianSearch(
        domain,
        Tempered(surrogate),
        LogExpectedImprovement(),
        LocalSearch(random=2_000, spray=1_000, ascents=10),
        n_initial=10,
        n_starts=5,
        incumbent=best_predicted,
        feasibility=surrogate,
    )


def for_programs(domain: SearchSpace) -> BayesianSearch:
    """A GP at its mode with a kernel on choices, log EI, evolution from the best evaluated programs."""
    surrogate = ModeGP(trace_kernel(domain), domain.join, Normal(-5.0, 1.0), -5.0)
    return BayesianSearch(
        domain,
        Tempered(surrogate),
        LogExpectedImprovement(),
        Evolution(),
        n_initial=10,
        n_starts=None,
        incumbent=best_predicted,
        feasibility=surrogate,
        surroundings=mutants,
    )


def trace_kernel(domain: SearchSpace) -> TraceKernel:
    """A rate for each kind of choice that is met in 32 drawn programs; all together are about 1 at the median."""
    xs = domain.sample(DRAWN_TO_SCALE, np.random.default_rng(0))
    kinds = tuple(sorted({one.kind for x in xs for one in domain.coordinates(x)}))
    flat = TraceKernel(domain.coordinates, kinds, Normal(0.0, 1.0), 0.0)
    distances = flat.prepare(xs, xs).sum(axis=0)
    typical = float(np.median(distances[np.triu_indices(len(xs), 1)])) or 1.0
    return replace(flat, prior=around(-math.log(typical), 1.0), initial=-math.log(typical))


def smbo(domain: Any) -> Searcher:
    """The best of 512 random points by a linear model of hashed features (Negrinho et al. 2019)."""
    if not callable(getattr(domain, "tokens", None)):
        raise DomainError(f"method: smbo needs a domain whose points have features, got {type(domain).__name__}")
    refuse_real("smbo", domain)
    return SMBO(domain, HashedRidge(domain.tokens))


def smac(domain: Any) -> BayesianSearch:
    """Like SMAC (Hutter, Hoos and Leyton-Brown 2011): a random forest, EI, local search from the best and at random.

    On programs and joint domains evolution takes the place of local search.
    """
    if not callable(getattr(domain, "coordinates", None)):
        raise DomainError(f"method: smac needs a domain of named choices, got {type(domain).__name__}")
    is_space = isinstance(domain, Space)
    return BayesianSearch(
        domain,
        RandomForest(domain.coordinates, values=partial(coordinate_values, domain) if is_space else None),
        ExpectedImprovement(),
        LocalSearch(random=500, spray=100, ascents=10) if is_space else Evolution(),
        n_initial=10,
        n_starts=10 if is_space else None,
        surroundings=neighboring if is_space else mutants,
    )


def tpe(domain: Any) -> Searcher:
    """The tree-structured Parzen estimator of Optuna (Bergstra et al. 2011), the extra `optuna`."""
    if not isinstance(domain, Space):
        raise DomainError(f"method: tpe needs a Space, got {type(domain).__name__}")
    return TPE(domain)


def bocs(domain: Any, order: int = 2, minimizer: Literal["relaxation", "annealing"] | None = None) -> Searcher:
    """BOCS (Baptista and Poloczek 2018): sparse Bayesian regression on products of up to `order` choices.

    minimizer: of its samples; the semidefinite relaxation up to order 2, annealing for any; None: the first it can be.
    """
    if not isinstance(domain, Space):
        raise DomainError(f"method: bocs needs a Space, got {type(domain).__name__}")
    refuse_real("bocs", domain)
    minimizer = minimizer or ("relaxation" if order <= 2 else "annealing")
    if check_choice("minimizer", minimizer, MINIMIZERS) == "relaxation" and order > 2:
        raise ValueError(f"minimizer: relaxation serves orders 1 and 2, got order {order}; use 'annealing'")
    regression = HorseshoeRegression(Monomials(tuple(domain.n_choices.tolist()), order))
    return BOCS(domain, regression, MINIMIZERS[minimizer])


MINIMIZERS = {"relaxation": SemidefiniteRelaxation(), "annealing": SimulatedAnnealing()}


def mcts(domain: Any) -> Searcher:
    """Monte Carlo tree search over decisions, UCT with exploration 0.33 (Negrinho et al. 2019)."""
    if not callable(getattr(domain, "options", None)):
        raise DomainError(f"method: mcts needs a domain of decisions one after another, got {type(domain).__name__}")
    refuse_real("mcts", domain)
    return MCTS(domain)


def wrs(domain: Any, n_random: int = 37, mode: Literal["shared", "independent", "single", "auto"] = "auto") -> Searcher:
    """Weighted random search (Florea and Andonie 2019), one variable changed at a time; `mode="shared"` as published.

    n_random: the first phase, published as the number of trials over e: 37 of 100.
    """
    if not callable(getattr(domain, "redrawn", None)):
        raise DomainError(f"method: wrs needs a domain of named choices, got {type(domain).__name__}")
    return WeightedRandomSearch(domain, VarianceShares(), n_random, mode)


def hyperband(domain: Any) -> Searcher:
    """Hyperband, asynchronous (Li et al. 2018, 2020), over the domain's one `Fidelity`."""
    return Hyperband(domain, Levels(domain))


def successive_halving(domain: Any) -> Searcher:
    """Successive halving, asynchronous (Li et al. 2020), over the domain's one `Fidelity`."""
    return Hyperband(domain, Levels(domain), halving=True)


def model_based_hyperband(domain: Any) -> Searcher:
    """Hyperband whose new points a model proposes, which learns from all fidelities (MOBSTER: Klein et al. 2020).

    The model is that of `auto`; its kernel has a factor for the fidelity, and log EI is asked about the highest.
    """
    levels = Levels(domain)
    model = auto(domain)
    return Hyperband(domain, levels, proposals=replace(model, surrogate=AtTop(model.surrogate, levels.raised)))


def combo(domain: Space) -> BayesianSearch:
    """COMBO as published (Oh et al. 2019): ARD diffusion kernel, horseshoe priors, slice sampling, EI, local search."""
    kernel = DiffusionKernel(graphs(domain), EDGE_WEIGHT_PRIOR, LogEdgeWeight())
    priors = ComboPriors(*kernel.extreme_eigenvalues(np.zeros(domain.d)))
    surrogate = MarginalizedGP(kernel, domain.join, priors)
    return BayesianSearch(domain, surrogate, ExpectedImprovement(), LocalSearch(), incumbent=best_observed)


def lengthscale_kernel(domain: Space) -> DiffusionKernel:
    """Diffusion with lengthscales that are log-normal, with a location that grows as the root of the number of
    variables (Hvarfner et al. 2024), stated on the lengthscale that is equivalent to each edge weight. The mode is
    theirs; the spread, of which they leave more, was chosen among a few on random weighted Max-3-SAT, where the
    differences were hardly beyond chance.
    """
    prior = Normal(math.sqrt(2.0) + 0.5 * math.log(domain.d) - 3.0, 0.7)
    return DiffusionKernel(graphs(domain), prior, LogLengthscale(), initial=prior.mean, unit_diagonal=True)


def graphs(domain: Space) -> tuple[VariableGraph, ...]:
    """One a variable; raises DomainError for a domain that is no `Space`."""
    if not isinstance(domain, Space):
        raise DomainError(f"method: combo needs a Space, got {type(domain).__name__}")
    refuse_real("a diffusion kernel (auto, combo, nasbot)", domain)
    return tuple(variable.graph for variable in domain.variables.values())


def refuse_real(method: str, domain: Any) -> None:
    """Raise DomainError, naming the variable, where a method has no place for a `Real`."""
    reals = [name for name, v in domain.variables.items() if v.kind == "Real"] if isinstance(domain, Space) else []
    if reals:
        raise DomainError(
            f"method: {method} cannot search the Real variable {reals[0]!r}; wrs, tpe, smac, annealing, evolution, "
            "hill-climbing and random can, or give it as an Ordinal of numbers"
        )


Fit = Callable[[Similarity, Any], WithSpectrum]  # (kernel of architectures, domain) -> surrogate


def at_mode(similarity: Similarity, domain: Any) -> WithSpectrum:
    """The GP at the mode of its hyperparameters."""
    noise = Normal(-6.0, 1.5)
    return WithSpectrum(ModeGP(PositivePart(similarity), domain.join, noise, noise.mean), similarity)


def marginalized(similarity: Similarity, domain: Any) -> WithSpectrum:
    """The GP averaged over its hyperparameters by slice sampling."""
    return WithSpectrum(MarginalizedGP(PositivePart(similarity), domain.join, nasbot_priors), similarity)


def nasbot(domain: Any, fit: Fit = at_mode, settings: Otmann = REFERENCE) -> BayesianSearch:
    """NASBOT (Kandasamy et al. 2018), mended: OTMANN kernel of power 1, log EI, evolution from the best evaluated.

    domain: of architectures, or joint, with a product of kernels: OTMANN of architectures, diffusion over spaces. fit:
    `at_mode` or `marginalized`, or your own. settings: of the distance.
    """
    similarity = product_kernel(domain, settings) if isinstance(domain, Joint) else otmann_kernel(domain, settings)
    design, n_initial = beginning(domain)
    return BayesianSearch(
        domain,
        fit(similarity, domain),
        LogExpectedImprovement(),
        Evolution(pool_of(domain)),
        n_initial=n_initial,
        n_starts=None,
        feasibility=at_mode(similarity, domain),
        design=design,
        surroundings=mutants,
    )


def nasbot_as_published(domain: ArchitectureDomain, fit: Fit = marginalized) -> BayesianSearch:
    """NASBOT as its released code has it: squared normalised distances, EI, evolution by fitness from the pool alone.

    Hyperparameters are sampled by `fit`, from the published ranges made normal, where the released code draws 4400;
    docs/nasbot.md lists what else differs. Raises DomainError for a domain without a pool.
    """
    if not isinstance(domain, ArchitectureDomain):
        raise DomainError(f"method: nasbot as published needs a domain with a pool, got {type(domain).__name__}")
    distance = Terms(log_range(1e-9, 1e-3), math.log(1e-6))
    normalized = Terms(log_range(0.1, 100.0), math.log(math.sqrt(10.0)), power=2.0)
    similarity = OtmannSumKernel(OtmannKernel(distance, normalized), around(0.0, 2.0))
    design, n_initial = beginning(domain)
    return BayesianSearch(
        domain,
        fit(similarity, domain),
        ExpectedImprovement(),
        Evolution(domain.pool, pool_only=True, selection=by_fitness),
        n_initial=n_initial,
        n_starts=None,
        design=design,
        surroundings=mutants,
    )


def product_kernel(domain: Joint, settings: Otmann = REFERENCE) -> Similarity:
    """One factor a part; raises DomainError for parts that are neither architectures, nor spaces, nor joint."""
    factors: list[Similarity] = []
    for name, part in zip(domain.names, domain.domains, strict=True):
        factors.append(PartKernel(name, partial(domain.part, name), part_kernel(part, settings)))
    return reduce(Product, factors)


def part_kernel(part: Any, settings: Otmann) -> Similarity:
    """Diffusion, choices or OTMANN, as the part is a space, of programs, or of architectures."""
    if isinstance(part, Joint):
        return product_kernel(part, settings)
    if isinstance(part, SearchSpace):
        return trace_kernel(part)
    return lengthscale_kernel(part) if isinstance(part, Space) else otmann_kernel(part, settings)


def otmann_kernel(domain: Any, settings: Otmann = REFERENCE) -> Similarity:
    """OTMANN of architectures, or of the architectures that programs are; raises DomainError for anything else."""
    sampled = callable(getattr(domain, "sample", None))
    xs = list(domain.sample(DRAWN_TO_SCALE, np.random.default_rng(0))) if sampled else []
    if isinstance(domain, SearchSpace):
        layers: Recent[Trace, Architecture] = Recent(lambda x: domain.present(x).to_architecture())
        try:
            kernel = scaled_otmann([layers(x) for x in xs], settings)
        except LanguageError as error:
            raise DomainError(f"method: nasbot needs programs whose modules stand for layers: {error}") from error
        return PartKernel("architecture", lambda batch: [layers(x) for x in batch], kernel)
    if not xs or not all(isinstance(x, Architecture) for x in xs):
        raise DomainError(f"method: nasbot needs a domain of architectures, got {type(domain).__name__}")
    return scaled_otmann(xs, settings)


def scaled_otmann(xs: list[Architecture], settings: Otmann) -> OtmannKernel:
    """OTMANN with rates whose priors know how far apart these are."""
    found = otmann_distances(xs, settings=settings)
    return OtmannKernel(typical_rate(found.distance), typical_rate(found.normalized), settings)


def typical_rate(distances: Array) -> Terms:
    """Of distances (m, m, weights) in a domain: all terms of a kernel together are about 1 at the median."""
    m, _, weights = distances.shape
    typical = float(np.median(distances[np.triu_indices(m, 1)])) or 1.0
    rate = -math.log(2.0 * weights * typical)
    return Terms(around(rate, 1.0), rate)


def beginning(domain: Any) -> tuple[Design, int]:
    """How searches of architectures begin: with the pool; with 12 random points where the domain has none."""
    pool = pool_of(domain)
    return (PoolFirst(pool), len(pool)) if pool else (drawn, INITIAL)


def pool_of(domain: Any) -> tuple[Any, ...]:
    """Where a domain says to begin; of a joint one the pools of its parts side by side, repeated to equal lengths.

    Parts without a pool are drawn, the same in every study, as pools are.
    """
    if isinstance(domain, ArchitectureDomain):
        return domain.pool
    pools = [pool_of(part) for part in domain.domains] if isinstance(domain, Joint) else []
    n = max(map(len, pools), default=0)
    if not n:
        return ()
    rng = np.random.default_rng(0)
    both = zip(domain.domains, pools, strict=True)
    columns = [islice(cycle(pool), n) if pool else part.sample(n, rng) for part, pool in both]
    return tuple(domain.points(columns))


def evolution(domain: Any) -> Searcher:
    """Mutations of evaluated points, drawn by the rank of their values."""
    design, n_initial = beginning(domain)
    return EvolutionSearch(domain, ByRank(), n_initial, design)


def regularized_evolution(domain: Any) -> Searcher:
    """Mutations of the best of a tournament among the youngest points (Real et al. 2019)."""
    design, n_initial = beginning(domain)
    return EvolutionSearch(domain, Aging(), n_initial, design)


def random(domain: Any) -> Searcher:
    """Random search without replacement; from a pool, the published walk: mutations of any evaluated point."""
    if not pool_of(domain):
        return RandomSearch(domain)
    design, n_initial = beginning(domain)
    return EvolutionSearch(domain, alike, n_initial, design, origin="random")


def annealing(domain: Any) -> Searcher:
    """Simulated annealing on the objective itself."""
    return Annealing(domain)


def hill_climbing(domain: Any, best_improvement: bool = False) -> Searcher:
    """Local search with random restarts: one exchange, the first improvement, or with `best_improvement` the best."""
    if not callable(getattr(domain, "some_neighbors", None)):
        name = type(domain).__name__
        raise DomainError(f"method: hill-climbing needs a domain whose neighbours can be listed, got {name}")
    return HillClimbing(domain, best_improvement=best_improvement)


METHODS: dict[str, Callable[[Any], Searcher]] = {
    "auto": auto,
    "combo": combo,
    "nasbot": nasbot,
    "evolution": evolution,
    "regularized-evolution": regularized_evolution,
    "bocs": bocs,
    "smac": smac,
    "tpe": tpe,
    "smbo": smbo,
    "wrs": wrs,
    "mcts": mcts,
    "hyperband": hyperband,
    "successive-halving": successive_halving,
    "model-based-hyperband": model_based_hyperband,
    "annealing": annealing,
    "hill-climbing": hill_climbing,
    "random": random,
}


def searcher(method: str | Searcher, domain: Any) -> Searcher:
    """A searcher from its name, or as it is; raises ValueError for an unknown name, TypeError for anything else."""
    if isinstance(method, str):
        return METHODS[check_choice("method", method, METHODS)](domain)
    if isinstance(method, type) or not callable(getattr(method, "suggest", None)):
        hint = "; call it with the space first" if callable(method) else ""
        raise TypeError(f"method: expected a name or a searcher, got {shown(method)}{hint}")
    return method
