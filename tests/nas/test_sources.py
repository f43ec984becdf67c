"""Networks as source: a class that needs torch alone, has the same parameters and computes the same, bit for bit."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import torch

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import CNN
from bostruct.nas import to_torch
from bostruct.nas.sources import to_source

PLAIN = "conv3-8 res3-16/2 res5-8 avg-pool max-pool fc-32 softmax"
CONVOLUTION = ("conv3", 8, 1)
CHAINS = [
    bo.Architecture.chain(PLAIN),
    bo.Architecture.chain([(*CONVOLUTION, {"separable": True}), ("conv5", 8, 2, {"dilation": 2}), "softmax"]),
    bo.Architecture.chain(
        [
            (*CONVOLUTION, {"normalization": "none"}),
            ("res3", 8, 1, {"dropout": 0.2}),
            ("fc", 16, 1, {"dropout": 0.5}),
            "softmax",
        ]
    ),
]


def rebuild(network: torch.nn.Module) -> torch.nn.Module:
    """Run the source of a network and give the class the parameters of the original."""
    found: dict = {}
    exec(compile(to_source(network), "network.py", "exec"), found)
    rebuilt = found["Network"]()
    rebuilt.load_state_dict(network.state_dict())
    return rebuilt


def assert_same(network: torch.nn.Module, shape: tuple[int, ...]) -> None:
    rebuilt, x = rebuild(network), torch.randn(3, *shape)
    with torch.no_grad():
        for mode in (True, False):  # batch statistics, then those that training has left
            torch.manual_seed(1)  # for dropout
            given = network.train(mode)(x)
            torch.manual_seed(1)
            assert torch.equal(rebuilt.train(mode)(x), given)


@pytest.mark.parametrize("chain", CHAINS)
def test_layers_and_their_attributes_are_kept(chain):
    torch.manual_seed(0)
    assert_same(to_torch(chain, (3, 15, 15), 5, dropout=0.1), (3, 15, 15))


@pytest.mark.parametrize(("domain", "shape"), [(bo.cnn_domain(), (3, 16, 16)), (bo.mlp_domain(), (7,))])
def test_drawn_architectures_compute_the_same(domain, shape):
    torch.manual_seed(0)
    branching = several = 0
    for architecture in domain.sample(6, np.random.default_rng(3)):
        assert_same(to_torch(architecture, shape, 4), shape)
        branching += any(len(above) > 1 for above in architecture.parents[:-1])
        several += len(architecture.parents[-1]) > 1
    assert branching
    assert several


def test_families_that_add_are_kept():
    adding = dataclasses.replace(CNN, name="adding", joins="adds")
    layers = ["ip", ("conv3", 8), ("conv3", 4), "softmax", "op"]
    edges = [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)]
    torch.manual_seed(0)
    assert_same(to_torch(bo.Architecture(layers, edges, adding), (3, 8, 8), 4), (3, 8, 8))


def test_the_source_runs_without_the_package(tmp_path):
    source = to_source(to_torch(CHAINS[0], (3, 8, 8), 5))
    (tmp_path / "network.py").write_text(source)
    check = (
        "import sys; sys.modules['bostruct'] = None; import torch; from network import Network; "
        "print(tuple(Network()(torch.zeros(2, 3, 8, 8)).shape))"
    )
    done = subprocess.run([sys.executable, "-c", check], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "(2, 5)\n"


def test_networks_without_known_source_are_refused():
    relu = bo.Architecture.chain("relu-8 linear", family=bo.mlp_domain().family)
    own = to_torch(relu, (3,), 1, builders={"relu": lambda _, shape: torch.nn.Linear(shape[0], 8)})
    with pytest.raises(DomainError, match=r"got layers that builders= has built"):
        to_source(own)
    with pytest.raises(TypeError, match=r"network: expected a network of an architecture, by to_torch, got Linear"):
        to_source(torch.nn.Linear(2, 2))
