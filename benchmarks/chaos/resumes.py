"""A study that is killed five times, in the objective or between two steps, equals an uninterrupted study."""

from __future__ import annotations

import os
import signal
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import bostruct as bo
from benchmarks.chaos.isolation import call_isolated
from benchmarks.chaos.random_spaces import Rule
from benchmarks.chaos.row import Row, Verdict, make_rng
from bostruct.contracts import DomainError
from bostruct.language import D, SearchSpace, siso_module, siso_or, siso_repeat
from bostruct.storage.json_text import dump

TRIALS = 27  # most models begin after 20
KILLS = 5
LIMIT = 600.0  # seconds of wall time for one process on a busy machine


def mixed_space(**given: Any) -> bo.Space:
    """Return a space of the variables that every method for spaces supports."""
    variables = {f"bit{i}": bool for i in range(6)} | {f"kind{i}": ["a", "b", "c"] for i in range(3)}
    return bo.Space(variables | {"level": bo.Ordinal([1, 2, 4, 8]), "count": bo.Integer(0, 9)}, **given)


def real_space() -> bo.Space:
    return bo.Space(
        {"rate": bo.Real(1e-4, 1.0, log=True), "share": bo.Real(0.0, 1.0), "kind": ["a", "b", "c"], "on": bool}
    )


def fidelity_space() -> bo.Space:
    return bo.Space({"epochs": bo.Fidelity([1, 3, 9]), "kind": ["a", "b", "c"], "count": bo.Integer(0, 99), "on": bool})


def loose_space() -> bo.Space:
    return mixed_space(constraints=[lambda point: sum(point[f"bit{i}"] for i in range(6)) <= 3])


def tight_space() -> bo.Space:
    """Return a space of 2^25 points, one in 100,000 of them valid: random walks find them, uniform samples do not."""
    names = [f"bit{i}" for i in range(25)]
    planted = {name: int(name[3:]) < 9 for name in names}
    count = lambda point: sum(point[name] for name in names) <= 12  # noqa: E731
    chain = lambda point: all(point[a] or not point[b] for a, b in zip(names, names[3:], strict=False))  # noqa: E731
    lottery = lambda point: zlib.crc32(str(list(point.values())).encode()) % 10 < 7  # noqa: E731
    return bo.Space(dict.fromkeys(names, bool), constraints=[Rule(rule, planted) for rule in (count, chain, lottery)])


def program_space() -> SearchSpace:
    def network() -> Any:
        dense = lambda: siso_module("Dense", {"units": D([32, 64, 128, 256])})  # noqa: E731
        layer = lambda: siso_or([dense, lambda: siso_module("ReLU"), lambda: siso_module("Tanh")], D([0, 1, 2]))  # noqa: E731
        return siso_repeat(layer, D([1, 2, 3, 4]))

    return SearchSpace(network)


def joint() -> Any:
    return bo.joint_domain({"network": bo.mlp_domain(), "training": {"rate": [0.1, 0.01], "batch": [32, 64, 128]}})


DOMAINS: dict[str, Callable[[], Any]] = {
    "mixed": mixed_space,
    "real": real_space,
    "fidelity": fidelity_space,
    "loose": loose_space,
    "tight": tight_space,
    "architectures": bo.mlp_domain,
    "joint": joint,
    "programs": program_space,
}


def takes(method: str, kind: str) -> bool:
    """Return whether a method supports a kind of domain."""
    try:
        bo.Study(DOMAINS[kind](), method=method, seed=0)
    except DomainError:
        return False
    return True


def objective(domain: Any, point: Any) -> float:
    """Return a value that depends on the whole point, or raise ValueError at a tenth of the points."""
    number = zlib.crc32(dump(domain.encode(domain.parse(point))).encode())
    if number % 10 == 3:
        raise ValueError(f"number {number}")
    return number / 2**32


def what_happened(study: bo.Study) -> list[Any]:
    """Return everything in a study except times and attempts."""
    trials = [
        (
            trial.number,
            dump(study.domain.encode(study.domain.parse(trial.point))),
            trial.status,
            trial.value,
            trial.reason,
            dump({name: part for name, part in trial.info.items() if name not in ("suggest_seconds", "attempts")}),
        )
        for trial in (replace(trial, started=0.0) for trial in study.trials)
    ]
    return [trials, study.result.order, study._ledger.state]


