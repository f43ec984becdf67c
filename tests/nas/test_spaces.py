"""Search spaces of the literature: how many networks they hold, that any of them trains, and their rules."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
import torch

from bostruct.contracts import Infeasible
from bostruct.language import Exact, SearchSpace
from bostruct.nas.costs import cost
from bostruct.nas.spaces.combo_cell import combo_cell
from bostruct.nas.spaces.darts import darts
from bostruct.nas.spaces.drop_path import DropPath
from bostruct.nas.spaces.enas import enas_cell
from bostruct.nas.spaces.flat import flat
from bostruct.nas.spaces.genetic import genetic_cnn
from bostruct.nas.spaces.nasbench101 import is_feasible, nasbench101, wiring
from bostruct.nas.spaces.nasbench201 import nasbench201
from bostruct.nas.spaces.nasnet import nasnet
from bostruct.nas.spaces.wiring import on_path_nodes
from bostruct.nas.spaces.wrs_cnn import reduced_wrs_cnn, wrs_cnn

COUNTS = {
    "genetic": (genetic_cnn(), 2**19),
    "flat": (flat(), 6**10 * 7**45),
    "nasnet": (nasnet(), 720**4 * 8**10 * 7**10),
    "nasbench201": (nasbench201(), 15_625),
    "enas": (enas_cell(), 4 * 5040 * 4**8),
    "darts": (darts(), (180 * 7**8) ** 2),
    "wrs": (wrs_cnn(), sum(925**n for n in (3, 4, 5, 6)) * sum(1025**n for n in (1, 2, 3, 4))),
}
REDUCED = {
    "genetic": genetic_cnn(filters=(2, 3, 4), units=8),
    "flat": flat(nodes=5, filters=(2, 4)),
    "nasnet": nasnet(cells=3, filters=4),
    "nasbench101": nasbench101(cells=1, filters=8),
    "nasbench201": nasbench201(cells=1, filters=2),
    "darts": darts(cells=4, filters=2, keep=0.8),
    "combo": combo_cell(filters=(2, 3, 4)),
    "wrs": wrs_cnn(filters=(2, 5), units=(4, 9)),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    builder, count = COUNTS[name]
    assert SearchSpace(builder).count() == Exact(count)


@pytest.mark.parametrize("name", REDUCED)
def test_networks_run_forward_and_backward(name):
    space = SearchSpace(REDUCED[name])
    rng = np.random.default_rng(sum(map(ord, name)))
    for trace in space.sample(4, rng):
        torch.manual_seed(0)
        network = space.present(trace).to_torch((2, 3, 16, 16))
        answer = network(torch.randn(2, 3, 16, 16))
        outputs = list(answer.values()) if isinstance(answer, dict) else [answer]
        assert all(output.shape == (2, 10) for output in outputs)
        sum(output.square().sum() for output in outputs).backward()
        missing = [key for key, p in network.named_parameters() if p.grad is None]
        assert missing == []
        again = space.present(trace).to_torch((2, 3, 16, 16))
        assert list(again.state_dict()) == list(network.state_dict())


def test_the_recurrent_cell_runs():
    space = SearchSpace(enas_cell(4, (8,)))
    for trace in space.sample(5, np.random.default_rng(0)):
        cell = space.present(trace).to_torch({"x": (2, 5), "ht": (2, 8)})
        assert cell(x=torch.randn(2, 5), ht=torch.randn(2, 8)).shape == (2, 8)


@pytest.mark.parametrize("name", REDUCED)
def test_builders_travel(name):
    again = pickle.loads(pickle.dumps(REDUCED[name]))
    space, rng = SearchSpace(again), np.random.default_rng(1)
    trace = space.sample(1, rng)[0]
    assert SearchSpace(REDUCED[name]).present(trace) == space.present(trace)


PAIRS = list(combinations(range(7), 2))


def rows_of(numbers):
    """The bits of wirings of seven nodes (m, 21)."""
    return (numbers[:, None] >> np.arange(len(PAIRS)) & 1).astype(bool)


def edges_of(row):
    return dict(zip(PAIRS, row.tolist(), strict=True))


def nodes_on_paths(rows):
    """Which nodes lie on a path from first to last (m, 7): where powers of adjacency matrices are not zero."""
    adjacency = np.zeros((len(rows), 7, 7), dtype=np.float32)
    adjacency[:, *np.transpose(PAIRS)] = rows
    ahead, behind = np.zeros((2, len(rows), 7), dtype=np.float32)
    ahead[:, 0] = behind[:, 6] = 1.0
    for _ in range(6):
        ahead = ahead + np.einsum("mi,mij->mj", ahead, adjacency)
        behind = behind + np.einsum("mij,mj->mi", adjacency, behind)
    return (ahead > 0) & (behind > 0) & (ahead[:, 6:] > 0)


def feasible_in_nasbench101(rows, used):
    touched = np.stack([rows[:, [node in pair for pair in PAIRS]].any(axis=1) for node in range(7)], axis=1)
    return used.any(axis=1) & (touched == used).all(axis=1) & (rows.sum(axis=1) <= 9)


def test_as_many_wirings_have_paths_and_are_feasible_as_published():
    rng = np.random.default_rng(0)
    with_path = feasible = 0
    for first in range(0, 2**21, 2**17):
        rows = rows_of(np.arange(first, first + 2**17))
        used = nodes_on_paths(rows)
        allowed = feasible_in_nasbench101(rows, used)
        with_path += int(used.any(axis=1).sum())
        feasible += int(allowed.sum())
        drawn = [*np.flatnonzero(allowed), *rng.choice(np.flatnonzero(rows.sum(axis=1) <= 9), 1_000)]
        for i in [*drawn, *rng.choice(len(rows), 1_000)]:
            edges = edges_of(rows[i])
            assert on_path_nodes(7, edges) == np.flatnonzero(used[i]).tolist()
            assert is_feasible(edges) == allowed[i]
    assert with_path == 2**21 - 149_607 == 1_947_545
    assert feasible == 13_839


@pytest.mark.slow
def test_all_wirings_one_by_one():
    with_path = feasible = 0
    for row in rows_of(np.arange(2**21)):
        edges = edges_of(row)
        with_path += bool(on_path_nodes(7, edges))
        feasible += is_feasible(edges)
    assert (with_path, feasible) == (1_947_545, 13_839)


def test_combo_cells_without_a_path_are_infeasible():
    space = SearchSpace(combo_cell(filters=(2, 2, 2)))
    ones = {f"bit_{i}": 1 for i in range(31)}
    assert space.parse(ones)
    with pytest.raises(Infeasible, match="no path"):
        space.parse(ones | {f"bit_{10 + i}": 0 for i, (source, _) in enumerate(PAIRS) if source == 0})


def test_infeasible_cells_are_never_drawn():
    space = SearchSpace(nasbench101(cells=1, filters=4))
    rng = np.random.default_rng(0)
    for trace in space.sample(5, rng):
        for other in (trace, space.mutate(trace, rng)):
            assert is_feasible(wiring(other))


@pytest.mark.slow
def test_each_feasible_wiring_of_nasbench101_is_built_once():
    assert SearchSpace(nasbench101(stacks=1, cells=1)).count() == Exact(13_839 * 3**5)


def test_feasible_wirings_are_drawn_without_a_miss():
    space = SearchSpace(nasbench101(stacks=1, cells=1))
    drawn = space.sample(2_000, np.random.default_rng(0))
    assert len({tuple(wiring(trace).values()) for trace in drawn}) > 700
    assert all(is_feasible(wiring(trace)) for trace in drawn)
    bits = dict.fromkeys(PAIRS, 0) | dict.fromkeys(INCEPTION, 1)
    assert wiring(specified(space, inception()).trace) == bits


def test_a_genetic_stage_without_edges_is_its_first_node():
    space = SearchSpace(genetic_cnn(stages=(3,), filters=(2,), units=4))
    empty = space.present(space.parse(dict.fromkeys([h.path for h in space.hyperparameters], 0)))
    full = space.present(space.parse(dict.fromkeys([h.path for h in space.hyperparameters], 1)))
    assert sum(node.kind == "Conv2D" for node in empty.nodes) == 1
    assert sum(node.kind == "Conv2D" for node in full.nodes) == 1 + 3 + 1


def test_pools_come_after_every_second_convolution():
    space = SearchSpace(reduced_wrs_cnn())
    for n, pools in ((3, 1), (4, 2), (5, 2), (6, 3)):
        program = space.complete({"convolutions": n}, np.random.default_rng(n)).program()
        kinds = [node.kind for node in program.nodes]
        assert kinds.count("Conv2D") == n
        assert kinds.count("MaxPool2D") == pools
        assert kinds.count("Dropout") == pools + program.trace["dense_layers"]


# Of trained networks, as published: Dong and Yang 2020 (index 9930); the README of NAS-Bench-101, its inception-like
# cell; Liu, Simonyan and Yang 2019, second order, 3.3 M.
CONVOLUTIONS = {f"edge_{i}_{j}": "nor_conv_3x3" for i, j in combinations(range(4), 2)}
INCEPTION = {(0, 1), (0, 2), (0, 3), (0, 5), (1, 6), (2, 6), (3, 4), (4, 6), (5, 6)}
INCEPTION_NODES = ["conv1x1-bn-relu", *["conv3x3-bn-relu"] * 3, "maxpool3x3"]
DARTS_NORMAL = "sep_conv_3x3 sep_conv_3x3, sep_conv_3x3 sep_conv_3x3, skip sep_conv_3x3, skip dil_conv_3x3"
DARTS_REDUCTION = "max_pool_3x3 max_pool_3x3, max_pool_3x3 skip, max_pool_3x3 skip, max_pool_3x3 skip"
DARTS_INPUTS = {"normal": [(0, 1), (0, 1), (0, 1), (0, 2)], "reduction": [(0, 1), (1, 2), (0, 2), (1, 2)]}


def inception():
    bits = {f"edge_{i}_{j}": int((i, j) in INCEPTION) for i, j in PAIRS}
    return bits | {f"node_{k}": operation for k, operation in enumerate(INCEPTION_NODES, 1)}


def specified(space, chosen):
    """Where every choice has the value that its name has."""
    while not space.is_terminal:
        for h in space.hyperparameters:
            space = space.assign(h.path, chosen[h.path.rpartition("/")[2]])
    return space


def darts_cells():
    chosen = {}
    for kind, cell in (("normal", DARTS_NORMAL), ("reduction", DARTS_REDUCTION)):
        for node, operations in enumerate(cell.split(", ")):
            chosen[f"{kind}_inputs_{node}"] = DARTS_INPUTS[kind][node]
            for side, operation in zip("ab", operations.split(), strict=True):
                chosen[f"{kind}_operation_{node}{side}"] = operation
    return chosen


PUBLISHED = {
    "nasbench201": (nasbench201(), CONVOLUTIONS | {"edge_0_3": "skip_connect"}, 1_288_506, 184_730_240),
    "nasbench101": (
        nasbench101(),
        inception(),
        2_694_282,
        None,
    ),
    "darts": (darts(cells=20, filters=36), darts_cells(), 3_349_342, None),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_networks_cost_what_was_published(name):
    builder, chosen, parameters, multiplications = PUBLISHED[name]
    space = SearchSpace(builder)
    found = cost(specified(space, chosen).program().to_torch((2, 3, 32, 32)), (3, 32, 32))
    assert found.parameters == parameters
    if multiplications is not None:
        assert found.flops == 2 * multiplications  # torch counts additions too


def read_by(program, node):
    """The nodes that a node reads."""
    return [program.nodes[source.node] for source in node.sources.values() if source.node is not None]


def drawn_network(make, keep):
    space = SearchSpace(make(keep))
    return space.present(space.sample(1, np.random.default_rng(3))[0])


@pytest.mark.parametrize(
    ("make", "unchanged"),
    [
        (lambda keep: nasnet(cells=3, filters=4, keep=keep), "none"),
        (lambda keep: darts(cells=3, filters=4, keep=keep), "skip"),
    ],
)
def test_each_operation_of_a_cell_is_a_path_of_its_own(make, unchanged):
    program = drawn_network(make, 0.5)
    dropped = [node for node in program.nodes if node.kind == "DropPath"]
    assert dropped
    for node in dropped:
        assert {other.kind for other in program.nodes if node in read_by(program, other)} == {"Add"}
        assert read_by(program, node)[0].kind not in {"Add", "Concat", "DropPath"}
    cells = {node.path.partition("/")[0]: node.values["rate"] for node in dropped}
    assert sorted(cells.values()) == [0.5 * (i + 1) / len(cells) for i in range(len(cells))]
    operations = [value for path, value in program.trace.items() if path.startswith("normal_operation")]
    in_first = sum(node.path.partition("/")[0] == min(cells, key=cells.__getitem__) for node in dropped)
    assert in_first == len(operations) - operations.count(unchanged)


@pytest.mark.parametrize("make", [lambda keep: nasnet(3, 4, keep=keep), lambda keep: darts(3, 4, keep=keep)])
def test_nothing_is_dropped_when_a_network_is_asked(make):
    image = torch.randn(2, 3, 8, 8)
    with_paths, without = (drawn_network(make, keep).to_torch((2, 3, 8, 8)) for keep in (0.5, 1.0))
    without.load_state_dict(with_paths.state_dict())
    answers = [network.eval()(image) for network in (with_paths, without)]
    answers = [answer["out"] if isinstance(answer, dict) else answer for answer in answers]
    assert torch.equal(*answers)


@pytest.mark.parametrize("make", [nasnet, darts])
@pytest.mark.parametrize("keep", [0.0, -0.1, 1.5, float("nan")])
def test_chances_of_paths_are_checked(make, keep):
    with pytest.raises(ValueError, match="keep"):
        make(keep=keep)


def test_the_second_output_leaves_before_the_second_reduction():
    space = SearchSpace(nasnet(cells=18, filters=4))
    program = space.present(space.sample(1, np.random.default_rng(0))[0])
    behind = {program.nodes[program.outputs["aux"].node].path}
    for node in program.nodes[::-1]:
        if node.path in behind:
            behind |= {source.path for source in read_by(program, node)}
    cells = {path.partition("[")[0] for path in behind if "Cell" in path}
    assert "NormalCell-11" in cells
    assert cells <= {"ReductionCell-0", *(f"NormalCell-{i}" for i in range(12))}


def test_a_motif_ends_in_a_convolution():
    space = SearchSpace(flat(nodes=3, filters=(4,)))
    program = space.present(space.sample(1, np.random.default_rng(0))[0])
    inside = [node for node in program.nodes if node.path.startswith("Motif-0")]
    read = [source for node in inside for source in read_by(program, node)]
    (end,) = (node for node in inside if node not in read)
    assert [source.kind for source in read_by(program, end)] == ["ReLU"]
    assert (end.kind, end.values["kernel"], end.values["filters"]) == ("Conv2D", 1, 4)


def test_paths_are_dropped_while_training_alone():
    layer, image = DropPath(0.25), torch.ones(4_000, 2, 1, 1)
    assert torch.equal(layer.eval()(image), image)
    torch.manual_seed(0)
    dropped = layer.train()(image)
    assert abs((dropped == 0).all(dim=1).float().mean() - 0.25) < 0.03
    assert abs(dropped.mean() - 1.0) < 0.04
