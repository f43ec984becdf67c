"""Compare the suggestions of two revisions of bostruct number by number, to check that refactoring changes nothing.

    python -m benchmarks.trajectories REVISION [--quick] [--kinds NAME ...] [--methods NAME ...]

Every method searches the kinds of domains that it supports, of fourteen kinds and one with a fidelity, with two seeds
and 40 trials each. Some trials fail. After each trial three digests are taken: of its point, of the numbers in the
searcher's state, and of the numbers in the trial's info. Seconds, strings and names of classes are ignored; renamed
keys are treated as equal (`RENAMED`). The command puts REVISION into a worktree, runs both revisions at the same time
on this machine, lists each pair with different digests and the first such trial, and exits with 1 if there are any.

--quick takes bits, a mixed space, a permutation and architectures, 15 trials and one seed; use it before each commit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TRIALS, SEEDS = 40, (0, 1)
QUICK_TRIALS, QUICK_KINDS = 15, ("bits", "mixed", "permutation", "architectures")
ASPECTS = ("points", "state", "info")
RENAMED: dict[str, str] = {}  # keys of states and infos, old to new
UNCOMPARED = ("seconds", "time", "started", "finished", "version")  # parts of keys
FAILING_SHARE = 0.08  # of points


def make_domains() -> dict[str, Callable[[Any], Any]]:
    """Return functions that make a domain of each kind, given the package."""
    import networkx

    return {
        "bits": lambda bo: bo.Space({f"b{i}": bool for i in range(20)}),
        "categories": lambda bo: bo.Space({f"c{i}": list("abcde")[: 3 + i % 3] for i in range(8)}),
        "ordinals": lambda bo: bo.Space(
            {f"o{i}": bo.Ordinal([1, 2, 4, 8, 16]) for i in range(5)} | {"g": bo.Graph(networkx.cycle_graph(5))}
        ),
        "reals": lambda bo: bo.Space({"u": bo.Real(0, 1), "v": bo.Real(1e-4, 1, log=True), "w": bo.Real(-3, 3)}),
        "mixed": lambda bo: bo.Space(
            {
                "u": bo.Real(0, 1),
                "n": bo.Integer(1, 9),
                "m": bo.Integer(1, 9_000, log=True),
                "c": list("abc"),
                "b": bool,
            }
        ),
        "conditional": lambda bo: bo.Space(
            {
                "optimizer": ["sgd", "adam", "none"],
                "momentum": bo.Ordinal([0.0, 0.5, 0.9], when={"optimizer": "sgd"}),
                "beta": bo.Ordinal([0.9, 0.99], when={"optimizer": bo.OneOf("adam", "none")}),
                "layers": bo.Integer(1, 3),
                "width": bo.Integer(1, 8, when={"layers": 3}),
            }
        ),
        "constrained": lambda bo: bo.Space(
            {f"b{i}": bool for i in range(12)}, constraints=[lambda point: sum(point.values()) <= 5]
        ),
        "permutation": lambda bo: bo.Space({"p": bo.Permutation(range(7)), "b": bool}),
        "subset": lambda bo: bo.Space({"s": bo.Subset(range(12), size=4), "b": bool}),
        "sequence": lambda bo: bo.Space({"s": bo.Sequence("ACGT", length=(2, 6)), "b": bool}),
        "candidates": make_candidates,
        "architectures": lambda bo: bo.cnn_domain(),
        "programs": make_programs,
        "joint": lambda bo: bo.joint_domain(
            {"net": bo.mlp_domain(), "run": {"rate": bo.Ordinal([1, 2, 3]), "b": bool}}
        ),
        "fidelity": lambda bo: bo.joint_domain(
            {"run": {"c": list("abcd"), "n": bo.Integer(1, 9), "epochs": bo.Fidelity([1, 3, 9])}}
        ),
    }


def make_candidates(bo: Any) -> Any:
    """Return a space with a table of candidates."""
    import numpy as np
    import pandas as pd

    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["x", "y", "z"])
    return bo.Space({"row": bo.Candidates(table), "b": bool})


def make_programs(bo: Any) -> Any:
    """Return a space of programs."""
    from bostruct import language

    del bo

    def layer() -> Any:
        return language.siso_module("Layer", {"kind": language.D(["a", "b", "c"]), "size": language.D([1, 2, 4])})

    def network() -> Any:
        return language.siso_repeat(
            lambda: language.siso_sequential([layer(), language.siso_optional(layer, language.Bool())]),
            language.D([1, 2]),
        )

    return language.SearchSpace(network)


def list_numbers(data: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of JSON data with their paths, without keys that contain words of `UNCOMPARED`."""
    if isinstance(data, dict):
        for key, value in data.items():
            name = RENAMED.get(key, key)
            if not any(word in name for word in UNCOMPARED):
                yield from list_numbers(value, f"{path}/{name}")
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from list_numbers(value, f"{path}/{i}")
    elif isinstance(data, bool | int | float):
        yield path, data


