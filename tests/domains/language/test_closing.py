"""Parts whose function has returned: what is refused, by name, and what is fixed then."""

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language import errors
from bostruct.domains.language.build import close
from bostruct.domains.language.features import choice_kind
from bostruct.domains.language.graph import Fragment, build_into
from bostruct.language import D, DependentHyperparameter, SearchSpace, siso_module, siso_or
from examples.language_figures import conv2d
from tests.domains.language.refusals import check_refusal


def closed(builder):
    """The part that a function builds, by itself."""
    fragment = Fragment("", None)
    with build_into(fragment):
        made = builder()
    close(fragment, made)
    return fragment


def test_cycles_and_self_loops():
    def cycle():
        a, b = conv2d(8), lang.combiner(2, "Add")
        a[0]["in"].connect(b[1]["out"])
        b[0]["in0"].connect(a[1]["out"])
        return {"in": b[0]["in1"]}, b[1]

    def loop():
        a, b = lang.combiner(2, "Add"), conv2d(8)
        a[0]["in1"].connect(a[1]["out"])
        b[0]["in"].connect(a[1]["out"])
        return {"in": a[0]["in0"]}, b[1]

    check_refusal(cycle, r"(Add-0|Conv2D-0)\.in.* <- ", errors.CycleError)
    check_refusal(loop, r"Add-0\.in:in1 reads Add-0\.out:out", errors.CycleError)


def test_a_cycle_that_no_output_needs():
    def aside():
        a, b = conv2d(8), conv2d(8)
        a[0]["in"].connect(b[1]["out"])
        b[0]["in"].connect(a[1]["out"])
        return conv2d(8)

    check_refusal(aside, "Conv2D-", errors.CycleError)


def test_dangling_inputs_and_modules():
    def missing():
        a, b = conv2d(8), lang.combiner(2, "Add")
        b[0]["in0"].connect(a[1]["out"])
        return a[0], b[1]

    def aside():
        a, b = conv2d(8), conv2d(D([1, 2]))
        b[0]["in"].connect(a[1]["out"])
        return a

    check_refusal(missing, r"Add-0\.in:in1 reads nothing", errors.DanglingInput)
    check_refusal(aside, r"Conv2D-1 leads to no output of the whole space", errors.DanglingModule)


def test_names_clash():
    check_refusal(lambda: lang.module("A", {}, ["x", "x"]), "A: two of its inputs have the same name", errors.NameClash)
    check_refusal(lambda: lang.siso_module("a/b"), "without spaces or any of")
    check_refusal(lambda: conv2d(D([1], name="+x")), r"not beginning with '\+'")


def test_hyperparameters_of_one_name_are_numbered_from_the_second_on():
    def several():
        names = ["width", "width", "width-1", "width", "1_in_2", None]
        return lang.siso_sequential([conv2d(D([1, 2], name=name)) for name in names])

    space = SearchSpace(several)
    paths = ["1_in_2", "Conv2D-5.filters", "width", "width-1", "width-1-1", "width-2"]
    assert sorted(h.path for h in space.hyperparameters) == paths
    assert {choice_kind(h.path) for h in space.hyperparameters} == {"width", "width-1", "1_in_2", "Conv2D.filters"}
    assert space.count() == lang.Exact(64)
    trace = space.sample(1, np.random.default_rng(0))[0]
    assert space.decode(space.encode(trace)) == trace


WRONG_RETURNS = [
    (None, "two dicts; got None"),
    ([1, 2, 3], "two dicts"),
    (({}, {}), "at least one output"),
    (({"in": 3}, {"out": 4}), "expected an input as 'in', got 3"),
]


@pytest.mark.parametrize(("made", "match"), WRONG_RETURNS)
def test_wrong_returns(made, match):
    check_refusal(lambda: made, match, errors.PortNames)


def test_hyperparameters_are_named_by_their_module_their_name_or_their_number():
    def builder():
        loose = D([1, 2])
        shared = D([3, 4])
        width = D([5, 6], name="width")
        twice = DependentHyperparameter(lambda dh: 2 * dh["x"], {"x": width})
        parts = [siso_module("A", {"x": shared, "w": width}), siso_module("B", {"y": shared, "z": twice})]
        other = D([7, 8])
        either = siso_or([lambda: siso_module("C", {"x": loose}), lambda: siso_module("C", {"x": other})], D([0, 1]))
        return lang.siso_sequential([*parts, either])

    paths = [h.path for h in closed(builder).hyperparameters]
    assert paths == ["D-0", "A-0.x", "width", "B-0.z", "D-1", "SISOOr-0.idx"]


def test_a_part_is_closed_with_the_ports_it_returned_and_its_borders_know_their_names():
    def builder():
        inputs, outputs = lang.module("M", {}, ["a", "b"], ["c", "d"])
        return {"x": inputs["b"], "y": inputs["a"]}, {"z": outputs["d"]}

    part = closed(builder)
    assert part.closed
    assert list(part.inputs) == ["x", "y"]
    assert {port.name: port.exposed_as for port in part.inputs.values()} == {"b": "x", "a": "y"}
    assert part.outputs["z"].name == "d"


def test_a_part_is_plain_where_it_holds_neither_choices_nor_substitutions():
    assert closed(lambda: siso_module("M", {"k": 3})).is_plain
    assert not closed(lambda: siso_module("M", {"k": D([3])})).is_plain
    assert not closed(lambda: lang.siso_optional(lambda: siso_module("M"), D([0, 1]))).is_plain
    fixed = lambda: lang.substitution_module("S", lambda _: siso_module("M"), {}, ["in"], ["out"])  # noqa: E731
    assert not closed(fixed).is_plain


def test_an_input_that_is_returned_twice_and_an_output_in_the_place_of_an_input_are_refused():
    def twice():
        inputs, outputs = siso_module("M")
        return {"a": inputs["in"], "b": inputs["in"]}, outputs

    check_refusal(twice, r"the whole space returns M-0\.in:in twice, as 'a' and as 'b'", errors.NameClash)
    check_refusal(lambda: siso_module("M")[::-1], "expected an input as 'out', got M-0.out:out", errors.PortNames)


def test_long_chains_are_followed_without_recursion():
    n = 5_000
    part = closed(lambda: lang.siso_sequential([siso_module("M") for _ in range(n)]))
    assert len(part.modules) == n
