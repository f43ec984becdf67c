"""Architectures as `torch.nn.Module`s, and the cost of a network before it is trained.

Networks are built as by Kandasamy et al. 2018, with defects of their release fixed. Costs are counted on the meta
device, on which tensors have no content.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from bostruct.checks import check_integer, check_number, short_repr
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import Family, Layer
from bostruct.domains.architecture.value import Architecture
from bostruct.domains.language.program import Program
from bostruct.nas.own_layers import (
    LayerBuilders,
    Shape,
    build_own_layer,
    check_builder_labels,
    check_builders,
    copy_to_meta,
    leaving_shape,
)

MAIN = "out"  # the scored output of a program with several outputs


def to_torch(
    architecture: Architecture,
    input_shape: Sequence[int],
    classes: int,
    dropout: float = 0.0,
    *,
    builders: LayerBuilders | None = None,
) -> ArchitectureNetwork:
    """Build the network of an architecture, a module from batches (m, *input_shape) to (m, classes).

    The module returns predictions for ``linear`` decision layers, logits for one ``softmax`` layer, and log
    probabilities for several ``softmax`` layers, for which cross-entropy and argmax are also right. A warning is given
    if the channels of images seem to be last, as in (32, 32, 3).

    Parameters
    ----------
    architecture : Architecture
        The network to build.
    input_shape : sequence of int
        The shape of one example, (channels, height, width) for images, otherwise (features,); or the shape of a batch,
        as for `Program.to_torch`.
    classes : int
        The number of classes, at least 1; with ``linear`` decision layers the number of targets.
    dropout : float, default 0.0
        Probability of dropout before every decision layer, in [0, 1), in addition to the attributes of layers.
    builders : dict of callable, optional
        Functions (layer, shape) -> module by label, for custom processing layers and to replace others. The `Layer` has
        units, stride and attributes; the shape is the shape of one example at the input, (channels, height, width), or
        (channels,) if the label collapses images, which are then replaced by their mean. The module maps batches (m,
        *shape) to the layer's units, or to as many channels as it gets. Stride 2 and labels that halve images halve
        the sides, rounded up.

    Returns
    -------
    torch.nn.Module
        The network.

    Raises
    ------
    DomainError
        If a layer cannot be built, or the images of two layers differ in size; the message names them.
    TypeError, ValueError
        If an argument is invalid.
    """
    if not isinstance(architecture, Architecture):
        raise TypeError(f"architecture: expected an Architecture, got {short_repr(architecture)}")
    check_integer("classes", classes, 1)
    shape = check_input_shape(input_shape)
    wanted = 3 if architecture.family.image else 1
    if len(shape) == wanted + 1:
        shape = shape[1:]  # without the batch
    if len(shape) != wanted:
        parts = "(channels, height, width)" if wanted == 3 else "(features,)"
        raise ValueError(f"input_shape: expected {parts} for the family {architecture.family.name}, got {shape}")
    if wanted == 3 and shape[0] == shape[1] > 4 and shape[2] in (1, 3):
        meaning = f"{shape} is read as {shape[0]} channels of {shape[1]} x {shape[2]}, channels first"
        warnings.warn(f"input_shape: {meaning}; for images of {shape[2]} channels give {shape[::-1]}", stacklevel=2)
    check_number("dropout", dropout, 0.0, below=1.0)
    own = check_builders(builders)
    check_builder_labels(own, architecture.family)
    return ArchitectureNetwork(architecture, shape, classes, dropout, own)


def check_input_shape(input_shape: Sequence[int]) -> Shape:
    """Return the shape of one example as a tuple of integers.

    input_shape: (channels, height, width) or (features,), each from 1.

    Raises TypeError, ValueError for any other shape.
    """
    if isinstance(input_shape, str) or not isinstance(input_shape, Sequence):
        raise TypeError(
            "input_shape: expected (channels, height, width) or (features,) of one example, got "
            f"{short_repr(input_shape)}"
        )
    return tuple(check_integer("input_shape", size, 1) for size in input_shape)


def program_to_torch(program: Program, input_shape: Sequence[int]) -> nn.Module:
    """Build the network of a program, a module from batches (m, *input_shape) to one tensor.

    Parameters
    ----------
    program : Program
        The program. If it has several outputs, the output called ``out`` is returned, and the auxiliary output of
        `bostruct.nas.spaces.nasnet` is not.
    input_shape : sequence of int
        The shape of one example.

    Returns
    -------
    torch.nn.Module
        The network.

    Raises
    ------
    CompileError
        If the network cannot be built.
    TypeError, ValueError, DomainError
        If an argument is invalid, or no output is called ``out``.
    """
    network = program.to_torch((2, *check_input_shape(input_shape)))
    if len(program.outputs) == 1:
        return network
    if MAIN not in program.outputs:
        given = ", ".join(program.outputs)
        raise DomainError(f"program: expected one output, or several with one called {MAIN!r}, got {given}")
    return MainOutput(network)


class MainOutput(nn.Module):
    """The output called ``out`` of a network with several outputs; `decisions` returns all outputs.

    network: network that returns a dict of outputs, with the key ``out``.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def decisions(self, x: Tensor) -> list[Tensor]:
        """Return all outputs as a list, the main one first."""
        given = self.network(x)
        return [given[MAIN], *(one for name, one in given.items() if name != MAIN)]

    def forward(self, x: Tensor) -> Tensor:
        return self.network(x)[MAIN]


