"""`bostruct nas`: search networks for a data set of scikit-learn or for CIFAR-10, and save the best one."""

from __future__ import annotations

import json
import math
import tempfile
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bostruct.analysis.tables import format_number
from bostruct.cli.options import (
    FiniteRange,
    IntegerRange,
    check_outputs,
    failures_option,
    json_option,
    open_place,
    overwrite_option,
    plain_errors,
    progress_option,
)
from bostruct.cli.text import Facts, echo_json, format_pairs

if TYPE_CHECKING:
    from bostruct.contracts import Searcher
    from bostruct.nas.outcomes import Trained
    from bostruct.nas.searches import RetrainedScore, Search
    from bostruct.study.result import Result
    from bostruct.study.run_settings import FailureLimit

FILES = {
    "best.json": "architecture",
    "best.png": "picture",
    "convergence.png": "picture",
    "network.py": "program",
    "best.pt": "archive",
    "retrain.py": "program",
}  # types of outputs
DATASETS = ("digits", "diabetes", "cifar10")
PROTOCOL_NAMES = ("combo", "deeparchitect", "nasbot", "wrs", "fast")
NAS_METHODS = (
    "nasbot",
    "auto",
    "combo",
    "bocs",
    "smac",
    "tpe",
    "smbo",
    "smbo-mcts",
    "mcts",
    "mcts-ranks",
    "wrs",
    "evolution",
    "regularized-evolution",
    "annealing",
    "hill-climbing",
    "random",
)
SPACES = (
    "chains",
    "combo-cell",
    "nasbot-cnn",
    "deeparchitect-genetic",
    "flat",
    "hierarchical",
    "nasbench",
    "nasnet",
    "wrs-cnn",
)
SCRIPT = '''"""The network that `bostruct nas {dataset}` found: builds it, retrains it, and prints its test error."""

import json

from bostruct.nas.searches import retrain, search_of

FOUND = json.loads("""
{found}
""")

search = search_of({call})
network = search.network(search.point_of(FOUND))
if __name__ == "__main__":
    found = retrain(search, network)
    print(network.to_text())
    print(f"test error {{found.mean:.4f}} +- {{found.error:.4f}} over 5 seeds")
'''
SOURCE = '''"""The network that `bostruct nas {dataset}` found, in plain torch; best.pt has its weights:

    network = Network().eval()
    network.load_state_dict(torch.load("best.pt"))

In training, an input was (x - mean) / scale, where x is {unit}, and

    mean, scale = {mean}, {scale}
"""

{source}'''