def value_of(data: object) -> float:
    """Return a value of the JSON of a point."""
    total = 0.0
    for i, (_, number) in enumerate(list_numbers(data)):
        total += math.sin(1.0 + 0.7 * i) * math.tanh(number / 5.0) + 0.1 * math.cos(number + i)
    return total + 0.2 * math.sin(sum(map(ord, json.dumps(data))) % 11)


def digest(data: object) -> str:
    """Return a short digest of JSON data."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:12]


def record(kind: str, method: str, seed: int, trials: int, folder: str) -> dict[str, list[str]]:
    """Run a method on a kind of domain, and return the digests after each trial; {} if it rejects the domain."""
    import bostruct as bo

    file = os.path.join(folder, f"{kind}-{method}-{seed}.db")
    found: dict[str, list[str]] = {aspect: [] for aspect in ASPECTS}
    domain = make_domains()[kind](bo)
    try:
        study = bo.Study(domain, method=method, seed=seed, storage=file, name="study")
    except bo.DomainError:
        return {}
    with study, sqlite3.connect(file) as reader:
        for _ in range(trials):
            try:
                trial = study.ask()
            except bo.SpaceExhausted:
                break
            (text,) = reader.execute("SELECT point FROM trials WHERE number = ?", (trial.number,)).fetchone()
            point = json.loads(text)
            value = value_of(point)
            if value % 1.0 < FAILING_SHARE:
                study.tell(trial, failed="no value")
            else:
                study.tell(trial, value)
            (info,) = reader.execute("SELECT info FROM trials WHERE number = ?", (trial.number,)).fetchone()
            (state,) = reader.execute("SELECT state FROM progress").fetchone()
            found["points"].append(digest(point))
            found["state"].append(digest(sorted(list_numbers(json.loads(state)))))
            found["info"].append(digest(sorted(list_numbers(json.loads(info)))))
    os.unlink(file)
    return found


def record_all(kinds: list[str], methods: list[str], seeds: list[int], trials: int) -> None:
    """Print the digests of each pair as a line of JSON."""
    import warnings

    from bostruct.methods import METHODS

    warnings.simplefilter("ignore")
    parent = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=parent) as folder:
        for kind in kinds:
            for method in methods or list(METHODS):
                for seed in seeds:
                    found = record(kind, method, seed, trials, folder)
                    print(json.dumps({"pair": f"{method} on {kind}, seed {seed}", "digests": found}), flush=True)


def start(package: Path, arguments: list[str]) -> subprocess.Popen[str]:
    """Start a recorder with the package of a checkout."""
    environment = os.environ | {"PYTHONPATH": str(package), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(Path(__file__).resolve()), "--record", *arguments]
    return subprocess.Popen(command, env=environment, cwd=package, stdout=subprocess.PIPE, text=True)


def find_difference(before: dict[str, list[str]], after: dict[str, list[str]]) -> str | None:
    """Describe the first difference of the digests; None if they are equal."""
    if bool(before) != bool(after):
        return "only one revision supports the domain"
    for aspect in ASPECTS if before else ():
        one, other = before[aspect], after[aspect]
        if one != other:
            at = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
            return f"{aspect} from trial {at} on ({len(one)} and {len(other)} trials)"
    return None


def compare(revision: str, arguments: list[str]) -> int:
    """Record two revisions at the same time, print the differences, and return the number of pairs that differ."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder, "other")
        subprocess.run(["git", "worktree", "add", "--detach", "-q", str(other), revision], cwd=ROOT, check=True)
        try:
            processes = [start(package, arguments) for package in (other, ROOT)]
            outputs = [process.stdout for process in processes if process.stdout is not None]
            n_pairs = n_taken = n_different = 0
            for before, after in zip(*outputs, strict=True):
                one, two = json.loads(before), json.loads(after)
                n_pairs, n_taken = n_pairs + 1, n_taken + bool(two["digests"])
                if (difference := find_difference(one["digests"], two["digests"])) is not None:
                    n_different += 1
                    print(f"{two['pair']}: {difference}", flush=True)
            if any(process.wait() for process in processes):
                raise SystemExit("a recorder failed")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(other)], cwd=ROOT, check=True)
    print(f"{n_pairs} pairs of a method and a domain with a seed, {n_taken} of them taken: {n_different} differ")
    return n_different


def main() -> None:
    """Run the command line."""
    kinds = list(make_domains())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=None)
    parser.add_argument("--methods", nargs="+", default=[])
    parser.add_argument("--record", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.record:
        seeds, trials = (SEEDS[:1], QUICK_TRIALS) if given.quick else (SEEDS, TRIALS)
        chosen = given.kinds or (QUICK_KINDS if given.quick else kinds)
        record_all(list(chosen), given.methods, list(seeds), trials)
        return
    if given.revision is None:
        parser.error("REVISION: expected a revision of git, such as HEAD~1")
    arguments = ["--quick"] * given.quick
    arguments += ["--kinds", *given.kinds] if given.kinds else []
    arguments += ["--methods", *given.methods] if given.methods else []
    sys.exit(1 if compare(given.revision, arguments) else 0)


if __name__ == "__main__":
    main()