class ArchitectureNetwork(nn.Module):
    """The network of an `Architecture`; its layers have the names of `Architecture.to_text`, as in ``3 conv3-16/2``.

    A layer's inputs are concatenated along channels; in a family that adds, they are summed, and narrower inputs are
    padded with zeros. Fully connected and decision layers start with the mean over the remaining image. Several
    decision layers are averaged: the logarithm of the mean of their softmax outputs, or the mean of their predictions.
    """

    def __init__(
        self, architecture: Architecture, input_shape: Shape, classes: int, dropout: float, builders: LayerBuilders
    ) -> None:
        super().__init__()
        self.has_own_layers = any(layer.label in builders for layer in architecture.layers)
        self.architecture, self.input_shape, self.classes = architecture, input_shape, classes
        self.classifies = any(layer.label == "softmax" for layer in architecture.layers)
        shapes: list[Shape] = [input_shape]
        self.layers = nn.ModuleDict()
        self.names = [""]
        for u, layer in enumerate(architecture.layers[1:-1], start=1):
            entering = _entering_shape(architecture, u, shapes)
            if layer.label in builders:
                made = _own_layer_module(u, layer, architecture.family, entering, builders)
            else:
                made = _layer_module(u, layer, entering, classes, dropout, builders)
            made.adds = architecture.family.joins == "adds"
            shapes.append(made.leaving)
            self.names.append(name := f"{u} {layer}".replace(".", ","))  # torch allows no dots in names
            self.layers[name] = made

    def decisions(self, x: Tensor) -> list[Tensor]:
        """Return the output of each decision layer, (m, classes) each.

        x: batch of examples, (m, *input_shape).
        """
        given: list[Tensor | None] = [x] + [None] * (len(self.names) - 1)
        parents, children = self.architecture.parents, self.architecture.children
        waiting = [len(below) for below in children]
        for u, name in enumerate(self.names):
            if not name:
                continue
            given[u] = self.layers[name]([given[p] for p in parents[u]])
            for p in parents[u]:
                waiting[p] -= 1
                if not waiting[p]:
                    given[p] = None
        return [given[u] for u in parents[-1]]  # type: ignore[misc]

    def forward(self, x: Tensor) -> Tensor:
        found = self.decisions(x)
        if len(found) == 1:
            return found[0]
        stacked = torch.stack(found)
        if not self.classifies:
            return stacked.mean(dim=0)
        logs = functional.log_softmax(stacked.float(), dim=-1)
        return torch.logsumexp(logs, dim=0) - torch.log(torch.tensor(float(len(found))))


