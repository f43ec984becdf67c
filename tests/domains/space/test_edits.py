"""Edits of sequences: all that are one letter away, each once, by equal chances; and how two sequences are crossed."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.edits import count_edits, count_slots, edit_slot


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


def test_a_slot_leads_there_by_the_same_chance_as_back():
    """Each of all slots, from each sequence of one to three letters of three."""
    variable = bo.Sequence("ABC", (1, 3))
    reached = {}
    for row in variable.enumerate():
        ends = [tuple(edit_slot(row, slot, 3, 1).tolist()) for slot in range(count_slots(3, 3, 1))]
        reached[tuple(row.tolist())] = Counter(end for end in ends if end != tuple(row.tolist()))
        assert sum(count_edits(row, 3, 1)) == len(reached[tuple(row.tolist())])
    assert all(reached[other][row] == count == 1 for row, found in reached.items() for other, count in found.items())
