"""Vizier's copies of the problems of the COMBO paper give the values that ours give, where the package is installed."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct.problems.contamination as contamination_problem
import bostruct.problems.ising as ising_problem

combo = pytest.importorskip("vizier._src.benchmarks.experimenters.combo_experimenter")


def test_contamination_has_the_same_rates_and_values():
    ours = contamination_problem.contamination(case=758, strength=1e-2)
    theirs = combo.ContaminationExperimenter(lamda=1e-2, random_seed=758)
    rows = ours.space.sample(50, np.random.default_rng(0))
    rates = (theirs._init_z, theirs._lambdas, theirs._gammas)
    values = [theirs._contamination(x, np.ones(25), *rates, u=0.1, epsilon=0.05) + 1e-2 * x.sum() for x in rows]
    np.testing.assert_allclose(ours.evaluate(rows), values, rtol=1e-12)


def test_ising_agrees_on_couplings_of_ours():
    """Vizier draws couplings of its own, by NumPy; ours are those that torch draws in the paper's code."""
    ours = ising_problem.ising(case=1286, strength=1e-2)
    theirs = combo.IsingExperimenter(random_seed=0)
    theirs._interaction = ising_problem.couplings(1286)
    covariance, partition = combo.common.spin_covariance(theirs._interaction, (4, 4))
    rows = ours.space.sample(5, np.random.default_rng(0))
    for x, value in zip(rows, ours.evaluate(rows), strict=True):
        across, down = theirs._bocs_consistency_mapping(x)
        kept = across * theirs._interaction[0], down * theirs._interaction[1]
        divergence = combo.common.ising_dense(
            ising_grid_h=4,
            interaction_original=theirs._interaction,
            interaction_sparsified=kept,
            covariance=covariance,
            log_partition_original=np.log(partition),
            log_partition_new=combo.common.log_partition(kept, (4, 4)),
        )
        assert divergence + 1e-2 * x.sum() == pytest.approx(value, rel=1e-6)
