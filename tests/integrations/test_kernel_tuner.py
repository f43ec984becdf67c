"""Files of Kernel Tuner: spaces and conditions as Python's own `eval` reads them, cache files, results."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import os
import pickle
import tracemalloc

import pytest

import bostruct as bo
from bostruct import problems
from bostruct.contracts import DomainError
from bostruct.domains.space.clauses import PartialPoint
from bostruct.integrations.kernel_tuner import (
    ExpressionError,
    Restriction,
    evaluate_expression,
    parse_expression,
    read_constants,
    read_problem,
    read_results,
    read_space,
)

# The convolution of the benchmark hub of Kernel Tuner, whose A100 has 4,362 allowed configurations on record.
CONVOLUTION = {
    "block_size_x": "[16*i for i in range(1,17)]",
    "block_size_y": "[2**i for i in range(5)]",
    "tile_size_x": "[i for i in range(1,5)]",
    "tile_size_y": "list(range(1, 5))",
    "read_only": "[0, 1]",
    "use_padding": "[0, 1]",
    "use_shmem": "[0, 1]",
    "filter_height": "[15]",
    "filter_width": "[15]",
}
CONDITIONS = [
    "use_padding==0 or block_size_x % 32 != 0",
    "block_size_x*block_size_y<=1024",
    "use_padding==0 or use_shmem != 0",
    "use_shmem == 0 or (((block_size_x*tile_size_x+(filter_width-1)))*((block_size_y*tile_size_y+(filter_height-1)))) "
    "< 12*1024",
]
CACHE = {
    "device_name": "GPU",
    "kernel_name": "add",
    "tune_params_keys": ["x", "z", "y"],
    "tune_params": {"x": [64, 32, 16], "z": [1], "y": [True, False]},
    "objective": "time",
    "cache": {
        "64,1,True": {"x": 64, "z": 1, "y": True, "time": 3.5, "times": [3, 4], "GFLOP/s": 9.5},
        "32,1,True": {"x": 32, "z": 1, "y": True, "time": "RuntimeFailedConfig"},
        "32,1,False": {"x": 32, "z": 1, "y": False, "time": 2, "GFLOP/s": 20},
        "16,1,False": {"x": 16, "z": 1, "y": False, "__error__": "InvalidConfig"},
    },
}
RESULTS = {
    "results": [
        {
            "configuration": {"x": 64, "z": 1, "y": True},
            "invalidity": "correct",
            "measurements": [{"name": "time", "value": 3.5}, {"name": "energy", "value": 0.25}],
            "objectives": ["time"],
        },
        {"configuration": {"x": 32, "z": 1, "y": True}, "invalidity": "compile", "measurements": []},
        {"configuration": {"x": 16, "z": 1, "y": True}, "invalidity": "constraints", "measurements": []},
    ]
}


def write_t1(path, parameters, conditions=()):
    listed = [{"Name": name, "Type": "int", "Values": values} for name, values in parameters.items()]
    rules = [{"Expression": one, "Parameters": []} for one in conditions]
    path.write_text(json.dumps({"ConfigurationSpace": {"TuningParameters": listed, "Conditions": rules}}, indent=1))
    return path


@pytest.fixture
def convolution(tmp_path):
    return write_t1(tmp_path / "convolution.json", CONVOLUTION, CONDITIONS)


@pytest.fixture
def cache(tmp_path):
    path = tmp_path / "cache.json"
    path.write_text(json.dumps(CACHE, indent=1))
    return path


def test_a_space_has_the_configurations_that_kernel_tuner_measured(convolution):
    space = read_space(convolution)
    assert (space.n_points, space.count()) == (10_240, bo.Space.count(space))
    assert len(space.enumerate()) == 4362
    assert read_constants(convolution) == {"filter_height": 15, "filter_width": 15}
    assert space.variables["block_size_y"].choices == (1, 2, 4, 8, 16)


def test_conditions_hold_as_python_evaluates_them(convolution):
    space = read_space(convolution)
    lists = {name: eval(values) for name, values in CONVOLUTION.items()}
    for values in itertools.islice(itertools.product(*lists.values()), 0, None, 37):
        point = dict(zip(lists, values, strict=True))
        expected = [bool(eval(one, {}, point)) for one in CONDITIONS]
        assert [rule(point) for rule in space.constraints] == expected


@pytest.mark.parametrize(
    "text",
    [
        "1 + 2 * 3 - 4 / 8", "7 // 2 + 7 % 4 + 2 ** 5", "-3 + +2", "~5 & 6 | 1 ^ 2", "1 << 4 >> 2", "1 < 2 <= 2 != 3",
        "3 in [1, 2, 3] and 4 not in (1, 2)", "not (1 == 2 or 0)", "5 if 1 > 2 else 6", "max(1, 2) + min([3, 4])",
        "[1] + [2 * i for i in range(1, 11) if i % 3 != 0]", "list(range(2, 9, 3))", "'a' == 'a'",
        "abs(-2) + len('abc') + round(2.6)", "sum([1, 2]) + int(2.9) + float(1) + bool(3)",
    ],
)  # fmt: skip
def test_an_expression_has_the_value_that_python_gives_it(text):
    assert evaluate_expression(parse_expression(text)[0], {}) == eval(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').system('touch here')", r"is not supported \(column 1\)"),
        ("1 + open('a')", r"is not supported \(column 5\)"),
        ("(1).real", "'1 .real' is not supported"),
        ("[i for i in range(3) for j in range(3)]", "is not supported"),
        ("[[i for i in [1]] for j in [1]]", "is not supported"),
        ("lambda: 1", "is not supported"),
        ("x[0]", "is not supported"),
        ("f'{1}'", "is not supported"),
        ("b'a'", "is not supported"),
        ("max(1, key=2)", "is not supported"),
        ("1 +", r"invalid syntax \(column 3\)"),
        ("(" * 5000, r"\(column"),
        ("1" * 20_000, "expected at most 10000 characters"),
        ("a := 3", "invalid syntax"),
        ("range", "there is no"),
    ],
)
def test_anything_else_is_refused_with_its_column(text, message, tmp_path):
    os.chdir(tmp_path)
    with pytest.raises((ExpressionError, ValueError), match=message):
        read_space(write_t1(tmp_path / "a.json", {"x": "[1, 2]"}, [text]))
    with pytest.raises(ValueError, match="a.json: line 7, column 15: x: " if text != "range" else "'range'"):
        read_space(write_t1(tmp_path / "a.json", {"x": text}))
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize(
    "text",
    [
        "2 ** 10 ** 10", "1 << 10 ** 9", "[2.0 ** 5000]", "list(range(10 ** 12))", "[i for i in range(10 ** 9)]",
        "'a' * 10 ** 9", "[0] * 10 ** 9", "'%1000000000d' % 1", "max(range(10 ** 9))", "(-8) ** 0.5", "[1 / 0]", "3",
        "['a' + 'b']", "[]", "[[1]]", "len(range(10 ** 30))",
    ],
)  # fmt: skip
def test_values_that_are_too_large_or_none_are_refused(text, tmp_path):
    with pytest.raises(ValueError, match=r"a.json: line 7, column 15: x: "):
        read_space(write_t1(tmp_path / "a.json", {"x": text}))


def test_a_division_by_zero_allows_a_configuration_as_in_kernel_tuner():
    rule = Restriction("4 % x == 0")
    assert [rule({"x": x}) for x in (0, 2, 3)] == [True, True, False]
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert rule.__name__ == "4 % x == 0"


def test_kinds_of_variables(tmp_path):
    given = {"n": "[4, 2, 8]", "b": "[True, False]", "s": "['u', 'v']", "f": [0.5, 1], "one": [3]}
    path = write_t1(tmp_path / "a.json", given, ["n > one or b"])
    space = read_space(path)
    assert space.variables == {
        "n": bo.Ordinal([2, 4, 8]), "b": bo.Binary(), "s": bo.Categorical(["u", "v"]), "f": bo.Ordinal([0.5, 1])
    }  # fmt: skip
    assert len(space.enumerate()) == 20
    best = bo.minimize(lambda point: point["n"], space, 20, method="random", seed=0)
    assert {**read_constants(path), **best.best_point}["one"] == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"a": 1,\n "b" 2}', r"a.json: line 2, column 6: expected JSON; Expecting ':'"),
        ("[1]", r"expected 'TuningParameters'.*; got .\[1\]"),
        ('{"ConfigurationSpace": {"TuningParameters": [{"Name": "x"}]}}', "'Values' is missing"),
        ('{"a":\n "\xff"}', r"a.json: line 2, column 3: cannot be read: 'utf-8' codec"),
        ("[" * 100_000, "a.json: "),
        ("", "a.json: line 1, column 1: expected JSON; the file ends"),
        ('{"tune_params": {"x": [1, 2', "a.json: line 1, column 28: expected JSON; the file ends"),
        (
            f'{{"ConfigurationSpace": {"9" * 5000}}}',
            r"a.json: line 1, column 24: cannot be read: Exceeds the limit \S+ digits\) [^;]*$",
        ),
        ('{"TuningParameters": [{"Name": ["x"], "Values": [1, 2]}]}', "line 1, column 49: .*: expected a name that is"),
        ('{"TuningParameters": {}}', "line 1, column 1: expected a parameter with several values"),
        ('{"TuningParameters":\n{"x": 3, "y": 4}}', r"line 2, column 2: expected 'TuningParameters'.*; got"),
        ('{"TuningParameters": 3}', r"line 1, column 1: expected 'TuningParameters'.*; got"),
        ('{"TuningParameters": [],\n"Conditions": [{}]}', "line 2, column 16: .*; 'Expression' is missing"),
        ('{"tune_params": 3}', "line 1, column 17: expected 'TuningParameters'"),
        ('{"tune_params":\n{"x": [1, 2],\n"x": [3, 4]}}', r'a.json: duplicate key "x" in one object \(lines \[2, 3'),
    ],
)
def test_what_is_no_such_file_is_refused(content, message, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(content, encoding="latin-1")
    with pytest.raises(ValueError, match=message):
        read_space(path)


def test_refusals_of_parameters(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="expected a regular file"):
        read_space(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        read_space(tmp_path / "none.json")
    with pytest.raises(DomainError, match="a parameter with several values"):
        read_space(write_t1(tmp_path / "a.json", {"x": "[1]"}))
    with pytest.raises(DomainError, match=r"a.json: line 7, column 15: x: Categorical: expected distinct"):
        read_space(write_t1(tmp_path / "a.json", {"x": [1, True, "a"]}))
    with pytest.raises(ValueError, match=r"condition 'x < yy': there is no parameter 'yy' \(column 5\)"):
        read_space(write_t1(tmp_path / "a.json", {"x": [1, 2]}, ["x < yy"]))
    monkeypatch.setattr("bostruct.problems.paths.MAX_CONTENT", 2**20)
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b" " * 2**22))
    with pytest.raises(ValueError, match="expected at most 1,048,576 bytes"):
        read_space(tmp_path / "b.json.gz")


@pytest.mark.parametrize(
    "item", ["[]", "{}", "1.5", '"a"', '{"a":1}', '{"a":[1.25,[]]}', '"\U0001f600"', "[[[1]]]", "300"]
)
def test_the_memory_that_json_takes_is_known_before_it_is_parsed(item, tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text(f"[{','.join([item] * 60_000)}]", encoding="utf-8")
    tracemalloc.start()
    with pytest.raises(ValueError, match="expected 'TuningParameters'"):
        read_space(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    with monkeypatch.context() as patched:
        patched.setattr(
            "bostruct.integrations.kernel_tuner.MAX_MEMORY", peak - 2**21
        )  # a chunk of a file is no part of it
        with pytest.raises(ValueError, match="expected JSON that takes at most"):
            read_space(path)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("a/2 in range(10**15)", [False, True, False]),
        ("a/2 not in range(10**15)", [True, False, True]),
        ("'a' in range(10**15)", [False] * 3),
        ("a/1e-300 in range(10**15)", [False] * 3),
        ("round(a, -1) == 0", [True] * 3),
        ("sum([x for x in [a, 2] if x in range(1, 3)]) == 3", [True, False, False]),
    ],
)
def test_a_range_is_not_walked_through(condition, expected):
    assert [Restriction(condition)({"a": a}) for a in (1, 2, 3)] == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("round(a, -10**8) >= 0", "round: expected at most 1024 digits"),
        ("len([[list(range(10000)) for i in range(700)], 1]) > a", "expected at most 200,000 steps"),
        ("max([sum(range(1000)) for i in range(1000)]) > a", "expected at most 200,000 steps"),
        ("max([1+1+1+1+1+1+1+1+1+1 for i in range(20000)]) > a", "expected at most 200,000 steps"),
        ("a * 1e308 * 1e10 > 0", "expected real numbers below"),
        ('a < "x"', "'<' not supported"),
        ("max(a) > 0", "'int' object is not iterable"),
        (3, "expected a string"),
        ("1" * 5000 + " > a", r"Exceeds the limit [^;]* \(column 5004\)"),
        ("", r"invalid syntax \(column 1\)"),
        ("2**2**2**2**2 > a", "expected real numbers below"),
        ("sum([x for x in [a, b]]) + x > 0", r"there is no parameter 'x' \(column 28\)"),
        ("sum([x for x in [x, b]]) > 0", r"there is no parameter 'x' \(column 18\)"),
        ("-" * 900 + "a < 0", ""),
    ],
)
def test_a_condition_without_a_value_is_refused_at_its_place(condition, message, tmp_path):
    path = write_t1(tmp_path / "a.json", {"a": "[1, 2, 3]", "b": "[1, 2]"}, ["a > 0", condition])
    line = path.read_text()[: path.read_text().rindex('"Expression"')].count("\n") + 1
    with pytest.raises(ValueError, match=rf"a.json: line {line}, column 19: condition .*: {message}"):
        read_space(path)


def test_places_are_those_of_the_values_and_not_of_equal_texts(tmp_path):
    path = write_t1(tmp_path / "a.json", {"a": [1, 2], "bb": [[1], [2]]})
    line = 1 + path.read_text()[: path.read_text().index('"bb"')].count("\n") + 2
    with pytest.raises(ValueError, match=rf"a.json: line {line}, column 15: bb: "):
        read_space(path)
    path = write_t1(tmp_path / "a.json", {"a": "[1, 2]", "b": "[3, 4]"}, ["b > 3", "[1, 2]", "b > c"])
    path.write_text(path.read_text().replace('"int"', '"b > c"', 1))
    line = 1 + path.read_text()[: path.read_text().rindex('"b > c"')].count("\n")
    with pytest.raises(ValueError, match=rf"a.json: line {line}, column 19: condition 'b > c': there is no"):
        read_space(path)


def test_a_configuration_that_is_measured_twice_makes_no_problem(tmp_path):
    path = tmp_path / "a.json"
    entries = {"1": {"a": 1, "time": 1}, "2": {"a": 2, "time": 3}, "1b": {"a": 1, "time": 9}}
    path.write_text(json.dumps({"tune_params": {"a": [1, 2]}, "cache": entries}, indent=1))
    with pytest.raises(ValueError, match=r"a.json: line 17, column 9: duplicate of {'a': 1}, first at .*: line 9, col"):
        read_problem(path)
    assert read_results(path)["value"].tolist() == [1.0, 3.0, 9.0]


def test_a_stored_space_with_conditions_is_whole(tmp_path, convolution):
    space, storage = read_space(convolution), tmp_path / "a.db"
    objective = lambda point: 1e3 / (point["block_size_x"] * point["tile_size_y"])  # noqa: E731
    bo.minimize(objective, space, 12, seed=0, storage=storage, name="a")
    with bo.Study.load(storage, "a") as study:
        assert study.domain.constraints == space.constraints
        trial = study.ask()
        assert all(rule(trial.point) for rule in space.constraints)
    assert bo.Space.from_json(json.loads(json.dumps(space.to_json()))) == space
    with pytest.raises(DomainError, match="expected a dict with a string expression"):
        bo.Space.from_json({**space.to_json(), "constraints": [{"expression": 3, "constants": []}]})
    with pytest.raises(DomainError, match="is not supported"):
        bo.Space.from_json({**space.to_json(), "constraints": [{"expression": "open('a')", "constants": []}]})
    with pytest.raises(DomainError, match="there is no variable 'z'"):
        bo.Space({"x": [1, 2]}, [Restriction("x < z")])


def test_a_condition_knows_the_values_that_all_points_share(convolution):
    space = read_space(convolution)
    shared = {"use_padding": 1, "block_size_x": 16}
    point = PartialPoint(shared, space.variables.keys() - shared.keys(), ())
    rules = [rule.simplify(point) for rule in space.constraints]
    assert rules[0] is True
    assert [rule.names for rule in rules[1:3]] == [("block_size_y",), ("use_shmem",)]
    assert rules[2]({"use_shmem": 1})
    assert not rules[2]({"use_shmem": 0})


def test_a_study_stored_with_functions_as_conditions_resumes(tmp_path, convolution):
    space, storage = read_space(convolution), tmp_path / "a.db"
    former = bo.Space(space.variables, [rule.__call__ for rule in space.constraints])
    objective = lambda point: 1e3 / (point["block_size_x"] * point["tile_size_y"])  # noqa: E731
    before = bo.minimize(objective, former, 6, seed=0, storage=storage, name="a")
    after = bo.minimize(objective, space, 12, seed=0, storage=storage, name="a")
    assert [one.point for one in after.trials[:6]] == [one.point for one in before.trials]
    whole = bo.minimize(objective, space, 12, seed=0)
    assert [one.point for one in after.trials] == [one.point for one in whole.trials]


def test_a_cache_file_is_a_problem(cache):
    problem = read_problem(cache)
    assert problem.space.variables == {"x": bo.Ordinal([16, 32, 64]), "y": bo.Binary()}
    assert len(problem.space.enumerate()) == 4
    assert (problem.optimum, problem({"x": 64, "y": True}).value) == (2.0, 3.5)
    assert problem({"x": 32, "y": True}).failed == "RuntimeFailedConfig"
    assert problem({"x": 16, "y": False}).infeasible == "InvalidConfig"
    result = bo.minimize(problem.objective, problem.space, 4, method="random", seed=0)
    assert (result.best_value, result.n_failed, result.n_infeasible) == (2.0, 1, 1)
    assert read_problem(cache, "GFLOP/s", "maximize").optimum == 20.0
    with pytest.raises(
        ValueError, match=r"objective: expected a measurement of .*cache.json, which has time, times, GFLOP/s; got"
    ):
        read_problem(cache, "energy")


def test_a_problem_by_name(cache):
    problem = problems.load(f"kernel-tuner:file={cache},objective=GFLOP/s,direction=maximize")
    assert problem.goals.direction == "maximize"
    assert problem.source == "Kernel Tuner: add on GPU"
    with pytest.raises(ValueError, match="relabel permutes choices"):
        problems.load(f"kernel-tuner:file={cache},relabel=3")


def test_a_cache_file_of_all_configurations_has_no_constraint(tmp_path):
    path = tmp_path / "a.json"
    entries = {str(x): {"x": x, "time": 1.0 * x} for x in (1, 2, 3)}
    path.write_text(json.dumps({"tune_params": {"x": [1, 2, 3]}, "cache": entries}))
    assert read_problem(path).space.constraints == ()


def test_a_cache_file_without_its_end_is_read(tmp_path, cache):
    path = tmp_path / "open.json"
    path.write_text(json.dumps(CACHE, indent=1).rstrip("} \n") + "},")
    assert read_results(path).equals(read_results(cache))
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(cache.read_bytes()))
    assert read_results(tmp_path / "a.json.gz").equals(read_results(cache))


def test_a_cache_file_with_other_values_is_refused(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"tune_params": {"x": [1, 2]}, "cache": {"3": {"x": 3, "time": 1.0}}}))
    with pytest.raises(ValueError, match="column 53: x: 3 in 'cache' is not in its values"):
        read_problem(path)
    path.write_text(json.dumps({"tune_params": {"x": [1, 2]}, "cache": {"3": {"time": 1.0}}}))
    with pytest.raises(ValueError, match=r"line 1, column 47: expected 'results' of a T4 file.*; 'x' is missing"):
        read_problem(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"results": None}, "a.json: line 1, column 1: expected 'results' of a T4 file"),
        ({"results": [1]}, "a.json: line 1, column 14: expected 'results' of a T4 file"),
        ({"results": [{"configuration": [1]}]}, "a.json: line 1, column 14: expected 'results' of a T4 file"),
        ({"results": [{}, {"a": 1}]}, "a.json: line 1, column 14: .*; 'configuration' is missing"),
        ({"tune_params": {"x": [1, 2]}, "cache": {"1": None}}, "a.json: line 1, column 47: expected 'results'"),
        ({"tune_params": {"x": [1, 2]}, "cache": []}, "a.json: line 1, column 1: expected 'results'"),
        ({"tune_params": {"x": [1]}, "cache": {"1": {"x": 1, "time": 3}}}, "expected a parameter with several values"),
        ({"results": []}, "objective: expected a measurement of .*a.json, which has none; got 'time'"),
    ],
)
def test_results_that_are_none_are_refused_with_their_place(content, message, tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=message):
        read_problem(path)


def test_a_value_that_no_float_holds_is_a_failure(tmp_path):
    path = tmp_path / "a.json"
    entries = {"1": {"x": 1, "time": 10**400}, "2": {"x": 2, "time": math.nan}, "3": {"x": 3, "time": 2}}
    path.write_text(json.dumps({"tune_params": {"x": [1, 2, 3]}, "cache": entries}))
    assert read_results(path)["status"].tolist() == ["failed", "failed", "completed"]
    assert read_problem(path).optimum == 2.0


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_json_is_read_in_each_of_its_encodings(encoding, tmp_path):
    path = write_t1(tmp_path / "a.json", {"x": "['\u00e4', 'b']"})
    path.write_text(path.read_text().replace("\n", "\r\n"), encoding=encoding)
    assert read_space(path).variables == {"x": bo.Categorical(["\u00e4", "b"])}


@pytest.mark.parametrize(
    ("conditions", "words"),
    [(["a > 3"], "a > 3"), (["a > 1", "b > 0", "a < 2"], "a > 1, a < 2"), (["one > 3"], "one > 3")],
)
def test_conditions_that_no_configuration_fulfills_are_refused(conditions, words, tmp_path):
    path = write_t1(tmp_path / "a.json", {"a": "[1, 2]", "b": "[1, 2]", "one": "[3]"}, conditions)
    with pytest.raises(DomainError, match=rf"a.json: line 1, column 1: constraints: no point satisfies {words}; leave"):
        read_space(path)


def test_results_are_added_to_a_study(tmp_path, cache):
    path = tmp_path / "T4.json"
    path.write_text(json.dumps(RESULTS))
    frame = read_results(path)
    assert frame.columns.tolist() == ["x", "z", "y", "value", "status", "reason", "attribute.energy"]
    study = bo.Study(read_space(cache), method="random", seed=0)
    added = study.add_frame(frame)
    assert [(one.status, one.value, one.reason) for one in added] == [
        ("completed", 3.5, None), ("failed", None, "compile"), ("infeasible", None, "constraints")
    ]  # fmt: skip
    assert (added[0].point, added[0].attributes) == ({"x": 64, "y": True}, {"energy": 0.25})
    with pytest.raises(ValueError, match="expected a cache file"):
        read_problem(path)
    path.write_text(json.dumps({"results": [{**RESULTS["results"][0], "configuration": {"value": 1}}]}))
    with pytest.raises(ValueError, match="no parameter called 'value'"):
        read_results(path)
