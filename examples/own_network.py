"""Start a search from a network of your own: a small ResNet in torch, trained on scikit-learn's digits."""

import sys

import bostruct as bo

try:
    import torch
    from torch import nn

    from bostruct import nas

    digits = nas.digits()
except ImportError as error:
    sys.exit(f"{error}; this example trains networks: pip install torch scikit-learn")


class Block(nn.Module):
    """Two convolutions and a shortcut, which a convolution of size 1 halves."""

    def __init__(self, channels, units):
        super().__init__()
        first = nn.Conv2d(channels, units, 3, 2, padding=1, bias=False), nn.BatchNorm2d(units), nn.ReLU()
        self.body = nn.Sequential(*first, nn.Conv2d(units, units, 3, padding=1, bias=False), nn.BatchNorm2d(units))
        self.shortcut = nn.Conv2d(channels, units, 1, 2)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU())
        self.blocks, self.head = nn.Sequential(Block(32, 64), Block(64, 64)), nn.Linear(64, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


SHAPE = (1, 8, 8)
mine = nas.from_torch(Network(), torch.randn(2, *SHAPE))
print(f"as an architecture: {mine}")
train = nas.NetworkObjective(digits, nas.Recipe(epochs=2, batch_size=50))


def cost(network):
    """Return the validation error, and a hundredth for each 10,000 parameters."""
    return train(network) + nas.cost(network, SHAPE, 10).parameters / 1e6


domain = bo.cnn_domain(bo.Bounds(min_layers=4, max_layers=12), pool=[mine], family=mine.family)
result = bo.minimize(cost, domain, n_trials=12, seed=0)
print(f"cost {result.trials[0].value:.3f} of your network, {result.best_value:.3f} of {result.best_point}")
module = nas.to_torch(result.best_point, SHAPE, 10)
assert nas.from_torch(module, torch.randn(2, *SHAPE), family=mine.family) == result.best_point
assert result.best_value < result.trials[0].value
