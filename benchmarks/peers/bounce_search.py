"""Bounce (Papenmeier et al. 2023) as a search: embeddings that grow, and a trust region in each.

It draws five initial points of its own, which lie in its first embedding, so it cannot start with the initial points of
the other searches. Orders are represented as numbers, rounded to the nearest choice. Its settings are in `default.gin`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.peers.further_searches import seed_all
from benchmarks.peers.searches import Point, Steps, Task, is_order, list_unconditional, range_of
from benchmarks.peers.stepping import step_through

BUDGET = 100  # evaluations for which it plans its embeddings
FIRST_EMBEDDING = 5  # dimensions, and initial points


def bounce(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by Bounce's defaults; the initial points are not used."""
    del initial  # it draws its own
    import gin
    import torch
    from bounce.benchmarks import Benchmark
    from bounce.bounce import Bounce
    from bounce.util.benchmark import Parameter, ParameterType

    seed_all(torch, seed)
    gin.parse_config("TrustRegion.length_init_discrete = 10", skip_unknown=True)
    variables = list_unconditional(task.space)
    kinds = {True: ParameterType.CONTINUOUS, False: ParameterType.CATEGORICAL}
    parameters = [
        Parameter(name, ParameterType.BINARY, 0, 1)
        if _is_bit(variable)
        else Parameter(name, kinds[_is_number(variable)], 0, 1 if _is_number(variable) else variable.size - 1)
        for name, variable in variables
    ]

    def run(value_of: Callable[[Point], float]) -> None:
        class Objective(Benchmark):
            def __call__(self, xs: Any) -> Any:
                return torch.tensor([value_of(_decode(variables, row)) for row in np.atleast_2d(xs)]).double()

        Bounce(
            Objective(parameters, None),
            number_initial_points=FIRST_EMBEDDING,
            initial_target_dimensionality=min(FIRST_EMBEDDING, len(variables)),
            number_new_bins_on_split=2,
            maximum_number_evaluations=BUDGET,
            batch_size=1,
            results_dir=tempfile.mkdtemp(),
            device="cpu",
            dtype="float64",
        ).run()

    yield from step_through(run)


def _is_number(variable: Any) -> bool:
    return range_of(variable) is not None or (is_order(variable) and not _is_bit(variable))


def _is_bit(variable: Any) -> bool:
    return range_of(variable) is None and variable.size == 2


def _decode(variables: Sequence[tuple[str, Any]], vector: np.ndarray) -> dict[str, Any]:
    """Return the point of a vector, in which a category has an entry for each choice."""
    point, start = {}, 0
    for name, variable in variables:
        width = 1 if _is_bit(variable) or _is_number(variable) else variable.size
        own = np.asarray(vector[start : start + width], dtype=np.float64)
        point[name] = _value(variable, own)
        start += width
    return point


def _value(variable: Any, own: np.ndarray) -> Any:
    if (numbers := range_of(variable)) is not None:
        return numbers.at(float(own[0]), variable.kind)
    position = int(np.argmax(own)) if len(own) > 1 else round(float(own[0]) * (variable.size - 1))
    return variable.choices[position]
