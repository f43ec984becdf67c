"""The registry of kernels: one line for each kind of variable. Domains never import kernels; this file joins them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bostruct.checks import check_part, short_repr
from bostruct.contracts import Domain, DomainError, Parameter, Prior
from bostruct.domains.space.candidates import Candidates
from bostruct.domains.space.choices import ChoiceVariable
from bostruct.domains.space.discrete import Binary, Categorical, Fidelity, Graph, Ordinal
from bostruct.domains.space.graphs import MAX_CHOICES, VariableGraph
from bostruct.domains.space.mixture import Allocation, Mixture
from bostruct.domains.space.numeric import Integer, Real
from bostruct.domains.space.permutation import Permutation
from bostruct.domains.space.registry import KINDS
from bostruct.domains.space.scale import NumberGrid
from bostruct.domains.space.sequence import Sequence as LetterSequence
from bostruct.domains.space.single_changes import Layout
from bostruct.domains.space.subset import Subset
from bostruct.domains.space.variable import Variable
from bostruct.kernels.space.conditional import ConditionalFactor, ConditionalNumbers
from bostruct.kernels.space.diffusion import FactorSettings, graph_factors
from bostruct.kernels.space.effects import NO_EFFECT, EffectKernel, FactorEffect, GraphEffect
from bostruct.kernels.space.factor import Factor, ServedFactor
from bostruct.kernels.space.likeness import ChoiceEffect, DistanceFactor, LikenessDistances, LikenessEffect
from bostruct.kernels.space.main_effects import LengthscaleBlend, MainEffects
from bostruct.kernels.space.matern import MaternFactor, NumberEffect
from bostruct.kernels.space.mixture import MixtureEffect, MixtureFactor, MixtureFeatures
from bostruct.kernels.space.permutation import OrderDistances, OrderShape, PermutationEffect
from bostruct.kernels.space.product import PlacedFactor, SpaceKernel
from bostruct.kernels.space.sequence import SequenceEffect, SequenceFactor, SequenceShape
from bostruct.kernels.space.spectra import Link, LogLengthscale
from bostruct.kernels.space.subset import SubsetEffect, SubsetShape, subset_factor


class VariableKernels(NamedTuple):
    """The kernels of one kind of variable.

    Attributes
    ----------
    factors : callable
        Function from variables of this kind, and settings, to factors and the variables of each. Kinds with the same
        function share factors.
    effects : callable, optional
        Function from variables of this kind to the effect of each; equal effects are the same object. None uses the
        factor of each variable at theta 0.
    conditional : callable, optional
        The same as `factors`, for variables that some points lack. Its factors have the parameters of `factors`, then
        one for each variable: the logit of the correlation between points with and without it. None wraps the factor of
        each variable in a `ConditionalFactor`.
    lengths : callable, optional
        Function from a variable of this kind to the effect of only its length or size, or to None if that is constant.
        None if the kind has no length.
    """

    factors: Callable[[Sequence[Any], FactorSettings], list[ServedFactor]]
    effects: Callable[[Sequence[Any]], Sequence[EffectKernel]] | None = None
    conditional: Callable[[Sequence[Any], FactorSettings], list[ServedFactor]] | None = None
    lengths: Callable[[Any], EffectKernel | None] | None = None


def _graph_factors(variables: Sequence[ChoiceVariable], settings: FactorSettings) -> list[ServedFactor]:
    return graph_factors([v.graph for v in variables], settings)


def _graph_effects(variables: Sequence[ChoiceVariable]) -> list[EffectKernel]:
    effects: dict[VariableGraph, EffectKernel] = {
        graph: ChoiceEffect(graph.size) if graph.is_complete and graph.size > MAX_CHOICES else GraphEffect(graph)
        for graph in dict.fromkeys(v.graph for v in variables)
    }
    return [effects[v.graph] for v in variables]


def _number_factors(
    kind: type[MaternFactor | ConditionalNumbers], variables: Sequence[Variable], settings: FactorSettings
) -> list[ServedFactor]:
    del settings
    return [(kind(_list_grids(variables)), tuple(range(len(variables))))]


def _number_effects(variables: Sequence[Variable]) -> list[EffectKernel]:
    return [NumberEffect(grid) for grid in _list_grids(variables)]


def _list_grids(variables: Sequence[Variable]) -> tuple[NumberGrid, ...]:
    return tuple(one.grid for one in variables if one.grid is not None)


def _sequence_shape(variable: LetterSequence) -> SequenceShape:
    return SequenceShape(len(variable.letters), variable.longest, variable.shortest)


def _by_shape(
    shape_of: Callable[[Any], Hashable],
    make_factor: Callable[[Any, int], Factor],
    make_effect: Callable[[Any], EffectKernel],
    lengths_of: Callable[[Any], EffectKernel | None] | None = None,
) -> VariableKernels:
    """Build the kernels of a kind whose variables share factors and effects if their shapes are equal.

    make_factor: function from a shape and the number of variables to their factor.
    lengths_of: function from a shape to the effect of its length or size, None if that is constant.
    """

    def build_factors(variables: Sequence[Variable], settings: FactorSettings) -> list[ServedFactor]:
        del settings
        served: dict[Hashable, list[int]] = {}
        for i, one in enumerate(variables):
            served.setdefault(shape_of(one), []).append(i)
        return [(make_factor(shape, len(own)), tuple(own)) for shape, own in served.items()]

    def build_effects(variables: Sequence[Variable]) -> list[EffectKernel]:
        shapes = [shape_of(one) for one in variables]
        effects = {shape: make_effect(shape) for shape in shapes}
        return [effects[shape] for shape in shapes]

    lengths = None if lengths_of is None else lambda variable: lengths_of(shape_of(variable))
    return VariableKernels(build_factors, build_effects, lengths=lengths)


ON_GRAPHS = VariableKernels(_graph_factors, _graph_effects)
NUMBERS = VariableKernels(  # also for integers that are not listed
    partial(_number_factors, MaternFactor), _number_effects, partial(_number_factors, ConditionalNumbers)
)
# also for categories with descriptors or a matrix
ALIKE = _by_shape(lambda v: v.likeness, lambda one, n: DistanceFactor(LikenessDistances(one), n), LikenessEffect)

SUMS = _by_shape(MixtureFeatures.of, MixtureFactor, MixtureEffect)

KERNELS: dict[type[Variable], VariableKernels] = {
    Binary: ON_GRAPHS,
    Categorical: ON_GRAPHS,
    Ordinal: ON_GRAPHS,
    Integer: ON_GRAPHS,
    Real: ON_GRAPHS,
    Fidelity: ON_GRAPHS,
    Graph: ON_GRAPHS,
    Permutation: _by_shape(OrderShape.of, lambda shape, n: DistanceFactor(OrderDistances(shape), n), PermutationEffect),
    Subset: _by_shape(
        SubsetShape.of, subset_factor, lambda shape: SubsetEffect(shape.n_items, shape.share), lambda shape: shape.range
    ),
    LetterSequence: _by_shape(_sequence_shape, SequenceFactor, SequenceEffect, lambda shape: shape.lengths),
    Candidates: ALIKE,
    Mixture: SUMS,
    Allocation: SUMS,
    ChoiceVariable: ON_GRAPHS,
}


def register_variable(kind: type[Variable], kernels: VariableKernels | None = None) -> None:
    """Register a variable class with its kernel, so that spaces and files can contain it.

    Call it before loading a study with such a variable. Registering the same class again changes nothing. A class that
    is defined again, for example by running a notebook cell twice, is a different class with a name that is taken:
    restart the program, or rename the class.

    Parameters
    ----------
    kind : type of Variable
        A class derived from `bostruct.domains.space.variable.Variable`, to be tested by
        `bostruct.testing.check_variable`.
    kernels : VariableKernels, optional
        The kernels of its variables; None for those of its base class, such as diffusion on the graphs of a
        `ChoiceVariable`.

    Raises
    ------
    TypeError, ValueError
        If the name or the class is taken.
    """
    if not isinstance(kind, type) or not issubclass(kind, Variable):
        raise TypeError(f"kind: expected a class derived from bostruct.domains.Variable, got {short_repr(kind)}")
    kernels = kernels or _find_registered(kind)
    if not isinstance(kernels, VariableKernels):
        raise TypeError(f"kernels: expected VariableKernels, got {short_repr(kernels)}")
    if KINDS.get(kind.__name__, kind) is not kind:
        raise ValueError(f"kind: expected a name that is not taken, got {kind.__name__!r}, which is another class")
    if KERNELS.get(kind, kernels) != kernels:
        raise ValueError(f"kind: expected one that is not taken, got {kind.__name__!r}, which has other kernels")
    KINDS[kind.__name__] = kind
    KERNELS[kind] = kernels


def product_kernel(
    domain: Domain,
    prior: Prior,
    link: Link,
    initial: float = 0.0,
    unit_diagonal: bool = False,
    absence_prior: Prior | None = None,
    most_apart: int | None = None,
) -> SpaceKernel:
    """Build the product of one factor for each variable of a domain.

    Parameters
    ----------
    domain : Domain
        A domain with variables, such as a `Space`.
    prior : Prior
        Prior of each theta_i.
    link : Link
        The meaning of theta, for variables on graphs.
    initial : float, default 0.0
        Initial value of theta_i.
    unit_diagonal : bool, default False
        If True, every factor is scaled to k(a, a) = 1; else the mean of its diagonal is 1.
    absence_prior : Prior, optional
        Prior of the logit of the correlation between points with and without a variable, initially 0; see
        `ConditionalFactor`. Required if the space has conditions.
    most_apart : int, optional
        If more than this number of variables have equal graphs, they share one theta_i. If None, each has its own.
        Conditional variables always have their own.

    Raises
    ------
    DomainError
        If a variable's kind has no kernel (the message names it), or the space has conditions without `absence_prior`.
    """
    variables, settings = list(domain.variables.values()), FactorSettings(link, unit_diagonal)
    layout, numbers = _layout(variables), _grids(variables)
    placed, singles, together, n_conditional = list[PlacedFactor](), list[PlacedFactor](), list[PlacedFactor](), 0
    for kernels, own in _by_kernels(domain).items():
        always, at_times = ([i for i in own if bool(variables[i].when) is has] for has in (False, True))
        for factor, served in kernels.factors([variables[i] for i in always], settings) if always else []:
            most = len(variables) if most_apart is None else most_apart
            for one, positions in check_part("factors", factor, Factor).share_parameters(most):
                mine = tuple(always[served[j]] for j in positions)
                placed.append(PlacedFactor(one, mine, _columns(layout, mine)))
        for factor, served in _make_conditional(kernels, [variables[i] for i in at_times], settings):
            mine = tuple(at_times[j] for j in served)
            more = tuple(len(variables) + n_conditional + j for j in served)
            found = PlacedFactor(factor, mine, _columns(layout, mine), more)
            (singles if kernels.conditional is None else together).append(found)
        n_conditional += len(at_times)
    if not n_conditional:
        return SpaceKernel(tuple(number_parameters(placed, len(variables))), link.name, prior, initial, numbers=numbers)
    if absence_prior is None:
        raise DomainError("absence_prior: expected a prior, because the space has variables with conditions")
    absence = Parameter("absence_logit", n_conditional, absence_prior, 0.0)
    every = number_parameters([*placed, *singles, *together], len(variables))
    return SpaceKernel(tuple(every), link.name, prior, initial, absence, numbers)


def number_parameters(placed: Sequence[PlacedFactor], d: int) -> list[PlacedFactor]:
    """Assign parameters to factors by their variables; a shared parameter belongs to the first of its variables.

    d: number of variables; variables without a factor have no parameters.

    Raises DomainError for an invalid number of parameters.
    """
    counts = np.zeros(d, dtype=np.int64)  # parameters of each variable
    for factor, variables, *_ in placed:
        n = check_part("factors", factor, Factor).n_parameters
        if not isinstance(n, int) or n < 1 or (n > 1 and n % len(variables)):
            allowed = f"1 or a multiple of its {len(variables)} variables (docs/extending-variable.md)"
            raise DomainError(f"{type(factor).__name__}.n_parameters: expected {allowed}, got {n}")
        counts[list(variables)] = factor.n_parameters // len(variables)
        if factor.n_parameters == 1:
            counts[variables[0]] = 1
    if (counts == 1).all():
        return list(placed)
    ends, more = np.cumsum(counts), int(counts.sum()) - d
    return [
        one._replace(
            parameters=tuple(p for v in one.variables for p in range(int(ends[v] - counts[v]), int(ends[v]))),
            more=tuple(m + more for m in one.more),
        )
        for one in placed
    ]


def _make_conditional(
    kernels: VariableKernels, variables: Sequence[Variable], settings: FactorSettings
) -> list[ServedFactor]:
    """Build the factors of variables that some points lack."""
    if kernels.conditional is not None and variables:
        return kernels.conditional(variables, settings)
    return [(ConditionalFactor(_single_factor(kernels, one, settings)), (i,)) for i, one in enumerate(variables)]


def main_effects(
    domain: Domain, trusts_order: bool = True, by_length: bool = False, blend: LengthscaleBlend | None = None
) -> MainEffects:
    """Build the linear kernel with one effect for each variable of a domain; 0 if a point lacks the variable.

    trusts_order: False to ignore orders of choices, except a fidelity's, and descriptors or matrices of choices: then
        these variables have the effects of categories.
    by_length: True for effects of sequences of varying length, and of subsets of a range of sizes, that depend only on
        their lengths and sizes.
    blend: weights of the lengthscales of numbers; None for one lengthscale.

    Raises DomainError, naming the variable whose kind has no kernel.
    """
    variables, effects = list(domain.variables.values()), _effects(domain)
    if not trusts_order:
        effects |= _unordered_effects(variables, effects)
    if by_length:
        effects |= _length_effects(domain)
    own = (effects[i].conditional() if one.when and not one.is_fixed else effects[i] for i, one in enumerate(variables))
    return MainEffects(tuple(own), _layout(variables), _grids(variables), blend)


def has_order_to_doubt(domain: Domain) -> bool:
    """Return whether a variable, except a fidelity, has three or more ordered choices, or choices with a similarity.

    Raises DomainError, naming the variable whose kind has no kernel.
    """
    variables = list(domain.variables.values())
    return bool(_unordered_effects(variables, _effects(domain)))


def has_lengths(domain: Domain) -> bool:
    """Return whether a domain has sequences of varying length, or subsets of a range of sizes."""
    return bool(_length_effects(domain))


def _length_effects(domain: Domain) -> dict[int, EffectKernel]:
    """Return the effects of lengths and sizes, if they vary, by the variable's position."""
    registered = ((i, one, _find_registered(type(one))) for i, one in enumerate(domain.variables.values()))
    lengths = ((i, own.lengths(one)) for i, one, own in registered if own is not None and own.lengths is not None)
    return {i: own for i, own in lengths if own is not None}


