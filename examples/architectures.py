"""Search a perceptron together with its learning rate and weight decay, each trained on scikit-learn's digits."""

import sys
from dataclasses import replace

import bostruct as bo

try:
    from bostruct import nas

    digits = nas.digits()
except ImportError as error:
    sys.exit(f"{error}; this example trains networks: pip install torch scikit-learn")


def flatten(examples):
    """Return the examples with images as rows of numbers, which a perceptron takes."""
    return nas.Examples(examples.inputs.flatten(1), examples.targets)


data = replace(digits, **{part: flatten(getattr(digits, part)) for part in ("train", "validation", "test")})
domain = bo.Space(
    {
        "network": bo.mlp_domain(bo.Bounds(max_layers=12), decision="softmax"),
        "training": {
            "learning_rate": bo.Real(1e-4, 1e-1, log=True),
            "weight_decay": bo.Real(1e-6, 1e-2, log=True),
        },
    }
)
error = nas.NetworkObjective(data, nas.Recipe(epochs=3, batch_size=25))
result = bo.minimize(error, domain, n_trials=12, seed=0)
training = result.best_point["training"]
print(f"{result.best_value:.1%} of the digits read wrongly with {training}")
print(result.best_point["network"])
assert result.best_value < 0.15
