"""Custom layers for training: functions that build their modules, and files with such functions."""

from __future__ import annotations

import copy
import os
import runpy
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import torch
from torch import nn

from bostruct.checks import did_you_mean, short_repr
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import BUILT_IN, Family, Label, Layer

Shape: TypeAlias = tuple[int, ...]  # shape of one example: (channels, height, width), or (features,)
LayerBuilder: TypeAlias = Callable[[Layer, Shape], nn.Module]
LayerBuilders: TypeAlias = Mapping[str, LayerBuilder]


def copy_to_meta(network: nn.Module) -> nn.Module:
    """Return a copy on the meta device, without content; shared parameters and buffers are still shared."""
    memo = {id(tensor): torch.empty_like(tensor, device="meta") for tensor in network.buffers()}
    for one in network.parameters():
        memo[id(one)] = nn.Parameter(torch.empty_like(one, device="meta"), one.requires_grad)
    return copy.deepcopy(network, memo)


def check_builders(builders: object) -> LayerBuilders:
    """Return builders by label; an empty mapping for None.

    builders: label -> function (layer, shape) -> module, or None.

    Raises TypeError.
    """
    if builders is None:
        return {}
    if not isinstance(builders, Mapping):
        raise TypeError(f"builders: expected a mapping from labels to functions, got {short_repr(builders)}")
    for label, builder in builders.items():
        if not isinstance(label, str) or not callable(builder):
            allowed = "a label and a function (layer, shape) -> module"
            raise TypeError(f"builders: expected {allowed}, got {short_repr(label)}: {short_repr(builder)}")
    return builders


def check_builder_labels(builders: LayerBuilders, family: Family) -> None:
    """Check that each builder is for a label of a family or of the package's families; others would never be called.

    builders: label -> function (layer, shape) -> module.

    Raises DomainError.
    """
    known = {*family.by_name, *(name for one in BUILT_IN.values() for name in one.by_name)}
    for label in builders:
        if label not in known:
            families = f"the architecture's family {family.name} or of the package's families"
            raise DomainError(f"builders: {short_repr(label)} is not a label of {families}{did_you_mean(label, known)}")


def leaving_shape(layer: Layer, label: Label, entering: Shape) -> Shape:
    """Return the shape of one example after a processing layer, by its label.

    layer: layer with the units and the stride.
    label: label that defines the effect on images.
    """
    channels = layer.units if layer.units is not None else entering[0]
    if label.image == "collapses":
        return (channels,)
    halved = label.image == "halves" or layer.stride == 2
    return (channels, *(-(-n // 2) if halved else n for n in entering[1:]))


def build_own_layer(place: str, layer: Layer, label: Label, entering: Shape, builder: LayerBuilder) -> nn.Module:
    """Build a layer with a function of the user, and try it on two examples without content.

    layer: layer to build, with its units, stride and attributes.

    Raises DomainError if the function returns no module, or if the module rejects such examples or returns another
    shape than the label requires.
    """
    source = f"builders[{layer.label!r}]"
    if label.role != "processing":
        raise DomainError(f"{place}: {source}: expected a label of processing layers, got one of role {label.role}")
    module = builder(layer, entering)
    if not isinstance(module, nn.Module):
        raise DomainError(f"{place}: {source} must return a torch.nn.Module, got {short_repr(module)}")
    if type(module).forward is nn.Module.forward:
        raise DomainError(f"{place}: {source} must return a module with a method forward, got {short_repr(module)}")
    try:
        with torch.device("meta"), torch.no_grad():
            given = copy_to_meta(module).eval()(torch.empty(2, *entering))
    except NotImplementedError:  # an operation that the meta device does not support
        return module
    except (RuntimeError, ValueError, TypeError, IndexError, AttributeError, AssertionError) as error:
        if "meta tensors" in str(error):  # a number taken out of a tensor without content
            return module
        raise DomainError(f"{place}: the module of {source} does not take examples {entering}: {error}") from error
    expected = (2, *leaving_shape(layer, label, entering))
    shape = tuple(given.shape) if isinstance(given, torch.Tensor) else type(given).__name__
    if shape != expected:
        raise DomainError(
            f"{place}: the module of {source} makes {shape} of 2 examples {entering}; the label needs {expected}"
        )
    return module


class OwnLayers(NamedTuple):
    """Layers of a file.

    pool: initial architectures as strings, if any.
    """

    family: Family
    builders: LayerBuilders
    pool: Sequence[str] | None


@dataclass(frozen=True)
class FileBuilder:
    """The builder of one label in a file; worker processes load the file by its path.

    label: a key of ``BUILDERS`` in the file.
    """

    path: str
    label: str

    def __call__(self, layer: Layer, shape: Shape) -> nn.Module:
        """Build a module."""
        return _run_file(self.path)["BUILDERS"][self.label](layer, shape)


def read_layers(path: str | os.PathLike[str]) -> OwnLayers:
    """Run a Python file that defines ``FAMILY``, ``BUILDERS``, and optionally ``POOL``.

    Raises DomainError if the file does not exist or cannot be run, or if a definition is missing or invalid.
    """
    file = Path(path).expanduser().absolute()
    if not file.is_file():
        raise DomainError(f"layers: expected a Python file, and {file} is not a file")
    found = _run_file(str(file))
    if "FAMILY" not in found or "BUILDERS" not in found:
        raise DomainError(f"layers: {file} must define FAMILY and BUILDERS, and may define POOL")
    if not isinstance(found["FAMILY"], Family):
        raise DomainError(f"layers: FAMILY in {file}: expected a Family, got {short_repr(found['FAMILY'])}")
    pool = found.get("POOL")
    if pool is not None and not isinstance(pool, list | tuple):
        raise DomainError(f"layers: POOL in {file}: expected a list of strings, got {short_repr(pool)}")
    try:
        labels = list(check_builders(found["BUILDERS"]))
    except TypeError as error:
        raise DomainError(f"layers: BUILDERS in {file}: {error}") from None
    known = [label.name for label in found["FAMILY"].labels]
    if unknown := [label for label in labels if label not in known]:
        raise DomainError(
            f"layers: BUILDERS in {file}: expected labels of FAMILY, {', '.join(known)}; got {', '.join(unknown)}"
        )
    return OwnLayers(found["FAMILY"], {x: FileBuilder(str(file), x) for x in labels}, pool)


@lru_cache(maxsize=8)
def _run_file(path: str) -> dict[str, Any]:
    try:
        return runpy.run_path(path)
    except SyntaxError as error:
        place = f", line {error.lineno}" if error.lineno else ""
        raise DomainError(f"layers: {path}{place}: SyntaxError: {error.msg}") from error
    except Exception as error:  # the file is the user's, and may raise anything
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
        place = f", line {lines[-1]}" if lines else ""
        raise DomainError(f"layers: {path}{place}: {type(error).__name__}: {error}") from error
