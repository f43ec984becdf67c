"""A file of layers, as `bostruct nas --layers` takes it: gated convolutions, and a mean of what enters."""

from torch import nn

from bostruct.domains.architecture.layers import CNN, Label


class Gated(nn.Module):
    """A convolution times the sigmoid of another (Dauphin et al. 2017)."""

    def __init__(self, channels, units, stride):
        super().__init__()
        self.both = nn.Conv2d(channels, 2 * units, 3, stride, padding=1)

    def forward(self, x):
        return nn.functional.glu(self.both(x), dim=1)


def gated(layer, shape):
    return Gated(shape[0], layer.units, layer.stride)


FAMILY = CNN.with_label(Label("gated", group="conv", image="strides"), {"conv3": 0.2})
BUILDERS = {"gated": gated}
POOL = ["gated-8 conv3-16/2 softmax", "conv3-8 gated-16/2 fc-16 softmax"]
