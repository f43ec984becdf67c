"""Define modules with an implementation: layers, torch modules, scikit-learn estimators, functions.

This file imports no optional library.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, partial
from typing import TypeAlias, TypeVar

from bostruct.checks import short_repr
from bostruct.domains.language.combinators import combiner
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.graph import IO, module, siso_module
from bostruct.domains.language.values import Value

Values: TypeAlias = dict[str, Value]
Shapes: TypeAlias = dict[str, tuple[int, ...]]

T = TypeVar("T")


@dataclass(frozen=True)
class Labelled:
    """How a module becomes a layer of an `Architecture`.

    Modules without a layer are contracted: their readers read their inputs.

    Parameters
    ----------
    layer : object, optional
        A layer in any form that `Architecture` accepts (``"conv3-64/2"``), or a function of the module's values by
        local name that returns a layer, or None for no layer.
    """

    _: KW_ONLY
    layer: object = None

    def layer_for(self, values: Values) -> object:
        """Return the layer of a module, or None if it has no layer.

        Parameters
        ----------
        values : Values
            The module's values, by local name.
        """
        return self.layer(values) if callable(self.layer) else self.layer


@dataclass(frozen=True)
class TorchLayer(Labelled):
    """The torch module that implements a module.

    `build` is called twice, first on torch's meta device, whose tensors have a shape but no data.

    Parameters
    ----------
    build : callable
        Function of the values by local name, and of the shapes of the inputs by name, including the batch dimension. It
        returns a `torch.nn.Module` or any function of tensors, which is called with the inputs in their declared order
        and returns a tensor, or a dict by output name if there are several outputs.
    layer
        As in `Labelled`.
    """

    build: Callable[[Values, Shapes], object]


# Modules whose implementations are one object are hashed together.
share_layer = lru_cache(maxsize=1_024)(TorchLayer)
share_partial = lru_cache(maxsize=1_024, typed=True)(partial)


@dataclass(frozen=True)
class SklearnStep:
    """The scikit-learn estimator that implements a module.

    Parameters
    ----------
    make : callable
        An estimator class, or a function that returns an estimator. It is called with the values as keywords.
    """

    make: Callable[..., object]


class FeatureUnion:
    """The implementation of modules that concatenate the features of parallel branches of a pipeline."""

    def __repr__(self) -> str:
        return "a union of features"


@dataclass(frozen=True)
class PlainFunction(Labelled):
    """The Python function that implements a module.

    Parameters
    ----------
    fn : callable
        Function of the values by local name, then the inputs in their declared order. It returns the output, or a
        mapping by output name if there are several.
    layer
        As in `Labelled`.
    """

    fn: Callable[..., object]


UNION = FeatureUnion()


def labeled_module(
    name: str,
    layer: object,
    name_to_hyperp: Mapping[str, object] | None = None,
    input_names: Iterable[str] = ("in",),
    output_names: Iterable[str] = ("out",),
) -> IO:
    """Return a module that is only a layer of an architecture.

    Parameters
    ----------
    name : str
        The module's name in paths.
    layer : object
        A layer in any form that `Architecture` accepts (``"conv3-64/2"``), or a function of the module's values by
        local name that returns a layer, or None if the module has no layer.
    name_to_hyperp : mapping of str to object, optional
        Hyperparameters or constants by local name.
    input_names : iterable of str, default ("in",)
        Names of the inputs.
    output_names : iterable of str, default ("out",)
        Names of the outputs.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    return module(name, name_to_hyperp, input_names, output_names, Labelled(layer=layer))


def torch_module(
    name: str,
    build: Callable[[Values, Shapes], object],
    name_to_hyperp: Mapping[str, object] | None = None,
    input_names: Iterable[str] = ("in",),
    output_names: Iterable[str] = ("out",),
    *,
    layer: object = None,
) -> IO:
    """Return a module implemented by a `torch.nn.Module`.

    Parameters
    ----------
    name : str
        The module's name in paths.
    build : callable
        Function of the values and the input shapes by name, as in `TorchLayer`.
    name_to_hyperp : mapping of str to object, optional
        Hyperparameters or constants by local name.
    input_names : iterable of str, default ("in",)
        Names of the inputs.
    output_names : iterable of str, default ("out",)
        Names of the outputs.
    layer : object, optional
        As in `labeled_module`; None for no layer.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    return module(
        name, name_to_hyperp, input_names, output_names, TorchLayer(_check_callable("build", build), layer=layer)
    )


def siso_torch_module(
    name: str,
    build: Callable[[Values, Shapes], object],
    name_to_hyperp: Mapping[str, object] | None = None,
    *,
    layer: object = None,
) -> IO:
    """Return a `torch_module` with one input, ``in``, and one output, ``out``.

    Parameters
    ----------
    name : str
        The module's name in paths.
    build : callable
        Function of the values and the input shapes by name, as in `TorchLayer`.
    name_to_hyperp : mapping of str to object, optional
        Hyperparameters or constants by local name.
    layer : object, optional
        As in `labeled_module`; None for no layer.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    return torch_module(name, build, name_to_hyperp, layer=layer)