@click.command()
@click.argument("dataset", type=click.Choice(DATASETS))
@click.option(
    "--space", type=click.Choice(SPACES), default="chains", show_default=True, help="cifar10: the search space."
)
@click.option("--method", type=click.Choice(NAS_METHODS), help="By default the method of the space's paper, or nasbot.")
@click.option("--trials", type=IntegerRange(1), help="Total number; by default as in the space's paper, or 40.")
@click.option("--workers", type=IntegerRange(1), help="Training processes; by default 2, or one for each device.")
@click.option("--seed", type=IntegerRange(0), default=0, show_default=True)
@click.option(
    "--data",
    metavar="FOLDER",
    help="cifar10: its files, or folders train/CLASS and test/CLASS of images; synthetic generates images.",
)
@click.option("--download", is_flag=True, help="cifar10: download missing files to the folder of --data (163 MB).")
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOL_NAMES),
    help="cifar10: how networks are trained; by default as in the space's paper, or fast.",
)
@click.option(
    "--scale",
    type=FiniteRange(0.0, 1.0, min_open=True),
    default=1.0,
    help="cifar10: multiplies images, epochs, trials, filters and units, for a CPU; 0.02 takes minutes.",
)
@click.option("--epochs", type=IntegerRange(1), help="Epochs per training; by default from the data set's recipe.")
@click.option("--device", default="cpu", show_default=True, help="cpu, cuda, or cuda:1 for the second GPU.")
@click.option("--devices", metavar="NAMES", help="Devices of the workers: all for all GPUs, or cuda:0,cuda:1.")
@click.option(
    "--layers", type=click.Path(exists=True, dir_okay=False), metavar="FILE", help="Layers of your own, as Python."
)
@click.option("--out", type=click.Path(file_okay=False), help="A folder; by default nas-DATASET.")
@click.option(
    "--storage", type=click.Path(dir_okay=False), help="A SQLite file, or postgresql://...; the same command resumes."
)
@overwrite_option
@failures_option
@progress_option
@json_option
def nas(
    *,
    dataset: str,
    space: str,
    method: str | None,
    trials: int | None,
    workers: int | None,
    seed: int,
    data: str | None,
    download: bool,
    protocol: str | None,
    scale: float,
    epochs: int | None,
    device: str,
    devices: str | None,
    layers: str | None,
    out: str | None,
    storage: str | None,
    overwrite: bool,
    max_initial_failures: FailureLimit,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Search for a network for digits, diabetes or CIFAR-10.

    Networks are perceptrons for diabetes, and otherwise convolutional. For cifar10, --space searches the space of a
    paper, by default with its method, recipe and number of trials: see docs/nas.md.

    Writes best.json, best.png, convergence.png, network.py (the best network in plain torch, unless it is a program),
    best.pt (its weights) and retrain.py, which builds and trains it again.
    A file of --layers defines FAMILY, BUILDERS and optionally POOL: see docs/nas.md.

    \b
    Examples:
      bostruct nas digits
      bostruct nas diabetes --method evolution --trials 60 --storage nas.db
      bostruct nas cifar10 --data ~/data --download --device cuda
      bostruct nas cifar10 --data synthetic --space combo-cell --scale 0.02
    """
    from bostruct.checks import optional_import

    folder = Path(out or f"nas-{dataset}").expanduser()
    with plain_errors():
        label = None if storage is None else open_place(storage).label
        check_outputs({str(folder / name): kind for name, kind in FILES.items()}, overwrite=overwrite)
    with plain_errors("" if label is None else f"The same command resumes the study in {label}."):
        optional_import("torch")
        from bostruct.nas.searches import average_test_error, guessing_error, retrain, retrain_networks
        from bostruct.study.progress import trial_bar
        from bostruct.study.study import Study

        chosen: Facts = {"protocol": protocol, "space": space, "scale": scale}
        changed: Facts = {"epochs": epochs, "device": device, "devices": devices, "layers": layers}
        search = _build_search(dataset, data, download, chosen, changed)
        method, n_trials, domain = method or search.method, trials or search.trials, search.domain()
        of_study: Facts = {"method": published_searcher(search, method, domain), "seed": seed, "storage": storage}
        of_study |= {"name": f"nas {search.title} {method} seed={seed}", "initial_points": list(search.initial) or None}
        with Study(domain, **of_study) as study, trial_bar("trials", study, n_trials, progress) as show:
            _make_folder(folder)  # after the storage is open, and before training
            n_workers = workers or (2 if search.devices is None else len(search.devices))
            how: Facts = {"workers": n_workers, "max_initial_failures": max_initial_failures}
            result = study.optimize(search.minimized(), n_trials, progress=False, callbacks=show, **how)
        best = search.network(result.best_point)
        trained = retrain_networks(search, best)
        found, by_hand = average_test_error(trained), retrain(search, search.network_by_hand())
        files = _write_files(search, result, folder, overwrite) + _write_network(search, trained, folder, overwrite)
    summary: Facts = {"dataset": dataset, "space": space, "method": method, **_describe_search(search, result)}
    summary |= {"test_error": found._asdict(), "test_error_by_hand": by_hand._asdict(), "files": files}
    summary["test_error_by_guessing"] = guessing_error(search.load())
    echo_json(summary) if as_json else click.echo(_nas_text(summary, search, found, by_hand, best))


def _describe_search(search: Search, result: Result) -> Facts:
    """Return the results of a search, except for the test errors."""
    return {
        "trials": len(result.trials),
        "failed": result.n_failed,
        "infeasible": result.n_infeasible,
        "validation_error": result.best_value,
        "by_hand": search.by_hand,
        "architecture": search.network(result.best_point).to_json(),
        "reduced": search.reduced,
    }


def published_searcher(search: Search, method: str, domain: Any) -> str | Searcher:
    """Return a method with the settings of the space's paper, or only its name if the paper has none.

    search: its number of trials, not --trials, sets the number of random points, so that a command can be resumed.
    """
    from bostruct import methods

    if method == "mcts-ranks":
        return methods.mcts(domain)
    if search.space is None:
        return method
    if method == "combo":
        return methods.combo(domain, n_initial=len(search.initial) or 20)
    if method == "wrs":
        return methods.wrs(domain, n_random=methods.wrs_trials(search.trials))
    if search.protocol == "deeparchitect" and method == "mcts":
        return methods.mcts(domain, rewards="value")
    if search.protocol == "deeparchitect" and method == "regularized-evolution":
        n_initial = min(100, max(search.trials // 2, 1))
        return methods.regularized_evolution(domain, n_initial=n_initial, replacement=False)
    return method


def _build_search(dataset: str, data: str | None, download: bool, chosen: Facts, changed: Facts) -> Search:
    """Build the search for the options; raise UsageError if they are inconsistent."""
    import torch

    from bostruct.nas import cifar
    from bostruct.nas.devices import check_device, check_devices
    from bostruct.nas.searches import search_of

    own = {"protocol": None, "space": "chains", "scale": 1.0}
    if dataset != "cifar10" and (data is not None or download or chosen != own):
        named = "--data, --download, --space, --scale and --protocol"
        raise click.UsageError(f"{named} are only for cifar10; {dataset} needs none of them")
    if dataset == "cifar10" and data is None:
        raise click.UsageError(f"cifar10 needs --data FOLDER. {cifar.HOW_TO_OBTAIN}")
    if changed["device"] == "cuda" and not torch.cuda.is_available():
        raise click.UsageError("--device cuda: torch finds no GPU")
    names = changed["devices"]
    try:
        check_device(changed["device"])
        changed["devices"] = check_devices(names if names in (None, "all") else names.split(","))
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error
    if changed["layers"] is not None and chosen["space"] != "chains":
        raise click.UsageError(
            f"--layers: the space {chosen['space']} has its own layers; leave out --space or --layers"
        )
    settings: Facts = chosen | changed
    try:
        return search_of(dataset, data=data, **settings)
    except cifar.DataMissing:
        if data is None or not download:
            raise
    click.echo(f"Fetching {cifar.URL}{cifar.PYTHON_ARCHIVE[0]} ...", err=True)
    cifar.download(data)
    return search_of(dataset, data=data, **settings)


def _make_folder(folder: Path) -> None:
    """Create the folder; raises BadParameter if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise click.BadParameter(f"nothing can be written to {folder}: {error.strerror}", param_hint="--out") from error


def _write_file(folder: Path, overwrite: bool, name: str, content: str | bytes) -> str:
    """Write one of `FILES`, and return its path."""
    from bostruct.output_files import write_output

    write_output(folder / name, content, FILES[name], overwrite=overwrite)
    return str(folder / name)


def _write_files(search: Search, result: Result, folder: Path, overwrite: bool) -> list[str]:
    """Write the files, and plots if matplotlib is installed."""
    from bostruct.analysis.plots import draw_picture
    from bostruct.contracts import MissingExtra
    from bostruct.domains.architecture.drawing import plot_architecture
    from bostruct.domains.architecture.value import Architecture

    best, write = result.best_point, partial(_write_file, folder, overwrite)
    text = json.dumps({"written_by": "bostruct", **search.to_json(best)}, indent=1)
    script = SCRIPT.format(dataset=search.dataset, call=search.call, found=text)
    files = [write("best.json", f"{text}\n"), write("retrain.py", script)]
    try:
        pictures: dict[str, Any] = {"convergence.png": result.plot()}
        if isinstance(best, Architecture):
            pictures["best.png"] = plot_architecture(best)
    except MissingExtra as error:
        click.echo(f"no plots: {error}", err=True)
        pictures = {}
    return files + [write(name, draw_picture(axes, "png")) for name, axes in pictures.items()]


def _write_network(search: Search, trained: list[Trained], folder: Path, overwrite: bool) -> list[str]:
    """Write the weights of the training with the least validation error, and the network as source code.

    Programs and custom layers have no source code; the weights then belong to the module of `to_torch`.
    """
    import torch

    from bostruct.nas.networks import ArchitectureNetwork
    from bostruct.nas.sources import to_source
    from bostruct.output_files import sign_archive

    best = min(trained, key=lambda one: one.error).network
    # copies: repeats that are trained as one tensor would each contain the weights of all
    weights, packed = {name: one.detach().cpu().clone() for name, one in best.state_dict().items()}, BytesIO()
    torch.save(weights, packed)
    files = [_write_file(folder, overwrite, "best.pt", sign_archive(packed))]
    if search.builders is None and isinstance(best, ArchitectureNetwork):
        data = search.load()
        is_bytes = data.train.inputs.dtype == torch.uint8
        unit = "an image with values from 0 to 1" if is_bytes else f"an input of bostruct.nas.{search.dataset}()"
        facts = {"dataset": search.dataset, "mean": data.mean, "scale": data.scale, "unit": unit}
        text = SOURCE.format(source=to_source(best), **facts)
        files.append(_write_file(folder, overwrite, "network.py", text))
    return files


def _nas_text(summary: Facts, search: Search, found: RetrainedScore, by_hand: RetrainedScore, best: Any) -> str:
    def format_error(one: RetrainedScore) -> str:
        return f"{one.mean:.4f} +- {one.error:.4f}"

    gap = by_hand.mean - found.mean
    spread = math.hypot(found.error, by_hand.error)
    guess, published = summary["test_error_by_guessing"], search.space and f" (in the paper {search.space.trials})"
    rows = [
        *([("reduced", search.reduced)] if search.reduced else []),
        ("error", f"{search.measure}; mean +- standard error, lower is better"),
        ("trials", f"{summary['trials']}{published or ''}, {summary['failed']} failed"),
        ("validation", format_number(summary["validation_error"])),
        ("test", f"{format_error(found)}, trained again with 5 other seeds"),
        ("by hand", f"{format_error(by_hand)}, {search.by_hand}"),
        ("gained", f"{gap:.4f}, {gap / spread:.1f} standard errors" if spread > 0.0 else f"{gap:.4f}"),
        *([("warning", f"nothing was learned: one answer for all has {guess:.4f}")] if found.mean >= guess else []),
        ("files", " ".join(summary["files"])),
    ]
    lines = best.to_text().splitlines()
    chosen = [line for line in lines if line.startswith("chosen: ")]  # in a program, these lines determine its modules
    key = "" if chosen else " (ip: input, op: output, >: the layers that a layer feeds)"
    return "\n".join([format_pairs(rows), "", f"The best network{key}:", "", *(chosen or lines)])
