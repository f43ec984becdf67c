"""Search a convolutional network and its learning rate together; what training would say is made up."""

import math

import bostruct as bo


def error(point: dict) -> float:
    """Deep enough, not too heavy, and a rate that suits the depth."""
    network, rate = point["network"], point["training"]["rate"]
    depth = sum(layer.label.startswith(("conv", "res")) for layer in network.layers)
    weights = sum(network.masses)
    return (depth - 9) ** 2 / 50 + math.log10(max(weights, 1.0)) / 10 + abs(math.log10(rate * depth) + 1.2)


domain = bo.joint_domain(
    {
        "network": bo.cnn_domain(bo.Bounds(max_layers=24)),
        "training": {"rate": bo.Ordinal([0.001, 0.003, 0.01, 0.03, 0.1]), "augment": bool},
    }
)
result = bo.minimize(error, domain, n_trials=24, method="nasbot", seed=0)
print(f"error {result.best_value:.3f} at a rate of {result.best_point['training']['rate']}")
print(result.best_point["network"])
assert result.best_value < result.trials[0].value
