"""The landscape over architectures that needs no training."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bostruct as bo
from bostruct import problems
from bostruct.contracts import PointError
from bostruct.domains.architecture.domain import cnn_domain, mlp_domain
from bostruct.problems.landscape import FLOOR, FORMULAS, cnn_terms, mlp_terms
from tests.architectures import GOLDEN, architectures, network, renumbered

KINDS = ("cnn", "mlp")


def sampled(kind: str, m: int, seed: int = 0) -> list[bo.Architecture]:
    return problems.load(f"landscape:kind={kind}").space.sample(m, np.random.default_rng(seed))


class TestLandscape:
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_term_is_finite_and_no_value_is_below_the_floor(self, kind):
        formula, domain = FORMULAS[kind]
        for x in [*domain().pool, *sampled(kind, 60)]:
            terms = formula(x)
            assert all(0.0 <= value < 200.0 for value in terms.values())
            assert problems.load(f"landscape:kind={kind}")(x) == math.fsum([FLOOR, *terms.values()]) >= FLOOR

    @given(x=architectures(), seed=st.integers(0, 1000))
    @settings(max_examples=40, deadline=None)
    def test_isomorphic_architectures_have_one_value_to_the_last_bit(self, x, seed):
        other = renumbered(x, np.random.default_rng(seed))
        for spec in ("landscape", "landscape:noise_sd=2"):
            objective = problems.load(spec).objective
            assert objective(other) == objective(x)

    @pytest.mark.parametrize("kind", KINDS)
    def test_one_change_moves_the_value_less_than_another_sample_does(self, kind):
        problem = problems.load(f"landscape:kind={kind}")
        rng = np.random.default_rng(1)
        xs = sampled(kind, 80)
        values = problem.evaluate(xs)
        changed = problem.evaluate([problem.space.mutate(x, rng) for x in xs])
        near = np.median(np.abs(changed - values))
        assert 0.0 < near < 0.5 * np.median(np.abs(rng.permutation(values) - values))

    def test_depth_has_a_best_value_that_skips_move(self):
        chains = [network(" ".join([*["conv3-32"] * n, "fc-64", "softmax"])) for n in range(2, 40)]
        residual = [network(" ".join([*["res3-32"] * n, "fc-64", "softmax"])) for n in range(2, 40)]
        terms = [[cnn_terms(x) for x in family] for family in (chains, residual)]
        best = [int(np.argmin([t["bias"] + t["training"] for t in family])) for family in terms]
        assert 3 < best[0] < best[1] < 37
        assert terms[1][best[1]]["bias"] + terms[1][best[1]]["training"] < terms[0][best[0]]["bias"]

    def test_widths_arithmetic_and_connections_each_have_a_best_amount(self):
        widths = [cnn_terms(network(f"conv3-{2**k} conv3-{2**k} max-pool fc-64 softmax")) for k in range(3, 11)]
        assert 0 < int(np.argmin([t["width"] for t in widths])) < 7
        assert [t["cost"] for t in widths] == sorted(t["cost"] for t in widths)
        assert cnn_terms(GOLDEN["eg1"])["connectivity"] < cnn_terms(GOLDEN["VGG1"])["connectivity"]
        chain = cnn_terms(network("conv3-8 max-pool fc-8 softmax"))
        assert chain["connectivity"] == pytest.approx(8.0 * 0.3**2 / (0.3**2 + 0.25**2))  # no edge beyond the chain's
        saturated = [mlp_terms(network(f"{'relu-128 ' * (4 - n)}{'tanh-128 ' * n}linear")) for n in range(5)]
        assert int(np.argmin([t["variety"] for t in saturated])) == 1
        assert [t["training"] for t in saturated] == sorted(t["training"] for t in saturated)

    @pytest.mark.parametrize("kind", KINDS)
    def test_there_is_much_to_find_inside_the_bounds_and_a_plain_evolution_finds_it(self, kind):
        problem = problems.load(f"landscape:kind={kind}")
        rng = np.random.default_rng(0)
        kept = sorted(((problem(x), i, x) for i, x in enumerate(problem.space.pool)), key=lambda item: item[:2])
        first = kept[0][0]
        for i in range(400):
            parent = kept[int(rng.integers(min(len(kept), 10)))][2]
            child = problem.space.mutate(parent, rng)
            kept = sorted([*kept, (problem(child), 100 + i, child)], key=lambda item: item[:2])[:40]
        best = kept[0][2]
        assert kept[0][0] < 0.8 * first
        assert kept[0][0] > FLOOR
        assert problem.space.bounds.min_layers < len(best) < problem.space.bounds.max_layers

    def test_noise_is_a_function_of_the_architecture_and_the_seed(self):
        quiet, loud, other = (problems.load(f"landscape:{s}") for s in ("kind=cnn", "noise_sd=2", "noise_sd=2,seed=1"))
        xs = sampled("cnn", 60)
        np.testing.assert_array_equal(loud.evaluate(xs), loud.evaluate(xs))
        assert [loud.noise_free(x) for x in xs] == [quiet(x) for x in xs]
        first, second = (problem.evaluate(xs) - quiet.evaluate(xs) for problem in (loud, other))
        assert (loud.noisy, quiet.noisy) == (True, False)
        assert 1.3 < first.std() < 2.7
        assert abs(np.corrcoef(first, second)[0, 1]) < 0.5

    def test_a_study_minimises_it(self):
        problem = problems.load("landscape:kind=mlp")
        told = {"n_trials": 12, "seed": 0, "initial_points": problem.initial_points(1)}
        result = bo.minimize(problem, problem.space, method="random", **told)
        assert [t.point for t in result.trials[:10]] == problem.initial_points(1)
        assert result.best_value == problem(result.best_point) == problem.reported(result.best_point)

    @pytest.mark.parametrize("kind", KINDS)
    def test_it_is_a_problem_like_every_other(self, kind):
        problem = problems.load(f"landscape:kind={kind}")
        assert problems.load(problem.name) == problem
        moved = pickle.loads(pickle.dumps(problem))
        xs = sampled(kind, 3)
        np.testing.assert_array_equal(moved.evaluate(xs), problem.evaluate(xs))
        assert (problem.evaluate([]).shape, len(set(problem.initial_points(1)))) == ((0,), 10)
        assert problem.initial_points(1) == problem.initial_points(1) != problem.initial_points(2)
        assert problem.space == (cnn_domain() if kind == "cnn" else mlp_domain())
        with pytest.raises(PointError):
            problem("no such layer")

    def test_refusals_name_the_argument(self):
        for spec, named in (
            ("landscape:kind=rnn", "kind: expected one of cnn, mlp"),
            ("landscape:noise_sd=-1", "noise_sd: expected a finite number"),
            ("landscape:relabel=3", "relabel=3: relabel permutes choices"),
        ):
            with pytest.raises(ValueError, match=named):
                problems.load(spec)
        with pytest.raises(ValueError, match="config: expected one of"):
            problems.load("landscape").initial_points(26)
