"""What is written wrongly is refused with both ends named, and leaves nothing behind; the defects of the published code
are absent, one by one.
"""

import json
import pickle

import numpy as np
import pytest

import bostruct as bo
from bostruct import language as lang
from bostruct.domains.language import changes, errors
from bostruct.language import D, Infeasible, LanguageError, SearchSpace, TraceError
from examples.language_figures import conv2d, figure_4, figure_18


def test_results_of_which_nothing_was_kept():
    study = bo.Study(SearchSpace(figure_4), method="random", seed=0)
    study.optimize(lambda p: float(len(p)), 5)
    kept = study.result.where(lambda _: False)
    with pytest.raises(bo.BostructError, match="no completed trial was kept: where's condition is false for all 5"):
        _ = kept.best_trial
    assert "no completed trial was kept" in repr(kept)


# The fourteen defects of the published code, in the order of its description; test_closing.py has the second, the third
# and more of the sixth.


def test_1_siblings_may_share_a_hyperparameter_that_their_bodies_use_too():
    def space():
        n = D([1, 2])
        body = lambda: lang.siso_repeat(lambda: conv2d(n), n)  # noqa: E731
        return lang.siso_sequential([lang.siso_repeat(body, n), lang.siso_repeat(body, n)])

    assert SearchSpace(space).count() == lang.Exact(2)
    assert [len(SearchSpace(space).present(x)) for x in SearchSpace(space).enumerate()] == [2, 8]


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
    assert (again, again.count()) == (space, space.count())
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
    with pytest.raises(errors.NoneFeasible, match=r"SISOOptional-0\.opt: no value was found that ends the program"):
        space.sample(1, np.random.default_rng(0))

    with pytest.raises(errors.NoneFeasible, match="ends the program"):
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
    xs = space.sample(40, rng)
    lengths = [len(x) for x in xs]
    assert 100 < max(lengths) < 2_000
    # by chance sqrt(1.25) - 0.5 = 0.618 of them end by themselves
    assert 0.45 < np.mean([n < 30 for n in lengths]) < 0.8
    largest = max(xs, key=len)
    for x in (space.mutate(largest, rng), space.crossover(largest, xs[0], rng), space.complete({}, rng).trace):
        space.check(x)

    def never():
        return lang.siso_or([never, never], D([0, 1]))

    for by in ("decision", "architecture"):
        with pytest.raises(errors.NoneFeasible, match=r"ends the program|leads to a program"):
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


def test_infeasible_programs_are_counted_as_none_and_never_drawn(rng):
    space = SearchSpace(even_only)
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
    result = bo.minimize(lambda p: p.nodes[0].values["filters"], space, 16, method="random", seed=0)
    assert result.n_completed == 2  # programs, which eight traces build each


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
    traces = [[dict(x) for x in space.enumerate(order)] for order in ("length", "depth")]
    assert traces == [[{"D-0": 1}, {"D-0": 2}]] * 2
    assert {x["D-0"] for x in space.sample(40, np.random.default_rng(0))} == {1, 2}
    assert {x["D-0"] for x in space.sample(40, np.random.default_rng(0), by="architecture")} == {1, 2}
    with pytest.raises(Infeasible, match="none"):
        space.assign("D-0", 0)
    with pytest.raises(bo.contracts.PointError, match="is infeasible: none"):
        space.check(lang.Trace({"D-0": 0}))
    for method in ("random", "auto", "hill-climbing"):
        assert bo.minimize(lambda p: p.nodes[0].values["filters"], space, 9, method=method, seed=0).n_completed == 2

    def promised():
        h = lang.DependentHyperparameter(positive, {"n": D([0, 1, 2])})
        fn = lambda dh: conv2d(dh["h"])  # noqa: E731
        return lang.substitution_module("Part", fn, {"h": h}, ["in"], ["out"], opens_choices=False)

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


def test_each_mistake_has_an_error_that_users_can_name():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__]
    assert len(kinds) > 10
    for kind in kinds:
        assert getattr(lang, kind.__name__) is kind
        assert kind.__name__ in lang.__all__
