"""bostruct: Bayesian optimization over structured and combinatorial domains.

The public names are loaded when first used, so that importing the package is fast.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from bostruct.public_names import attach

__version__ = "0.2.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent until a program configures logging

if TYPE_CHECKING:
    from bostruct.analysis.calibration import plot_calibration as plot_calibration
    from bostruct.analysis.coordinates import plot_parallel_coordinates as plot_parallel_coordinates
    from bostruct.analysis.coordinates import plot_ternary as plot_ternary
    from bostruct.analysis.fronts import plot_front as plot_front
    from bostruct.analysis.fronts import plot_hypervolume as plot_hypervolume
    from bostruct.analysis.genealogy import plot_genealogy as plot_genealogy
    from bostruct.analysis.importances import importance as importance
    from bostruct.analysis.importances import plot_effects as plot_effects
    from bostruct.analysis.importances import plot_importance as plot_importance
    from bostruct.analysis.plots import plot_convergence as plot_convergence
    from bostruct.analysis.plots import plot_history as plot_history
    from bostruct.analysis.report.page import write_report as write_report
    from bostruct.analysis.slices import plot_slices as plot_slices
    from bostruct.comparison.compare import compare as compare
    from bostruct.contracts import BostructError as BostructError
    from bostruct.contracts import DomainError as DomainError
    from bostruct.contracts import Infeasible as Infeasible
    from bostruct.contracts import MissingExtra as MissingExtra
    from bostruct.contracts import SpaceExhausted as SpaceExhausted
    from bostruct.contracts import Transient as Transient
    from bostruct.domains.architecture.domain import Bounds as Bounds
    from bostruct.domains.architecture.domain import cnn_domain as cnn_domain
    from bostruct.domains.architecture.domain import mlp_domain as mlp_domain
    from bostruct.domains.architecture.drawing import plot_architecture as plot_architecture
    from bostruct.domains.architecture.value import Architecture as Architecture
    from bostruct.domains.joint import joint_domain as joint_domain
    from bostruct.domains.mixed import Space as Space
    from bostruct.domains.registry import register_domain as register_domain
    from bostruct.domains.space.candidates import Candidates as Candidates
    from bostruct.domains.space.clauses import OneOf as OneOf
    from bostruct.domains.space.discrete import Binary as Binary
    from bostruct.domains.space.discrete import Categorical as Categorical
    from bostruct.domains.space.discrete import Fidelity as Fidelity
    from bostruct.domains.space.discrete import Graph as Graph
    from bostruct.domains.space.discrete import Ordinal as Ordinal
    from bostruct.domains.space.linear import Linear as Linear
    from bostruct.domains.space.mixture import Allocation as Allocation
    from bostruct.domains.space.mixture import Mixture as Mixture
    from bostruct.domains.space.numeric import Integer as Integer
    from bostruct.domains.space.numeric import Real as Real
    from bostruct.domains.space.permutation import Permutation as Permutation
    from bostruct.domains.space.sequence import Sequence as Sequence
    from bostruct.domains.space.subset import Subset as Subset
    from bostruct.execution.evaluation import report as report
    from bostruct.execution.evaluation import set_attribute as set_attribute
    from bostruct.kernels.otmann.distance import otmann as otmann
    from bostruct.kernels.otmann.distance import plot_transport as plot_transport
    from bostruct.kernels.space.registry import register_variable as register_variable
    from bostruct.optimize import maximize as maximize
    from bostruct.optimize import minimize as minimize
    from bostruct.outcome import Outcome as Outcome
    from bostruct.problems.own import Problem as Problem
    from bostruct.storage.protocol import StorageError as StorageError
    from bostruct.storage.protocol import StudyLocked as StudyLocked
    from bostruct.study.history import Trial as Trial
    from bostruct.study.loop import ObjectiveError as ObjectiveError
    from bostruct.study.records import OtherVersion as OtherVersion
    from bostruct.study.result import Result as Result
    from bostruct.study.space_changes import SpaceChanged as SpaceChanged
    from bostruct.study.stopping import MedianRule as MedianRule
    from bostruct.study.stopping import StopWhen as StopWhen
    from bostruct.study.stopping import SuccessiveHalvingRule as SuccessiveHalvingRule
    from bostruct.study.study import Study as Study
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.analysis.calibration": "plot_calibration",
            "bostruct.analysis.coordinates": "plot_parallel_coordinates plot_ternary",
            "bostruct.analysis.fronts": "plot_front plot_hypervolume",
            "bostruct.analysis.genealogy": "plot_genealogy",
            "bostruct.analysis.importances": "importance plot_effects plot_importance",
            "bostruct.analysis.plots": "plot_convergence plot_history",
            "bostruct.analysis.report.page": "write_report",
            "bostruct.analysis.slices": "plot_slices",
            "bostruct.comparison.compare": "compare",
            "bostruct.contracts": "BostructError DomainError Infeasible MissingExtra SpaceExhausted Transient",
            "bostruct.domains.architecture.domain": "Bounds cnn_domain mlp_domain",
            "bostruct.domains.architecture.drawing": "plot_architecture",
            "bostruct.domains.architecture.value": "Architecture",
            "bostruct.domains.joint": "joint_domain",
            "bostruct.domains.mixed": "Space",
            "bostruct.domains.registry": "register_domain",
            "bostruct.domains.space.candidates": "Candidates",
            "bostruct.domains.space.clauses": "OneOf",
            "bostruct.domains.space.discrete": "Binary Categorical Fidelity Graph Ordinal",
            "bostruct.domains.space.linear": "Linear",
            "bostruct.domains.space.mixture": "Allocation Mixture",
            "bostruct.domains.space.numeric": "Integer Real",
            "bostruct.domains.space.permutation": "Permutation",
            "bostruct.domains.space.sequence": "Sequence",
            "bostruct.domains.space.subset": "Subset",
            "bostruct.execution.evaluation": "report set_attribute",
            "bostruct.kernels.otmann.distance": "otmann plot_transport",
            "bostruct.kernels.space.registry": "register_variable",
            "bostruct.optimize": "maximize minimize",
            "bostruct.outcome": "Outcome",
            "bostruct.problems.own": "Problem",
            "bostruct.storage.protocol": "StorageError StudyLocked",
            "bostruct.study.history": "Trial",
            "bostruct.study.loop": "ObjectiveError",
            "bostruct.study.records": "OtherVersion",
            "bostruct.study.result": "Result",
            "bostruct.study.space_changes": "SpaceChanged",
            "bostruct.study.stopping": "MedianRule StopWhen SuccessiveHalvingRule",
            "bostruct.study.study": "Study",
        },
    )
