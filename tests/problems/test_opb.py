"""Pseudo-Boolean problems: files, the objective against direct evaluation, refusals."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bostruct import problems
from bostruct.problems.base import SpaceProblem, prove_by_enumeration, relabel
from bostruct.problems.opb import opb

TEXT = """* #variable= 4 #constraint= 4
* a constraint over two lines, two in one
min: +2 x1 -1 ~x3
  +4 x2;
+1 x1 +1 x2 >= 1 ; 1 x3 2 ~x1 +1 x4 = 2;
-3 x1 +1 x4
<= 0 ;
"""


def load(path: Path, text: str) -> SpaceProblem:
    path.write_text(text)
    return opb(path)


def test_a_file_is_read_as_it_is_evaluated_by_hand(tmp_path):
    problem = load(tmp_path / "a.opb", TEXT)
    assert list(problem.space.variables) == ["x1", "x3", "x2", "x4"]
    for bits in np.ndindex(2, 2, 2, 2):
        a, c, b, d = bits
        cost = 2 * a - (1 - c) + 4 * b
        broken = (a + b < 1) + (c + 2 * (1 - a) + d != 2) + (-3 * a + d > 0)
        assert problem(dict(zip(("x1", "x3", "x2", "x4"), map(bool, bits), strict=True))) == cost + 8 * broken
    assert prove_by_enumeration(problem).optimum == 2.0


def test_it_is_loaded_by_name_compressed_and_relabeled(tmp_path):
    plain = load(tmp_path / "a.opb", TEXT)
    (tmp_path / "b.opb.gz").write_bytes(gzip.compress(TEXT.encode()))
    packed = problems.load(f"opb:file={tmp_path / 'b.opb.gz'}")
    assert isinstance(packed, SpaceProblem)
    points = plain.space.enumerate()
    np.testing.assert_array_equal(packed.evaluate(points), plain.evaluate(points))
    assert sorted(relabel(packed, 3).evaluate(points)) == sorted(plain.evaluate(points))
    assert len(packed.initial_points(1)) == 20


def test_what_is_maximized_counts_as_negative_and_without_an_objective_broken_constraints_count(tmp_path):
    most = prove_by_enumeration(load(tmp_path / "a.opb", "max: 3 a -2 b 5 ~c;\n1 a 1 b 1 c >= 2;\n"))
    assert (most.optimum, most.optimal_point) == (-3 + 2 - 5, {"a": True, "b": True, "c": False})
    none = load(tmp_path / "b.opb", "1 a 1 b >= 1;\n1 a 1 b <= 1;\n2 a -2 b = 1;\n")
    assert none.evaluate(none.space.enumerate()).tolist() == [2.0, 1.0, 1.0, 2.0]


@st.composite
def sums(draw):
    coefficient, literal = st.integers(-9, 9), st.tuples(st.booleans(), st.sampled_from("abcd"))
    return draw(st.lists(st.tuples(coefficient, literal), min_size=1, max_size=6))


def write(terms) -> str:
    return " ".join(f"{number:+d} {'~' * negated}{name}" for number, (negated, name) in terms)


def add(terms, point) -> int:
    return sum(number * (point[name] != negated) for number, (negated, name) in terms)


@settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    objective=sums(),
    rows=st.lists(st.tuples(sums(), st.sampled_from([">=", "<=", "="]), st.integers(-9, 9)), max_size=5),
)
def test_breaking_a_constraint_is_never_worth_it_and_costs_add_up(tmp_path, objective, rows):
    lines = [f"min: {write(objective)} ;", *(f"{write(terms)} {sign} {bound} ;" for terms, sign, bound in rows)]
    problem = load(tmp_path / "a.opb", "\n".join(lines))
    keeps = {">=": int.__ge__, "<=": int.__le__, "=": int.__eq__}
    kept, broken = [], []
    for x in problem.space.enumerate():
        point = problem.space.present(x)
        n_broken = sum(not keeps[sign](add(terms, point), bound) for terms, sign, bound in rows)
        if n_broken:
            broken.append(problem(point))
        else:
            assert problem(point) == add(objective, point)
            kept.append(problem(point))
    assert not kept or not broken or max(kept) < min(broken)


REFUSED = [
    ("min 1 a;\n", "line 1, column 1: expected a coefficient .*, got 'min'"),
    ("min:: 1 a;\n", "line 1, column 5: expected a coefficient .*, got ':'"),
    ("min: xmin: 1;\n", "line 1, column 6: expected a coefficient .*, got 'xmin'"),
    ("min: 1 a;\n\n1 a >= 1; 1 y 2 y z >= 1;\n\n", "line 3, column 19: expected a coefficient .*, got 'z'"),
    ("min: 1 a;\n1 a >= 1 1;\n", "line 2, column 10: expected a constraint such as .*, got '1'"),
    (f"min: {'9' * 5000} a;\n", r"line 1, column 6: expected integers of at most 2\^53"),
    ("min: 1 a\n\n", "line 2, column 1: expected ';' at the end of the statement; the file ends"),
    ("", "a.opb, line 1, column 1: expected a variable, got none; the file ends"),
    ("* only a comment\n", "a.opb, line 1, column 17: expected a variable"),
    ("min: 1 a;\nmin: 1 b;\n", "line 2, column 9: expected at most one objective"),
    ("1 a 1 b >= 1\n", "line 1, column 13: expected ';' at the end of the statement; the file ends"),
    ("1 a\n1 a b >= 1;\n", "line 2, column 5: expected a coefficient and one variable, as in .*, got 'b'"),
    ("a >= 1;\n", "line 1, column 1: expected a coefficient and one variable, .*, got 'a'"),
    ("1 2 >= 1;\n", "line 1, column 3: expected a coefficient and one variable, .*, got '1 2'"),
    ("1_0 a >= 1;\n", "line 1, column 1: expected a coefficient and one variable, .*, got '1_0'"),
    ("1.5 a >= 1;\n", "line 1, column 1: expected a coefficient and one variable, .*, got '1.5'"),
    ("1 a > 1;\n", "line 1, column 5: expected a coefficient and one variable, .*, got '>'"),
    ("1 a >= b;\n", "line 1, column 8: expected a bound, got 'b'"),
    (";\n", "line 1, column 1: expected a constraint such as"),
    ("soft: 6 ;\n[4] 1 a >= 1;\n", "line 1, column 1: expected a coefficient .*, got 'soft'"),
    ("9007199254740993 a >= 1;\n", r"line 1, column 1: expected integers of at most 2\^53"),
    ("1 a >= -9007199254740993;\n", r"line 1, column 8: expected integers of at most 2\^53, got '-9007199254740993'"),
    ("9007199254740992 a 1 b >= 1;\n", r"line 1, column 22: expected coefficients with a sum of at most 2\^53"),
    (f"{'1 a ' * 20_001} >= 1;\n1 a >= 1", "line 2, column 9: expected ';' at the end"),
    (f"{'1 a ' * 20_001}\n", "line 1, column 80004: expected ';' at the end"),
    ("".join(f"1 x{i} >= 0;\n" for i in range(10_001)), "line 10001, column 3: expected at most 10000 variables"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=range(len(REFUSED)))
def test_a_malformed_file_is_refused_with_its_line(tmp_path, text, message):
    with pytest.raises(ValueError, match=message) as caught:
        load(tmp_path / "a.opb", text)
    assert str(caught.value).startswith(str(tmp_path / "a.opb"))
