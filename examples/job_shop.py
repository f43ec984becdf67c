"""Schedule a job shop, Muth and Thompson's ft06, whose optimum is 55; draw the schedule as a Gantt chart.

    python examples/job_shop.py [TRIALS [PICTURE]]

Six jobs have six operations each, each on its own machine. A point is an order in which each job occurs six times; its
k-th occurrence is its k-th operation, which starts as soon as its machine and the operation before it are free. The
machines are declared, so that `auto` learns how long each operation takes from the times at which schedules end.
"""

import sys

import bostruct as bo

JOBS = [  # (machine, duration) of each operation, in order
    [(2, 1), (0, 3), (1, 6), (3, 7), (5, 3), (4, 6)],
    [(1, 8), (2, 5), (4, 10), (5, 10), (0, 10), (3, 4)],
    [(2, 5), (3, 4), (5, 8), (0, 9), (1, 1), (4, 7)],
    [(1, 5), (0, 5), (2, 5), (3, 3), (4, 8), (5, 9)],
    [(2, 9), (1, 3), (4, 5), (5, 4), (0, 3), (3, 1)],
    [(1, 3), (3, 3), (5, 9), (0, 10), (4, 4), (2, 1)],
]
MACHINES = 6
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]

COUNTS = {job: len(operations) for job, operations in enumerate(JOBS)}
RESOURCES = {job: [machine for machine, _ in operations] for job, operations in enumerate(JOBS)}

space = bo.Space({"order": bo.Permutation(COUNTS, resources=RESOURCES)})


def schedule(order):
    """Return (job, machine, start, duration) of each operation."""
    next_operation, job_free, machine_free, found = [0] * len(JOBS), [0] * len(JOBS), [0] * MACHINES, []
    for job in order:
        machine, duration = JOBS[job][next_operation[job]]
        start = max(job_free[job], machine_free[machine])
        found.append((job, machine, start, duration))
        job_free[job] = machine_free[machine] = start + duration
        next_operation[job] += 1
    return found


def find_makespan(point):
    return max(start + duration for _, _, start, duration in schedule(point["order"]))


def draw(operations, file):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.6))
    axes = figure.subplots()
    for job, machine, start, duration in operations:
        axes.barh(machine, duration, left=start, color=COLORS[job], edgecolor="white")
        axes.text(start + duration / 2, machine, str(job), ha="center", va="center", color="white", fontsize=8)
    axes.set(xlabel="time", ylabel="machine", title=f"ends at {max(s + d for _, _, s, d in operations)}")
    axes.invert_yaxis()
    figure.savefig(file, bbox_inches="tight")


if __name__ == "__main__":
    n_trials = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    result = bo.minimize(find_makespan, space, n_trials, seed=0)
    print(f"ends at {result.best_value:.0f} after {n_trials} trials; the optimum is 55")
    draw(schedule(result.best_point["order"]), sys.argv[2] if len(sys.argv) > 2 else "job_shop.svg")
