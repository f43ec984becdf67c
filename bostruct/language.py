"""The search-space language: write a space of programs, search it with anything.

After Negrinho et al. 2019 (DeepArchitect), whose names, argument orders and local names are kept. A function builds
modules, connects them and returns (inputs, outputs); the `SearchSpace` of the function is a value and a domain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.contracts import INFINITE as INFINITE
    from bostruct.contracts import AtLeast as AtLeast
    from bostruct.contracts import Exact as Exact
    from bostruct.contracts import Infeasible as Infeasible
    from bostruct.domains.language.combinators import combiner as combiner
    from bostruct.domains.language.combinators import dense_block as dense_block
    from bostruct.domains.language.combinators import hyperparameter_aggregator as hyperparameter_aggregator
    from bostruct.domains.language.combinators import identity as identity
    from bostruct.domains.language.combinators import mimo_nested_repeat as mimo_nested_repeat
    from bostruct.domains.language.combinators import mimo_or as mimo_or
    from bostruct.domains.language.combinators import preproc_apply_postproc as preproc_apply_postproc
    from bostruct.domains.language.combinators import siso_nested_repeat as siso_nested_repeat
    from bostruct.domains.language.combinators import siso_optional as siso_optional
    from bostruct.domains.language.combinators import siso_or as siso_or
    from bostruct.domains.language.combinators import siso_permutation as siso_permutation
    from bostruct.domains.language.combinators import siso_repeat as siso_repeat
    from bostruct.domains.language.combinators import siso_residual as siso_residual
    from bostruct.domains.language.combinators import siso_sequential as siso_sequential
    from bostruct.domains.language.combinators import siso_split_combine as siso_split_combine
    from bostruct.domains.language.compilers.implementations import Labelled as Labelled
    from bostruct.domains.language.compilers.implementations import PlainFunction as PlainFunction
    from bostruct.domains.language.compilers.implementations import SklearnStep as SklearnStep
    from bostruct.domains.language.compilers.implementations import TorchLayer as TorchLayer
    from bostruct.domains.language.compilers.implementations import feature_union as feature_union
    from bostruct.domains.language.compilers.implementations import function_module as function_module
    from bostruct.domains.language.compilers.implementations import labeled_module as labeled_module
    from bostruct.domains.language.compilers.implementations import siso_torch_layer as siso_torch_layer
    from bostruct.domains.language.compilers.implementations import siso_torch_module as siso_torch_module
    from bostruct.domains.language.compilers.implementations import sklearn_module as sklearn_module
    from bostruct.domains.language.compilers.implementations import torch_module as torch_module
    from bostruct.domains.language.errors import AlreadyConnected as AlreadyConnected
    from bostruct.domains.language.errors import CompileError as CompileError
    from bostruct.domains.language.errors import CycleError as CycleError
    from bostruct.domains.language.errors import DanglingInput as DanglingInput
    from bostruct.domains.language.errors import DanglingModule as DanglingModule
    from bostruct.domains.language.errors import ForeignHyperparameter as ForeignHyperparameter
    from bostruct.domains.language.errors import ForeignPort as ForeignPort
    from bostruct.domains.language.errors import LanguageError as LanguageError
    from bostruct.domains.language.errors import NameClash as NameClash
    from bostruct.domains.language.errors import NoneFeasible as NoneFeasible
    from bostruct.domains.language.errors import PortNames as PortNames
    from bostruct.domains.language.errors import SubstitutionError as SubstitutionError
    from bostruct.domains.language.errors import TooDeep as TooDeep
    from bostruct.domains.language.errors import TraceError as TraceError
    from bostruct.domains.language.graph import DependentHyperparameter as DependentHyperparameter
    from bostruct.domains.language.graph import Discrete as Discrete
    from bostruct.domains.language.graph import module as module
    from bostruct.domains.language.graph import outer_output as outer_output
    from bostruct.domains.language.graph import siso_module as siso_module
    from bostruct.domains.language.graph import substitution_module as substitution_module
    from bostruct.domains.language.hyperparameters import Bool as Bool
    from bostruct.domains.language.hyperparameters import D as D
    from bostruct.domains.language.hyperparameters import FloatRange as FloatRange
    from bostruct.domains.language.hyperparameters import HyperparameterSharer as HyperparameterSharer
    from bostruct.domains.language.hyperparameters import IntRange as IntRange
    from bostruct.domains.language.hyperparameters import OneOfK as OneOfK
    from bostruct.domains.language.hyperparameters import OneOfKFactorial as OneOfKFactorial
    from bostruct.domains.language.program import Program as Program
    from bostruct.domains.language.space import SearchSpace as SearchSpace
    from bostruct.domains.language.values import Trace as Trace
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.contracts": "INFINITE AtLeast Exact Infeasible",
            "bostruct.domains.language.combinators": (
                "combiner dense_block hyperparameter_aggregator identity mimo_nested_repeat mimo_or "
                "preproc_apply_postproc siso_nested_repeat siso_optional siso_or siso_permutation siso_repeat "
                "siso_residual siso_sequential siso_split_combine"
            ),
            "bostruct.domains.language.compilers.implementations": (
                "Labelled PlainFunction SklearnStep TorchLayer feature_union function_module labeled_module "
                "siso_torch_layer siso_torch_module sklearn_module torch_module"
            ),
            "bostruct.domains.language.errors": (
                "AlreadyConnected CompileError CycleError DanglingInput DanglingModule ForeignHyperparameter "
                "ForeignPort LanguageError NameClash NoneFeasible PortNames SubstitutionError TooDeep TraceError"
            ),
            "bostruct.domains.language.graph": (
                "DependentHyperparameter Discrete module outer_output siso_module substitution_module"
            ),
            "bostruct.domains.language.hyperparameters": (
                "Bool D FloatRange HyperparameterSharer IntRange OneOfK OneOfKFactorial"
            ),
            "bostruct.domains.language.program": "Program",
            "bostruct.domains.language.space": "SearchSpace",
            "bostruct.domains.language.values": "Trace",
        },
    )
