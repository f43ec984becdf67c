"""The network with which weighted random search was published (Florea and Andonie 2019, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bostruct.domains.language.combinators import apply_part, siso_nested_repeat, siso_sequential
from bostruct.domains.language.graph import IO, Builder, Input, Output
from bostruct.domains.language.hyperparameters import IntRange
from bostruct.nas import ops


def wrs_cnn(
    convolutions: tuple[int, int] = (3, 6),
    dense_layers: tuple[int, int] = (1, 4),
    filters: tuple[int, int] = (100, 1024),
    units: tuple[int, int] = (1024, 2048),
    classes: int = 10,
) -> Builder:
    """Return the search space of the network of weighted random search; by default as published, 6.9e29 networks.

    The network has 3 x 3 convolutions with ReLU, after every two of them a 2 x 2 max pool and dropout of 0.25; then
    dense layers with ReLU and dropout of 0.5. The published search always draws all 12 numbers, also for absent layers.

    Parameters
    ----------
    convolutions, dense_layers : tuple of (int, int)
        Ranges of the numbers of layers, both ends included.
    filters, units : tuple of (int, int)
        Ranges of the filters of a convolution and of the units of a dense layer, both ends included.
    classes : int, default 10
        Number of outputs of the network.
    """
    return partial(_wrs_network, tuple(convolutions), tuple(dense_layers), tuple(filters), tuple(units), classes)


def reduced_wrs_cnn(classes: int = 10) -> Builder:
    """Return `wrs_cnn` with 16 to 128 filters and 64 to 256 units, for a machine without a GPU."""
    return wrs_cnn(filters=(16, 128), units=(64, 256), classes=classes)


def _wrs_network(
    convolutions: Sequence[int], dense_layers: Sequence[int], filters: Sequence[int], units: Sequence[int], classes: int
) -> IO:
    h_convolutions = IntRange(*convolutions, name="convolutions")
    h_dense = IntRange(*dense_layers, name="dense_layers")
    layers = _Convolutions(tuple(filters))
    return siso_sequential(
        [
            siso_nested_repeat(layers.first, layers.another, h_convolutions, "Convolutions"),
            ops.flatten(),
            siso_nested_repeat(
                partial(_dense_block, tuple(units)), partial(_append_dense_block, tuple(units)), h_dense, "Dense"
            ),
            ops.dense(classes),
        ]
    )


class _Convolutions:
    """A stack of convolutions with a pool after every second one, which are counted in the network built so far."""

    def __init__(self, filters: tuple[int, ...]) -> None:
        self.filters = filters

    def first(self) -> IO:
        return siso_sequential([self._one()])

    def another(self, inputs: dict[str, Input], outputs: dict[str, Output]) -> IO:
        fragment = outputs["out"].module.fragment
        is_second = sum(module.kind == "Conv2D" for module in fragment.modules) % 2 == 1
        parts = [self._one(), *([ops.max_pool(2, 2), ops.dropout(0.25)] if is_second else [])]
        return inputs, apply_part(siso_sequential(parts), outputs)

    def _one(self) -> IO:
        low, high = self.filters
        return siso_sequential([ops.conv2d(IntRange(low, high)), ops.relu()])


def _dense_block(units: tuple[int, ...]) -> IO:
    return siso_sequential([ops.dense(IntRange(*units)), ops.relu(), ops.dropout(0.5)])


def _append_dense_block(units: tuple[int, ...], inputs: dict[str, Input], outputs: dict[str, Output]) -> IO:
    return inputs, apply_part(_dense_block(units), outputs)
