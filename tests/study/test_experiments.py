"""Studies made of CSV files: the guess of the space, what is refused, and tables of other programs."""

from __future__ import annotations

import csv
import json
import lzma
import tracemalloc
import warnings

import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PointError
from bostruct.storage.protocol import StorageError
from bostruct.study import experiments
from bostruct.study.experiments import (
    SpaceGuessed,
    guess_variables,
    import_experiments,
    match_column,
    read_csv_columns,
)

LAB = """\ufeffid;Datum;Temperatur (°C);Katalysator;Konzentration;Rate;Operator;Order;Batch;Notiz;Ausbeute [%]
1;2026-01-02;20;Pd;0,5;0,0001;Ann;"[""a"",""b"",""c""]";true;gut;45,5
2;2026-01-03;40;Pd;0,75;0,01;Ann;"[""b"",""a"",""c""]";false;;52,25

3;2026-01-04;20;Ni;1,25;0,5;Ann;"[""c"",""b"",""a""]";true;;
4;2026-01-05;40;Ni;1;0,2;Ann;"[""a"",""c"",""b""]";false;naja;61
"""
SPACE = {
    "Temperatur (°C)": bo.Ordinal([20, 40]),
    "Katalysator": bo.Categorical(["Ni", "Pd"]),
    "Konzentration": bo.Real(0.5, 1.25),
    "Rate": bo.Real(0.0001, 0.5, log=True),
    "Order": bo.Permutation(["a", "b", "c"]),
    "Batch": bo.Binary(),
}


@pytest.fixture
def write(tmp_path):
    def write(text, name="lab.csv", **how):
        path = tmp_path / name
        path.write_text(text, **({"encoding": "utf-8", "newline": ""} | how))
        return path

    return write


def load(path, objective="y", **given):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        study = bo.Study.from_csv(path, objective, **({"method": "random", "seed": 0} | given))
    for one in found:
        if one.category is SpaceGuessed:
            load.shown = str(one.message)
        else:
            warnings.warn(one.message, stacklevel=2)
    return study


@pytest.mark.filterwarnings("ignore:frame. 1 of 4 rows without a value")
def test_a_table_of_a_laboratory(write):
    study = load(write(LAB), "Ausbeute", direction="maximize")
    assert study.domain.variables == SPACE
    assert [one.value for one in study.trials] == [45.5, 52.25, 61.0]
    assert study.best_point == {
        "Temperatur (°C)": 40, "Katalysator": "Ni", "Konzentration": 1.0, "Rate": 0.2, "Order": ("a", "c", "b"),
        "Batch": False,
    }  # fmt: skip
    shown = load.shown
    names: dict[str, object] = {}
    exec(shown, names)
    assert names["space"] == bo.Space(SPACE)
    for line in (
        "'id': counts the rows",
        "'Datum': dates",
        "'Operator': always 'Ann'",
        "'Notiz': empty in 2 of 4 rows",
    ):
        assert f"# left out: {line}" in shown
    assert "'Temperatur (°C)': bo.Ordinal([20, 40]),  # or bo.Integer(20, 40)" in shown


def test_a_corrected_space_is_read_and_rows_without_a_value_wait(write):
    space = {"Temperatur": bo.Integer(10, 90), "katalysator": ["Ni", "Pd", "Cu"]}  # without the unit, in another case
    study = load(write(LAB), "Ausbeute [%]", space=space, unmeasured="queue")
    assert [one.point for one in study.trials if one.value == 45.5] == [{"Temperatur": 20, "katalysator": "Pd"}]
    assert study.ask().point == {"Temperatur": 20, "katalysator": "Ni"}


def test_a_study_is_stored_once(write, tmp_path):
    path = write("x,y\n1,2\n3,1\n")
    load(path, storage=tmp_path / "runs.db", name="lab").close()
    with bo.Study.load(tmp_path / "runs.db", read_only=True) as study:
        assert (study.name, study.best_point) == ("lab", {"x": 3})
    with pytest.raises(StorageError, match="'lab'"):
        load(path, storage=tmp_path / "runs.db", name="lab")


