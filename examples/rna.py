"""Design RNA that folds into a given structure: a sequence of bases, compared with what a folding program says.

ViennaRNA folds if it is installed (pip install ViennaRNA), else a small model of base pairs. Draws rna.svg.
"""

from functools import cache
from importlib.util import find_spec

import matplotlib as mpl

import bostruct as bo

mpl.use("agg")
import matplotlib.pyplot as plt
from matplotlib.patches import Arc

TARGET = "(((...)))..(((...)))"
STRENGTH = {"GC": 3.0, "CG": 3.0, "AU": 2.0, "UA": 2.0, "GU": 1.0, "UG": 1.0}
OPENING, STACKED, LOOP = 4.0, 3.0, 3  # the cost of a new stem, the gain of a pair upon a pair, bases in a loop


def fold(sequence):
    """Return the structure of most bonds in dots and brackets: pairs are worth more when they stand on each other."""

    @cache
    def best(i, j):  # value and structure of bases i to j - 1
        options = [(0.0, "." * (j - i))]
        if j - i > LOOP + 1:
            value, rest = best(i + 1, j)
            options.append((value, "." + rest))
            for k in range(i + LOOP + 1, j):
                inside, own = stem(i, k)
                value, rest = best(k + 1, j)
                options.append((inside - OPENING + value, own + rest))
        return max(options)

    @cache
    def stem(i, k):  # the same where bases i and k are a pair
        strength = STRENGTH.get(sequence[i] + sequence[k])
        if strength is None or k - i <= LOOP:
            return -1e9, ""
        value, inside = max(best(i + 1, k), (stem(i + 1, k - 1)[0] + STACKED, stem(i + 1, k - 1)[1]))
        return strength + value, f"({inside})"

    return best(0, len(sequence))[1]


if find_spec("RNA"):
    import RNA

    def fold(sequence):
        return RNA.fold(sequence)[0]


def mismatch(point):
    """Share of the bases that are bound otherwise than in the target."""
    return sum(a != b for a, b in zip(fold(point["rna"]), TARGET, strict=True)) / len(TARGET)


space = bo.Space({"rna": bo.Sequence("ACGU", length=len(TARGET))})
result = bo.minimize(mismatch, space, n_trials=100, seed=0, progress=False)
rna = result.best_point["rna"]


def draw(axes, structure, letters):
    opened = []
    for place, mark in enumerate(structure):
        if mark == "(":
            opened.append(place)
        elif mark == ")":
            first = opened.pop()
            center, width = (first + place) / 2, place - first
            axes.add_patch(Arc((center, 0), width, width, theta1=0, theta2=180, color="#0072B2", lw=1.5))
    for place, letter in enumerate(letters):
        axes.text(place, -0.2, letter, ha="center", va="top", family="monospace")
    axes.set(xlim=(-1, len(structure)), ylim=(-1.5, 6), aspect="equal")
    axes.axis("off")


figure, rows = plt.subplots(2, 1, figsize=(7, 5))
draw(rows[0], TARGET, "." * len(TARGET))
draw(rows[1], fold(rna), rna)
rows[0].set_title("the target", loc="left")
rows[1].set_title(f"the best of 100 sequences: {result.best_value:.0%} of the bases are bound otherwise", loc="left")
figure.savefig("rna.svg", bbox_inches="tight")
print(TARGET)
print(fold(rna))
print(f"{rna}: {result.best_value:.0%} of the bases are bound otherwise")
