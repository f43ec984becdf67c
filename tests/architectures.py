"""Architectures for tests: those whose published distances are known, and random ones."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from bostruct.domains.architecture.domain import ArchitectureDomain, Bounds, blocks, branching_cnn, vgg
from bostruct.domains.architecture.layers import CNN, MLP
from bostruct.domains.architecture.value import Architecture


def network(layers: str, edges: str = "") -> Architecture:
    """From layers and edges as words; a chain without edges."""
    words = layers.split()
    if not edges:
        return Architecture.chain(words)
    return Architecture(words, [tuple(map(int, edge.split(">"))) for edge in edges.split()])


BRANCHES = "0>1 1>2 1>3 1>4 2>5 3>6 4>7 5>8 6>12 7>9 8>10 8>13 9>11 10>14 11>12 12>13 13>14"
S4_EDGES = "0>1 1>2 1>3 1>4 2>5 3>5 4>6 5>7 6>7 7>8 8>9"
ME = "ip linear tanh-64 relu-64 leaky-relu-128 logistic-64 logistic-256 elu-512 linear op"
ME_EDGES = "0>1 0>2 0>3 1>9 2>4 2>7 3>5 4>6 5>6 5>7 6>8 7>8 8>9"

GOLDEN = {
    "a": network("conv3-16 conv3-16 conv3-32 conv5-32 max-pool fc-16 softmax"),
    "b": network(
        "ip conv3-16 conv3-16 conv3-16 conv3-16 conv5-32 max-pool fc-16 softmax op",
        "0>1 1>2 1>3 2>4 3>5 4>5 5>6 6>7 7>8 8>9",
    ),
    "c": network(
        "ip conv7-16 conv5-32 conv3-16/2 conv3-16 avg-pool max-pool max-pool fc-16 conv3-16 softmax max-pool fc-16 "
        "softmax op",
        BRANCHES,
    ),
    "s1": network(
        "ip conv3-16 conv3-8 conv3-8 conv3-32 max-pool fc-16 softmax op", "0>1 1>2 1>3 2>4 3>4 4>5 5>6 6>7 7>8"
    ),
    "s2": network("conv3-16 conv3-16 conv3-32 max-pool fc-16 softmax"),
    "s3": network(
        "ip conv3-16 conv3-16 conv5-16 conv3-32/2 max-pool fc-32 softmax op",
        "0>1 1>2 1>3 1>4 2>5 3>5 4>6 5>6 6>7 7>8",
    ),
    "s4": network("ip conv3-16 conv3-16 conv5-16 conv3-32/2 avg-pool conv5-32 fc-32 softmax op", S4_EDGES),
    "s6": network(
        "ip conv3-16 conv3-16 conv3-32 max-pool fc-32 fc-32 fc-32 softmax op",
        "0>1 1>2 2>3 3>4 4>5 5>6 5>7 6>8 7>8 8>9",
    ),
    "s7": network(
        "ip conv3-16 conv3-16 conv3-32 max-pool fc-32 fc-32 fc-32 softmax softmax op",
        "0>1 1>2 2>3 3>4 4>5 5>6 5>7 6>8 7>8 7>9 8>10 9>10",
    ),
    "s8": network(
        "ip conv3-16 res3-16 res5-32 max-pool fc-32 fc-32 fc-32 softmax softmax op",
        "0>1 1>2 2>3 3>4 4>5 5>6 5>7 6>8 7>8 7>9 8>10 9>10",
    ),
    "VGG1": vgg(1),
    "VGG2": vgg(2),
    "BLK311": blocks(3, 1),
    "BLK321": blocks(3, 2),
    "RES321": blocks(3, 2, "res3"),
    "eg1": network(
        "ip conv7-64 conv5-128 conv3-64/2 conv3-64 avg-pool max-pool max-pool fc-64 conv3-128 softmax max-pool fc-64 "
        "softmax op",
        BRANCHES,
    ),
    "eg2": branching_cnn(),
    "m1": network("ip softplus-16 relu-8 elu-8 tanh-32 logistic-64 linear op", "0>1 1>2 1>3 2>4 3>4 4>5 5>6 6>7"),
    "m2": network("softplus-16 elu-16 tanh-32 logistic-64 linear"),
    "m3": network(
        "ip tanh-8 logistic-8 logistic-8 tanh-8 elu-16 relu-16 linear op",
        "0>1 0>2 1>3 2>4 3>5 3>6 4>5 4>6 5>7 6>7 7>8",
    ),
    "m4": network(
        "ip logistic-8 tanh-8 relu-8 softplus-16 relu-16 linear op", "0>1 0>2 1>3 2>4 2>5 3>4 3>5 4>6 5>6 6>7"
    ),
    "me1": network(ME, ME_EDGES),
    "me2": network(ME, ME_EDGES + " 3>1"),
}

SMALL = Bounds(min_layers=3, max_layers=16, min_units=1, max_units=200)
SMALL_CNN = ArchitectureDomain(
    CNN, SMALL, tuple(GOLDEN[name] for name in ("a", "b", "c", "s1", "s3", "s4", "s7", "s8", "eg2"))
)
SMALL_MLP = ArchitectureDomain(MLP, SMALL, tuple(GOLDEN[name] for name in ("m1", "m2", "m3", "m4")))


def renumbered(x: Architecture, rng: np.random.Generator) -> Architecture:
    """The same architecture with its layers in a random order."""
    order = rng.permutation(len(x))
    place = {int(u): position for position, u in enumerate(order)}
    edges = [(place[u], place[v]) for u, v in x.edges]
    return Architecture([x.layers[u] for u in order], [edges[e] for e in rng.permutation(len(edges))], x.family)


@st.composite
def architectures(draw: st.DrawFn, domain: ArchitectureDomain = SMALL_CNN) -> Architecture:
    """A few mutations away from the pool of a small domain."""
    x = draw(st.sampled_from(domain.pool))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    for _ in range(draw(st.integers(0, 6))):
        x = domain.mutate(x, rng)
    return x


@st.composite
def batches(draw: st.DrawFn, size: int) -> list[Architecture]:
    """Some architectures of one family, now and then the same one twice."""
    domain = draw(st.sampled_from([SMALL_CNN, SMALL_MLP]))
    return draw(st.lists(architectures(domain), min_size=size, max_size=size))
