"""The discrete cells of DARTS (Liu, Simonyan and Yang 2019)."""

from __future__ import annotations

from functools import partial
from itertools import combinations

from bostruct.domains.language.combinators import Outputs, apply_part, combine_outputs, identity, siso_sequential
from bostruct.domains.language.graph import IO, Builder
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.values import Value
from bostruct.nas import ops
from bostruct.nas.spaces.nasnet import Macro, check_keep, two_input_network, with_drop_path

DARTS_OPERATIONS = (
    "sep_conv_3x3",
    "sep_conv_5x5",
    "dil_conv_3x3",
    "dil_conv_5x5",
    "max_pool_3x3",
    "avg_pool_3x3",
    "skip",
)
DARTS_NODES = 4


def darts(cells: int = 8, filters: int = 16, classes: int = 10, keep: float = 1.0) -> Builder:
    """Return the search space of DARTS, networks of normal and reduction cells.

    Each of four nodes sums two operations on two different states before it, 180 7^8 cells of either type; all four are
    joined. The defaults are the published search; the published final network has 20 cells of 36 filters. Differences
    from the publication: if the image shrinks, a state is fitted by one convolution of size 1 instead of two on shifted
    images of half the filters each; a ReLU precedes the last mean; there is no auxiliary output; drop-path grows with
    depth instead of the epoch. Raises TypeError, ValueError.

    Parameters
    ----------
    cells, filters, classes : int
        Number of cells, of filters of the first cells, and of outputs of the network.
    keep : float, default 1.0
        Probability in (0, 1] with which training keeps the output of an operation other than a skip in the last cell;
        it is larger in earlier cells.
    """
    return partial(_darts_network, cells, filters, classes, check_keep(keep))


def _darts_network(cells: int, filters: int, classes: int, keep: float) -> IO:
    macro = Macro(cells, (cells // 3, 2 * cells // 3), filters, 3 * filters, classes, keep)
    return two_input_network(macro, _darts_choices("normal"), _darts_choices("reduction"), _wire_darts_cell)


def _darts_choices(cell: str) -> dict[str, Value]:
    chosen: dict[str, Value] = {}
    for node in range(DARTS_NODES):
        chosen[f"inputs_{node}"] = D(combinations(range(node + 2), 2), name=f"{cell}_inputs_{node}")
        for side in "ab":
            chosen[f"operation_{node}{side}"] = D(DARTS_OPERATIONS, name=f"{cell}_operation_{node}{side}")
    return chosen


def _wire_darts_cell(filters: int, stride: int, rate: float, chosen: dict[str, Value]) -> IO:
    first, second = identity(), identity()
    states = [first[1], second[1]]
    for node in range(DARTS_NODES):
        sides = zip(chosen[f"inputs_{node}"], "ab", strict=True)
        made = [
            _apply_darts_operation(chosen[f"operation_{node}{side}"], filters, stride if i < 2 else 1, rate, states[i])
            for i, side in sides
        ]
        states.append(combine_outputs(made, ops.add))
    inputs = {"in0": first[0]["in"], "in1": second[0]["in"]}
    return inputs, combine_outputs(states[2:], ops.concat)


def _apply_darts_operation(name: str, filters: int, stride: int, rate: float, state: Outputs) -> Outputs:
    output = apply_part(darts_operation(name, filters, stride), state)
    return output if name == "skip" and stride == 1 else with_drop_path(output, rate)


def darts_operation(name: str, filters: int, stride: int) -> IO:
    """Build an operation; a skip is a convolution of size 1 if the image shrinks.

    stride: 1, or 2 if the image shrinks.
    """
    if name == "skip":
        return identity() if stride == 1 else ops.relu_conv_bn(filters, 1, stride)
    size = int(name[-1])
    if name.startswith("sep"):
        return siso_sequential([ops.relu_separable_bn(filters, size, stride), ops.relu_separable_bn(filters, size)])
    if name.startswith("dil"):
        return ops.relu_separable_bn(filters, size, stride, 2)
    pool = ops.max_pool if name.startswith("max") else ops.avg_pool
    return pool(3, stride)  # in the publication, batch normalization follows in the searched network, not in the final
