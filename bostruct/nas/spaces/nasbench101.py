"""NAS-Bench-101 (Ying et al. 2019): any graph of five operations between input and output with at most nine edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from bostruct.domains.language.combinators import apply_part, combine_outputs, identity, siso_sequential
from bostruct.domains.language.compilers.implementations import Shapes, Values, siso_torch_module
from bostruct.domains.language.graph import IO, Builder, Output, substitution_module
from bostruct.domains.language.hyperparameters import D
from bostruct.domains.language.values import Value
from bostruct.nas import ops

if TYPE_CHECKING:
    from torch import Tensor


CellEdges: TypeAlias = frozenset[tuple[int, int]]
NASBENCH101_OPERATIONS = ("conv1x1-bn-relu", "conv3x3-bn-relu", "maxpool3x3")
NASBENCH101_NODES = 7
MAX_EDGES = 9
NASBENCH101_EDGES = tuple(
    (i, j) for i in range(NASBENCH101_NODES - 2, -1, -1) for j in range(i + 1, NASBENCH101_NODES)
)  # in the order of choice


def nasbench101(stacks: int = 3, cells: int = 3, filters: int = 128, classes: int = 10) -> Builder:
    """Return the search space of NAS-Bench-101: cells of 21 bits for edges and five operations.

    A feasible wiring has at most nine edges, a path from input to output, and no edges of nodes off such paths: 13,839
    of 2^21 wirings. Bits ``edge_i_j``, starting with edges from the last nodes, are chosen only if both values can lead
    to a feasible wiring, so no sample is rejected; the publication draws all 21 bits until they are feasible, so its
    wirings are equally likely. `wiring` returns all 21 bits of a trace. Nodes without edges are left out.

    Parameters
    ----------
    stacks, cells : int, default 3
        Number of stacks, and of cells in a stack.
    filters, classes : int
        Number of filters of the first stack, doubled in each later stack, and of outputs of the network.
    """
    return partial(_build_cell_from, partial(_stack_cells, stacks, cells, filters, classes), 0, frozenset())


def on_path_nodes(n: int, edges: Mapping[tuple[int, int], Value]) -> list[int]:
    """Return the nodes on a path from the first of n nodes to the last; an empty list if there is no path.

    n: number of nodes, at least 2.
    """
    ahead, behind = {0}, {n - 1}
    for j in range(1, n):
        if any(edges.get((i, j)) for i in ahead):
            ahead.add(j)
    for i in range(n - 2, -1, -1):
        if any(edges.get((i, j)) for j in behind):
            behind.add(i)
    used = ahead & behind
    return sorted(used) if {0, n - 1} <= used else []


def is_feasible(edges: dict[tuple[int, int], Value]) -> bool:
    """Return whether a wiring of the seven nodes is one of the 13,839 feasible wirings."""
    present = [edge for edge, bit in edges.items() if bit]
    touched = {node for edge in present for node in edge}
    return len(present) <= MAX_EDGES and bool(present) and touched == set(on_path_nodes(NASBENCH101_NODES, edges))


def wiring(trace: Mapping[str, object]) -> dict[tuple[int, int], int]:
    """Return all 21 bits of a wiring by edge (i, j).

    Parameters
    ----------
    trace : mapping of str to object
        Trace of a program of `nasbench101`.
    """
    chosen = {path.rpartition("/")[2]: value for path, value in trace.items()}
    present: CellEdges = frozenset()
    for position, (i, j) in enumerate(NASBENCH101_EDGES):
        present = _with(present, position, chosen.get(f"edge_{i}_{j}", _feasible_bits(present, position)[0]))
    return {edge: int(edge in present) for edge in sorted(NASBENCH101_EDGES)}


def _build_cell_from(build: Callable[[CellEdges], IO], position: int, present: CellEdges) -> IO:
    """Build a cell whose bits before this position are chosen; all cells have equal depth, and so equal positions."""
    if position == len(NASBENCH101_EDGES):
        return build(present)
    i, j = NASBENCH101_EDGES[position]
    values = _feasible_bits(present, position)

    def rest(chosen: dict[str, Value]) -> IO:
        return _build_cell_from(build, position + 1, _with(present, position, chosen.get("edge", values[0])))

    choice = {"edge": D(values, name=f"edge_{i}_{j}")} if len(values) > 1 else {}
    return substitution_module("Wiring", rest, choice, ["in"], ["out"], keyed_by=())


def _feasible_bits(present: CellEdges, position: int) -> list[int]:
    """Return the values of the bit at a position that lead to a feasible wiring: one, or both."""
    return [bit for bit in (0, 1) if _can_end(_with(present, position, bit), position + 1)]


def _with(present: CellEdges, position: int, bit: Value) -> CellEdges:
    return present | {NASBENCH101_EDGES[position]} if bit else present


def _can_end(present: CellEdges, position: int) -> bool:
    """Return whether bits from this position on can complete these edges to a feasible wiring.

    At least, the input must feed all nodes without inputs.
    """
    sources, targets = {i for i, _ in present}, {j for _, j in present}
    needed = {(0, k) for k in sources - targets - {0}} if present else {(0, NASBENCH101_NODES - 1)}
    few = len(present) + len(needed) <= MAX_EDGES
    return few and targets <= sources | {NASBENCH101_NODES - 1} and needed.issubset(NASBENCH101_EDGES[position:])


def _stack_cells(stacks: int, cells: int, filters: int, classes: int, present: CellEdges) -> IO:
    operations = {f"node_{k}": D(NASBENCH101_OPERATIONS, name=f"node_{k}") for k in range(1, NASBENCH101_NODES - 1)}
    parts = [ops.conv_bn_relu(filters)]
    for stack in range(stacks):
        if stack:
            parts.append(ops.max_pool(2, 2))
        built = partial(_wire_nasbench101_cell, filters * 2**stack, present)
        for _ in range(cells):
            parts.append(substitution_module("Cell", built, operations, ["in"], ["out"], opens_choices=False))
    return siso_sequential([*parts, ops.global_pool(), ops.dense(classes)])


def _wire_nasbench101_cell(width: int, present: CellEdges, chosen: dict[str, Value]) -> IO:
    edges = dict.fromkeys(present, 1)
    used = on_path_nodes(NASBENCH101_NODES, edges)
    widths = _widths(width, used, edges)
    inputs, outputs = identity()
    made = {0: outputs}
    for j in used[1:-1]:
        read = [
            apply_part(ops.conv_bn_relu(widths[j], 1), outputs)
            if i == 0
            else _cut_channels(made[i], widths[i], widths[j])
            for i in used
            if edges.get((i, j))
        ]
        made[j] = apply_part(_nasbench101_operation(chosen[f"node_{j}"], widths[j]), combine_outputs(read, ops.add))
    ends = [made[i] for i in used[1:-1] if edges.get((i, NASBENCH101_NODES - 1))]
    direct = edges.get((0, NASBENCH101_NODES - 1))
    if not ends:
        return inputs, apply_part(ops.conv_bn_relu(width, 1), outputs)
    joined = combine_outputs(ends, ops.concat)
    if direct:
        joined = combine_outputs([apply_part(ops.conv_bn_relu(width, 1), outputs), joined], ops.add)
    return inputs, joined


def _nasbench101_operation(name: str, filters: int) -> IO:
    if name == "maxpool3x3":
        return ops.max_pool(3, 1)
    return ops.conv_bn_relu(filters, 1 if name == "conv1x1-bn-relu" else 3)


def _widths(width: int, used: list[int], edges: dict[tuple[int, int], Value]) -> dict[int, int]:
    """Return the channels of each node: nodes that feed the output share its channels.

    The first nodes get the remainder. Other nodes have as many channels as the widest node that they feed.
    """
    last = NASBENCH101_NODES - 1
    ends = [i for i in used[1:-1] if edges.get((i, last))]
    widths = {last: width}
    if ends:
        share, left = divmod(width, len(ends))
        widths |= {i: share + (position < left) for position, i in enumerate(ends)}
    for i in reversed(used[1:-1]):
        if i not in widths:
            widths[i] = max(widths[j] for j in used if edges.get((i, j)) and j != last)
    return widths


def _cut_channels(outputs: dict[str, Output], have: int, want: int) -> dict[str, Output]:
    """Keep the first channels, if a node has more channels than its reader."""
    return outputs if have == want else apply_part(siso_torch_module("FirstChannels", _first, {"count": want}), outputs)


def _first(values: Values, shapes: Shapes) -> Callable[[Tensor], Tensor]:
    del shapes
    return partial(_channels, count=values["count"])


def _channels(image: Tensor, count: int) -> Tensor:
    return image[:, :count]
