"""What spaces are made of: which ports may be connected, which parts enclose which, how things are called."""

import threading

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language import errors
from bostruct.domains.language.errors import LanguageError
from bostruct.domains.language.graph import (
    DependentHyperparameter,
    Discrete,
    Fragment,
    Module,
    build_into,
    current_fragment,
    is_hyperparameter,
    show_port,
)
from bostruct.language import D, SearchSpace
from examples.language_figures import conv2d
from tests.domains.language.refusals import check_refusal

PORTS = (("in",), ("out",))


def test_an_input_is_connected_once():
    def twice():
        a, b, c = conv2d(1), conv2d(2), conv2d(3)
        c[0]["in"].connect(a[1]["out"])
        c[0]["in"].connect(b[1]["out"])
        return a[0], c[1]

    def border():
        a, b = conv2d(1), conv2d(2)
        b[0]["in"].connect(a[1]["out"])
        return b[0], b[1]

    check_refusal(twice, r"Conv2D-2\.in:in reads Conv2D-0\.out:out .* Conv2D-1\.out:out", errors.AlreadyConnected)
    check_refusal(border, r"returns Conv2D-1\.in:in as its input 'in', but it reads Conv2D-0", errors.AlreadyConnected)


def test_ports_are_connected_to_ports_of_the_other_kind():
    def inputs():
        a, b = conv2d(1), conv2d(2)
        a[0]["in"].connect(b[0]["in"])

    def outputs():
        a, b = conv2d(1), conv2d(2)
        a[1]["out"].connect(b[1]["out"])

    check_refusal(inputs, r"Conv2D-0\.in:in: expected an output to connect to, got Conv2D-1\.in:in")
    check_refusal(outputs, r"Conv2D-0\.out:out: expected an input to connect to, got Conv2D-1\.out:out")
    check_refusal(lambda: conv2d(1)[0]["in"].connect(3), "got 3")


def test_parts_built_at_different_times_cannot_be_connected():
    def outward():
        outer = conv2d(1)

        def inner():
            own = conv2d(2)
            own[0]["in"].connect(outer[1]["out"])
            return {}, own[1]

        part = lang.substitution_module("Part", lambda _: inner(), {}, [], ["out"])
        joined = lang.combiner(2, "Add")
        joined[0]["in0"].connect(outer[1]["out"])
        joined[0]["in1"].connect(part[1]["out"])
        return outer[0], joined[1]

    def returned():
        outer = conv2d(1)
        part = lang.substitution_module("Part", lambda _: outer, {}, ["in"], ["out"])
        part[0]["in"].connect(outer[1]["out"])
        return outer[0], part[1]

    check_refusal(outward, r"Part-0/Conv2D-0\.in:in cannot read Conv2D-0\.out:out", errors.ForeignPort)
    check_refusal(returned, r"Part-0 returns 'in': Conv2D-0\.in:in, which .* the whole space", errors.ForeignPort)


def test_finished_parts_are_closed():
    kept = []

    def builder():
        kept.append(conv2d(1))
        return kept[-1]

    SearchSpace(builder)
    with pytest.raises(errors.ForeignPort, match="is finished"):
        kept[0][0]["in"].connect(kept[0][1]["out"])


def test_hyperparameters_belong_to_parts_that_enclose_their_use():
    leaked = []

    def leaking():
        leaked.append(D([1, 2]))
        return conv2d(leaked[0])

    def space():
        first = lang.siso_optional(leaking, D([1]))
        second = lang.siso_optional(lambda: conv2d(leaked[0]), D([1]))
        return lang.siso_sequential([second, first])

    with pytest.raises(errors.ForeignHyperparameter, match=r"SISOOptional-1.*made in SISOOptional-0\[1\]"):
        SearchSpace(space).sample(1, np.random.default_rng(0))
    for make, given in ((D, [1, 2]), (conv2d, 3)):
        with pytest.raises(LanguageError, match="inside the function that you pass to SearchSpace"):
            make(given)


def test_modules_are_numbered_by_kind_and_named_by_their_place():
    root = Fragment("", None)
    with build_into(root):
        host, other, again = Module("A", {}, PORTS), Module("B", {}, PORTS), Module("A", {}, PORTS)
    inner = Fragment("A-0[1]", host)
    with build_into(inner):
        deep = Module("A", {}, PORTS)
    assert [module.path for module in (host, other, again, deep)] == ["A-0", "B-0", "A-1", "A-0[1]/A-0"]
    ports = [str(port) for port in (deep.inputs["in"], deep.outputs["out"])]
    assert ports == ["A-0[1]/A-0.in:in", "A-0[1]/A-0.out:out"]
    assert (root.depth, inner.depth, str(root), str(inner)) == (0, 1, "the whole space", "A-0[1]")
    assert root.modules == [host, other, again]


