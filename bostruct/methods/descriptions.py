"""The numbers and choices by which a random forest tells points apart, for each kind of domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bostruct.checks import name_wide
from bostruct.contracts import (
    Choice,
    Domain,
    DomainError,
    FeatureDomain,
    Point,
)
from bostruct.domains.architecture.measures import summarize
from bostruct.domains.part_choices import DescribedParts
from bostruct.methods.default_kernels import stands_for_architectures
from bostruct.methods.refusals import domain_label

LARGEST = 1e30  # of a feature; trees compare numbers in single precision


@dataclass(frozen=True)
class Description:
    """The view of a domain as one of named choices that cannot be drawn again: a number is a continuous choice.

    numbers: point -> its numbers, by name.
    """

    numbers: Callable[[Point], Mapping[str, float]]

    def coordinates(self, x: Point) -> list[Choice]:
        """List the numbers of a point.

        x: one point.
        """
        return [Choice(name, name, float(value), math.inf, True) for name, value in self.numbers(x).items()]


@dataclass(frozen=True)
class Features:
    """The features of a domain, by their positions.

    domain: with features.
    """

    domain: FeatureDomain

    def __call__(self, x: Point) -> dict[str, float]:
        row = np.clip(np.asarray(self.domain.features([x]), dtype=np.float64)[0], -LARGEST, LARGEST)
        return {f"feature {i}": value for i, value in enumerate(row.tolist())}


@dataclass(frozen=True)
class Summary:
    """The numbers that summarize the architecture of a point.

    domain: of architectures.
    """

    domain: Domain

    def __call__(self, x: Point) -> dict[str, float]:
        """Return the numbers by name.

        x: one point.
        """
        return summarize(self.domain.architectures([x])[0])


def describe_points(domain: Domain, method: str) -> Callable[[Point], Sequence[Choice]]:
    """Return a function that lists what a forest is told of a point: its choices, features, or summary.

    domain: of named choices, features or architectures, or of parts that are.
    method: that asks, for the message.

    Raises DomainError for any other domain, naming the part.
    """
    return _describe(domain, method, "").coordinates


def _describe(domain: Any, method: str, name: str) -> Any:
    """Return what lists the choices of a domain's points; name: of the part that it is, empty for none."""
    if (choices := domain.traits.choices) is not None:
        return choices
    if domain.parts:
        return DescribedParts(domain, [_describe(part, method, own) for own, part in domain.parts.items()])
    if (described := domain.traits.features) is not None:
        return Description(Features(described))
    if stands_for_architectures(domain):
        return Description(Summary(domain))
    got = domain_label(domain) + name_wide(domain) + (f" in the part {name!r}" if name else "")
    raise DomainError(f"method: {method} needs a domain of named choices, features or architectures, got {got}")
