"""FC-Net: errors of perceptrons and of their training, as one space of variables or as points of two parts."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from bostruct import problems
from bostruct.domains.architecture.layers import MLP
from bostruct.kernels.otmann.kernel import both_distances
from bostruct.problems.fcnet import FCNetError, fcnet
from tests.problems.tables import DATA, needs_data

REFUSED_ERRORS = [
    (np.full((2, 3, 4), np.inf), "naval_propulsion: expected finite numbers, got infinity"),
    (np.full((2, 3, 4), 1e300, dtype=np.longdouble) ** 10, "naval_propulsion: expected finite numbers"),
    (np.full((2, 3, 4), 1e-300, dtype=np.longdouble) ** 10, "naval_propulsion: expected positive errors"),
    (np.full((2, 3, 4), "x"), "naval_propulsion: expected rows of real numbers, got <U1"),
    (np.array(1.0), "naval_propulsion: expected rows of real numbers"),
    (np.ones((2, 3, 0)), "naval_propulsion: expected positive errors of shape"),
    (np.full((2, 3, 4), np.nan), "naval_propulsion: expected positive errors of shape"),
]


REFUSED_SPACES = [
    ("[" * 100_000, "space: expected JSON"),
    ('[["a", [1, 2]], ["a", [1, 2, 3]]]', "space: expected each name once, got 'a' twice"),
    ('[["a", []], ["b", [1, 2, 3]]]', "space: "),
    ('[["", [1, 2]], ["b", [1, 2, 3]]]', "space: "),
    (np.array([{}], dtype=object), "space: expected JSON"),
]


class TestPerceptrons:
    SPACE = (("activation", ["relu", "tanh"]), ("rate", [0.1, 0.01, 0.001]))

    def stored(self, tmp_path: Path, errors: np.ndarray, name: str = "fcnet", space: object = SPACE) -> str:
        np.savez(tmp_path / "f.npz", naval_propulsion=errors, space=json.dumps(space))
        return f"{name}:file={tmp_path / 'f.npz'},data=naval_propulsion"

    def test_values_are_logarithms_of_trainings(self, tmp_path):
        errors = np.random.default_rng(0).uniform(0.01, 1e4, (2, 3, 4)).astype(np.float32)
        spec = self.stored(tmp_path, errors)
        quiet, point = problems.load(spec), {"activation": "tanh", "rate": 0.01}
        trainings = np.log10(errors[1, 1].astype(float))
        assert quiet(point) == pytest.approx(trainings.mean())
        assert quiet.optimum == pytest.approx(np.log10(errors.astype(float)).mean(axis=2).min())
        assert {v.kind for v in quiet.space.variables.values()} == {"Categorical", "Ordinal"}
        drawn = {problems.load(f"{spec},noise_seed={seed}")(point) for seed in range(40)}
        assert drawn == set(trainings)
        noisy = problems.load(f"{spec},noise_seed=1,relabel=4")
        assert noisy.noise_free(noisy.optimal_point) == pytest.approx(quiet.optimum)
        moved = pickle.loads(pickle.dumps(noisy))
        np.testing.assert_array_equal(moved.evaluate(noisy.initial(1)), noisy.evaluate(noisy.initial(1)))

    FUNCTIONS, UNITS = ["relu", "tanh"], [16, 32, 64, 128, 256, 512]
    NETWORKS = (("activation_fn_1", FUNCTIONS), ("rate", [0.1, 0.01, 0.001]), ("n_units_2", UNITS))
    NETWORKS += (("activation_fn_2", FUNCTIONS), ("n_units_1", UNITS))

    def test_networks_and_their_training_are_parts_of_a_point(self, tmp_path):
        errors = np.random.default_rng(0).uniform(0.01, 10.0, (2, 3, 6, 2, 6, 4)).astype(np.float32)
        spec = self.stored(tmp_path, errors, "fcnet-joint", self.NETWORKS)
        for noise in ("", ",noise_seed=3"):
            plain, joint = problems.load(f"{spec}{noise}".replace("-joint", "", 1)), problems.load(f"{spec}{noise}")
            assert (joint.space.size, joint.name) == (plain.space.size, f"{spec}{noise}")
            assert joint.space.part("network", joint.space.sample(1, np.random.default_rng(0)))[0].family == MLP
            for point in plain.initial_points(1):
                first, second = (f"{point[f'activation_fn_{k}']}-{point[f'n_units_{k}']}" for k in (1, 2))
                network = bo.Architecture.chain(f"{first} {second} linear", "mlp")
                parts = {"network": network, "training": {"rate": point["rate"]}}
                assert (joint(parts), joint.noise_free(parts)) == (plain(point), plain.noise_free(point))
            assert joint.noise_free(joint.optimal_point) == joint.optimum == plain.optimum
            moved = pickle.loads(pickle.dumps(joint))
            points = joint.initial_points(2)
            np.testing.assert_array_equal(moved.evaluate(points), joint.evaluate(points))

    def test_a_joint_table_is_searched_by_distances_between_its_networks(self, tmp_path, monkeypatch):
        errors = np.random.default_rng(0).uniform(0.01, 10.0, (2, 3, 6, 2, 6, 1)).astype(np.float32)
        joint = problems.load(self.stored(tmp_path, errors, "fcnet-joint", self.NETWORKS))
        measured: list[int] = []

        def counted(xs, ys, settings):
            measured.append(len(xs))
            return both_distances(xs, ys, settings)

        monkeypatch.setattr("bostruct.kernels.otmann.kernel.both_distances", counted)
        result = bo.minimize(joint, joint.space, method="nasbot", n_trials=14, seed=0)
        assert measured
        assert {t.origin for t in result.trials} >= {"model"}
        assert result.best_value == joint(result.best_point)

    def test_networks_of_another_table_are_refused(self, tmp_path):
        shape = (2, 3, 6, 2, 5, 1)
        changed = (*self.NETWORKS[:4], ("n_units_1", [16, 32, 64, 128, 256]))
        for listed, dims in ((changed, shape), (self.NETWORKS[:4], shape[:4] + shape[5:])):
            with pytest.raises(ValueError, match="space: expected n_units_1 of 16, 32, 64, 128, 256, 512; got"):
                problems.load(self.stored(tmp_path, np.ones(dims), "fcnet-joint", listed))

    def test_a_file_of_another_form_is_refused(self, tmp_path):
        for errors in (np.zeros((2, 3, 4)), np.ones((3, 2, 4))):
            with pytest.raises(ValueError, match="expected positive errors of shape"):
                problems.load(self.stored(tmp_path, errors))
        np.savez(tmp_path / "f.npz", naval_propulsion=np.ones((2, 3, 4)))
        with pytest.raises(ValueError, match="space: expected JSON"):
            problems.load(f"fcnet:file={tmp_path / 'f.npz'},data=naval_propulsion")

    @pytest.mark.parametrize(("errors", "said"), REFUSED_ERRORS)
    @pytest.mark.filterwarnings("error")
    def test_errors_that_are_no_finite_numbers_are_refused_with_the_file(self, tmp_path, errors, said):
        with pytest.raises(ValueError, match=rf"file: .*f\.npz: {said}"):
            problems.load(self.stored(tmp_path, errors))

    @pytest.mark.parametrize(("space", "said"), REFUSED_SPACES)
    def test_a_hostile_space_is_refused_with_the_file(self, tmp_path, space, said):
        np.savez(tmp_path / "f.npz", naval_propulsion=np.ones((2, 3, 4)), space=space)
        with pytest.raises(ValueError, match=rf"file: .*f\.npz: {said}"):
            problems.load(f"fcnet:file={tmp_path / 'f.npz'},data=naval_propulsion")


def test_an_error_without_a_seed_is_the_mean_over_trainings_and_with_one_a_training_of_the_point():
    table = np.random.default_rng(2).normal(size=(2, 3, 40))
    rows = np.array([[i, j] for i in range(2) for j in range(3)])
    quiet = FCNetError(table, None)
    np.testing.assert_array_equal(quiet(rows), table.mean(axis=-1).ravel())
    np.testing.assert_array_equal(quiet.mean(rows, 100), quiet(rows))
    drawn = np.array([FCNetError(table, seed)(rows) for seed in range(20)])
    assert all(drawn[seed, i] in table[*rows[i]] for seed in range(20) for i in range(6))
    assert (drawn.std(axis=0) > 0).all()
    for seed in range(3):  # a value belongs to the point, whatever else is asked with it
        np.testing.assert_array_equal([FCNetError(table, seed)(row[None])[0] for row in rows[::-1]], drawn[seed, ::-1])


def test_a_table_gives_the_same_problem_by_function_and_by_name(tmp_path):
    errors = np.random.default_rng(0).uniform(0.01, 10.0, (2, 3, 4))
    np.savez(tmp_path / "f.npz", naval_propulsion=errors, space=json.dumps(TestPerceptrons.SPACE))
    made = fcnet(str(tmp_path / "f.npz"), "naval_propulsion", noise_seed=5)
    named = problems.load(made.name)
    points = made.space.enumerate()
    np.testing.assert_array_equal(named.evaluate(points), made.evaluate(points))
    with pytest.raises(ValueError, match="data: expected one of protein_structure, naval_propulsion"):
        fcnet(str(tmp_path / "f.npz"), "boston")
    with pytest.raises(ValueError, match="noise_seed: expected at least 0, got -1"):
        fcnet(str(tmp_path / "f.npz"), "naval_propulsion", noise_seed=-1)


@needs_data
@pytest.mark.parametrize(("data", "least"), [("protein_structure", 0.2214), ("naval_propulsion", 3.17e-5)])
def test_the_least_errors_are_those_of_the_published_table(data, least):
    problem = problems.load(f"fcnet:file={DATA}/fcnet_tabular/fcnet.npz,data={data}")
    assert problem.space.size == 62_208
    assert 10**problem.optimum == pytest.approx(least, rel=1e-3)
