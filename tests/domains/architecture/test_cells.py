"""Cells of tabular benchmarks as architectures, and finite domains of them."""

from __future__ import annotations

import json
import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.domains.architecture.table import CELL_SPACES, TableDomain
from bostruct.kernels.otmann.distance import otmann_distances
from bostruct.testing.domain_laws import check_domain, check_enumeration
from tests.architectures import renumbered

NONE, SKIP, CONV1, CONV3, POOL = range(5)
FROM, TO = (0, 0, 1, 0, 1, 2), (1, 2, 2, 3, 3, 3)


@pytest.fixture(scope="module")
def cells() -> TableDomain:
    return TableDomain("nasbench201")


@pytest.fixture(scope="module")
def micro() -> TableDomain:
    return TableDomain("transnas-micro")


def some_codes(space: str, m: int, seed: int = 0) -> tuple[tuple[int, ...], ...]:
    counts = [len(names) for names in CELL_SPACES[space].choices]
    rng = np.random.default_rng(seed)
    return tuple({tuple(map(int, rng.integers(0, counts))): None for _ in range(m)})


def computed(code: tuple[int, ...], weights: np.ndarray) -> np.ndarray:
    """A stand-in for what a NAS-Bench-201 cell computes: each operation is its own function of position and kind."""
    tensors = [np.array([1.0, 0.3, -0.2]), *np.zeros((3, 3))]
    for place, choice in enumerate(code):
        given = tensors[FROM[place]]
        if choice == SKIP:
            tensors[TO[place]] = tensors[TO[place]] + given
        elif choice != NONE and given.any():
            tensors[TO[place]] = tensors[TO[place]] + np.tanh(weights[choice] @ given)
    return tensors[3]


class TestMapping:
    def test_what_computes_nothing_is_left_out(self, cells):
        chain = cells.parse([CONV3, NONE, CONV1, NONE, NONE, POOL])
        assert " ".join(layer.label for layer in chain.layers) == "ip stem conv3 conv1 avg-pool classifier op"
        assert cells.parse([CONV3, NONE, CONV1, SKIP, NONE, NONE]) == cells.parse([NONE] * 3 + [SKIP, NONE, NONE])
        assert cells.parse([NONE, POOL, CONV3, SKIP, CONV1, NONE]) == cells.parse([POOL, CONV1, NONE, SKIP, NONE, NONE])

    def test_a_skip_is_an_edge_and_a_sum_of_equal_tensors_is_not_one_of_them(self, cells):
        residual = cells.parse([CONV3, NONE, NONE, SKIP, SKIP, NONE])
        assert residual.edges == ((0, 1), (1, 2), (1, 3), (2, 3), (3, 4))
        twice = cells.parse([SKIP, NONE, NONE, SKIP, SKIP, NONE])
        assert [layer.label for layer in twice.layers] == ["ip", "stem", "skip", "classifier", "op"]
        assert twice != cells.parse([NONE, NONE, NONE, SKIP, NONE, NONE])

    def test_a_cell_that_gives_nothing_is_one_point(self, cells):
        nothing = cells.parse([NONE] * 6)
        assert "zero" in [layer.label for layer in nothing.layers]
        assert cells.parse([CONV3, CONV3, CONV3, NONE, NONE, NONE]) == nothing
        others = [cells.at(place) for place in range(0, cells.size, 97) if place != cells.index_of(nothing)]
        assert all("zero" not in [layer.label for layer in x.layers] for x in others)

    def test_isomorphic_cells_compute_the_same(self, cells):
        weights = np.random.default_rng(0).standard_normal((5, 3, 3))
        shared = [codes for codes in cells.members if len(codes) > 1]
        assert len(shared) == 1179
        for codes in shared:
            values = [computed(code, weights) for code in codes]
            np.testing.assert_allclose(values, np.broadcast_to(values[0], (len(codes), 3)), atol=1e-12)

    def test_there_are_fewer_points_than_published_expressions(self, cells):
        """Published: 6,466 cells, by expressions that keep the zeros that are added (Dong and Yang 2020)."""
        assert len({expression(code) for code in product(range(5), repeat=6)}) == 6466
        assert cells.size == 5425

    def test_the_key_of_a_table_tells_apart_what_fingerprints_do(self, cells, micro):
        for domain in (cells, micro):
            prints: dict[str, int] = {}
            for place in range(domain.size):
                assert prints.setdefault(domain.at(place).fingerprint, place) == place
            for place, codes in enumerate(domain.members):
                for code in codes[-1:]:
                    assert prints[domain.cells.architecture(code).fingerprint] == place

    def test_operations_of_node_cells_add_what_their_adjacency_says(self):
        bits = np.zeros((7, 7), dtype=int)
        for u, v in ((0, 1), (0, 2), (1, 3), (2, 3), (3, 6), (0, 6), (4, 6), (0, 5)):
            bits[u, v] = 1
        code = (*map(int, bits[np.triu_indices(7, 1)]), 2, 1, 0, 2, 2)
        drawn = CELL_SPACES["nasbench101"].architecture(code)
        assert " ".join(layer.label for layer in drawn.layers) == "ip stem conv3 conv1 max-pool classifier op"
        assert drawn.edges == ((0, 1), (1, 2), (1, 3), (1, 5), (2, 4), (3, 4), (4, 5), (5, 6))

    def test_modules_double_their_units_and_halve_the_image_as_their_digit_says(self):
        drawn = CELL_SPACES["transnas-macro"].architecture((1, 2, 3, 4, 0, 0))
        shown = "ip conv3-64 res3-64 res3-64 res3-128 res3-128 res3-128/2 res3-128 res3-256/2 res3-256 softmax op"
        assert str(drawn) == shown

    def test_codes_are_written_as_published(self, cells, micro):
        text = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|none~2|"
        assert cells.cells.to_string((CONV3, NONE, SKIP, POOL, CONV1, NONE)) == text
        assert cells.parse(text) == cells.parse([CONV3, NONE, SKIP, POOL, CONV1, NONE])
        assert micro.parse("3_01_210") == micro.parse([3, 0, 1, 2, 1, 0])


