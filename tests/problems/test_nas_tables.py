"""Small tables of trained networks: what is published of them, and look-alikes of invented values."""

import numpy as np
import pytest

import bostruct as bo
from bostruct import problems
from bostruct.domains.architecture.table import TableDomain
from bostruct.problems.nas_tables import BEST_POSSIBLE, nasbench101, transnas_macro, transnas_micro
from tests.problems.tables import DATA, needs_data

REFUSED_NODE_CELLS = [
    ({"adjacency": np.ones((2, 7, 7))}, r"expected upper triangular adjacency \(n, 7, 7\)"),
    ({"adjacency": np.zeros((2, 6, 6))}, r"expected upper triangular adjacency \(n, 7, 7\)"),
    ({"ops": np.full((2, 6), 2)}, r"and ops \(n, 7\)"),
    ({"ops": np.array([[2, 4, 2, 2, 2, 2, 1]] * 2)}, r"ops: expected the input \(0\) first and the output"),
    ({"ops": np.array([[0, 4, 2, 2, 2, 2, 2]] * 2)}, r"ops: expected the input \(0\) first and the output"),
    ({"ops": np.array([[0, 0, 2, 2, 2, 2, 1]] * 2, dtype=np.uint8)}, r"n\.npz: ops: expected .* 2 to 4, got 0"),
    ({"ops": np.array([[0, 5, 2, 2, 2, 2, 1]] * 2)}, r"n\.npz: ops: expected codes .* from 2 to 4, got 5"),
    ({"ops": np.array([[0, 2.5, 2, 2, 2, 2, 1]] * 2)}, r"n\.npz: ops: expected codes that are integers"),
    ({"adjacency": np.triu(np.full((2, 7, 7), 3), 1)}, r"n\.npz: adjacency: expected .* from 0 to 1, got 3"),
    ({"val_acc": np.ones(3)}, "expected arrays of one length, got adjacency 2, ops 2, val_acc 3"),
]


OUT_OF_RANGE = [
    ("nasbench201", "edges", {"c100_val_200ep": (2, 3), "c100_test_200ep_mean": (2,)}, 6),
    ("transnas-micro", "arch", {"val_top1": (2,)}, 6),
    ("transnas-macro", "arch", {"val_metric": (2, 7)}, 6),
    ("nasbench-macro", "arch", {"test_acc": (2, 3)}, 8),
]


class TestLookAlike:
    def test_a_file_that_covers_a_space_gives_all_of_it(self, tmp_path):
        codes = np.stack(np.meshgrid(*[np.arange(4)] * 6, indexing="ij"), -1).reshape(-1, 6)
        file = tmp_path / "micro.npz"
        np.savez(file, arch=codes, val_top1=codes @ np.arange(1.0, 7.0))
        problem = problems.load(f"transnas-micro:file={file}")
        assert problem.space == TableDomain("transnas-micro")
        assert problem.optimum == pytest.approx(100.0 - 63.0)
        assert problem.optimal_point == problem.space.parse("3_33_333")

    def test_modules_without_a_value_are_left_out(self, tmp_path):
        metric = np.arange(21.0).reshape(3, 7)
        metric[1, 0] = np.nan
        codes = np.array([[1, 1, 1, 4, 0, 0], [1, 2, 3, 4, 0, 0], [4, 1, 1, 2, 3, 0]])
        np.savez(tmp_path / "m.npz", arch=codes, val_metric=metric)
        scene = problems.load(f"transnas-macro:file={tmp_path / 'm.npz'}")
        layout = problems.load(f"transnas-macro:file={tmp_path / 'm.npz'},task=room_layout")
        assert (scene.space.size, layout.space.size) == (2, 3)
        assert scene("411230") == 100.0 - 14.0
        assert layout("123400") == -12.0

    def test_chains_of_blocks(self, tmp_path):
        codes = np.array([[1, 0, 0, 0, 2, 1, 0, 0], [1, 0, 0, 2, 0, 1, 0, 0], [2, 1, 1, 1, 1, 1, 1, 1]])
        accuracies = np.array([[80.0, 81.0, 82.0], [80.0, 81.0, 82.0], [70.0, 71.0, 75.0]])
        np.savez(tmp_path / "b.npz", arch=codes, test_acc=accuracies)
        problem = problems.load(f"nasbench-macro:file={tmp_path / 'b.npz'}")
        assert problem.space.size == 2  # an identity within a stage is nothing, wherever it stands
        chain = "ip conv3-32 mb3-64/2 conv1-128/2 mb5-128 mb3-256/2 conv1-1280 softmax op"
        assert str(problem.optimal_point) == chain
        assert problem("10002100") == problem("10020100") == problem.optimum == 19.0
        assert problem.optimal_point.halvings[-4] == 3
        drawn = {problems.load(f"{problem.name},noise_seed={seed}")("21111111") for seed in range(40)}
        assert drawn == {30.0, 29.0, 25.0}
        noisy = problems.load(f"{problem.name},noise_seed=1")
        assert noisy.noise_free("21111111") == noisy.reported("21111111") == problem("21111111")
        assert bo.Architecture.from_json(problem.optimal_point.to_json()) == problem.optimal_point
        np.savez(tmp_path / "b.npz", arch=codes, test_acc=accuracies[:, 0])
        with pytest.raises(ValueError, match="test_acc: expected a row of trainings for each network"):
            problems.load(problem.name)

    def test_node_cells(self, tmp_path):
        adjacency = np.zeros((2, 7, 7), dtype=np.int8)
        adjacency[:, [0, 1], [1, 6]] = 1
        adjacency[1, 0, 6] = 1
        ops = np.array([[0, 4, 2, 2, 2, 2, 1]] * 2)
        np.savez(tmp_path / "n.npz", adjacency=adjacency, ops=ops, val_acc=[80.0, 90.0])
        problem = problems.load(f"nasbench101:file={tmp_path / 'n.npz'}")
        assert [str(x) for x in map(problem.space.at, range(2))] == [
            "ip stem-64 conv3-64 classifier op",
            "ip stem-64 conv3-64 classifier op | 0>1 1>2 1>3 2>3 3>4",
        ]
        assert (problem.optimum, problem.optimal_point) == (10.0, problem.space.at(1))

    def test_each_task_is_how_far_below_the_best_of_its_metric_a_network_is(self, tmp_path):
        metric = np.random.default_rng(0).uniform(0.0, 1.0, (2, 7))
        codes = np.array([[1, 1, 1, 4, 0, 0], [4, 1, 1, 2, 3, 0]])
        np.savez(tmp_path / "m.npz", arch=codes, val_metric=metric)
        for column, (task, best) in enumerate(BEST_POSSIBLE.items()):
            problem = transnas_macro(str(tmp_path / "m.npz"), task)
            assert [problem(list(code)) for code in codes] == pytest.approx(list(best - metric[:, column]))
            assert problem.optimum == min(problem.evaluate([list(code) for code in codes]))

    @pytest.mark.parametrize(("changed", "said"), REFUSED_NODE_CELLS)
    def test_node_cells_of_another_form_are_refused(self, tmp_path, changed, said):
        adjacency = np.zeros((2, 7, 7), dtype=np.int8)
        adjacency[:, [0, 1], [1, 6]] = 1
        arrays = {"adjacency": adjacency, "ops": np.array([[0, 4, 2, 2, 2, 2, 1]] * 2), "val_acc": np.ones(2)}
        np.savez(tmp_path / "n.npz", **(arrays | changed))
        with pytest.raises(ValueError, match=said):
            nasbench101(str(tmp_path / "n.npz"))

    @pytest.mark.parametrize(("name", "array", "values", "positions"), OUT_OF_RANGE)
    def test_codes_out_of_range_are_refused_with_file_and_array(self, tmp_path, name, array, values, positions):
        codes = np.ones((2, positions), dtype=np.uint8)
        codes[1, 2] = 9
        np.savez(tmp_path / "t.npz", **{array: codes}, **{one: np.ones(shape) for one, shape in values.items()})
        with pytest.raises(ValueError, match=rf"file: .*t\.npz: {array}: expected codes that are integers .*, got 9"):
            problems.load(f"{name}:file={tmp_path / 't.npz'}")

    def test_tables_of_other_columns_tasks_and_arrays_are_refused(self, tmp_path):
        np.savez(tmp_path / "m.npz", arch=np.ones((2, 6), dtype=int), val_metric=np.ones((2, 6)))
        with pytest.raises(ValueError, match="val_metric: expected 7 columns"):
            transnas_macro(str(tmp_path / "m.npz"))
        with pytest.raises(ValueError, match=r"task: expected one of class_scene, class_object, .*got 'depth'"):
            transnas_macro(str(tmp_path / "m.npz"), "depth")
        with pytest.raises(ValueError, match="has no array val_top1; expected arch, val_top1, found 'arch, val_metric"):
            transnas_micro(str(tmp_path / "m.npz"))


