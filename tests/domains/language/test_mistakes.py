"""What is written wrongly is refused with both ends named, and leaves nothing behind; the defects of the published code
are absent, one by one.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import bostruct as bo
from bostruct import language as lang
from bostruct.domains.language import changes, errors
from bostruct.language import D, Infeasible, LanguageError, SearchSpace, TraceError
from examples.language_figures import conv2d, figure_4, figure_18


def refused(builder, kind, match):
    with pytest.raises(kind, match=match):
        SearchSpace(builder)


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

    refused(cycle, errors.CycleError, r"(Add-0|Conv2D-0)\.in.* <- ")
    refused(loop, errors.CycleError, r"Add-0\.in:in1 reads Add-0\.out:out")


def test_a_cycle_that_no_output_needs():
    def aside():
        a, b = conv2d(8), conv2d(8)
        a[0]["in"].connect(b[1]["out"])
        b[0]["in"].connect(a[1]["out"])
        return conv2d(8)

    refused(aside, errors.CycleError, "Conv2D-")


def test_dangling_inputs_and_modules():
    def missing():
        a, b = conv2d(8), lang.combiner(2, "Add")
        b[0]["in0"].connect(a[1]["out"])
        return a[0], b[1]

    def aside():
        a, b = conv2d(8), conv2d(D([1, 2]))
        b[0]["in"].connect(a[1]["out"])
        return a

    refused(missing, errors.DanglingInput, r"Add-0\.in:in1 reads nothing")
    refused(aside, errors.DanglingModule, r"Conv2D-1 leads to no output of the whole space")


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

    refused(twice, errors.AlreadyConnected, r"Conv2D-2\.in:in reads Conv2D-0\.out:out already; .* Conv2D-1\.out:out")
    refused(border, errors.AlreadyConnected, r"returns Conv2D-1\.in:in as its input 'in', but it reads Conv2D-0")


def test_ports_are_connected_to_ports_of_the_other_kind():
    def inputs():
        a, b = conv2d(1), conv2d(2)
        a[0]["in"].connect(b[0]["in"])

    def outputs():
        a, b = conv2d(1), conv2d(2)
        a[1]["out"].connect(b[1]["out"])

    refused(inputs, LanguageError, r"Conv2D-0\.in:in: expected an output to connect to, got Conv2D-1\.in:in")
    refused(outputs, LanguageError, r"Conv2D-0\.out:out: expected an input to connect to, got Conv2D-1\.out:out")
    refused(lambda: conv2d(1)[0]["in"].connect(3), LanguageError, "got 3")


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

    refused(outward, errors.ForeignPort, r"Part-0/Conv2D-0\.in:in cannot read Conv2D-0\.out:out")
    refused(returned, errors.ForeignPort, r"Part-0 returns 'in': Conv2D-0\.in:in, which belongs to the whole space")


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
    with pytest.raises(LanguageError, match="inside the function that is given to SearchSpace"):
        D([1, 2])
    with pytest.raises(LanguageError, match="inside the function that is given to SearchSpace"):
        conv2d(3)


def test_names_clash():
    def two_names():
        return lang.siso_sequential([conv2d(D([1, 2], name="width")), conv2d(D([1, 2], name="width"))])

    refused(two_names, errors.NameClash, r"two hyperparameters of the whole space are called 'width'")
    refused(lambda: lang.module("A", {}, ["x", "x"]), errors.NameClash, "A: two of its inputs have one name")
    refused(lambda: lang.siso_module("a/b"), LanguageError, "without spaces and any of")
    refused(lambda: conv2d(D([1], name="1x")), LanguageError, "not beginning with a digit")


@pytest.mark.parametrize("count", [0, -1, 2.0, True, "3"])
def test_bad_repeat_counts(count):
    refused(lambda: lang.siso_repeat(lambda: conv2d(1), D([count])), LanguageError, "SISORepeat: expected a number")

    def dependent():
        h = D([5, 6])
        return lang.siso_repeat(lambda: conv2d(1), lang.DependentHyperparameter(lambda _: count, {"h": h}))

    with pytest.raises(LanguageError, match=r"SISORepeat: expected a number"):
        SearchSpace(dependent).sample(1, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (None, "two dicts; got None"),
        ([1, 2, 3], "two dicts"),
        (({}, {}), "at least one output"),
        (({"in": 3}, {"out": 4}), "expected an input as 'in', got 3"),
    ],
)
def test_wrong_returns(made, match):
    refused(lambda: made, errors.PortNames, match)


def test_substitutions_have_the_ports_they_declare():
    def wrong():
        return lang.substitution_module("Part", lambda _: lang.combiner(2, "Add"), {"h": D([1])}, ["in"], ["out"])

    with pytest.raises(errors.PortNames, match=r"Part-0\[1\]: expected the inputs in; got in0, in1"):
        SearchSpace(wrong).assign("Part-0.h", 1)


@pytest.mark.parametrize(
    "values",
    [
        "abc",
        {"a": 1},
        3,
        [],
        [1, True],
        [1, 1.0],
        [lambda: 1],
        [{"a": 1}],
        [float("nan")],
        [float("inf")],
        [(1, float("-inf"))],
    ],
)
def test_values_that_cannot_be_chosen(values):
    refused(lambda: conv2d(D(values)), LanguageError, "values:")


def test_local_names_are_text():
    names = lambda: {1: D([1]), "x": D([2])}  # noqa: E731
    fn = lambda _: conv2d(1)  # noqa: E731
    text = "expected local names that are text, got 1"
    refused(lambda: lang.siso_module("M", names()), LanguageError, f"M: name_to_hyperp: {text}")
    refused(lambda: lang.substitution_module("S", fn, names(), ["in"], ["out"]), LanguageError, f"S: .*{text}")
    refused(lambda: lang.DependentHyperparameter(len, names()), LanguageError, f"hyperps: {text}")
    refused(lambda: lang.siso_module("M", [D([1])]), LanguageError, "M: name_to_hyperp: expected a dict")


def test_choices_outside_a_list_of_functions_are_refused_at_once():
    refused(
        lambda: lang.siso_or([lambda: conv2d(1)], D([0, 1])), LanguageError, "SISOOr: idx: expected one of 0; got 1"
    )
    refused(lambda: lang.siso_permutation([lambda: conv2d(1)] * 2, D([2])), LanguageError, "perm_idx")


def test_parts_and_functions_that_build_them_are_told_apart():
    part = "expected a function that builds a part, got"
    refused(lambda: lang.siso_repeat(conv2d(1), D([1])), LanguageError, f"SISORepeat: fn: {part}.*write `lambda: ...`")
    refused(lambda: lang.siso_optional(conv2d(1), D([1])), LanguageError, f"SISOOptional: fn: {part}")
    refused(lambda: lang.siso_or([conv2d(1)], D([0])), LanguageError, f"SISOOr: fn_lst: {part}")
    refused(lambda: lang.siso_or([], D([0])), LanguageError, "SISOOr: fn_lst: expected at least one function")
    refused(lambda: lang.siso_sequential([lambda: conv2d(1)]), LanguageError, "io_lst: expected parts.* at 0; call it")
    refused(lambda: lang.siso_optional(lambda: conv2d(1), D(["no", "yes"])), LanguageError, "opt: expected True, False")
    three = [lambda: conv2d(1)] * 3
    refused(lambda: lang.siso_permutation(three, lang.OneOfKFactorial(2)), LanguageError, "orders of 3 parts, got all")
    nested = lambda: lang.siso_repeat(lambda: conv2d(1), lang.DependentHyperparameter(lambda _: 0, {"h": D([1])}))  # noqa: E731
    with pytest.raises(LanguageError, match="SISORepeat-0: SISORepeat: expected a number"):
        SearchSpace(nested).sample(1, np.random.default_rng(0))


def test_what_is_no_point_or_generator_is_refused_by_name():
    space, rng = SearchSpace(figure_4), np.random.default_rng(0)
    x = space.sample(1, rng)[0]
    assert space.present(dict(x)) == space.present(x)
    assert space.mutate(dict(x), rng) != x
    assert space.crossover(dict(x), dict(x), rng) == x
    for call in (lambda r: space.sample(1, r), lambda r: space.mutate(x, r), lambda r: space.complete({}, r)):
        with pytest.raises(TypeError, match="rng: expected a numpy Generator"):
            call(0)
    with pytest.raises(ValueError, match="m: expected at least 0, got -1"):
        space.sample(-1, rng)
    with pytest.raises(TraceError, match="hyperparameter: expected one, or its place as text, got 3"):
        space.assign(3, 1)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TraceError, match=r"expected one of \[1, 2, 4\], got \(1,\)"):
        space.assign("SISORepeat-0.num_reps", [1])
    with pytest.raises(TraceError, match="zz: no such choice or value"):
        space.complete({"zz": 1}, rng)
    with pytest.raises(TraceError, match=r"SISORepeat-0\.num_reps: no such choice or value"):
        space.complete({"SISORepeat-0.num_reps": 3}, rng)
    assert len(repr(space.present(x))) < 250


def test_results_of_which_nothing_was_kept():
    study = bo.Study(SearchSpace(figure_4), method="random", seed=0)
    study.optimize(lambda p: float(len(p)), 5)
    kept = study.result.where(lambda _: False)
    with pytest.raises(
        bo.contracts.BostructError, match="no completed trial was kept: where's condition is false for all 5"
    ):
        _ = kept.best_trial
    assert "no completed trial was kept" in repr(kept)


# The fourteen defects of the published code, in the order of its description.


def test_1_siblings_may_share_a_hyperparameter_that_their_bodies_use_too():
    def space():
        n = D([1, 2])
        body = lambda: lang.siso_repeat(lambda: conv2d(n), n)  # noqa: E731
        return lang.siso_sequential([lang.siso_repeat(body, n), lang.siso_repeat(body, n)])

    assert SearchSpace(space).count() == lang.Exact(2)
    assert [len(SearchSpace(space).present(x)) for x in SearchSpace(space).enumerate()] == [2, 8]


def test_2_and_3_cycles_and_unconnected_inputs_are_refused():
    test_cycles_and_self_loops()
    test_dangling_inputs_and_modules()


def test_4_no_handle_is_stale_and_no_border_is_special():
    def bare():
        return lang.siso_optional(lambda: conv2d(D([1, 2])), D([0, 1]))

    def renamed():
        inputs, outputs = bare()
        return {"x": inputs["in"]}, {"y": outputs["out"], "z": outputs["out"]}

    space = SearchSpace(renamed)
    assert not space.is_terminal
    done = space.assign("SISOOptional-0.opt", 1).assign("SISOOptional-0[1]/Conv2D-0.filters", 2)
    assert done.is_terminal
    program = done.program()
    assert program.inputs == ("x",)
    assert program.outputs["y"] == program.outputs["z"] == (0, "out")


def test_5_a_function_that_raises_leaves_the_space_as_it_was():
    attempts = []

    def failing():
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError("no disk")
        return conv2d(1)

    space = SearchSpace(lambda: lang.siso_optional(failing, D([0, 1])))
    with pytest.raises(errors.SubstitutionError, match=r"SISOOptional-0: its function failed for .*no disk"):
        space.assign("SISOOptional-0.opt", 1)
    assert [h.path for h in space.hyperparameters] == ["SISOOptional-0.opt"]
    assert space.assign("SISOOptional-0.opt", 1).is_terminal

    def dependent():
        return conv2d(lang.DependentHyperparameter(lambda dh: 1 // dh["x"], {"x": D([0, 1])}))

    with pytest.raises(errors.SubstitutionError, match="ZeroDivisionError"):
        SearchSpace(dependent).assign("D-0", 0).program()


def test_6_nothing_off_the_way_to_an_output_is_forgotten():
    test_dangling_inputs_and_modules()

    def carried():
        inputs, outputs = lang.hyperparameter_aggregator({"rate": D([0.1, 0.2])})
        a_inputs, a_outputs = conv2d(1)
        a_inputs["in"].connect(outputs["out"])
        return inputs, a_outputs

    assert SearchSpace(carried).count() == lang.Exact(2)


def test_7_dependent_values_are_checked():
    def beyond():
        h = D([0, 5])
        return lang.siso_or([lambda: conv2d(1)], lang.DependentHyperparameter(lambda dh: dh["h"], {"h": h}))

    space = SearchSpace(beyond)
    assert space.assign("D-0", 0).is_terminal
    with pytest.raises(LanguageError, match="SISOOr: idx: expected one of 0; got 5"):
        space.assign("D-0", 5)


def test_8_every_module_is_visited_once():
    def space():
        a, b = conv2d(D([1, 2])), conv2d(D([1, 2]))
        b[0]["in"].connect(a[1]["out"])
        return a[0], {"first": a[1]["out"], "second": b[1]["out"]}

    program = SearchSpace(space).complete({}, np.random.default_rng(0)).program()
    assert [node.path for node in program.nodes] == ["Conv2D-0", "Conv2D-1"]


def test_9_spaces_do_not_know_of_each_other():
    first, second = SearchSpace(figure_4), SearchSpace(figure_4)
    trace = first.sample(1, np.random.default_rng(0))[0]
    assert second.replay(trace).program() == first.replay(trace).program()
    assert [h.path for h in first.hyperparameters] == [h.path for h in second.hyperparameters]


def test_10_spaces_and_programs_survive_pickling():
    space = SearchSpace(figure_4).assign("SISORepeat-0.num_reps", 2)
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert again.count() == space.count()
    trace = space.sample(1, np.random.default_rng(0))[0]
    assert pickle.loads(pickle.dumps(space.present(trace))) == space.present(trace)
    assert pickle.loads(pickle.dumps(trace)) == trace


def test_11_surplus_and_missing_values_are_refused():
    space = SearchSpace(figure_4)
    trace = space.sample(1, np.random.default_rng(0))[0]
    values = list(trace.values())
    assert space.specify(values).trace == trace
    with pytest.raises(TraceError, match="expected more than"):
        space.specify(values[:-1])
    with pytest.raises(TraceError, match=f"expected {len(values)}, got {len(values) + 1}"):
        space.specify([*values, 1])
    with pytest.raises(TraceError, match=r"SISORepeat-0\.num_reps: expected one of \[1, 2, 4\], got \(1,\)"):
        space.specify([[1], *values[1:]])
    for wrong in (dict(trace), "1", 1):
        with pytest.raises(TraceError, match="values: expected a list of values in the order of choice"):
            space.specify(wrong)
    assert SearchSpace(lambda: conv2d(D([(1, 1), (3, 3)]))).specify([[3, 3]]).trace["Conv2D-0.filters"] == (3, 3)
    with pytest.raises(TraceError, match=r"trace: nowhere: no such choice"):
        space.replay(trace | {"nowhere": 1})
    with pytest.raises(TraceError, match="no value for"):
        space.replay(dict(list(trace.items())[:-1]))
    with pytest.raises(TraceError, match=r"SISORepeat-0\.num_reps: expected one of \[1, 2, 4\], got 3"):
        space.replay(trace | {"SISORepeat-0.num_reps": 3})


def test_12_values_are_json():
    space = SearchSpace(lambda: conv2d(D([None, True, 2, 2.5, "x", (1, (2, "y"))])))
    for trace in space.enumerate():
        assert space.decode(json.loads(json.dumps(space.encode(trace)))) == trace


def test_13_recursion_without_end_is_found_out():
    def forever():
        return lang.siso_sequential([conv2d(1), lang.siso_optional(forever, D([1]))])

    space = SearchSpace(forever, max_depth=20)
    with pytest.raises(errors.NoneFeasible, match=r"SISOOptional-0\.opt: no value was found that leads to an end"):
        space.sample(1, np.random.default_rng(0))

    with pytest.raises(errors.NoneFeasible, match="leads to an end"):
        SearchSpace(forever).sample(1, np.random.default_rng(0))

    def at_once():
        return lang.substitution_module("Again", lambda _: at_once(), {}, ["in"], ["out"])

    with pytest.raises(errors.TooDeep, match="more than 20"):
        SearchSpace(at_once, max_depth=20)
    assert SearchSpace(figure_18).sample(50, np.random.default_rng(1))


def test_13_what_grows_faster_than_it_ends_is_led_to_an_end():
    def mostly():
        three = lambda: lang.siso_sequential([mostly(), mostly(), mostly()])  # noqa: E731
        return lang.siso_or([three, lambda: conv2d(1)], D([0, 1]))

    space, rng = SearchSpace(mostly), np.random.default_rng(0)
    xs = space.sample(60, rng)
    lengths = [len(x) for x in xs]
    assert 100 < max(lengths) < 2_000
    assert (
        0.45 < np.mean([n < 30 for n in lengths]) < 0.8
    )  # by chance sqrt(1.25) - 0.5 = 0.618 of them end by themselves
    largest = max(xs, key=len)
    for x in (space.mutate(largest, rng), space.crossover(largest, xs[0], rng), space.complete({}, rng).trace):
        space.check(x)

    def never():
        return lang.siso_or([never, never], D([0, 1]))

    for by in ("decision", "architecture"):
        with pytest.raises(errors.NoneFeasible, match="leads to"):
            SearchSpace(never).sample(1, rng, by=by)


def test_14_all_orders_of_a_permutation_are_built():
    builders = [lambda n=n: lang.siso_module(n) for n in "ABC"]
    space = SearchSpace(lambda: lang.siso_permutation(builders, lang.OneOfKFactorial(3)))
    found = ["".join(node.kind for node in space.present(x).nodes) for x in space.enumerate()]
    assert found == ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]


# The protocol of infeasible programs.


def even_only():
    def fn(dh):
        if (dh["a"] + dh["b"]) % 2:
            raise Infeasible("odd")
        return conv2d(D([1, 2]))

    return lang.substitution_module("Even", fn, {"a": D(range(4)), "b": D(range(4))}, ["in"], ["out"])


def test_infeasible_programs_are_counted_as_none_and_never_drawn():
    space = SearchSpace(even_only)
    rng = np.random.default_rng(0)
    assert space.count() == lang.Exact(16)
    traces = list(space.enumerate())
    assert len(traces) == 16
    xs = space.sample(100, rng)
    assert set(xs) <= set(traces)
    for x in xs[:20]:
        assert space.mutate(x, rng) in set(traces) - {x}
        assert space.crossover(x, xs[-1], rng) in traces
        assert set(space.neighbors(x)) <= set(traces)
    with pytest.raises(Infeasible, match="odd"):
        space.assign("Even-0.a", 0).assign("Even-0.b", 1)
    result = bo.minimize(lambda p: float(p.trace["Even-0.a"]), space, 16, method="random", seed=0)
    assert result.n_completed == 16


def test_a_change_that_leads_nowhere_is_tried_once(monkeypatch):
    def alike(dh):
        if dh["a"] != dh["b"]:
            raise Infeasible("unlike")
        return conv2d(dh["c"])

    def unlike(c):
        def builder():
            return lang.substitution_module("S", alike, {"a": D([0, 1]), "b": D([0, 1]), "c": D(c)}, ["in"], ["out"])

        return SearchSpace(builder)

    tried = []
    follow = changes.follow
    monkeypatch.setattr(changes, "follow", lambda *given: tried.append(1) or follow(*given))
    rng, space, stuck = np.random.default_rng(0), unlike([1, 2]), unlike([1])
    x = space.sample(1, rng)[0]
    changed = [space.mutate(x, rng) for _ in range(20)]
    assert {dict(one)["S-0.c"] for one in changed} == {3 - x["S-0.c"]}
    assert 20 < len(tried) <= 60
    with pytest.raises(errors.NoneFeasible, match="no feasible change"):
        stuck.mutate(stuck.sample(1, rng)[0], rng)
    assert len(tried) <= 64


def test_what_depends_on_choices_may_lead_nowhere():
    def positive(dh):
        if dh["n"] == 0:
            raise Infeasible("none")
        return dh["n"]

    space = SearchSpace(lambda: conv2d(lang.DependentHyperparameter(positive, {"n": D([0, 1, 2])})))
    assert space.count() == lang.Exact(2)
    assert (
        [dict(x) for x in space.enumerate("length")] == [dict(x) for x in space.enumerate()] == [{"D-0": 1}, {"D-0": 2}]
    )
    assert {x["D-0"] for x in space.sample(40, np.random.default_rng(0))} == {1, 2}
    assert {x["D-0"] for x in space.sample(40, np.random.default_rng(0), by="architecture")} == {1, 2}
    with pytest.raises(Infeasible, match="none"):
        space.assign("D-0", 0)
    with pytest.raises(bo.contracts.PointError, match="leads nowhere: none"):
        space.check(lang.Trace({"D-0": 0}))
    for method in ("random", "auto", "hill-climbing"):
        assert bo.minimize(lambda p: p.nodes[0].values["filters"], space, 9, method=method, seed=0).n_completed == 2

    def promised():
        h = lang.DependentHyperparameter(positive, {"n": D([0, 1, 2])})
        return lang.substitution_module(
            "Part", lambda dh: conv2d(dh["h"]), {"h": h}, ["in"], ["out"], opens_choices=False
        )

    assert SearchSpace(promised).count() == lang.Exact(2)
    assert len(list(SearchSpace(promised).enumerate())) == 2


def test_long_chains_of_dependent_values():
    def chain():
        h = D([1, 2])
        for _ in range(2_000):
            h = lang.DependentHyperparameter(lambda dh: dh["x"] + 1, {"x": h})
        return conv2d(h)

    space = SearchSpace(chain)
    assert [space.present(x).nodes[0].values["filters"] for x in space.enumerate()] == [2_001, 2_002]


def test_a_builder_that_calls_itself_without_a_choice_is_told_so():
    def forever():
        return lang.siso_sequential([conv2d(1), forever()])

    refused(forever, LanguageError, "builder: its function calls itself without end: put a choice between")
    with pytest.raises(errors.SubstitutionError, match=r"SISOOptional-0: for .* calls itself without end"):
        SearchSpace(lambda: lang.siso_optional(forever, D([1]))).sample(1, np.random.default_rng(0))


def test_a_space_without_programs_says_so():
    def never(_):
        raise Infeasible("never")

    space = SearchSpace(lambda: lang.substitution_module("Never", never, {"a": D([1, 2])}, ["in"], ["out"]))
    assert space.count() == lang.Exact(0)
    with pytest.raises(errors.NoneFeasible, match="the last one: never"):
        space.sample(1, np.random.default_rng(0))


def test_different_values_lead_to_different_places():
    alike = [1, "1", None, "None", True, "True", "", (), ("",), (1, 2), "(1,2)", ("1", 2), '"1"', "1,2", "1%2C2", 1.5]
    alike += ["1.5", "a,b", "a%2Cb", "a/b", "a]", "[", ("a", "b"), ("a,b",), "inf", "relu", "3x3"]
    values = [value for i, value in enumerate(alike) if value not in alike[:i]]  # True is 1

    def opened(_):
        return lang.siso_module("M", {"x": D([0])})

    def space(names):
        return SearchSpace(
            lambda: lang.substitution_module("S", opened, {n: D(values) for n in names}, ["in"], ["out"])
        )

    places = [next(key for key in trace if key.endswith(".x")) for trace in space("ab").enumerate()]
    assert len(set(places)) == len(places) == len(values) ** 2
    a = space("a")
    found = {trace["S-0.a"]: list(trace)[-1] for trace in a.enumerate()}
    for value, spelled in {"relu": "relu", 1: "1", "1": '"1"', None: "None", "a/b": "a%2Fb", (1, 2): "(1,2)"}.items():
        assert found[value] == f"S-0[{spelled}]/M-0.x"
    assert all(a.replay(trace).trace == trace for trace in a.enumerate())


def test_each_mistake_has_an_error_that_users_can_name():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__]
    assert len(kinds) > 10
    for kind in kinds:
        assert getattr(lang, kind.__name__) is kind
        assert kind.__name__ in lang.__all__


SCRIPT = """
import numpy as np
from examples.language_figures import figure_4, figure_16
from bostruct.language import SearchSpace
for builder in (figure_4, figure_16):
    space = SearchSpace(builder)
    trace = space.sample(3, np.random.default_rng(7))[2]
    print(list(trace.items()), space.present(trace).fingerprint, space.fingerprint, space.tokens([trace])[0].sum())
"""


def test_places_and_fingerprints_are_the_same_in_every_process():
    printed = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