def test_a_part_encloses_itself_and_what_is_built_inside():
    root = Fragment("", None)
    with build_into(root):
        hosts = [Module("A", {}, PORTS) for _ in range(2)]
    left, right = (Fragment(host.path, host) for host in hosts)
    with build_into(left):
        deeper = Fragment("A-0/B-0", Module("B", {}, PORTS))
    assert all(part.encloses(other) for part, other in ((root, root), (root, deeper), (left, deeper)))
    assert not any(part.encloses(other) for part, other in ((right, deeper), (deeper, left), (left, right)))


def test_properties_are_sorted_and_constants_kept_apart():
    with build_into(Fragment("", None)):
        x, y = Discrete([1, 2]), Discrete([3])
        module = Module("M", {"c": 5, "b": y, "a": "text", "d": x}, PORTS)
    assert list(module.hyperparameters.items()) == [("b", y), ("d", x)]
    assert list(module.constants.items()) == [("a", "text"), ("c", 5)]


def test_edges_lead_from_outputs_to_inputs_whichever_end_is_asked():
    with build_into(Fragment("", None)):
        a, b, c = (Module("M", {}, PORTS) for _ in range(3))
        b.inputs["in"].connect(a.outputs["out"])
        a.outputs["out"].connect(c.inputs["in"])
    assert b.inputs["in"].source is c.inputs["in"].source is a.outputs["out"]
    assert a.inputs["in"].source is None


def test_a_part_under_construction_is_that_of_its_own_thread():
    outer, inner, seen = Fragment("", None), Fragment("inner", None), []

    def fail_inside():
        with build_into(inner):
            assert current_fragment("it") is inner
            raise KeyError

    with build_into(outer):
        with pytest.raises(KeyError):
            fail_inside()
        assert current_fragment("it") is outer

        def look():
            with pytest.raises(LanguageError, match="it belongs to a space: make it inside the function"):
                current_fragment("it")
            seen.append(True)

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [True]
    with pytest.raises(LanguageError, match="it belongs to a space"):
        current_fragment("it")


def test_hyperparameters_know_their_values_and_what_they_depend_on():
    with build_into(Fragment("", None)):
        h = Discrete([1, "a", (2, 3)], name="h", ordered=True)
        both = DependentHyperparameter(len, {"b": h, "a": Discrete([0])})
    assert (h.values, h.positions) == ((1, "a", (2, 3)), {1: 0, "a": 1, (2, 3): 2})
    assert list(both.parents) == ["a", "b"]
    assert (str(h), str(both)) == ("D([1, 'a', (2, 3)])", "DependentHyperparameter of a, b")
    assert [is_hyperparameter(one) for one in (h, both, [1, "a"])] == [True, True, False]


REFUSED = [
    (lambda: DependentHyperparameter(3, {"x": D([1])}), "fn: expected a function of a dict, got 3"),  # type: ignore[arg-type]
    (lambda: DependentHyperparameter(len, {}), r"hyperps: expected a dict from names to hyperparameters, got \{\}"),
    (lambda: DependentHyperparameter(len, {"x": 1}), "hyperps: expected a dict from names to hyperparameters"),  # type: ignore[dict-item]
    (lambda: Module("two words", {}, PORTS), "name: expected a string without spaces"),
    (lambda: Module("a[0]", {}, PORTS), "name: expected a string without spaces"),
    (lambda: Module(3, {}, PORTS), "name: expected a string without spaces"),  # type: ignore[arg-type]
    (lambda: Module("M", {"x": object()}, PORTS), "M-0: x: expected a value with the same repr"),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_is_written_wrongly_is_refused_by_name(make, words):
    with build_into(Fragment("", None)), pytest.raises(LanguageError, match=words):
        make()


def test_ports_are_shown_by_their_place_and_anything_else_as_it_is():
    with build_into(Fragment("", None)):
        module = Module("M", {}, PORTS)
    assert show_port(module.inputs["in"]) == "M-0.in:in"
    assert show_port("x" * 500) != "x" * 500
    assert show_port(3) == "3"