def _unordered_effects(variables: Sequence[Variable], effects: Mapping[int, EffectKernel]) -> dict[int, EffectKernel]:
    """Return the effects of ordered or similar choices as if they were categories, by the variable's position."""
    plain = {i: one.unordered(variables[i].ordered and not variables[i].has_sure_order) for i, one in effects.items()}
    shared = dict[EffectKernel, EffectKernel]()
    return {i: shared.setdefault(one, one) for i, one in plain.items() if one is not None}


def _effects(domain: Domain) -> dict[int, EffectKernel]:
    """Return the effect of each variable, if present, by its position."""
    variables, effects = list(domain.variables.values()), dict[int, EffectKernel]()
    for kernels, own in _by_kernels(domain).items():
        make = kernels.effects or partial(_factor_effects, kernels)
        made = [check_part("effects", one, EffectKernel) for one in make([variables[i] for i in own])]
        effects.update(zip(own, made, strict=True))
    return effects | {i: NO_EFFECT for i, one in enumerate(variables) if one.is_fixed}


def _factor_effects(kernels: VariableKernels, variables: Sequence[Variable]) -> list[EffectKernel]:
    settings = FactorSettings(LogLengthscale(), True)
    return [FactorEffect(_single_factor(kernels, variable, settings)) for variable in variables]


