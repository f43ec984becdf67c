"""A scikit-learn pipeline whose steps have settings of their own: each exists only where its step is chosen."""

from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import bostruct as bo

IMAGES, DIGITS = (data[:500] for data in load_digits(return_X_y=True))

space = bo.Space(
    {
        "reduce": bool,
        "components": bo.Integer(4, 40, when={"reduce": True}),
        "model": ["svm", "trees", "neighbors"],
        "kernel": bo.Categorical(["rbf", "linear"], when={"model": "svm"}),
        "penalty": bo.Real(1e-2, 1e3, log=True, when={"model": "svm"}),
        "gamma": bo.Real(1e-4, 1e0, log=True, when={"kernel": "rbf"}),
        "trees": bo.Integer(5, 60, when={"model": "trees"}),
        "depth": bo.Integer(2, 20, when={"model": "trees"}),
        "neighbors": bo.Integer(1, 15, when={"model": "neighbors"}),
    }
)


def model(point):
    if point["model"] == "svm":
        return SVC(kernel=point["kernel"], C=point["penalty"], gamma=point.get("gamma", "scale"))
    if point["model"] == "trees":
        return ExtraTreesClassifier(point["trees"], max_depth=point["depth"], random_state=0)
    return KNeighborsClassifier(point["neighbors"])


def error(point):
    """Share of digits that are read wrongly, by three-fold cross-validation."""
    reduce = [PCA(point["components"], random_state=0)] if point["reduce"] else []
    pipeline = make_pipeline(StandardScaler(), *reduce, model(point))
    return 1.0 - cross_val_score(pipeline, IMAGES, DIGITS, cv=3).mean()


result = bo.minimize(error, space, n_trials=40, seed=0)
print(f"error {result.best_value:.3f} with {result.best_point}")
assert all("gamma" in trial.point for trial in result.trials if trial.point.get("kernel") == "rbf")
assert result.best_value < 0.1
