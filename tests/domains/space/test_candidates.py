"""Rows of a table as a variable: the laws, labels, spaces around it, and trials where a table changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError, Exact, PointError
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
    with pytest.warns(bo.SpaceChanged, match="no column is left of those before, and no label"):
        assert run(tmp_path, {"y": [9.0, 8.0, 7.0]}, 3).n_unread == 3


X = {"x": [1.0, 2.0, 3.0]}
IDS = pd.DataFrame(X, index=[2, 1, 0])


@pytest.mark.parametrize(("before", "after"), [(Candidates(X), Candidates(IDS)), (Candidates(IDS), Candidates(X))])
def test_the_number_of_a_row_is_no_label(before, after):
    for label in (0, 2):
        with pytest.raises(PointError, match="has other descriptors than before"):
            after.decode_from(label, before.to_json())
    assert after.decode_from(1, before.to_json()) == [1]
    with pytest.raises(PointError, match="expected a row of before, got 3"):
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