def siso_torch_layer(
    layer_fn: Callable[..., object],
    name_to_hyperp: Mapping[str, object] | None = None,
    name: str | None = None,
    *,
    layer: object = None,
) -> IO:
    """Return a module that calls `layer_fn` with the hyperparameters' values as keywords.

    Parameters
    ----------
    layer_fn : callable
        Function that returns a `torch.nn.Module`, such as ``torch.nn.Dropout``.
    name_to_hyperp : mapping of str to object, optional
        Hyperparameters or constants by local name.
    name : str, optional
        The module's name in paths; by default the name of `layer_fn`.
    layer : object, optional
        As in `labeled_module`; None for no layer.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    _check_callable("layer_fn", layer_fn)
    found = getattr(layer_fn, "__name__", None) if name is None else name
    if not isinstance(found, str) or not found.isidentifier():
        raise LanguageError(
            f"name: expected a name for the module that {short_repr(layer_fn)} makes, got {short_repr(found)}"
        )
    return siso_torch_module(found, FromValues(layer_fn), name_to_hyperp, layer=layer)


@dataclass(frozen=True)
class FromValues:
    """A `build` function that ignores shapes."""

    fn: Callable[..., object]

    def __call__(self, values: Values, shapes: Shapes) -> object:
        return self.fn(**values)


def sklearn_module(name: str, make: Callable[..., object], name_to_hyperp: Mapping[str, object] | None = None) -> IO:
    """Return a module implemented by a scikit-learn estimator.

    Parameters
    ----------
    name : str
        The module's name in paths.
    make : callable
        As in `SklearnStep`.
    name_to_hyperp : mapping of str to object, optional
        Hyperparameters or constants by local name.

    Raises
    ------
    LanguageError
        If `make` lacks a parameter of that name.
    """
    try:
        allowed = inspect.signature(make).parameters
    except (TypeError, ValueError):  # not a function, or a built-in type
        raise LanguageError(f"make: expected an estimator class or a Python function, got {short_repr(make)}") from None
    takes_any = any(one.kind is one.VAR_KEYWORD for one in allowed.values())
    if (unknown := [one for one in name_to_hyperp or {} if one not in allowed]) and not takes_any:
        raise LanguageError(f"{name}: expected some of {', '.join(allowed) or 'no values'}; got {', '.join(unknown)}")
    return siso_module(name, name_to_hyperp, SklearnStep(make))


def feature_union(n: int) -> IO:
    """Return a module that joins n branches of a scikit-learn pipeline, with inputs in0 to in(n - 1).

    Parameters
    ----------
    n : int
        The number of branches.
    """
    return combiner(n, "FeatureUnion", UNION)


def function_module(
    name: str,
    fn: Callable[..., object],
    name_to_hyperp: Mapping[str, object] | None = None,
    input_names: Iterable[str] = ("in",),
    output_names: Iterable[str] = ("out",),
    *,
    layer: object = None,
) -> IO:
    """Return a module implemented by a Python function.

    Parameters
    ----------
    name : str
        The module's name in paths.
    fn : callable
        Function of the values and the inputs, as in `PlainFunction`.
    name_to_hyperp : mapping of str to object, optional
        Hyperparameters or constants by local name.
    input_names : iterable of str, default ("in",)
        Names of the inputs.
    output_names : iterable of str, default ("out",)
        Names of the outputs.
    layer : object, optional
        As in `labeled_module`; None for no layer.

    Raises
    ------
    LanguageError
        If an argument is invalid.
    """
    return module(
        name, name_to_hyperp, input_names, output_names, PlainFunction(_check_callable("fn", fn), layer=layer)
    )


def _check_callable(name: str, fn: T) -> T:
    if not callable(fn):
        raise LanguageError(f"{name}: expected a function, got {short_repr(fn)}")
    return fn
