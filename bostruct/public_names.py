"""Public names of a package: loaded when first used, listed by `dir`, with the replacements of old names."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

_BY_NEW = {  # old names, and names of other tools, by their replacement, for any package
    "bostruct.Integer": "Int",
    "bostruct.Real": "Float Uniform",
    "bostruct.contracts.AcquisitionFunction": "Acquisition DependsOnNoise HasWorthGradient",
    "bostruct.contracts.AcquisitionGradient": "WorthSlopes",
    "bostruct.contracts.Choice": "Coordinate",
    "bostruct.contracts.ChoiceDomain": "HasChoices",
    "bostruct.contracts.DistanceDomain": "HasDistances",
    "bostruct.contracts.FeatureDomain": "HasFeatures",
    "bostruct.contracts.Feasibility": "Chance HasChanceGradient HasChanceBounds",
    "bostruct.contracts.Kernel": "HasLine HasGradient HasInputGradient HasSingleGrams DependsOnTraining Similarity",
    "bostruct.contracts.LeaveOneOut": "LeftOut",
    "bostruct.contracts.LocalDomain": "HasNeighbors HasNeighborhoods HasQuickChanges HasCombinations",
    "bostruct.contracts.Posterior": "HasBounds HasUpperBounds HasCovariance HasNoise HasOutputs HasLeaveOneOut "
    "HasTrainingMeans HasPredictionGradient",
    "bostruct.contracts.Prior": "DifferentiablePrior",
    "bostruct.contracts.Score": "CanBelieve HasScoreGradient",
    "bostruct.contracts.ScoreBuilder": "KeepsState LogScoreBuilder LearnsChance",
    "bostruct.contracts.Searcher": "SuggestsJointly MayRepeat HasAppraisal HasPrediction HasRegretBound "
    "HasCrossValidation",
    "bostruct.contracts.Surrogate": "KeepsHyperparameters LearnsNoise LearnsOutputs RestoresUnits DeclaresCovariance",
    "bostruct.contracts.TrainingPrediction": "Appraisal",
    "bostruct.contracts.TreeDomain": "HasDecisions HasNamedDecisions",
    "bostruct.kernels.EffectKernel": "ChangingEffect",
    "bostruct.kernels.Factor": "SmoothFactor SingleFactor",
    "bostruct.storage.Storage": "SharedStorage",
    "bostruct.storage.StudyWriter": "SharedWriter",
    "a member of bostruct.contracts.Domain": "HasMutation HasCrossover HasTokens HasCostlyTokens HasSpellings HasPool "
    "HasListing HasCandidates HasMigration HasReadableKeys HasContinuous HasVariables HasParts HasArchitectures",
    "Domain.traits, which says what a domain can do": "has_capability missing_members",
}
OLD_NAMES = {old: new for new, names in _BY_NEW.items() for old in names.split()}


def attach(
    package: str, homes: Mapping[str, str], load: Callable[[str], ModuleType] = importlib.import_module
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose names are loaded when first used.

    An unknown name raises AttributeError, and ImportError in ``from package import name``; the error gives the
    replacement of an old name.

    package: dotted name.
    homes: public names of each module, separated by spaces, by the dotted name of the module.
    load: function that imports a module.
    """
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name in modules:
            value = getattr(load(modules[name]), name)
            setattr(sys.modules[package], name, value)
            return value
        lacks, use = f"module {package!r} has no attribute {name!r}", OLD_NAMES.get(name)
        if use is None:
            raise AttributeError(lacks)
        # `from package import name` calls this function of Python, which discards an AttributeError.
        if sys._getframe(1).f_code.co_name == "_handle_fromlist":
            raise ImportError(f"cannot import name {name!r} from {package!r}; use {use}", name=package)
        raise AttributeError(f"{lacks}; use {use}")

    def list_names() -> list[str]:
        """List public names, special names and submodules, without the package's own imports."""
        module = sys.modules[package]
        special = [name for name in vars(module) if name.startswith("__")]
        files = [name for name in vars(module) if sys.modules.get(f"{package}.{name}") is vars(module)[name]]
        return sorted({*modules, *special, *files})

    return get, list_names, sorted(modules)
