"""ONNX files as architectures: real exports, files made by hand, and bytes that are no such file."""

from __future__ import annotations

import os
import pickle
import struct
import time
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains import CNN
from bostruct.nas.onnx_files import from_onnx
from tests.nas.user_networks import NETWORKS, strip

with zipfile.ZipFile(Path(__file__).parent / "onnx_exports.zip") as archive:
    EXPORTS = {name.removesuffix(".onnx"): archive.read(name) for name in archive.namelist()}


def varint(value):
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def message(*fields):
    """The bytes of (number, value) pairs: integers, texts and bytes."""
    parts = []
    for number, value in fields:
        if isinstance(value, int):
            parts.append(varint(8 * number) + varint(value))
        else:
            data = value.encode() if isinstance(value, str) else value
            parts.append(varint(8 * number + 2) + varint(len(data)) + data)
    return b"".join(parts)


def node(operator, inputs, output, **attributes):
    own = [message((1, name), *((8, n) for n in value)) for name, value in attributes.items()]
    return message(*((1, name) for name in inputs), (2, output), (4, operator), *((5, one) for one in own))


def tensor(name, *sizes):
    return message(*((1, size) for size in sizes), (2, 1), (8, name))


def model(nodes, tensors, inputs=("x",), outputs=("y",)):
    ends = [(11, message((1, name))) for name in inputs] + [(12, message((1, name))) for name in outputs]
    return message((1, 8), (7, message(*((1, one) for one in nodes), *((5, one) for one in tensors), *ends)))


def write(folder, data):
    path = folder / "network.onnx"
    path.write_bytes(data)
    return path


CONV = node("Conv", ["x", "w"], "c", strides=[2, 2])
TAIL = [node("Relu", ["c"], "r"), node("GlobalAveragePool", ["r"], "g"), node("Flatten", ["g"], "f")]
LAST = node("Gemm", ["f", "v"], "y", transB=[1])
WEIGHTS = [tensor("w", 4, 3, 3, 3), tensor("v", 10, 4)]
SMALL = model([CONV, *TAIL, LAST], WEIGHTS)


@pytest.mark.filterwarnings("ignore:.*the layers of")
@pytest.mark.parametrize("name", [name for name in EXPORTS if name.partition(".")[0] in NETWORKS])
def test_exports_of_torch(name, tmp_path):
    found = from_onnx(write(tmp_path, EXPORTS[name]))
    assert strip(found) == bo.Architecture.from_text(NETWORKS[name.partition(".")[0]][2], found.family)
    separable = {own for layer in found.layers for own, _ in layer.attributes if own != "normalization"}
    assert separable == ({"separable"} if name.startswith("mobile") else set())


@pytest.mark.parametrize(
    ("name", "words"),
    [("se.old", r"network.onnx: /Mul \(mul\): the family cnn has no such layer"), ("own.new", "Reshape of another")],
)
def test_an_operation_that_cannot_be_read_is_named(name, words, tmp_path):
    with pytest.raises(DomainError, match=words):
        from_onnx(write(tmp_path, EXPORTS[name]))


def test_a_file_by_hand(tmp_path):
    path = write(tmp_path, SMALL)
    assert str(from_onnx(path)) == "ip conv3-4/2 softmax op"
    assert from_onnx(str(path), family=CNN, decision="softmax") == from_onnx(path)
    with pytest.raises(FileNotFoundError):
        from_onnx(tmp_path / "none.onnx")


def test_refusals_name_the_file(tmp_path):
    huge = model([CONV, *TAIL, LAST], [tensor("w", 2**63, 3, 3, 3), tensor("v", 10, 4)])
    with pytest.raises((DomainError, PointError), match=r"network\.onnx: "):
        from_onnx(write(tmp_path, huge))
    os.mkfifo(tmp_path / "fifo.onnx")
    with pytest.raises(ValueError, match=r"fifo\.onnx: expected a regular file"):
        from_onnx(tmp_path / "fifo.onnx")


