"""Arrays, batches, points, JSON and numbers of points: the types that the contracts speak of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
ParsedJson: TypeAlias = Any  # the same, read back: its reader knows what is in it
Point: TypeAlias = Any  # one point, as its domain holds it
Presented: TypeAlias = Any  # the same point, as an objective receives it: what `Domain.present` returns
Batch: TypeAlias = Any  # several of them: see above
Prepared: TypeAlias = Any  # what a kernel needs to know of two batches, whatever its parameters
State: TypeAlias = ParsedJson  # what the next step needs: plain JSON, so that it survives on disk exactly
Info: TypeAlias = dict[str, ParsedJson]  # what a person wants to see, as JSON
STORED_AS = "stored as"  # in the metadata of a field
ADDED_LATER = {"added later": True}  # of a field: its default says nothing, so that stored settings stay the same


def stored_as(name: str) -> dict[str, str]:
    """Return the metadata of a field that stored settings have under an earlier name.

    Parameters
    ----------
    name : str
        The earlier name.
    """
    return {STORED_AS: name}


@dataclass(frozen=True)
class Exact:
    """The exact size of a domain.

    Parameters
    ----------
    count : int
        Number of points.
    """

    count: int


@dataclass(frozen=True)
class AtLeast:
    """A lower bound of a domain's size: the points found within the budget, or within the depth that is searched.

    Parameters
    ----------
    count : int
        Number of points found.
    """

    count: int


@dataclass(frozen=True)
class Infinite:
    """The size of an infinite domain: real numbers, or programs in which a substitution can contain itself.

    Parameters
    ----------
    count : float, default math.inf
        Infinity.
    """

    count: float = math.inf


INFINITE = Infinite()
Count: TypeAlias = Exact | AtLeast | Infinite
