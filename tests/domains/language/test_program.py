"""Programs as values: their nodes, what makes two of them equal, and that it is the same in every process."""

import json
import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from bostruct import language as lang
from bostruct.domains.language.errors import TraceError
from bostruct.domains.language.program import Program, Source, build_program, rebuild_program
from bostruct.domains.language.sampling import sample_walk
from bostruct.domains.language.values import Trace
from bostruct.domains.language.walk import begin
from bostruct.language import D, SearchSpace, siso_module
from tests.domains.language.more_programs import layers_of_kinds, one, other_step, scaled, step

UNEQUAL = [
    (step, other_step),
    (scaled(2), scaled(3)),
    (partial(step, 1), partial(step, 2)),
    (lang.PlainFunction(step), lang.PlainFunction(other_step)),
    (lang.PlainFunction(step), lang.SklearnStep(step)),
    (lang.TorchLayer(scaled(np.add)), lang.TorchLayer(scaled(np.multiply))),
    (None, step),
    (lambda x: x + 1, lambda x: x * 2),
    (lambda x: x + 1, lambda x: x + 2),
    (lambda x: x + 1, lambda x: x + True),
    (partial(step, lambda: np.add), partial(step, lambda: np.subtract)),
]


@pytest.mark.parametrize(("first", "second"), UNEQUAL)
def test_programs_of_other_implementations_differ(first, second):
    assert one(implementation=first) == one(implementation=first)
    assert one(implementation=first) != one(implementation=second)


@pytest.mark.parametrize("held", [([1], [2]), ({"x": 1}, {"x": 2}), (np.zeros(1), np.ones(1)), ("-".join, "+".join)])
def test_implementations_that_may_change_are_told_apart_by_their_place(held):
    def layer(thing):
        return lang.siso_module("A", implementation=partial(step, thing))

    def builder():
        return lang.siso_or([partial(layer, thing) for thing in held], lang.D([0, 1]))

    space = lang.SearchSpace(builder)
    assert len(set(space.keys(space.enumerate()))) == 2
    assert space.present({"SISOOr-0.idx": 0}) == lang.SearchSpace(builder).present({"SISOOr-0.idx": 0})


def test_lambdas_and_local_functions_among_values_are_told_apart():
    def builder():
        layers = [partial(lang.siso_module, "A", {"f": f}) for f in (lambda x: x + 1, lambda x: x * 2, np.sin)]
        return lang.siso_or(layers, lang.D([0, 1, 2]))

    space = lang.SearchSpace(builder)
    programs = [space.present(x) for x in space.enumerate()]
    assert len(set(programs)) == 3
    assert len({program.fingerprint_by_names for program in programs}) == 2  # as stored studies know them


def test_what_a_function_does_with_a_list_leaves_the_fingerprint_as_it_is():
    calls = []

    def recorded(_values, x):
        calls.append(x)

    before = one(implementation=recorded).fingerprint
    recorded({}, 1)
    assert one(implementation=recorded).fingerprint == before


