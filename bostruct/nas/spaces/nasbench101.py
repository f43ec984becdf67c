"""NAS-Bench-101 (Ying et al. 2019): any graph of five operations between input and output with at most nine edges."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

from bostruct.contracts import Infeasible
from bostruct.domains.language.combinators import identity, siso_sequential
from bostruct.domains.language.compilers.implementations import siso_torch_module
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.modules import IO, Builder, substitution_module
from bostruct.nas import ops
from bostruct.nas.spaces.wiring import applied, combined, conv_bn_relu, on_paths

OPERATIONS = ("conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3")
NODES = 7
MOST_EDGES = 9


def nasbench101(stacks: int = 3, cells: int = 3, filters: int = 128, classes: int = 10) -> Builder:
    """stacks of equal cells, of filters doubled from one to the next. 21 bits for edges, five operations.

    Infeasible are more than nine edges, no path from input to output, and nodes with edges that lie on no such path:
    13,839 of 2^21 wirings are feasible. Nodes without edges are left out.
    """
    return partial(_network, stacks, cells, filters, classes)


def is_feasible(edges: dict[tuple[int, int], Any]) -> bool:
    """Whether a wiring, a bit for each pair of the seven nodes, is one of the 13,839."""
    present = [edge for edge, bit in edges.items() if bit]
    touched = {node for edge in present for node in edge}
    return len(present) <= MOST_EDGES and bool(present) and touched == set(on_paths(NODES, edges))


def _network(stacks: int, cells: int, filters: int, classes: int) -> IO:
    pairs = list(combinations(range(NODES), 2))
    chosen = {f"edge_{i}_{j}": D([0, 1], name=f"edge_{i}_{j}") for i, j in pairs}
    chosen |= {f"node_{k}": D(OPERATIONS, name=f"node_{k}") for k in range(1, NODES - 1)}
    parts = [conv_bn_relu(filters)]
    for stack in range(stacks):
        if stack:
            parts.append(ops.max_pool(2, 2))
        width = filters * 2**stack
        for _ in range(cells):
            parts.append(substitution_module("Cell", partial(_cell, width), chosen, ["in"], ["out"]))
    return siso_sequential([*parts, ops.global_pool(), ops.dense(classes)])


def _cell(width: int, chosen: dict[str, Any]) -> IO:
    edges = {(i, j): chosen[f"edge_{i}_{j}"] for i, j in combinations(range(NODES), 2)}
    if not is_feasible(edges):
        raise Infeasible("the wiring has more than nine edges, no path, or nodes on none")
    used = on_paths(NODES, edges)
    widths = _widths(width, used, edges)
    inputs, outputs = identity()
    made = {0: outputs}
    for j in used[1:-1]:
        read = [
            applied(conv_bn_relu(widths[j], 1), outputs) if i == 0 else _cut(made[i], widths[i], widths[j])
            for i in used
            if edges.get((i, j))
        ]
        made[j] = applied(_operation(chosen[f"node_{j}"], widths[j]), combined(read))
    ends = [made[i] for i in used[1:-1] if edges.get((i, NODES - 1))]
    direct = edges.get((0, NODES - 1))
    if not ends:
        return inputs, applied(conv_bn_relu(width, 1), outputs)
    joined = combined(ends, ops.concat)
    if direct:
        joined = combined([applied(conv_bn_relu(width, 1), outputs), joined])
    return inputs, joined


def _operation(name: str, filters: int) -> IO:
    if name == "maxpool3x3":
        return ops.max_pool(3, 1)
    return conv_bn_relu(filters, 1 if name == "conv1x1-bn-relu" else 3)


def _widths(width: int, used: list[int], edges: dict[tuple[int, int], Any]) -> dict[int, int]:
    """Channels of each node: those that feed the output share its channels, the first get what is left over; others
    have as many as the largest node they feed.
    """
    last = NODES - 1
    ends = [i for i in used[1:-1] if edges.get((i, last))]
    widths = {last: width}
    if ends:
        share, left = divmod(width, len(ends))
        widths |= {i: share + (position < left) for position, i in enumerate(ends)}
    for i in reversed(used[1:-1]):
        if i not in widths:
            widths[i] = max(widths[j] for j in used if edges.get((i, j)) and j != last)
    return widths


def _cut(outputs: Any, have: int, want: int) -> Any:
    """The first channels, where a node has more than its reader wants."""
    return outputs if have == want else applied(_first_channels(want), outputs)


def _first_channels(count: int) -> IO:
    return siso_torch_module("FirstChannels", _first, {"count": count})


def _first(values: Any, shapes: Any) -> Any:
    del shapes
    return partial(_channels, count=values["count"])


def _channels(image: Any, count: int) -> Any:
    return image[:, :count]
