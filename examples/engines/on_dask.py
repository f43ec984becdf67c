"""Trials on Dask: here on a cluster of this machine; Client("host:8786") is one of many machines."""

import time

from distributed import Client, LocalCluster

import bostruct as bo


def seconds(point):
    time.sleep(0.05)  # a stand-in for a program that takes long
    return abs(point["threads"] - 5) + (point["layout"] == "rows")


def main():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        study = bo.Study({"threads": range(1, 17), "layout": ["rows", "columns"]}, seed=0)
        result = study.optimize(seconds, 16, executor=client.get_executor(), workers=4)
    print(f"best {result.best_value}: {result.best_point}")


if __name__ == "__main__":  # the workers are processes that import this file
    main()
