"""The adapters of examples/nas_adapters: on a look-alike of NATS-Bench's API, and in NePS and PyGlove if present."""

from __future__ import annotations

import ast
import importlib
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "nas_adapters"


@pytest.fixture(autouse=True)
def _importable(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def example(name: str) -> Any:
    return importlib.import_module(name)


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


def lines_of_code(file: Path) -> int:
    """Without imports, docstrings, comments and blank lines."""
    tree = ast.parse(file.read_text())
    kept = ast.Module([node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)], [])
    aside = [
        node.body[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None
    ]
    hidden = {line for node in aside for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    used = {line for node in kept.body for line in range(node.lineno, (node.end_lineno or 0) + 1)} - hidden
    text = file.read_text().splitlines()
    return sum(1 for line in used if text[line - 1].strip() and not text[line - 1].lstrip().startswith("#"))


@pytest.mark.parametrize("name", ["nats_bench_search", "neps_optimizer", "pyglove_generator"])
def test_an_adapter_is_short(name):
    assert lines_of_code(FOLDER / f"{name}.py") <= 45


@pytest.mark.parametrize(
    ("arguments", "module", "package"),
    [
        (["nats", "folder"], "nats_bench", "nats_bench"),
        (["neps"], "neps", "neural-pipeline-search"),
        (["pyglove"], "pyglove", "pyglove"),
    ],
)
def test_without_its_package_a_demo_ends_with_how_to_get_it(arguments, module, package, monkeypatch):
    for own in ("nats_bench_search", "neps_optimizer", "pyglove_generator"):
        monkeypatch.delitem(sys.modules, own, raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "argv", ["demo.py", *arguments])
    with pytest.raises(SystemExit, match=f"this demo needs {arguments[0]}: pip install {package}$"):
        runpy.run_path(str(FOLDER / "demo.py"), run_name="__main__")


@pytest.mark.parametrize("arguments", [[], ["ax"], ["nats"], ["neps", "folder"]])
def test_the_demo_says_what_it_takes(arguments, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["demo.py", *arguments])
    with pytest.raises(SystemExit, match=r"expected one of these:(.|\n)*demo.py nats NATS-tss"):
        runpy.run_path(str(FOLDER / "demo.py"), run_name="__main__")


@pytest.mark.filterwarnings("ignore")
class TestNePS:
    @pytest.fixture
    def made(self):
        pytest.importorskip("neps")
        return example("neps_optimizer")

    @pytest.fixture
    def space(self, made):
        class Space(made.neps.PipelineSpace):
            rate = made.neps.Float(1e-4, 1e-1, log=True)
            layers = made.neps.Integer(1, 3)
            activation = made.neps.Categorical(("relu", "tanh"))

        return Space()

    @pytest.fixture
    def finite(self, made):
        class Space(made.neps.PipelineSpace):
            width = made.neps.Integer(1, 9, log=True)
            layers = made.neps.Integer(1, 3)
            activation = made.neps.Categorical(("relu", "tanh"))

        return Space()

    def report(self, value):
        return SimpleNamespace(objective_to_minimize=value, err="lost" if value is None else None)

    def test_a_run_beats_random_search(self, made):
        run = example("demo").run_neps
        assert run(made.Bostruct, 30) < run("random_search", 30)

    def test_it_knows_what_others_run_and_what_failed(self, made, finite):
        optimizer = made.Bostruct(finite, method="random")
        first = optimizer(trials={}, budget_info=None, n=4)
        assert [one.id for one in first] == ["1", "2", "3", "4"]
        reports = [None, self.report(None), self.report(1.0), None]
        told = zip(first, reports, strict=True)
        trials = {one.id: SimpleNamespace(config=one.config, report=own) for one, own in told}
        size = optimizer.space.size
        assert size == 9 * 3 * 2
        rest = made.Bostruct(finite, method="random")(trials, None, size - 4)
        assert rest[0].id == "5"
        every = [tuple(sorted(one.config.items())) for one in first + rest]
        assert len(set(every)) == size

    def test_numbers_keep_their_range_and_scale(self, made, space):
        variables = made.Bostruct(space).space.variables
        rate, layers = (next(key for key in variables if name in key) for name in ("rate", "layers"))
        assert repr(variables[rate]) == "Real(0.0001, 0.1, log=True)"
        assert list(variables[layers].choices) == [1, 2, 3]

    def test_numbers_of_other_origin_are_kept(self, made, space):
        optimizer = made.Bostruct(space)
        config = dict(optimizer({}, None).config)
        rate = next(key for key in config if "rate" in key)
        trial = SimpleNamespace(config=config | {rate: 0.000101}, report=self.report(1.0))
        assert optimizer.point(trial.config) == trial.config
        assert optimizer({"1": trial}, None).id == "2"

    def test_a_fidelity_is_at_its_highest_and_nested_spaces_are_refused(self, made):
        class Epochs(made.neps.PipelineSpace):
            rate = made.neps.Float(0.1, 1.0)
            epochs = made.neps.IntegerFidelity(1, 9)

        assert made.Bostruct(Epochs())({}, None).config["ENVIRONMENT__epochs"] == 9

        class Nested(made.neps.PipelineSpace):
            rate = made.neps.Float(0.1, 1.0)
            layer = made.neps.Categorical((made.neps.Operation("conv"), made.neps.Operation("pool")))

        class Inside(made.neps.PipelineSpace):
            layer = made.neps.Operation("conv", kwargs={"size": made.neps.Integer(1, 3)})

        for nested in (Nested(), Inside()):
            words = "space: expected floats, integers and categories of simple values; layer"
            with pytest.raises(ValueError, match=words):
                made.Bostruct(nested)


class TestPyGlove:
    @pytest.fixture
    def made(self):
        pytest.importorskip("pyglove")
        return example("pyglove_generator")

    def test_a_run_beats_random_search(self, made):
        run = example("demo").run_pyglove
        assert run(made.Bostruct(), 25) > run(made.pg.geno.Random(seed=0), 25)

    @pytest.mark.parametrize(("distinct", "ordered"), [(True, True), (True, False), (False, True), (False, False)])
    def test_every_dna_is_proposed_once(self, made, distinct, ordered):
        pg = made.pg
        inner = pg.Dict(a=pg.manyof(2, [1, pg.oneof([7, 8]), 3], distinct=distinct, sorted=ordered), b=pg.oneof([5]))
        spec = pg.dna_spec(pg.Dict(x=pg.oneof([0, inner]), y=pg.oneof([0, 1])))
        generator = made.Bostruct(method="random")
        generator.setup(spec)
        found = [tuple(dna.to_numbers()) for dna in proposed(generator)]
        assert len(found) == len(set(found)) == spec.space_size

    @pytest.mark.parametrize("scale", [None, "log"])
    def test_floats_are_real_numbers(self, made, scale):
        pg = made.pg
        generator = made.Bostruct(method="random")
        generator.setup(pg.dna_spec(pg.Dict(rate=pg.floatv(0.01, 1.0, scale=scale))))
        found = [generator.propose().to_numbers()[0] for _ in range(200)]
        assert len(set(found)) == 200
        assert min(found) >= 0.01
        assert max(found) <= 1.0
        assert (sorted(found)[100] < 0.2) == (scale == "log")

    def test_a_decision_exists_where_its_candidate_is_chosen(self, made):
        pg = made.pg
        head = pg.oneof([pg.Dict(kind="linear"), pg.Dict(drop=pg.floatv(0.0, 0.5), units=pg.oneof([16, 32]))])
        space, fixed = made.build_space(pg.dna_spec(pg.Dict(head=head, stem=pg.oneof([pg.oneof([1, 2])]))))
        assert space.parse({"head": 0, "stem[=0/1]": 1}) is not None
        assert space.parse({"head": 1, "head[=1/2].drop": 0.25, "head[=1/2].units": 0, "stem[=0/1]": 1}) is not None
        assert fixed == {"stem": 0}

    def test_choices_of_a_sorted_set_keep_room_for_each_other(self, made):
        pg = made.pg
        spec = pg.dna_spec(pg.Dict(x=pg.manyof(3, [*range(5)], distinct=True, sorted=True)))
        space, _ = made.build_space(spec)
        assert [list(one.choices) for one in space.variables.values()] == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
        assert space.count().count == spec.space_size == 10

    def test_a_set_of_all_candidates_leaves_no_choice_but_those_inside(self, made):
        pg = made.pg
        generator = made.Bostruct(method="random")
        generator.setup(pg.dna_spec(pg.manyof(2, [pg.oneof([1, 2]), pg.oneof([3, 4, 5])], distinct=True, sorted=True)))
        expected = [[0, i, 1, j] for i in range(2) for j in range(3)]
        assert sorted(dna.to_numbers() for dna in proposed(generator)) == expected

    def test_rewards_are_told_of_the_dna_that_earned_them(self, made):
        pg = made.pg
        generator = made.Bostruct(method="random")
        generator.setup(pg.dna_spec(pg.Dict(x=pg.manyof(2, [1, pg.oneof([7, 8]), 3]), y=pg.oneof([0, 1]))))
        asked = [generator.propose() for _ in range(5)]
        for reward, dna in reversed([*enumerate(asked)]):
            generator.feedback(dna, float(reward))
        assert [trial.value for trial in generator._study.trials] == [0.0, 1.0, 2.0, 3.0, 4.0]
        for dna, trial in zip(asked, generator._study.trials, strict=True):
            assert made.pg.DNA.from_dict(trial.point, generator.dna_spec).to_numbers() == dna.to_numbers()

    def test_what_it_did_not_propose_is_refused(self, made):
        pg = made.pg
        spec = pg.dna_spec(pg.Dict(x=pg.oneof([1, 2, 3])))
        generator = made.Bostruct()
        generator.setup(spec)
        with pytest.raises(TypeError, match="trial: expected a Trial or its number"):
            generator.recover([(pg.DNA([0], spec=spec), 1.0)])

    def test_a_custom_decision_is_refused(self, made):
        with pytest.raises(AttributeError, match="CustomDecisionPoint"):
            made.Bostruct().setup(made.pg.geno.space([made.pg.geno.custom()]))


def proposed(generator: Any) -> list[Any]:
    """All that it proposes, never told anything."""
    found = []
    while True:
        try:
            found.append(generator.propose())
        except StopIteration:
            return found