def expression(code: tuple[int, ...]) -> str:
    """The published rule: a zero alone passes on as zero, a zero added to others stays in the expression."""
    tensors = ["0", "", "", ""]
    for tensor in (1, 2, 3):
        terms = []
        for place in (p for p in range(6) if TO[p] == tensor):
            given, choice = tensors[FROM[place]], code[place]
            zero = choice == NONE or given == "#"
            terms.append("#" if zero else given if choice == SKIP else f"({given})@{choice}")
        tensors[tensor] = "+".join(sorted(terms))
    return tensors[3]


REFUSED_POINTS = [
    ("|none~0|", "is not in the table of nasbench201; it has '.none~0."),
    ([0, 1, 2], "the code \\(0, 1, 2\\) is not in the table"),
    ([[0], 1, 2, 3, 4, 0], "is not in the table"),
    (bo.Architecture.chain("conv3-16 softmax"), "expected an architecture of the family cell, got one of cnn"),
    ({"family": "cell", "layers": ["ip", "classifier", "op"], "edges": [[0, 1], [1, 2]]}, "is not in the table"),
    (3.0, "expected an Architecture, got 3.0"),
]


REFUSED_TABLES = [
    ("nasbench301", None, "space: expected one of nasbench201"),
    ("nasbench201", ((0, 0, 0, 0, 0, 5),), r"codes\[0\]: expected choices below"),
    ("nasbench201", ((0, 0, 0),), r"codes\[0\]: expected choices below"),
    ("nasbench201", ((0,) * 6, (0,) * 6), "no duplicates"),
    ("nasbench201", (), "at least one"),
]


