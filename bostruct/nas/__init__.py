"""Neural architectures to be searched and trained: modules, spaces of the literature, networks, data, objectives.

Names are imported on first use, so that torch is loaded only if needed. Without torch such a name raises MissingExtra;
the modules and the spaces can still be imported and searched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bostruct.checks import optional_import
from bostruct.public_names import attach

if TYPE_CHECKING:
    from bostruct.nas.cifar import CIFAR10Objective as CIFAR10Objective
    from bostruct.nas.cifar import cifar10 as cifar10
    from bostruct.nas.data import Dataset as Dataset
    from bostruct.nas.data import Examples as Examples
    from bostruct.nas.data import diabetes as diabetes
    from bostruct.nas.data import digits as digits
    from bostruct.nas.data import regression as regression
    from bostruct.nas.networks import Cost as Cost
    from bostruct.nas.networks import cost as cost
    from bostruct.nas.networks import program_to_torch as program_to_torch
    from bostruct.nas.networks import to_torch as to_torch
    from bostruct.nas.objectives import NetworkObjective as NetworkObjective
    from bostruct.nas.objectives import train_ensemble as train_ensemble
    from bostruct.nas.onnx_files import from_onnx as from_onnx
    from bostruct.nas.outcomes import Trained as Trained
    from bostruct.nas.outcomes import TrainingFailed as TrainingFailed
    from bostruct.nas.recipes import Recipe as Recipe
    from bostruct.nas.sources import to_source as to_source
    from bostruct.nas.tracing import from_torch as from_torch
    from bostruct.nas.training import train as train
    from bostruct.nas.training import train_together as train_together
else:
    __getattr__, __dir__, __all__ = attach(
        __name__,
        {
            "bostruct.nas.cifar": "CIFAR10Objective cifar10",
            "bostruct.nas.data": "Dataset Examples diabetes digits regression",
            "bostruct.nas.networks": "Cost cost program_to_torch to_torch",
            "bostruct.nas.objectives": "NetworkObjective train_ensemble",
            "bostruct.nas.onnx_files": "from_onnx",
            "bostruct.nas.outcomes": "Trained TrainingFailed",
            "bostruct.nas.recipes": "Recipe",
            "bostruct.nas.sources": "to_source",
            "bostruct.nas.tracing": "from_torch",
            "bostruct.nas.training": "train train_together",
        },
        load=optional_import,
    )
