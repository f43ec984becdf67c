"""Read torch networks as architectures, from a trace of their operations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.fx.node import map_arg

from bostruct.checks import short_repr
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import Family
from bostruct.domains.architecture.value import Architecture
from bostruct.nas.graphs import SCALED, GraphNode, GraphReader

NAMES = {  # names of operations, by kind; the kind of any other operation is its name
    "conv": "conv2d",
    "linear": "addmm mm matmul",
    "batch-norm": "_native_batch_norm_legit_no_training",
    "max-pool": "max_pool2d",
    "avg-pool": "avg_pool2d",
    "mean": "adaptive_avg_pool2d",
    "flatten": "view reshape",
    "dropout": "feature_dropout",
    "pad": "constant_pad_nd",
    "relu6": "hardtanh",
    "identity": "to contiguous clone detach alias squeeze unsqueeze getitem",
}
KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}


def from_torch(
    module: nn.Module, example_input: Tensor, *, family: Family | None = None, decision: str | None = None
) -> Architecture:
    """Return the architecture of a torch network, from a trace in evaluation mode.

    Supported operations are convolutions, pools, fully connected layers, residual blocks, concatenations and an average
    of several outputs, with units, stride, dropout, dilation, `separable` and missing normalization. The linear layers
    before the output are the decision layers. Other properties are read as `to_torch` builds them: any padding and
    bias, flattening as the mean over the image, and, with a warning, other or no activations, normalization before a
    layer, shared weights, constant factors and blocks of other convolutions.

    Parameters
    ----------
    module : torch.nn.Module
        A module that `torch.export` can trace, with one input and one output. Its mode is left unchanged.
    example_input : Tensor
        A batch, (m, channels, height, width) or (m, features).
    family : Family, optional
        The family of layers. An operation whose name is a label of the family, such as ``layer-norm``, is such a layer.
        By default ``cnn`` if the network has convolutions, otherwise ``mlp``, with labels added for missing sizes, such
        as ``conv1``. Additions are read as joins if the family has ``joins="adds"``.
    decision : str, optional
        The label of the decision layers. By default ``softmax`` for images and ``linear`` for features.

    Returns
    -------
    Architecture
        The architecture.

    Raises
    ------
    TypeError, DomainError
        If an operation cannot be read; the message names it.
    PointError
        If the layers are not a valid architecture.
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"module: expected a torch.nn.Module, got {short_repr(module)}")
    if not isinstance(example_input, Tensor):
        given = f"{short_repr(example_input)}; for examples of a shape, pass torch.zeros(2, *shape)"
        raise TypeError(f"example_input: expected a tensor, a batch of examples, got {given}")
    modes = {one: one.training for one in module.modules()}
    try:
        with torch.no_grad():
            exported = torch.export.export(module.eval(), (example_input,), strict=False)
    except Exception as error:  # the module is the user's, and may raise anything
        reason = f"{type(error).__name__}: {short_repr(str(error).strip().partition(chr(10))[0], 200)}"
        reason = "its forward branches on data" if reason.startswith("GuardOnDataDependent") else reason
        raise DomainError(f"module: torch.export cannot trace it: {reason}") from error
    finally:
        for one, mode in modes.items():
            one.training = mode
    (given,), outputs = exported.graph_signature.user_inputs, list(exported.graph_signature.user_outputs)
    found = {str(given): GraphNode("input", "input", ())}
    for node in exported.graph.nodes:
        entering: list[fx.Node] = []
        map_arg((node.args, node.kwargs), entering.append)
        inputs = [each for each in entering if each.name in found]
        if node.op == "call_function" and inputs:
            found[node.name] = _read_node(node, inputs)
    if len(outputs) != 1 or outputs[0] not in found:
        raise DomainError(f"module: expected one output that depends on the input, got {short_repr(outputs)}")
    return GraphReader("module", found, family).read(str(outputs[0]), decision)


def _read_node(node: fx.Node, inputs: list[fx.Node]) -> GraphNode:
    """Return the operation of a node of a trace.

    inputs: nodes that feed it, without constants.
    """
    own = getattr(node.target, "__name__", str(node.target)).partition(".")[0].removesuffix("_")
    modules = list((node.meta.get("nn_module_stack") or {"": ("",)}).values())
    path = modules[-1][0]
    name, kind = f"{path}.{node.name}" if path else node.name, KINDS.get(own, own.replace("_", "-"))
    one = GraphNode(name, kind, tuple(each.name for each in inputs))
    given, made = _name_arguments(node), node.meta.get("val")
    if not isinstance(made, Tensor):
        return one
    one = one._replace(units=made.shape[1] if made.dim() > 1 else None)
    before = getattr(inputs[0].meta["val"], "shape", made.shape)  # an LSTM returns a tuple
    if one.kind in SCALED and len(inputs) == 1:
        return one
    if one.kind in ("conv", "linear"):
        one = one._replace(weights=str(given.get("weight", "")))
    if one.kind == "conv" and len(inputs) == 1:
        stride, dilation, groups = _pair(given["stride"]), max(_pair(given["dilation"])), given["groups"]
        kernel = tuple(given["weight"].meta["val"].shape[2:])
        return one._replace(kernel=kernel, stride=stride, dilation=dilation, groups=groups)
    if one.kind in ("max-pool", "avg-pool"):
        return one._replace(kernel=_pair(given["kernel_size"]), stride=_pair(given["stride"] or given["kernel_size"]))
    if one.kind == "dropout":
        return one._replace(rate=float(given["p"]))
    is_read = {
        "conv": False,
        "linear": len(inputs) == 1 and made.dim() == 2,
        "flatten": made.dim() == 2 or made.shape == before,
        "mean": made.dim() in (2, 4) and (made.shape[:2] == before[:2] or made.shape == before[1:]),
        "cat": given.get("dim") in (1, 1 - made.dim()),
    }
    return one if is_read.get(one.kind, True) else one._replace(kind=f"{own} of another shape")


def _name_arguments(node: fx.Node) -> Mapping[str, Any]:
    """Return the arguments of an operation of torch by name."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return {}
    names = [argument.name for argument in schema.arguments]
    defaults = {argument.name: argument.default_value for argument in schema.arguments}
    return {**defaults, **dict(zip(names, node.args, strict=False)), **node.kwargs}


def _pair(given: int | list[int]) -> tuple[int, ...]:
    numbers = [given] if isinstance(given, int) else list(given)
    return tuple(numbers * 2 if len(numbers) == 1 else numbers)
