"""A CSV file of 8 earlier experiments becomes a study, which then asks for 12 more.

The same on the command line: bostruct import yields.csv --objective yield --maximize
"""

import tempfile
import warnings
from pathlib import Path

import bostruct as bo

TABLE = """run;temperature (°C);base;equivalents;yield (%)
1;60,5;K2CO3;1,2;31,0
2;80,0;K2CO3;2,0;52,5
3;100,0;Cs2CO3;1,5;66,0
4;;Cs2CO3;2,0;60,0
5;120,5;K3PO4;1,0;48,5
6;90,0;K3PO4;2,5;57,0
7;70,0;Cs2CO3;3,0;49,5
8;110,0;K2CO3;2,5;58,5
"""


def react(point):
    """Return the yield in %; stands in for a day in the laboratory."""
    best = {"K2CO3": 60.0, "Cs2CO3": 71.0, "K3PO4": 64.0}[point["base"]]
    heat, base = point["temperature (°C)"], point["equivalents"]
    return best - ((heat - 96.0) / 8.0) ** 2 - 6.0 * (base - 2.0) ** 2


space = {
    "temperature (°C)": bo.Real(50.0, 130.0),  # wider than in the table
    "base": ["K2CO3", "Cs2CO3", "K3PO4"],
    "equivalents": bo.Real(1.0, 3.0),
}
with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "yields.csv"
    file.write_text(TABLE, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the guess, and of run 4, which has no temperature
        guessed = bo.Study.from_csv(file, "yield", direction="maximize")
        study = bo.Study.from_csv(file, "yield", direction="maximize", space=space, seed=0)
print("guessed:", dict(guessed.domain.variables))
study.optimize(react, 12)
print(f"{len(study.trials)} trials, best yield {study.best_value:.1f}%: {study.best_point}")
