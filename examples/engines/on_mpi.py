"""Trials on ranks of MPI: mpiexec -n 3 python -m mpi4py.futures on_mpi.py, one rank for the study, two for trials."""

import time

from mpi4py.futures import MPIPoolExecutor

import bostruct as bo


def seconds(point):
    time.sleep(0.05)  # a stand-in for a program that takes long
    return abs(point["threads"] - 5) + (point["layout"] == "rows")


if __name__ == "__main__":  # the other ranks import this file
    with MPIPoolExecutor() as executor:
        study = bo.Study({"threads": range(1, 17), "layout": ["rows", "columns"]}, seed=0)
        result = study.optimize(seconds, 16, executor=executor, workers=2)
    print(f"best {result.best_value}: {result.best_point}")
