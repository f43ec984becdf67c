"""The form in which a study keeps points: their keys, of few bytes, where these hold all of a point."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, TypeAlias

from bostruct.contracts import Batch, Domain, Info, Point, Presented
from bostruct.study.given_numbers import restore_numbers

Kept: TypeAlias = Any  # a point as it is kept: its key, or the point itself; None for one that cannot be read


class PointForm:
    """The form of the kept points of a domain.

    domain: of the points.
    """

    def __init__(self, domain: Domain) -> None:
        self.domain = domain
        self._by_key: Any = None if domain.from_keys(()) is None else domain

    @property
    def is_complete(self) -> bool:
        """True where a kept point is a key, from which all that is stored of the point can be written again."""
        return self._by_key is not None

    def keep(self, x: Point) -> Kept:
        """Return what is kept of a point.

        x: a point of the domain.
        """
        return x if self._by_key is None else self._by_key.key(x)

    def keep_all(self, batch: Batch) -> list[Kept]:
        """Return what is kept of points.

        batch: of points of the domain.
        """
        return list(batch) if self._by_key is None else self._by_key.keys(batch)

    def key(self, kept: Kept) -> Hashable:
        """Return the key of a point.

        kept: as of `keep`.
        """
        return self.domain.key(kept) if self._by_key is None else kept

    def join(self, kept: Sequence[Kept]) -> Batch:
        """Return points as a batch of the domain.

        kept: as of `keep`, m of them.
        """
        return self.domain.join(kept) if self._by_key is None else self._by_key.from_keys(kept)

    def restore(self, kept: Kept) -> Point:
        """Return a point.

        kept: as of `keep`.
        """
        return kept if self._by_key is None else self._by_key.from_keys([kept])[0]

    def show(self, kept: Kept, info: Info) -> Presented:
        """Return a point as the user sees it, with the numbers that the user gave.

        kept: as of `keep`.
        info: of its trial.
        """
        return restore_numbers(self.domain.present(self.restore(kept)), info.get("given"))


class KeptPoints(NamedTuple):
    """The points of all trials at one moment.

    form: in which they are kept.
    kept: by number of the trial.
    """

    form: PointForm
    kept: tuple[Kept, ...]

    def take(self, numbers: Sequence[int]) -> Batch:
        """Return the points of some trials as a batch.

        numbers: of the trials, whose points can be read.
        """
        return self.form.join([self.kept[number] for number in numbers])
