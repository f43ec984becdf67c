"""`BostructSearchCV` where `RandomizedSearchCV` stands: scikit-learn's own checks, results, failures, seeds."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy import stats
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import bostruct as bo
from bostruct.integrations.sklearn import SWITCH, BostructSearchCV, CandidateSpace

X, Y = load_iris(return_X_y=True)
DISTRIBUTIONS = {"C": stats.loguniform(1e-2, 1e2), "kernel": ["rbf", "linear"]}
CHECKED = {"cv": 2, "error_score": "raise", "random_state": 0, "method": "random"}
# scikit-learn expects it to fail of RandomizedSearchCV, too: Ridge does not warn of a y with one column.
FAILING = {"check_supervised_y_2d": "no DataConversionWarning of Ridge"}


# The instances with which scikit-learn checks RandomizedSearchCV: a regressor and a classifier.
@parametrize_with_checks(
    [
        BostructSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, **CHECKED),
        BostructSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, **CHECKED),
    ],
    expected_failed_checks=lambda search: FAILING if isinstance(search.estimator, Ridge) else {},
)
def test_the_checks_of_scikit_learn_pass(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def search(**given):
    given = {"n_iter": 8, "cv": 3, "random_state": 0, "method": "random"} | given
    return BostructSearchCV(SVC(), DISTRIBUTIONS, **given)


def test_it_stands_where_randomized_search_stands():
    ours = search(return_train_score=True).fit(X, Y)
    theirs = RandomizedSearchCV(SVC(), DISTRIBUTIONS, n_iter=8, cv=3, random_state=0, return_train_score=True).fit(X, Y)
    assert ours.cv_results_.keys() == theirs.cv_results_.keys()
    fitted, expected = ({name for name in vars(one) if name.endswith("_")} for one in (ours, theirs))
    assert fitted - {"search_result_"} == expected
    assert ours.best_score_ == max(ours.cv_results_["mean_test_score"]) == ours.search_result_.best_value
    assert ours.best_params_ == ours.search_result_.best_point
    assert ours.search_result_.stopped_because == f"n_iter reached ({ours.n_iter})"
    assert ours.best_estimator_.get_params()["C"] == ours.best_params_["C"]
    assert (ours.predict(X) == Y).mean() > 0.9
    assert pickle.loads(pickle.dumps(ours)).best_params_ == ours.best_params_


def test_the_same_random_state_gives_the_same_result():
    one, other = (search(n_iter=11, method="auto", random_state=3).fit(X, Y) for _ in range(2))
    assert one.cv_results_["params"] == other.cv_results_["params"]
    with parallel_config("threading"):
        one, other, third = (search(random_state=seed, n_jobs=n).fit(X, Y) for seed, n in ((3, None), (3, 2), (4, 2)))
    assert one.cv_results_["params"] == other.cv_results_["params"] != third.cv_results_["params"]


def test_several_candidates_are_asked_where_there_are_more_jobs_than_folds():
    calls = []

    class Watched(BostructSearchCV):
        def _run_search(self, evaluate_candidates):
            super()._run_search(lambda given: calls.append(len(given)) or evaluate_candidates(given))

    with parallel_config("threading"):
        Watched(SVC(), {"C": stats.loguniform(1e-2, 1e2)}, n_iter=5, cv=2, n_jobs=4, method="random").fit(X, Y)
    assert calls == [2, 2, 1]


def test_candidates_never_repeat_and_a_small_space_is_exhausted():
    with pytest.warns(UserWarning, match="2 candidates were evaluated, fewer than 10: all 2 points"):
        found = BostructSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}, method="random").fit(X, Y)
    assert sorted(params["var_smoothing"] for params in found.cv_results_["params"]) == [1e-9, 1e-3]
    assert "all 2 points" in found.search_result_.stopped_because
    with pytest.warns(UserWarning, match="1 candidate was evaluated, fewer than 10"):
        alone = BostructSearchCV(GaussianNB(), {"var_smoothing": [1e-3]}).fit(X, Y)
    assert alone.cv_results_["params"] == [{"var_smoothing": 1e-3}]


def test_a_function_chooses_among_candidates_that_were_searched_by_the_first_score():
    scores = ["f1_macro", "accuracy"]
    found = search(scoring=scores, refit=lambda results: int(np.argmin(results["mean_test_accuracy"]))).fit(X, Y)
    named = search(scoring=scores, refit="f1_macro").fit(X, Y)
    assert found.cv_results_["params"] == named.cv_results_["params"]
    assert found.search_result_.best_value == max(found.cv_results_["mean_test_f1_macro"])
    assert found.best_params_ == found.cv_results_["params"][np.argmin(found.cv_results_["mean_test_accuracy"])]
    assert found.best_estimator_.score(X, Y) > 0


def test_several_scores_are_searched_by_the_one_that_refit_names():
    found = search(scoring=["accuracy", "f1_macro"], refit="f1_macro").fit(X, Y)
    assert found.best_score_ == found.search_result_.best_value == max(found.cv_results_["mean_test_f1_macro"])
    words = "refit: expected the name of the score to search by, one of accuracy, f1_macro"
    with pytest.raises(ValueError, match=words):
        search(scoring=["accuracy", "f1_macro"], refit=False).fit(X, Y)


class Fragile(GaussianNB):
    """A classifier that cannot be fitted with much smoothing."""

    def fit(self, X, y, sample_weight=None):
        if self.var_smoothing > 1e-3:
            raise ValueError("too smooth")
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("seed", range(4))  # of which some end with a failure, and some begin with one
def test_fits_that_fail_are_failed_trials(seed):
    distributions = {"var_smoothing": stats.loguniform(1e-9, 1.0)}
    found = BostructSearchCV(Fragile(), distributions, n_iter=9, cv=2, random_state=seed, method="random")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found.fit(X, Y)
    trials = found.search_result_.trials
    failed = [trial.status == "failed" for trial in trials]
    assert 0 < sum(failed) < 9
    assert failed == [trial.point["var_smoothing"] > 1e-3 for trial in trials]
    assert found.cv_results_["params"] == [trial.point for trial in trials]
    assert np.isnan(found.cv_results_["mean_test_score"]).tolist() == failed
    assert found.cv_results_["rank_test_score"][failed].tolist() == [9 - sum(failed) + 1] * sum(failed)
    assert found.best_params_ == found.search_result_.best_point


def test_errors_are_raised_where_they_are_to_be():
    hopeless = BostructSearchCV(Fragile(), {"var_smoothing": stats.uniform(0.5, 1)}, n_iter=3, cv=2, method="random")
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        hopeless.fit(X, Y)
    with pytest.raises(ValueError, match=r"^too smooth"):
        hopeless.set_params(error_score="raise").fit(X, Y)


def test_several_dicts_are_one_space_with_a_choice():
    several = [
        {"kernel": ["rbf"], "C": stats.loguniform(1e-2, 1e2), "gamma": stats.loguniform(1e-4, 1.0)},
        {"kernel": ["poly"], "C": stats.loguniform(1e-2, 1e2), "degree": stats.randint(2, 5)},
    ]
    found = BostructSearchCV(SVC(), several, n_iter=12, cv=2, random_state=0, method="random").fit(X, Y)
    for params in found.cv_results_["params"]:
        assert params.keys() == {"kernel", "C", "gamma" if params["kernel"] == "rbf" else "degree"}
    assert {params["kernel"] for params in found.cv_results_["params"]} == {"rbf", "poly"}
    assert set(CandidateSpace(several).space.variables) == {SWITCH, "C", "gamma", "degree"}


def test_several_dicts_are_named_by_what_differs_and_share_what_is_alike():
    log = stats.loguniform(1e-2, 1e2)
    several = [
        {"m": [SVC()], "C": log, "x": [1, 2]},
        {"m": [PCA()], "C": log, "x": [3, 4]},
        {"m": ["drop"], "k": [1, 2]},
    ]
    grid = CandidateSpace(several)
    assert list(grid.space.variables) == [SWITCH, "C", "x (m=SVC)", "x (m=PCA)", "k"]
    assert grid.space.variables["C"].when == {SWITCH: bo.OneOf("m=SVC", "m=PCA")}
    found = grid.candidate({SWITCH: "m=PCA", "C": 1.0, "x (m=PCA)": 3})
    assert (found["C"], found["x"], type(found["m"])) == (1.0, 3, PCA)
    unnamed = CandidateSpace([{"m": ["a"], "x": [1, 2]}, {"m": ["a"], "x": [3, 4]}]).space
    assert list(unnamed.variables) == [SWITCH, "x (dict 0)", "x (dict 1)"]


def test_variables_of_bostruct_are_taken_as_they_are():
    distributions = {
        "reduce": ["passthrough", PCA(2)],
        "svc__kernel": ["rbf", "linear"],
        "svc__gamma": bo.Real(1e-4, 1.0, log=True, when={"svc__kernel": "rbf"}),
    }
    model = Pipeline([("reduce", "passthrough"), ("svc", SVC())])
    found = BostructSearchCV(model, distributions, n_iter=8, cv=2, random_state=0, method="random").fit(X, Y)
    for params in found.cv_results_["params"]:
        assert ("svc__gamma" in params) == (params["svc__kernel"] == "rbf")


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (stats.uniform(1, 4), "Real(1.0, 5.0)"),
        (stats.loguniform(1e-3, 1), "Real(0.001, 1.0, log=True)"),
        (stats.randint(1, 4), "Integer(1, 3)"),
        (["a", "b", "a"], "Categorical(['a', 'b'])"),
        (np.array([1.0, 2.0, 4.0]), "Ordinal([1.0, 2.0, 4.0])"),
        (np.array([4, 1]), "Categorical([4, 1])"),
        (range(3), "Ordinal([0, 1, 2])"),
        (bo.Integer(1, 3), "Integer(1, 3)"),
    ],
)
def test_distributions_become_variables(given, kind):
    assert repr(CandidateSpace({"x": given}).space.variables["x"]) == kind


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"x": stats.norm(0, 1)}, "x: expected uniform, loguniform or randint of scipy.stats, got norm"),
        ({"x": stats.loguniform(1, 2, loc=1)}, "x: expected a loguniform with loc=0"),
        ({"x": 3}, "x: expected a distribution of scipy.stats"),
        ([], "param_distributions: expected a dict, or a list of dicts"),
        ([{"x": [1, 2], "y": bo.Binary(when={"x": 1})}, {"x": [1, 2, 3]}], "y: when: expected none in a list of dicts"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(given, words):
    with pytest.raises(bo.DomainError, match=words):
        CandidateSpace(given)


def test_spaces_with_sums_are_searched():
    space = bo.Space(
        {"C": bo.Real(0.1, 9), "intercept_scaling": bo.Real(0.1, 9), "class_weight": bo.Mixture(["a", "b", "c"])},
        constraints=[bo.Linear.parse("C + intercept_scaling <= 4")],
    )
    search = BostructSearchCV(LogisticRegression(max_iter=500), space, n_iter=6, cv=2, random_state=0)
    search.fit(X, np.array(list("abc"))[Y])
    for found in search.cv_results_["params"]:
        assert found["C"] + found["intercept_scaling"] <= 4
        assert sum(found["class_weight"].values()) == pytest.approx(1)