def test_shared_weights_and_constant_factors_are_told(tmp_path):
    tensors = [tensor("w", 3, 3, 3, 3), tensor("v", 10, 3), tensor("half")]
    twice = [node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "b"), node("Mul", ["b", "half"], "s")]
    nodes = [*twice, node("Conv", ["s", "w"], "c"), *TAIL, LAST]
    words = "differ: layers that share weights have their own; sums and products with constants are left out$"
    with pytest.warns(UserWarning, match=words):
        assert str(from_onnx(write(tmp_path, model(nodes, tensors)))) == "ip conv3-3 conv3-3 softmax op"


def scalar(name, *fields):
    return message(*fields, (8, name))


def float_attribute(name, value):
    return message((1, name)) + varint(8 * 2 + 5) + struct.pack("<f", value)


def dropout(inputs, *attributes):
    return message(
        *((1, name) for name in inputs), (2, "d"), (2, "mask"), (4, "Dropout"), *((5, a) for a in attributes)
    )


CONSTANT = message(
    (2, "p"), (4, "Constant"), (5, message((1, "value"), (5, message((2, 1), (9, struct.pack("<f", 0.3))))))
)
PLAIN = message((2, "p"), (4, "Constant"), (5, float_attribute("value_float", 0.25)))
RATES = {  # operators before and constants beside dropout, its node, its rate
    "attribute": ([], [], dropout(["f"], float_attribute("ratio", 0.3)), 0.3),
    "no attribute": ([], [], dropout(["f"]), 0.5),
    "raw input": ([], [scalar("p", (2, 1), (9, struct.pack("<f", 0.3)))], dropout(["f", "p"]), 0.3),
    "list of floats": ([], [scalar("p", (2, 1), (4, struct.pack("<f", 0.75)))], dropout(["f", "p"]), 0.75),
    "half": ([], [scalar("p", (2, 10), (9, struct.pack("<e", 0.25)))], dropout(["f", "p"]), 0.25),
    "double": ([], [scalar("p", (2, 11), (10, struct.pack("<d", 0.3)))], dropout(["f", "p"]), 0.3),
    "node": ([CONSTANT], [], dropout(["f", "p"]), 0.3),
    "plain node": ([PLAIN], [], dropout(["f", "p"]), 0.25),
    "no input": ([], [], dropout(["f", ""]), 0.5),
    "training": ([], [scalar("p", (2, 1), (9, struct.pack("<f", 0.3))), tensor("t")], dropout(["f", "p", "t"]), 0.3),
    "none": ([], [], dropout(["f"], float_attribute("ratio", 0.0)), None),
}


@pytest.mark.parametrize("name", RATES)
def test_the_rate_of_dropout_is_an_attribute_or_an_input(name, tmp_path):
    before, constants, own, rate = RATES[name]
    nodes = [*before, CONV, *TAIL, own, node("Gemm", ["d", "v"], "y", transB=[1])]
    found = from_onnx(write(tmp_path, model(nodes, [*WEIGHTS, *constants])))
    assert [dict(layer.attributes).get("dropout") for layer in found.layers if layer.label == "softmax"] == [rate]


@pytest.mark.parametrize(
    ("constants", "own", "words"),
    [
        (
            [scalar("p", (2, 7), (9, b"\1\0\0\0"))],
            dropout(["f", "p"]),
            "expected a constant of at least 0, below 1, as its rate; got None",
        ),
        ([], dropout(["f", "r"]), "expected a constant of at least 0, below 1, as its rate; got None"),
        ([scalar("p", (2, 1), (9, b"\1"))], dropout(["f", "p"]), "expected an ONNX file, got other data"),
        ([], dropout(["f"], float_attribute("ratio", 1.0)), "as its rate; got 1.0"),
        ([], dropout(["f"], float_attribute("ratio", float("nan"))), "as its rate; got nan"),
    ],
)
def test_another_rate_of_dropout_is_refused(constants, own, words, tmp_path):
    nodes = [CONV, *TAIL, own, node("Gemm", ["d", "v"], "y", transB=[1])]
    with pytest.raises(DomainError, match=rf"network.onnx: .*{words}"):
        from_onnx(write(tmp_path, model(nodes, [*WEIGHTS, *constants])))