def test_nothing_is_stored_of_a_file_that_is_refused(write, tmp_path):
    with pytest.raises(ValueError, match=r"lab.csv: line 3: column 'y': expected a number, got 'low'"):
        load(write("x,y\n1,2\n3,low\n"), storage=tmp_path / "runs.db")
    assert not (tmp_path / "runs.db").exists()


@pytest.mark.filterwarnings("ignore:frame. 1 of . rows without a value")
def test_a_dash_is_an_empty_cell_among_numbers_and_a_wrong_cell_is_named(write):
    table = "t;y\n1,5;67,50\n2,5;-\n3,5;70,25\n4,5;71\n{};60\n"
    study = load(write(table.format("9,5")))
    assert study.domain.variables == {"t": bo.Real(1.5, 9.5)}
    assert [one.value for one in study.trials] == [67.5, 70.25, 71.0, 60.0]
    with pytest.warns(UserWarning, match="1 of 5 rows left out, the first of them line 6, in which 't' is empty"):
        assert load(write(table.format("-"))).domain.variables == {"t": bo.Real(1.5, 4.5)}
    with pytest.raises(ValueError, match="line 3: column 'y': expected a number, got 'kaputt'"):
        load(write(table.format("9,5").replace("-", "kaputt")))


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "5", "9"], bo.Integer(1, 9)),
        (["1", "5", "9000"], bo.Integer(1, 9000, log=True)),
        (["1.5", "5", "9"], bo.Real(1.5, 9.0)),
        (["1e-5", "0.01", "9"], bo.Real(1e-5, 9.0, log=True)),
        (["1", "2", "1", "2"], bo.Ordinal([1, 2])),
        (["0.1", "0.5", "0.1", "0.5"], bo.Ordinal([0.1, 0.5])),
        (["16", "128", "64"], bo.Ordinal([16, 32, 64, 128])),
        (["0.1", "0.01", "0.02"], bo.Real(0.01, 0.1, log=True)),
        (["10", "50", "90"], bo.Integer(10, 90)),
        (["10%", "20%", "12.5%"], bo.Real(10.0, 20.0)),
        (["\u22121.5", "2", "3"], bo.Real(-1.5, 3.0)),
        (["1\u00a0000", "2 000", "900"], bo.Categorical(["1\u00a0000", "2 000", "900"])),
        (["1\u00a0000", "2\u00a0000", "900"], bo.Integer(900, 2000)),
        (["1'000.5", "2'000.25", "900"], bo.Real(900.0, 2000.25)),
        (["1,234.5", "1,300", "20"], bo.Real(20.0, 1300.0)),
        (["1.234,5", "1.300", "20,25"], bo.Real(20.25, 1300.0)),
        (["1,234,567", "7,654,321", "20"], bo.Integer(20, 7654321)),
        (["(5)", "(6)", "(5)"], bo.Categorical(["(5)", "(6)"])),
        (["10%", "20", "10%"], bo.Categorical(["10%", "20"])),
        (["1.234,5", "1,5.5", "1"], bo.Categorical(["1", "1,5.5", "1.234,5"])),
        (["b", "a", "None"], bo.Categorical(["None", "a", "b"])),
        (["007", "008", "9"], bo.Categorical(["007", "008", "9"])),
        (["True", "FALSE", "true"], bo.Binary()),
        (['["a"]', '["b", "a"]', "[]"], bo.Subset(["a", "b"], (0, 2))),
        (['["a"]', '["b", "a", "a"]', '["b"]'], bo.Sequence(["a", "b"], (1, 3))),
        (["[2, 1]", "[1, 2]", "[1, 2]"], bo.Permutation([2, 1])),
        (["[2, 1]", "[1, 3]", "[1, 2]"], bo.Subset([2, 1, 3], 2)),
        (["2,4-D", "1,2-X", "2,4-D"], bo.Categorical(["1,2-X", "2,4-D"])),
    ],
)
def test_a_guess(cells, expected, tmp_path):
    path = tmp_path / "a.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("x", "y"), *((cell, i) for i, cell in enumerate(cells))])
    study = load(path)
    assert study.domain.variables == {"x": expected}
    assert len(study.trials) == len(cells)
    names: dict[str, object] = {}
    exec(load.shown, names)
    assert names["space"] == study.domain


