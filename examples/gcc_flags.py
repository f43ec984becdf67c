"""Tune gcc's flags for a small C program, which is compiled and timed; some flags have settings of their own."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bostruct as bo

PROGRAM = r"""
#include <math.h>
#include <stdio.h>
#include <time.h>
#define N 64
static float a[N][N], b[N][N], c[N][N];
static unsigned mix(unsigned x) { return (x ^= x >> 16, x *= 0x7feb352dU) ^ (x >> 15); }
static int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }
static void multiply(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            float sum = 0;
            for (int k = 0; k < N; k++) sum += a[i][k] * b[j][k];
            c[i][j] = sum;
        }
}
int main(void) {
    double best = 1e9;
    unsigned hash = 0;
    for (int run = 0; run < 40; run++) {
        struct timespec start, end;
        clock_gettime(CLOCK_MONOTONIC, &start);
        for (int i = 0; i < N * N; i++) {
            hash = mix(hash + i);
            a[i / N][i % N] = clamp(hash % 300, 0, 255), b[i / N][i % N] = hash % 7;
        }
        multiply();
        clock_gettime(CLOCK_MONOTONIC, &end);
        best = fmin(best, 1e6 * (end.tv_sec - start.tv_sec) + 1e-3 * (end.tv_nsec - start.tv_nsec));
    }
    fprintf(stderr, "%f", c[N / 2][N / 3]);  // keeps the work from being optimized away
    printf("%f", best);
}
"""

space = bo.Space(
    {
        "level": bo.Ordinal([0, 1, 2, 3]),
        "fast math": bool,
        "inline": bool,
        "inlined": bo.Integer(1, 200, log=True, when={"inline": True}),
        "unroll": bool,
        "unroll times": bo.Integer(2, 64, log=True, when={"unroll": True}),
        "unrolled": bo.Integer(20, 1000, log=True, when={"unroll": True}),
        "vectorize": bool,
        "cost model": bo.Categorical(["very-cheap", "cheap", "dynamic", "unlimited"], when={"vectorize": True}),
    }
)
SWITCHES = {"inline": "inline", "unroll": "unroll-loops", "vectorize": "tree-vectorize"}
PARAMETERS = {"inlined": "inline-insns-auto", "unroll times": "unroll-times", "unrolled": "unrolled-insns"}
PLAIN = {"level": 2, "fast math": False, "inline": False, "unroll": False, "vectorize": False}


def flags(point):
    """Return the arguments of gcc that a point stands for."""
    found = [f"-O{point['level']}", "-ffast-math" if point["fast math"] else "-fno-fast-math"]
    found += [f"-f{flag}" if point[name] else f"-fno-{flag}" for name, flag in SWITCHES.items()]
    found += [f"--param=max-{flag}={point[name]}" for name, flag in PARAMETERS.items() if name in point]
    return found + ([f"-fvect-cost-model={point['cost model']}"] if point["vectorize"] else [])


def microseconds(point):
    """Compile the program, and return the least time of 40 runs."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program"
        subprocess.run(["gcc", *flags(point), "-xc", "-", "-o", program, "-lm"], input=PROGRAM, text=True, check=True)
        return float(subprocess.run([program], capture_output=True, text=True, check=True).stdout)


def has_gcc():
    """Return whether there is a gcc, which is not clang by another name."""
    version = shutil.which("gcc") and subprocess.run(["gcc", "--version"], capture_output=True, text=True).stdout
    return "Free Software Foundation" in (version or "")


if not has_gcc():
    print("this example needs gcc, and found none")
    sys.exit()
result = bo.minimize(microseconds, space, n_trials=40, seed=0, initial_points=[PLAIN])
plain_time = result.trials[0].value
assert plain_time is not None
print(f"{plain_time:.0f} microseconds with {' '.join(flags(PLAIN))}")
print(f"{result.best_value:.0f} microseconds with {' '.join(flags(result.best_point))}")
assert result.best_value <= plain_time
