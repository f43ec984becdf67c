"""Trials on a pool of loky, which other parts of a program may share."""

import time

from loky import get_reusable_executor

import bostruct as bo


def seconds(point):
    time.sleep(0.05)  # a stand-in for a program that takes long
    return abs(point["threads"] - 5) + (point["layout"] == "rows")


study = bo.Study({"threads": range(1, 17), "layout": ["rows", "columns"]}, seed=0)
result = study.optimize(seconds, 16, executor=get_reusable_executor(max_workers=2), workers=2)
print(f"best {result.best_value}: {result.best_point}")
