"""Modules as architectures: what `to_torch` builds comes back, users' networks are read, others refused by name."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest

import bostruct as bo

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from bostruct.contracts import DomainError, PointError  # noqa: E402
from bostruct.domains import CNN, Label  # noqa: E402
from bostruct.nas import cost, to_source, to_torch  # noqa: E402
from bostruct.nas.tracing import from_torch  # noqa: E402
from tests.nas.user_networks import BESIDE, NETWORKS, TWO, Gated, Grouped, Inception, conv, strip  # noqa: E402

POOLS = [(one, (3, 32, 32)) for one in bo.cnn_domain().pool] + [(one, (9,)) for one in bo.mlp_domain().pool]


def layer(label, units=None, stride=1, **attributes):
    return {"label": label, "units": units, "stride": stride, "attributes": attributes}


SEPARABLE, BARE = layer("conv3", 16, 2, dropout=0.2, separable=True), layer("conv5", 8, normalization="none")
WITH_ATTRIBUTES = [
    bo.Architecture.chain([SEPARABLE, layer("res5", 8, dilation=2), layer("fc", 4, dropout=0.5), "softmax"]),
    bo.Architecture.chain(
        [BARE, layer("res7", 4, 2, normalization="none", dropout=0.1), layer("softmax", dropout=0.3)]
    ),
]
CHAIN = bo.Architecture.chain("relu-16 crelu-8 tanh-4 leaky-relu-3 softplus-4 elu-4 logistic-5 linear")


def read(module, shape, **settings):
    return from_torch(module, torch.randn(2, *shape), **settings)


def build(name):
    make, shape, text = NETWORKS[name]
    return make(), shape, text


@pytest.mark.parametrize(
    ("architecture", "shape"),
    [*POOLS, (TWO, (3, 16, 16)), (BESIDE, (7,)), *((one, (1, 16, 16)) for one in WITH_ATTRIBUTES)],
)
def test_what_to_torch_builds_comes_back(architecture, shape):
    assert read(to_torch(architecture, shape, 10), shape) == architecture


def test_perceptrons_and_their_decisions_come_back():
    assert read(to_torch(CHAIN, (7,), 3), (7,)) == CHAIN
    classes = bo.Architecture.chain("relu-8 softmax", "mlp")
    assert read(to_torch(classes, (7,), 3), (7,), decision="softmax") == classes


def test_architectures_that_a_search_finds_come_back():
    bounds = bo.Bounds(max_units=16, min_units=2, max_layers=14, min_layers=3)
    small, rng = bo.cnn_domain(bounds, ["conv3-4 res3-8/2 conv5-4 fc-8 softmax"]), np.random.default_rng(0)
    for one in small.sample(12, rng):
        assert read(to_torch(one, (3, 32, 32), 4), (3, 32, 32)) == one


FAULTS = {
    "stride": ("conv3-4/2", lambda body: setattr(body[0], "stride", (1, 1))),
    "no norm": ("conv3-4", lambda body: body.__setitem__(1, nn.Identity())),
    "size": ("conv3-4", lambda body: body.__setitem__(0, nn.Conv2d(4, 4, 5, padding=2))),
    "a layer more": ("conv3-4", lambda body: body.insert(0, conv(4, 4, 3))),
    "no shortcut": ("res3-4", lambda body: setattr(body, "forward", lambda x: body.second(body.first(x)))),
}


@pytest.mark.filterwarnings("ignore:module. the layers of")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_module_that_differs_is_another_architecture(fault):
    text, plant = FAULTS[fault]
    architecture = bo.Architecture.chain(f"conv3-4 {text} softmax")
    network = to_torch(architecture, (3, 8, 8), 2)
    plant(next(one for name, one in network.layers.items() if name[0] == "2").body)
    assert read(network, (3, 8, 8)) != architecture


@pytest.mark.filterwarnings("ignore:module. the layers of")
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_of_users_are_read_and_built_again(name):
    network, shape, text = build(name)
    found = read(network, shape)
    assert strip(found) == bo.Architecture.from_text(text, found.family)
    again = to_torch(found, shape, 10)
    assert read(again, shape, family=found.family) == found
    assert to_source(again)
    assert bo.Architecture.from_json(json.loads(json.dumps(found.to_json())), found.family) == found


def test_an_inception_network_is_built_again_with_as_many_weights():
    network, shape, _ = build("googlenet")
    found = read(network, shape)
    assert found.family.name == "cnn+conv1+max-pool3"
    assert cost(to_torch(found, shape, 10), shape) == cost(network, shape)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("resnet50", "res3 stands for blocks of 1x1, 3x3, 1x1"),
        ("lenet", "tanh is read as relu"),
        (
            "mobile",
            "no activation behind a layer is read as relu; relu6 is read as relu; res3 stands for blocks of 1x1, 3x3",
        ),
        ("mlp", "batch normalization is left out"),
    ],
)
def test_what_differs_is_told(name, words):
    network, shape, _ = build(name)
    with pytest.warns(UserWarning, match=f"module: the layers of .* differ: {words}$"):
        read(network, shape)


class Tied(nn.Module):
    def __init__(self, factor=1.0, again=0):
        super().__init__()
        self.first, self.convs, self.fc = conv(3, 4, 3), nn.ModuleList([conv(4, 4, 3), conv(4, 4, 3)]), nn.Linear(4, 2)
        self.factor, self.again = factor, again

    def forward(self, x):
        x = self.convs[self.again](self.convs[0](self.first(x))).mean((2, 3))
        return self.fc(x if self.factor == 1.0 else x * self.factor)


def bare(*modules):
    return nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (bare(nn.Conv2d(3, 4, 3), nn.ReLU()), None),
        (bare(conv(3, 4, 3)), None),
        (bare(nn.Conv2d(3, 4, 3)), "no activation behind a layer is read as relu"),
        (
            bare(nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 4, 3)),
            "no activation behind a layer is read as relu; normalization before a layer is read behind it",
        ),
        (Tied(again=1), None),
        (Tied(), "layers that share weights have their own"),
        (Tied(2.5, 1), "sums and products with constants are left out"),
    ],
)
def test_each_difference_that_no_layer_has_is_told(module, words):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        read(module, (3, 8, 8))
    told = [str(one.message).partition(" differ: ")[2] for one in found if "the layers of" in str(one.message)]
    assert told == ([] if words is None else [words])


@pytest.mark.filterwarnings("ignore")  # of torch
def test_a_recurrent_network_is_refused_by_its_name():
    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm, self.fc = nn.LSTM(3, 4), nn.Linear(4, 2)

        def forward(self, x):
            return self.fc(self.lstm(x)[0])

    with pytest.raises(DomainError, match=r"module: fc\.linear \(linear of another shape\): expected"):
        from_torch(Recurrent(), torch.zeros(5, 1, 3))
    with pytest.raises(DomainError, match="module: expected one output"):
        from_torch(nn.LSTM(3, 4), torch.zeros(5, 1, 3))


def test_attributes_are_read():
    found = read(*build("vgg")[:2])
    told = [dict(layer.attributes) for layer in found.layers if layer.attributes]
    assert told == [{"normalization": "none"}, {"dropout": 0.5}, {"dropout": 0.5}]


def test_a_module_keeps_its_mode_and_its_statistics():
    network, shape, _ = build("resnet18")
    network.layers[0].eval()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    read(network, shape)
    assert (network.training, network.layers[0].training, network.layers[0].bn1.training) == (True, False, False)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


class Branching(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def head(*modules):
    return nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LazyLinear(2))


REFUSED = {
    "gate": (Gated(), r"module: mul \(mul\): the family cnn has no such layer$"),
    "norm": (Grouped(), r"norm.group_norm \(group-norm\): .*a family with Label\('group-norm', units=False\) reads it"),
    "stride": (head(nn.Conv2d(3, 4, 5, 4)), r"0.conv2d \(conv\): expected stride 1 or 2 and one group, got \(4, 4\)"),
    "groups": (head(conv(3, 4, 3), nn.Conv2d(4, 4, 3, groups=2)), r"1.conv2d_1 \(conv\): .*one group, got .* and 2"),
    "even": (head(nn.Conv2d(3, 4, 2)), r"0.conv2d \(conv\): expected a kernel of an odd size up to 31, got \(2, 2\)"),
    "pool": (head(conv(3, 4, 3), nn.MaxPool2d(3)), r"1.max_pool2d \(max-pool\): expected a pool of stride 1 or 2"),
    "no linear": (nn.Sequential(conv(3, 4, 3)), r"0.2.relu.* expected linear layers before the output"),
    "branch": (Branching(), "module: torch.export cannot trace it: its forward branches on data$"),
    "constant": (nn.Sequential(nn.Flatten(), nn.Linear(192, 3), nn.Softsign(), nn.Linear(3, 1)), "softsign|activation"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read_is_refused_by_its_name(name):
    module, words = REFUSED[name]
    example = torch.randn(2, 3, 8, 8)
    module.eval()(example)
    with pytest.raises(DomainError, match=words):
        from_torch(module, example)


def test_an_addition_that_closes_no_block():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c, self.fc = conv(3, 4, 3), conv(4, 4, 3), conv(4, 4, 5), nn.Linear(4, 2)

        def forward(self, x):
            x = self.a(x)
            return self.fc((self.b(x) + self.c(x)).mean((2, 3)))

    with pytest.raises(DomainError, match=r"add \(add\): it closes no residual block; a Family with joins='adds'"):
        read(Sum(), (3, 8, 8))
    adding = replace(CNN, name="adding", joins="adds")
    found = read(Sum(), (3, 8, 8), family=adding)
    assert str(found) == "ip conv3-4 conv3-4 conv5-4 softmax op | 0>1 1>2 1>3 2>4 3>4 4>5"
    assert read(to_torch(found, (3, 8, 8), 2), (3, 8, 8), family=adding) == found


def test_arguments_are_checked():
    with pytest.raises(TypeError, match=r"module: expected a torch.nn.Module, got 5"):
        from_torch(5, torch.ones(1, 2))
    with pytest.raises(
        TypeError, match=r"example_input: expected a tensor, a batch of examples, got .*pass torch.zeros\(2, "
    ):
        from_torch(nn.Linear(2, 1), (1, 2))
    with pytest.raises(TypeError, match="family: expected a Family or None, got 'cnn'"):
        from_torch(nn.Linear(2, 1), torch.ones(1, 2), family="cnn")
    with pytest.raises(ValueError, match="decision"):
        from_torch(nn.Linear(2, 1), torch.ones(1, 2), decision="relu")
    with pytest.raises(PointError, match="a child of the input must be"):
        read(
            nn.Sequential(nn.MaxPool2d(2), conv(3, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)),
            (3, 8, 8),
        )


def test_a_label_of_ones_own_is_a_layer():
    family = CNN.with_label(Label("group-norm", units=False), {})
    assert str(read(Grouped(), (3, 8, 8), family=family)) == "ip conv3-8 group-norm softmax op"
    mean = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 2)
    with pytest.raises(DomainError, match=r"1.a.0.conv2d_1 \(conv\): the family cnn has no label conv1; it knows ip"):
        read(nn.Sequential(conv(3, 16, 3), Inception(16), *mean), (3, 8, 8), family=CNN)


@pytest.mark.filterwarnings("ignore:module. the layers of")
@pytest.mark.parametrize("name", ["googlenet", "mlp"])
def test_a_network_of_ones_own_starts_a_search(name):
    network, shape, _ = build(name)
    own = read(network, shape)
    make = bo.cnn_domain if own.family.image else bo.mlp_domain
    domain = make(bo.Bounds(min_layers=3, max_layers=24, min_units=4), pool=[own], family=own.family)
    result = bo.minimize(
        lambda point: float(cost(point, shape, 10).parameters), domain, 12, method="nasbot", seed=0, progress=False
    )
    assert result.trials[0].point == own
    assert len({trial.point for trial in result.trials}) == len(result.trials)
    assert result.best_value < cost(own, shape, 10).parameters
