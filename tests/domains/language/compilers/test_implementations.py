"""What modules stand for: kept with the module, and refused where it is not what it should be."""

import pickle

import pytest
from sklearn.decomposition import PCA

from bostruct import language as lang
from bostruct.domains.language.compilers.implementations import (
    UNION,
    FromValues,
    Labelled,
    PlainFunction,
    SklearnStep,
    TorchLayer,
    feature_union,
    function_module,
    labeled_module,
    siso_torch_layer,
    siso_torch_module,
    sklearn_module,
    torch_module,
)
from bostruct.language import LanguageError, SearchSpace


def build(values, shapes):
    return values, shapes


def only(make):
    """The node of a program of one module."""
    (node,) = SearchSpace(make).program().nodes
    return node


REFUSED = [
    lambda: lang.function_module("F", 5),
    lambda: lang.torch_module("F", "conv"),
    lambda: lang.siso_torch_layer(None),
    lambda: lang.siso_torch_layer(lambda: None),
    lambda: lang.sklearn_module("F", "PCA"),
    lambda: lang.sklearn_module("F", dict),
]


@pytest.mark.parametrize("make", REFUSED)
def test_implementations_that_cannot_be_called_are_refused(make):
    with pytest.raises(lang.LanguageError, match=r"expected (a function|a name|an estimator)"):
        SearchSpace(make)


def test_parameters_that_an_estimator_does_not_have_are_refused_when_the_space_is_written():
    with pytest.raises(LanguageError, match=r"PCA: expected some of n_components, .*; got components, n"):
        SearchSpace(lambda: sklearn_module("PCA", PCA, {"components": 3, "n": 1, "whiten": True}))
    with pytest.raises(LanguageError, match=r"make: expected an estimator class or a Python .*, got <class 'dict'>"):
        SearchSpace(lambda: sklearn_module("F", dict))


KEPT = [
    (lambda: labeled_module("M", "conv3-8"), Labelled(layer="conv3-8")),
    (lambda: torch_module("M", build, layer="fc-8"), TorchLayer(build, layer="fc-8")),
    (lambda: siso_torch_module("M", build), TorchLayer(build)),
    (lambda: siso_torch_layer(build, name="M"), TorchLayer(FromValues(build))),
    (lambda: function_module("M", build, layer=build), PlainFunction(build, layer=build)),
    (lambda: sklearn_module("M", PCA), SklearnStep(PCA)),
    (lambda: feature_union(1), UNION),
]


@pytest.mark.parametrize(("make", "kept"), KEPT)
def test_a_module_keeps_what_it_stands_for(make, kept):
    assert only(make).implementation == kept
    assert type(only(make).implementation) is type(kept)
    if kept is not UNION:
        assert pickle.loads(pickle.dumps(kept)) == kept


PORTS = [
    lambda *given: labeled_module("M", "fc-8", *given),
    lambda *given: torch_module("M", build, *given),
    lambda *given: function_module("M", build, *given),
]


@pytest.mark.parametrize("make", PORTS)
def test_ports_are_those_that_are_named(make):
    node = only(lambda: make({"k": 3}, ["a", "b"], ["c", "d"]))
    assert (list(node.sources), node.outputs, node.values) == (["a", "b"], ("c", "d"), {"k": 3})
    plain = only(make)
    assert (list(plain.sources), plain.outputs, plain.values) == (["in"], ("out",), {})


def test_a_layer_is_a_constant_or_follows_from_the_values():
    assert Labelled(layer="conv3-8").layer_for({"k": 1}) == "conv3-8"
    assert Labelled(layer=lambda values: f"fc-{values['k']}").layer_for({"k": 1}) == "fc-1"
    assert Labelled().layer_for({}) is None
    assert TorchLayer(build).layer_for({"k": 1}) is None


def test_functions_of_values_alone_do_not_see_shapes():
    assert FromValues(dict)({"a": 1, "b": 2}, {"in": (3, 4)}) == {"a": 1, "b": 2}


def test_a_module_of_a_layer_is_named_after_its_maker_unless_told_otherwise():
    assert only(lambda: siso_torch_layer(build)).kind == "build"
    assert only(lambda: siso_torch_layer(PCA)).kind == "PCA"
    assert only(lambda: siso_torch_layer(lambda: None, name="Mine")).kind == "Mine"
    with pytest.raises(LanguageError, match=r"name: expected a name for the module that .* makes, got '<lambda>'"):
        SearchSpace(lambda: siso_torch_layer(lambda: None))
    with pytest.raises(LanguageError, match="got 'two words'"):
        SearchSpace(lambda: siso_torch_layer(build, name="two words"))


def test_makers_that_take_any_parameter_are_given_any():
    assert only(lambda: sklearn_module("M", lambda **values: values, {"anything": 1})).values == {"anything": 1}
    with pytest.raises(LanguageError, match="M: expected some of no values; got k"):
        SearchSpace(lambda: sklearn_module("M", lambda: None, {"k": 1}))


@pytest.mark.parametrize("n", [1, 3])
def test_a_union_has_an_input_for_each_branch(n):
    node = only(lambda: feature_union(n))
    assert list(node.sources) == [f"in{i}" for i in range(n)]
    assert repr(node.implementation) == "a union of features"
