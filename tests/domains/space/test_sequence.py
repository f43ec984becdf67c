"""Sequences of letters as a variable: the laws, what users write and read, refusals, edits and crossings."""

from itertools import product

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, Exact, PointError
from bostruct.domains.space.sampling import random_walk
from bostruct.testing import check_domain, check_variable

RNA = bo.Sequence("ACGU", (2, 5))
PHRASE = bo.Sequence(["up", 7, None], 3)


@pytest.mark.parametrize(
    ("letters", "length"), [("AB", 3), ("AB", (1, 3)), ([0, [1], None], (1, 2)), ("ACGU", (3, 12))]
)
def test_laws(letters, length):
    check_variable(bo.Sequence(letters, length), np.random.default_rng(0))


def test_a_space_with_sequences_obeys_the_laws():
    variables = {"s": RNA, "c": list("abc"), "t": bo.Sequence("XY", 3, when={"c": "b"}), "r": bo.Real(0, 1)}
    check_domain(bo.Space(variables), np.random.default_rng(0))
    ruled = bo.Space({"s": bo.Sequence("AB", (1, 4)), "b": bool}, [lambda point: "AA" not in point["s"]])
    check_domain(ruled, np.random.default_rng(1), rebuildable=False)


def test_points_have_texts_or_tuples():
    space = bo.Space({"s": RNA, "p": PHRASE})
    x = space.parse({"s": "GAU", "p": [7, 7, None]})
    assert (x.tolist(), space.present(x)) == ([2, 0, 3, 4, 4, 1, 1, 2], {"s": "GAU", "p": (7, 7, None)})
    other = space.parse({"s": list("GAU"), "p": np.array(["up", 7, None], dtype=object)})
    assert space.present(other) == {"s": "GAU", "p": ("up", 7, None)}


def test_counts_lists_and_chances_are_exact():
    assert RNA.size == sum(4**n for n in range(2, 6))
    every = {"".join(letters) for n in range(2, 6) for letters in product("ACGU", repeat=n)}
    assert {RNA.present(row) for row in RNA.enumerate().tolist()} == every
    assert bo.Space({"s": RNA, "b": bool}).count() == Exact(2 * RNA.size)
    long = bo.Sequence("ABCDEF", (100, 500))
    assert bo.Space({"s": long}).n_points == sum(6**n for n in range(100, 501))
    assert long.chances(np.zeros((1, 500), dtype=np.int64)).tolist() == [0.0]
    assert RNA.chances(RNA.enumerate()[[0, -1]]) == pytest.approx([1 / (4 * 4**2), 1 / (4 * 4**5)])
    assert PHRASE.chances(PHRASE.enumerate()) == pytest.approx(1 / 27)
    with pytest.raises(DomainError, match="not listed"):
        long.enumerate()


def test_as_many_sequences_are_listed_as_points_of_a_space():
    space = bo.Space({"s": bo.Sequence("ACGT", 8)}, constraints=[lambda point: point["s"].startswith("ACGTACG")])
    assert space.size == 4


def test_all_lengths_are_drawn_alike_and_all_sequences_of_one():
    rows = bo.Sequence("AB", (1, 9)).sample(20_000, np.random.default_rng(0))
    lengths = (rows != 2).sum(axis=1)
    assert np.bincount(lengths, minlength=10)[1:] / 20_000 == pytest.approx(np.full(9, 1 / 9), abs=0.01)
    assert np.bincount(rows[lengths == 3][:, :3] @ [4, 2, 1]) * 8 / (lengths == 3).sum() == pytest.approx(1, abs=0.2)


def test_draws_of_one_length_are_what_they_were():
    rows = bo.Sequence("ACGU", 6).sample(5, np.random.default_rng(3))
    assert rows.tolist() == np.random.default_rng(3).integers(0, 4, size=(5, 6)).tolist()


def is_short(point):
    return len(point["s"]) <= 8


def test_constraints_and_conditions_on_the_length_are_met_by_draws():
    space, rng = bo.Space({"s": bo.Sequence("ACGT", (4, 24)), "b": bool}, [is_short]), np.random.default_rng(0)
    lengths = [len(space.present(x)["s"]) for x in space.sample(2_000, rng)]
    assert np.bincount(lengths)[4:] / 2_000 == pytest.approx(np.full(5, 1 / 5), abs=0.04)
    inner = bo.Real(0, 1, when={"s": lambda s: len(s) < 8})
    branches = bo.Space({"s": bo.Sequence("ACGT", (4, 24)), "r": inner}).sample(2_000, rng)
    assert np.mean(branches[:, -1] >= 0) == pytest.approx(4 / 21, abs=0.04)


