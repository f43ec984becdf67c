"""Programs as architectures, on which OTMANN measures distances and nasbot searches."""

import numpy as np
import pytest

import bostruct as bo
from bostruct import language as lang
from bostruct.domains.architecture.layers import CNN, CNN_ALL_KERNELS, MLP, Label, Layer
from bostruct.domains.language.compilers.architectures import ArchitectureBackend, build_architecture, layer_of
from bostruct.language import CompileError, SearchSpace, labeled_module
from bostruct.nas import ops
from examples import language_figures
from tests.domains.language.programs import figure_4


def chain(*makers):
    return SearchSpace(lambda: lang.siso_sequential([make() for make in makers])).program()


def abstract_figure_4():
    """The same space of modules that are layers and nothing else."""

    def conv(h):
        return labeled_module("Conv2D", lambda values: f"conv3-{values['filters']}", {"filters": h})

    return language_figures.figure_4(conv, lambda _rate: lang.siso_module("Dropout"))


def test_a_chain_is_the_chain_of_its_layers():
    program = chain(
        lambda: ops.conv2d(16), ops.batch_norm, ops.relu, ops.max_pool, lambda: ops.conv2d(32, 5, 2),
        ops.global_pool, lambda: ops.dropout(0.5), lambda: ops.dense(10),
    )  # fmt: skip
    assert program.to_architecture() == bo.Architecture.chain("conv3-16 max-pool conv5-32/2 fc-10 softmax")


@pytest.mark.parametrize("builder", [figure_4, abstract_figure_4])
def test_figure_4_has_two_branches_of_n_and_2n(builder):
    space = SearchSpace(builder)
    for trace in space.sample(5, np.random.default_rng(0)):
        n = next(value for key, value in trace.items() if key.endswith("num_reps") or key.endswith(".x"))
        a = space.present(trace).to_architecture()
        assert len(a) == 4 + n + 2 * n
        assert len(a.edges) == 1 + 3 * n + 2 + 1
        assert len(a.children[1]) == len(a.parents[-2]) == 2


def test_programs_that_differ_in_what_is_no_layer_are_one_architecture():
    space = SearchSpace(abstract_figure_4)
    traces = list(space.sample(20, np.random.default_rng(1)))
    for trace in traces:
        key = next(key for key in trace if key.endswith(".opt"))
        other = space.present(trace | {key: 1 - trace[key]})
        assert other != space.present(trace)
        assert other.to_architecture() == space.present(trace).to_architecture()


def test_distances_of_programs_are_those_of_their_architectures():
    wide, narrow = (chain(lambda u=u: ops.conv2d(u), lambda: ops.dense(10)) for u in (64, 8))
    by_hand = [bo.Architecture.chain(f"conv3-{u} fc-10 softmax") for u in (64, 8)]
    found = bo.otmann(wide.to_architecture(), narrow.to_architecture())
    assert np.array_equal(found.distance, bo.otmann(*by_hand).distance)
    assert found.distance.min() > 0
    assert bo.otmann(wide.to_architecture(), wide.to_architecture()).distance.max() == pytest.approx(0, abs=1e-9)


def test_decisions_that_are_there_are_not_added():
    def softmax():
        return labeled_module("Softmax", "softmax")

    program = chain(lambda: ops.conv2d(16), softmax)
    assert program.to_architecture() == bo.Architecture.chain("conv3-16 softmax")
    linear = chain(lambda: labeled_module("Tanh", "tanh-8")).to_architecture(decision="linear")
    assert linear == bo.Architecture.chain("tanh-8 linear")


def test_several_inputs_and_outputs_meet_in_one_of_each():
    def builder():
        a, b = ops.conv2d(4), ops.conv2d(8)
        return {"a": a[0]["in"], "b": b[0]["in"]}, {"a": a[1]["out"], "b": b[1]["out"]}

    expected = bo.Architecture(["ip", "conv3-4", "conv3-8", "softmax", "op"], [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)])
    assert SearchSpace(builder).program().to_architecture() == expected


def test_separable_and_dilated_convolutions_are_layers_of_their_own():
    kinds = [lambda: ops.conv2d(4), lambda: ops.conv2d(4, dilation=2), lambda: ops.separable_conv2d(4)]
    assert len({chain(kind).to_architecture() for kind in kinds}) == 3


def test_other_families_know_other_labels():
    family = CNN.with_label(Label("conv13", group="conv", image="strides"), {"conv3": 0.2}, "with-13x13")
    program = chain(lambda: ops.conv2d(4, 13))
    assert program.to_architecture(family).layers[1].label == "conv13"
    with pytest.raises(CompileError, match=r"no family has all .*conv13.*1: Conv2D-0"):
        program.to_architecture()


