"""Modules: their ports, and parts that take the place of one."""

import pickle
from functools import partial

import pytest

from bostruct import language as lang
from bostruct.domains.language import errors
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.graph import Fragment, build_into, module, outer_output, siso_module, substitution_module
from bostruct.language import D, Exact, SearchSpace
from examples.language_figures import conv2d
from tests.domains.language.refusals import check_refusal


def test_substitutions_have_the_ports_they_declare():
    def wrong():
        return lang.substitution_module("Part", lambda _: lang.combiner(2, "Add"), {"h": D([1])}, ["in"], ["out"])

    with pytest.raises(errors.PortNames, match=r"Part-0\[1\]: expected the inputs in; got in0, in1"):
        SearchSpace(wrong).assign("Part-0.h", 1)


@pytest.mark.parametrize(("ports", "says"), [(["out"], r"M-0 has \['out'\]"), ([], "the module has none")])
def test_a_port_that_does_not_exist_is_refused_with_the_names_that_do(ports, says):
    with pytest.raises(errors.PortNames, match=rf"there is no port 'output'; {says}"):
        SearchSpace(lambda: module("M", {}, ["in"], ports)[1]["output"])


def test_local_names_are_text():
    names = lambda: {1: D([1]), "x": D([2])}  # noqa: E731
    fn = lambda _: conv2d(1)  # noqa: E731
    text = "expected local names that are strings, got 1"
    check_refusal(lambda: lang.siso_module("M", names()), f"M: name_to_hyperp: {text}")
    check_refusal(lambda: lang.substitution_module("S", fn, names(), ["in"], ["out"]), f"S: .*{text}")
    check_refusal(lambda: lang.DependentHyperparameter(len, names()), f"hyperps: {text}")
    check_refusal(lambda: lang.siso_module("M", [D([1])]), "M: name_to_hyperp: expected a dict")


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
    check_refusal(lambda: module("M", {}, "in"), "M: expected a sequence of input names, got 'in'")
    check_refusal(lambda: module("M", {}, [], "out"), "M: expected a sequence of output names, got 'out'")
    twice = lambda: substitution_module("S", lambda _: None, {}, [], ["x", "y", "x"])  # noqa: E731
    check_refusal(twice, "S: two of its outputs have the same name: x, y, x", errors.NameClash)


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
        ports = (["in"], ["out"])
        return SearchSpace(lambda: substitution_module("S", part, {"n": D([1, 2])}, *ports, opens_choices=False))

    def refuse(_):
        raise lang.Infeasible("never")

    assert space(lambda dh: siso_module("M", {"n": dh["n"]})).count() == Exact(2)
    with pytest.raises(LanguageError, match=r"S-0: opens_choices=False, but the part for \{'n': 1\} contains choices"):
        space(lambda _: siso_module("M", {"x": D([0])})).assign("S-0.n", 1).program()
    with pytest.raises(LanguageError, match=r"S-0: opens_choices=False, but \{'n': 1\} is infeasible: never"):
        space(refuse).assign("S-0.n", 1).program()


def test_functions_and_keys_of_substitutions_are_checked_when_they_are_written():
    names = (["in"], ["out"])
    check_refusal(lambda: substitution_module("S", 3, {}, *names), "substitution_fn: expected a function")  # type: ignore[arg-type]
    unknown = lambda: substitution_module("S", lambda _: None, {"a": D([1])}, *names, keyed_by=["b"])  # noqa: E731
    check_refusal(unknown, r"keyed_by: expected some of \['a'\], got \['b'\]")


def steps_space(hidden_choices, opening=(0, 1)):
    """Return a space in which a count of steps is read only from inside of optional parts, and one of these parts."""

    def reader(steps):
        inputs, outputs = lang.module("DropPath", {"keep": D([0.5, 0.9])}, ["in", "steps"])
        inputs["steps"].connect(steps)
        return {"in": inputs["in"]}, outputs

    def space():
        steps_inputs, steps_outputs = siso_module("Steps", {"x": D([1, 2, 3])} if hidden_choices else {})
        steps = outer_output(steps_outputs["out"])
        parts = [lang.siso_optional(lambda: reader(steps), D(list(opening))) for _ in range(2)]
        inputs, outputs = lang.siso_sequential([siso_module("Stem"), *parts])
        return {"in": inputs["in"], "steps": steps_inputs["in"]}, outputs

    return SearchSpace(space)