@needs_data
class TestTables:
    """What is published of the tables, found in the files."""

    def test_the_small_tables(self):
        folder = f"{DATA}/nas_small_tables"
        micro = problems.load(f"transnas-micro:file={folder}/transnas101_micro_class_scene_subset.npz")
        assert micro.space == TableDomain("transnas-micro")
        stored = np.load(f"{folder}/transnas101_micro_class_scene_subset.npz")
        values = micro.evaluate([micro.space.parse(code) for code in stored["arch"].tolist()])
        unexplained = np.var(100.0 - stored["val_top1"] - values) / np.var(stored["val_top1"])
        assert unexplained < 0.03  # under another reading of its digits, 0.4
        macro = problems.load(f"transnas-macro:file={folder}/transnas101_macro_subset.npz,task=class_object")
        assert (macro.space.size, micro.space.size) == (662, 1011)
        node = problems.load(f"nasbench101:file={folder}/nasbench101_sample500.npz")
        assert node.optimum == pytest.approx(5.288, abs=1e-3)

    def test_chains_of_blocks(self):
        """Published: the best is 22212202, of mean accuracy 93.13."""
        problem = problems.load(f"nasbench-macro:file={DATA}/nasbench_macro/nasbench_macro.npz")
        assert problem.space == TableDomain("nasbench-macro")
        assert (problem.space.size, problem.space.encode(problem.optimal_point)) == (3969, "22212202")
        assert problem.optimum == pytest.approx(6.873, abs=1e-3)
        stored = np.load(f"{DATA}/nasbench_macro/nasbench_macro.npz")
        for codes in problem.space.members:
            rows = [int("".join(map(str, code)), 3) for code in codes]
            assert len({tuple(accuracies) for accuracies in stored["test_acc"][rows].tolist()}) == 1


@pytest.mark.parametrize("name", ["transnas-micro", "nasbench201", "nasbench101", "nasbench-macro", "transnas-macro"])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_arrays_of_too_few_axes_are_refused_with_the_file(tmp_path, name, shape):
    names = ("adjacency", "ops", "val_acc", "arch", "val_metric", "val_top1", "test_acc", "edges")
    names = (*names, "c100_val_200ep", "c100_test_200ep_mean")
    np.savez(tmp_path / "t.npz", **{one: np.ones(shape) for one in names})
    with pytest.raises(ValueError, match=r"file: .*t\.npz"):
        problems.load(f"{name}:file={tmp_path / 't.npz'}")
