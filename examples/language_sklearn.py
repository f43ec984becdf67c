"""Search scikit-learn pipelines: what to do with the features, then which model, for digits and for diabetes."""

import warnings

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.decomposition import NMF, PCA
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif, f_regression
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, QuantileTransformer, StandardScaler
from sklearn.svm import SVC

import bostruct as bo
from bostruct.language import (
    Bool,
    D,
    FloatRange,
    IntRange,
    OneOfK,
    SearchSpace,
    feature_union,
    siso_optional,
    siso_or,
    siso_sequential,
    siso_split_combine,
    sklearn_module,
)


def step(make, **values):
    """A function that makes a module, as `siso_or` wants it; hyperparameters are made when it is called."""
    return lambda: sklearn_module(make.__name__, make, {name: value() for name, value in values.items()})


def best_features(k, score):
    return SelectKBest({"anova": f_classif, "regression": f_regression}[score], k=k)


def reduced():
    """One way to fewer features."""
    ways = [
        step(PCA, n_components=lambda: IntRange(8, 32, 4), whiten=Bool, random_state=lambda: 0),
        step(NMF, n_components=lambda: D([8, 16]), max_iter=lambda: 100, random_state=lambda: 0),
        step(best_features, k=lambda: IntRange(8, 32, 4), score=lambda: "anova"),
    ]
    return siso_or(ways, OneOfK(len(ways)), "Reduce")


def classifiers():
    """Images of digits: scaled, one or two reductions side by side, perhaps standardized, then a model."""
    models = [
        step(LogisticRegression, C=lambda: FloatRange(0.01, 100, 5, log=True), max_iter=lambda: 100),
        step(KNeighborsClassifier, n_neighbors=lambda: D([1, 3, 5, 9]), weights=lambda: D(["uniform", "distance"])),
        step(SVC, C=lambda: FloatRange(0.1, 100, 4, log=True), gamma=lambda: D(["scale", "auto"])),
        step(ExtraTreesClassifier, n_estimators=lambda: D([20, 50]), random_state=lambda: 0),
    ]
    return siso_sequential(
        [
            sklearn_module("VarianceThreshold", VarianceThreshold),
            sklearn_module("MinMaxScaler", MinMaxScaler, {"clip": True}),
            siso_split_combine(reduced, feature_union, D([1, 2])),
            siso_optional(step(StandardScaler), Bool()),
            siso_or(models, OneOfK(len(models)), "Model"),
        ]
    )


def regressors():
    """Ten measurements of patients: scaled in one of two ways, perhaps multiplied with each other, then a model."""
    scalers = [step(StandardScaler), step(QuantileTransformer, n_quantiles=lambda: D([10, 100]))]
    models = [
        step(Ridge, alpha=lambda: FloatRange(0.01, 1000, 6, log=True)),
        step(Lasso, alpha=lambda: FloatRange(0.01, 10, 4, log=True)),
        step(KernelRidge, alpha=lambda: FloatRange(0.01, 10, 4, log=True), kernel=lambda: D(["rbf", "laplacian"])),
        step(KNeighborsRegressor, n_neighbors=lambda: IntRange(5, 40, 5)),
    ]
    return siso_sequential(
        [
            siso_or(scalers, OneOfK(2), "Scale"),
            siso_optional(step(PolynomialFeatures, degree=lambda: 2, include_bias=lambda: False), Bool()),
            siso_optional(step(best_features, k=lambda: D([4, 8]), score=lambda: "regression"), Bool()),
            siso_or(models, OneOfK(len(models)), "Model"),
        ]
    )


def cross_validated(data, scoring, folds=3, rows=500):
    """An objective to be maximized: the mean score of a program over the folds."""
    order = np.random.default_rng(0).permutation(len(data.target))[:rows]
    x, y = data.data[order], data.target[order]

    def score(program):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return float(cross_val_score(program.to_sklearn(), x, y, cv=folds, scoring=scoring).mean())

    return score


def main(n_trials=25):
    tasks = [
        ("digits", classifiers, load_digits(), "accuracy"),
        ("diabetes", regressors, load_diabetes(), "r2"),
    ]
    for name, builder, data, scoring in tasks:
        space = SearchSpace(builder)
        score = cross_validated(data, scoring)
        result = bo.maximize(score, space, method="evolution", n_trials=n_trials, seed=0)
        print(f"{name}: {space.size:,.0f} pipelines, {scoring} {result.best_value:.3f} after {n_trials} trials")
        print(result.best_point.to_sklearn())


if __name__ == "__main__":
    main()
