"""A variable whose values are sequences over an alphabet, and the edits that transform one sequence into another.

A sequence is a row of L columns. Its letters are 0 to k - 1, and each column after the last letter has the end mark k.
An edit substitutes, inserts or deletes a letter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from collections.abc import Sequence as AnySequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bostruct.checks import short_repr
from bostruct.contracts import Array, DomainError, IntArray, Json, ParsedJson, PointError, Presented
from bostruct.domains.space.choice_json import choices_from_json
from bostruct.domains.space.choices import check_choices, list_entries, to_python
from bostruct.domains.space.clauses import When, check_when
from bostruct.domains.space.discrete import Categorical
from bostruct.domains.space.variable import MAX_ENUMERATED, NO_DEFAULT, Variable, pick, refuse_list_of_another_kind

MAX_LETTERS = 100
MAX_LENGTH = 500
MAX_CELLS = 10_000  # letters times places: the entries that a kernel distinguishes, and half of the neighbors
DEGREES = 10  # per place: lengthscales longer than for as many single choices, which predict better
LENGTH_SHARE = 0.25  # share of moves that insert a letter, and of moves that delete one
Length = int | tuple[int, int]


class Sequence(Variable):
    """A variable whose values are sequences over an alphabet, with any letter in any place.

    A value is a string if the alphabet is a string, otherwise a tuple of letters. Neighbors replace a letter, or insert
    or remove one if the length varies. When drawn, each length has the same probability, and so has each sequence of
    one length.

    Parameters
    ----------
    alphabet : str or iterable
        2 to 100 distinct letters, such as "ACGU", or any other values.
    length : int or tuple of (int, int)
        The length, 2 to 500, or the shortest and the longest length, with the shortest at least 1. The number of
        letters times the longest length is at most 10,000.
    when : dict, optional
        Conditions under which a point has the variable, see `Space`. By default every point has it.
    default : object, optional
        The value of trials from before the variable was added to the space, see docs/space-changes.md.

    Raises
    ------
    DomainError, TypeError, ValueError
        If an argument is invalid.
    """

    def __init__(
        self, alphabet: Iterable[object], length: Length, *, when: When | None = None, default: object = NO_DEFAULT
    ) -> None:
        self.is_text = isinstance(alphabet, str)
        letters = list(alphabet) if isinstance(alphabet, str) else alphabet
        self._letter = Categorical(check_choices(self.kind, letters, "letter", MAX_LETTERS))
        self.letters = self._letter.choices
        self.shortest, self.longest = _check_length(self.kind, length)
        if len(self.letters) * self.longest > MAX_CELLS:
            got = f"{len(self.letters)} letters times {self.longest}"
            raise DomainError(f"{self.kind}: expected letters times length of at most {MAX_CELLS:,}, got {got}")
        self.width, self.n_codes = self.longest, len(self.letters) + 1  # with the end mark
        self.degrees = DEGREES * self.longest
        self.is_even = self.shortest == self.longest
        self.when = check_when(self.kind, when)
        self.default_columns = self.read_default(default)

    @property
    def arguments(self) -> str:
        alphabet: Presented = "".join(self.letters) if self.is_text else list(self.letters)
        return f"{short_repr(alphabet)}, length={self._length}"

    @property
    def size(self) -> int:
        """The number of sequences of all lengths."""
        return sum(len(self.letters) ** n for n in range(self.shortest, self.longest + 1))

    def sample(self, m: int, rng: np.random.Generator) -> IntArray:
        """Draw m sequences, the length of each uniformly, then its letters (m, L), followed by end marks."""
        k = len(self.letters)
        rows = rng.integers(0, k, size=(m, self.longest))
        if self.shortest < self.longest:
            drawn = rng.integers(self.shortest, self.longest + 1, size=(m, 1))
            rows[np.arange(self.longest) >= drawn] = k
        return rows

    def chances(self, values: IntArray) -> Array:
        """Return the probability with which `sample` draws each sequence (m,), 0 if it underflows."""
        k, n_lengths = len(self.letters), self.longest + 1 - self.shortest
        return np.exp(-math.log(k) * np.count_nonzero(values != k, axis=1)) / n_lengths

    def neighbors(self, columns: AnySequence[int], large_steps: bool = False) -> IntArray:
        """List the sequences one edit away (m, L): the substitutions, the insertions, then the deletions, by place."""
        row = np.asarray(columns, dtype=np.int64)
        return self._edit(row, np.arange(self.count_neighbors(columns)))

    def count_neighbors(self, columns: AnySequence[int], large_steps: bool = False) -> int:
        return sum(count_edits(np.asarray(columns, dtype=np.int64), len(self.letters), self.shortest))

    def sample_neighbors(
        self, columns: AnySequence[int], m: int, rng: np.random.Generator, large_steps: bool = False
    ) -> IntArray:
        """Draw sequences one edit away (m, L) without listing them, with equal probabilities."""
        row = np.asarray(columns, dtype=np.int64)
        total = self.count_neighbors(columns)
        chosen = np.arange(total) if total <= m else np.sort(rng.choice(total, size=m, replace=False))
        return self._edit(row, chosen)

    def move(self, columns: AnySequence[int], share: float) -> list[int]:
        """Return a sequence one edit away; in half of the cases it has another length, if the length varies."""
        return move_letters(np.asarray(columns, dtype=np.int64), share, len(self.letters), self.shortest).tolist()

    def cross(self, mine: AnySequence[int], theirs: AnySequence[int], rng: np.random.Generator) -> list[int]:
        """Return a child of two sequences: the second, with a segment replaced by that of the first.

        Sequences of different lengths are aligned at their first letters, or at their last ones.
        """
        rows = [np.asarray(columns, dtype=np.int64) for columns in (mine, theirs)]
        return cross_letters(rows[0], rows[1], len(self.letters), rng).tolist()

    def check(self, columns: AnySequence[int]) -> None:
        """Raise PointError unless the columns are letters of a sequence, followed by end marks."""
        if not are_sequences(np.array([columns], dtype=np.int64), len(self.letters), self.shortest)[0]:
            k = len(self.letters)
            raise PointError(
                f"expected {_describe(self._length)} letters in 0..{k - 1}, followed by {k}, got {list(columns)}"
            )

    def parse(self, value: object) -> list[int]:
        """Return the positions of letters; raise PointError for a wrong length or another letter."""
        value = list_entries(value)
        if self.is_text and isinstance(value, str):
            value = list(value)
        if not isinstance(value, list | tuple):
            form = "a string" if self.is_text else "a list or tuple"
            raise PointError(f"expected {form} of {_describe(self._length)} letters, got {short_repr(value)}")
        return self._read(value, self._letter.parse)

    def present(self, columns: AnySequence[int]) -> Presented:
        """Return the string, or a tuple of the letters, copied if they are mutable."""
        letters = tuple(self._letter.present([letter]) for letter in self._cut(columns))
        return "".join(letters) if self.is_text else letters

    def encode(self, columns: AnySequence[int]) -> Json:
        """Return the string, or a list of the letters, as positions if JSON cannot represent them."""
        letters = [self._letter.encode([letter]) for letter in self._cut(columns)]
        return "".join(map(str, letters)) if self.is_text else letters

    def decode(self, data: ParsedJson) -> list[int]:
        return self._decode_each(data, self._letter.decode)

    def decode_from(self, data: ParsedJson, description: ParsedJson) -> AnySequence[int]:
        """Rebuild the positions of letters that another variable encoded; raise PointError if this variable lacks them.

        Python objects, which files do not store, are distinguished by their `repr`.
        """
        if self.has_values_of(description):
            return self.decode(data)
        if isinstance(data, str) and isinstance(description.get("alphabet"), str):  # its letters may be among these
            data = list(data)
        refuse_list_of_another_kind(self, data, description)
        return self._decode_each(data, self._letter.read_choices_of(list(description.get("alphabet") or ())))

    def enumerate(self) -> IntArray:
        """List all sequences if they are at most 100,000 (size, L), short ones first; otherwise raise DomainError."""
        if self.size > MAX_ENUMERATED:
            return super().enumerate()
        k = len(self.letters)
        return np.array(
            [
                (*letters, *[k] * (self.longest - n))
                for n in range(self.shortest, self.longest + 1)
                for letters in itertools.product(range(k), repeat=n)
            ],
            dtype=np.int64,
        )

    def describe(self) -> dict[str, Json]:
        """Return the alphabet and the length as JSON."""
        length = self._length
        alphabet: Json = "".join(self.letters) if self.is_text else self._letter.describe()["choices"]
        return {"alphabet": alphabet, "length": length if isinstance(length, int) else list(length)}

    @classmethod
    def from_json(cls, data: ParsedJson) -> Sequence:
        alphabet, length = data["alphabet"], data["length"]
        letters = alphabet if isinstance(alphabet, str) else choices_from_json(alphabet)
        return cls(letters, tuple(length) if isinstance(length, list) else length)

    @property
    def _length(self) -> Length:
        return self.longest if self.shortest == self.longest else (self.shortest, self.longest)

    def _cut(self, columns: AnySequence[int]) -> list[int]:
        """Return the positions of the letters, without end marks."""
        return [int(letter) for letter in columns if letter != len(self.letters)]

    def _edit(self, row: IntArray, numbers: IntArray) -> IntArray:
        return edit(row, numbers, len(self.letters), self.shortest)

    def _decode_each(self, data: ParsedJson, decode: Callable[[ParsedJson], AnySequence[int]]) -> list[int]:
        if not isinstance(data, list) and not (self.is_text and isinstance(data, str)):
            form = "a string" if self.is_text else "a list"
            raise PointError(f"expected {form} of {_describe(self._length)} letters, got {short_repr(data)}")
        return self._read(list(data), decode)

    def _read(self, letters: AnySequence[ParsedJson], read: Callable[[ParsedJson], AnySequence[int]]) -> list[int]:
        """Return the columns of letters; raise PointError if there are too few or too many."""
        if not self.shortest <= len(letters) <= self.longest:
            raise PointError(f"expected {_describe(self._length)} letters, got {len(letters)}: {short_repr(letters)}")
        found = [read(letter)[0] for letter in letters]
        return found + [len(self.letters)] * (self.longest - len(found))


def _check_length(kind: str, length: object) -> tuple[int, int]:
    """Return the least and the greatest length; raise DomainError if they are invalid."""
    bounds = [to_python(n) for n in length] if isinstance(length, list | tuple) else [to_python(length)] * 2
    is_right = len(bounds) == 2 and all(type(n) is int for n in bounds)
    if not is_right or not 1 <= bounds[0] <= bounds[1] or not 2 <= bounds[1] <= MAX_LENGTH:
        allowed = f"an integer from 2 to {MAX_LENGTH}, or (shortest, longest) with 1 <= shortest <= longest"
        raise DomainError(f"{kind}: length: expected {allowed}, got {short_repr(length)}")
    return bounds[0], bounds[1]


def _describe(length: Length) -> str:
    return str(length) if isinstance(length, int) else f"{length[0]} to {length[1]}"


class EditCounts(NamedTuple):
    """The numbers of different sequences one edit away."""

    substitutions: int
    insertions: int
    deletions: int


def count_edits(row: IntArray, n_letters: int, shortest: int) -> EditCounts:
    """Count the sequences one edit away from a sequence.

    n_letters: k, at least 2.

    Inserting a letter before or after an equal letter gives the same sequence, and counts as one insertion. Deleting
    either of two letters in a run of equal letters gives the same sequence, and counts as one deletion.
    """
    n = count_letters(row, n_letters)
    insertions = n * (n_letters - 1) + n_letters if n < len(row) else 0
    return EditCounts(n * (n_letters - 1), insertions, len(_run_starts(row, n)) if n > shortest else 0)


def count_letters(row: IntArray, n_letters: int) -> int:
    """Return the length of a sequence."""
    return int(np.count_nonzero(row != n_letters))


def edit(row: IntArray, numbers: IntArray, n_letters: int, shortest: int) -> IntArray:
    """Return the results of some edits of a sequence (m, L).

    numbers: which of the edits, in 0..sum(counts) - 1 (m,): the substitutions, the insertions, then the deletions, each
        by place.
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
    at = _run_starts(row, n)[rest[which]]
    rows[which] = np.append(row, n_letters)[places + (places >= at[:, None])]
    return rows