def test_lists_and_walks_draw_all_lengths_alike():
    """Of 126 listed points under a tight constraint, and of a walk over valid points alone."""
    rare = {"k": list(range(100)), "s": bo.Sequence("AB", (1, 6))}
    listed = bo.Space(rare, [lambda point: point["k"] == 7]).sample(3_000, np.random.default_rng(0))
    assert np.bincount((listed[:, 1:] != 2).sum(axis=1))[1:] / 3_000 == pytest.approx(np.full(6, 1 / 6), abs=0.04)
    space, lengths = bo.Space({"s": bo.Sequence("AB", (3, 6))}, [lambda point: point["s"][:1] == "A"]), []
    x, rng = space.parse({"s": "AAAAAA"}), np.random.default_rng(0)
    for _ in range(1_500):
        x, _ = random_walk(space, x, 8, rng)
        lengths.append(len(space.present(x)["s"]))
    assert np.bincount(lengths)[3:] / 1_500 == pytest.approx(np.full(4, 1 / 4), abs=0.07)


REFUSED = [
    ("A", 5, r"Sequence: expected 2 to 100 letters, got 1: \['A'\]"),
    ("ACCA", 5, r"Sequence: expected distinct letters, got '[AC]' more than once"),
    ([1.0, float("nan")], 5, r"Sequence: each letter must equal itself and be comparable, got nan"),
    ({"A", "B"}, 5, r"Sequence: expected a sequence of letters, got "),
    (range(101), 5, r"Sequence: expected 2 to 100 letters, got 101"),
    ("AB", 1, r"Sequence: length: expected an integer .*, or \(shortest, longest\) with 1 <= .*, got 1$"),
    ("AB", 501, r"Sequence: length: expected an integer from 2 to 500, .*, got 501"),
    ("AB", (5, 3), r"Sequence: length: .*, got \(5, 3\)"),
    ("AB", (0, 3), r"Sequence: length: .*, got \(0, 3\)"),
    ("AB", (1, 2, 3), r"Sequence: length: .*, got \(1, 2, 3\)"),
    ("AB", 2.0, r"Sequence: length: .*, got 2.0"),
    ("AB", True, r"Sequence: length: .*, got True"),
    (range(50), 201, r"Sequence: expected letters times length of at most 10,000, got 50 letters times 201"),
]


@pytest.mark.parametrize(("alphabet", "length", "message"), REFUSED)
def test_what_is_no_sequence_is_refused(alphabet, length, message):
    with pytest.raises(DomainError, match=message):
        bo.Sequence(alphabet, length)


REFUSED_VALUES = [
    (RNA, "ACGT", r"expected one of \['A', 'C', 'G', 'U'\], got 'T'"),
    (RNA, "A", "expected 2 to 5 letters, got 1: "),
    (RNA, "ACGUAC", "expected 2 to 5 letters, got 6: "),
    (RNA, 5, "expected a string of 2 to 5 letters, got 5"),
    (PHRASE, "up7", "expected a list or tuple of 3 letters, got 'up7'"),
    (PHRASE, ["up", 7, 8], "expected one of .*, got 8"),
]


@pytest.mark.parametrize(("variable", "value", "message"), REFUSED_VALUES)
def test_bad_values_are_refused(variable, value, message):
    with pytest.raises(PointError, match=message):
        variable.parse(value)
    with pytest.raises(DomainError, match=f"Sequence: default: {message}"):
        bo.Sequence(list(variable.letters) if variable is PHRASE else "ACGU", variable._length, default=value)


@pytest.mark.parametrize("columns", [[0, 4, 1, 4, 4], [0, 4, 4, 4, 4], [0, 5, 4, 4, 4], [-1, 0, 0, 0, 0]])
def test_end_marks_are_behind_the_letters_alone(columns):
    with pytest.raises(PointError, match=r"expected 2 to 5 letters in 0..3, followed by 4, got "):
        RNA.check(columns)


@pytest.mark.parametrize(("before", "after"), [("ACGU", list("UGCA")), (list("ACGU"), "UGCA")])
def test_texts_and_lists_of_the_same_letters_read_each_other(before, after):
    old, new = bo.Sequence(before, (2, 4)), bo.Sequence(after, (2, 4))
    x = old.parse(list("GAU"))
    assert list(new.present(new.decode_from(old.encode(x), old.to_json()))) == list("GAU")
    with pytest.raises(PointError, match=r"expected one of .*, got 'U'"):
        bo.Sequence(list("ACG"), 3).decode_from(old.encode(x), old.to_json())
