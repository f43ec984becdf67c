"""The adapters of examples/nas_adapters: on a look-alike of NATS-Bench's API, and in NePS and PyGlove if present."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "examples" / "nas_adapters"


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # PyGlove looks there for the module of a class
    spec.loader.exec_module(module)
    return module


class LookAlike:
    """The methods of NATS-Bench's API, worth 10 points for each 3 x 3 convolution, with the names of its arguments."""

    def __init__(self):
        self.asked, self.used_time = [], 0.0

    def query_index_by_arch(self, arch):
        self.asked.append(arch)
        return len(self.asked) - 1

    def get_more_info(self, index, dataset, iepoch=None, hp="12", is_random=True):
        assert (iepoch, hp) == (None, "200")
        accuracy = 30.0 + 10 * self.asked[index].count("nor_conv_3x3") - (dataset == "cifar100")
        return {"valid-accuracy": accuracy - is_random, "test-accuracy": accuracy - 1}

    def simulate_train_eval(self, arch, dataset, iepoch=None, hp="12", account_time=True):
        info = self.get_more_info(self.query_index_by_arch(arch), dataset, iepoch, hp)
        self.used_time += 100.0 * account_time
        return info["valid-accuracy"], 0.01, 100.0, self.used_time


class TestNats:
    def test_points_are_the_cells_that_the_api_knows(self):
        made = example("nats_bench_search")
        operations = iter(["nor_conv_1x1", "none", "none", "skip_connect", "none", "avg_pool_3x3"])
        point = {edge: next(operations) for edge in made.SPACE}
        assert made.cell(point) == "|nor_conv_1x1~0|+|none~0|none~1|+|skip_connect~0|none~1|avg_pool_3x3~2|"

    def test_a_search_finds_the_best_cell(self):
        made, api = example("nats_bench_search"), LookAlike()
        result = made.search(api, "cifar100", n_trials=40)
        assert set(result.best_point.values()) == {"nor_conv_3x3"}
        assert result.best_value == 100 - (30 + 60 - 1 - 1)
        assert made.test_error(api, result.best_point, "cifar10") == 100 - (30 + 60 - 1)
        assert len(set(api.asked[:40])) == 40
        assert api.used_time == 4000.0


@pytest.mark.parametrize(
    ("name", "module", "package"),
    [
        ("nats_bench_search", "nats_bench", "nats_bench"),
        ("neps_optimizer", "neps", "neural-pipeline-search"),
        ("pyglove_generator", "pyglove", "pyglove"),
    ],
)
def test_without_its_package_an_example_ends_with_how_to_get_it(name, module, package, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit, match=f"this example needs .*: pip install {package}$"):
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")


def test_the_folder_of_nats_bench_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "nats_bench", SimpleNamespace(create=None))
    monkeypatch.setattr(sys, "argv", ["nats_bench_search.py"])
    with pytest.raises(SystemExit, match="expected the folder of NATS-Bench"):
        runpy.run_path(str(FOLDER / "nats_bench_search.py"), run_name="__main__")


@pytest.mark.filterwarnings("ignore")
class TestNePS:
    @pytest.fixture
    def made(self):
        pytest.importorskip("neps")
        return example("neps_optimizer")

    def report(self, value):
        return SimpleNamespace(objective_to_minimize=value, err="lost" if value is None else None)

    def test_a_run_beats_random_search(self, made):
        assert made.run(made.Bostruct, 30) < made.run("random_search", 30)

    def test_it_knows_what_others_run_and_what_failed(self, made):
        optimizer = made.Bostruct(made.Space(), method="random", steps=3)
        first = optimizer({}, None, 4)
        assert [one.id for one in first] == ["1", "2", "3", "4"]
        reports = [None, self.report(None), self.report(1.0), None]
        trials = {
            one.id: SimpleNamespace(config=one.config, report=own) for one, own in zip(first, reports, strict=True)
        }
        size = optimizer.space.size
        rest = made.Bostruct(made.Space(), method="random", steps=3)(trials, None, size - 4)
        assert rest[0].id == "5"
        every = [tuple(sorted(one.config.items())) for one in first + rest]
        assert len(set(every)) == size

    def test_numbers_of_other_origin_move_to_the_grid(self, made):
        optimizer = made.Bostruct(made.Space(), steps=4)
        config = optimizer({}, None).config
        rate = next(key for key in config if "rate" in key)
        assert optimizer.point(dict(config) | {rate: 0.0009})[rate] == pytest.approx(0.001)

    def test_a_fidelity_is_at_its_highest_and_nested_spaces_are_refused(self, made):
        class Epochs(made.neps.PipelineSpace):
            rate = made.neps.Float(0.1, 1.0)
            epochs = made.neps.IntegerFidelity(1, 9)

        assert made.Bostruct(Epochs())({}, None).config["ENVIRONMENT__epochs"] == 9

        class Nested(made.neps.PipelineSpace):
            rate = made.neps.Float(0.1, 1.0)
            layer = made.neps.Categorical((made.neps.Operation("conv"), made.neps.Operation("pool")))

        with pytest.raises(
            ValueError, match=r"space: expected floats, integers and categories of simple values.*layer"
        ):
            made.Bostruct(Nested())


class TestPyGlove:
    @pytest.fixture
    def made(self):
        pytest.importorskip("pyglove")
        return example("pyglove_generator")

    def test_a_run_beats_random_search(self, made):
        assert made.run(made.Bostruct(steps=7), 25) > made.run(made.pg.geno.Random(seed=0), 25)

    @pytest.mark.parametrize(("distinct", "ordered"), [(True, True), (True, False), (False, True), (False, False)])
    def test_every_dna_is_proposed_once(self, made, distinct, ordered):
        pg = made.pg
        inner = pg.Dict(a=pg.manyof(2, [1, pg.oneof([7, 8]), 3], distinct=distinct, sorted=ordered), b=pg.oneof([5]))
        spec = pg.dna_spec(pg.Dict(x=pg.oneof([0, inner])))
        generator = made.Bostruct(method="random")
        generator.setup(spec)
        found = [tuple(dna.to_numbers()) for dna, _ in generator]
        assert len(found) == len(set(found)) == spec.space_size

    def test_history_is_taken_over(self, made):
        pg = made.pg
        spec = pg.dna_spec(pg.Dict(x=pg.oneof([1, 2, 3]), y=pg.floatv(0.0, 1.0)))
        generator = made.Bostruct(method="random", steps=2)
        generator.setup(spec)
        known = [pg.DNA([0, 0.2], spec=spec), pg.DNA([2, 0.9], spec=spec)]
        generator.recover([(dna, 1.0) for dna in known])
        left = [tuple(dna.to_numbers()) for dna, _ in generator]
        assert sorted(left) == [(0, 1.0), (1, 0.0), (1, 1.0), (2, 0.0)]

    def test_a_custom_decision_is_refused(self, made):
        with pytest.raises(ValueError, match="expected oneof, manyof or floatv, got CustomDecisionPoint"):
            made.Bostruct().setup(made.pg.geno.custom())
