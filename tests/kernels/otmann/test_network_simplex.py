"""The network simplex method: optimal against a linear program, feasible flows, and starts from other costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bostruct.contracts import Array
from bostruct.kernels.otmann.network_simplex import (
    FLOW,
    PARENT,
    Workspace,
    allocate_workspace,
    solve,
    start_unmatched,
)
from tests.kernels.otmann.oracle import least_cost

AMOUNTS = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.0, 3.25, 1e6])


@st.composite
def problems(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Costs of a unit, from small numbers so that ties are many, and the amounts of rows and columns."""
    a, b = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    costs = draw(st.lists(st.integers(-4, 2), min_size=a * b, max_size=a * b))
    supply, demand = (draw(st.lists(AMOUNTS, min_size=k, max_size=k)) for k in (a, b))
    return np.array(costs, dtype=float).reshape(a, b) / 2.0, np.array(supply), np.array(demand)


def started(supply: Array, demand: Array, size: int) -> Workspace:
    """Memory, larger than needed or not, with nothing shipped."""
    work = allocate_workspace(size)
    work.cost[:] = work.values[:] = np.nan
    start_unmatched(supply, demand, work.cost, work.links, work.values)
    return work


def solve_at(cost: Array, demand: Array, work: Workspace, *steps: int) -> float:
    """Solve at costs of which those that are never matched become infinite."""
    (a, b), costs = cost.shape, work.cost
    costs[:a, 0] = 0.0
    costs[:a, 1 : b + 1] = np.where((cost < 0.0) & (demand > 0.0), cost, np.inf)
    return solve(a, b, *work, *steps)


def shipped_mass(work: Workspace, a: int, b: int) -> Array:
    """What each column gets from each row (a, b)."""
    flow, root = np.zeros((a, b)), work.cost.shape[1]
    for k in (*range(a), *range(root + 1, root + 1 + b)):
        parent = int(work.links[PARENT, k])
        if parent != root:
            flow[min(k, parent), max(k, parent) - root - 1] = work.values[FLOW, k]
    return flow


def check_solution(cost: Array, supply: Array, demand: Array, total: float, work: Workspace) -> None:
    shipped = shipped_mass(work, *cost.shape)
    scale = 1.0 + supply.sum() + demand.sum()
    assert shipped.min() >= 0.0
    assert np.all(shipped.sum(axis=1) <= supply + 1e-9 * scale)
    assert np.all(shipped.sum(axis=0) <= demand + 1e-9 * scale)
    assert abs(total - np.sum(shipped * cost)) <= 1e-9 * scale
    assert abs(total - least_cost(cost, supply, demand)) <= 1e-9 * scale


@settings(max_examples=150)
@given(problems())
def test_transport_is_optimal_and_its_flow_feasible(problem):
    cost, supply, demand = problem
    work = started(supply, demand, 11)
    total = solve_at(cost, demand, work)
    check_solution(cost, supply, demand, total, work)


@settings(max_examples=100)
@given(problems(), st.lists(st.integers(0, 8), min_size=36, max_size=36))
def test_a_solution_is_a_start_where_costs_are_less(problem, savings):
    cost, supply, demand = problem
    work = started(supply, demand, 6)
    structure = np.array(savings, dtype=float).reshape(6, 6)[: cost.shape[0], : cost.shape[1]] / 4.0
    for weight in (1.5, 0.5, 0.1, 0.0):
        dearer = cost + weight * structure
        total = solve_at(dearer, demand, work)
        check_solution(dearer, supply, demand, total, work)


def test_nothing_is_shipped_at_a_loss():
    cost, supply, demand = np.array([[0.5, 0.0], [1.0, 2.0]]), np.ones(2), np.ones(2)
    work = started(supply, demand, 2)
    assert solve_at(cost, demand, work) == 0.0
    assert not shipped_mass(work, 2, 2).any()


def test_many_ties_end():
    """All masses equal and all costs equal: nearly every step has length 0."""
    n = 30
    supply = demand = np.ones(n)
    work = started(supply, demand, n)
    assert solve_at(np.full((n, n), -1.0), demand, work) == -n
    cyclic = -1.0 - ((np.arange(n)[:, None] + np.arange(n)) % 3 == 0)
    assert solve_at(cyclic, demand, work) == -2.0 * n


def test_too_many_steps_are_an_error():
    cost, ones = -np.ones((2, 3)), (np.ones(2), np.ones(3))
    with pytest.raises(ArithmeticError, match="too many steps"):
        solve_at(cost, ones[1], started(*ones, 3), 0)
    assert solve_at(cost, ones[1], started(*ones, 3), 1) == -2.0


@settings(max_examples=100)
@given(problems(), st.lists(st.sampled_from([np.nan, np.inf, -np.inf]), min_size=12, max_size=12))
def test_masses_that_are_not_finite_are_an_error_and_leave_a_tree(problem, masses):
    """An arc to drop is found whatever it carries; where none was found, nodes were numbered -1."""
    cost = problem[0]
    a, b = cost.shape
    work = started(np.array(masses[:a]), np.array(masses[6 : 6 + b]), 6)
    root = work.cost.shape[1]
    with pytest.raises(ArithmeticError, match="expected finite masses"):
        solve_at(cost, np.ones(b), work)
    for k in (*range(a), *range(root, root + 1 + b)):
        for _ in range(a + b):
            k = int(work.links[PARENT, k]) if k != root else root
        assert k == root
