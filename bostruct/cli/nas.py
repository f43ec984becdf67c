"""`bostruct nas`: search networks for a data set that comes with scikit-learn, and leave the best ready to use."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bostruct.cli.bars import trial_bar
from bostruct.cli.options import file_to_write, json_option, plain_errors, progress_option
from bostruct.cli.text import echo_json, number, pairs

if TYPE_CHECKING:
    from bostruct.nas.searches import Retrained, Search
    from bostruct.result import Result

NAMES = ("digits", "diabetes")
METHODS = ("nasbot", "auto", "evolution", "regularized-evolution", "random")
SCRIPT = '''"""The network that `bostruct nas {dataset}` found: builds it, trains it anew, and says its test error."""

import json

from bostruct import Architecture
from bostruct.nas.searches import SEARCHES, retrained

ARCHITECTURE = json.loads("""
{architecture}
""")

search = SEARCHES["{dataset}"]
network = Architecture.from_json(ARCHITECTURE)
if __name__ == "__main__":
    found = retrained(search, network)
    print(network.to_text())
    print(f"test error {{found.mean:.4f}} +- {{found.error:.4f}} over 5 seeds")
'''


@click.command()
@click.argument("dataset", type=click.Choice(NAMES))
@click.option("--method", type=click.Choice(METHODS), default="nasbot", show_default=True)
@click.option("--trials", type=click.IntRange(1), help="In all; by default 40.")
@click.option("--workers", type=click.IntRange(1), default=2, show_default=True, help="Processes that train.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option("--out", type=click.Path(file_okay=False), help="A folder; by default nas-DATASET.")
@click.option("--storage", type=file_to_write, help="A SQLite file; the same line then goes on where it stopped.")
@progress_option
@json_option
def nas(
    *,
    dataset: str,
    method: str,
    trials: int | None,
    workers: int,
    seed: int,
    out: str | None,
    storage: str | None,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Search a network: convolutional ones for digits, perceptrons for diabetes.

    Leaves best.json, best.png, convergence.png and retrain.py, which builds and trains the best network anew.

    \b
    Examples:
      bostruct nas digits
      bostruct nas diabetes --method evolution --trials 60 --storage nas.db
    """
    from bostruct.nas.searches import SEARCHES, retrained

    search = SEARCHES[dataset]
    folder = Path(out or f"nas-{dataset}")
    with plain_errors("" if storage is None else f"The same line goes on with the study in {storage}."):
        folder.mkdir(parents=True, exist_ok=True)
        result = _searched(search, method, trials or search.trials, workers, seed, storage, progress)
        best = result.best_point
        found, by_hand = (retrained(search, network) for network in (best, search.network_by_hand()))
        files = _left(search, result, folder)
    summary = {
        "dataset": dataset,
        "method": method,
        "trials": len(result.trials),
        "failed": result.n_failed,
        "validation_error": result.best_value,
        "test_error": found._asdict(),
        "test_error_by_hand": by_hand._asdict(),
        "by_hand": search.by_hand,
        "architecture": best.to_json(),
        "files": files,
    }
    if as_json:
        echo_json(summary)
    else:
        click.echo(_text(summary, search, found, by_hand, best))


def _searched(
    search: Search, method: str, trials: int, workers: int, seed: int, storage: str | None, progress: bool | None
) -> Result:
    from bostruct.study import Study

    name = f"nas {search.dataset} {method} seed={seed}"
    with (
        Study(search.domain(), method=method, seed=seed, storage=storage, name=name) as study,
        trial_bar(study, trials, None, progress) as show,
    ):
        return study.optimize(search.objective(), trials, workers=workers, progress=False, callbacks=(show,))


def _left(search: Search, result: Result, folder: Path) -> list[str]:
    """Write the files; pictures only where matplotlib is installed."""
    best = result.best_point
    text = json.dumps(best.to_json(), indent=1)
    (folder / "best.json").write_text(text + "\n", encoding="utf-8")
    script = SCRIPT.format(dataset=search.dataset, architecture=text)
    (folder / "retrain.py").write_text(script, encoding="utf-8")
    files = ["best.json", "retrain.py"]
    try:
        import matplotlib
    except ModuleNotFoundError:
        click.echo("No pictures: matplotlib is not installed; it comes with the extra 'plot'.", err=True)
        return [str(folder / name) for name in files]
    from bostruct.domains.architecture.drawing import plot_architecture

    with matplotlib.rc_context({"backend": "agg"}):
        from matplotlib import pyplot

        for name, axes in (("best.png", plot_architecture(best)), ("convergence.png", result.plot())):
            axes.figure.savefig(folder / name, dpi=120, bbox_inches="tight")
            pyplot.close(axes.figure)
            files.append(name)
    return [str(folder / name) for name in files]


def _text(summary: dict[str, Any], search: Search, found: Retrained, by_hand: Retrained, best: Any) -> str:
    def shown(one: Retrained) -> str:
        return f"{one.mean:.4f} +- {one.error:.4f}"

    gap = by_hand.mean - found.mean
    spread = math.hypot(found.error, by_hand.error)
    rows = [
        ("error", search.measure),
        ("trials", f"{summary['trials']}, {summary['failed']} failed"),
        ("validation", number(summary["validation_error"])),
        ("test", f"{shown(found)}, trained anew with 5 other seeds"),
        ("by hand", f"{shown(by_hand)}, {search.by_hand}"),
        ("gained", f"{gap:.4f}, {gap / spread:.1f} standard errors" if spread > 0.0 else f"{gap:.4f}"),
        ("files", " ".join(summary["files"])),
    ]
    return f"{best.to_text()}\n\n{pairs(rows)}"
