"""Trials by joblib, which has no futures: a batch of points is asked, evaluated and told."""

import time

from joblib import Parallel, delayed

import bostruct as bo


def seconds(point):
    time.sleep(0.05)  # a stand-in for a program that takes long
    return abs(point["threads"] - 5) + (point["layout"] == "rows")


study = bo.Study({"threads": range(1, 17), "layout": ["rows", "columns"]}, seed=0)
with Parallel(n_jobs=2) as parallel:  # parallel_config(backend="dask") or "ray" reaches other machines
    while study.n_finished < 16:
        trials = study.ask(4)
        for trial, value in zip(trials, parallel(delayed(seconds)(trial.point) for trial in trials), strict=True):
            study.tell(trial, value)
print(f"best {study.best_value}: {study.best_point}")