class DropPath(nn.Module):
    """Drop-path: in training, set examples to 0 with a probability, and divide kept examples by the keep probability.

    rate: probability that an example is dropped, in [0, 1).
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return image
        kept = torch.rand(len(image), *[1] * (image.dim() - 1), device=image.device) >= self.rate
        return image * kept / (1.0 - self.rate)


def _is_of_types(value: object, *types: type) -> bool:
    return isinstance(value, types) and not isinstance(value, bool)


ATTRIBUTES: dict[str, tuple[Callable[[Any], bool], str]] = {  # attributes of a layer: check, and description
    "dropout": (lambda value: _is_of_types(value, int, float) and 0.0 <= value < 1.0, "a probability in [0, 1)"),
    "dilation": (lambda value: _is_of_types(value, int) and value >= 1, "an integer, at least 1"),
    "separable": (lambda value: isinstance(value, bool), "true or false"),
    "normalization": (lambda value: value in ("batch", "none"), "batch or none"),
}


class LayerModule(nn.Module):
    """A layer on the concatenation, or the sum, of its inputs."""

    adds = False

    def __init__(self, body: nn.Module, pooled: bool, leaving: Shape) -> None:
        super().__init__()
        self.body, self.pooled, self.leaving = body, pooled, leaving

    def forward(self, inputs: Sequence[Tensor]) -> Tensor:
        if self.pooled:
            inputs = [x.mean(dim=(2, 3)) if x.dim() == 4 else x for x in inputs]
        join = _add_padded_inputs if self.adds else _concatenate
        return self.body(inputs[0] if len(inputs) == 1 else join(inputs))


def _add_padded_inputs(inputs: Sequence[Tensor]) -> Tensor:
    """Add tensors (m, channels, ...), padded with zeros to the channels of the widest."""
    widest = max(x.shape[1] for x in inputs)
    # not `sum`, which autocast converts to float32; additions keep their type
    return reduce(torch.add, [_pad_channels(x, widest - x.shape[1]) for x in inputs])


def _pad_channels(x: Tensor, added: int) -> Tensor:
    """Append channels of zeros."""
    return functional.pad(x, (0, 0) * (x.dim() - 2) + (0, added)) if added else x


def _concatenate(inputs: Sequence[Tensor]) -> Tensor:
    return torch.cat(tuple(inputs), dim=1)


class Residual(nn.Module):
    """Two convolutions and a shortcut (He et al. 2016), which is pooled if the image is halved.

    The shortcut's channels are padded with zeros if the convolutions have more channels, and mapped by a convolution
    of size 1 if they have fewer.
    """

    def __init__(self, entering: int, units: int, kernel: int, stride: int, dilation: int, normalized: bool) -> None:
        super().__init__()
        self.first = convolution(entering, units, kernel, stride, dilation, False, normalized)
        self.second = nn.Sequential(*list(convolution(units, units, kernel, 1, dilation, False, normalized))[:-1])
        self.stride, self.added = stride, max(units - entering, 0)
        self.narrowed = nn.Conv2d(entering, units, 1, bias=False) if units < entering else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        short = x if self.stride == 1 else functional.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False)
        return functional.relu(self.second(self.first(x)) + _pad_channels(self.narrowed(short), self.added))


class ConcatenatedReLU(nn.Module):
    """The concatenation of max(0, x) and max(0, -x): twice the width (Shang et al. 2016)."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([functional.relu(x), functional.relu(-x)], dim=1)


def convolution(
    entering: int, units: int, kernel: int, stride: int, dilation: int, separable: bool, normalized: bool
) -> nn.Sequential:
    """Build a convolution that keeps the image or halves it, rounded up; batch normalization; ReLU.

    stride: 1, or 2 to halve the image.
    dilation: dilation of the kernels, from 1.
    separable: True for a depthwise convolution, then a convolution of size 1.
    """
    padding = dilation * (kernel - 1) // 2
    last = entering if separable else units
    parts: list[nn.Module] = [
        nn.Conv2d(entering, last, kernel, stride, padding, dilation, entering if separable else 1, bias=not normalized)
    ]
    if separable:
        parts.append(nn.Conv2d(entering, units, 1, bias=not normalized))
    if normalized:
        parts.append(nn.BatchNorm2d(units))
    return nn.Sequential(*parts, nn.ReLU())