@pytest.mark.filterwarnings("ignore:frame. 1 of 5 rows without a value")
def test_a_column_with_a_gap_is_kept_and_the_row_left_out(write):
    table = "T (°C);min;kind;y;acc\n80,5;10;u;1;3\n90;20;v;2;4\n;30;u;3;5\n95;15;v;;\n85;25;u;5;1\n99;12;v;6;2\n"
    with pytest.warns(
        UserWarning, match=r"1 of 6 rows left out, the first of them line 4, in which 'T \(°C\)' is empty"
    ):
        study = load(write(table))
    assert study.domain.variables["T (°C)"] == bo.Real(80.5, 99.0)
    assert [one.value for one in study.trials] == [1.0, 2.0, 5.0, 6.0]
    assert "'T (°C)': bo.Real(80.5, 99.0),  # empty in 1 of 6 rows, which are left out" in load.shown
    assert "# left out: 'acc': empty in 1 of 6 rows, which have no value either: a result?" in load.shown
    with pytest.warns(UserWarning, match="1 of 6 rows left out"):
        corrected = load(write(table), space={"T": bo.Real(50, 120), "kind": ["u", "v"]})
    assert len(corrected.trials) == 4
    with pytest.raises(PointError, match="line 2: T: expected a value, got an empty cell"):
        load(write("T,y\n,1\n,2\n"), space={"T": bo.Real(50, 120)})


def test_hints_in_a_guess(write):
    load(write("n,acc,code,y\n16,0.5,(5),1\n64,0.75,(6),2\n32,0.6,(5),3\n"))
    for line in (
        "'n': bo.Ordinal([16, 32, 64]),  # or bo.Integer(16, 64)",
        "'acc': bo.Real(0.5, 0.75),  # a result? then ignore it",
        "'code': bo.Categorical(['(5)', '(6)']),  # strings that look like numbers",
    ):
        assert line in load.shown


def test_standard_errors_of_ax_are_the_noise_of_values(write):
    text, objective, *_ = EXPORTS["ax, standard errors"]
    with pytest.warns(UserWarning, match="1 of 3 rows without a value"):
        study = load(write(text), objective)
    assert [(one.value, one.sd) for one in study.trials] == [(1.5, 0.1), (None, None)]


def test_columns_that_are_no_variables():
    many = [f"name {i}" for i in range(40)]
    columns = {
        "number": list(range(1, 41)), "note": many, "day": ["3.4.26"] * 39 + ["12/04/2026"], "none": [None] * 40,
        "same": [3] * 40, "nested": [{"a": i} for i in range(40)], "arm_name": ["0_0", "1_0"] * 20,
        "thin": [1.0, 1.0 + 1e-12] + [1.0] * 38, "kind": ["u", "v"] * 20,
    }  # fmt: skip
    guesses, left_out = guess_variables(columns)
    assert list(guesses) == ["thin", "kind"]
    assert left_out == {
        "number": "counts the rows", "note": "40 strings in 40 rows", "day": "dates", "none": "empty",
        "same": "always 3", "nested": "JSON that is not a list of strings or numbers",
        "arm_name": "a column of other programs",
    }  # fmt: skip


