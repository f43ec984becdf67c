"""Rows of a table as a variable: the laws, labels, spaces around it, and trials where a table changes."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError, Exact, PointError
from bostruct.domains.space import candidates
from bostruct.domains.space import choices as choices_of_variables
from bostruct.domains.space.candidates import Candidates, RankedGraph
from bostruct.domains.space.graphs import CompleteGraph
from bostruct.kernels.space.registry import main_effects
from bostruct.methods.defaults import space_kernel
from bostruct.testing import check_domain, check_kernel, check_variable
from tests.strategies import choices, rngs, spaces, variables

NUMBERS = {"polarity": [6.4, 4.0, 5.8, 3.1], "boiling": [153.0, 66.0, 82.0, 69.0]}
KINDS = {"kind": ["amide", "ether", "nitrile", "ether"]}
SOLVENTS = pd.DataFrame(NUMBERS | KINDS, index=["DMF", "THF", "MeCN", "hexane"])
BITS = np.random.default_rng(0).integers(0, 2, (9, 12))


@pytest.mark.parametrize("table", [SOLVENTS, SOLVENTS.reset_index(), BITS, {"a": [0.0, 1.0]}])
def test_laws(table):
    check_variable(Candidates(table), np.random.default_rng(0))


def test_laws_of_a_long_table():
    table = np.random.default_rng(0).normal(size=(1_500, 3))
    check_variable(Candidates(table), np.random.default_rng(0))
    assert isinstance(Candidates(table).graph, RankedGraph)
    assert isinstance(Candidates(table[:1_000]).graph, CompleteGraph)


def test_a_space_with_candidates_obeys_the_laws():
    fits = bo.Categorical(["a", "b", "c"], descriptors={"size": [1.0, 2.0, 4.0]}, when={"solvent": "THF"})
    variables = {"solvent": Candidates(SOLVENTS), "bits": Candidates(BITS), "r": bo.Real(0, 1), "fits": fits}
    check_domain(bo.Space(variables), np.random.default_rng(0))
    ruled = bo.Space({"solvent": Candidates(SOLVENTS), "b": bool}, [lambda p: p["solvent"] != "DMF" or p["b"]])
    check_domain(ruled, np.random.default_rng(1), rebuildable=False)
    assert ruled.count() == Exact(7)


@st.composite
def draw_alike(draw: st.DrawFn):
    """Choices that are alike by numbers, bits, texts or a kernel, as rows or as categories."""
    labels, rng = draw(choices()), draw(rngs())
    n = len(labels)
    table = {"a": np.arange(n) + 0.1 * rng.normal(size=n), "t": ["xyz"[one] for one in rng.integers(3, size=n)]}
    if draw(st.booleans()):
        table |= {f"b{i}": rng.integers(0, 2, n) for i in range(9)}
    features = rng.normal(size=(n, 2))
    rows = [Candidates(table | {"label": labels}, label="label"), Candidates(table)]
    kernel = features @ features.T + np.eye(n)
    categories = [bo.Categorical(labels, descriptors=table), bo.Categorical(labels, kernel=kernel)]
    return draw(st.sampled_from(rows + categories))


@settings(max_examples=6)
@given(spaces(4, st.one_of(variables(), draw_alike())), rngs())
def test_random_mixtures_obey_the_laws(space, rng):
    check_domain(space, rng)
    check_kernel(space_kernel(space), space, rng)
    check_kernel(main_effects(space), space, rng)


def test_a_point_has_the_label_of_its_row():
    space = bo.Space({"solvent": Candidates(SOLVENTS)})
    point = space.present(np.array([1]))
    assert point == {"solvent": "THF"}
    assert SOLVENTS.loc[point["solvent"], "boiling"] == 66.0
    assert space.encode(np.array([1])) == {"solvent": "THF"}
    assert Candidates(SOLVENTS.reset_index(drop=True)).parse(np.int64(3)) == [3]
    assert Candidates(SOLVENTS.reset_index(), label="index") == Candidates(SOLVENTS)
    with pytest.raises(PointError, match=r"expected one of .*DMF.*, got 'water'"):
        Candidates(SOLVENTS).parse("water")
    with pytest.raises(DomainError, match=r"Candidates: label: expected one of \['polarity', .*\], got 'name'"):
        Candidates(SOLVENTS, label="name")


def test_a_table_is_searched_for_what_is_alike():
    """1,200 rows, of which 25 are tried: the best one lies where all descriptors are large."""
    rows = np.random.default_rng(0).normal(size=(1_200, 3))
    worth = rows.sum(axis=1)
    found = bo.maximize(lambda point: float(worth[point["row"]]), {"row": Candidates(rows)}, 25, seed=0)
    assert found.best_value == worth.max()


def test_importance_takes_candidates_for_choices():
    space = bo.Space({"solvent": Candidates(SOLVENTS), "b": bool})
    result = bo.minimize(lambda p: len(p["solvent"]) + 0.1 * p["b"], space, 8, method="random", seed=0)
    assert next(iter(bo.importance(result).main)) == "solvent"


def run(folder, table, n):
    return bo.minimize(lambda _: 0.0, {"x": Candidates(table)}, n, seed=0, storage=folder / "runs.db", name="x")


def test_trials_stay_data_where_a_labeled_table_changes(tmp_path):
    before = run(tmp_path, SOLVENTS, 4)
    after = run(tmp_path, SOLVENTS.iloc[::-1].assign(density=[1.0, 2.0, 3.0, 4.0]), 4)
    assert [trial.point for trial in after.trials] == [trial.point for trial in before.trials]
    with pytest.warns(bo.SpaceChanged, match="expected one of .*, got 'hexane'"):
        assert run(tmp_path, SOLVENTS[:3], 3).n_unread == 1


def test_numbered_rows_are_told_by_what_they_are(tmp_path):
    table = SOLVENTS.reset_index(drop=True)
    run(tmp_path, table, 4)
    assert run(tmp_path, table.assign(density=[1.0, 2.0, 3.0, 4.0]), 4).n_unread == 0
    longer = pd.concat([table, table[:1].assign(boiling=150.0)], ignore_index=True)
    assert run(tmp_path, longer, 5).n_unread == 0
    with pytest.warns(bo.SpaceChanged, match="row 3 has other descriptors than before, and no label"):
        assert run(tmp_path, longer[1:].reset_index(drop=True), 4).n_unread == 5


def test_choices_that_get_descriptors_stay_data(tmp_path):
    def search(variable, n):
        return bo.minimize(lambda _: 0.0, {"x": variable}, n, seed=0, storage=tmp_path / "runs.db", name="x")

    search(["a", "b", "c"], 2)
    assert search(bo.Categorical(["a", "b", "c"], descriptors={"p": [1.0, 2.0, 4.0]}), 3).n_unread == 0


def test_numbered_rows_of_other_columns_are_other_rows(tmp_path):
    run(tmp_path, {"x": [1.0, 2.0, 3.0]}, 3)
    with pytest.warns(bo.SpaceChanged, match="none of the earlier columns is left, and no label"):
        assert run(tmp_path, {"y": [9.0, 8.0, 7.0]}, 3).n_unread == 3


X = {"x": [1.0, 2.0, 3.0]}
IDS = pd.DataFrame(X, index=[2, 1, 0])


@pytest.mark.parametrize(("before", "after"), [(Candidates(X), Candidates(IDS)), (Candidates(IDS), Candidates(X))])
def test_the_number_of_a_row_is_no_label(before, after):
    for label in (0, 2):
        with pytest.raises(PointError, match="has other descriptors than before"):
            after.decode_from(label, before.to_json())
    assert after.decode_from(1, before.to_json()) == [1]
    with pytest.raises(PointError, match="expected a row of the earlier table, got 3"):
        Candidates({"x": [1.0, 2.0, 3.0, 4.0]}).decode_from(3, before.to_json())
    assert after.decode_from(0, after.to_json()) == after.parse(0)
    assert after.decode_from(0, bo.Categorical(range(3)).to_json()) == after.parse(0)


def test_given_labels_are_labels_even_where_they_number_the_rows():
    ids, numbered = Candidates(X | {"id": [0, 1, 2]}, label="id"), Candidates(X)
    other = Candidates({"x": [5.0, 6.0, 9.0], "id": [0, 1, 2]}, label="id")
    assert not ids.is_numbered
    assert numbered.is_numbered
    assert "labeled" not in numbered.to_json()
    assert other.decode_from(2, ids.to_json()) == [2]
    assert not Candidates.from_json(ids.to_json()).is_numbered
    assert Candidates.from_json(ids.to_json()) == ids
    with pytest.raises(PointError, match="has other descriptors"):
        other.decode_from(2, numbered.to_json())


COUNTS = np.random.default_rng(1).poisson(0.5, size=(30, 20))


def test_fingerprints_of_counts_obey_the_laws():
    v = Candidates.from_fingerprints(COUNTS, [f"m{i}" for i in range(30)])
    check_variable(v, np.random.default_rng(0))
    long = np.random.default_rng(0).poisson(0.5, size=(1_200, 20))
    check_variable(Candidates.from_fingerprints(long, range(1, 1_201)), np.random.default_rng(0))
    with pytest.raises(DomainError, match="Candidates: expected a label for each of 30 rows, got 2"):
        Candidates.from_fingerprints(COUNTS, ["a", "b"])
    with pytest.raises(DomainError, match="Candidates: expected a column that shows which rows are similar"):
        Candidates.from_fingerprints(COUNTS[[0, 0]], ["a", "b"])


def test_a_study_of_fingerprints_loads_without_the_program_that_made_them(tmp_path):
    v = Candidates.from_fingerprints(COUNTS, [f"m{i}" for i in range(30)])
    worth = dict(zip(v.choices, COUNTS[:, :3].sum(axis=1).tolist(), strict=True))
    store = tmp_path / "runs.db"
    found = bo.maximize(lambda point: worth[point["m"]], {"m": v}, 16, seed=0, storage=store, name="m")
    assert found.best_value == max(worth.values())
    again = bo.Study.load(store, "m").domain.variables["m"]
    assert again.likeness == v.likeness
    assert again.choices == v.choices


class FakeChem:
    """What `from_smiles` asks of RDKit: the counts of letters stand for those of substructures."""

    def MolFromSmiles(self, text):
        return None if "?" in text else text

    def GetMorganGenerator(self, radius, fpSize):
        assert (radius, fpSize) == (2, 2_048)
        return self

    def GetCountFingerprint(self, text):
        return SimpleNamespace(GetNonzeroElements=lambda: {ord(one): text.count(one) for one in sorted(set(text))})

    def BlockLogs(self):
        return nullcontext()


def test_molecules_are_read_by_their_smiles(monkeypatch):
    monkeypatch.setattr(candidates, "optional_import", lambda *_: FakeChem())
    v = Candidates.from_smiles(iter(["CCO", "CCN", "CCCC"]))
    assert v.choices == ("CCO", "CCN", "CCCC")
    assert v.likeness.counts.shape == (3, 2_048)
    assert v.likeness.counts.toarray()[0, [ord("C"), ord("O")]].tolist() == [2.0, 1.0]
    for smiles, message in {
        ("CCO", "C?"): r"Candidates: row 1: expected a SMILES string, got 'C\?'",
        ("CCO", " "): r"row 1: expected a SMILES string, got ' '",
        ("CCO", 7): r"row 1: expected a SMILES string, got 7",
        ("CCO", "CCO"): r"expected distinct SMILES strings, got 'CCO' more than once",
        "CCO": r"expected a sequence of SMILES strings, got 'CCO'",
    }.items():
        with pytest.raises(DomainError, match=message):
            Candidates.from_smiles(smiles)


@pytest.mark.skipif(find_spec("rdkit") is not None, reason="RDKit is installed")
def test_molecules_need_an_extra():
    with pytest.raises(bo.MissingExtra, match=r"rdkit is not installed; it comes with the extra 'rdkit'"):
        Candidates.from_smiles(["CCO", "CCN"])


def test_each_row_of_a_long_table_is_scored():
    counts = np.random.default_rng(0).poisson(0.3, size=(12_000, 12))
    worth = counts @ np.arange(12)
    v = Candidates.from_fingerprints(counts, range(1, 12_001))
    found = bo.maximize(lambda point: float(worth[point["m"] - 1]), {"m": v}, 20, seed=0)
    assert found.trials[-1].info["candidates"] == 12_000
    assert found.best_value >= np.sort(worth)[-120]


def test_memory_limits_the_rows(monkeypatch):
    monkeypatch.setattr(choices_of_variables, "memory_size", lambda: 2 * 50 * (2_000 + 32 * 12))
    assert Candidates(BITS).size == 9
    with pytest.raises(DomainError, match=r"Candidates: expected 2 to 50 rows, .* 12 cells per row.*, got 51"):
        Candidates(np.ones((51, 12)))


def test_memory_limits_the_molecules(monkeypatch):
    monkeypatch.setattr(candidates, "optional_import", lambda *_: FakeChem())
    monkeypatch.setattr(choices_of_variables, "memory_size", lambda: 2 * 50 * (2_000 + 32 * 64))
    assert Candidates.from_smiles(["C" * i for i in range(1, 51)]).size == 50
    with pytest.raises(DomainError, match=r"Candidates: expected .*50 SMILES strings"):
        Candidates.from_smiles("C" * i for i in range(1, 10**9))


@pytest.mark.parametrize("n", [1_500, 50_000])
def test_names_without_descriptors_are_searched(n):
    names = [f"m{i}" for i in range(n)]
    with pytest.warns(UserWarning, match=f"Categorical: {n:,} choices without descriptors"):
        v = bo.Categorical(names)
    space = bo.Space({"m": v, "b": bool})
    found = bo.maximize(lambda point: float(point["m"].endswith("7")) + point["b"], space, 16, seed=0)
    assert found.best_value == 2.0
    assert len({trial.point["m"] for trial in found.trials}) > 8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bo.Space.from_json(space.to_json()) == space
