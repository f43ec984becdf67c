"""Problems on ordered variables and on sequences: seed s determines the instance and its optimum."""

from __future__ import annotations

from functools import partial

import numpy as np

import bostruct as bo
from benchmarks.peers.tasks import Point, Task, ackley

ACKLEY_VARIABLES, ACKLEY_LEVELS = 20, 11
ROUGH, SMOOTH = 6.55, 1.0  # spacing of levels: published range +-32.75 with strong cosines; a smooth bowl
BOWL_VARIABLES, BOWL_LEVELS = 30, 6
SEQUENCE, ALPHABET, MOTIFS, MOTIF_LENGTH = 15, 8, 2, 4
BANNED = 0.1  # share of the steps from a letter to another


def ackley_levels(spacing: float, seed: int) -> Task:
    """Make the Ackley function on 20 ordinals of 11 levels, with its optimum at a random grid point.

    spacing: between two levels.
    seed: of the optimum.
    """
    optimum = np.random.default_rng([seed, 21]).integers(ACKLEY_LEVELS, size=ACKLEY_VARIABLES)
    return Task(_ordinals(ACKLEY_VARIABLES, ACKLEY_LEVELS), lambda point: ackley(spacing * (_levels(point) - optimum)))


def bowl(seed: int) -> Task:
    """Make a smooth quadratic function of 30 ordinals of 6 levels, a third of whose pairs interact."""
    rng = np.random.default_rng([seed, 22])
    center = rng.uniform(-1.0, 1.0, BOWL_VARIABLES)
    pairs = rng.normal(size=(BOWL_VARIABLES, BOWL_VARIABLES)) * (rng.random((BOWL_VARIABLES, BOWL_VARIABLES)) < 1 / 3)
    own = rng.exponential(size=BOWL_VARIABLES)

    def value(point: Point) -> float:
        x = 2.0 * _levels(point) / (BOWL_LEVELS - 1) - 1.0 - center
        return float(own @ x**2 + 0.1 * x @ pairs @ x)

    return Task(_ordinals(BOWL_VARIABLES, BOWL_LEVELS), value)


def ehrlich(seed: int) -> Task:
    """Make an Ehrlich function (Stanton et al. 2024) of 15 letters: minus the product of the shares of two motifs.

    A motif is four letters at given distances. Its share is the share of its letters that match at the best position.
    A tenth of all steps from one letter to the next are banned. A sequence with a banned step fails.
    """
    rng = np.random.default_rng([seed, 23])
    banned = _ban_steps(rng)
    motifs = [_draw_motif(banned, rng) for _ in range(MOTIFS)]
    offsets = [_draw_offsets(rng) for _ in range(MOTIFS)]
    letters = [chr(ord("A") + k) for k in range(ALPHABET)]

    def value(point: Point) -> float:
        x = np.array([letters.index(point[f"p{i}"]) for i in range(SEQUENCE)])
        if banned[x[:-1], x[1:]].any():
            raise bo.Infeasible("the sequence has a banned step")
        return -float(np.prod([_share(x, motif, own) for motif, own in zip(motifs, offsets, strict=True)]))

    return Task(bo.Space({f"p{i}": letters for i in range(SEQUENCE)}), value)


def _ban_steps(rng: np.random.Generator) -> np.ndarray:
    """Draw the banned steps; steps from a letter to itself and along a circle of all letters are never banned."""
    banned = rng.random((ALPHABET, ALPHABET)) < BANNED
    circle = rng.permutation(ALPHABET)
    banned[circle, np.roll(circle, 1)] = False
    np.fill_diagonal(banned, False)
    return banned


def _draw_motif(banned: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw different letters, each of which may follow the letter before."""
    while True:
        motif = rng.permutation(ALPHABET)[:MOTIF_LENGTH]
        if not banned[motif[:-1], motif[1:]].any():
            return motif


def _draw_offsets(rng: np.random.Generator) -> np.ndarray:
    """Draw the offsets of the letters of a motif from its first letter; all motifs fit into one sequence."""
    most = SEQUENCE // MOTIFS
    return np.concatenate([[0], np.sort(rng.choice(np.arange(1, most), MOTIF_LENGTH - 1, replace=False))])


def _share(x: np.ndarray, motif: np.ndarray, offsets: np.ndarray) -> float:
    """Return the share of a motif's letters that match at its best position."""
    starts = np.arange(len(x) - offsets[-1])
    return float(np.max(np.mean(x[starts[:, None] + offsets] == motif, axis=1)))


def _ordinals(d: int, levels: int) -> bo.Space:
    return bo.Space({f"x{i}": bo.Ordinal(range(levels)) for i in range(d)})


def _levels(point: Point) -> np.ndarray:
    return np.array([point[f"x{i}"] for i in range(len(point))], dtype=float)


ORDERS = {
    "ackley 20x11, rough": partial(ackley_levels, ROUGH),
    "ackley 20x11, smooth": partial(ackley_levels, SMOOTH),
    "bowl 30x6": bowl,
    "ehrlich 15": ehrlich,
}
