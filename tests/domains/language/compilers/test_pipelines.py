"""Programs as scikit-learn pipelines: equal to those written by hand, and refused where scikit-learn has no words."""

import pickle
import runpy
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler

from bostruct import language as lang
from bostruct.domains.language.compilers.pipelines import step_name
from bostruct.language import CompileError, SearchSpace, sklearn_module

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "language_sklearn.py"


def module(make, **values):
    return sklearn_module(make.__name__, make, values)


def wired(reads, made):
    """Modules by name, each connected to those that it reads; "x" is the input."""
    modules = {"x": lang.identity()} | {name: make() for name, make in made.items()}
    for name, sources in reads.items():
        for port, source in zip(modules[name][0].values(), sources, strict=True):
            port.connect(modules[source][1]["out"])
    return modules["x"][0], modules[list(made)[-1]][1]


def program(reads, **made):
    return SearchSpace(partial(wired, reads, made)).program()


def digits():
    data = load_digits()
    return data.data[:200] + np.linspace(0, 1, 64), data.target[:200]


BRANCHED = {
    "scale": ["x"],
    "reduce": ["scale"],
    "small": ["reduce"],
    "select": ["scale"],
    "union": ["small", "select", "scale"],
    "model": ["union"],
}


def branched():
    return program(
        BRANCHED,
        scale=lambda: module(StandardScaler),
        reduce=lambda: module(PCA, n_components=5, random_state=0),
        small=lambda: module(MinMaxScaler),
        select=lambda: sklearn_module("Select", partial(SelectKBest, f_classif), {"k": 7}),
        union=lambda: lang.feature_union(3),
        model=lambda: module(LogisticRegression, C=0.5),
    )


@pytest.mark.filterwarnings("ignore:Features .* are constant:UserWarning", "ignore:invalid value:RuntimeWarning")
def test_branches_predict_what_the_same_pipeline_by_hand_predicts():
    x, y = digits()
    reduced = Pipeline([("pca", PCA(5, random_state=0)), ("scale", MinMaxScaler())])
    union = FeatureUnion([("a", reduced), ("b", SelectKBest(f_classif, k=7)), ("c", "passthrough")])
    by_hand = Pipeline([("scale", StandardScaler()), ("union", union), ("model", LogisticRegression(C=0.5))])
    made = branched().to_sklearn()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = by_hand.fit(x, y).predict_proba(x)
        assert np.allclose(made.fit(x, y).predict_proba(x), expected)
    assert made[:-1].transform(x).shape == (200, 5 + 7 + 64)


def test_what_all_branches_begin_with_is_fitted_once():
    made = branched().to_sklearn()
    names = [name for name, _ in made.steps]
    assert names == ["StandardScaler-0", "FeatureUnion-0", "LogisticRegression-0"]
    assert [name for name, _ in made["FeatureUnion-0"].transformer_list] == ["in0", "in1", "in2"]


def test_pipelines_are_cloned_pickled_and_reset_by_name():
    made = branched().to_sklearn()
    for other in (clone(made), pickle.loads(pickle.dumps(made))):
        assert other.get_params().keys() == made.get_params().keys()
    made.set_params(**{"LogisticRegression-0__C": 3.0})
    assert made["LogisticRegression-0"].C == 3.0


def test_a_union_of_one_branch_is_that_branch():
    made = program(
        {"a": ["x"], "u": ["a"], "m": ["u"]},
        a=lambda: module(PCA),
        u=lambda: lang.feature_union(1),
        m=lambda: module(LogisticRegression),
    ).to_sklearn()
    assert [name for name, _ in made.steps] == ["PCA-0", "LogisticRegression-0"]


def test_unions_nest():
    x, _ = digits()
    made = program(
        {"a": ["x"], "b": ["x"], "u": ["a", "b"], "p": ["u"], "v": ["p", "x"]},
        a=lambda: module(PCA, n_components=2),
        b=lambda: module(PCA, n_components=3),
        u=lambda: lang.feature_union(2),
        p=lambda: module(PolynomialFeatures, degree=2),
        v=lambda: lang.feature_union(2),
    ).to_sklearn()
    assert made.fit_transform(x).shape == (200, (1 + 5 + 15) + 64)


@pytest.mark.parametrize("path", ["A__b-0", "A___b-0", "A_%5Fb-0", "A-0/B-1[0.5]"])
def test_places_are_spelled_apart_and_without_double_underscores(path):
    others = ["A__b-0", "A___b-0", "A_%5Fb-0", "A-0/B-1[0.5]", "A_b-0"]
    assert [other for other in others if step_name(other) == step_name(path)] == [path]
    assert "__" not in step_name(path)


def test_a_predictor_in_the_middle_is_refused_with_both_names():
    made = program({"m": ["x"], "s": ["m"]}, m=lambda: module(LogisticRegression), s=lambda: module(StandardScaler))
    with pytest.raises(CompileError, match="StandardScaler-0 reads LogisticRegression-0, which does not transform"):
        made.to_sklearn()


def test_what_scikit_learn_cannot_express_is_refused_by_name():
    def two_outputs():
        inputs, outputs = module(PCA)
        return inputs, {"a": outputs["out"], "b": outputs["out"]}

    cases = [
        (partial(lang.combiner, 2, "Sum"), r"one input; the program has in0, in1"),
        (two_outputs, r"one output; the program has a, b"),
        (lang.identity, "at least one estimator"),
        (
            partial(lang.siso_module, "Abstract", {"k": 3}),
            r"Abstract-0\(k=3\): to_sklearn compiles .* is missing",
        ),
        (lambda: sklearn_module("F", lambda: {}), r"F-0\(\): expected a scikit-learn estimator, got \{\}"),
        (lambda: sklearn_module("F", lambda k: 1 / k, {"k": 0}), r"F-0\(k=0\): its estimator .* made: ZeroDivision"),
    ]
    for builder, message in cases:
        with pytest.raises(CompileError, match=message):
            SearchSpace(builder).program().to_sklearn()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_example_finds_a_model_for_digits_and_one_for_diabetes(capsys):
    example = runpy.run_path(str(EXAMPLE))
    example["main"](n_trials=12)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith(("digits", "diabetes"))]
    scores = [float(line.split()[4]) for line in lines]
    assert scores[0] > 0.9  # of 10 classes
    assert scores[1] > 0.35  # R2 of ordinary least squares on these rows: about 0.48
