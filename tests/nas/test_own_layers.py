"""Layers of one's own: built, counted, trained, found again by other processes, and refused in words."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
import torch
from torch import nn

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.architecture.layers import CNN, MLP, Label
from bostruct.nas import NetworkObjective, Recipe, cost, diabetes, digits, to_torch
from bostruct.nas.objectives import is_batched
from bostruct.nas.own_layers import OwnLayers, check_builders, leaving_shape, read_layers
from bostruct.nas.searches import search_of
from tests.nas import gated_layers
from tests.nas.gated_layers import BUILDERS, FAMILY, POOL, Gated

FILE = Path(gated_layers.__file__)
IMPORT = "from bostruct.domains.architecture.layers import CNN as FAMILY"


def own_domain(**bounds):
    return bo.cnn_domain(bo.Bounds(min_layers=4, max_layers=10, max_units=32, **bounds), POOL, FAMILY)


def test_a_family_is_named_once():
    assert FAMILY.name == "cnn+gated"
    assert [str(x) for x in own_domain().pool] == [f"ip {chain} op" for chain in POOL]
    assert {x.family for x in own_domain().pool} == {FAMILY}


def test_a_network_has_the_modules_that_the_functions_build():
    network = to_torch(own_domain().pool[1], (1, 8, 8), 10, builders=BUILDERS)
    assert isinstance(network.layers["2 gated-16/2"].body, Gated)
    assert network(torch.randn(3, 1, 8, 8)).shape == (3, 10)


def test_costs_are_those_by_hand():
    found = cost(own_domain().pool[0], (1, 8, 8), 10, builders=BUILDERS)
    gated, conv, last = (1 * 9 + 1) * 16, 8 * 16 * 9 + 2 * 16, 16 * 10 + 10
    assert found.parameters == gated + conv + last
    assert found.flops == 2 * (64 * 16 * 9 + 16 * 8 * 16 * 9 + 16 * 10)
    objective = NetworkObjective(digits(), builders=BUILDERS)
    assert objective.cost(own_domain().pool[0]) == found
    with pytest.raises(ValueError, match="builders: expected None unless network is an Architecture"):
        cost(nn.Linear(2, 2), (2,), builders=BUILDERS)


@pytest.mark.slow
def test_a_search_trains_them_in_another_process():
    objective = NetworkObjective(digits(), Recipe(epochs=3, batch_size=32, learning_rate=4e-3), builders=BUILDERS)
    settings: dict = {"workers": 1, "trial_timeout": 600.0, "progress": False}  # whose time is kept in a process
    result = bo.minimize(objective, own_domain(), method="nasbot", n_trials=1, seed=0, **settings)
    assert result.n_failed == 0
    assert any(layer.label == "gated" for trial in result.trials for layer in trial.point.layers)
    assert result.best_value < 0.5  # guessing: 0.9


def test_a_label_may_collapse_images_halve_them_and_replace_a_published_one():
    family = CNN.with_label(Label("squeeze", group="fc", image="collapses"), {"fc": 0.1})
    family = family.with_label(Label("fold", units=False, image="halves"), {"max-pool": 0.1})
    seen = []

    def squeeze(layer, shape):
        seen.append((layer, shape))
        return nn.Linear(shape[0], layer.units)

    builders = {
        "squeeze": squeeze,
        "fold": lambda *_: nn.AvgPool2d(2, ceil_mode=True),
        "conv3": lambda layer, shape: nn.Conv2d(shape[0], layer.units, 3, layer.stride, 1),
    }
    chain = ["conv3-4", "fold", {"label": "squeeze", "units": 6, "attributes": {"rank": 2}}, "softmax"]
    network = to_torch(bo.Architecture.chain(chain, family), (3, 5, 7), 2, builders=builders)
    assert network(torch.randn(2, 3, 5, 7)).shape == (2, 2)
    assert type(network.layers["1 conv3-4"].body) is nn.Conv2d
    ((layer, shape),) = seen
    assert shape == (4,)
    assert dict(layer.attributes) == {"rank": 2}  # any attribute: the function may know it


def test_shapes_that_leave_are_those_of_the_label():
    image = CNN.by_name["conv3"]
    chain = bo.Architecture.chain("conv3-6/2 max-pool fc-5 softmax")
    assert leaving_shape(chain.layers[1], image, (3, 7, 8)) == (6, 4, 4)
    assert leaving_shape(chain.layers[2], CNN.by_name["max-pool"], (6, 7, 8)) == (6, 4, 4)
    assert leaving_shape(chain.layers[3], CNN.by_name["fc"], (6,)) == (5,)


def test_their_repeats_are_trained_one_by_one():
    family = MLP.with_label(Label("gelu", group="rectifier"), {"relu": 0.1})
    x = bo.Architecture.chain("gelu-8 linear", family)
    builders = {"gelu": lambda layer, shape: nn.Sequential(nn.Linear(shape[0], layer.units), nn.ReLU())}
    assert not is_batched(to_torch(x, (10,), 1, builders=builders), 32)
    assert is_batched(to_torch(bo.Architecture.chain("relu-8 linear", family), (10,), 1, builders=builders), 32)
    objective = NetworkObjective(diabetes(), Recipe(epochs=1), repeats=2, builders=builders)
    assert objective(x) > 0.0


@pytest.mark.parametrize(
    ("builder", "message"),
    [
        (lambda *_: nn.ModuleList([Gated(1, 8, 1)]), r"layer 1 .*a module with a method forward, got ModuleList"),
        (lambda *_: nn.LazyConv2d(8, 3, padding=1), r"layer 1 \(gated-8\): the module of .*uninitialized parameter"),
        (lambda *_: Refusing(), r"layer 1 \(gated-8\): the module of .*does not take examples .*only even sides"),
        (lambda *_: 3, r"layer 1 \(gated-8\): builders\['gated'\] must return a torch.nn.Module, got 3"),
        (lambda *_: Gated(2, 8, 1), r"the module of builders\['gated'\] does not take examples \(1, 8, 8\)"),
        (lambda *_: Gated(1, 5, 1), r"makes \(2, 5, 8, 8\) of 2 examples .*the label needs \(2, 8, 8, 8\)"),
    ],
)
def test_modules_that_do_not_fit_are_refused(builder, message):
    with pytest.raises(DomainError, match=message):
        to_torch(own_domain().pool[0], (1, 8, 8), 10, builders={"gated": builder})


class Refusing(nn.Module):
    def forward(self, x):
        assert x.shape[-1] == 7, "only even sides"


class Normalized(nn.Module):
    """A layer whose forward needs a number out of a tensor."""

    def __init__(self):
        super().__init__()
        self.body = Gated(1, 8, 1)

    def forward(self, x):
        return self.body(x / max(x.abs().max().item(), 1e-6))


def test_a_module_that_reads_numbers_out_of_tensors_is_taken_as_it_is():
    network = to_torch(own_domain().pool[0], (1, 8, 8), 10, builders={"gated": lambda *_: Normalized()})
    assert network(torch.randn(2, 1, 8, 8)).shape == (2, 10)


@pytest.mark.parametrize(
    ("label", "chain", "family", "words"),
    [
        ("conv33", "conv3-8 softmax", "cnn", "'conv33' is not a label of .* family cnn .*Did you mean 'conv3'"),
        ("gatde", "conv3-8 softmax", gated_layers.FAMILY, r"'gatde' is .* cnn\+gated.*Did you mean 'gated'"),
        ("gated", "conv3-8 softmax", "cnn", "'gated' is not a label of .* family cnn or of the package's families"),
    ],
)
def test_builders_of_unknown_labels_are_refused(label, chain, family, words):
    x, builders = bo.Architecture.chain(chain, family), {label: gated_layers.gated}
    for build in (to_torch, cost):
        with pytest.raises(DomainError, match=words):
            build(x, (1, 8, 8), 10, builders=builders)
    with pytest.raises(DomainError, match=words):
        NetworkObjective(digits(), builders=builders).cost(x)


def test_builders_of_labels_that_a_network_lacks_are_taken():
    x = bo.Architecture.chain("conv3-8 softmax", gated_layers.FAMILY)
    for label in ("gated", "conv5", "tanh"):  # of its family, of both, of another family of the package
        assert to_torch(x, (1, 8, 8), 10, builders={label: gated_layers.gated}).has_own_layers is False


def test_builders_that_are_none_are_refused():
    with pytest.raises(DomainError, match=r"no torch module is known for the label 'gated'.*builders= has conv3"):
        to_torch(own_domain().pool[0], (1, 8, 8), 10, builders={"conv3": gated_layers.gated})
    with pytest.raises(DomainError, match=r"builders\['softmax'\]: expected a label of processing layers"):
        to_torch(bo.Architecture.chain(["softmax"], "mlp"), (3,), 2, builders={"softmax": lambda *_: nn.ReLU()})
    for wrong, words in ((3, "a mapping from labels to functions, got 3"), ({"gated": 3}, "a label and a function")):
        with pytest.raises(TypeError, match=f"builders: expected {words}"):
            NetworkObjective(digits(), builders=wrong)  # type: ignore[arg-type]
    assert check_builders(None) == {}


class TestAFileOfLayers:
    def test_is_read_and_found_again_by_other_processes(self):
        own = read_layers(FILE)
        assert (type(own), own.family, own.pool) == (OwnLayers, FAMILY, POOL)
        again = pickle.loads(pickle.dumps(own.builders))
        module = again["gated"](own_domain().pool[0].layers[1], (1, 8, 8))
        assert module(torch.zeros(2, 1, 8, 8)).shape == (2, 8, 8, 8)

    def test_gives_a_search_its_family_its_pool_and_its_builders(self):
        search = search_of("digits", layers=FILE)
        assert search.domain().family == FAMILY
        assert [str(x) for x in search.domain().pool] == [f"ip {chain} op" for chain in POOL]
        assert list(search.objective().builders or ()) == ["gated"]
        assert str(FILE) in search.title
        with pytest.raises(DomainError, match=r"layers: FAMILY in .* expected a family of features, got cnn\+gated"):
            search_of("diabetes", layers=FILE)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            (None, r"expected a Python file, and .*layers\.py is not a file"),
            ("BUILDERS = {}", "must define FAMILY and BUILDERS, and may define POOL"),
            ("BUILDERS = {}\nFAMILY = 'cnn'", r"FAMILY in .*: expected a Family, got 'cnn'"),
            (f"BUILDERS = {{'a': 3}}\n{IMPORT}", r"BUILDERS in .*: builders: .*got 'a': 3"),
            (
                f"BUILDERS = {{'gelo': print}}\n{IMPORT}",
                "BUILDERS in .*: expected labels of FAMILY, .*conv3.*; got gelo",
            ),
            (f"BUILDERS, POOL = {{}}, 'conv3-8'\n{IMPORT}", "POOL in .*: expected a list of strings, got 'conv3-8'"),
        ],
    )
    def test_is_refused_by_name(self, tmp_path, text, words):
        if text is not None:
            (tmp_path / "layers.py").write_text(text)
        with pytest.raises(DomainError, match=f"layers: .*{words}"):
            read_layers(tmp_path / "layers.py")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FAMILY = (", ", line 1: SyntaxError: '(' was never closed"),
        ("FAMILY = 1\nimport no_such_module", ", line 2: ModuleNotFoundError: No module named 'no_such_module'"),
        ("def f():\n    return 1 / 0\nf()", ", line 2: ZeroDivisionError: division by zero"),
        ("x = '\0'", ": SyntaxError: source code string cannot contain null bytes"),
    ],
)
def test_a_file_that_cannot_be_run_is_refused_with_its_line(tmp_path, text, said):
    path = tmp_path / "layers.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DomainError) as refused:
        read_layers(path)
    assert str(refused.value) == f"layers: {path}{said}"
