"""Values of hyperparameters: what can be chosen, in its stored form."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bostruct import language as lang
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.values import as_name, as_properties, as_value
from examples.language_figures import conv2d
from tests.domains.language.refusals import check_refusal

NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | NUMBERS | st.text(max_size=5)
VALUES = st.recursive(SCALARS, lambda part: st.lists(part, max_size=3) | st.tuples(part, part), max_leaves=8)


@settings(max_examples=50)
@given(VALUES)
def test_values_survive_json_and_are_keys(value):
    stored = as_value("x", value)
    assert as_value("x", stored) == stored
    assert as_value("x", json.loads(json.dumps(stored, allow_nan=False))) == stored
    assert {stored: 1}[stored] == 1


STORED = [
    (np.int64(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True), (np.str_("a"), "a"),
    ([1, [2, [np.int8(3)]]], (1, (2, (3,)))),
]  # fmt: skip


@pytest.mark.parametrize(("given", "stored"), STORED)
def test_numbers_of_numpy_and_lists_are_stored_as_python_has_them(given, stored):
    found = as_value("x", given)
    assert found == stored
    assert type(found) is type(stored)


@pytest.mark.parametrize("value", [float("nan"), np.float64("inf"), (1, [float("-inf")])])
def test_numbers_that_json_has_not_are_refused(value):
    with pytest.raises(LanguageError, match="rate: expected finite numbers, got"):
        as_value("rate", value)


@pytest.mark.parametrize("value", [{1, 2}, {"a": 1}, print, b"x", 1j, np.zeros(2), [print]])
def test_what_is_no_value_is_refused_with_the_way_out(value):
    with pytest.raises(LanguageError, match=r"x: expected None, bools, .* to choose between parts use siso_or"):
        as_value("x", value)


REFUSED = [
    "abc", {}, {1: 2}, 3, [], [1, True], [1, 1.0], [lambda: 1], [{"a": {1, 2}}], [{"a": float("nan")}],
    [{"a": 1}, {"a": 1}], [{"a": 1}, '{"a": 1}'], [print, print], [b"x"], [float("nan")], [float("inf")],
    [(1, float("-inf"))],
]  # fmt: skip


@pytest.mark.parametrize("values", REFUSED)
def test_values_that_cannot_be_chosen(values):
    check_refusal(lambda: conv2d(lang.D(values)), "values:")


@pytest.mark.parametrize("name", [None, "a", "_a1", "a-b+c", "1_in_2", "3x"])
def test_names_are_letters_digits_and_a_few_signs(name):
    assert as_name(name) == name


@pytest.mark.parametrize("name", ["", "+1", "a b", "a/b", "a.b", "a[0]", "-a", 3, "a\n"])
def test_other_names_are_refused(name):
    with pytest.raises(
        LanguageError, match=r"name: expected letters, digits, '_', .* and '-', not beginning with '\+'"
    ):
        as_name(name)


def test_properties_are_a_mapping_by_text_or_nothing():
    assert as_properties("p", None) == {}
    given = {"a": 1}
    assert as_properties("p", given) == given
    with pytest.raises(LanguageError, match=r"p: expected a dict from local names, got \['a'\]"):
        as_properties("p", ["a"])  # type: ignore[arg-type]
    with pytest.raises(LanguageError, match="p: expected local names that are strings, got 1"):
        as_properties("p", {"a": 1, 1: 2})  # type: ignore[dict-item]


def first(x):
    return x


def second(x):
    return -x


class Third:
    pass


def test_functions_classes_and_dicts_are_chosen_by_name():
    options = [first, Third, {"b": [1, 2], "a": None}, (second, 3), 0.5]
    space = lang.SearchSpace(lambda: lang.siso_module("M", {"x": lang.D(options)}))
    traces = [*space.enumerate()]
    names = ["first", "Third", '{"a": null, "b": [1, 2]}', ("second", 3), 0.5]
    assert [trace["M-0.x"] for trace in traces] == names
    programs = [space.present(trace) for trace in traces]
    assert [program.nodes[0].values["x"] for program in programs] == options
    assert len({program.fingerprint for program in programs}) == len(options)
    assert [dict(program.nodes[0].names) for program in programs] == [{"x": name} for name in names[:-1]] + [{}]
    for trace, program in zip(traces, programs, strict=True):
        stored = space.decode(json.loads(json.dumps(space.encode(trace))))
        assert stored == trace == pickle.loads(pickle.dumps(trace))
        assert all(type(part) in (str, tuple, float) for part in pickle.loads(pickle.dumps(trace)).values())
        assert space.present(stored) == program
    assert space.assign("M-0.x", first).program() == space.specify(["first"]).program() == programs[0]


def test_anything_is_chosen_by_a_name_of_ones_own():
    options = {"plus": lambda x: x + 1, "minus": lambda x: x - 1, "raw": object(), "one": 1}
    space = lang.SearchSpace(lambda: lang.siso_module("M", {"x": lang.D(options)}))
    programs = [space.present(trace) for trace in space.enumerate()]
    assert [program.nodes[0].values["x"] for program in programs] == [*options.values()]
    assert [program.trace["M-0.x"] for program in programs] == [*options]
    assert len({program.fingerprint for program in programs}) == 4


def test_what_a_name_stands_for_reaches_functions():
    seen = []

    def build(dh):
        seen.append((dh["make"], dh["config"]))
        dh["config"]["size"] = 99  # a copy, so that no other program sees it
        return lang.siso_module("M", {"size": dh["make"](3), "double": dh["double"]})

    def space():
        h_config, h_make = lang.D([{"size": 1}, {"size": 2}]), lang.D([first, second])
        double = lang.DependentHyperparameter(lambda dh: 2 * dh["c"]["size"], {"c": h_config})
        named = {"make": h_make, "config": h_config, "double": double}
        return lang.substitution_module("Part", build, named, ["in"], ["out"])

    built = lang.SearchSpace(space)
    assert built.count() == lang.Exact(4)
    values = [built.present(x).nodes[0].values for x in built.enumerate("depth")]
    assert values == [{"size": s, "double": d} for d in (2, 4) for s in (3, -3)]
    assert {make for make, _ in seen} == {first, second}
    assert [h.path for h in built.hyperparameters] == ["Part-0.config", "Part-0.make"]


def test_what_a_dependent_function_returns_may_have_a_name():
    def space():
        h = lang.D([0, 1])
        chosen = lang.DependentHyperparameter(lambda dh: (first, {"k": 1})[dh["i"]], {"i": h})
        return lang.siso_module("M", {"x": chosen})

    built = lang.SearchSpace(space)
    assert [built.present(x).nodes[0].values["x"] for x in built.enumerate()] == [first, {"k": 1}]


def test_spaces_whose_names_stand_for_other_functions_are_counted_apart():
    def part(options):
        h = lang.D(options)
        return lang.substitution_module("Part", lambda dh: dh["make"](), {"make": h}, ["in"], ["out"])

    def space():
        small, large = lambda: lang.siso_module("A"), lambda: lang.siso_module("A", {"x": lang.D([1, 2, 3])})
        return lang.siso_sequential([part({"a": small}), part({"a": large})])

    built = lang.SearchSpace(space)
    assert built.count() == lang.Exact(len([*built.enumerate()])) == lang.Exact(3)


def test_what_cannot_be_told_apart_asks_for_names():
    for options in ([print, print], [{"a": 1}, {"a": 1}]):
        check_refusal(lambda options=options: conv2d(lang.D(options)), r"duplicates.*name them, D\(\{'name'")
    check_refusal(lambda: conv2d(lang.D([lambda: 1])), r"any object under your own name, D\(\{'name': value")
