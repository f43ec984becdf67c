"""Own the loop, stop anywhere, go on tomorrow: the study is a file, and what was told is never lost."""

import tempfile
from pathlib import Path

import bostruct as bo

file = Path(tempfile.mkdtemp()) / "oven.db"
space = {
    "flour": ["rye", "wheat", "spelt"],
    "minutes": range(20, 61, 5),
    "degrees": range(180, 251, 10),
    "steam": bool,
}


def taste(point):
    """Stands in for baking a loaf and asking the neighbors."""
    score = {"rye": 1.0, "wheat": 0.0, "spelt": 2.0}[point["flour"]] + point["steam"]
    return score - abs(point["minutes"] - 45) / 10 - abs(point["degrees"] - 230) / 20


with bo.Study(space, seed=1, direction="maximize", storage=file, name="bread") as study:
    study.add({"flour": "rye", "minutes": 40, "degrees": 220, "steam": False}, -0.5)  # what is known already
    for _ in range(15):
        trial = study.ask()
        study.tell(trial, taste(trial.point))
    forgotten = study.ask()  # asked, on disk, and never told: somebody pulls the plug

with bo.Study.load(file, "bread") as study:
    trial = study.ask()
    print("handed out again:", trial.number == forgotten.number and trial.point == forgotten.point)
    study.tell(trial, failed="the plug was pulled")
    study.optimize(taste, n_trials=40)
    print("best:", study.best_value, study.best_point)
    print("chosen by:", sorted({trial.origin for trial in study.trials}))
