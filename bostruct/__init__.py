"""bostruct: Bayesian optimisation over structured and combinatorial domains.

The public names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOME = {
    "Binary": "bostruct.domains.variables",
    "Categorical": "bostruct.domains.variables",
    "Ordinal": "bostruct.domains.variables",
    "Integer": "bostruct.domains.variables",
    "Fidelity": "bostruct.domains.variables",
    "Graph": "bostruct.domains.variables",
    "Real": "bostruct.domains.variables",
    "Space": "bostruct.domains.space",
    "Architecture": "bostruct.domains.architecture.value",
    "Bounds": "bostruct.domains.architecture.domain",
    "cnn_domain": "bostruct.domains.architecture.domain",
    "mlp_domain": "bostruct.domains.architecture.domain",
    "joint_domain": "bostruct.domains.joint",
    "importance": "bostruct.importances",
    "plot_architecture": "bostruct.domains.architecture.drawing",
    "plot_importance": "bostruct.plots",
    "otmann": "bostruct.kernels.otmann.distance",
    "plot_transport": "bostruct.kernels.otmann.plot",
    "Study": "bostruct.study",
    "Result": "bostruct.result",
    "Trial": "bostruct.history",
    "BostructError": "bostruct.contracts",
    "Infeasible": "bostruct.contracts",
    "ObjectiveError": "bostruct.run",
    "SpaceExhausted": "bostruct.contracts",
    "minimize": "bostruct.optimize",
    "maximize": "bostruct.optimize",
}

if TYPE_CHECKING:
    from bostruct.contracts import BostructError, Infeasible, SpaceExhausted
    from bostruct.domains.architecture.domain import Bounds, cnn_domain, mlp_domain
    from bostruct.domains.architecture.drawing import plot_architecture
    from bostruct.domains.architecture.value import Architecture
    from bostruct.domains.joint import joint_domain
    from bostruct.domains.space import Space
    from bostruct.domains.variables import Binary, Categorical, Fidelity, Graph, Integer, Ordinal, Real
    from bostruct.history import Trial
    from bostruct.importances import importance
    from bostruct.kernels.otmann.distance import otmann
    from bostruct.kernels.otmann.plot import plot_transport
    from bostruct.optimize import maximize, minimize
    from bostruct.plots import plot_importance
    from bostruct.result import Result
    from bostruct.run import ObjectiveError
    from bostruct.study import Study

__all__ = [
    "Architecture",
    "Binary",
    "BostructError",
    "Bounds",
    "Categorical",
    "Fidelity",
    "Graph",
    "Infeasible",
    "Integer",
    "ObjectiveError",
    "Ordinal",
    "Real",
    "Result",
    "Space",
    "SpaceExhausted",
    "Study",
    "Trial",
    "cnn_domain",
    "importance",
    "joint_domain",
    "maximize",
    "minimize",
    "mlp_domain",
    "otmann",
    "plot_architecture",
    "plot_importance",
    "plot_transport",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bostruct' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
