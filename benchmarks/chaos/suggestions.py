"""Suggestions on random spaces: `python -m benchmarks.chaos.suggestions FIRST COUNT` prints a JSON line for each space.

The row of generated spaces runs it with two hash seeds and two numbers of threads: the lines must be equal.
"""

from __future__ import annotations

import json
import signal
import sys
import traceback
from typing import Any

import numpy as np

import bostruct as bo
from benchmarks.chaos.random_spaces import Rule, draw_space, key_of
from bostruct.contracts import BostructError, DomainError, SpaceExhausted
from bostruct.domains.space.call_limit import MAX_CALLS

METHODS = {
    "random": 3, "evolution": 3, "regularized-evolution": 2, "annealing": 3, "hill-climbing": 2, "wrs": 2, "auto": 2,
    "smbo": 1, "mcts": 1, "smac": 1, "tpe": 1, "combo": 1, "bocs": 1, "hyperband": 1, "successive-halving": 1,
    "model-based-hyperband": 1,
}  # fmt: skip
LIMIT = 120  # seconds of CPU for all suggestions on a space by one method
ENUMERABLE = 100_000  # most points of a space that are listed


class TooSlow(BaseException):
    """The time for a space is up."""


def try_space(seed: int) -> dict[str, Any]:
    """Let two methods suggest points of the space of a seed, and return a dict with, among others, these keys.

    points: list of all suggestions, by method.
    faults: pairs of a kind and a description.
    refusals: names and messages of the errors of bostruct.
    """
    rng = np.random.default_rng([zlib_of("spaces"), seed])
    weights = np.array(list(METHODS.values()), dtype=float)
    chosen = rng.choice(list(METHODS), size=2, replace=False, p=weights / weights.sum())
    found: dict[str, Any] = {"seed": seed, "points": {}, "faults": [], "refusals": [], "suggestions": 0}
    for method in chosen.tolist():
        space_rng, steps_rng = (np.random.default_rng([seed, part]) for part in range(2))
        signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
        try:
            space, rules = draw_space(space_rng)
            found["points"][method] = search(space, rules, method, steps_rng, found)
        except TooSlow:
            found["faults"].append(["hangs", f"seed {seed}, {method}: over {LIMIT} s of CPU"])
        except BostructError as error:
            found["refusals"].append(f"{type(error).__name__}: {str(error)[:60]}")
            if not str(error):
                found["faults"].append(["tracebacks", f"seed {seed}, {method}: an error without a message"])
        except Exception:
            found["faults"].append(["tracebacks", f"seed {seed}, {method}: {traceback.format_exc()}"])
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return found


def zlib_of(word: str) -> int:
    """Return a number for a word that is the same in every process."""
    return sum(ord(letter) * 31**i for i, letter in enumerate(word)) % 2**31


def search(
    space: bo.Space, rules: list[Rule], method: str, rng: np.random.Generator, found: dict[str, Any]
) -> list[str]:
    """Add points, ask, and tell most of the trials; return the suggested points, and record faults.

    space: a space with `rules` as constraints.
    method: name of a method.
    rng: random generator of points, values and steps.
    found: takes the faults.
    """
    study = bo.Study(space, method=method, seed=int(rng.integers(2**31)))
    add_points(study, space, rng)
    asked: list[str] = []
    for _ in range(int(rng.integers(2, 7))):
        calls = sum(rule.calls for rule in rules)
        try:
            trial = study.ask()
        except SpaceExhausted as error:
            check_exhausted(study, space, f"seed {found['seed']}, {method}: {error}", found)
            break
        calls = sum(rule.calls for rule in rules) - calls
        found["suggestions"] += 1
        check_point(study, trial, rules, calls, space, f"seed {found['seed']}, {method}", found)
        asked.append(key_of(trial.point))
        if rng.random() < 0.7:
            tell(study, trial, rng)
    return asked


def add_points(study: bo.Study, space: bo.Space, rng: np.random.Generator) -> None:
    """Add up to 25 points with failures or with usual, constant or huge values."""
    count, kind = int(rng.choice([0, 3, 10, 25])), rng.integers(4)
    try:
        points = space.sample(count, rng)
    except DomainError:  # no feasible point is found: the methods must report that too
        return
    for x in points:
        if rng.random() < 0.2:
            study.add(space.present(x), failed="rain")
        else:
            value = (float(rng.normal()), 0.0, 1e12 * float(rng.random() < 0.2), float(rng.normal()) * 1e306)[kind]
            study.add(space.present(x), value)


def tell(study: bo.Study, trial: bo.Trial, rng: np.random.Generator) -> None:
    if rng.random() < 0.2:
        study.tell(trial, failed="rain")
    else:
        study.tell(trial, float(rng.normal()))


def check_point(
    study: bo.Study, trial: bo.Trial, rules: list[Rule], calls: int, space: bo.Space, when: str, found: dict[str, Any]
) -> None:
    """Record a point that breaks a rule or repeats another trial, and predicate calls over the limit."""
    if not all(rule(trial.point) for rule in rules):
        found["faults"].append(["infeasible", f"{when}: {trial.point}"])
    key = key_of(trial.point)
    if any(key_of(other.point) == key for other in study.trials if other.number != trial.number):
        found["faults"].append(["repeated", f"{when}: {trial.point}"])
    listed = len(rules) * space.n_points if space.n_points <= ENUMERABLE else 0
    if calls > MAX_CALLS + listed + 10 * len(rules):
        found["faults"].append(["over the limit of calls", f"{when}: {calls} calls for trial {trial.number}"])


def check_exhausted(study: bo.Study, space: bo.Space, what: str, found: dict[str, Any]) -> None:
    """Record that a space was called exhausted though points are left; for large spaces, the message must say so."""
    if space.n_points > ENUMERABLE:
        found["refusals"].append("SpaceExhausted")
        left = "more may exist" not in what
    else:
        seen = {key_of(trial.point) for trial in study.trials}
        left = any(key_of(space.present(x)) not in seen for x in space.enumerate())
    if left:
        found["faults"].append(["exhausted too soon", what])


def _stop(*_: Any) -> None:
    raise TooSlow


def main() -> None:
    first, count = int(sys.argv[1]), int(sys.argv[2])
    signal.signal(signal.SIGVTALRM, _stop)
    for seed in range(first, first + count):
        print(json.dumps(try_space(seed)), flush=True)


if __name__ == "__main__":
    main()