def test_programs_are_told_apart_however_far_from_their_ends_they_differ():
    def chains(*reads):
        """20 modules of one kind in a row; two more, of what the modules at these places of the row give."""

        def builder():
            row = [lang.siso_module("A") for _ in range(20)]
            inputs, outputs = lang.siso_sequential(row)
            join = lang.combiner(1 + len(reads), "Join")
            join[0]["in0"].connect(outputs["out"])
            for i, place in enumerate(reads):
                side = lang.siso_module("A")
                side[0]["in"].connect(row[place][1]["out"])
                join[0][f"in{i + 1}"].connect(side[1]["out"])
            return inputs, join[1]

        return SearchSpace(builder).program()

    assert chains(8, 9) == chains(8, 9)
    assert len({chains(8, 9), chains(9, 8), chains(8, 10), chains(9, 10), chains(9, 9)}) == 5


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
    command, environment = [sys.executable, "-c", SCRIPT], {"PYTHONPATH": ":".join(sys.path)}
    first, second = (
        subprocess.run(command, env=environment | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        for seed in ("1", "2")
    )
    assert first.stdout == second.stdout != ""


def diamond():
    """A stem that two branches read, which meet; the second branch is an identity."""
    inputs, outputs = siso_module("Stem", {"k": D([1, 2])})
    left, right, end = siso_module("Left", {"n": 3}), lang.identity(), lang.combiner(2, "Join")
    for i, branch in enumerate((left, right)):
        branch[0]["in"].connect(outputs["out"])
        end[0][f"in{i}"].connect(branch[1]["out"])
    return {"x": inputs["in"]}, {"y": end[1]["out"], "stem": outputs["out"]}


def test_nodes_come_in_a_topological_order_with_what_they_read_and_identities_are_left_out():
    program = build_program(sample_walk(begin(diamond, 5), np.random.default_rng(0), 10), diamond)
    assert [(node.path, node.kind) for node in program.nodes] == [(f"{one}-0", one) for one in ("Stem", "Left", "Join")]
    stem, left, join = program.nodes
    assert (stem.sources, left.sources) == ({"in": Source(None, "x")}, {"in": Source(0, "out")})
    assert join.sources == {"in0": Source(1, "out"), "in1": Source(0, "out")}
    assert (left.values, stem.values) == ({"n": 3}, {"k": program.trace["Stem-0.k"]})
    assert program.inputs == ("x",)
    assert program.outputs == {"y": Source(2, "out"), "stem": Source(0, "out")}
    assert len(program) == 3


@pytest.mark.parametrize("seed", range(5))
def test_a_program_is_rebuilt_from_its_builder_and_trace(seed):
    space = SearchSpace(layers_of_kinds)
    program = space.present(space.sample(1, np.random.default_rng(seed))[0])
    again = rebuild_program(program.builder, program.trace)
    for other in (again, pickle.loads(pickle.dumps(program))):
        assert (other, hash(other)) == (program, hash(program))
        assert [node.path for node in other.nodes] == [node.path for node in program.nodes]
        assert (other.trace, other.outputs) == (program.trace, program.outputs)
    with pytest.raises(TraceError, match="nowhere"):
        rebuild_program(layers_of_kinds, program.trace | {"nowhere": 1})


def test_programs_are_equal_where_their_graphs_are_by_whatever_choices():
    def either():
        return lang.siso_or([lambda: siso_module("M", {"x": 1}), lambda: siso_module("M", {"x": D([1, 2])})], D([0, 1]))

    space = SearchSpace(either)
    first, second, third = (space.present(x) for x in space.enumerate("depth"))
    assert first == second != third
    assert first.trace != second.trace
    assert len({first, second, third}) == 2
    assert first != "M"


def test_names_of_ports_are_part_of_the_value_and_the_order_of_inputs_is_not():
    def build(first, second):
        def builder():
            inputs, outputs = lang.module("M", {}, ["a", "b"])
            return {first: inputs["a"], second: inputs["b"]}, outputs

        return SearchSpace(builder).program()

    assert build("x", "y") == build("x", "y")
    assert build("x", "y") != build("y", "x")
    assert build("x", "y") != build("x", "z")


def test_the_text_of_a_program_is_cut_or_whole():
    trace = Trace({f"M-0.x{i}": "value" * 10 for i in range(9)})
    program = Program((), ("in",), {"out": Source(None, "in")}, trace, layers_of_kinds)
    assert repr(program).startswith("Program(0 modules, {'M-0.x0'")
    assert len(repr(program)) < 250
    assert str(program) == f"Program(0 modules, {dict(trace)})"


def test_programs_are_described_as_json():
    def space():
        inputs, outputs = siso_module("A", {"size": D([(1, 7)]), "how": D([len, print]), "array": np.arange(2)})
        joined_inputs, joined_outputs = lang.combiner(2, "Add", step)
        joined_inputs["in0"].connect(outputs["out"])
        return {"x": inputs["in"], "y": joined_inputs["in1"]}, joined_outputs

    program = SearchSpace(space).replay({"A-0.size": (1, 7), "A-0.how": "print"}).program()
    described = program.to_json()
    assert json.loads(json.dumps(described)) == described
    array = ["numpy.ndarray", "<i8", [2], np.arange(2).tobytes().hex()]
    sources = {"in": [None, "x"]}, {"in0": ["A-0", "out"], "in1": [None, "y"]}
    held = ("A-0", "A", {"array": array, "how": "print", "size": [1, 7]}), ("Add-0", "Add", {})
    assert described.pop("nodes") == [
        {"path": path, "kind": kind, "values": values, "sources": read, "outputs": ["out"]}
        for (path, kind, values), read in zip(held, sources, strict=True)
    ]
    assert described == {
        "fingerprint": program.fingerprint,
        "trace": {"A-0.how": "print", "A-0.size": [1, 7]},
        "inputs": ["x", "y"],
        "outputs": {"out": ["Add-0", "out"]},
    }
    assert SearchSpace(space).replay(Trace.from_json(described["trace"])).program() == program
