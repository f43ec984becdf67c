"""The names of the published DeepArchitect for our language: its core, modules and hyperparameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bostruct import language as lang
from bostruct.domains.language.graph import open_fragment
from bostruct.domains.language.walk import begin

OWN_ARGUMENTS = {  # before the scope and the name
    "siso_repeat": 2,
    "siso_or": 2,
    "siso_optional": 2,
    "siso_permutation": 2,
    "siso_split_combine": 3,
    "siso_nested_repeat": 3,
    "mimo_or": 4,
    "mimo_nested_repeat": 5,
    "dense_block": 4,
}


class AliasModule:
    """The published base class of modules, for those that derive from it."""

    def __init__(self, scope: object = None, name: str | None = None) -> None:
        del scope
        self._name = name or type(self).__name__
        self._ports: tuple[list[str], list[str]] = ([], [])
        self._hyperps: dict[str, object] = {}

    def _register_input(self, name: str) -> None:
        self._ports[0].append(name)

    def _register_output(self, name: str) -> None:
        self._ports[1].append(name)

    def _register(self, inputs: Sequence[str], outputs: Sequence[str], hyperps: Mapping[str, object]) -> None:
        self._ports[0].extend(inputs)
        self._ports[1].extend(outputs)
        self._hyperps.update(hyperps)

    def get_io(self) -> Any:
        return lang.module(self._name, self._hyperps, *self._ports)


class AliasFactory:
    """The published wrapper of a function that builds a space."""

    def __init__(self, search_space_fn: Callable[[], Any]) -> None:
        self.search_space_fn = search_space_fn

    def get_search_space(self) -> Any:
        if open_fragment() is not None:
            return self.search_space_fn()
        root = begin(self.search_space_fn, 200).root
        return root.inputs, root.outputs


def without_scope(make: Callable[..., Any], n: int) -> Callable[..., Any]:
    """Return a function with n arguments of its own, then the published `scope`, which is left out, and `name`."""

    def call(*args: Any, **keywords: Any) -> Any:
        keywords.pop("scope", None)
        names = {"name": args[n + 1]} if len(args) > n + 1 else {}
        given = {key: value for key, value in (names | keywords).items() if key != "name" or value is not None}
        return make(*args[:n], **given)

    return call


def _substitution_module(name: str, substitution_fn: Callable[..., Any], *args: Any, **subsets: Any) -> Any:
    def build(dh: dict[str, Any]) -> Any:
        try:
            return substitution_fn(dh)
        except (ValueError, ZeroDivisionError) as error:  # of which the published MCTS draws again
            raise lang.Infeasible(str(error)) from error

    return lang.substitution_module(name, build, *args, **subsets)


def _identity() -> Any:
    inputs, outputs = lang.identity()
    lang.outer_output(outputs["out"])  # nasnet_space.py reads one from inside of its cells
    return inputs, outputs


def alias_modules(cut: int | None) -> dict[str, dict[str, Any]]:
    """Return what the published modules hold, made of ours.

    cut: the most values of a hyperparameter, None for all.
    """
    discrete = without_scope(lambda vs, name=None: lang.D(list(vs)[:cut], name), 1)
    constructs = {name: without_scope(getattr(lang, name), n) for name, n in OWN_ARGUMENTS.items()}
    constructs |= {
        "identity": without_scope(_identity, 0),
        "hyperparameter_aggregator": without_scope(lang.hyperparameter_aggregator, 1),
        "substitution_module": without_scope(_substitution_module, 5),
        "siso_sequential": lang.siso_sequential,
        "siso_residual": lang.siso_residual,
        "preproc_apply_postproc": lang.preproc_apply_postproc,
        "SearchSpaceFactory": AliasFactory,
    }
    hyperparameters = {
        "Discrete": discrete,
        "D": discrete,
        "Bool": without_scope(lambda name=None: discrete([0, 1], name=name), 0),
        "OneOfK": without_scope(lambda k, name=None: discrete(range(k), name=name), 1),
        "OneOfKFactorial": without_scope(lambda k, name=None: discrete(lang.OneOfKFactorial(k).values, name=name), 1),
        "HyperparameterSharer": lang.HyperparameterSharer,
    }
    core = {
        "Module": AliasModule,
        "Hyperparameter": (lang.Discrete, lang.DependentHyperparameter),
        "DependentHyperparameter": without_scope(lang.DependentHyperparameter, 2),
    }
    return {"core": core, "modules": constructs, "hyperparameters": hyperparameters}
