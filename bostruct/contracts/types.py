"""Types of the contracts: arrays, batches, points, JSON, and numbers of points."""

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
ParsedJson: TypeAlias = Any  # JSON that was parsed; its reader checks the content
Point: TypeAlias = Any  # one point, in the domain's own form
Presented: TypeAlias = Any  # a point in the form that an objective receives, as `Domain.present` returns it
Batch: TypeAlias = Any  # several points; see `bostruct.contracts`
Prepared: TypeAlias = Any  # results of a kernel for two batches that do not depend on its parameters
State: TypeAlias = ParsedJson  # the state for the next step, plain JSON, so that it can be stored exactly
Info: TypeAlias = dict[str, ParsedJson]  # information for people, as JSON
STORED_AS = "stored as"  # a key in the metadata of a field
ADDED_LATER = {"added later": True}  # metadata of a field that is not stored at its default, as before it was added
NOT_STORED = {"not stored": True}  # metadata of a field that is no setting, such as a name


def stored_as(name: str) -> dict[str, str]:
    """Return the metadata of a field whose name in stored settings is an earlier name.

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
