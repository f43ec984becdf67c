"""Networks as users write them. The files in `onnx_exports.zip` are exports of these by torch 2.13, without weights.

The end of a name says how a file was made: `old` by TorchScript, `new` by dynamo, `train` without any folding.
"""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

import bostruct as bo
from bostruct.nas import to_torch


def conv(entering, units, size, stride=1, act=nn.ReLU):
    parts = nn.Conv2d(entering, units, size, stride, size // 2, bias=False), nn.BatchNorm2d(units)
    return nn.Sequential(*parts, act(inplace=True))


class Basic(nn.Module):
    def __init__(self, entering, units, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(entering, units, 3, stride, 1, bias=False)
        self.bn1, self.relu = nn.BatchNorm2d(units), nn.ReLU(inplace=True)
        self.conv2, self.bn2 = nn.Conv2d(units, units, 3, 1, 1, bias=False), nn.BatchNorm2d(units)
        self.downsample = None
        if stride > 1 or entering != units:
            self.downsample = nn.Sequential(nn.Conv2d(entering, units, 1, stride, bias=False), nn.BatchNorm2d(units))

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    def __init__(self, entering, units, stride=1):
        super().__init__()
        self.a, self.b = conv(entering, units // 2, 1), conv(units // 2, units // 2, 3, stride)
        self.c = nn.Sequential(nn.Conv2d(units // 2, units, 1, bias=False), nn.BatchNorm2d(units))
        self.short = nn.Identity()
        if stride > 1 or entering != units:
            self.short = nn.Sequential(nn.Conv2d(entering, units, 1, stride, bias=False), nn.BatchNorm2d(units))

    def forward(self, x):
        return functional.relu(self.c(self.b(self.a(x))) + self.short(x))


class ResNet(nn.Module):
    def __init__(self, block):
        super().__init__()
        self.conv1, self.bn = nn.Conv2d(3, 16, 7, 2, 3, bias=False), nn.BatchNorm2d(16)
        self.pool, self.avgpool = nn.MaxPool2d(3, 2, 1), nn.AdaptiveAvgPool2d((1, 1))
        self.layers = nn.Sequential(block(16, 16), block(16, 16), block(16, 32, 2), block(32, 32))
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.pool(functional.relu(self.bn(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layers(x)), 1))


class Inception(nn.Module):
    def __init__(self, entering):
        super().__init__()
        self.a, self.b = conv(entering, 8, 1), nn.Sequential(conv(entering, 4, 1), conv(4, 8, 3))
        self.c = nn.Sequential(conv(entering, 4, 1), conv(4, 8, 5))
        self.d = nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(entering, 8, 1))

    def forward(self, x):
        return torch.cat([self.a(x), self.b(x), self.c(x), self.d(x)], 1)


class GoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.one, self.two = conv(3, 16, 3, 2), Inception(16), Inception(32)
        self.pool, self.drop, self.fc = nn.MaxPool2d(3, 2, ceil_mode=True), nn.Dropout(0.4), nn.Linear(32, 10)

    def forward(self, x):
        return self.fc(self.drop(self.two(self.pool(self.one(self.stem(x)))).mean([2, 3])))


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.f1, self.f2, self.f3 = nn.Linear(256, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = functional.max_pool2d(torch.tanh(self.c1(x)), 2)
        x = functional.max_pool2d(torch.tanh(self.c2(x)), 2).view(x.size(0), -1)
        return functional.log_softmax(self.f3(torch.relu(self.f2(torch.relu(self.f1(x))))), 1)


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.bn, self.fc = nn.Conv2d(3, 16, 3, padding=1, bias=False), nn.BatchNorm2d(40), nn.Linear(40, 10)
        widths = (16, 24, 32)
        parts = [(nn.BatchNorm2d(w), nn.ReLU(), nn.Conv2d(w, 8, 3, padding=1, bias=False)) for w in widths]
        self.layers = nn.ModuleList(nn.Sequential(*own) for own in parts)

    def forward(self, x):
        found = [self.stem(x)]
        for layer in self.layers:
            found.append(layer(torch.cat(found, 1)))
        x = functional.relu(self.bn(torch.cat(found, 1)))
        return self.fc(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Inverted(nn.Module):
    def __init__(self, entering, units, stride):
        super().__init__()
        wide = 2 * entering
        depthwise = nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False)
        last = nn.Conv2d(wide, units, 1, bias=False), nn.BatchNorm2d(units)
        self.body = nn.Sequential(
            conv(entering, wide, 1, act=nn.ReLU6), depthwise, nn.BatchNorm2d(wide), nn.ReLU6(True), *last
        )
        self.adds = stride == 1 and entering == units

    def forward(self, x):
        return x + self.body(x) if self.adds else self.body(x)


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        blocks = Inverted(8, 16, 2), Inverted(16, 16, 1)
        self.features = nn.Sequential(conv(3, 8, 3, 2, act=nn.ReLU6), *blocks, conv(16, 64, 1, act=nn.ReLU6))
        self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(64, 10))

    def forward(self, x):
        return self.classifier(self.features(x).mean([2, 3]))


class Preactivated(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1, bias=False)
        parts = [(nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1, bias=False)) for _ in range(2)]
        self.body, self.fc = nn.Sequential(*parts[0], *parts[1]), nn.Linear(16, 10)

    def forward(self, x):
        x = self.stem(x)
        return self.fc(functional.avg_pool2d(x + self.body(x), 32).view(x.shape[0], -1))


class Gated(nn.Module):
    """With a squeeze and excitation, which is no layer."""

    def __init__(self):
        super().__init__()
        gate = nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 8, 1), nn.Sigmoid()
        self.c, self.gate, self.fc = conv(3, 8, 3), nn.Sequential(*gate), nn.Linear(8, 10)

    def forward(self, x):
        x = self.c(x)
        return self.fc((x * self.gate(x)).mean((2, 3)))


class Grouped(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.norm, self.fc = conv(3, 8, 3), nn.GroupNorm(2, 8), nn.Linear(8, 10)

    def forward(self, x):
        return self.fc(self.norm(self.c(x)).mean((2, 3)))


def vgg():
    first = nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(2, 2)
    second = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(True), nn.MaxPool2d(2, 2)
    dense = nn.Linear(32 * 49, 64), nn.ReLU(True), nn.Dropout(), nn.Linear(64, 64), nn.ReLU(True), nn.Dropout()
    return nn.Sequential(*first, *second, nn.AdaptiveAvgPool2d(7), nn.Flatten(), *dense, nn.Linear(64, 10))


def perceptron():
    first = nn.Flatten(), nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.3)
    return nn.Sequential(*first, nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 1))


TWO = bo.Architecture(
    ["ip", "conv3-16", "res3-32/2", "conv3-32/2", "max-pool", "fc-64", "softmax", "softmax", "op"],
    [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6), (4, 7), (6, 8), (7, 8)],
)
BESIDE = bo.Architecture(
    ["ip", "relu-8", "crelu-8", "elu-4", "linear", "linear", "op"],
    [(0, 1), (0, 2), (1, 3), (2, 3), (1, 4), (3, 5), (4, 6), (5, 6)],
)
NETWORKS = {  # how to build each, the shape of an example, the architecture
    "resnet18": (
        lambda: ResNet(Basic),
        (3, 32, 32),
        "conv7-16/2 max-pool res3-16 res3-16 res3-32/2 res3-32 softmax",
    ),
    "resnet50": (
        lambda: ResNet(Bottleneck),
        (3, 32, 32),
        "conv7-16/2 max-pool res3-16 res3-16 res3-32/2 res3-32 softmax",
    ),
    "googlenet": (
        GoogLeNet,
        (3, 32, 32),
        "ip conv3-16/2 conv1-8 conv1-4 conv3-8 conv1-4 conv5-8 max-pool3 conv1-8 max-pool conv1-8 conv1-4 conv3-8 "
        "conv1-4 conv5-8 max-pool3 conv1-8 softmax op | 0>1 1>2 1>3 1>5 1>7 2>9 3>4 4>9 5>6 6>9 7>8 8>9 9>10 9>11 "
        "9>13 9>15 10>17 11>12 12>17 13>14 14>17 15>16 16>17 17>18",
    ),
    "lenet": (LeNet, (1, 28, 28), "conv5-6 max-pool conv5-16 max-pool fc-120 fc-84 softmax"),
    "vgg": (vgg, (3, 28, 28), "conv3-16 max-pool conv3-32 max-pool fc-64 fc-64 softmax"),
    "dense": (
        Dense,
        (3, 32, 32),
        "ip conv3-16 conv3-8 conv3-8 conv3-8 softmax op | 0>1 1>2 1>3 1>4 1>5 2>3 2>4 2>5 3>4 3>5 4>5 5>6",
    ),
    "mobile": (MobileNet, (3, 32, 32), "conv3-8/2 conv1-16 conv3-16/2 res3-16 conv1-64 softmax"),
    "pre": (Preactivated, (3, 32, 32), "conv3-16 res3-16 softmax"),
    "mlp": (perceptron, (20,), "relu-32 tanh-16 linear"),
    "two": (lambda: to_torch(TWO, (3, 16, 16), 10), (3, 16, 16), str(TWO)),
    "mlps": (lambda: to_torch(BESIDE, (7,), 3), (7,), str(BESIDE)),
}


def strip(architecture):
    """The architecture without attributes of its layers."""
    layers = [layer._replace(attributes=()) for layer in architecture.layers]
    return bo.Architecture(layers, architecture.edges, architecture.family)
