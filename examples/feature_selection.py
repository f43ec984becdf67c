"""Select 5 of 30 measurements of tumors, so that a linear model of these alone tells benign from malignant ones.

scikit-learn has the data and the model (pip install scikit-learn). Takes the number of trials and the file of the
picture, if given.
"""

import sys

import matplotlib as mpl
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import cross_val_score

import bostruct as bo

mpl.use("agg")
import matplotlib.pyplot as plt

N_TRIALS = int(sys.argv[1]) if len(sys.argv) > 1 else 60
PICTURE = sys.argv[2] if len(sys.argv) > 2 else "features.svg"
SIZE = 5
SHOWN = 10  # of the best subsets

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target


def accuracy(features):
    """Share of the tumors that are told right, by a model fitted to the others (five folds)."""
    return float(cross_val_score(LinearDiscriminantAnalysis(), X[list(features)], y, cv=5).mean())


space = bo.Space({"features": bo.Subset(X.columns, size=SIZE)})
result = bo.maximize(lambda point: accuracy(point["features"]), space, n_trials=N_TRIALS, seed=0, progress=False)
best = result.best_point["features"]
one_by_one = X.columns[SelectKBest(k=SIZE).fit(X, y).get_support()]
others = {"all 30 features": accuracy(X.columns), f"the {SIZE} best one by one": accuracy(one_by_one)}

ranked = sorted(result.trials, key=lambda trial: -trial.value)[:SHOWN]
names = sorted({name for trial in ranked for name in trial.point["features"]}, key=list(X.columns).index)
figure, (curve, grid) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
result.plot(ax=curve)
for (name, value), color in zip(others.items(), ("#D55E00", "#009E73"), strict=True):
    curve.axhline(value, color=color, linestyle="--", label=name)
curve.set(ylabel="accuracy", title=f"{SIZE} of {X.shape[1]} features")
curve.legend()
chosen = np.array([[name in trial.point["features"] for trial in ranked] for name in names])
grid.pcolormesh(chosen, cmap="Blues", edgecolors="white", linewidth=1)
grid.invert_yaxis()
grid.set_yticks(np.arange(len(names)) + 0.5, names)
grid.set_xticks(np.arange(len(ranked)) + 0.5, [f"{trial.value:.3f}" for trial in ranked], rotation=90)
grid.set(xlabel="accuracy", title=f"the features of the {len(ranked)} best subsets")
figure.savefig(PICTURE)

print(f"accuracy {result.best_value:.3f} with {', '.join(best)}")
print(", ".join(f"{value:.3f} with {name}" for name, value in others.items()))
