"""Read black boxes over sequences of pytorch-holo and poli as problems over a `Sequence`, to minimize.

Neither package is imported here: only the documented interfaces are used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from bostruct.checks import check_integer, short_repr
from bostruct.contracts import DomainError, Infeasible, Presented
from bostruct.domains.space.sequence import Sequence as SequenceVariable
from bostruct.domains.space.space import Space
from bostruct.problems.own import N_INITIAL, Problem

NAME = "sequence"  # name of the only variable
Letters = Sequence[Presented]


@dataclass(frozen=True)
class _MinusValue:
    """The objective of a black box that is to be maximized: minus its value.

    name: name of the black box.
    function: function from a sequence to the value to maximize; infinite or NaN if the sequence is infeasible.
    """

    name: str
    function: Callable[[Letters], float]

    def __call__(self, point: Mapping[str, Any]) -> float:
        """Return minus the value of one point; raise Infeasible if the value is not finite.

        point: dict with `sequence`.
        """
        value = self.function(point[NAME])
        if not math.isfinite(value):
            raise Infeasible(f"{self.name} is {value} there")
        return -value


def read_test_function(
    function: Any, alphabet: Iterable[Presented] | None = None, n_initial: int = N_INITIAL
) -> Problem:
    """Read a test function of pytorch-holo, such as an Ehrlich function (Stanton et al. 2024), as a problem.

    The function is negated, to be minimized; a sequence whose value is not finite raises Infeasible.

    Parameters
    ----------
    function : Any
        A callable from codes of letters (n, dim) to values (n,), with `num_states` and `dim`, and optionally
        `initial_solution` and the optimal value. Its instance is drawn from its own seed.
    alphabet : iterable of Presented, optional
        `num_states` letters, such as a string. If None, the letters are 0, 1 and so on.
    n_initial : int, default N_INITIAL
        Number of distinct sequences of `initial_solution` from which each run starts, at least 1: the first sequences
        for seed 0, the next for seed 1, and so on. Without `initial_solution` they are drawn at random.

    Raises
    ------
    DomainError
        If the number of letters is wrong, or a required attribute is missing.
    TypeError, ValueError
        If an argument is invalid.
    """
    n_states, length = getattr(function, "num_states", None), getattr(function, "dim", None)
    if not isinstance(n_states, int) or not isinstance(length, int):
        raise DomainError(f"function: expected one with num_states and dim, got {short_repr(function)}")
    variable = SequenceVariable(range(n_states) if alphabet is None else alphabet, length)
    if len(variable.letters) != n_states:
        raise DomainError(f"alphabet: expected {n_states} letters, got {len(variable.letters)}")
    check_integer("n_initial", n_initial, 1)
    space = Space({NAME: variable})
    codes = {letter: code for code, letter in enumerate(variable.letters)}

    def value(letters: Letters) -> float:
        import torch

        return float(function(torch.tensor([[codes[letter] for letter in letters]]))[0])

    def starts(seed: int) -> list[dict[str, Presented]]:
        found = np.asarray(function.initial_solution(n_initial * (seed + 1))).reshape(-1, length)
        rows = found[n_initial * seed :].tolist()
        return _unique(space, [[variable.letters[code] for code in row] for row in rows])

    best = getattr(function, "_optimal_value", None)
    optimum = None if best is None or getattr(function, "negate", False) else -float(best)
    objective = _MinusValue(type(function).__name__, value)
    initial = starts if hasattr(function, "initial_solution") else n_initial
    return Problem(objective, space, name=objective.name, optimum=optimum, initial=initial)


def read_black_box(
    black_box: Any, x0: Any = None, length: int | tuple[int, int] | None = None, optimum: float | None = None
) -> Problem:
    """Read a black box of poli as a problem: `problem = poli.create(...)` has `problem.black_box` and `problem.x0`.

    The black box is negated, to be minimized; a sequence whose value is not finite raises Infeasible.

    If letters have several characters, sequences are tuples of letters, otherwise strings.

    Parameters
    ----------
    black_box : Any
        A callable from an array of letters (1, length) to values (1, 1), with `alphabet`, or with `info.alphabet`.
    x0 : Any, optional
        Arrays of letters (n, length), or strings (n,), from which the runs of every seed start. If None, ten random
        sequences, different for each seed.
    length : int, tuple of (int, int), optional
        The length, or (shortest, longest). If None, it is read from `info`: `sequence_length`, or from 1 to
        `max_sequence_length` if `fixed_length` is False.
    optimum : float, optional
        The maximum of the black box, if known.

    Raises
    ------
    DomainError
        If an argument is invalid.
    """
    info = getattr(black_box, "info", None)
    letters = getattr(black_box, "alphabet", None) or getattr(info, "alphabet", None)
    if letters is None:
        raise DomainError(f"black_box: expected one with an alphabet, got {short_repr(black_box)}")
    single = all(isinstance(letter, str) and len(letter) == 1 for letter in letters)
    space = Space({NAME: SequenceVariable("".join(letters) if single else list(letters), _read_length(info, length))})

    def value(sequence: Letters) -> float:
        return float(np.asarray(black_box(np.array([list(sequence)]))).reshape(-1)[0])

    objective = _MinusValue(getattr(info, "name", None) or type(black_box).__name__, value)
    initial = N_INITIAL if x0 is None else _unique(space, [list(start) for start in np.asarray(x0).tolist()])
    least = None if optimum is None else -float(optimum)
    return Problem(objective, space, name=objective.name, optimum=least, initial=initial)


def _read_length(info: Any, given: int | tuple[int, int] | None) -> int | tuple[int, int]:
    """Return the length of sequences, as given or from the information on a black box."""
    if given is not None:
        return given
    fixed, longest = getattr(info, "sequence_length", None), getattr(info, "max_sequence_length", None)
    if isinstance(fixed, int):
        return fixed
    if longest is None or not math.isfinite(longest):
        raise DomainError("length: expected an int or (shortest, longest), because the black box has no length")
    return int(longest) if getattr(info, "fixed_length", False) else (1, int(longest))


def _unique(space: Space, sequences: Iterable[list[Presented]]) -> list[dict[str, Presented]]:
    """Return sequences as points, each once."""
    variable = cast(SequenceVariable, space.variables[NAME])
    rows = [
        space.parse({NAME: ("".join(map(str, letters)) if variable.is_text else tuple(letters))})
        for letters in sequences
    ]
    return [space.present(row) for row in {space.key(row): row for row in rows}.values()]
