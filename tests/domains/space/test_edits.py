"""Edits of sequences: all that are one letter away, each once, by equal chances; and how two sequences are crossed."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.sequence import move_letters


def brute_force_neighbors(text, letters, shortest, longest):
    swapped = {text[:i] + c + text[i + 1 :] for i in range(len(text)) for c in letters}
    longer = {text[:i] + c + text[i:] for i in range(len(text) + 1) for c in letters} if len(text) < longest else set()
    shorter = {text[:i] + text[i + 1 :] for i in range(len(text))} if len(text) > shortest else set()
    return (swapped | longer | shorter) - {text}


@pytest.mark.parametrize(("letters", "shortest", "longest"), [("AB", 1, 4), ("ABC", 2, 4), ("ABC", 3, 3)])
def test_neighbors_are_all_sequences_one_edit_away(letters, shortest, longest):
    variable = bo.Sequence(letters, (shortest, longest))
    for n in range(shortest, longest + 1):
        for text in map("".join, product(letters, repeat=n)):
            found = [variable.present(row) for row in variable.neighbors(variable.parse(text)).tolist()]
            assert len(found) == len(set(found))
            assert set(found) == brute_force_neighbors(text, letters, shortest, longest)


def test_a_child_has_a_stretch_of_each_parent_at_its_place():
    rng, variable = np.random.default_rng(0), bo.Sequence("AB", (2, 9))
    mine, theirs = variable.parse("AAAAAAA"), variable.parse("BBBB")
    children = {variable.present(variable.cross(mine, theirs, rng)) for _ in range(300)}
    assert children == {"B" * i + "A" * (j - i) + "B" * (4 - j) for i in range(4) for j in range(i + 1, 5)}
    counted = [variable.parse(text) for text in ("AABBAABB", "BB")]
    aligned = {variable.present(variable.cross(*counted, rng)) for _ in range(300)}
    assert aligned == {"AB", "BA", "AA", "BB"}


@pytest.mark.parametrize(("shortest", "longest"), [(1, 3), (3, 3)])
def test_walks_of_moves_draw_all_lengths_alike(shortest, longest):
    """The chances of all edits, from each sequence of up to three letters of three, keep the chances of draws."""
    variable = bo.Sequence("ABC", (shortest, longest))
    rows, n = variable.enumerate(), 7_200
    chances = dict(zip(map(tuple, rows.tolist()), variable.chances(rows).tolist(), strict=True))
    arrived = Counter()
    for row, chance in chances.items():
        ends = Counter(tuple(variable.move(row, (i + 0.5) / n)) for i in range(n))
        assert ends.keys() - {row} == {tuple(other) for other in variable.neighbors(row).tolist()}
        for end, count in ends.items():
            arrived[end] += chance * count / n
    assert arrived == pytest.approx(chances, rel=1e-9)


def test_moves_of_one_length_replace_a_letter():
    """As they always did: each of the eight slots of four letters of three."""
    ends = [move_letters(np.array([0, 1, 2, 0]), (slot + 0.5) / 8, 3, 4).tolist() for slot in range(8)]
    assert ends[:3] == [[1, 1, 2, 0], [2, 1, 2, 0], [0, 2, 2, 0]]
    assert ends[-1] == [0, 1, 2, 2]
