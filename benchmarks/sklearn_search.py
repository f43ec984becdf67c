"""Compare `BostructSearchCV` with scikit-learn's `RandomizedSearchCV` on a data set, candidate for candidate.

    python -m benchmarks.sklearn_search --seeds 10 --iterations 30

Both tune an RBF support vector machine on scikit-learn's breast cancer data, with the same folds. For some numbers of
candidates, a line has the mean cross-validation error of the best candidate so far, and how often each is ahead.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import RandomizedSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bostruct.integrations.sklearn import BostructSearchCV

DISTRIBUTIONS = {
    "svc__C": loguniform(1e-3, 1e4),
    "svc__gamma": loguniform(1e-6, 1e1),
    "svc__class_weight": [None, "balanced"],
}


def trace_errors(kind: type, n_iter: int, seed: int) -> np.ndarray:
    """Return the error of the best candidate after 1, 2, ..., n_iter candidates (n_iter,)."""
    x, y = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = kind(make_pipeline(StandardScaler(), SVC()), DISTRIBUTIONS, n_iter=n_iter, cv=folds, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.set_params(refit=False).fit(x, y)
    return 1.0 - np.maximum.accumulate(search.cv_results_["mean_test_score"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=30)
    given = parser.parse_args()
    kinds = (BostructSearchCV, RandomizedSearchCV)
    errors = np.array([[trace_errors(kind, given.iterations, seed) for seed in range(given.seeds)] for kind in kinds])
    print("| candidates | BostructSearchCV | RandomizedSearchCV | ahead, level, behind |\n|---|---|---|---|")
    for k in range(9, given.iterations, 10):
        ours, theirs = errors[:, :, k]
        signs = [int((ours < theirs).sum()), int((ours == theirs).sum()), int((ours > theirs).sum())]
        print(f"| {k + 1} | {ours.mean():.4f} | {theirs.mean():.4f} | {', '.join(map(str, signs))} |")


if __name__ == "__main__":
    main()
