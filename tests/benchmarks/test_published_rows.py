"""The rows of the other papers: runs, verdicts that can come out against us, and what is resumed."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest

import bostruct as bo
from benchmarks.chaos.results import read_results
from benchmarks.published import __main__ as command
from benchmarks.published import papers, rows
from benchmarks.published.papers import BudgetSpent, Row, Setting
from bostruct.language import SearchSpace
from bostruct.nas.spaces.wrs_cnn import wrs_cnn

QUICK = Setting(quick=True, data=None)


def row_of(take, order=()) -> Row:
    return Row(
        "wrs",
        "ours .1, theirs .2",
        "nothing",
        ("ours", "theirs"),
        (("ours", "theirs"),),
        take,
        order,
        "share of errors",
    )


def runs_of(ours, theirs) -> rows.Runs:
    pairs = (("ours", ours), ("theirs", theirs))
    return {("row", method, seed): {"value": value} for method, own in pairs for seed, value in enumerate(own)}


@pytest.mark.parametrize(
    ("ours", "theirs", "verdict"),
    [
        ([0.1, 0.2, 0.1, 0.3, 0.2, 0.1], [0.5, 0.7, 0.6, 0.7, 0.6, 0.4], "ours better than theirs: reproduced"),
        ([0.5, 0.7, 0.6, 0.7, 0.6, 0.4], [0.1, 0.2, 0.1, 0.3, 0.2, 0.1], "NOT REPRODUCED: the opposite"),
        ([0.5, 0.1, 0.6, 0.2, 0.6, 0.4], [0.1, 0.7, 0.2, 0.6, 0.5, 0.4], "undecided"),
        ([0.1, 0.2], [0.6, 0.7], "few seeds, no verdict"),
    ],
)
def test_the_sign_of_a_claim_can_come_out_against_us(ours, theirs, verdict):
    text = rows.format_row("row", row_of(None), runs_of(ours, theirs), quick=False)
    assert verdict in text
    assert "- published: ours .1, theirs .2" in text
    assert "- reduced: nothing\n" in text
    assert "| value: share of errors, lower is better |" in text
    assert text.index(verdict) < text.index("| figure, mean ± SD over seeds | ours | theirs |")
    assert ("too few for a verdict" in text.partition("\n")[0]) == (len(ours) < 5)


def test_an_order_is_judged_by_its_steps():
    row = Row("wrs", "", "", ("fANOVA",), (), None, order=("a", "b", "c"))
    found = {("row", "fANOVA", seed): {"a": 1.0, "b": 2.0 + seed, "c": 3.0} for seed in range(5)}
    assert "NOT REPRODUCED: 1 of 2 steps; a < b in 5 of 5, b < c in 2 of 5 seeds" in rows.format_row(
        "row", row, found, False
    )
    found = {key: {"a": 1.0, "b": 2.0, "c": 3.0} for key in found}
    assert "order a < b < c: reproduced" in rows.format_row("row", row, found, False)


def test_runs_on_record_are_not_repeated_and_quick_ones_are_apart(tmp_path, monkeypatch, capsys):
    taken = []

    def take(method, seed, setting):
        taken.append((method, seed, setting.quick))
        return {"value": float(seed) + (method == "theirs")}

    monkeypatch.setitem(papers.ROWS, "cheap", row_of(take))
    out = tmp_path / "rows.jsonl"
    call = ["--paper", "wrs", "--rows", "cheap", "--out", str(out)]
    assert command.main([*call, "--quick"]) == 0
    assert taken == [(method, seed, True) for seed in range(2) for method in ("ours", "theirs")]
    out.write_text(out.read_text() + '{"row": "cheap", "meth')  # a run that was cut short
    assert command.main([*call, "--quick", "--seeds", "3"]) == 0
    assert len(taken) == 6
    assert command.main([*call, "--seeds", "1"]) == 0
    assert taken[6:] == [("ours", 0, False), ("theirs", 0, False)]
    assert "## cheap, 3 seeds, too few" in capsys.readouterr().out
    assert all(json.dumps(one) for one in read_results(out))


def test_quick_alone_is_of_all_papers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(rows, "ROWS", {"cheap": row_of(lambda *_: {"value": 1.0})})
    monkeypatch.chdir(tmp_path)
    assert command.main(["--quick"]) == 0
    assert "## cheap, 2 seeds, too few for a verdict" in capsys.readouterr().out
    assert len(read_results(tmp_path / "published-quick.jsonl")) == 4


def test_rows_without_their_data_are_skipped_and_named(tmp_path, capsys):
    assert command.main(["--paper", "nasbot", "--rows", "nasbot-naval", "--quick", "--out", str(tmp_path / "a")]) == 1
    assert "nasbot-naval: skipped, because uci_regression/naval.npz is not in the folder" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["--paper", "enas"])
    assert "invalid choice: 'enas'" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["nelder-mead", "particle-swarm", "sobol"])
def test_a_search_of_the_cube_makes_all_its_trials_within_it(method):
    asked = []

    def sphere(u):
        if len(asked) == 150:
            raise BudgetSpent
        asked.append(np.array(u))
        return float(((u - 0.3) ** 2).sum())

    with suppress(BudgetSpent):
        papers.search_cube(method, sphere, 150, seed=0)
    assert len(asked) == 150
    assert 0.0 <= np.min(asked) <= np.max(asked) <= 1.0
    values = [float(((u - 0.3) ** 2).sum()) for u in asked]
    assert min(values[75:]) < np.median(values[:12]) or method == "sobol"


def test_the_network_of_twelve_numbers_is_that_of_the_space_of_the_paper():
    """A program of `wrs_cnn` and the network of its numbers are equal, layer by layer."""
    space = SearchSpace(wrs_cnn(filters=(4, 16), units=(16, 64)))
    for x in space.sample(4, np.random.default_rng(0)):
        program = space.present(x)
        values = [node.values for node in program.nodes]
        filters = [one["filters"] for one in values if "filters" in one]
        units = [one["units"] for one in values if "units" in one][:-1]  # the last are the classes
        point = {"convolutions": len(filters), "dense_layers": len(units)}
        point |= {f"filters_{i}": one for i, one in enumerate(filters, 1)}
        point |= {f"units_{i}": one for i, one in enumerate(units, 1)}
        assert papers.build_cnn(point).fingerprint == program.fingerprint
    corners = [papers.point_of(np.full(12, share)) for share in (0.0, 1.0)]
    assert [tuple(one.values()) for one in corners] == [(3, 1, *[4] * 6, *[16] * 4), (6, 4, *[16] * 6, *[64] * 4)]


def test_a_chain_of_the_tree_has_the_layers_that_exist():
    point = {"kind_1": "relu", "units_1": 8, "more_2": True, "kind_2": "tanh", "units_2": 32, "more_3": False}
    assert papers.chain_of(point) == bo.Architecture.chain("relu-8 tanh-32 linear")
    space = papers.tree_space()
    for x in space.sample(20, np.random.default_rng(0)):
        assert 4 <= len(papers.chain_of(space.present(x))) <= 9


@pytest.mark.parametrize("method", ["nearest by OTMANN", "any pair"])
def test_distances_are_compared_with_values(method):
    figures = papers.ROWS["nasbot-distances"].take(method, 0, QUICK)
    assert figures["value"] >= 0.0


def test_a_row_of_every_kind_runs():
    for name in ("wrs-table-1", "wrs-table-2"):
        row = papers.ROWS[name]
        figures = row.take(row.methods[0], 0, QUICK)
        assert set(row.order) <= set(figures)
        assert row.order or "value" in figures


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["wrs-table-3", "wrs-table-4", "deeparchitect-table-2", "nasbot-ablation", "nasbot-cifar10"]
)
def test_a_row_that_trains_networks_runs(name):
    row = papers.ROWS[name]
    figures = row.take(row.methods[-1], 0, QUICK)
    assert set(row.order) <= set(figures)
    assert row.order or "value" in figures


def test_every_claim_is_of_methods_of_its_row():
    for row in papers.ROWS.values():
        assert {name for pair in row.claims for name in pair} <= set(row.methods)
        assert row.claims or row.order
        assert row.reduced
        assert row.unit
        assert row.published
