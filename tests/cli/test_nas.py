"""`bostruct nas`: what it leaves, that the script rebuilds what was found, and that it goes on where it stopped."""

from __future__ import annotations

import json
import runpy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bostruct as bo
from bostruct import methods
from bostruct.cli.nas import NAS_METHODS, PROTOCOL_NAMES, SPACES, published_searcher
from bostruct.nas import cifar, recipes, searches, to_torch
from bostruct.nas.data import Dataset, Examples, diabetes
from bostruct.nas.own_layers import read_layers
from bostruct.nas.spaces import combo_cell
from bostruct.study.threads import ThreadLimit
from tests.cli.invoke import call

pytestmark = pytest.mark.usefixtures("short", "one_thread")


@pytest.fixture
def one_thread():
    """Sums are taken in one order, and small matrices are not waited for."""
    with ThreadLimit(1)():
        yield


@pytest.fixture
def short(monkeypatch):
    """Searches that train for two epochs."""
    for name, search in searches.SEARCHES.items():
        monkeypatch.setitem(searches.SEARCHES, name, replace(search, recipe=replace(search.recipe, epochs=2)))


def run(*arguments, code=0):
    return call("nas", *arguments, "--workers", 1, code=code)


def error_of_what_is_left(folder: Path, data: Dataset) -> float:
    """Return the test error of network.py with the weights of best.pt, without a part of the package that trains."""
    source = (folder / "network.py").read_text()
    assert "import bostruct" not in source
    assert "from bostruct" not in source
    network = runpy.run_path(str(folder / "network.py"))["Network"]()
    network.load_state_dict(torch.load(folder / "best.pt"))
    with torch.no_grad():
        given = network.eval()((data.test.inputs - data.mean[0]) / data.scale[0])
    if data.task == "classification":
        return float((given.argmax(dim=1) != data.test.targets).double().mean())
    return float((given - data.test.targets).square().mean())


@pytest.mark.parametrize("dataset", [pytest.param("digits", marks=pytest.mark.slow), "diabetes"])
def test_it_leaves_the_best_network_drawn_and_as_a_script(dataset, tmp_path):
    summary = json.loads(run(dataset, "--trials", 3, "--out", tmp_path, "--json").stdout)
    assert (summary["trials"], summary["failed"]) == (3, 0)
    best = bo.Architecture.from_json(json.loads((tmp_path / "best.json").read_text()))
    assert best == bo.Architecture.from_json(summary["architecture"])
    search = searches.search_of(dataset)
    assert search.objective()(best) == summary["validation_error"]
    trained = searches.retrain_networks(search, best)
    assert searches.average_test_error(trained)._asdict() == summary["test_error"]
    chosen = min(trained, key=lambda one: one.error)
    assert error_of_what_is_left(tmp_path, search.load()) == pytest.approx(chosen.test_error, rel=1e-5)
    for picture in ("best.png", "convergence.png"):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")


def test_the_script_trains_the_network_anew(tmp_path, capsys):
    summary = json.loads(run("diabetes", "--trials", "2", "--out", str(tmp_path), "--json").stdout)
    runpy.run_path(str(tmp_path / "retrain.py"), run_name="__main__")
    assert f"test error {summary['test_error']['mean']:.4f}" in capsys.readouterr().out


def test_it_goes_on_with_a_stored_study_and_says_what_is_wrong(tmp_path):
    stored = ("--storage", str(tmp_path / "nas.db"), "--out", str(tmp_path / "out"))
    run("diabetes", "--trials", "2", *stored)
    assert "by hand" in run("diabetes", "--trials", "4", *stored).output
    with bo.Study.load(str(tmp_path / "nas.db"), "nas diabetes nasbot seed=0") as study:
        assert len(study.result.trials) == 4
    assert "digits" in run("imagenet", code=2).output


def test_layers_of_a_file_are_searched_and_trained_anew(tmp_path):
    layers = Path(__file__).parents[1] / "nas" / "gated_layers.py"
    done = run("digits", "--layers", layers, "--trials", 2, "--epochs", 1, "--out", tmp_path, "--json")
    summary = json.loads(done.stdout)
    assert (summary["failed"], summary["architecture"]["family"]) == (0, "cnn+gated")
    script = runpy.run_path(str(tmp_path / "retrain.py"))
    assert any(layer.label == "gated" for layer in script["network"].layers)
    assert not (tmp_path / "network.py").exists()  # whose layers have no source
    built = to_torch(script["network"], (1, 8, 8), 10, builders=read_layers(layers).builders)
    built.load_state_dict(torch.load(tmp_path / "best.pt"))
    assert script["search"].objective(100).train(script["network"])[0].test_error < 0.9
    refused = run("diabetes", "--layers", layers, "--out", tmp_path, code=None)
    assert refused.exit_code != 0
    assert "expected a family of features" in refused.output