@pytest.mark.parametrize("size", [1, 2, 9, 11])
def test_convolutions_of_each_size_to_11_are_layers_at_the_costs_of_cnn(size):
    mine, three = (chain(lambda k=k: ops.conv2d(4, k), ops.max_pool).to_architecture() for k in (size, 3))
    assert mine.layers[1].label == f"conv{size}"
    assert three.family is CNN
    index = CNN_ALL_KERNELS.index
    assert CNN_ALL_KERNELS.mismatch[index[f"conv{size}"], index["conv3"]] == pytest.approx(
        0.1 * np.sqrt(2.0 * abs(size - 3))
    )
    mine_again = [index[label.name] for label in CNN.labels]
    assert np.array_equal(CNN_ALL_KERNELS.mismatch[np.ix_(mine_again, mine_again)], CNN.mismatch)


def test_nasbot_searches_cells_of_our_operations_with_pointwise_convolutions():
    def cell():
        kinds = {"one": lambda: ops.conv2d(8, 1), "three": lambda: ops.conv2d(8, 3), "pool": ops.max_pool}
        first, second = (lang.siso_or(kinds, lang.Discrete(list(kinds), name=name)) for name in ("first", "second"))
        return lang.siso_sequential([ops.conv2d(8, 3), first, second, ops.dense(10)])

    space = SearchSpace(cell)

    def cost(program):
        return float(sum(layer.units or 50 for layer in program.to_architecture().layers))

    found = bo.minimize(cost, space, n_trials=9, method="nasbot", seed=0, progress=False)
    assert found.n_failed == 0
    assert {one.family.name for one in space.architectures(space.enumerate())} == {"cnn-all-kernels"}


REFUSED = [
    ([lambda: lang.siso_module("Conv"), ops.relu], "no module has a layer; .* some of: Conv, ReLU"),
    (
        [lambda: ops.conv2d(2), lambda: ops.dense(3), lambda: ops.conv2d(4)],
        r"conv3-4.*needs an image.*1: Conv2D-0, 2: Dense-0, 3: Conv2D-1",
    ),
    ([lambda: labeled_module("Odd", lambda _values: 5)], "Odd-0: expected a Layer"),
    ([lambda: labeled_module("Odd", lambda values: values["units"])], r"Odd-0\(\): .* layer= failed: KeyError"),
]


@pytest.mark.parametrize(("makers", "message"), REFUSED)
def test_programs_that_are_no_architecture_are_refused_with_the_modules(makers, message):
    with pytest.raises(CompileError, match=message):
        chain(*makers).to_architecture()


def test_a_layer_that_reads_nothing_is_refused():
    def builder():
        constant = labeled_module("Constant", "conv3-4", {}, ())
        end = ops.concat(2)
        end[0]["in0"].connect(constant[1]["out"])
        return {"in": end[0]["in1"]}, end[1]

    with pytest.raises(CompileError, match=r"Constant-0\(\) is the layer conv3-4, but no data from the input reach it"):
        SearchSpace(builder).program().to_architecture()


def test_nodes_stand_for_the_layer_that_their_module_says_or_for_none():
    conv, norm, named = chain(
        lambda: ops.conv2d(16, 5, 2), ops.batch_norm, lambda: labeled_module("Named", ("fc", 8, 1, {"bias": True}))
    ).nodes
    assert layer_of(conv) == Layer("conv5", 16, 2)
    assert layer_of(norm) is None
    assert layer_of(named) == Layer("fc", 8, 1, (("bias", True),))
    (abstract,) = chain(lambda: lang.siso_module("Abstract")).nodes
    assert layer_of(abstract) is None


def test_a_backend_adds_a_layer_behind_all_that_reach_it_once():
    conv, norm = chain(lambda: ops.conv2d(16), ops.batch_norm).nodes
    backend = ArchitectureBackend("ip")
    first = backend.make(conv, {"in": (0,)})
    assert backend.make(norm, {"in": first}) == first == (1,)
    assert backend.make(conv, {"a": (1, 0), "b": (0, 1)}) == (2,)
    assert backend.edges == [(0, 1), (1, 2), (0, 2)]
    assert backend.paths == {0: "the program's input", 1: "Conv2D-0", 2: "Conv2D-0"}


def test_a_family_may_be_given_by_name():
    program = chain(lambda: labeled_module("Dense", "relu-8"))
    expected = bo.Architecture.chain("relu-8 linear", "mlp")
    assert build_architecture(program, "mlp", "linear") == build_architecture(program, MLP, "linear") == expected
    with pytest.raises(bo.contracts.DomainError, match="family"):
        build_architecture(program, "rnn", "linear")
