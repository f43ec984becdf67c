"""Tune twelve compiler flags and an unrolling factor: 20,480 settings, 60 of them tried."""

import bostruct as bo

FLAGS = ["vectorize", "inline", "prefetch", "align", "fuse", "tile", "hoist", "peel", "sink", "merge", "split", "pack"]
HELPS = {"vectorize", "inline", "tile", "hoist", "pack"}


def seconds(point):
    """Stands in for compiling and timing: some flags help, some hurt, tiling hurts unless loops are unrolled enough."""
    time = 10.0 + abs(point["unroll"] - 8) / 4
    time += sum((-1.0 if flag in HELPS else 0.5) * point[flag] for flag in FLAGS)
    return time + (2.0 if point["tile"] and point["unroll"] < 4 else 0.0)


space = bo.Space({"unroll": bo.Ordinal([1, 2, 4, 8, 16])} | {flag: bool for flag in FLAGS})
result = bo.minimize(seconds, space, n_trials=60, seed=0)

print(result)
print("flags on:", ", ".join(flag for flag in FLAGS if result.best_point[flag]))
