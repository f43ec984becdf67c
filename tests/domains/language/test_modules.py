"""Modules: their ports, and parts that take the place of one."""

from __future__ import annotations

import pytest

from bostruct import language as lang
from bostruct.domains.language import errors
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.graph import Fragment, build_into
from bostruct.domains.language.modules import module, siso_module, substitution_module
from bostruct.language import D, Exact, SearchSpace
from examples.language_figures import conv2d
from tests.domains.language.refusals import check_refusal


def test_substitutions_have_the_ports_they_declare():
    def wrong():
        return lang.substitution_module("Part", lambda _: lang.combiner(2, "Add"), {"h": D([1])}, ["in"], ["out"])

    with pytest.raises(errors.PortNames, match=r"Part-0\[1\]: expected the inputs in; got in0, in1"):
        SearchSpace(wrong).assign("Part-0.h", 1)


def test_local_names_are_text():
    names = lambda: {1: D([1]), "x": D([2])}  # noqa: E731
    fn = lambda _: conv2d(1)  # noqa: E731
    text = "expected local names that are text, got 1"
    check_refusal(lambda: lang.siso_module("M", names()), LanguageError, f"M: name_to_hyperp: {text}")
    check_refusal(lambda: lang.substitution_module("S", fn, names(), ["in"], ["out"]), LanguageError, f"S: .*{text}")
    check_refusal(lambda: lang.DependentHyperparameter(len, names()), LanguageError, f"hyperps: {text}")
    check_refusal(lambda: lang.siso_module("M", [D([1])]), LanguageError, "M: name_to_hyperp: expected a dict")


def test_ports_have_the_names_that_are_given_in_their_order():
    with build_into(Fragment("", None)):
        inputs, outputs = module("M", None, ["b", "a"], ("d", "c"))
        single = siso_module("N")
        source = module("Source")
        replaced = substitution_module("S", lambda _: siso_module("N"), {}, ["in"], ["out"])
    assert (list(inputs), list(outputs)) == (["b", "a"], ["d", "c"])
    assert [list(ports) for ports in single] == [list(ports) for ports in replaced] == [["in"], ["out"]]
    assert [list(ports) for ports in source] == [[], ["out"]]
    assert single[0]["in"].module is single[1]["out"].module


def test_names_of_ports_are_sequences_of_distinct_texts():
    check_refusal(lambda: module("M", {}, "in"), LanguageError, "M: expected a sequence of input names, got 'in'")
    check_refusal(
        lambda: module("M", {}, [], "out"), LanguageError, "M: expected a sequence of output names, got 'out'"
    )
    check_refusal(
        lambda: substitution_module("S", lambda _: None, {}, [], ["x", "y", "x"]),
        errors.NameClash,
        "S: two of its outputs have one name: x, y, x",
    )


def test_what_takes_the_place_may_have_some_of_the_ports_where_that_is_said():
    def space(**allowed):
        def part(_):
            return module("M", {}, ["a"], ["c"])

        def builder():
            inputs, outputs = substitution_module("S", part, {"h": D([1])}, ["a", "b"], ["c", "d"], **allowed)
            return inputs, {"c": outputs["c"]}

        return SearchSpace(builder)

    done = space(allow_input_subset=True, allow_output_subset=True).assign("S-0.h", 1)
    assert done.program().inputs == ("a", "b")
    for allowed, words in (
        ({"allow_input_subset": True}, r"S-0\[1\]: expected the outputs c, d; got c"),
        ({"allow_output_subset": True}, r"S-0\[1\]: expected the inputs a, b; got a"),
    ):
        with pytest.raises(errors.PortNames, match=words):
            space(**allowed).assign("S-0.h", 1)


@pytest.mark.parametrize(("keyed_by", "paths"), [(None, 4), (("a", "b"), 4), (("a",), 2), ((), 1)])
def test_choices_inside_keep_their_places_where_only_other_values_change(keyed_by, paths):
    def builder():
        return substitution_module(
            "S", lambda _: siso_module("M", {"x": D([0])}), {"a": D([1, 2]), "b": D([3, 4])}, ["in"], ["out"],
            keyed_by=keyed_by,
        )  # fmt: skip

    found = {path for trace in SearchSpace(builder).enumerate() for path in trace if path.endswith(".x")}
    assert len(found) == paths


def test_a_promise_that_nothing_opens_is_kept_or_refused():
    def space(part):
        return SearchSpace(
            lambda: substitution_module("S", part, {"n": D([1, 2])}, ["in"], ["out"], opens_choices=False)
        )

    def refuse(_):
        raise lang.Infeasible("never")

    assert space(lambda dh: siso_module("M", {"n": dh["n"]})).count() == Exact(2)
    with pytest.raises(LanguageError, match=r"S-0: opens_choices=False, but what \{'n': 1\} builds holds choices"):
        space(lambda _: siso_module("M", {"x": D([0])})).assign("S-0.n", 1).program()
    with pytest.raises(LanguageError, match=r"S-0: opens_choices=False, but \{'n': 1\} is infeasible: never"):
        space(refuse).assign("S-0.n", 1).program()


def test_functions_and_keys_of_substitutions_are_checked_when_they_are_written():
    names = (["in"], ["out"])
    check_refusal(
        lambda: substitution_module("S", 3, {}, *names), LanguageError, "substitution_fn: expected a function"
    )  # type: ignore[arg-type]
    check_refusal(
        lambda: substitution_module("S", lambda _: None, {"a": D([1])}, *names, keyed_by=["b"]),
        LanguageError,
        r"keyed_by: expected some of \['a'\], got \['b'\]",
    )
