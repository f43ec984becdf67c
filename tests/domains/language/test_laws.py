"""Laws of spaces of programs, over random ones: shared and dependent choices, nested repetitions, infeasible parts."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bostruct import language as lang
from bostruct.domains.language.counting import NotFactorable, ProgramCounter, count_by_visits
from bostruct.domains.language.walk import Walk
from bostruct.language import D, Exact, Infeasible, SearchSpace, Trace
from examples.language_figures import COUNTS, figure_4

MOST = 3_000  # programs of a space that is enumerated

LEAVES = st.sampled_from(["leaf", "shared", "double", "fixed", "odd", "picky", "within"])
SPECS = st.recursive(
    LEAVES,
    lambda part: st.one_of(
        st.tuples(st.sampled_from(["repeat", "optional", "split"]), part),
        st.tuples(st.just("repeat by shared"), part),
        st.tuples(st.sampled_from(["or", "chain", "residual", "or by shared"]), part, part),
    ),
    max_leaves=5,
)


def space_of(spec: Any) -> SearchSpace:
    """The space that a specification stands for; `shared` is one hyperparameter of the whole space."""

    def builder() -> Any:
        shared = D([1, 2])
        inputs, outputs = lang.siso_module("Stem", {"s": shared})
        rest_inputs, rest_outputs = part(spec, shared)
        rest_inputs["in"].connect(outputs["out"])
        return inputs, rest_outputs

    return SearchSpace(builder)


def part(spec: Any, shared: Any) -> Any:
    if isinstance(spec, str):
        return leaf(spec, shared)
    kind, *parts = spec
    built: list[Callable[[], Any]] = [lambda one=one: part(one, shared) for one in parts]
    if kind == "repeat":
        return lang.siso_repeat(built[0], D([1, 2]))
    if kind == "repeat by shared":
        return lang.siso_repeat(built[0], shared)
    if kind == "optional":
        return lang.siso_optional(built[0], D([0, 1]))
    if kind == "split":
        return lang.siso_split_combine(built[0], lambda n: lang.combiner(n, "Join"), D([1, 2]))
    if kind == "or":
        return lang.siso_or(built, D([0, 1]))
    if kind == "or by shared":
        return lang.siso_or({1: built[0], 2: built[1]}, shared)
    if kind == "residual":
        return lang.siso_residual(*built, lambda: lang.combiner(2, "Add"))
    return lang.siso_sequential([build() for build in built])


def unlike(dh: dict[str, int]) -> int:
    if dh["a"] == dh["s"]:
        raise Infeasible("alike")
    return dh["a"] * dh["s"]


def leaf(kind: str, shared: Any) -> Any:
    if kind == "odd":  # some combinations lead nowhere

        def fn(dh: dict[str, int]) -> Any:
            if dh["a"] == dh["s"]:
                raise Infeasible("alike")
            return lang.siso_module("Odd")

        return lang.substitution_module("Maybe", fn, {"a": D([1, 2, 3]), "s": shared}, ["in"], ["out"])
    if kind == "within":  # the values of a choice that outlives another depend on it
        inner = lambda dh: lang.siso_module("Inner", {"x": D(range(dh["n"] + 1))})  # noqa: E731
        return lang.substitution_module("Within", inner, {"n": D([0, 1, 2])}, ["in"], ["out"], keyed_by=())
    properties = {
        "leaf": {"x": D([1, 2])},
        "picky": {"x": lang.DependentHyperparameter(unlike, {"a": D([1, 3]), "s": shared})},
        "shared": {"x": shared, "y": D(["p", "q"])},
        "double": {"x": lang.DependentHyperparameter(lambda dh: 2 * dh["s"], {"s": shared})},
        "fixed": {"x": 3},
    }[kind]
    return lang.siso_module(kind.capitalize(), properties)


@settings(max_examples=60, deadline=None)
@given(SPECS)
def test_counts_are_what_enumeration_finds(spec):
    space = space_of(spec)
    found = space.count()
    assert isinstance(found, Exact)
    if found.count <= MOST:
        assert count_by_visits(space._walk, 100_000) == found
        traces = list(space.enumerate("depth"))
        assert len(set(traces)) == len(traces) == found.count
        assert set(space.enumerate("length")) == set(traces)
        assert [list(t) for t in traces] == [list(space.replay(t).trace) for t in traces]


@settings(max_examples=80, deadline=None)
@given(SPECS, st.integers(0, 2**32 - 1))
def test_points(spec, seed):
    space, rng = space_of(spec), np.random.default_rng(seed)
    if space.count().count == 0:
        return
    x, y = space.sample(2, rng)
    children = [space.crossover(x, y, rng) for _ in range(40)]
    for trace in (x, y, *children[:2]):
        space.check(trace)
        assert space.decode(json.loads(json.dumps(space.encode(trace)))) == trace
        assert (pickle.loads(pickle.dumps(trace)), space.parse(space.present(trace))) == (trace, trace)
        assert space.replay(dict(reversed(list(trace.items())))).trace == trace
    for child in children:
        assert all(child[key] in (x.get(key), y.get(key)) for key in child if key in x or key in y)
    if any(x[key] != y[key] for key in x if key in y):
        assert any(child[key] != x[key] for child in children for key in child if key in x)
    if space.count().count > 1 and any(len(h.values) > 1 for h in space._walk_of(x).chosen):
        changed = space.mutate(x, rng)
        space.check(changed)
        assert changed != x
        kept = [h for h in space._walk_of(changed).chosen if x.get(h.path) in h.positions]
        assert sum(x[h.path] != changed[h.path] for h in kept) == 1
    near = space.sample_neighbors(x, 40, rng)
    assert len(set(near)) == len(near)
    for other in near[:4]:
        assert sum(x[key] != other[key] for key in x if key in other) == 1
        back = space.sample_neighbors(other, 2_000, rng)
        assert len(back) == 2_000 or x in back


@pytest.mark.parametrize("spec", ["within", ("repeat", "within"), ("or", "within", "picky"), ("repeat", "odd")])
def test_neighbors_are_all_that_differ_in_one_shared_choice(spec):
    space = space_of(spec)
    every = list(space.enumerate())
    for x in every:
        near = {y for y in every if sum(x[key] != y[key] for key in x if key in y) == 1}
        assert (set(space.neighbors(x)), len(space.neighbors(x))) == (near, len(near))


@settings(max_examples=60, deadline=None)
@given(SPECS)
def test_assigning_leaves_the_space_as_it_was(spec):
    space = space_of(spec)
    before = (space.hyperparameters, space.trace, space.count())
    total_of_parts = 0
    h = space.hyperparameters[0]
    for value in h.values:
        try:
            assigned = space.assign(h, value)
        except Infeasible:
            continue
        assert h.path not in [one.path for one in assigned.hyperparameters]
        assert assigned.trace[h.path] == value
        total_of_parts += assigned.count().count
    assert (space.hyperparameters, space.trace, space.count()) == before
    assert total_of_parts == space.count().count


@settings(max_examples=25, deadline=None)
@given(SPECS, st.integers(0, 2**32 - 1))
def test_an_assigned_space_holds_the_programs_that_agree_with_it(spec, seed):
    space, rng = space_of(spec), np.random.default_rng(seed)
    if not 0 < space.count().count <= 200:
        return
    every, part = list(space.enumerate("depth")), space
    goal = every[int(rng.integers(len(every)))]
    while not part.is_terminal:
        agreeing = {x for x in every if all(x.get(path) == value for path, value in part.trace.items())}
        assert set(part.enumerate("depth")) == set(part.enumerate("length")) == agreeing
        assert part.count() == Exact(len(agreeing))
        drawn = part.sample(2, rng)
        assert agreeing.issuperset([*drawn, *part.neighbors(drawn[0]), part.complete(goal, rng).trace])
        assert part.replay(goal).trace == goal
        h = part.hyperparameters[int(rng.integers(len(part.hyperparameters)))]
        part = part.assign(h, goal[h.path])
    assert (part.trace, part.program()) == (goal, space.present(goal))


def graph_of(program: lang.Program) -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph()
    for position, node in enumerate(program.nodes):
        graph.add_node(position, what=(node.kind, tuple(sorted(node.values.items()))))
        for name, source in node.sources.items():
            graph.add_edge("input" if source.node is None else source.node, position, how=(source.port, name))
    for name, source in program.outputs.items():
        graph.add_edge("input" if source.node is None else source.node, "output", how=(source.port, name))
    for end in ("input", "output"):
        graph.add_node(end, what=end)
    return graph


@settings(max_examples=40, deadline=None)
@given(SPECS, st.integers(0, 2**32 - 1))
def test_fingerprints_are_equal_where_graphs_are_isomorphic(spec, seed):
    space, rng = space_of(spec), np.random.default_rng(seed)
    if space.count().count == 0:
        return
    programs = [space.present(x) for x in space.sample(4, rng)]
    for one in programs:
        for other in programs:
            same = nx.is_isomorphic(
                graph_of(one),
                graph_of(other),
                node_match=lambda a, b: a["what"] == b["what"],
                edge_match=lambda a, b: sorted(e["how"] for e in a.values()) == sorted(e["how"] for e in b.values()),
            )
            assert (one == other) == same


def test_fingerprints_do_not_depend_on_the_order_of_making():
    def first():
        a, b, join = lang.siso_module("A"), lang.siso_module("B"), lang.combiner(2, "Join")
        entry = lang.siso_module("Entry")
        for part, place in ((a, "in0"), (b, "in1")):
            part[0]["in"].connect(entry[1]["out"])
            join[0][place].connect(part[1]["out"])
        return entry[0], join[1]

    def second():
        join = lang.combiner(2, "Join")
        entry, b, a = (lang.siso_module(kind) for kind in ("Entry", "B", "A"))
        for part, place in ((b, "in1"), (a, "in0")):
            join[0][place].connect(part[1]["out"])
            part[0]["in"].connect(entry[1]["out"])
        return entry[0], join[1]

    assert SearchSpace(first).program() == SearchSpace(second).program()


def test_two_equal_modules_are_not_one():
    def shared():
        a, join = lang.siso_module("A"), lang.combiner(2, "Join")
        join[0]["in0"].connect(a[1]["out"])
        join[0]["in1"].connect(a[1]["out"])
        return a[0], join[1]

    def doubled():
        entry, a, b, join = lang.identity(), lang.siso_module("A"), lang.siso_module("A"), lang.combiner(2, "Join")
        for part, place in ((a, "in0"), (b, "in1")):
            part[0]["in"].connect(entry[1]["out"])
            join[0][place].connect(part[1]["out"])
        return entry[0], join[1]

    assert SearchSpace(shared).program() != SearchSpace(doubled).program()


def test_parts_that_are_dropped_do_not_count():
    def dropping():
        a, b = lang.siso_optional(lambda: lang.siso_module("A", {"x": D([1, 2, 3])}), D([0, 1])), lang.identity()

        def fn(dh):
            if dh["both"]:
                return lang.combiner(2, "Add")
            inputs, outputs = lang.identity()
            return {"in1": inputs["in"]}, outputs

        ports = (["in0", "in1"], ["out"])
        pick = lang.substitution_module("Pick", fn, {"both": D([0, 1])}, *ports, allow_input_subset=True)
        pick[0]["in0"].connect(a[1]["out"])
        pick[0]["in1"].connect(b[1]["out"])
        return {"x": a[0]["in"], "y": b[0]["in"]}, pick[1]

    space = SearchSpace(dropping)
    traces = list(space.enumerate())
    assert space.count() == Exact(len(traces))
    assert len(traces) == 2 + 1 + 3  # dropped: only whether it is there; kept: nothing, or one of three
    try:
        ProgramCounter(space._walk, 1_000, 0).fragment(space._walk.root)
    except NotFactorable:
        return
    raise AssertionError("such a space cannot be factored")


# The order of choice, by an independent reading of how the published code goes about it: a graph that is rewired.


def reference_order(space: SearchSpace, values: Trace) -> list[str]:
    """Queue of the owners of the outputs; inputs as declared; hyperparameters by local name, each dependent one
    followed by its ancestors breadth-first; assigned ones skipped; once more from the start until nothing is left.
    """
    walk = Walk(space._walk.root, 200)
    order: list[str] = []
    while True:
        found: list[Any] = []
        queue = []
        for name in sorted(walk.root.outputs):
            owner = walk.resolve(walk.root.outputs[name], None).module
            if owner not in queue:
                queue.append(owner)
        position = 0
        while position < len(queue):
            module = queue[position]
            position += 1
            for port in module.inputs.values():
                source = walk.source(port)
                if source is not None and source.module not in queue:
                    queue.append(source.module)
            for local in sorted(module.hyperparameters):
                ancestors = [module.hyperparameters[local]]
                while ancestors:
                    h = ancestors.pop(0)
                    if isinstance(h, lang.DependentHyperparameter):
                        ancestors += [h.parents[name] for name in sorted(h.parents)]
                    elif h not in found:
                        found.append(h)
        fresh = [h for h in found if h.path not in walk.values]
        if not fresh:
            return order
        for h in fresh:
            walk.assign(h, values[h.path])
            order.append(h.path)


@settings(max_examples=60, deadline=None)
@given(SPECS, st.integers(0, 2**32 - 1))
def test_the_order_of_choice_is_that_of_the_published_code(spec, seed):
    space = space_of(spec)
    if space.count().count:
        trace = space.sample(1, np.random.default_rng(seed))[0]
        assert list(trace) == reference_order(space, trace)


def test_the_order_of_choice_on_the_figures():
    for builder in COUNTS:
        space = SearchSpace(builder)
        trace = space.sample(1, np.random.default_rng(3))[0]
        assert list(trace) == reference_order(space, trace)
    first = list(SearchSpace(figure_4).sample(1, np.random.default_rng(0))[0])[:3]
    assert first == ["SISORepeat-0.num_reps", "SISOOptional-0.opt", "Conv2D-0.filters"]


def outer_part(rng, depth, visible):
    """Build a part at random; modules of it may be read only from inside, and it may read what parts around it show."""
    stem = lang.siso_module("Stem", {"x": D([0, 1])} if rng.random() < 0.5 else {})
    shown, chain = list(visible), [stem]
    if rng.random() < 0.7:
        inner = lambda: lang.siso_module("Inner", {"z": D([1, 2, 3])})  # noqa: E731
        aside = lang.siso_optional(inner, D([0, 1])) if rng.random() < 0.15 else inner()
        aside[0]["in"].connect(stem[1]["out"])
        shown.append(lang.outer_output(aside[1]["out"]))
    for seed in rng.integers(2**31, size=int(rng.integers(1, 3))).tolist() if depth < 2 else []:
        make = lambda seed=seed: outer_part(np.random.default_rng(seed), depth + 1, tuple(shown))  # noqa: E731
        chain.append(lang.siso_optional(make, D([0, 1])))
    if visible:
        inputs, outputs = lang.combiner(2, "Add")
        inputs["in1"].connect(visible[int(rng.integers(len(visible)))])
        chain.append(({"in": inputs["in0"]}, outputs))
    return lang.siso_sequential(chain)


@pytest.mark.parametrize("seed", range(12))
def test_spaces_whose_parts_read_outputs_around_them_are_counted_and_drawn(seed):
    space = SearchSpace(lambda: outer_part(np.random.default_rng(seed), 0, ()))
    traces = list(islice(space.enumerate("depth"), 1_000))
    if len(traces) < 1_000:
        assert space.count() == Exact(len(set(traces)))
    rng = np.random.default_rng(seed)
    for trace in space.sample(4, rng):
        near = space.mutate(trace, rng)
        assert len(traces) == 1_000 or {trace, near} <= set(traces)
        program = space.present(near)
        assert space.replay(near.to_json()).program() == program
        reads = {node for one in program.nodes for node, _ in one.sources.values()} | {program.outputs["out"].node}
        assert reads >= set(range(len(program)))  # no node is there in vain
