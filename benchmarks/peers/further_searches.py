"""Nevergrad's NGOpt, HEBO, Ax, Casmopolitan and BODi as searches, with the defaults of their packages.

They start with the initial points of the other searches and have no conditions. Orders and bits are ordered choices for
Nevergrad and Ax; orders are integers for HEBO, Casmopolitan and BODi.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.peers.searches import Point, Steps, Task, is_order, list_unconditional, range_of

BUDGET = 100  # evaluations for which NGOpt chooses its algorithm


def ngopt(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by NGOpt of Nevergrad, planned for 100 evaluations, also if a run takes more."""
    import nevergrad as ng

    warnings.simplefilter("ignore")
    space = ng.p.Dict(**{name: _to_nevergrad(ng, variable) for name, variable in list_unconditional(task.space)})
    space.random_state.seed(seed)
    search = ng.optimizers.NGOpt(parametrization=space, budget=BUDGET, num_workers=1)
    for point in initial:
        search.suggest(dict(point))
    while True:
        found = search.ask()
        search.tell(found, (yield dict(found.value)))


def _to_nevergrad(ng: Any, variable: Any) -> Any:
    if own := range_of(variable):
        scalar = ng.p.Log(lower=own.low, upper=own.high) if own.log else ng.p.Scalar(lower=own.low, upper=own.high)
        return scalar.set_integer_casting() if variable.kind == "Integer" else scalar
    return (ng.p.TransitionChoice if is_order(variable) else ng.p.Choice)(list(variable.choices))


def hebo(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by HEBO (Cowen-Rivers et al. 2022), which uses its model after the initial points."""
    import pandas
    import torch
    from hebo.design_space.design_space import DesignSpace
    from hebo.optimizers.hebo import HEBO

    seed_all(torch, seed)
    variables = list_unconditional(task.space)
    space = DesignSpace().parse([_to_hebo(name, variable) for name, variable in variables])
    search = HEBO(space, rand_sample=len(initial), scramble_seed=seed)
    for point in initial:
        row = {name: _position(variable, point[name]) for name, variable in variables}
        search.observe(pandas.DataFrame([row]), np.array([[(yield point)]]))
    while True:
        asked = search.suggest(1)
        point = {name: _choice_at(variable, asked[name].iloc[0]) for name, variable in variables}
        search.observe(asked, np.array([[(yield point)]]))


def seed_all(torch: Any, seed: int) -> None:
    """Seed all global random generators of a peer, and limit torch to one thread."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the state that peers draw from
    random.seed(seed)


def _to_hebo(name: str, variable: Any) -> dict[str, Any]:
    if own := range_of(variable):
        kind = ("pow_int" if own.log else "int") if variable.kind == "Integer" else ("pow" if own.log else "num")
        return {"name": name, "type": kind, "lb": own.low, "ub": own.high} | ({"base": 10} if own.log else {})
    if variable.ordered:
        return {"name": name, "type": "int", "lb": 0, "ub": variable.size - 1}
    return {"name": name, "type": "cat", "categories": list(range(variable.size))}


def _position(variable: Any, value: Any) -> Any:
    return value if range_of(variable) else list(variable.choices).index(value)


def _choice_at(variable: Any, value: Any) -> Any:
    if range_of(variable):
        return int(value) if variable.kind == "Integer" else float(value)
    return variable.choices[int(value)]


def ax(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by the default of Ax's client, which uses its model after the initial points."""
    import logging

    import torch
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

    logging.disable(logging.WARNING)
    seed_all(torch, seed)
    variables = list_unconditional(task.space)
    client = Client(random_seed=seed)
    client.configure_experiment(
        parameters=[_to_ax(RangeParameterConfig, ChoiceParameterConfig, name, one) for name, one in variables]
    )
    client.configure_optimization(objective="-value")
    client.configure_generation_strategy(
        method="fast", initialization_budget=len(initial), initialization_random_seed=seed
    )
    for point in initial:
        row = {name: _position(variable, point[name]) for name, variable in variables}
        client.complete_trial(client.attach_trial(parameters=row), raw_data={"value": (yield point)})
    while True:
        for number, row in client.get_next_trials(max_trials=1).items():
            point = {name: _choice_at(variable, row[name]) for name, variable in variables}
            client.complete_trial(number, raw_data={"value": (yield point)})


def _to_ax(number: Any, choice: Any, name: str, variable: Any) -> Any:
    if own := range_of(variable):
        whole = variable.kind == "Integer"
        low, high = (int(own.low), int(own.high)) if whole else (own.low, own.high)
        scaling = "log" if own.log else "linear"
        return number(name=name, bounds=(low, high), parameter_type="int" if whole else "float", scaling=scaling)
    values = list(range(variable.size))
    return choice(name=name, values=values, parameter_type="int", is_ordered=bool(is_order(variable)))


def mcbo(method: str, task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by a method as MCBO builds it, which uses its model after the initial points.

    method: "Casmopolitan" (Wan et al. 2021) or "BODi" (Deshwal et al. 2023).
    """
    import pandas
    import torch
    from mcbo.optimizers.bo_builder import BO_ALGOS
    from mcbo.search_space import SearchSpace

    seed_all(torch, seed)
    variables = list_unconditional(task.space)
    space = SearchSpace([_to_mcbo(name, variable) for name, variable in variables])
    search = BO_ALGOS[method].build_bo(search_space=space, n_init=len(initial), device=torch.device("cpu"))
    rows = [{name: _position(variable, point[name]) for name, variable in variables} for point in initial]
    search.set_x_init(pandas.DataFrame(rows))
    while True:
        asked = search.suggest(1)
        point = {name: _choice_at(variable, asked[name].iloc[0]) for name, variable in variables}
        search.observe(asked, np.array([[(yield point)]]))


def _to_mcbo(name: str, variable: Any) -> dict[str, Any]:
    found = _to_hebo(name, variable)
    return found | {"type": "nominal"} if found["type"] == "cat" else found
