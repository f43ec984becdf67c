"""Edits of a sequence of letters: one letter is another, is new, or is left out.

A sequence is a row of L columns. Its letters are 0 to k - 1, and the end mark k stands in each column after the last of
them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.contracts import IntArray
from bostruct.domains.space.variable import pick

LENGTH_SHARE = 0.25  # of moves that put a letter in, and of those that leave one out


class EditCounts(NamedTuple):
    """How many different sequences are one edit away.

    substitutions, insertions, deletions: of each kind of edit.
    """

    substitutions: int
    insertions: int
    deletions: int


def count_edits(row: IntArray, n_letters: int, shortest: int) -> EditCounts:
    """Count the sequences one edit away from a sequence.

    row: columns of the sequence (L,), which is as long as any may be.
    n_letters: k, at least 2.
    shortest: the least length, from which no letter is left out.

    A letter that goes in before its like makes the same sequence as one that goes in behind: one insertion. So do two
    letters of a stretch of one letter that are left out: one deletion.
    """
    n = count_letters(row, n_letters)
    insertions = n * (n_letters - 1) + n_letters if n < len(row) else 0
    return EditCounts(n * (n_letters - 1), insertions, len(_stretch_starts(row, n)) if n > shortest else 0)


def count_letters(row: IntArray, n_letters: int) -> int:
    """Return the length of a sequence.

    row: columns of the sequence (L,).
    n_letters: k, the end mark.
    """
    return int(np.count_nonzero(row != n_letters))


def edit(row: IntArray, numbers: IntArray, n_letters: int, shortest: int) -> IntArray:
    """Return the sequences that some edits make (m, L).

    row: columns of the sequence (L,).
    numbers: which of the edits, in 0..sum(counts) - 1 (m,): the substitutions, the insertions, then the deletions, each
        by place.
    n_letters, shortest: as of `count_edits`.
    """
    counts, places = count_edits(row, n_letters, shortest), np.arange(len(row))
    n, others = count_letters(row, n_letters), n_letters - 1
    rows = np.repeat(row[None], len(numbers), axis=0)
    which = np.flatnonzero(numbers < counts.substitutions)
    at, step = np.divmod(numbers[which], others)
    rows[which, at] = (row[at] + 1 + step) % n_letters
    rest = numbers - counts.substitutions
    which = np.flatnonzero((rest >= 0) & (rest < counts.insertions))
    at = np.minimum(rest[which] // others, n)
    step = rest[which] - at * others
    rows[which] = row[places - (places > at[:, None])]
    rows[which, at] = np.where(at < n, (row[at] + 1 + step) % n_letters, step)
    rest -= counts.insertions
    which = np.flatnonzero(rest >= 0)
    at = _stretch_starts(row, n)[rest[which]]
    rows[which] = np.append(row, n_letters)[places + (places >= at[:, None])]
    return rows


def move_letters(row: IntArray, share: float, n_letters: int, shortest: int) -> IntArray:
    """Return the sequence that an edit makes (L,); walks of such edits draw all lengths alike, and all of one length.

    row: columns of the sequence (L,).
    share: a uniform number in [0, 1), which chooses the edit.
    n_letters, shortest: as of `count_edits`.

    A quarter of the shares put a letter in and a quarter leave one out, where that is allowed; the rest replace one.
    There are as many places to put a letter in as the longer sequence has letters to leave out, and k letters to choose
    from. So the way there has 1 / k of the chance of the way back, and so has the longer sequence in a draw.
    """
    n, others = count_letters(row, n_letters), n_letters - 1
    longer, shorter = LENGTH_SHARE * (n < len(row)), LENGTH_SHARE * (n > shortest)
    if share < longer:
        at, letter = divmod(pick(share / longer, (n + 1) * n_letters), n_letters)
        return np.concatenate([row[:at], [letter], row[at:-1]])
    share -= longer
    if share < shorter:
        at = pick(share / shorter, n)
        return np.concatenate([row[:at], row[at + 1 :], [n_letters]])
    at, step = divmod(pick((share - shorter) / (1.0 - longer - shorter), n * others), others)
    moved = row.copy()
    moved[at] = (row[at] + 1 + step) % n_letters
    return moved


def cross_letters(mine: IntArray, theirs: IntArray, n_letters: int, rng: np.random.Generator) -> IntArray:
    """Return the second sequence with a stretch of the first in its place (L,): two-point crossover.

    mine, theirs: columns of the sequences (L,).
    n_letters: k, the end mark.
    rng: draws the stretch, and at which end two sequences of different lengths are aligned.
    """
    n, m = count_letters(mine, n_letters), count_letters(theirs, n_letters)
    first, last = sorted(rng.choice(min(n, m) + 1, size=2, replace=False).tolist())
    from_end = n != m and rng.random() < 0.5
    child, here, there = theirs.copy(), n - min(n, m) if from_end else 0, m - min(n, m) if from_end else 0
    child[there + first : there + last] = mine[here + first : here + last]
    return child


def are_sequences(rows: IntArray, n_letters: int, shortest: int) -> npt.NDArray[np.bool_]:
    """Tell which rows are sequences of letters, long enough, with end marks at their ends alone (m,).

    rows: integers (m, L).
    n_letters, shortest: as of `count_edits`.
    """
    is_end = rows == n_letters
    known = (rows >= 0) & (rows <= n_letters)
    ends_stay = (is_end[:, 1:] >= is_end[:, :-1]).all(axis=1)
    return known.all(axis=1) & ends_stay & (np.count_nonzero(~is_end, axis=1) >= shortest)


def _stretch_starts(row: IntArray, n: int) -> IntArray:
    """Return the places at which a stretch of one letter begins, ascending.

    n: the length of the sequence.
    """
    return np.flatnonzero(np.concatenate([[True], row[1:n] != row[: n - 1]])[:n])