def run_through(method: str, kind: str) -> list[Any]:
    domain = DOMAINS[kind]()
    study = bo.Study(domain, method=method, seed=1)
    study.optimize(lambda point: objective(domain, point), TRIALS, progress=False)
    return what_happened(study)


def run_until(method: str, kind: str, file: Path, kill_at: tuple[int, str] | None) -> list[Any]:
    """Open a study and run it to its end, or kill this process before, in or after the evaluation of one trial."""
    domain = DOMAINS[kind]()
    with bo.Study(domain, method=method, seed=1, storage=file) as study:

        def kill(now: str, number: int) -> None:
            if kill_at == (number, now):
                os.kill(os.getpid(), signal.SIGKILL)

        while study.n_finished < TRIALS:
            trial = study.ask()
            kill("asked", trial.number)
            try:
                value, reason = objective(domain, trial.point), None
            except ValueError as error:
                value, reason = None, f"ValueError: {error}"
            kill("evaluated", trial.number)
            study.tell(trial, value, failed=reason)
            kill("told", trial.number)
        return what_happened(study)


def run_case(case: str, folder: Path) -> Verdict:
    """Kill the study of a method on a kind of domain five times, and compare it with an uninterrupted one."""
    method, kind = case.split(" on ")
    verdict, rng = Verdict(), make_rng("resumes", case)
    expected = call_isolated(lambda: run_through(method, kind), LIMIT)
    if expected.trouble is not None:
        verdict.blame("broken case", expected.trouble)
        return verdict
    at = sorted(rng.choice(TRIALS, size=KILLS, replace=False).tolist())
    places = rng.choice(["asked", "evaluated", "told"], size=KILLS).tolist()
    file = folder / "runs.db"
    for kill_at in zip(at, places, strict=True):
        answer = call_isolated(lambda kill_at=kill_at: run_until(method, kind, file, kill_at), LIMIT)
        if answer.trouble != f"its process ended with status {-signal.SIGKILL}":
            verdict.blame("broken case", f"expected a kill at {kill_at}: {answer}")
    found = call_isolated(lambda: run_until(method, kind, file, None), LIMIT)
    verdict.count("kills", KILLS)
    compare(expected.value, found.value if found.trouble is None else found.trouble, verdict)
    return verdict


def compare(expected: Any, found: Any, verdict: Verdict) -> None:
    """Blame the first difference between two studies."""
    if found == expected:
        return
    pairs = zip(expected[0], found[0], strict=False) if isinstance(found, list) else []
    differ = next((f"{one} became {other}" for one, other in pairs if one != other), None)
    verdict.blame("different", differ or f"{str(expected[1:])[:500]} became {str(found)[-800:]}")


ON_SPACES = ("auto", "evolution", "regularized-evolution", "smac", "tpe", "wrs", "annealing", "hill-climbing", "random")
ON_CHOICES = (*ON_SPACES, "combo", "bocs", "smbo", "mcts", "smbo-mcts")
ON_ARCHITECTURES = (
    "auto",
    "nasbot",
    "evolution",
    "regularized-evolution",
    "smac",
    "annealing",
    "hill-climbing",
    "random",
)
TAKEN = {  # the methods that support each kind of domain
    "mixed": ON_CHOICES,
    "real": ON_SPACES,
    "fidelity": (*ON_CHOICES, "hyperband", "successive-halving", "model-based-hyperband", "successive-narrowing"),
    "loose": ON_CHOICES,
    "tight": ON_CHOICES,
    "architectures": (*ON_ARCHITECTURES, "smbo"),
    "joint": (*ON_ARCHITECTURES, "smbo"),
    "programs": (*ON_SPACES, "smbo", "mcts", "smbo-mcts"),
}
PAIRS = tuple(f"{method} on {kind}" for kind, methods in TAKEN.items() for method in methods)

RESUMES = Row(
    name="resumes",
    what="resumed equals uninterrupted: every method on every kind of space it takes, each killed five times",
    kinds=("different",),
    cases=PAIRS,
    short=("random on tight", "evolution on architectures"),
    run=run_case,
)
