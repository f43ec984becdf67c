"""Read networks in ONNX files as architectures. A file is read as data: weights are not loaded, and no code is run.

A file is a protocol buffers message; the numbers of its fields are from onnx.proto (ONNX project).
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from bostruct.checks import short_repr
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import Family
from bostruct.domains.architecture.value import Architecture
from bostruct.nas.graphs import MAX_OPERATIONS, POOLS, SCALED, GraphNode, GraphReader
from bostruct.problems.paths import check_regular

MAX_FIELDS = 10 * MAX_OPERATIONS  # maximum number of fields of a message
MAX_BYTES = 1_000  # maximum size of a name, and of a list of numbers
Message: TypeAlias = dict[int, list[Any]]  # the values of each field by its number: integers, or bytes
Tensors: TypeAlias = dict[str, Message]  # constants by name
NAMES = {  # names of operators, by kind; the kind of any other operator is its name
    "linear": "Gemm MatMul",
    "batch-norm": "BatchNormalization",
    "avg-pool": "AveragePool",
    "mean": "GlobalAveragePool ReduceMean",
    "logsumexp": "ReduceLogSumExp",
    "cat": "Concat",
    "flatten": "Reshape",
    "relu6": "Clip",
    "silu": "Swish",
    "identity": "Cast Squeeze Unsqueeze",
}
KINDS = {name: kind for kind, names in NAMES.items() for name in names.split()}
FLOATS = {1: (4, "<f"), 10: (4, "<e"), 11: (10, "<d")}  # number of the type of a tensor -> field and format of values
# kinds whose further inputs are not tensors of a layer
WITH_SETTINGS = {"flatten", "pad", "mean", "identity", "logsumexp", "dropout"}


class OnnxNode(NamedTuple):
    """A node of a file, and its attributes by name."""

    name: str
    operator: str
    inputs: list[str]
    outputs: list[str]
    attributes: dict[str, Message]

    @classmethod
    def read(cls, data: memoryview) -> OnnxNode:
        """Return the node of a message."""
        found = _read_message(data)
        inputs, outputs = ([_decode_text([name]) for name in found.get(number, [])] for number in (1, 2))
        attributes = {_decode_text(one[1]): one for one in map(_read_message, found.get(5, []))}
        return cls(
            _decode_text(found.get(3, found[2])) or outputs[0], _decode_text(found[4]), inputs, outputs, attributes
        )

    def read_numbers(self, name: str, *default: int) -> tuple[int, ...]:
        """Return an attribute that is an integer or a list of integers."""
        found = self.attributes.get(name, {})
        return tuple(_read_integers(found.get(8, found.get(3, [])))) or default


def from_onnx(
    path: str | os.PathLike[str], *, family: Family | None = None, decision: str | None = None
) -> Architecture:
    """Return the architecture of the network in an ONNX file, read as by `from_torch`.

    Exports often leave out dropout, and merge normalization into convolutions: if a file has none, its convolutions
    are read as normalized.

    Parameters
    ----------
    path : str or path-like
        A file with one input and one output. Weights are not read.
    family, decision
        See `from_torch`. The operation ``LayerNormalization`` is a layer with the label ``layer-normalization``.

    Returns
    -------
    Architecture
        The architecture.

    Raises
    ------
    OSError, DomainError
        If it is not an ONNX file, or an operation cannot be read; the message names it.
    PointError
        If the layers are not a valid architecture.
    """
    source = str(path)
    check_regular(source, Path(path))
    with Path(path).open("rb") as file:
        try:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            output, operations = _read_operations(_read_message(_read_message(data)[7][-1]))
        except DomainError as error:
            raise DomainError(f"{source}: {error}") from None
        except (KeyError, IndexError, TypeError, ValueError, struct.error):  # other bytes cause any of these
            raise DomainError(f"{source}: expected an ONNX file, got other data") from None
    has_norms = any(one.kind == "batch-norm" for one in operations.values())
    return GraphReader(source, operations, family).read(output, decision, has_norms)


def _read_operations(graph: Message) -> tuple[str, dict[str, GraphNode]]:
    """Return the name of the output, and the operations by the names of their outputs."""
    nodes = graph.get(1, [])
    constants = {_decode_text(tensor[8]): tensor for tensor in map(_read_message, graph.get(5, []))}
    inputs, outputs = ([_decode_text(_read_message(one)[1]) for one in graph.get(number, [])] for number in (11, 12))
    inputs = [name for name in inputs if name not in constants]
    if len(inputs) != 1 or len(outputs) != 1 or len(nodes) > MAX_OPERATIONS:
        given = f"{len(inputs)}, {len(outputs)} and {len(nodes)}"
        raise DomainError(f"expected one input, one output and at most {MAX_OPERATIONS} nodes, got {given}")
    operations = {inputs[0]: GraphNode("input", "input", ())}
    for node in map(OnnxNode.read, nodes):
        one = _read_operator(node, operations, constants)
        operations.update(dict.fromkeys(node.outputs, one) if one.inputs else {})
        constants.update({} if one.inputs else dict.fromkeys(node.outputs, _find_constant(node, constants)))
    if outputs[0] not in operations:
        raise DomainError(f"its output {short_repr(outputs[0])} does not depend on its input")
    return outputs[0], operations


def _read_operator(node: OnnxNode, known: dict[str, GraphNode], constants: Tensors) -> GraphNode:
    """Return the operation of a node whose inputs are `known` operations or constants."""
    kind = KINDS.get(node.operator, re.sub("(?<=[a-z])(?=[A-Z])", "-", node.operator).lower())
    fed = tuple(each for each in (node.inputs[:1] if kind in WITH_SETTINGS else node.inputs) if each in known)
    one = GraphNode(node.name, kind, fed)
    tensor = next((constants[key] for key in node.inputs[1:] if key in constants), {})  # the weights
    sizes = _read_integers(tensor.get(1, []))
    if kind in SCALED and len(fed) == 1:
        return one
    if kind in ("conv", "linear") and len(fed) == 1:
        one = one._replace(weights=node.inputs[1] if len(node.inputs) > 1 else "")
    if kind == "conv" and len(sizes) == 4 and len(fed) == 1:
        stride, dilation, groups = (node.read_numbers(own, 1, 1) for own in ("strides", "dilations", "group"))
        one = one._replace(
            units=sizes[0], kernel=tuple(sizes[2:]), stride=stride, dilation=max(dilation), groups=groups[0]
        )
    if kind == "linear" and len(sizes) == 2 and len(fed) == 1:
        return one._replace(units=sizes[0] if node.read_numbers("transB", 0)[0] else sizes[1])
    if kind in POOLS:
        one = one._replace(kernel=node.read_numbers("kernel_shape"), stride=node.read_numbers("strides", 1, 1))
    if kind == "dropout":
        rate = _read_rate(node, constants)
        return one._replace(kind="dropout" if rate else "identity", rate=rate)
    if kind == "cat" and node.read_numbers("axis", 1) == (0,):
        return one._replace(kind="stack")
    is_strange = one.units is None if kind in ("conv", "linear") else len(one.kernel) != 2
    is_strange |= len(one.stride) != 2 or (node.operator == "Reshape" and sizes not in ([], [2]))
    return one._replace(kind=f"{node.operator} of another shape") if is_strange else one


def _find_constant(node: OnnxNode, constants: Tensors) -> Message:
    """Return the tensor that a node computes from constants; an empty message if it is unknown."""
    if node.operator == "Constant" and "value" in node.attributes:
        return _read_message(node.attributes["value"][5][-1])
    if node.operator == "Constant" and "value_float" in node.attributes:
        return {2: [1], 4: node.attributes["value_float"][2]}
    return constants.get(node.inputs[0], {}) if node.operator == "Identity" else {}


def _read_rate(node: OnnxNode, constants: Tensors) -> float:
    """Return the rate of dropout: its second input since version 12 of the operators, an attribute before."""
    own, name = node.attributes.get("ratio"), "".join(node.inputs[1:2])
    if own is None and not name:
        return 0.5
    given: Message = constants.get(name, {}) if own is None else {2: [1], 4: own[2]}
    number, layout = FLOATS.get(given.get(2, [0])[-1], (0, ""))
    values = given.get(9) or given.get(number)
    rate = round(float(struct.unpack(layout, values[-1])[0]), 7) if values and layout else None
    if rate is None or not 0.0 <= rate < 1.0:
        raise DomainError(f"{node.name} (Dropout): expected a constant of at least 0, below 1, as its rate; got {rate}")
    return rate


def _read_message(data: memoryview) -> Message:
    """Return the values of the fields of a message; raise ValueError for other data, DomainError for too many."""
    found, at, n = Message(), 0, 0
    while at < len(data):
        key, at = _read_varint(data, at)
        wire, n = key & 7, n + 1
        if wire == 0:
            value, at = _read_varint(data, at)
        else:
            size, at = _read_varint(data, at) if wire == 2 else ({1: 8, 5: 4}[wire], at)
            value, at = data[at : at + size], at + size
        if at > len(data):
            raise ValueError("it ends within a field")
        if n > MAX_FIELDS:
            raise DomainError(f"expected at most {MAX_FIELDS} fields in a message, got more")
        found.setdefault(key >> 3, []).append(value)
    return found


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    """Return an integer of at most ten bytes, and the position after it."""
    value = 0
    for i in range(10):
        byte = data[at + i]
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            return value, at + i + 1
    raise ValueError("a number of more than ten bytes")


def _read_integers(values: list[Any]) -> list[int]:
    """Return the integers of a field, packed or not; at most the first thousand."""
    found: list[int] = []
    for value in values[:MAX_BYTES]:
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < min(len(value), MAX_BYTES):
            number, at = _read_varint(value, at)
            found.append(number)
    return found


def _decode_text(values: list[Any]) -> str:
    """Return the string of a field; raise DomainError if it is too long."""
    if len(values[-1]) > MAX_BYTES:
        raise DomainError(f"expected names of at most {MAX_BYTES} bytes, got {len(values[-1])}")
    return bytes(values[-1]).decode(errors="replace").encode("unicode_escape").decode()