class TestDomain:
    @pytest.mark.parametrize("space", ["nasbench201", "transnas-micro"])
    def test_keeps_the_laws_of_domains(self, space, cells, micro):
        check_domain({"nasbench201": cells, "transnas-micro": micro}[space], np.random.default_rng(0))

    @pytest.mark.parametrize("space", sorted(CELL_SPACES))
    def test_keeps_them_where_the_table_holds_only_some_codes(self, space, rng):
        domain = TableDomain(space, some_codes(space, 25))
        check_domain(domain, rng)
        check_enumeration(domain, [domain.at(place) for place in range(domain.size)], rng)

    def test_neighbors_are_all_that_one_operation_makes(self, micro, rng):
        x = micro.sample(1, np.random.default_rng(4))[0]
        made = set()
        for code in micro.members[micro.index_of(x)]:
            for place, choice in product(range(6), range(4)):
                made.add(micro.parse([*code[:place], choice, *code[place + 1 :]]))
        assert set(micro.neighbors(x)) == made - {x}
        assert {micro.mutate(x, rng) for _ in range(2000)} == made - {x}

    @given(place=st.integers(0, 5424), seed=st.integers(0, 1000))
    @settings(max_examples=60, deadline=None)
    def test_an_isomorphic_architecture_is_found(self, cells, place, seed):
        assert cells.index_of(renumbered(cells.at(place), np.random.default_rng(seed))) == place

    def test_what_is_refused_is_not_remembered(self, micro):
        known = len(micro._codes.met)
        for units in range(1, 20):
            with pytest.raises(PointError, match="is not in the table"):
                micro.index_of(bo.Architecture.chain(f"stem-{units} conv3-{units} classifier", "cell"))
        assert len(micro._codes.met) == known

    def test_cells_round_trip_by_their_json(self, cells):
        x = cells.at(1000)
        assert bo.Architecture.from_json(json.loads(json.dumps(x.to_json()))) == x

    def test_a_single_point_has_no_other(self):
        domain = TableDomain("transnas-macro", ((1, 1, 1, 4, 0, 0),))
        assert (domain.size, len(domain.neighbors(domain.at(0)))) == (1, 0)
        with pytest.raises(DomainError, match="no other architecture"):
            domain.mutate(domain.at(0), np.random.default_rng(0))

    def test_travels_without_what_can_be_derived(self, cells):
        assert len(pickle.dumps(cells)) < 200
        assert pickle.loads(pickle.dumps(cells)) == cells

    def test_a_study_is_taken_up_again_from_its_file(self, micro, tmp_path):
        def n_layers(x: bo.Architecture) -> float:
            return -float(len(x))

        first = bo.minimize(n_layers, micro, method="evolution", n_trials=8, seed=1, storage=tmp_path / "s.db")
        with bo.Study.load(tmp_path / "s.db") as study:
            result = study.optimize(n_layers, 14, progress=False)
        assert [t.point for t in result.trials[:8]] == [t.point for t in first.trials]
        assert len({t.point for t in result.trials}) == 14
        whole = bo.minimize(n_layers, micro, method="evolution", n_trials=14, seed=1)
        assert [t.point for t in whole.trials] == [t.point for t in result.trials]

    @pytest.mark.parametrize(("point", "said"), REFUSED_POINTS)
    def test_refuses_what_the_table_does_not_hold(self, cells, point, said):
        with pytest.raises(PointError, match=said):
            cells.parse(point)

    @pytest.mark.parametrize(("space", "codes", "said"), REFUSED_TABLES)
    def test_refuses_what_is_no_table(self, space, codes, said):
        with pytest.raises(DomainError, match=said):
            TableDomain(space, codes)


def test_operations_add_up_their_inputs(cells):
    """A convolution of 64 channels is given 64, however many tensors are added before it."""
    x = cells.parse([CONV3, SKIP, CONV3, SKIP, CONV1, CONV1])
    assert max(map(len, x.parents)) > 1
    assert all(mass in (0.0, 64.0, 64.0 * 64.0) for mass in x.masses)


def test_distances_between_cells_vary_and_vanish_only_on_the_same_cell(cells):
    xs = [cells.at(place) for place in np.random.default_rng(0).choice(cells.size, 60, replace=False)]
    far = otmann_distances(xs).normalized
    off = far[np.triu_indices(len(xs), 1)]
    np.testing.assert_allclose(np.diagonal(far).T, 0.0, atol=1e-12)
    assert off.min() > 0.0
    assert (off.std(axis=0) > 0.1).all()
