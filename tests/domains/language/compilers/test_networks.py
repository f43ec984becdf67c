"""Programs as torch modules: what they compute, how parameters are called, and what is said where shapes do not fit."""

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from bostruct import language as lang
from bostruct.domains.language.compilers.networks import torch_name
from bostruct.language import CompileError, SearchSpace
from bostruct.nas import ops
from tests.domains.language.programs import enas_space, figure_4, lstm_space

ROOT = Path(__file__).resolve().parents[4]


def fixed(*parts):
    """The program of a chain without choices."""
    return SearchSpace(lambda: lang.siso_sequential([part() for part in parts])).program()


def drawn(builder, seed=0):
    space = SearchSpace(builder)
    return space.present(space.sample(1, np.random.default_rng(seed))[0])


def parameters(net):
    return sum(one.numel() for one in net.parameters())


def same(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


def test_computes_what_the_layers_in_a_row_compute():
    torch.manual_seed(0)
    net = fixed(lambda: ops.dense(5), ops.tanh, lambda: ops.dense(2)).to_torch((3, 4))
    torch.manual_seed(0)
    direct = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    x = torch.randn(3, 4)
    assert torch.equal(net(x), direct(x))
    assert parameters(net) == 4 * 5 + 5 + 5 * 2 + 2


@pytest.mark.parametrize("seed", range(3))
def test_figure_4_has_the_parameters_that_its_values_imply(seed):
    program = drawn(lambda: figure_4((2, 3)), seed)
    net = program.to_torch((2, 3, 6, 6))
    widths, expected = {}, 0
    for position, node in enumerate(program.nodes):
        read = [3 if source.node is None else widths[source.node] for source in node.sources.values()]
        widths[position] = node.values.get("filters", sum(read))
        if node.kind == "Conv2D":
            expected += 9 * read[0] * widths[position] + widths[position]
    y = net(torch.randn(2, 3, 6, 6))
    assert y.shape == (2, widths[len(program) - 1], 6, 6)
    assert parameters(net) == expected
    y.sum().backward()
    assert all(one.grad is not None for one in net.parameters())


def test_one_seed_gives_one_network():
    program = drawn(lambda: figure_4((2, 3)))
    states = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        states.append(program.to_torch((2, 3, 6, 6)).state_dict())
    assert same(states[0], states[1])
    assert not same(states[0], states[2])


def test_parameters_are_called_alike_in_every_process():
    script = (
        "import json, numpy as np\nfrom bostruct.language import SearchSpace\n"
        "from tests.domains.language.programs import *\n"
        "space = SearchSpace(enas_space)\nprogram = space.present(space.sample(1, np.random.default_rng(3))[0])\n"
        "net = program.to_torch({'x': (2, 3), 'ht': (2, 3)})\nprint(json.dumps(list(net.state_dict())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True, text=True, check=True, cwd=ROOT,
        env={"PYTHONHASHSEED": "77", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    here = drawn(enas_space, 3).to_torch({"x": (2, 3), "ht": (2, 3)})
    assert json.loads(done.stdout) == list(here.state_dict())


def test_names_hold_the_places_of_modules():
    program = drawn(lambda: figure_4((2, 3)))
    names = {name.rpartition(".")[0] for name, _ in program.to_torch((2, 3, 6, 6)).named_parameters()}
    assert names == {f"layers.{node.path}" for node in program.nodes if node.kind == "Conv2D"}


@given(st.lists(st.text("ab.%2E5/[]", min_size=1), min_size=2, max_size=5, unique=True))
def test_places_that_torch_refuses_stay_apart(paths):
    layers = nn.ModuleDict({torch_name(f"{path}-0"): nn.Linear(1, 1) for path in paths})
    assert len(layers) == len(paths)
    assert len(layers.state_dict()) == 2 * len(paths)


def test_a_value_with_a_dot_may_stand_in_a_place():
    def builder():
        def made(dh):
            return ops.dense(round(4 * dh["v"]))

        return lang.substitution_module("Part", made, {"v": lang.D([0.5])}, ["in"], ["out"])

    net = SearchSpace(builder).specify([0.5]).program().to_torch((3, 2))
    assert list(net.state_dict()) == ["layers.Part-0[0%2E5]/Dense-0.weight", "layers.Part-0[0%2E5]/Dense-0.bias"]


def test_shapes_that_do_not_fit_are_told_with_the_module_and_before_anything_is_allocated():
    def refused(values, shapes):
        del values
        assert all(isinstance(size, int) for size in shapes["in"])
        seen.append(torch.empty(1).device.type)
        return nn.Linear(7, 7)

    seen = []
    program = fixed(lambda: ops.dense(5), lambda: lang.siso_torch_module("Odd", refused, {"size": 7}))
    with pytest.raises(CompileError, match=r"Odd-0\(size=7\) cannot take in of shape \(3, 5\)"):
        program.to_torch((3, 4))
    assert seen == ["meta"]


def test_sums_of_unlike_shapes_are_told_with_all_of_them():
    def builder():
        inputs, outputs = lang.identity()
        a_inputs, a_outputs = ops.dense(2)
        total_inputs, total_outputs = ops.add(2)
        a_inputs["in"].connect(outputs["out"])
        total_inputs["in0"].connect(outputs["out"])
        total_inputs["in1"].connect(a_outputs["out"])
        return inputs, total_outputs

    with pytest.raises(CompileError, match=r"Add-0\(\) .*in0 of shape \(3, 4\), in1 of shape \(3, 2\)"):
        SearchSpace(builder).program().to_torch((3, 4))


REFUSED_INPUTS = [
    ({"x": (2, 3)}, "expected x, ht; got x"),
    ((2, 3), r"expected a dict with the program's inputs \(x, ht\)"),
    ({"x": (2, 3), "ht": "four"}, "ht: expected a shape or a tensor, got 'four'"),
    ({"x": (2, 3), "ht": (2, 3), "z": (2, 3)}, "expected x, ht; got x, ht, z"),
]


@pytest.mark.parametrize(("shapes", "message"), REFUSED_INPUTS)
def test_inputs_that_are_wrong_are_refused(shapes, message):
    with pytest.raises(CompileError, match=message):
        drawn(enas_space).to_torch(shapes)


def test_abstract_modules_are_refused_by_name():
    program = fixed(lambda: ops.dense(2), lambda: lang.siso_module("Abstract", {"depth": 3}))
    with pytest.raises(CompileError, match=r"Abstract-0\(depth=3\): to_torch compiles .* is missing"):
        program.to_torch((1, 2))
    with pytest.raises(CompileError, match=r"expected a torch\.nn\.Module or a function, got 5"):
        fixed(lambda: lang.siso_torch_module("Odd", lambda _values, _shapes: 5)).to_torch((1, 2))


def test_several_inputs_and_outputs_go_by_name_or_position():
    net = SearchSpace(lstm_space).specify([4]).program().to_torch({"x": (2, 3), "hprev": (2, 4), "cprev": (2, 4)})
    x, h, c = torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 4)
    by_name, by_position = net(cprev=c, x=x, hprev=h), net(x, h, c)
    assert set(by_name) == {"c", "h"}
    assert all(torch.equal(by_name[name], by_position[name]) for name in by_name)
    with pytest.raises(TypeError, match="x, hprev, cprev; got 2 by position"):
        net(x, h)
    with pytest.raises(TypeError, match="got 3 by position and x"):
        net(x, h, c, x=x)


def test_lstm_of_figure_15_is_torchs_own():
    """The same weights, put into an LSTMCell, give the same state, and the same gradient of the input."""
    program = SearchSpace(lstm_space).specify([4]).program()
    net = program.to_torch({"x": (2, 3), "hprev": (2, 4), "cprev": (2, 4)})
    own = nn.LSTMCell(3, 4)
    gates = [net.layers[f"Gate-{k}"].linear for k in (0, 1, 3, 2)]  # input, forget, cell, output
    with torch.no_grad():
        own.weight_ih.copy_(torch.cat([one.weight[:, :3] for one in gates]))
        own.weight_hh.copy_(torch.cat([one.weight[:, 3:] for one in gates]))
        own.bias_ih.copy_(torch.cat([one.bias for one in gates]))
        own.bias_hh.zero_()
    x, h, c = torch.randn(2, 3, requires_grad=True), torch.randn(2, 4), torch.randn(2, 4)
    found = net(x, h, c)
    expected = dict(zip(("h", "c"), own(x, (h, c)), strict=True))
    for name in ("h", "c"):
        torch.testing.assert_close(found[name], expected[name])
    gradients = [torch.autograd.grad(one["h"].sum(), x, retain_graph=True)[0] for one in (found, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("seed", range(4))
def test_enas_cell_of_figure_16_runs_forward_and_backward(seed):
    program = drawn(enas_space, seed)
    net = program.to_torch({"x": (2, 3), "ht": (2, 3)})
    units = next(node.values["units"] for node in program.nodes if node.kind == "Dense")
    y = net(torch.randn(2, 3), torch.randn(2, 3))
    assert y.shape == (2, units)
    y.sum().backward()
    assert all(one.grad is not None for one in net.parameters())
    assert parameters(net) == 2 * (3 * units + units) + 7 * (units * units + units)


def test_networks_are_copied_saved_and_moved_to_other_types():
    net = fixed(lambda: ops.conv2d(4), ops.relu, ops.global_pool).to_torch((2, 3, 8, 8))
    x = torch.randn(2, 3, 8, 8)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert torch.equal(other(x), net(x))
    assert net.double()(x.double()).dtype == torch.float64


def test_a_tensor_as_example_gives_the_type():
    program = fixed(
        lambda: lang.siso_torch_layer(nn.Embedding, {"num_embeddings": 9, "embedding_dim": 2}), lambda: ops.dense(3)
    )
    tokens = torch.tensor([[1, 2, 8]])
    assert program.to_torch(tokens)(tokens).shape == (1, 3, 3)


def test_a_batch_of_one_is_no_obstacle_and_other_batches_run():
    net = fixed(ops.global_pool, ops.batch_norm).to_torch((1, 3, 4, 4))
    assert net.training
    assert net(torch.randn(7, 3, 4, 4)).shape == (7, 3)


OPS = [
    (lambda: ops.conv2d(4, 5, 2), (2, 4, 4, 4), 3 * 4 * 25 + 4),
    (lambda: ops.conv2d(4, 3, 1, 2, bias=False), (2, 4, 7, 7), 3 * 4 * 9),
    (lambda: ops.depthwise_conv2d(3, 2), (2, 3, 4, 4), 3 * 9 + 3),
    (lambda: ops.separable_conv2d(5, 3), (2, 5, 7, 7), 3 * 9 + 3 * 5 + 5),
    (lambda: ops.max_pool(3, 2), (2, 3, 4, 4), 0),
    (lambda: ops.max_pool(2, 2), (2, 3, 4, 4), 0),
    (lambda: ops.avg_pool(3, 1), (2, 3, 7, 7), 0),
    (lambda: ops.avg_pool(2, 2), (2, 3, 4, 4), 0),
    (lambda: ops.batch_norm(), (2, 3, 7, 7), 6),
    (lambda: ops.dropout(0.5), (2, 3, 7, 7), 0),
    (ops.relu, (2, 3, 7, 7), 0),
    (ops.sigmoid, (2, 3, 7, 7), 0),
    (ops.tanh, (2, 3, 7, 7), 0),
    (ops.global_pool, (2, 3), 0),
    (ops.flatten, (2, 147), 0),
    (lambda: ops.dense(5), (2, 3, 7, 5), 40),
]


@pytest.mark.parametrize(("op", "shape", "count"), OPS)
def test_ready_modules_keep_or_halve_sizes_and_have_the_parameters_of_their_kind(op, shape, count):
    net = fixed(op).to_torch((2, 3, 7, 7))
    assert (net(torch.randn(2, 3, 7, 7)).shape, parameters(net)) == (shape, count)


@pytest.mark.parametrize("op", [lambda: ops.conv2d(4, 2), lambda: ops.max_pool(2, 1), lambda: ops.avg_pool(4, 2)])
def test_even_sizes_that_no_padding_makes_up_for_are_refused(op):
    with pytest.raises(CompileError, match="expected an odd size"):
        fixed(op).to_torch((2, 3, 7, 7))


def test_means_of_patches_leave_padding_out():
    net = fixed(lambda: ops.avg_pool(3, 1)).to_torch((1, 1, 4, 4))
    assert torch.equal(net(torch.ones(1, 1, 4, 4)), torch.ones(1, 1, 4, 4))
