"""The cost of a network, before anything is trained: counted where tensors have a shape and no content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from bostruct.checks import short_repr
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language.program import Program
from bostruct.nas.meta import copy_to_meta
from bostruct.nas.networks import ArchitectureNetwork, check_input_shape, to_torch
from bostruct.nas.own_layers import LayerBuilders, Shape


class Cost(NamedTuple):
    """The cost of a network.

    parameters: count of the numbers that are trained.
    flops: of a forward pass of one example, as torch counts them: two for each multiplication and addition of
        convolutions and matrix products, none for anything else.
    """

    parameters: int
    flops: int


def cost(
    network: nn.Module | Architecture | Program,
    input_shape: Sequence[int],
    classes: int | None = None,
    *,
    builders: LayerBuilders | None = None,
) -> Cost:
    """Count the parameters and FLOPs of a network, before anything is trained.

    Nothing is computed and no weight allocated, so that networks too large for any memory are counted.

    network: a module, an `Architecture` or a `Program`.
    input_shape: of one example, (channels, height, width) for images, (features,) else.
    classes: of an `Architecture`, as of `to_torch`; others bring their own.
    builders: of an `Architecture`, as of `to_torch`; None for others.

    Raises TypeError; ValueError where the network does not take such examples; DomainError, CompileError where it
    cannot be built.
    """
    shape = check_input_shape(input_shape)
    if (classes is None) == isinstance(network, Architecture):
        raise ValueError(f"classes: expected a number for an Architecture, and None else, got {short_repr(classes)}")
    if builders is not None and not isinstance(network, Architecture):
        raise ValueError(f"builders: expected None for what is no Architecture, got {short_repr(builders)}")
    ghost = _meta_network(network, shape, classes or 0, builders).eval()
    _check_channels(ghost, shape)
    try:
        with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
            ghost(torch.empty(1, *shape))
    except (RuntimeError, ValueError, IndexError) as error:
        raise ValueError(f"input_shape: the network does not take examples of shape {shape}: {error}") from error
    return Cost(sum(p.numel() for p in ghost.parameters() if p.requires_grad), counter.get_total_flops())


def _meta_network(network: Any, shape: Shape, classes: int, builders: LayerBuilders | None) -> nn.Module:
    """Return the network without content, and none made on the way."""
    if isinstance(network, nn.Module):
        return copy_to_meta(network)
    with torch.device("meta"):
        if isinstance(network, Architecture):
            return to_torch(network, shape, classes, builders=builders)
        if isinstance(network, Program):
            return network.to_torch((1, *shape))
    raise TypeError(f"network: expected a torch.nn.Module, an Architecture or a Program, got {short_repr(network)}")


def _check_channels(network: nn.Module, shape: Shape) -> None:
    if isinstance(network, ArchitectureNetwork) and (len(shape), shape[0]) != (
        len(network.input_shape),
        network.input_shape[0],
    ):
        built = network.input_shape
        raise ValueError(f"input_shape: the network was built for examples of shape {built}, got {shape}")