def move_letters(row: IntArray, share: float, n_letters: int, shortest: int) -> IntArray:
    """Return the result of an edit (L,); walks of such edits draw all lengths, and all sequences of one length, evenly.

    share: a uniform number in [0, 1), which chooses the edit.

    A quarter of the shares insert a letter and a quarter delete one, if that is allowed; the rest substitute one.
    There are as many places to insert a letter as the longer sequence has letters to delete, and k letters to choose
    from. So an insertion has 1 / k of the probability of its reverse, the ratio of the longer to the shorter in draws.
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
    """Return the second sequence with a segment replaced by that of the first (L,): two-point crossover."""
    n, m = count_letters(mine, n_letters), count_letters(theirs, n_letters)
    first, last = sorted(rng.choice(min(n, m) + 1, size=2, replace=False).tolist())
    from_end = n != m and rng.random() < 0.5
    child, here, there = theirs.copy(), n - min(n, m) if from_end else 0, m - min(n, m) if from_end else 0
    child[there + first : there + last] = mine[here + first : here + last]
    return child


def are_sequences(rows: IntArray, n_letters: int, shortest: int) -> npt.NDArray[np.bool_]:
    """Return which rows are sequences of letters, long enough, with end marks only at their ends (m,).

    rows: integers (m, L).
    """
    is_end = rows == n_letters
    known = (rows >= 0) & (rows <= n_letters)
    ends_stay = (is_end[:, 1:] >= is_end[:, :-1]).all(axis=1)
    return known.all(axis=1) & ends_stay & (np.count_nonzero(~is_end, axis=1) >= shortest)


def _run_starts(row: IntArray, n: int) -> IntArray:
    """Return the places at which a run of equal letters starts, ascending."""
    return np.flatnonzero(np.concatenate([[True], row[1:n] != row[: n - 1]])[:n])
