"""NAS-Bench-201: what a table of cells is worth, and how files that hold no such table are refused."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import bostruct as bo
from bostruct import problems
from bostruct.domains.architecture.table import TableDomain
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.problems.nas_tables import NASBENCH201_DATA_SETS, nasbench201
from tests.problems.tables import DATA, edges_file, needs_data

CODES = np.array([[3, 0, 2, 0, 0, 4], [3, 1, 2, 0, 0, 4], [0, 0, 0, 1, 0, 0], [3, 0, 2, 1, 0, 0], [2, 2, 2, 2, 2, 2]])


REFUSED = [
    ({"edges": CODES}, "has no array c100_val_200ep; expected edges, c100_val_200ep"),
    ({"edges": CODES[:2], "c100_val_200ep": np.ones((5, 3)), "c100_test_200ep_mean": np.ones(5)}, "one length"),
    ({"edges": CODES + 3, "c100_val_200ep": np.ones((5, 3)), "c100_test_200ep_mean": np.ones(5)}, "codes"),
    ({"edges": CODES, "c100_val_200ep": np.ones(5), "c100_test_200ep_mean": np.ones(5)}, "a row of seeds"),
]


class TestLookAlike:
    """Rows 2 and 3 compute the same: a skip from input to output, and what leads nowhere."""

    @pytest.fixture
    def file(self, tmp_path) -> Path:
        return edges_file(tmp_path / "a, b (c).npz", CODES)

    def test_isomorphic_cells_are_one_point_worth_their_mean(self, file):
        problem = problems.load(f"nasbench201:file={file},data=cifar10")
        stored = np.load(file)["c10_val_200ep"].astype(float)
        means = 100.0 - np.nanmean(stored, axis=1)
        assert problem.space.size == 4
        assert problem(list(CODES[2])) == problem(list(CODES[3])) == pytest.approx(means[2:4].mean())
        assert problem(list(CODES[0])) == pytest.approx(means[0])
        tested = 100.0 - np.load(file)["c10_test_200ep_mean"].astype(float)
        assert problem.reported(list(CODES[3])) == pytest.approx(tested[2:4].mean())

    def test_each_data_set_has_its_own_accuracies(self, file):
        with np.load(file) as opened:
            stored = dict(opened)
        for data, short in NASBENCH201_DATA_SETS.items():
            problem = nasbench201(str(file), data)
            assert problem.name == f"nasbench201:file={file},data={data}"
            trained = stored[f"{short}_val_200ep"][4].astype(np.float64)
            assert problem(list(CODES[4])) == pytest.approx(100.0 - trained.mean())
            assert problem.reported(list(CODES[4])) == 100.0 - float(stored[f"{short}_test_200ep_mean"][4])

    def test_a_cell_without_any_training_is_refused(self, tmp_path):
        with np.load(edges_file(tmp_path / "a.npz", CODES)) as opened:
            stored = dict(opened)
        stored["c10_val_200ep"][2] = np.nan
        np.savez(tmp_path / "a.npz", **stored)
        with pytest.raises(ValueError, match="c10_val_200ep: expected a row of seeds with a value for each cell"):
            nasbench201(str(tmp_path / "a.npz"), "cifar10")
        assert nasbench201(str(tmp_path / "a.npz"), "cifar100").space.size == 4

    def test_the_optimum_is_that_of_the_table(self, file):
        problem = problems.load(f"nasbench201:file={file}")
        every = [problem.space.at(place) for place in range(4)]
        assert problem.optimum == min(problem.evaluate(every)) == problem(problem.optimal_point)
        assert problem.report_optimum == min(map(problem.reported, every))

    def test_noise_is_one_of_the_trainings(self, file):
        stored = np.load(file)["c100_val_200ep"].astype(float)
        drawn: dict[int, set[float]] = {0: set(), 2: set()}
        for seed in range(60):
            problem = problems.load(f"nasbench201:file={file},noise_seed={seed}")
            for row, values in drawn.items():
                values.add(problem(list(CODES[row])))
                assert problem(list(CODES[row])) == problem(list(CODES[row]))
        assert drawn[0] == set(100.0 - stored[0])
        both = 100.0 - stored[2:4].ravel()
        assert drawn[2] == set(both[~np.isnan(both)])
        quiet = problems.load(f"nasbench201:file={file}")
        assert (problem.noisy, quiet.noisy) == (True, False)
        assert problem.noise_free(list(CODES[0])) == quiet(list(CODES[0]))

    def test_it_is_named_by_its_file_and_travels(self, file):
        problem = problems.load(f"nasbench201:file={file},noise_seed=2")
        again, moved = problems.load(problem.name), pickle.loads(pickle.dumps(problem))
        points = problem.initial_points(1)
        assert len(set(points)) == 4
        for other in (again, moved):
            assert (other.name, other.space) == (problem.name, problem.space)
            np.testing.assert_array_equal(other.evaluate(points), problem.evaluate(points))

    def test_a_method_of_architectures_searches_a_table(self, tmp_path):
        codes = np.random.default_rng(1).integers(0, 5, (60, 6))
        problem = problems.load(f"nasbench201:file={edges_file(tmp_path / 't.npz', np.unique(codes, axis=0))}")
        result = bo.minimize(problem, problem.space, method="nasbot", n_trials=16, seed=0)
        assert len({t.point for t in result.trials}) == 16
        assert {t.origin for t in result.trials} >= {"model"}
        assert result.best_value == problem(result.best_point)

    @pytest.mark.parametrize(("arrays", "said"), REFUSED)
    def test_a_file_of_another_form_is_refused(self, tmp_path, arrays, said):
        np.savez(tmp_path / "x.npz", **arrays)
        with pytest.raises(ValueError, match=said):
            problems.load(f"nasbench201:file={tmp_path / 'x.npz'}")

    def test_what_is_no_file_of_arrays_is_refused(self, tmp_path):
        (tmp_path / "x.npz").write_text("a,b,c")
        for file, said in (("x.npz", "is not an .npz file"), ("none.npz", "found none at")):
            with pytest.raises(ValueError, match=said):
                problems.load(f"nasbench201:file={tmp_path / file}")
        with pytest.raises(ValueError, match="data: expected one of cifar10, cifar100, imagenet16-120"):
            problems.load(f"nasbench201:file={tmp_path / 'x.npz'},data=mnist")
        with pytest.raises(ValueError, match="noise_seed: expected"):
            problems.load(f"nasbench201:file={tmp_path / 'x.npz'},noise_seed=x")


@needs_data
class TestTable:
    """What is published of the table, found in its file."""

    @pytest.mark.parametrize(
        ("data", "validation", "test"),
        [("cifar10", 91.607, 94.373), ("cifar100", 73.493, 73.513), ("imagenet16-120", 46.733, 47.311)],
    )
    def test_nasbench201_has_its_published_optima(self, data, validation, test):
        """Dong and Yang 2020, "optimal": 91.61 and 94.37, 73.49 and 73.51, 47.31; 46.73 is the file's own."""
        problem = problems.load(f"nasbench201:file={DATA}/nasbench201/nasbench201.npz,data={data}")
        assert problem.space == TableDomain("nasbench201")
        assert problem.optimum == pytest.approx(100 - validation, abs=6e-4)
        assert problem.report_optimum == pytest.approx(100 - test, abs=6e-4)
        assert 0.0 <= problem.reported(problem.optimal_point) - problem.report_optimum < 1.2

    @pytest.mark.parametrize("data", ["cifar10", "imagenet16-120"])
    def test_cells_that_are_far_apart_differ_in_accuracy(self, data):
        problem = problems.load(f"nasbench201:file={DATA}/nasbench201/nasbench201.npz,data={data}")
        chosen = np.random.default_rng(0).choice(problem.space.size, 120, replace=False)
        xs = [problem.space.at(int(place)) for place in chosen]
        values, pairs = problem.evaluate(xs), np.triu_indices(len(xs), 1)
        apart = np.abs(values[:, None] - values)[pairs]
        far = otmann_distances(xs)
        assert all(spearmanr(column[pairs], apart).statistic > 0.45 for column in np.moveaxis(far.normalized, 2, 0))
        assert all(spearmanr(column[pairs], apart).statistic > 0.2 for column in np.moveaxis(far.distance, 2, 0))

    def test_isomorphic_cells_differ_by_little_more_than_trainings_do(self):
        stored = np.load(f"{DATA}/nasbench201/nasbench201.npz")
        problem = problems.load(f"nasbench201:file={DATA}/nasbench201/nasbench201.npz,data=cifar10")
        row = {tuple(map(int, code)): r for r, code in enumerate(stored["edges"])}
        means = np.nanmean(stored["c10_val_200ep"].astype(float), axis=1)
        within = [means[[row[code] for code in codes]].std() for codes in problem.space.members if len(codes) > 1]
        trainings = np.nanstd(stored["c10_val_200ep"].astype(float), axis=1)
        assert np.median(within) < np.median(trainings)
        assert np.median(within) < 0.05 * means.std()
