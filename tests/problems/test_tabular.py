"""Tables of trained networks: how rows become points, what a lookup gives, and which files are refused."""

from __future__ import annotations

import io
import math
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bostruct.contracts import DomainError
from bostruct.domains.architecture.table import TableDomain
from bostruct.problems import tabular
from bostruct.problems.base import ArchitectureProblem

# NAS-Bench-201: rows 1 and 2 compute the same, a skip from input to output and what leads nowhere.
CODES = np.array([[3, 0, 2, 0, 0, 4], [0, 0, 0, 1, 0, 0], [3, 0, 2, 1, 0, 0], [2, 2, 2, 2, 2, 2]])
MISSING = float("nan")
TRAININGS = np.array([[1.0, 2.0, MISSING], [3.0, MISSING, MISSING], [5.0, 7.0, 9.0], [4.0, 4.5, 5.0]])


@pytest.fixture(scope="module")
def domain() -> TableDomain:
    return tabular.table_domain("nasbench201", CODES)


def test_isomorphic_rows_are_one_point(domain):
    rows = tabular.rows_of(domain, CODES)
    assert (sorted(rows), domain.size) == ([(0,), (1, 2), (3,)], 3)
    for point, own in enumerate(rows):
        assert {domain.index_of_code(CODES[row]) for row in own} == {point}


def test_rows_that_are_given_twice_count_twice(domain):
    rows = tabular.rows_of(domain, np.concatenate([CODES, CODES[:1]]))
    assert sorted(rows) == [(0, 4), (1, 2), (3,)]


def test_a_table_of_every_point_is_the_whole_space(domain):
    every = np.stack(np.meshgrid(*[np.arange(4)] * 6, indexing="ij"), -1).reshape(-1, 6)
    assert tabular.table_domain("transnas-micro", every) == TableDomain("transnas-micro")
    assert domain != TableDomain("nasbench201")
    with pytest.raises(DomainError, match="codes"):
        tabular.table_domain("nasbench201", CODES + 3)


def test_means_are_over_the_rows_of_a_point():
    values = np.array([1.0, 2.0, 6.0, 5.0], dtype=np.float32)
    assert tabular.point_means(values, [(0,), (1, 2), (0, 1, 2, 3)]).tolist() == [1.0, 4.0, 3.5]


def test_a_lookup_gives_each_architecture_its_value(domain):
    values = np.array([10.0, 20.0, 30.0])
    lookup = tabular.Lookup(domain, values)
    assert [lookup(domain.at(i)) for i in range(3)] == values.tolist()
    moved = pickle.loads(pickle.dumps(lookup))
    assert [moved(domain.at(i)) for i in range(3)] == values.tolist()


def test_a_noisy_lookup_draws_one_training_of_the_point_by_seed_and_architecture_alone(domain):
    rows = tabular.rows_of(domain, CODES)
    for point in range(3):
        x = domain.at(point)
        trained = {value for row in rows[point] for value in TRAININGS[row] if not np.isnan(value)}
        drawn = [tabular.NoisyLookup(domain, TRAININGS, rows, seed)(x) for seed in range(60)]
        assert set(drawn) == trained
        assert drawn == [tabular.NoisyLookup(domain, TRAININGS, rows, seed)(x) for seed in range(60)]


def test_noise_puts_a_training_in_the_place_of_the_mean(domain):
    rows = tabular.rows_of(domain, CODES)
    mean = tabular.Lookup(domain, tabular.point_means(np.nanmean(TRAININGS, axis=1), rows))
    quiet = ArchitectureProblem("t:file=f", domain, mean, "none", 2)
    assert tabular.with_noise(quiet, None, lambda seed: pytest.fail(f"seed {seed} was asked for")) is quiet
    noisy = tabular.with_noise(quiet, 7, lambda seed: tabular.NoisyLookup(domain, TRAININGS, rows, seed))
    assert (noisy.name, noisy.noisy) == ("t:file=f,noise_seed=7", True)
    x = domain.at(0)
    assert noisy(x) == tabular.NoisyLookup(domain, TRAININGS, rows, 7)(x)
    assert noisy.noise_free(x) == quiet(x)
    with pytest.raises(ValueError, match="noise_seed: expected at least 0, got -1"):
        tabular.with_noise(quiet, -1, lambda _seed: mean)
    with pytest.raises(TypeError, match="noise"):
        tabular.with_noise(quiet, 1.5, lambda _seed: mean)  # type: ignore[arg-type]


