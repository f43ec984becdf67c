"""Architectures to start from: the initial pools of NASBOT (Kandasamy et al. 2018 and its released code)."""

from __future__ import annotations

from bostruct.checks import check_choice
from bostruct.domains.architecture.labels import CNN, MLP, RECTIFIERS, SIGMOIDS
from bostruct.domains.architecture.value import Architecture

BLOCK_UNITS = (64, 128, 256, 512)
MLP_SHAPES = ((3, 2), (4, 2), (5, 2), (3, 4), (6, 2), (8, 2), (6, 3), (10, 2), (4, 6), (8, 3))
BRANCHED_LAYERS = (
    "ip conv7-64 conv5-128/2 conv3-64/2 conv3-64 avg-pool max-pool max-pool fc-64 conv3-128 softmax max-pool fc-64 "
    "softmax op"
)
BRANCHED_EDGES = (
    *((0, 1), (1, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 6), (4, 7), (5, 8), (6, 12), (7, 9), (8, 10), (9, 11)),
    *((10, 14), (11, 12), (12, 13), (13, 14)),
)


def vgg(repeats: int) -> Architecture:
    """Return a chain like VGG (Simonyan & Zisserman 2015).

    repeats: int, the convolutions in each of its last three blocks.
    """
    layers = ["conv3-64"] * 2 + ["max-pool"] + ["conv3-128"] * 2 + ["max-pool"]
    for units in (128, 256, 512):
        layers += [f"conv3-{units}"] * repeats + ["max-pool"]
    return Architecture.chain([*layers, "fc-128", "fc-256", "fc-512", "softmax"], CNN)


def blocks(n_blocks: int, repeats: int, kind: str = "conv3") -> Architecture:
    """Return a chain of blocks, each begun by stride 2, after conv7.

    n_blocks: int, 1 to 4.
    repeats: int, the layers of a block.
    kind: label of these layers, ``conv3`` or ``res3``.
    """
    layers = ["conv7-64", "max-pool"]
    for units in BLOCK_UNITS[:n_blocks]:
        layers += [f"{kind}-{units}/2"] + [f"{kind}-{units}"] * (repeats - 1)
    return Architecture.chain([*layers, "avg-pool", f"fc-{2 * BLOCK_UNITS[n_blocks - 1]}", "softmax"], CNN)


def branching_cnn() -> Architecture:
    """Return the one architecture of the pool that is no chain: three branches, two decision layers."""
    return Architecture(BRANCHED_LAYERS.split(), BRANCHED_EDGES, CNN)


def cnn_pool() -> tuple[Architecture, ...]:
    """Return the 12 initial convolutional networks of the released code, of 10 to 27 layers."""
    shapes = ((3, 1), (3, 2), (3, 3), (3, 4), (3, 5), (4, 4))
    return (*map(vgg, (1, 2, 3, 4)), *(blocks(*shape) for shape in shapes), blocks(3, 2, "res3"), branching_cnn())


def mlp_pool(decision: str = "linear") -> tuple[Architecture, ...]:
    """Return the 10 initial perceptrons: blocks of rectifiers and of sigmoids in turn, 64, 128, 256, 512 ... units.

    decision: ``linear`` (regression) or ``softmax``.

    All blocks from the fourth on have 512 units. The released code gives each block units meant for a later one and
    draws the activations anew at every call; here units are those intended, and activations take turns.
    """
    check_choice("decision", decision, ("linear", "softmax"))
    pool = []
    for n_blocks, repeats in MLP_SHAPES:
        layers = []
        for block in range(n_blocks):
            group = SIGMOIDS if block % 2 else RECTIFIERS
            units = BLOCK_UNITS[min(block, len(BLOCK_UNITS) - 1)]
            first = block // 2 * repeats
            layers += [f"{group[(first + k) % len(group)]}-{units}" for k in range(repeats)]
        pool.append(Architecture.chain([*layers, decision], MLP))
    return tuple(pool)
