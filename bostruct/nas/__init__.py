"""Neural architectures to be searched and trained: modules, spaces of the literature, networks, data, objectives.

Names are imported when they are asked for: torch is loaded by what needs it. Without torch such a name raises
MissingExtra; the modules and the spaces can be imported and searched all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bostruct.checks import optional_import

_HOME = {
    "to_torch": "bostruct.nas.networks",
    "Cost": "bostruct.nas.networks",
    "cost": "bostruct.nas.networks",
    "Dataset": "bostruct.nas.data",
    "Examples": "bostruct.nas.data",
    "diabetes": "bostruct.nas.data",
    "digits": "bostruct.nas.data",
    "regression": "bostruct.nas.data",
    "CIFAR10Objective": "bostruct.nas.cifar",
    "cifar10": "bostruct.nas.cifar",
    "NetworkObjective": "bostruct.nas.objectives",
    "to_source": "bostruct.nas.sources",
    "Recipe": "bostruct.nas.recipes",
    "Trained": "bostruct.nas.outcomes",
    "TrainingFailed": "bostruct.nas.outcomes",
    "train": "bostruct.nas.training",
    "train_together": "bostruct.nas.training",
}

if TYPE_CHECKING:
    from bostruct.nas.cifar import CIFAR10Objective, cifar10
    from bostruct.nas.data import Dataset, Examples, diabetes, digits, regression
    from bostruct.nas.networks import Cost, cost, to_torch
    from bostruct.nas.objectives import NetworkObjective
    from bostruct.nas.outcomes import Trained, TrainingFailed
    from bostruct.nas.recipes import Recipe
    from bostruct.nas.sources import to_source
    from bostruct.nas.training import train, train_together

__all__ = [
    "CIFAR10Objective",
    "Cost",
    "Dataset",
    "Examples",
    "NetworkObjective",
    "Recipe",
    "Trained",
    "TrainingFailed",
    "cifar10",
    "cost",
    "diabetes",
    "digits",
    "regression",
    "to_source",
    "to_torch",
    "train",
    "train_together",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bostruct.nas' has no attribute {name!r}")
    found = getattr(optional_import(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """With the names that have not been asked for yet."""
    return sorted({*globals(), *__all__})
