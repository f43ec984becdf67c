"""A file of QAPLIB, in which 6 facilities get 6 places: an order of the facilities, of which 30 are tried.

The same on the command line: bostruct run qap:file=grid6.dat --trials 30
"""

import tempfile
from pathlib import Path

import bostruct as bo
from bostruct import problems

DISTANCES = "0 1 2 1 2 3  1 0 1 2 1 2  2 1 0 3 2 1  1 2 3 0 1 2  2 1 2 1 0 1  3 2 1 2 1 0"  # on a grid of 2 x 3
FLOWS = "0 5 0 2 0 1  5 0 3 0 4 0  0 3 0 0 0 6  2 0 0 0 2 0  0 4 0 2 0 3  1 0 6 0 3 0"

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "grid6.dat"
    file.write_text(f"6\n{DISTANCES}\n{FLOWS}\n")
    problem = problems.load(f"qap:file={file}")
    result = bo.minimize(problem.objective, problem.space, 30, seed=0)
    print(f"best of 30 trials: {result.best_value:.0f}, optimum of all 720 orders: {problem.optimum:.0f}")