ACTIVATION_MODULES: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "crelu": ConcatenatedReLU,
    "leaky-relu": nn.LeakyReLU,
    "softplus": nn.Softplus,
    "elu": nn.ELU,
    "logistic": nn.Sigmoid,
    "tanh": nn.Tanh,
}


def _own_layer_module(u: int, layer: Layer, family: Family, entering: Shape, builders: LayerBuilders) -> LayerModule:
    """Build the module of a layer with the user's builder."""
    label = family.by_name[layer.label]
    given = (entering[0],) if label.image == "collapses" else entering
    body = build_own_layer(f"layer {u} ({layer})", layer, label, given, builders[layer.label])
    return LayerModule(body, label.image == "collapses", leaving_shape(layer, label, given))


def _layer_module(
    u: int, layer: Layer, entering: Shape, classes: int, dropped: float, builders: LayerBuilders
) -> LayerModule:
    """Build the module of a layer for inputs of a shape."""
    attributes = _check_torch_attributes(u, layer)
    channels, features = entering[0], entering[0]
    normalized = attributes.get("normalization", "batch") == "batch"
    dropout = [nn.Dropout(attributes["dropout"])] if attributes.get("dropout") else []
    if layer.label in ("softmax", "linear"):
        first = [*dropout, *([nn.Dropout(dropped)] if dropped else [])]
        return LayerModule(nn.Sequential(*first, nn.Linear(features, classes)), True, (classes,))
    if layer.label == "fc" or layer.label in ACTIVATION_MODULES:
        units = _units(u, layer)
        activation = nn.ReLU() if layer.label == "fc" else ACTIVATION_MODULES[layer.label]()
        parts = [nn.Linear(features, units), activation, *dropout]
        return LayerModule(nn.Sequential(*parts), True, (2 * units if layer.label == "crelu" else units,))
    kind, size = layer.label.rstrip("0123456789"), layer.label.lstrip("abcdefghijklmnopqrstuvwxyz-")
    halved = tuple(-(-n // 2) for n in entering[1:])
    if kind in ("conv", "res") and size and int(size) % 2:
        units, dilation = _units(u, layer), attributes.get("dilation", 1)
        if kind == "conv":
            separable = attributes.get("separable", False)
            body: nn.Module = convolution(channels, units, int(size), layer.stride, dilation, separable, normalized)
        else:
            body = Residual(channels, units, int(size), layer.stride, dilation, normalized)
        body = nn.Sequential(body, *(nn.Dropout2d(one.p) for one in dropout)) if dropout else body
        return LayerModule(body, False, (units, *(halved if layer.stride == 2 else entering[1:])))
    if kind in ("max-pool", "avg-pool") and (not size or int(size) % 2):
        pool = nn.MaxPool2d if kind == "max-pool" else nn.AvgPool2d
        if size:  # the pool keeps the size of an image
            return LayerModule(pool(int(size), 1, int(size) // 2), False, entering)
        return LayerModule(pool(2, 2, ceil_mode=True), False, (channels, *halved))
    own = f"; builders= has {', '.join(builders)}" if builders else "; builders={label: function} adds others"
    raise DomainError(
        f"layer {u} ({layer}): no torch module is known for the label {layer.label!r}; known are conv and res with an "
        f"odd size, max-pool and avg-pool (optional size), fc, softmax, linear, {', '.join(ACTIVATION_MODULES)}{own}"
    )


def _entering_shape(architecture: Architecture, v: int, shapes: Sequence[Shape]) -> Shape:
    """Return the input shape of a layer: the sum of its parents' channels, or the channels of the widest parent."""
    first, *others = architecture.parents[v]
    layers = architecture.layers
    for u in others:
        both = len(shapes[u]) == len(shapes[first]) == 3
        if both and shapes[u][1:] != shapes[first][1:]:
            raise DomainError(
                f"layer {v} ({layers[v]}): its parents give images of different sizes: layer {first} ({layers[first]}) "
                f"{shapes[first][1:]}, layer {u} ({layers[u]}) {shapes[u][1:]}"
            )
    channels = [shapes[u][0] for u in architecture.parents[v]]
    return (max(channels) if architecture.family.joins == "adds" else sum(channels), *shapes[first][1:])


def _units(u: int, layer: Layer) -> int:
    if layer.units is None:
        raise DomainError(f"layer {u} ({layer}): expected a number of units")
    return layer.units


def _check_torch_attributes(u: int, layer: Layer) -> dict[str, Any]:
    found = dict(layer.attributes)
    for name, value in found.items():
        if name not in ATTRIBUTES:
            known = ", ".join(sorted(ATTRIBUTES))
            raise DomainError(f"layer {u} ({layer}): no torch module knows the attribute {name!r}; known are {known}")
        is_right, allowed = ATTRIBUTES[name]
        if not is_right(value):
            raise DomainError(f"layer {u} ({layer}): {name}: expected {allowed}, got {short_repr(value)}")
    return found


class Cost(NamedTuple):
    """The cost of a network.

    Attributes
    ----------
    parameters : int
        The number of trained parameters.
    flops : int
        FLOPs of a forward pass of one example as torch counts them: two for each multiplication and addition in
        convolutions and matrix products, zero for other operations.
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
    """Count the parameters and FLOPs of a network without training it.

    Nothing is computed and no weight is allocated, so networks of any size can be counted.

    Parameters
    ----------
    network : torch.nn.Module, Architecture, or Program
        The network.
    input_shape : sequence of int
        The shape of one example, (channels, height, width) for images, otherwise (features,).
    classes : int, optional
        The number of classes of an `Architecture`.
    builders : dict of callable, optional
        Builders of the layers of an `Architecture`, see `to_torch`.

    Returns
    -------
    Cost
        The counts.

    Raises
    ------
    DomainError, CompileError
        If the network cannot be built.
    TypeError, ValueError
        If an argument is invalid, or the network does not accept such examples.
    """
    shape = check_input_shape(input_shape)
    if (classes is None) == isinstance(network, Architecture):
        raise ValueError(f"classes: expected a number for an Architecture, otherwise None, got {short_repr(classes)}")
    if builders is not None and not isinstance(network, Architecture):
        raise ValueError(f"builders: expected None unless network is an Architecture, got {short_repr(builders)}")
    ghost = _meta_network(network, shape, classes or 0, builders).eval()
    if isinstance(ghost, ArchitectureNetwork):
        built = ghost.input_shape
        if (len(shape), shape[0]) != (len(built), built[0]):
            raise ValueError(f"input_shape: the network was built for examples of shape {built}, got {shape}")
    try:
        with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
            ghost(torch.empty(1, *shape))
    except (RuntimeError, ValueError, IndexError) as error:
        raise ValueError(f"input_shape: the network does not take examples of shape {shape}: {error}") from error
    return Cost(sum(p.numel() for p in ghost.parameters() if p.requires_grad), counter.get_total_flops())


def _meta_network(network: Any, shape: Shape, classes: int, builders: LayerBuilders | None) -> nn.Module:
    """Return the network on the meta device, without allocating content."""
    if isinstance(network, nn.Module):
        return copy_to_meta(network)
    with torch.device("meta"):
        if isinstance(network, Architecture):
            return to_torch(network, shape, classes, builders=builders)
        if isinstance(network, Program):
            return network.to_torch((1, *shape))
    raise TypeError(f"network: expected a torch.nn.Module, an Architecture or a Program, got {short_repr(network)}")