@pytest.fixture
def made_up(tmp_path):
    """CIFAR-10 in miniature: folders of images, three of each class to train on and one to test."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    for part, count in (("train", 3), ("test", 1)):
        for name in cifar.CLASSES:
            folder = tmp_path / "data" / part / name
            folder.mkdir(parents=True)
            for i in range(count):
                image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(folder / f"{i}.png")
    return tmp_path / "data"


def test_cifar10_is_searched_where_it_lies(made_up, tmp_path):
    out = tmp_path / "out"
    settings = ("--data", str(made_up), "--epochs", "1", "--protocol", "wrs")
    summary = json.loads(run("cifar10", *settings, "--trials", 2, "--out", out, "--json").stdout)
    assert (summary["trials"], summary["failed"]) == (2, 0)
    search = searches.search_of("cifar10", data=made_up, protocol="wrs", epochs=1)
    assert search.recipe == replace(recipes.WRS, epochs=1)
    data = search.objective().data
    assert [len(one) for one in (data.train, data.validation, data.test)] == [24, 6, 10]
    best = bo.Architecture.from_json(summary["architecture"])
    assert search.objective()(best) == summary["validation_error"]
    found: dict[str, Any] = runpy.run_path(str(out / "retrain.py"))
    assert found["search"].recipe == search.recipe
    assert found["network"] == best


def test_cifar10_that_is_not_there_is_fetched_where_asked(tmp_path, monkeypatch):
    assert "cifar10 needs --data FOLDER. Expected cifar-10-python.tar.gz" in run("cifar10", code=2).output
    missing = run("cifar10", "--data", tmp_path, code=1).output
    assert "no CIFAR-10 there. Expected cifar-10-python.tar.gz" in missing
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / cifar.PYTHON_ARCHIVE[0]).write_bytes(b"not the official one")
    monkeypatch.setattr(cifar, "URL", (tmp_path / "source").as_uri() + "/")
    assert "its MD5 is" in run("cifar10", "--data", tmp_path / "here", "--download", code=1).output


@pytest.mark.parametrize(
    "option", [("--data", "."), ("--download",), ("--protocol", "wrs"), ("--space", "flat"), ("--scale", 0.5)]
)
def test_options_of_cifar10_are_of_no_other_data(option):
    assert "are only for cifar10; diabetes needs none" in run("diabetes", *option, code=2).output


def test_the_command_offers_every_protocol():
    assert tuple(cifar.PROTOCOLS) == PROTOCOL_NAMES


def test_the_command_offers_every_space_and_every_method_without_fidelities():
    assert (searches.CHAINS, *searches.PAPER_SPACES) == SPACES
    fidelities = {"hyperband", "model-based-hyperband", "successive-halving", "successive-narrowing"}
    assert set(NAS_METHODS) == (set(methods.METHODS) - fidelities) | {"mcts-ranks"}


REDUCED = ("cifar10", "--data", "synthetic", "--scale", 0.002)  # 80 images of ten directions


def test_combo_searches_its_cells_from_the_published_ones(tmp_path):
    done = run(
        *REDUCED, "--space", "combo-cell", "--trials", 11, "--out", tmp_path, "--json", "--storage", tmp_path / "a.db"
    )
    summary = json.loads(done.stdout)
    assert (summary["method"], summary["space"], summary["trials"]) == ("combo", "combo-cell", 11)
    assert summary["reduced"].endswith("80 training images, 1 of 20 epochs, 1 of 4 trainings per trial")
    found = runpy.run_path(str(tmp_path / "retrain.py"))
    search = found["search"]
    method = published_searcher(search, "combo", search.domain())
    with bo.Study.load(tmp_path / "a.db", method=method) as study:
        points = [study.domain.encode(study.domain.parse(trial.point)) for trial in study.trials]
        assert [trial.origin for trial in study.trials][10:] == ["model"]
    assert ["".join(str(bit) for bit in one.values()) for one in points[:10]] == list(combo_cell.INITIAL_CELLS)
    assert search.minimized()(search.point_of(found["FOUND"])) == summary["validation_error"]
    assert sorted(one.name for one in tmp_path.iterdir() if one.suffix != ".db") == [
        "best.json",
        "best.pt",
        "convergence.png",
        "retrain.py",
    ]
    assert "leave out --space or --layers" in run(*REDUCED, "--space", "flat", "--layers", __file__, code=2).output


@pytest.mark.parametrize(
    ("space", "method"),
    [
        ("nasbot-cnn", None),
        ("deeparchitect-genetic", "mcts"),
        pytest.param("wrs-cnn", None, marks=pytest.mark.slow),
        pytest.param("nasbench", "regularized-evolution", marks=pytest.mark.slow),
        pytest.param("flat", None, marks=pytest.mark.slow),
        pytest.param("hierarchical", "smbo-mcts", marks=pytest.mark.slow),
        pytest.param("nasnet", None, marks=pytest.mark.slow),
    ],
)
def test_the_space_of_a_paper_is_searched_reduced(space, method, tmp_path):
    named = ("--method", method) if method else ()
    summary = json.loads(run(*REDUCED, "--space", space, *named, "--trials", 2, "--out", tmp_path, "--json").stdout)
    assert (summary["trials"], summary["failed"]) == (2, 0)
    assert summary["method"] == (method or searches.PAPER_SPACES[space].method)
    found = runpy.run_path(str(tmp_path / "retrain.py"))
    assert found["search"].minimized()(found["search"].point_of(found["FOUND"])) == summary["validation_error"]


def test_a_search_that_learned_nothing_says_so_and_the_network_comes_last(tmp_path):
    options = ("--space", "deeparchitect-genetic", "--trials", 2, "--epochs", 1, "--workers", 1)
    shown = run(*REDUCED, *options, "--out", tmp_path).stdout.splitlines()
    found = {line.partition("  ")[0]: line.partition("  ")[2].strip() for line in shown}
    assert found["reduced"].endswith("80 training images, 1 of 25 epochs")  # one training a trial is the paper's
    assert found["trials"] == "2 (in the paper 256), 0 failed"
    assert found["error"].endswith("lower is better")
    assert found["warning"] == "nothing was learned: one answer for all has 0.9000"
    assert shown.index("The best network:") > max(map(shown.index, [line for line in shown if line[:5] == "files"]))
    assert all(line.startswith("chosen: ") for line in shown[shown.index("The best network:") + 2 :])


def test_guessing_is_one_answer_for_all():
    assert searches.guessing_error(synthetic_digits()) == 0.75
    assert 0.8 < searches.guessing_error(diabetes()) < 1.2


def synthetic_digits():
    images, classes = np.zeros((8, 1, 2, 2), dtype=np.uint8), np.array([0, 0, 1, 1, 2, 2, 3, 3])
    return Dataset("d", "classification", *[Examples(images, classes)] * 3, classes=4)


def test_the_paper_sets_its_method():
    search = searches.search_of("cifar10", data="synthetic", space="deeparchitect-genetic", scale=0.002)
    domain = search.domain()
    assert published_searcher(search, "mcts", domain).rewards == "value"
    assert published_searcher(search, "mcts-ranks", domain).rewards == "rank"
    evolved = published_searcher(search, "regularized-evolution", domain)
    assert (evolved.selection.replacement, evolved.n_initial) == (False, 1)
    assert published_searcher(search, "smbo", domain) == "smbo"
    assert published_searcher(replace(search, protocol="fast"), "mcts", domain) == "mcts"
    full = replace(search, trials=300, space=searches.PAPER_SPACES["wrs-cnn"])
    assert published_searcher(full, "wrs", domain).n_random == 110
    ours = searches.search_of("cifar10", data="synthetic", scale=0.002)
    assert (published_searcher(ours, "mcts", ours.domain()), ours.trials) == ("mcts", 2)


def test_storage_that_cannot_be_opened_leaves_nothing(tmp_path):
    done = run("diabetes", "--storage", tmp_path / "none" / "x.db", "--out", tmp_path / "out", code=None)
    assert done.exit_code != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_trained(there, tmp_path, monkeypatch):
    monkeypatch.setattr(searches.Search, "objective", lambda *_: pytest.fail("trained"))
    folder = "/proc" if there else str(tmp_path / "file" / "out")
    (tmp_path / "file").write_text("")
    if there and not Path(folder).is_dir():
        pytest.skip("no folder here in which nobody can write")
    shown = run("diabetes", "--trials", "2", "--out", folder, code=2).output
    assert f"Invalid value for --out: nothing can be written to {folder}: " in " ".join(shown.split())


def test_devices_that_are_not_there_are_refused_by_the_option(monkeypatch, tmp_path):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for option, message in [
        (("--device", "cuda:1"), "torch finds 0 CUDA devices here, got 'cuda:1'"),
        (("--device", "gpu"), "expected 'cpu', 'cuda' or 'cuda:<number>', got 'gpu'"),
        (("--devices", "all"), "torch finds no CUDA devices here, got 'all'"),
        (("--devices", "cuda:0,cuda:1"), "torch finds 0 CUDA devices here, got 'cuda:0'"),
    ]:
        assert message in " ".join(run("diabetes", *option, "--out", tmp_path, code=2).output.split())


def test_two_workers_search_on_two_devices(tmp_path):
    done = call("nas", "diabetes", "--devices", "cpu,cpu", "--trials", 2, "--out", tmp_path, "--json", code=0)
    assert json.loads(done.stdout)["failed"] == 0
