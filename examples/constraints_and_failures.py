"""Constraints that are known beforehand are never broken; those that only a try reveals are learned."""

import bostruct as bo

WEIGHTS = {"lamp": 3, "tent": 9, "stove": 5, "axe": 4, "rope": 2, "radio": 3, "map": 1, "tarp": 4, "saw": 3, "food": 8}
WORTH = {"lamp": 4, "tent": 9, "stove": 6, "axe": 3, "rope": 3, "radio": 1, "map": 4, "tarp": 5, "saw": 2, "food": 9}


def light_enough(point):
    return sum(WEIGHTS[item] for item in WEIGHTS if point[item]) <= 22


def worth(point):
    """Tent and tarp together do not fit the rucksack, which nobody knew; and the radio breaks the script."""
    if point["tent"] and point["tarp"]:
        raise bo.Infeasible("tent and tarp do not fit together")
    if point["radio"] and not point["lamp"]:
        raise RuntimeError("cannot find the radio in the dark")
    return sum(WORTH[item] for item in WORTH if point[item])


space = bo.Space({item: bool for item in WEIGHTS}, constraints=[light_enough])
result = bo.maximize(worth, space, n_trials=60, seed=0)

assert all(light_enough(trial.point) for trial in result.trials)
print("worth", result.best_value, "of", sorted(item for item in WORTH if result.best_point[item]))
print(
    result.n_failed,
    "trials failed,",
    result.n_infeasible,
    "were infeasible:",
    sorted({trial.reason for trial in result.trials if trial.reason}),
)
