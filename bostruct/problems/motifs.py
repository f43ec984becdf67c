"""Hidden motifs: sequences of letters that should contain two words anywhere."""

from __future__ import annotations

from functools import partial

import numpy as np

from bostruct.checks import check_integer
from bostruct.contracts import IntArray
from bostruct.domains.space.sequence import Sequence
from bostruct.domains.space.space import Space
from bostruct.problems.base import StructuredProblem, read_variable

LETTERS, LENGTHS = "ABCDEFGH", (10, 30)
MOTIF_LENGTH, N_MOTIFS = 4, 2
FREE_LENGTH, PRICE = 16, 0.01  # number of letters without penalty, and the penalty of each further letter


def motifs(seed: int = 0) -> StructuredProblem:
    """Return a problem over sequences of 10 to 30 letters of 8, which should contain two hidden motifs of four letters.

    The value is minus the mean of the motifs' shares, plus 0.01 for each letter after the 16th. The share of a motif is
    the largest share of its letters that match the sequence at one position.

    seed: seed of the motifs, from 0.

    The optimum is -1, both motifs in sequence. Raises TypeError, ValueError. Source: bostruct, after the motifs of
    Stanton et al. 2024.
    """
    rng = np.random.default_rng([check_integer("seed", seed, 0), 32])
    hidden = np.array([rng.permutation(len(LETTERS))[:MOTIF_LENGTH] for _ in range(N_MOTIFS)])
    both = "".join(LETTERS[letter] for letter in hidden.ravel())
    return StructuredProblem(
        name=f"motifs:seed={seed}",
        space=Space({"sequence": Sequence(LETTERS, LENGTHS)}),
        objective=read_variable("sequence", partial(_miss_motifs, hidden)),
        source="generated: hidden motifs, after Stanton et al. 2024",
        optimum=-1.0,
        optimum_source="proved: a sequence has both motifs",
        optimal_point={"sequence": both.ljust(LENGTHS[0], LETTERS[0])},
    )


def _miss_motifs(hidden: IntArray, sequence: str) -> float:
    x = np.array([LETTERS.index(letter) for letter in sequence])
    starts = np.arange(len(x) - MOTIF_LENGTH + 1)[:, None] + np.arange(MOTIF_LENGTH)
    shares = [float(np.max(np.mean(x[starts] == motif, axis=1))) for motif in hidden]
    return -float(np.mean(shares)) + PRICE * max(len(x) - FREE_LENGTH, 0)
