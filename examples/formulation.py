"""A coating of at most four of eight ingredients: how much of which, and how long it cures.

    python examples/formulation.py

The laboratory is a function here. It prints what random search and `auto` find in forty experiments.
"""

import math

import bostruct as bo

N_TRIALS = 40
INGREDIENTS = ["epoxy", "acrylic", "silica", "talc", "glycol", "xylene", "wax", "pigment"]
SPACE = {
    "blend": bo.Mixture(
        INGREDIENTS, total=100, bounds={"silica": (0, 30), "wax": (0, 10)}, max_parts=4, min_share=2, required="pigment"
    ),
    "hours": bo.Real(1, 48, log=True),
}


def hardness(point):
    """Return the hardness of a coating, which is largest with epoxy, some silica, and glycol in proportion."""
    part = {name: share / 100 for name, share in point["blend"].items()}
    resin = part["epoxy"] + 0.6 * part["acrylic"]
    filler = part["silica"] + 0.4 * part["talc"]
    solvent = part["glycol"] + 0.7 * part["xylene"]
    ratio = math.log((resin + 0.01) / (solvent + 0.01)) - 1.0  # resin is to be 2.7 times the solvent
    cured = math.log(point["hours"] / 12.0)
    return 10.0 * resin + 20.0 * filler * (1.0 - 2.0 * filler) - ratio**2 - 0.5 * cured**2 - 30.0 * part["pigment"]


if __name__ == "__main__":
    result = bo.maximize(hardness, SPACE, n_trials=N_TRIALS, seed=0)
    random = bo.maximize(hardness, SPACE, n_trials=N_TRIALS, seed=0, method="random")
    print(f"auto {result.best_value:.2f}, random {random.best_value:.2f}")
    print({name: round(share, 1) for name, share in result.best_point["blend"].items() if share})
