"""Orders, subsets and sequences alike: large ones, trials where items are listed otherwise, and studies that resume."""

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct import Candidates, Permutation, Sequence, Subset

LARGE = {
    "an order of 500": Permutation(range(500)),
    "500 of 1000": Subset(range(1000), 500),
    "1 to 999 of 1000": Subset(range(1000), (1, 999)),
    "100 to 500 letters": Sequence("ACDEFGHIKLMNPQRSTVWY", (100, 500)),
}


@pytest.mark.parametrize("name", LARGE)
def test_changes_of_large_ones_are_valid(name):
    space, rng = bo.Space({"s": LARGE[name]}), np.random.default_rng(0)
    x = space.sample(1, rng)[0]
    near, _ = space.sample_neighborhoods(x[None], 50, rng, large_steps=True)
    assert len({row.tobytes() for row in near.rows()}) == 50
    for other in [space.mutate(x, rng), space.crossover(x, space.sample(1, rng)[0], rng), *near.rows()]:
        space.check(other)


RESUMED = {
    "order": (Permutation(list("abcdef")), lambda order: sum(i * ord(item) for i, item in enumerate(order))),
    "subset": (
        Subset(list("abcdef"), (1, 3), graph=nx.cycle_graph(list("abcdef"))),
        lambda subset: sum(map(ord, subset)) % 7,
    ),
    "sequence": (Sequence("ABC", (2, 6)), lambda text: -text.count("AB") + 0.1 * len(text)),
    "row": (Candidates({"x": range(20), "t": list("abcde") * 4}), lambda row: abs(row - 7.0)),
    "row of bits": (Candidates(np.random.default_rng(0).integers(0, 2, (20, 12))), lambda row: abs(row - 7.0)),
}


@pytest.mark.parametrize("name", RESUMED)
def test_a_study_resumes_exactly(name, tmp_path):
    variable, measure = RESUMED[name]
    space = bo.Space({"s": variable, "b": bool})

    def objective(point):
        return measure(point["s"]) + point["b"]

    whole = bo.minimize(objective, space, 18, seed=3)
    for n in (12, 18):
        with bo.Study(space, seed=3, storage=tmp_path / "runs.db") as study:
            parts = study.optimize(objective, n)
    assert [t.point for t in parts.trials] == [t.point for t in whole.trials]
    assert bo.Study.load(tmp_path / "runs.db").domain == space


class Tool:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Tool({self.name})"


TOOLS = [Tool(name) for name in "abcd"]


class TestTrialsStayData:
    @pytest.fixture
    def run(self, tmp_path):
        """Run a study of one variable under one name and file, whatever the variable is."""

        def run(variable, n, objective=lambda point: float(len(point["s"]))):
            return bo.minimize(objective, {"s": variable}, n, seed=0, storage=tmp_path / "runs.db", name="s")

        return run

    @pytest.mark.parametrize("items", [list("abcd"), [0, [1], None, 2.5], TOOLS])
    def test_where_the_items_of_an_order_are_listed_otherwise(self, run, items):
        def objective(point):
            return float(items.index(point["s"][0]))

        before, after = run(Permutation(items), 6, objective), run(Permutation(items[::-1]), 7, objective)
        assert after.n_unread == 0
        assert [trial.point for trial in after.trials[:6]] == [trial.point for trial in before.trials]

    @pytest.mark.parametrize("items", [list("abcd"), [0, [1], None, 2.5], TOOLS])
    def test_where_sizes_of_subsets_and_the_order_of_items_change(self, run, items):
        before, after = run(Subset(items, 2), 4), run(Subset([*items[::-1], "new"], (1, 2)), 5)
        assert after.n_unread == 0
        read, written = ([set(map(str, t.point["s"])) for t in found.trials[:4]] for found in (after, before))
        assert read == written
        with pytest.warns(bo.SpaceChanged, match="expected 3 items, got"):
            assert run(Subset(items, 3), 6).n_unread == 5

    @pytest.mark.parametrize("letters", ["ABC", [0, [1], 2.5], TOOLS[:3]])
    def test_where_letters_are_listed_otherwise_and_lengths_are_wider(self, run, letters):
        before, after = run(Sequence(letters, (2, 4)), 6), run(Sequence(letters[::-1], (2, 5)), 7)
        assert after.n_unread == 0
        assert [trial.point for trial in after.trials[:6]] == [trial.point for trial in before.trials]
        with pytest.warns(bo.SpaceChanged, match="expected 5 letters, got "):
            assert run(Sequence(letters, 5), 8).n_unread > 0