REFUSED = {
    "nothing": (b"", "expected an ONNX file, got other data"),
    "text": (b"ir_version: 8", "expected an ONNX file, got other data"),
    "pickle": (pickle.dumps({"a": [1, 2, 3]}), "expected an ONNX file, got other data"),
    "half": (SMALL[: len(SMALL) // 2], "expected an ONNX file, got other data"),
    "two inputs": (model([CONV], WEIGHTS, ("x", "z")), "expected one input, one output and at most .* got 2, 1 and 1"),
    "apart": (model([CONV, LAST], WEIGHTS, outputs=("other",)), "its output 'other' does not depend on its input"),
    "no weights": (model([CONV, *TAIL, LAST], WEIGHTS[1:]), r"c \(Conv of another shape\): .* no such layer$"),
    "not linear": (model([CONV], WEIGHTS, outputs=("c",)), r"c \(conv\): expected linear layers before the output"),
    "name": (model([node("Relu", ["x"], "n" * 1001)], []), "expected names of at most 1000 bytes, got 1001"),
    "nodes": (model([node("Relu", ["x"], "y")] * 20_001, []), "at most 20000 nodes, got 1, 1 and 20001"),
    "parts": (message(*[(1, 1)] * 200_001), "expected at most 200000 fields in a message, got more"),
    "escapes": (model([node("\x1b[31m", ["x"], "y")], []), r"y \(\\x1b\[31m\): expected linear layers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_files_are_refused(name, tmp_path):
    data, words = REFUSED[name]
    with pytest.raises(DomainError, match=f"network.onnx: .*{words}"):
        from_onnx(write(tmp_path, data))


@pytest.mark.parametrize(
    ("limit", "most", "message"),
    [
        ("MAX_OPERATIONS", 4, "expected one input, one output and at most 4 nodes, got 1, 1 and 5"),
        ("MAX_FIELDS", 4, "expected at most 4 fields in a message, got more"),
        ("MAX_BYTES", 3, "expected names of at most 3 bytes, got 7"),
    ],
)
def test_each_limit_is_refused(limit, most, message, tmp_path, monkeypatch):
    monkeypatch.setattr(f"bostruct.nas.onnx_files.{limit}", most)
    with pytest.raises(DomainError, match=f"network.onnx: {message}"):
        from_onnx(write(tmp_path, SMALL))


def test_a_cycle_is_refused(tmp_path):
    loop = [node("Concat", ["x", "x"], "a"), node("Concat", ["a", "x"], "b"), node("Concat", ["b", "x"], "a")]
    with pytest.raises(DomainError, match=r"a \(cat\): it comes before the operations that feed it"):
        from_onnx(write(tmp_path, model([*loop, node("Gemm", ["a", "v"], "y")], WEIGHTS)))


@pytest.mark.filterwarnings("ignore:.*the layers of")
@settings(max_examples=150)
@given(st.sampled_from(sorted(EXPORTS)), st.data())
def test_damaged_files_are_read_or_refused(tmp_path_factory, name, data):
    damaged = bytearray(EXPORTS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    path = write(tmp_path_factory.getbasetemp(), damaged[: data.draw(st.integers(1, len(damaged)))])
    with suppress(DomainError, PointError):
        assert isinstance(from_onnx(path), bo.Architecture)


def test_weights_of_a_gigabyte_are_not_read(tmp_path):
    """The file has a hole, and takes no place on disk."""
    size = 2**30
    large = WEIGHTS[0] + varint(8 * 9 + 2) + varint(size)
    ends = (11, message((1, "x"))), (12, message((1, "y")))
    graph = message(*((1, one) for one in [CONV, *TAIL, LAST]), (5, WEIGHTS[1]), *ends)
    graph += varint(8 * 5 + 2) + varint(len(large) + size) + large
    head = message((1, 8)) + varint(8 * 7 + 2) + varint(len(graph) + size) + graph
    path = write(tmp_path, head)
    with path.open("r+b") as file:
        file.truncate(len(head) + size)
    tracemalloc.start()
    began = time.perf_counter()
    assert str(from_onnx(path)) == "ip conv3-4/2 softmax op"
    assert time.perf_counter() - began < 2
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
