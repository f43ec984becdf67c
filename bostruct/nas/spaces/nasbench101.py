"""NAS-Bench-101 (Ying et al. 2019): any graph of five operations between input and output with at most nine edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from bostruct.domains.language.combinators import identity, siso_sequential
from bostruct.domains.language.compilers.implementations import siso_torch_module
from bostruct.domains.language.graph import IO, Builder
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.modules import substitution_module
from bostruct.nas import ops
from bostruct.nas.spaces.wiring import applied, combined, conv_bn_relu, on_paths

Edges: TypeAlias = frozenset[tuple[int, int]]
OPERATIONS = ("conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3")
NODES = 7
MOST_EDGES = 9
EDGES = tuple((i, j) for i in range(NODES - 2, -1, -1) for j in range(i + 1, NODES))  # in the order of choice


def nasbench101(stacks: int = 3, cells: int = 3, filters: int = 128, classes: int = 10) -> Builder:
    """stacks of equal cells, of filters doubled from one to the next. 21 bits for edges, five operations.

    Feasible are at most nine edges, with a path from input to output, and no edges of nodes that lie on no such path:
    13,839 of 2^21 wirings. Bits ``edge_i_j``, what leaves the last nodes first, are chosen only where both values
    still lead to a feasible wiring, so that none is drawn in vain; published, all 21 are drawn until they are feasible,
    which makes wirings equally likely. `wiring` tells all 21 of a trace. Nodes without edges are left out.
    """
    return partial(_network, stacks, cells, filters, classes)


def is_feasible(edges: dict[tuple[int, int], Any]) -> bool:
    """Whether a wiring, a bit for each pair of the seven nodes, is one of the 13,839."""
    present = [edge for edge, bit in edges.items() if bit]
    touched = {node for edge in present for node in edge}
    return len(present) <= MOST_EDGES and bool(present) and touched == set(on_paths(NODES, edges))


def wiring(trace: Mapping[str, Any]) -> dict[tuple[int, int], int]:
    """All 21 bits of the wiring of a trace, of which it holds those that were chosen."""
    chosen = {path.rpartition("/")[2]: value for path, value in trace.items()}
    present: Edges = frozenset()
    for position, (i, j) in enumerate(EDGES):
        present = _with(present, position, chosen.get(f"edge_{i}_{j}", _values(present, position)[0]))
    return {edge: int(edge in present) for edge in sorted(EDGES)}


def _network(stacks: int, cells: int, filters: int, classes: int) -> IO:
    return _wired(partial(_stacked, stacks, cells, filters, classes), 0, frozenset())


def _wired(build: Callable[[Edges], IO], position: int, present: Edges) -> IO:
    """What a wiring builds whose bits before this position are chosen; as deep for each, so that places are alike."""
    if position == len(EDGES):
        return build(present)
    i, j = EDGES[position]
    values = _values(present, position)

    def rest(chosen: dict[str, Any]) -> IO:
        return _wired(build, position + 1, _with(present, position, chosen.get("edge", values[0])))

    choice = {"edge": D(values, name=f"edge_{i}_{j}")} if len(values) > 1 else {}
    return substitution_module("Wiring", rest, choice, ["in"], ["out"], keyed_by=())


def _values(present: Edges, position: int) -> list[int]:
    """Those of the bit at a position that lead to a feasible wiring: one, or both."""
    return [bit for bit in (0, 1) if _can_end(_with(present, position, bit), position + 1)]


def _with(present: Edges, position: int, bit: Any) -> Edges:
    return present | {EDGES[position]} if bit else present


def _can_end(present: Edges, position: int) -> bool:
    """Whether bits from this position on can make a feasible wiring of these edges: at the least, the input feeds what
    nothing feeds.
    """
    sources, targets = {i for i, _ in present}, {j for _, j in present}
    needed = {(0, k) for k in sources - targets - {0}} if present else {(0, NODES - 1)}
    few = len(present) + len(needed) <= MOST_EDGES
    return few and targets <= sources | {NODES - 1} and needed.issubset(EDGES[position:])


def _stacked(stacks: int, cells: int, filters: int, classes: int, present: Edges) -> IO:
    operations = {f"node_{k}": D(OPERATIONS, name=f"node_{k}") for k in range(1, NODES - 1)}
    parts = [conv_bn_relu(filters)]
    for stack in range(stacks):
        if stack:
            parts.append(ops.max_pool(2, 2))
        built = partial(_cell, filters * 2**stack, present)
        for _ in range(cells):
            parts.append(substitution_module("Cell", built, operations, ["in"], ["out"], opens_choices=False))
    return siso_sequential([*parts, ops.global_pool(), ops.dense(classes)])


def _cell(width: int, present: Edges, chosen: dict[str, Any]) -> IO:
    edges = dict.fromkeys(present, 1)
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
