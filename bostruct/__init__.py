"""bostruct: Bayesian optimization over structured and combinatorial domains.

The public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent until a program listens

_HOME = {
    "Binary": "bostruct.domains.space.binary",
    "Categorical": "bostruct.domains.space.categorical",
    "Ordinal": "bostruct.domains.space.ordinal",
    "Integer": "bostruct.domains.space.integer",
    "Fidelity": "bostruct.domains.space.fidelity",
    "Graph": "bostruct.domains.space.graph",
    "OneOf": "bostruct.domains.space.when",
    "Permutation": "bostruct.domains.space.permutation",
    "Candidates": "bostruct.domains.space.candidates",
    "Real": "bostruct.domains.space.real",
    "Sequence": "bostruct.domains.space.sequence",
    "Space": "bostruct.domains.mixed",
    "Subset": "bostruct.domains.space.subset",
    "Architecture": "bostruct.domains.architecture.value",
    "Bounds": "bostruct.domains.architecture.domain",
    "cnn_domain": "bostruct.domains.architecture.domain",
    "mlp_domain": "bostruct.domains.architecture.domain",
    "joint_domain": "bostruct.domains.joint",
    "register_domain": "bostruct.domains.registry",
    "register_variable": "bostruct.kernels.space.registry",
    "importance": "bostruct.analysis.importances",
    "plot_architecture": "bostruct.domains.architecture.drawing",
    "plot_front": "bostruct.analysis.fronts",
    "plot_hypervolume": "bostruct.analysis.fronts",
    "plot_calibration": "bostruct.analysis.calibration",
    "plot_effects": "bostruct.analysis.effects",
    "plot_genealogy": "bostruct.analysis.genealogy",
    "plot_history": "bostruct.analysis.histories",
    "plot_parallel_coordinates": "bostruct.analysis.parallel_coordinates",
    "plot_slices": "bostruct.analysis.slices",
    "plot_importance": "bostruct.analysis.importances",
    "otmann": "bostruct.kernels.otmann.distance",
    "plot_transport": "bostruct.kernels.otmann.plot",
    "Study": "bostruct.study.study",
    "Result": "bostruct.study.result",
    "Trial": "bostruct.study.history",
    "BostructError": "bostruct.contracts",
    "Infeasible": "bostruct.contracts",
    "MissingExtra": "bostruct.contracts",
    "ObjectiveError": "bostruct.study.failures",
    "SpaceExhausted": "bostruct.contracts",
    "Transient": "bostruct.contracts",
    "DomainError": "bostruct.contracts",
    "StorageError": "bostruct.storage.protocol",
    "StudyLocked": "bostruct.storage.protocol",
    "OtherVersion": "bostruct.study.records",
    "SpaceChanged": "bostruct.study.space_changes",
    "report": "bostruct.execution.evaluation",
    "MedianRule": "bostruct.study.stopping",
    "StopWhen": "bostruct.study.callbacks",
    "SuccessiveHalvingRule": "bostruct.study.stopping",
    "write_report": "bostruct.analysis.report.page",
    "minimize": "bostruct.optimize",
    "maximize": "bostruct.optimize",
    "Problem": "bostruct.problems.own",
    "compare": "bostruct.comparison.compare",
}

if TYPE_CHECKING:
    from bostruct.analysis.calibration import plot_calibration
    from bostruct.analysis.effects import plot_effects
    from bostruct.analysis.fronts import plot_front, plot_hypervolume
    from bostruct.analysis.genealogy import plot_genealogy
    from bostruct.analysis.histories import plot_history
    from bostruct.analysis.importances import importance, plot_importance
    from bostruct.analysis.parallel_coordinates import plot_parallel_coordinates
    from bostruct.analysis.report.page import write_report
    from bostruct.analysis.slices import plot_slices
    from bostruct.comparison.compare import compare
    from bostruct.contracts import BostructError, DomainError, Infeasible, MissingExtra, SpaceExhausted, Transient
    from bostruct.domains.architecture.domain import Bounds, cnn_domain, mlp_domain
    from bostruct.domains.architecture.drawing import plot_architecture
    from bostruct.domains.architecture.value import Architecture
    from bostruct.domains.joint import joint_domain
    from bostruct.domains.registry import register_domain
    from bostruct.domains.space.binary import Binary
    from bostruct.domains.space.candidates import Candidates
    from bostruct.domains.space.categorical import Categorical
    from bostruct.domains.space.fidelity import Fidelity
    from bostruct.domains.space.graph import Graph
    from bostruct.domains.space.integer import Integer
    from bostruct.domains.space.ordinal import Ordinal
    from bostruct.domains.space.permutation import Permutation
    from bostruct.domains.space.real import Real
    from bostruct.domains.space.sequence import Sequence
    from bostruct.domains.space.space import Space
    from bostruct.domains.space.subset import Subset
    from bostruct.domains.space.when import OneOf
    from bostruct.execution.evaluation import report
    from bostruct.kernels.otmann.distance import otmann
    from bostruct.kernels.otmann.plot import plot_transport
    from bostruct.kernels.space.registry import register_variable
    from bostruct.optimize import maximize, minimize
    from bostruct.problems.own import Problem
    from bostruct.storage.protocol import StorageError, StudyLocked
    from bostruct.study.callbacks import StopWhen
    from bostruct.study.failures import ObjectiveError
    from bostruct.study.history import Trial
    from bostruct.study.records import OtherVersion
    from bostruct.study.result import Result
    from bostruct.study.space_changes import SpaceChanged
    from bostruct.study.stopping import MedianRule, SuccessiveHalvingRule
    from bostruct.study.study import Study

__all__ = [
    "Architecture",
    "Binary",
    "BostructError",
    "Bounds",
    "Candidates",
    "Categorical",
    "DomainError",
    "Fidelity",
    "Graph",
    "Infeasible",
    "Integer",
    "MedianRule",
    "MissingExtra",
    "ObjectiveError",
    "OneOf",
    "Ordinal",
    "OtherVersion",
    "Permutation",
    "Problem",
    "Real",
    "Result",
    "Sequence",
    "Space",
    "SpaceChanged",
    "SpaceExhausted",
    "StopWhen",
    "StorageError",
    "Study",
    "StudyLocked",
    "Subset",
    "SuccessiveHalvingRule",
    "Transient",
    "Trial",
    "cnn_domain",
    "compare",
    "importance",
    "joint_domain",
    "maximize",
    "minimize",
    "mlp_domain",
    "otmann",
    "plot_architecture",
    "plot_calibration",
    "plot_effects",
    "plot_front",
    "plot_genealogy",
    "plot_history",
    "plot_hypervolume",
    "plot_importance",
    "plot_parallel_coordinates",
    "plot_slices",
    "plot_transport",
    "register_domain",
    "register_variable",
    "report",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bostruct' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