def test_a_column_with_values_for_one_choice_has_a_condition(write):
    study = load(write("kind,depth,y\nnet,3,1\ntree,,2\nnet,5,3\nlinear,,4\n"))
    assert study.domain.variables["depth"] == bo.Integer(3, 5, when={"kind": bo.OneOf("net")})
    assert "when={'kind': bo.OneOf('net')}" in load.shown
    assert [one.point for one in study.trials][:2] == [{"kind": "net", "depth": 3}, {"kind": "tree"}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,2\n1,2,3\n", r"lab.csv: line 3: expected 2 cells, as in the header, got 3"),
        ("x,x,y\n1,2,3\n", r"lab.csv: line 1: column 2: 'x' occurs twice"),
        ("x,y\n", "expected a header and at least one row"),
        ("", "line 1: expected a header and at least one row"),
        ("\x07\x00abc", r"lab.csv: expected a CSV file, which is text; got the character '\\x07'"),
        (f"x,y\n1,2\n{'9' * 5000},3\n", "line 3, column 'x': expected a number of at most 400 digits"),
        (f"x,y\n{'1' * 200_000},2\n", "line 2: field larger than field limit"),
        ("x,z\n1,2\n", r"objective: expected a column of .*lab.csv, \['x', 'z'\]; got 'y'"),
        ('a,b,y\n"1,5",2.5,3\n', r"line 2, column 'a': '1,5' may have decimals or be a string; pass decimal"),
        ('a,y\n"1,500",3\n', r"line 2, column 'a': '1,500' may have decimals"),
        ("x,y\n1,°C\n3,4\n", r"line 2: column 'y': expected a number, got '°C'"),
    ],
)
def test_a_file_that_is_refused(write, text, message):
    with pytest.raises(ValueError, match=message):
        load(write(text))


def test_refusals_of_columns(write, tmp_path):
    with pytest.raises(DomainError, match="no column is a variable"):
        load(write("x,y\n1,2\n1,3\n"))
    with pytest.raises(PointError, match=r"lab.csv: line 3: x: expected"):
        load(write("x,y\n1,2\n7,3\n"), space={"x": bo.Integer(1, 5)})
    with pytest.raises(ValueError, match="ignore: expected a column"):
        load(write("x,y\n1,2\n7,3\n"), ignore=["z"])
    with pytest.raises(ValueError, match="expected a regular file"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        load(tmp_path / "none.csv")


def test_the_sign_before_decimals(write):
    path = write('a,b,y\n"1,5",2.5,3\n"2,5",1.5,3\n')
    assert load(path, decimal=".").domain.variables["a"] == bo.Categorical(["1,5", "2,5"])
    text = write('a,y\n"1,5","0,5"\n"2,5","0,25"\n')
    assert load(text).best_point == {"a": 2.5}


def test_encodings_and_separators(write):
    for separator in ";\t|,":
        path = write(f"x{separator}Temperatur °C{separator}y\n1{separator}2{separator}3\n2{separator}4{separator}5\n")
        assert list(load(path).domain.variables) == ["x", "Temperatur °C"]
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        assert list(load(write("Größe,y\n1,2\n2,3\n", encoding=encoding)).domain.variables) == ["Größe"]
    for text in ("sep=;\nx;y\n1;2\n3;4\n", "# made by us\n# in May\nx,y\n1,2\n3,4\n", "sep=|\nx|y\n1|2\n3|4\n"):
        assert list(load(write(text)).domain.variables) == ["x"]
    assert list(load(write("# run, y\n1,2\n3,4\n")).domain.variables) == ["# run"]
    with pytest.raises(ValueError, match=r"lab.csv: line 4: expected 2 cells"):
        load(write("# made by us\nx,y\n1,2\n3\n"))
    path = write("", "lab.csv.xz")
    path.write_bytes(lzma.compress(b"x,y\n1,2\n3,4\n"))
    assert len(load(path).trials) == 2


def test_a_row_of_any_form_takes_bounded_memory(write, monkeypatch):
    monkeypatch.setattr(experiments, "MAX_LINE", 10_000)
    for text in ("ab," * 200_000, '"\n",' * 100_000, "x,y\n" + '"' + "a\n" * 100_000):
        path = write(text)
        tracemalloc.start()
        with pytest.raises(ValueError, match="expected rows of at most 10,000 characters"):
            read_csv_columns(str(path))
        assert tracemalloc.get_traced_memory()[1] < 4e6
        tracemalloc.stop()


def test_large_files_are_refused_before_memory_is_full(tmp_path, monkeypatch):
    path = tmp_path / "large.csv"
    with path.open("w") as file:
        file.write("x,y\n")
        file.writelines(f"{i % 97},{i}\n" for i in range(300_000))
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"large.csv: line 100002: expected at most 100,000 rows"):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()
    with path.open("r+b") as file:
        file.truncate(2**30)  # of zeros
    tracemalloc.start()
    with pytest.raises(ValueError, match="expected at most 268,435,456 bytes"):
        load(path)
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()
    monkeypatch.setattr(experiments, "MAX_CELLS", 10)
    with pytest.raises(ValueError, match="10 cells"):
        read_csv_columns(str(_write_wide(tmp_path)))


