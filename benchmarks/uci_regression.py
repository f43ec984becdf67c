"""NASBOT against evolution and random search on perceptrons that are trained on UCI regression data sets.

    python -m benchmarks.uci_regression run FILE --data FOLDER [--sets naval parkinsons protein blog_feedback ...]
        [--methods nasbot,evolution,random] [--seeds 5] [--trials 40]
    python -m benchmarks.uci_regression report FILE

FOLDER has one .npz file per data set, with the arrays of `ARRAYS`: features as (features, rows), targets as (rows,)
or (rows, targets). `indoor_location` is UJIIndoorLoc: the signals of the access points predict longitude and latitude
(the paper names no targets), and an absent signal is replaced by -105 dBm, which is below the weakest signal. Targets
of `news_popularity` have heavy tails. By default, the data sets of the page run. The data sets, the split, the scaling
and the baselines are those of Kandasamy et al. 2018, except that data sets of more than 12,000 rows are represented by
12,000 rows drawn with seed 0; that training is Adam on squared errors for 20 epochs (the published step of 1e-5 barely
trains); and that networks have 3 to 12 layers of at most 256 units, from six chains of one to three hidden layers, so
that a training takes about a second of one core. Searchers observe the validation error; the test error of the
incumbent is reported. FILE has the format of `benchmarks.nasbot_landscape`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

import bostruct as bo
from benchmarks.nasbot_landscape import report, run
from bostruct.contracts import Array
from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.nas import NetworkObjective
from bostruct.nas.data import Dataset, regression
from bostruct.nas.recipes import NASBOT_MLP_MODERN, Recipe
from bostruct.nas.searches import SEARCHES
from bostruct.study.threads import ThreadLimit

ROWS = 12_000
RECIPE = replace(NASBOT_MLP_MODERN, epochs=20)
SETS = ("naval", "parkinsons", "protein", "blog_feedback")  # of the page
ARRAYS = dict.fromkeys((*SETS, "news_popularity"), ("XT", ("y",))) | {
    "indoor_location": ("wapT", ("longitude", "latitude"))
}
NOT_HEARD, WEAKEST = 100, -105.0  # of indoor_location: the file's mark of an absent signal, and its replacement in dBm
MARKS = (10, 20, 30, 40)


@dataclass(frozen=True)
class Regression:
    """A problem for `benchmarks.nasbot_landscape.run`: its value is the validation error, it reports the test error."""

    objective: NetworkObjective
    space: ArchitectureDomain
    tested: dict[str, float] = field(default_factory=dict)

    def __call__(self, point: bo.Architecture) -> float:
        trained = self.objective.train(point)[0]
        self.tested[point.fingerprint] = trained.test_error
        return trained.error

    def reported(self, point: bo.Architecture) -> float:
        return self.tested[point.fingerprint]


def problem(folder: Path, name: str, n_rows: int = ROWS, recipe: Recipe = RECIPE) -> Regression:
    """Return the problem of one data set; raises OSError and ValueError, see `dataset`.

    folder: of the data sets.
    name: of the data set.
    n_rows: maximum number of examples.
    recipe: of the trainings.
    """
    data = dataset(folder / f"{name}.npz", n_rows)
    return Regression(NetworkObjective(data, recipe), SEARCHES["diabetes"].domain())


def dataset(file: Path, n_rows: int = ROWS) -> Dataset:
    """Read at most `n_rows` examples of a data set, drawn with seed 0.

    file: named after the data set, with the arrays that `ARRAYS` lists.

    Raises OSError if the file is missing, ValueError if an array is missing or has another shape.
    """
    if file.stem not in ARRAYS:
        raise ValueError(f"set: expected one of {', '.join(ARRAYS)}; got {file.stem}")
    features_name, target_names = ARRAYS[file.stem]
    arrays = read_arrays(file, (features_name, *target_names))
    features, targets = arrays[features_name].T, np.column_stack([arrays[name] for name in target_names])
    if features.ndim != 2 or len(features) != len(targets):
        raise ValueError(
            f"{file}: {features_name}: expected (features, {len(targets)}) as there are {len(targets)} rows of "
            f"{', '.join(target_names)}, got {features.T.shape}"
        )
    if file.stem == "indoor_location":
        features = np.where(features == NOT_HEARD, WEAKEST, features)
    rows = np.random.default_rng(0).permutation(len(features))[:n_rows]
    return regression(file.stem, features[rows], targets[rows])


def read_arrays(file: Path, names: Sequence[str]) -> dict[str, Array]:
    """Read arrays of an .npz file as float64; raises OSError, or ValueError that names the file and the array."""
    found: dict[str, Array] = {}
    try:
        with file.open("rb") as stream, np.load(stream) as arrays:
            for name in names:
                found[name] = np.asarray(arrays[name], dtype=np.float64)
    except KeyError:
        raise ValueError(f"{file}: expected the arrays {', '.join(names)}; {names[len(found)]} is missing") from None
    except (AttributeError, EOFError, TypeError, ValueError, BadZipFile) as error:
        raise ValueError(f"{file}: expected numbers in {names[len(found)]} of an .npz file: {error}") from None
    for name, numbers in found.items():
        if len(wrong := np.argwhere(~np.isfinite(numbers))):
            at = tuple(wrong[0].tolist())
            raise ValueError(f"{file}: {name}[{', '.join(map(str, at))}]: expected a finite number, got {numbers[at]}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("run", "report"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--data", type=Path, help="the folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=SETS, choices=ARRAYS, metavar="SET", help=", ".join(ARRAYS))
    parser.add_argument("--methods", default="nasbot,evolution,random")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=40)
    given = parser.parse_args()
    if given.what == "run":
        if given.data is None:
            parser.error("run needs --data FOLDER")
        with ThreadLimit(1)():
            load = partial(problem, given.data)
            run(given.file, given.sets, given.methods.split(","), given.seeds, given.trials, load)
    print(report(given.file, MARKS))


if __name__ == "__main__":
    main()