@pytest.mark.parametrize("hidden_choices", [False, True])
def test_parts_inside_read_outputs_that_are_declared(hidden_choices):
    space = steps_space(hidden_choices)
    traces = [*space.enumerate("depth")]
    steps = 3 if hidden_choices else 1
    assert len(traces) == 1 + 2 * 2 * steps + 4 * steps
    assert space.count() == Exact(len(traces))
    for trace in traces:
        program = space.present(trace)
        opened = trace["SISOOptional-0.opt"] + trace["SISOOptional-1.opt"]
        kinds = [node.kind for node in program.nodes]
        assert sorted(kinds) == sorted(["Stem"] + ["DropPath"] * opened + ["Steps"] * (opened > 0))
        assert ("Steps-0.x" in trace) == (hidden_choices and opened > 0)
        readers = [node.sources["steps"] for node in program.nodes if node.kind == "DropPath"]
        assert readers == [(kinds.index("Steps"), "out")] * opened if opened else readers == []
        assert space.replay(dict(trace)).program() == program == pickle.loads(pickle.dumps(partial(one_of, trace)))()
        assert "DropPath" not in program.to_text() or "steps <- Steps-0.out" in program.to_text()


def one_of(trace):
    return steps_space("Steps-0.x" in trace).replay(trace).program()


def test_a_declared_output_may_also_be_read_in_its_own_part():
    def space():
        inputs, outputs = siso_module("A")
        shown = outer_output(outputs["out"])

        def residual():
            sum_inputs, sum_outputs = lang.combiner(2, "Add")
            sum_inputs["in1"].connect(shown)
            return {"in": sum_inputs["in0"]}, sum_outputs

        return lang.siso_sequential([(inputs, outputs), siso_module("B"), lang.siso_optional(residual, D([0, 1]))])

    built = SearchSpace(space)
    assert built.count() == Exact(2)
    program = built.specify([1]).program()
    assert [node.kind for node in program.nodes] == ["A", "B", "Add"]
    assert program.nodes[2].sources == {"in0": (1, "out"), "in1": (0, "out")}


def test_outputs_that_nobody_declared_or_that_are_elsewhere():
    def read_inside(declare, read=lambda outputs: outputs["out"]):
        def inside(outputs):
            inputs, more = lang.combiner(2, "Add")
            inputs["in1"].connect(read(outputs))
            return {"in": inputs["in0"]}, more

        def space():
            stem = siso_module("A")
            declare(stem[1]["out"])
            return lang.siso_sequential([stem, lang.siso_optional(lambda: inside(stem[1]), D([1]))])

        return space

    assert SearchSpace(read_inside(outer_output)).count() == Exact(1)
    with pytest.raises(errors.ForeignPort, match=r"the whole space may declare the output by outer_output"):
        SearchSpace(read_inside(lambda _: None)).specify([1])
    check_refusal(read_inside(lambda _: outer_output(3)), "expected an output of a module, got 3")
    late = read_inside(lambda _: None, read=lambda outputs: outer_output(outputs["out"]))
    with pytest.raises(errors.ForeignPort, match=r"A-0\.out:out: expected an output of the part under construction"):
        SearchSpace(late).specify([1])


def test_declared_outputs_close_no_circle():
    def own():  # what stands for the part would read what follows it
        shown = []
        part = lang.siso_optional(lambda: adding(shown[0]), D([1]))
        after = siso_module("After")
        shown.append(outer_output(after[1]["out"]))
        return lang.siso_sequential([part, after])

    def adding(output):
        inputs, outputs = lang.combiner(2, "Add")
        inputs["in1"].connect(output)
        return {"in": inputs["in0"]}, outputs

    def mutual():  # two parts that read each other
        shown = []
        parts = [lang.siso_optional(lambda i=i: adding(shown[1 - i]), D([0, 1])) for i in range(2)]
        shown += [outer_output(outputs["out"]) for _, outputs in parts]
        joined_inputs, joined_outputs = lang.combiner(2, "Join")
        for i, (_, outputs) in enumerate(parts):
            joined_inputs[f"in{i}"].connect(outputs["out"])
        return {f"x{i}": inputs["in"] for i, (inputs, _) in enumerate(parts)}, joined_outputs

    with pytest.raises(errors.CycleError, match=r"reads After-0.*depends on SISOOptional-0, the enclosing"):
        SearchSpace(own).specify([1])
    space = SearchSpace(mutual)
    assert [len(space.specify(values).program()) for values in ([0, 0], [0, 1], [1, 0])] == [1, 2, 2]
    with pytest.raises(errors.CycleError, match=r"feed each other in a cycle: .*Add-0 <- .*Add-0 <- "):
        space.specify([1, 1])


def test_parts_that_promise_no_choices_read_nothing_outside():
    def space():
        inputs, outputs = siso_module("A")
        shown = outer_output(outputs["out"])

        def build(_):
            more_inputs, more_outputs = siso_module("B")
            more_inputs["in"].connect(shown)
            return {}, more_outputs

        part = substitution_module("Part", build, {"h": D([1, 2])}, [], ["out"], opens_choices=False)
        return inputs, part[1]

    with pytest.raises(LanguageError, match=r"opens_choices=False, but .* reads an output of an enclosing part"):
        SearchSpace(space).specify([1]).program()
