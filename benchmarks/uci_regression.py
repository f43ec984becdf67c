"""NASBOT against evolution and random search on perceptrons that are really trained, on UCI regressions.

    python -m benchmarks.uci_regression run FILE --data FOLDER [--sets naval parkinsons protein blog_feedback ...]
        [--methods nasbot,evolution,random] [--seeds 5] [--trials 40]
    python -m benchmarks.uci_regression report FILE

FOLDER holds one .npz file a set, with the arrays of `ARRAYS`: features as (features, rows), targets as (rows,) or
(rows, targets). `indoor_location` is UJIIndoorLoc: the signals of the access points predict longitude and latitude (the
paper names no targets), and a signal that was not heard counts as -105 dBm, below the weakest one. Targets of
`news_popularity` have heavy tails. Without `--sets`, the sets of the page run. The sets, the split, the
scaling and the baselines are those of Kandasamy et al. 2018, with these departures: sets of more than 12,000 rows are
represented by 12,000 drawn with seed 0; Adam on squared errors for 20 epochs (the published step of 1e-5 hardly trains
anything); 3 to 12 layers of at most 256 units, from six chains of one to three hidden layers, so that a training costs
about a second of one core. Searchers see the error on the validation part; what is reported is the error on the test
part of the incumbent. FILE is as `benchmarks.nasbot_landscape` has it.
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
NOT_HEARD, WEAKEST = 100, -105.0  # of indoor_location: the file's mark, and what stands for it in dBm
MARKS = (10, 20, 30, 40)


@dataclass(frozen=True)
class Regression:
    """A problem as the landscape's runner wants it: called for the validation error, asked for the test error."""

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
    """Return the problem of one set; raises OSError and ValueError as `dataset`.

    folder: of the sets.
    name: of the set.
    n_rows: examples that represent the set, at most.
    recipe: of the trainings.
    """
    data = dataset(folder / f"{name}.npz", n_rows)
    return Regression(NetworkObjective(data, recipe), SEARCHES["diabetes"].domain())


def dataset(file: Path, n_rows: int = ROWS) -> Dataset:
    """Read the examples of a set, of which `n_rows` at most are drawn with seed 0.

    file: named after the set, with the arrays that `ARRAYS` lists.

    Raises OSError where the file is not there, ValueError where it lacks an array or holds one of another shape.
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
    """Read arrays of an .npz file as float64; raises OSError, and ValueError, which names the file and the array."""
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
    parser.add_argument("--data", type=Path, help="the folder of the sets")
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
