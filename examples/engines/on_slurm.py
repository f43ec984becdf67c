"""Trials as jobs of SLURM by submitit; without SLURM, as here by default, they are processes of this machine."""

import sys
import tempfile

import submitit

import bostruct as bo
from bostruct.integrations.submitit import SubmititExecutor


def seconds(point):
    return abs(point["threads"] - 5) + (point["layout"] == "rows")


where = sys.argv[1] if len(sys.argv) > 1 else "local"  # "slurm" on a cluster, with a folder that the nodes share
with tempfile.TemporaryDirectory() as folder:
    jobs = submitit.AutoExecutor(folder, cluster=where)
    jobs.update_parameters(timeout_min=10, cpus_per_task=1)  # and slurm_partition=, slurm_account=, mem_gb=, ...
    with SubmititExecutor(jobs, poll_seconds=0.1) as executor:
        study = bo.Study({"threads": range(1, 17), "layout": ["rows", "columns"]}, seed=0)
        result = study.optimize(seconds, 16, executor=executor, workers=2)
print(f"best {result.best_value}: {result.best_point}")
