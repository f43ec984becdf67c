"""The search-space language: write a space of programs, search it with anything.

After Negrinho et al. 2019 (DeepArchitect), whose names, argument orders and local names are kept. A function builds
modules, connects them and returns (inputs, outputs); `SearchSpace` of it is a value and a domain.
"""

from __future__ import annotations

from bostruct.contracts import Infeasible
from bostruct.domains.counts import INFINITE, AtLeast, Exact
from bostruct.domains.language.combinators import (
    combiner,
    dense_block,
    hyperparameter_aggregator,
    identity,
    mimo_nested_repeat,
    mimo_or,
    preproc_apply_postproc,
    siso_nested_repeat,
    siso_optional,
    siso_or,
    siso_permutation,
    siso_repeat,
    siso_residual,
    siso_sequential,
    siso_split_combine,
)
from bostruct.domains.language.compilers.implementations import (
    Labelled,
    PlainFunction,
    SklearnStep,
    TorchLayer,
    feature_union,
    function_module,
    labeled_module,
    siso_torch_layer,
    siso_torch_module,
    sklearn_module,
    torch_module,
)
from bostruct.domains.language.errors import (
    AlreadyConnected,
    CompileError,
    CycleError,
    DanglingInput,
    DanglingModule,
    ForeignHyperparameter,
    ForeignPort,
    LanguageError,
    NameClash,
    NoneFeasible,
    PortNames,
    SubstitutionError,
    TooDeep,
    TraceError,
)
from bostruct.domains.language.graph import DependentHyperparameter, Discrete
from bostruct.domains.language.hyperparameters import (
    Bool,
    D,
    FloatRange,
    HyperparameterSharer,
    IntRange,
    OneOfK,
    OneOfKFactorial,
)
from bostruct.domains.language.modules import module, outer_output, siso_module, substitution_module
from bostruct.domains.language.program import Program
from bostruct.domains.language.space import SearchSpace
from bostruct.domains.language.trace import Trace

__all__ = [
    "INFINITE",
    "AlreadyConnected",
    "AtLeast",
    "Bool",
    "CompileError",
    "CycleError",
    "D",
    "DanglingInput",
    "DanglingModule",
    "DependentHyperparameter",
    "Discrete",
    "Exact",
    "FloatRange",
    "ForeignHyperparameter",
    "ForeignPort",
    "HyperparameterSharer",
    "Infeasible",
    "IntRange",
    "Labelled",
    "LanguageError",
    "NameClash",
    "NoneFeasible",
    "OneOfK",
    "OneOfKFactorial",
    "PlainFunction",
    "PortNames",
    "Program",
    "SearchSpace",
    "SklearnStep",
    "SubstitutionError",
    "TooDeep",
    "TorchLayer",
    "Trace",
    "TraceError",
    "combiner",
    "dense_block",
    "feature_union",
    "function_module",
    "hyperparameter_aggregator",
    "identity",
    "labeled_module",
    "mimo_nested_repeat",
    "mimo_or",
    "module",
    "outer_output",
    "preproc_apply_postproc",
    "siso_module",
    "siso_nested_repeat",
    "siso_optional",
    "siso_or",
    "siso_permutation",
    "siso_repeat",
    "siso_residual",
    "siso_sequential",
    "siso_split_combine",
    "siso_torch_layer",
    "siso_torch_module",
    "sklearn_module",
    "substitution_module",
    "torch_module",
]