def _write_wide(folder):
    path = folder / "wide.csv"
    path.write_text("\n".join(["a,b,c,d,e", *["1,2,3,4,5"] * 9]))
    return path


def test_names_of_columns():
    assert match_column("yield", ["yield (%)", "x"]) == "yield (%)"
    assert match_column("loss", ["metrics.loss", "x"]) == "metrics.loss"
    assert match_column("x", ["X", "x"]) == "x"
    assert match_column("a", ["a (b)", "a [c]"]) is None


OURS = bo.Study({"n": bo.Integer(1, 9), "kind": ["u", "v"]}, method="random", seed=0)
EXPORTS = {
    "optuna": (
        "number,value,datetime_start,params_lr,params_kind,params_depth,user_attrs_a,state\n"
        "0,1.5,2026-01-01 10:00:00,0.1,net,3,,COMPLETE\n1,,2026-01-01 10:00:01,0.2,tree,,,FAIL\n"
        "2,2.5,2026-01-01 10:00:02,0.4,tree,,,PRUNED\n3,,2026-01-01,0.3,net,4,,RUNNING\n",
        "value", ["lr", "kind", "depth"], ["completed", "failed", "completed"],
    ),
    "ray": (
        "trial_id,loss,time_total_s,config/lr,config/kind\na1,1.5,3.2,0.1,u\na2,2.5,3.3,0.2,v\n",
        "loss", ["lr", "kind"], ["completed"] * 2,
    ),
    "mlflow": (
        "run_id,status,start_time,metrics.loss,params.lr,params.kind,tags.x\n"
        "1a,FINISHED,2026-01-01,1.5,0.1,u,t\n2b,FAILED,2026-01-01,,0.2,v,t\n",
        "loss", ["lr", "kind"], ["completed", "failed"],
    ),
    "ax": (
        "trial_index,arm_name,trial_status,generation_node,loss,lr,kind\n"
        "0,0_0,COMPLETED,Sobol,1.5,0.1,u\n1,1_0,FAILED,Sobol,,0.2,v\n2,2_0,RUNNING,MBM,,0.3,v\n",
        "loss", ["lr", "kind"], ["completed", "failed"],
    ),
    "wandb": (
        "Name,State,Notes,User,Tags,Created,Runtime,Sweep,lr,kind,loss\n"
        "dry-sun-1,finished,-,ann,,2026-01-01T10:00:00.000Z,30,s,0.1,u,1.5\n"
        "old-sea-2,crashed,-,ann,,2026-01-01T10:00:00.000Z,20,s,0.2,v,\n",
        "loss", ["lr", "kind"], ["completed", "failed"],
    ),
    "ray, nested": (
        ",loss,done,training_iteration,pid,config/lr,config/net/layers,logdir\n"
        "0,1.5,True,9,101,0.1,2,a1\n1,2.5,True,8,102,0.2,3,a2\n",
        "loss", ["lr", "net/layers"], ["completed"] * 2,
    ),
    "ax, standard errors": (
        "trial_index,arm_name,trial_status,fail_reason,generation_node,loss,loss_sem,lr,kind\n"
        "0,0_0,COMPLETED,,Sobol,1.5,0.1,0.1,u\n1,1_0,TrialStatus.FAILED,oom,Sobol,,,0.2,v\n"
        "2,2_0,ABANDONED,,MBM,,,0.3,v\n",
        "loss", ["lr", "kind"], ["completed", "failed"],
    ),
    "mlflow, web page": (
        "Start Time,Duration,Run ID,Name,Source Type,Source Name,User,Status,lr,kind,loss\n"
        "2026-01-01 10:00:00,5.1s,1a,wild-1,LOCAL,a.py,ann,FINISHED,0.1,u,1.5\n"
        "2026-01-01 10:01:00,6.1s,2b,wild-2,LOCAL,b.py,ann,FAILED,0.2,v,\n",
        "loss", ["lr", "kind"], ["completed", "failed"],
    ),
    "wandb, web page": (
        "Name,State,Created,Runtime,lr,kind,_step,_runtime,_timestamp,_wandb,loss\n"
        "dry-sun-1,finished,2026-01-01T10:00:00.000Z,30,0.1,u,100,30.5,1700000000.5,,1.5\n"
        "old-sea-2,crashed,2026-01-01T10:00:00.000Z,20,0.2,v,57,20.5,1700000100.5,,9.5\n"
        "new-sky-3,killed,2026-01-01T10:00:00.000Z,20,0.3,v,99,20.5,1700000200.5,,\n",
        "loss", ["lr", "kind"], ["completed", "failed"],
    ),
    "wandb, flat": (
        "name,state,config.lr,config.net.kind,summary._step,summary.loss\na,finished,0.1,u,100,1.5\nb,failed,0.2,v,57,\n",
        "loss", ["lr", "net.kind"], ["completed", "failed"],
    ),
    "wandb, interface": (
        ",name,state,summary,config\n"
        "0,a,finished,\"{'_timestamp': 17.5, 'loss': 1.5}\",\"{'lr': 0.1, 'kind': 'u', '_wandb': {}}\"\n"
        "1,b,failed,{},\"{'lr': 0.2, 'kind': 'v'}\"\n",
        "loss", ["lr", "kind"], ["completed", "failed"],
    ),
    "ktt": (
        "Kernel name,Computation duration (us),Global size,Local size,BLOCK_X,VECTOR,dram__sectors_read.sum,"
        "Maximum work-group size,Local memory size,Registers count\n"
        "add,1.5,1024,64,64,1,262299,1024,0,12\nadd,0.5,512,128,128,2,262231,1024,16,14\n",
        "Computation duration", ["BLOCK_X", "VECTOR"], ["completed"] * 2,
    ),
    "ktt, statuses": (
        "Kernel name,Status,Time (ms),GLOBAL,LOCAL,BLOCK_X,VECTOR\nadd,Ok,1.5,1024x1,64x1,64,1\n"
        "add,ComputationFailed,,1024x1,128x1,128,1\nadd,ValidationFailed,0.5,512x1,128x1,128,2\n",
        "Time", ["BLOCK_X", "VECTOR"], ["completed", "failed", "failed"],
    ),
    "cltune": (
        "name;time;threads;WG;VW;\nadd;1.50;64;8;1;\nadd;0.95;128;16;2;\n",
        "time", ["WG", "VW"], ["completed"] * 2,
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:frame. 1 of . rows without a value", "ignore:frame. 1 failed row with a value")
@pytest.mark.filterwarnings("ignore:frame. 1 trial stopped early")
@pytest.mark.parametrize("program", EXPORTS)
def test_exports_of_other_programs(program, write):
    text, objective, names, statuses = EXPORTS[program]
    study = load(write(text), objective)
    assert list(study.domain.variables) == names
    assert [one.status for one in study.trials] == statuses
    assert study.trials[0].value == 1.5


def test_what_is_left_out_of_an_export_is_named(write):
    text, objective, *_ = EXPORTS["ray, nested"]
    load(write(text), objective)
    expected = "'column 1', 'done', 'training_iteration', 'pid', 'logdir': names of variables begin with 'config/'"
    assert f"# left out: {expected}" in load.shown
    text, objective, *_ = EXPORTS["ktt, statuses"]
    with pytest.warns(UserWarning, match=r"1 failed row with a value in column 'Time \(ms\)': the value is not read"):
        load(write(text), objective)
    expected = "'Kernel name', 'GLOBAL', 'LOCAL': a column of other programs"
    assert f"# left out: {expected}" in load.shown


@pytest.mark.filterwarnings("ignore:frame. 1 of . rows without a value")
def test_reasons_and_variables_with_the_names_of_other_programs(write):
    text, objective, *_ = EXPORTS["ax, standard errors"]
    assert load(write(text), objective).trials[1].reason == "oom"
    text = "Kernel name,Status,Time (ms),WG,VW\nadd,Ok,1.5,8,1\nadd,Ok,2.5,16,2\nadd,CompilationFailed,,8,2\n"
    assert load(write(text), "Time", failed="Status").trials[2].reason == "CompilationFailed"
    text = "State,threads,y\nok,2,1\nfailed,4,2\n"
    space = {"State": ["ok", "failed"], "threads": bo.Integer(1, 8)}
    assert [one.point for one in load(write(text), space=space).trials] == [
        {"State": "ok", "threads": 2}, {"State": "failed", "threads": 4},
    ]  # fmt: skip
    assert "threads" in load(write("threads,time,y\n2,1,1\n4,3,2\n")).domain.variables


def test_a_table_of_our_own_comes_back(tmp_path):
    study = bo.Study({"n": bo.Integer(1, 9), "order": bo.Permutation([1, 2, 3])}, method="random", seed=0)
    study.optimize(lambda point: point["n"], 12)
    study.result.to_csv(tmp_path / "own.csv")
    again = load(tmp_path / "own.csv", "value", space=study.domain)
    assert [(one.point, one.value) for one in again.trials] == [(one.point, one.value) for one in study.trials]
    assert list(load(tmp_path / "own.csv", "value").domain.variables) == ["n", "order"]


def test_the_class_of_the_study_is_kept(write):
    class Own(bo.Study):
        pass

    options = {"direction": "minimize", "space": None, "ignore": [], "decimal": None, "failed": None}
    with pytest.warns(SpaceGuessed):
        made = import_experiments(Own, write("x,y\n1,2\n3,1\n"), "y", **options, unmeasured="skip", seed=0)
    assert type(made) is Own
    assert json.dumps(made.best_point) == '{"x": 3}'


def test_columns_with_one_sum_are_a_mixture_or_an_allocation(tmp_path, write):
    space = {
        "blend": bo.Mixture(["a", "b", "c"], total=100),
        "n": bo.Allocation(["u", "v"], total=4),
        "x": bo.Real(0, 1),
    }
    study = bo.Study(space, method="random", seed=0)
    study.optimize(lambda point: point["blend"]["a"] + point["x"], 12)
    study.result.to_csv(tmp_path / "own.csv")
    again = load(tmp_path / "own.csv", "value")
    assert "'blend': bo.Mixture(['a', 'b', 'c'], total=100.0),  # each row has this sum" in load.shown
    assert [(one.point["blend"], one.point["n"]) for one in again.trials] == [
        (one.point["blend"], one.point["n"]) for one in study.trials
    ]
    other = load(write("m.a,m.b,y\n0.2,0.8,1\n0.4,0.6,2\n0.1,0.8,3\n"))
    assert list(other.domain.variables) == ["m.a", "m.b"]
    third = load(write("m.a,m.salt,m.b,y\n0.2,0.2,0.6,1\n0.4,0.2,0.4,2\n0.1,0.2,0.7,3\n"))  # a constant is no part
    assert third.trials[0].point == {"m": {"a": 0.2, "b": 0.6}}


def test_the_name_of_a_file_cannot_leave_its_comment(write):
    load(write("a,b,y\n1,0.5,3\n2,0.25,4\n4,0.75,5\n", "x\nraise SystemExit\n#.csv"))
    printed = load.shown
    assert "raise SystemExit" in printed
    exec(printed, {})
