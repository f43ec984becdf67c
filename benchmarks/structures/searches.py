"""The compared searches on structures: methods of this package, climbing by swaps, Optuna and BoTorch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

import bostruct as bo
from benchmarks.peers.searches import Search, Steps, optuna, ours, penalize
from benchmarks.peers.tasks import Point, Task
from benchmarks.structures.tanimoto import search_by_tanimoto


def climb_by_swaps(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Swap two different random items of the best order, and continue from the new order unless it is worse.

    task: a task whose only variable is an order.
    initial: initial points.
    seed: seed of the swaps.
    """
    rng, (name,) = np.random.default_rng([seed, 5]), task.space.variables
    best, least = list(initial[0][name]), math.inf
    for point in initial:
        value = yield point
        if value < least:
            best, least = list(point[name]), value
    while True:
        i, j = rng.choice(len(best), 2, replace=False)
        if best[i] == best[j]:
            continue
        order = list(best)
        order[i], order[j] = order[j], order[i]
        value = yield {name: tuple(order)}
        if value <= least:
            best, least = order, value


def optuna_tpe(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by Optuna's TPE: orders as Lehmer codes, sequences letter by letter, choices unchanged.

    task: a task over one order, one sequence of fixed length, or choices.
    initial: initial points.
    seed: seed of the sampler.
    """
    first = next(iter(task.space.variables.values()))
    if isinstance(first, bo.Permutation):
        return optuna_on_codes(task, initial, seed)
    if isinstance(first, bo.Sequence):
        return optuna_on_letters(task, initial, seed)
    return optuna("TPESampler", task, initial, seed)


def optuna_on_letters(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by Optuna's TPE, with one categorical letter for each place of a sequence.

    task: a task whose only variable is a sequence of fixed length.
    initial: initial points.
    seed: seed of the sampler.
    """
    ((name, sequence),) = task.space.variables.items()
    assert isinstance(sequence, bo.Sequence)
    places = [f"p{i}" for i in range(sequence.width)]
    letters = bo.Space(dict.fromkeys(places, bo.Categorical(sequence.letters)))
    spelled = [dict(zip(places, point[name], strict=True)) for point in initial]
    steps = optuna("TPESampler", task._replace(space=letters), spelled, seed)
    return _translate(steps, lambda point: {name: "".join(point[place] for place in places)})


def optuna_on_codes(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by Optuna's TPE on Lehmer codes: the i-th integer selects the item of place i among those left.

    task: a task whose only variable is an order.
    initial: initial points.
    seed: seed of the sampler.
    """
    import optuna as peer

    peer.logging.set_verbosity(peer.logging.ERROR)
    warnings.simplefilter("ignore")
    ((name, order),) = task.space.variables.items()
    assert isinstance(order, bo.Permutation)
    sampler = peer.samplers.TPESampler(seed=seed, n_startup_trials=len(initial), multivariate=True)
    study = peer.create_study(sampler=sampler)
    for point in initial:
        study.enqueue_trial({f"c{i}": digit for i, digit in enumerate(to_code(order.parse(point[name])))})
    while True:
        trial = study.ask()
        code = [trial.suggest_int(f"c{i}", 0, order.width - 1 - i) for i in range(order.width - 1)]
        study.tell(trial, (yield {name: order.present(from_code(code))}))


def auto_on_bits(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search by `auto` with one bit for each item, under a constraint on the number of set bits.

    task: a task whose only variable is a subset of fixed size.
    initial: initial points.
    seed: seed of the search.
    """
    ((name, subset),) = task.space.variables.items()
    assert isinstance(subset, bo.Subset)
    size = subset.sizes[0]
    space = bo.Space({f"b{i}": bool for i in range(subset.width)}, [lambda point: sum(point.values()) == size])
    bits = [{f"b{i}": item in point[name] for i, item in enumerate(subset.items)} for point in initial]
    steps = ours("auto", Task(space, task.value), bits, seed)
    return _translate(steps, lambda point: {name: tuple(i for k, i in enumerate(subset.items) if point[f"b{k}"])})


def _translate(steps: Steps, back: Callable[[Point], Point]) -> Steps:
    """Run a search whose points have another form.

    steps: the search in the other form.
    back: converts its points to points of the task.
    """
    point = next(steps)
    while True:
        point = steps.send((yield back(point)))


def without_similarity(task: Task, initial: Sequence[Point], seed: int) -> Steps:
    """Search the same choices by `auto` without information on their similarity.

    task: a task over categories.
    initial: initial points.
    seed: seed of the search.
    """
    choices = {name: getattr(one, "choices", ()) for name, one in task.space.variables.items()}
    plain = {name: bo.Categorical(own) for name, own in choices.items()}
    return ours("auto", task._replace(space=bo.Space(plain, task.space.constraints)), initial, seed)


def to_code(row: Sequence[int]) -> list[int]:
    """Return the Lehmer code of an order: how many smaller numbers follow each number, without the last 0.

    row: 0..n - 1 in any order.
    """
    return [sum(later < number for later in row[i + 1 :]) for i, number in enumerate(row[:-1])]


def from_code(code: Sequence[int]) -> list[int]:
    """Return the order with a Lehmer code.

    code: a code from `to_code`.
    """
    left = list(range(len(code) + 1))
    return [left.pop(digit) for digit in (*code, 0)]


OURS = ("auto", "hill-climbing", "annealing", "evolution", "random", "tpe")
SEARCHES: dict[str, Search] = {
    **{name: partial(ours, name) for name in OURS},
    "climbing by swaps": climb_by_swaps,
    "bits with a predicate": auto_on_bits,
    "auto on plain categories": without_similarity,
    "Optuna TPE": partial(penalize, optuna_tpe),
    "Optuna GP": partial(penalize, partial(optuna, "GPSampler")),
    "BoTorch Tanimoto": search_by_tanimoto,
}
