"""Trials on Ray: here on a cluster of this machine; ray.init("auto") joins one of many machines."""

import time

import ray

import bostruct as bo
from bostruct.integrations.ray import RayExecutor


def seconds(point):
    time.sleep(0.05)  # a stand-in for a program that takes long
    return abs(point["threads"] - 5) + (point["layout"] == "rows")


ray.init(num_cpus=2, include_dashboard=False)
study = bo.Study({"threads": range(1, 17), "layout": ["rows", "columns"]}, seed=0)
result = study.optimize(seconds, 16, executor=RayExecutor(num_cpus=1), workers=2)
print(f"best {result.best_value}: {result.best_point}")
ray.shutdown()