def _single_factor(kernels: VariableKernels, variable: Variable, settings: FactorSettings) -> Factor:
    return kernels.factors([variable], settings)[0][0]


def _layout(variables: Sequence[Variable]) -> Layout:
    return Layout(tuple(one.width for one in variables))


def _grids(variables: Sequence[Variable]) -> tuple[int, ...]:
    """Return the variable of each continuous coordinate: numbers too many to list, and shares of mixtures."""
    return tuple(i for i, one in enumerate(variables) for _ in range(one.n_continuous))


def _by_kernels(domain: Domain) -> dict[VariableKernels, list[int]]:
    """Return the positions of the variables with several values, for each entry of the registry."""
    found: dict[VariableKernels, list[int]] = {}
    for i, (name, variable) in enumerate(domain.variables.items()):
        kernels = _find_registered(type(variable))
        if kernels is None:
            known = ", ".join(kind.__name__ for kind in KERNELS)
            raise DomainError(f"{name}: no kernel is known for a {variable.kind}; kernels are known for {known}")
        if kernels is ON_GRAPHS and variable.grid is not None:
            kernels = NUMBERS
        elif kernels is ON_GRAPHS and variable.likeness is not None:
            kernels = ALIKE
        if not variable.is_fixed:
            found.setdefault(kernels, []).append(i)
    return found


def _find_registered(kind: type[Variable]) -> VariableKernels | None:
    """Return the kernels of a kind of variable, or of its nearest base class that has kernels; None if none has."""
    return next((KERNELS[one] for one in kind.__mro__ if one in KERNELS), None)


def _columns(layout: Layout, variables: Sequence[int]) -> tuple[int, ...]:
    return tuple(c for i in variables for c in range(*layout.columns(i).indices(layout.n_columns)))