def test_arrays_are_read_by_name(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.arange(3), b=np.ones((3, 2)), c=np.zeros(9))
    arrays = tabular.read_arrays(str(tmp_path / "t.npz"), ("b", "a"))
    assert {name: array.shape for name, array in arrays.items()} == {"b": (3, 2), "a": (3,)}


def test_files_without_such_arrays_are_refused_in_words(tmp_path):
    np.savez(tmp_path / "t.npz", a=np.arange(3), c=np.zeros(9), d=np.array([{}], dtype=object))
    (tmp_path / "text").write_text("a,b")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "t.npz").read_bytes()[:60])
    cases = [
        ("none", ("a",), "file: expected an .npz file, or a tar, found none at .*none"),
        ("", ("a",), "expected an .npz file, or a tar, found none"),
        ("text", ("a",), "text is not an .npz file of plain arrays, or a tar"),
        ("cut.npz", ("a",), "cut.npz is not an .npz file of plain arrays"),
        ("t.npz", ("a", "b"), "has no array b; expected a, b, found 'a, c, d'"),
        ("t.npz", ("a", "c"), "expected arrays of one length, got a 3, c 9"),
        ("t.npz", ("d",), "is not an .npz file of plain arrays"),  # it would have to be unpickled
    ]
    for name, wanted, said in cases:
        with pytest.raises(ValueError, match=said):
            tabular.read_arrays(str(tmp_path / name), wanted, "a tar")


def claim_size(path: Path, shape: tuple[int, ...]) -> None:
    """Write an .npz whose array claims a shape, and holds eight numbers."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(64))


REFUSED_ARRAYS = [
    (np.array(3.0), r"a: expected rows of real numbers, got float64 of shape \(\)"),
    (np.array(["x", "y"]), "a: expected rows of real numbers, got <U1"),
    (np.ones((2, 6)) * 1j, "a: expected rows of real numbers, got complex128"),
    (np.array([1.0, math.inf]), "a: expected finite numbers"),
    (np.array([1e300], dtype=np.longdouble) ** 10, "a: expected finite numbers"),
]


@pytest.mark.parametrize(("array", "said"), REFUSED_ARRAYS)
def test_arrays_that_are_no_rows_of_finite_numbers_are_refused(tmp_path, array, said):
    np.savez(tmp_path / "t.npz", a=array)
    with pytest.raises(ValueError, match=rf"file: .*t\.npz: {said}"):
        tabular.read_arrays(str(tmp_path / "t.npz"), ("a",))


def test_a_claimed_size_that_nobody_has_is_refused(tmp_path):
    claim_size(tmp_path / "t.npz", (2**45,))
    with pytest.raises(ValueError, match=r"file: .*t\.npz is not an \.npz file of plain arrays"):
        tabular.read_arrays(str(tmp_path / "t.npz"), ("a",))


REFUSED_TABLES = [
    (np.arange(6), np.ones(6), "expected at least one row of 6 integers"),
    (
        np.ones((2, 5)),
        np.ones(2),
        r"expected at least one row of 6 integers, a code of nasbench201, got float64 of shape \(2, 5\)",
    ),
    (np.full((2, 6), 0.5), np.ones(2), "expected at least one row of 6 integers"),
    (np.ones((0, 6)), np.ones(0), "expected at least one row of 6 integers"),
    (np.ones((2, 6)), np.ones((2, 1)), r"expected one finite value for each of 2 networks, got shape \(2, 1\)"),
    (np.full((2, 6), 5, dtype=np.uint8), np.ones(2), "arch: expected codes that are integers from 0 to 4, got 5"),
    (np.full((2, 6), -1), np.ones(2), "arch: expected codes that are integers from 0 to 4, got -1"),
    (np.ones((2, 6)), np.array([1.0, MISSING]), "expected one finite value for each of 2 networks"),
]


@pytest.mark.parametrize(("codes", "values", "said"), REFUSED_TABLES)
def test_a_table_of_other_shapes_is_refused(codes, values, said):
    with pytest.raises(ValueError, match=f"file: f: {said}"):
        tabular.check_table("f", "nasbench201", codes, values)
