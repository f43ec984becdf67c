"""Networks of architectures as Python source that needs only torch, for use without this package."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from torch import nn

from bostruct.checks import short_repr
from bostruct.contracts import DomainError
from bostruct.nas import networks
from bostruct.nas.networks import ArchitectureNetwork, ConcatenatedReLU, LayerModule, Residual

IMPORTS = """from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor, nn
from torch.nn import functional

Shape = tuple[int, ...]
"""
HELPERS = (  # parts of the printed layers, each after the parts that it uses
    networks._pad_channels,
    networks._add_padded_inputs,
    networks._concatenate,
    LayerModule,
    networks.convolution,
    Residual,
    ConcatenatedReLU,
)
NETWORK = '''class Network(nn.Module):
    """A network from batches (m, {inputs}) to (m, {classes})."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict(
            {{
{layers}
            }}
        )

    def forward(self, x: Tensor) -> Tensor:
        layers, x0 = self.layers, x
{steps}
'''
WITHOUT_SETTINGS = (nn.ReLU, nn.LeakyReLU, nn.Softplus, nn.ELU, nn.Sigmoid, nn.Tanh, nn.Identity)


def to_source(network: nn.Module) -> str:
    """Write a network as Python source with a class ``Network`` that needs only torch.

    The class has the parameters of the network under the same names, so that ``Network().load_state_dict(state)``
    accepts its state. The source has no values of parameters.

    Parameters
    ----------
    network : torch.nn.Module
        A network that `to_torch` built from built-in layers.

    Returns
    -------
    str
        The source.

    Raises
    ------
    TypeError
        If the module is of another type.
    DomainError
        If a layer was built by a custom function, whose source is unknown.
    """
    if not isinstance(network, ArchitectureNetwork):
        raise TypeError(f"network: expected a network of an architecture, by to_torch, got {short_repr(network)}")
    if network.has_own_layers:
        raise DomainError("network: expected only layers of bostruct, got layers that builders= has built")
    layers = "\n".join(f'                "{name}": {_print_layer(made)},' for name, made in network.layers.items())
    text = NETWORK.format(
        inputs=", ".join(map(str, network.input_shape)),
        classes=network.classes,
        layers=layers,
        steps="\n".join(f"        {step}" for step in _print_steps(network)),
    )
    parts = [text]
    if network.architecture.family.joins == "adds":
        parts.insert(0, "LayerModule.adds = True  # inputs are added, not concatenated\n")
    for helper in reversed(HELPERS):
        if any(helper.__name__ in part for part in parts):
            parts.insert(0, inspect.getsource(helper))
    return "\n\n".join([IMPORTS, *parts])


def _print_steps(network: ArchitectureNetwork) -> list[str]:
    """Return the statements that compute every layer from its parents, and the output from the decision layers."""
    parents = network.architecture.parents
    named = [(u, name, ", ".join(f"x{p}" for p in parents[u])) for u, name in enumerate(network.names) if name]
    steps = [f'x{u} = layers["{name}"]([{read}])' for u, name, read in named]
    decisions = [f"x{p}" for p in parents[-1]]
    if len(decisions) == 1:
        return [*steps, f"return {decisions[0]}"]
    stacked = f"torch.stack([{', '.join(decisions)}])"
    if not network.classifies:
        return [*steps, f"return {stacked}.mean(dim=0)"]
    logs = f"logs = functional.log_softmax({stacked}.float(), dim=-1)"
    return [*steps, logs, f"return torch.logsumexp(logs, dim=0) - math.log({len(decisions)})"]


def _print_layer(layer: nn.Module) -> str:
    assert isinstance(layer, LayerModule)
    return f"LayerModule({_print_module(layer.body)}, {layer.pooled}, {layer.leaving})"


def _print_module(module: nn.Module) -> str:
    """Return an expression that rebuilds a module."""
    if isinstance(module, WITHOUT_SETTINGS):
        return f"nn.{type(module).__name__}()"
    for kind, arguments in ARGUMENTS.items():
        if isinstance(module, kind):
            prefix = "" if kind in HELPERS else "nn."
            return f"{prefix}{kind.__name__}({arguments(module)})"
    raise DomainError(f"network: no source is known for {short_repr(module)}")


def _conv_arguments(module: nn.Conv2d) -> str:
    numbers = (module.in_channels, module.out_channels, module.kernel_size[0], module.stride[0], module.padding[0])
    rest = f"dilation={module.dilation[0]}, groups={module.groups}, bias={module.bias is not None}"
    return f"{', '.join(map(str, numbers))}, {rest}"


def _pool_arguments(module: nn.MaxPool2d | nn.AvgPool2d) -> str:
    if module.ceil_mode:
        return "2, 2, ceil_mode=True"
    return f"{module.kernel_size}, {module.stride}, {module.padding}"


def _residual_arguments(module: Residual) -> str:
    first, after, *_ = module.first.children()
    assert isinstance(first, nn.Conv2d)
    numbers = (first.in_channels, first.out_channels, first.kernel_size[0], module.stride, first.dilation[0])
    return f"{', '.join(map(str, numbers))}, {isinstance(after, nn.BatchNorm2d)}"


ARGUMENTS: dict[type[nn.Module], Callable[..., str]] = {
    nn.Sequential: lambda module: ", ".join(map(_print_module, module)),
    nn.Conv2d: _conv_arguments,
    nn.BatchNorm2d: lambda module: str(module.num_features),
    nn.Linear: lambda module: f"{module.in_features}, {module.out_features}",
    nn.MaxPool2d: _pool_arguments,
    nn.AvgPool2d: _pool_arguments,
    nn.Dropout: lambda module: str(module.p),
    nn.Dropout2d: lambda module: str(module.p),
    Residual: _residual_arguments,
    ConcatenatedReLU: lambda _: "",
}
