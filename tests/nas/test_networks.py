"""Architectures as torch modules: every label, forward and backward, counts, names, refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import CNN, KERNEL_SIZES, Label
from bostruct.domains.language.combinators import apply_part
from bostruct.language import SearchSpace
from bostruct.nas import Recipe, ops, regression, to_torch, train
from bostruct.nas.networks import ACTIVATION_MODULES, MainOutput, cost, program_to_torch
from bostruct.nas.spaces.genetic import genetic_cnn
from bostruct.nas.spaces.nasnet import nasnet

CHAINS = (
    *(f"{kind}{k}-8 {kind}{k}-6/2 fc-5 softmax" for kind in ("conv", "res") for k in KERNEL_SIZES),
    "conv3-8 max-pool avg-pool fc-12 fc-7 softmax",
    "conv3-8/2 res3-16/2 res3-8 max-pool softmax",
)


def forward_and_backward(architecture, shape, classes):
    network = to_torch(architecture, shape, classes)
    given = network(torch.randn(4, *shape))
    assert given.shape == (4, classes)
    given.square().sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in network.parameters())
    return network


@pytest.mark.parametrize("chain", CHAINS)
def test_every_label_of_images_is_built(chain):
    network = forward_and_backward(bo.Architecture.chain(chain), (3, 9, 7), 5)
    names = [line.partition(" >")[0] for line in network.architecture.to_text().splitlines()]
    assert list(network.layers) == names[1:-1]


@pytest.mark.parametrize("activation", ACTIVATION_MODULES)
@pytest.mark.parametrize("decision", ["linear", "softmax"])
def test_every_activation_is_built(activation, decision):
    forward_and_backward(bo.Architecture.chain(f"{activation}-6 {activation}-5 {decision}"), (4,), 3)


@pytest.mark.parametrize(("domain", "shape"), [(bo.cnn_domain(), (3, 12, 12)), (bo.mlp_domain(), (6,))])
def test_pools_and_their_descendants_are_built_on_meta_tensors(domain, shape):
    rng = np.random.default_rng(0)
    xs = list(domain.pool)
    xs += [domain.mutate(xs[int(rng.integers(len(xs)))], rng) for _ in range(25)]
    for x in xs:
        with torch.device("meta"):
            assert to_torch(x, shape, 3)(torch.empty(2, *shape)).shape == (2, 3)


def test_inputs_are_added_where_the_family_says_so():
    layers = ["ip", "conv3-4", "conv3-6", "conv3-5", "fc-7", "softmax", "op"]
    edges = [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5), (5, 6)]
    adding = dataclasses.replace(CNN, name="adding", joins="adds")
    network = to_torch(bo.Architecture(layers, edges, adding), (1, 6, 6), 4).eval()
    layer = network.layers["3 conv3-5"]
    assert layer.body[0].in_channels == 6
    narrow, wide = torch.randn(2, 4, 6, 6), torch.randn(2, 6, 6, 6)
    both = wide.clone()
    both[:, :4] += narrow
    torch.testing.assert_close(layer([narrow, wide]), layer.body(both))
    assert network(torch.randn(2, 1, 6, 6)).shape == (2, 4)


def test_inputs_of_a_layer_are_concatenated_and_decisions_averaged():
    layers = ["ip", "conv3-4", "conv3-6", "conv3-5", "fc-7", "softmax", "softmax", "op"]
    edges = [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4), (4, 5), (3, 6), (5, 7), (6, 7)]
    network = to_torch(bo.Architecture(layers, edges), (1, 6, 6), 4).eval()
    assert network.layers["3 conv3-5"].body[0].in_channels == 10
    x = torch.randn(3, 1, 6, 6)
    both = network.decisions(x)
    mean = torch.stack([one.softmax(dim=1) for one in both]).mean(dim=0)
    assert len(both) == 2
    torch.testing.assert_close(network(x).exp(), mean)
    edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)]
    plain = to_torch(bo.Architecture(["ip", "relu-4", "linear", "linear", "op"], edges), (3,), 2)
    x = torch.randn(5, 3)
    torch.testing.assert_close(plain(x), torch.stack(plain.decisions(x)).mean(dim=0))


def test_a_residual_block_adds_what_entered():
    network = to_torch(bo.Architecture.chain("conv3-4 res3-6 softmax"), (1, 5, 5), 2).eval()
    block = network.layers["2 res3-6"].body
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.zero_()
    x = torch.rand(2, 4, 5, 5)
    given = block(x)
    torch.testing.assert_close(given[:, :4], x)
    assert not given[:, 4:].any()


def test_attributes_reach_the_module():
    def layer(**attributes):
        return bo.Architecture.chain(["conv3-4", {"label": "conv3", "units": 6, "attributes": attributes}, "softmax"])

    plain = cost(to_torch(layer(), (1, 8, 8), 2), (1, 8, 8))
    separable = cost(to_torch(layer(separable=True), (1, 8, 8), 2), (1, 8, 8))
    assert separable.parameters < plain.parameters
    modules = [type(one).__name__ for one in to_torch(layer(dropout=0.5, normalization="none"), (1, 8, 8), 2).modules()]
    assert "Dropout2d" in modules
    assert modules.count("BatchNorm2d") == 1
    for wrong, message in (
        ({"groups": 2}, "groups"),
        ({"normalization": "layer"}, "normalization"),
        ({"dropout": 1.0}, "dropout"),
        ({"dropout": "x"}, "dropout: expected a probability"),
        ({"dropout": True}, "dropout: expected a probability"),
        ({"dilation": 1.5}, "dilation: expected an integer, at least 1, got 1.5"),
        ({"dilation": 0}, "dilation: expected an integer, at least 1, got 0"),
        ({"separable": "no"}, "separable: expected true or false, got 'no'"),
    ):
        with pytest.raises(DomainError, match=f"layer 2 .*{message}"):
            to_torch(layer(**wrong), (1, 8, 8), 2)


def test_dropout_before_decisions_is_off_while_scoring():
    network = to_torch(bo.Architecture.chain("relu-8 linear"), (4,), 1, dropout=0.5)
    x = torch.randn(6, 4)
    assert not torch.equal(network(x), network(x))
    network.eval()
    assert torch.equal(network(x), network(x))


def test_a_shape_with_the_batch_first_is_that_of_its_examples():
    chain = bo.Architecture.chain("conv3-8 softmax")
    assert to_torch(chain, (4, 3, 8, 8), 2).input_shape == to_torch(chain, (3, 8, 8), 2).input_shape == (3, 8, 8)


def test_what_cannot_be_built_is_refused_by_name():
    chain = bo.Architecture.chain("conv3-8 softmax")
    with pytest.raises(TypeError, match="architecture: expected"):
        to_torch("conv3-8", (3, 8, 8), 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"input_shape: expected \(channels, height, width\)"):
        to_torch(chain, (8,), 2)
    with pytest.raises(TypeError, match=r"input_shape: expected \(channels, height, width\).*got 32"):
        to_torch(chain, 32, 2)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="classes"):
        to_torch(chain, (3, 8, 8), 0)
    family = CNN.with_label(Label("swish", group="fc", image="collapses"), {"fc": 0.1}, "cnn+swish")
    with pytest.raises(DomainError, match=r"layer 2 .*no torch module is known for the label 'swish'"):
        to_torch(bo.Architecture.chain("conv3-8 swish-4 softmax", family), (3, 8, 8), 2)


def with_two_heads(first, second):
    """A builder of a program with a dense head under each name."""

    def builder():
        inputs, stem = ops.dense(6)
        return inputs, {name: apply_part(ops.dense(3), stem)["out"] for name in (first, second)}

    return SearchSpace(builder).specify([]).program()


def test_of_several_outputs_the_main_one_is_trained():
    space = SearchSpace(nasnet(cells=3, filters=4))
    program = space.present(space.sample(1, np.random.default_rng(0))[0])
    network = program_to_torch(program, (1, 8, 8)).eval()
    assert isinstance(network, MainOutput)
    with torch.no_grad():
        x = torch.randn(3, 1, 8, 8)
        both = network.network(x)
        assert torch.equal(network(x), both["out"])
        assert all(torch.equal(a, both[b]) for a, b in zip(network.decisions(x), ("out", "aux"), strict=True))


@pytest.mark.parametrize("every", [False, True])
def test_other_outputs_are_learned_where_every_decision_is(every):
    data = regression("r", np.random.default_rng(0).normal(size=(40, 4)), np.random.default_rng(1).normal(size=(40, 3)))
    program = with_two_heads("out", "aux")
    recipe = Recipe(epochs=1, batch_size=8, every_decision=every)
    torch.manual_seed(0)
    made = program_to_torch(program, (4,))
    before = {name: value.detach().clone() for name, value in made.named_parameters()}
    trained = train(lambda: made, data, recipe, 0).network
    still = [name for name, value in trained.named_parameters() if torch.equal(value, before[name])]
    assert len(still) == (0 if every else 2)  # weights and biases of the head that is not scored


def test_several_outputs_need_a_main_one():
    with pytest.raises(DomainError, match="expected one output, or several with one called 'out', got left, right"):
        program_to_torch(with_two_heads("left", "right"), (4,))


def test_stages_need_as_many_filters():
    with pytest.raises(ValueError, match="stages, filters: expected equal numbers, got 2 and 1"):
        genetic_cnn(stages=(2, 3), filters=(8,))


def test_images_with_their_channels_last_are_warned_of(recwarn):
    network = bo.Architecture.chain("conv3-4 softmax")
    words = r"\(32, 32, 3\) is read as 32 channels of 32 x 3, .* of 3 channels give \(3, 32, 32\)"
    with pytest.warns(UserWarning, match=words):
        to_torch(network, (32, 32, 3), 10)
    for shape in ((3, 32, 32), (3, 3, 3), (32, 1, 100), (32, 16, 3), (32, 32, 2)):
        to_torch(network, shape, 10)
    assert not recwarn.list
