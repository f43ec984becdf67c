"""Successive narrowing: many points evaluated cheaply, then the best of them at more cost, round by round.

The searcher of that name in the code of Negrinho et al. 2019, which is successive halving in rounds (Jamieson and
Talwalkar 2016).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bostruct.checks import check_integer, check_number
from bostruct.contracts import Appraisal, Domain, HistoryView, Json, Point, Searcher, State, Suggestion
from bostruct.domains.fidelity import FidelityLevels
from bostruct.searchers.hyperband import LARGEST_COUNTS, merits_of, move_to_level

DRAWS = 100  # of a point whose lowest level is unseen


class Narrowing(NamedTuple):
    """The state of a narrowing: what the next suggestion needs.

    level: of the round.
    members: the points of the round, at its level, in the order asked.
    asked: how many of them were asked.
    waiting: points of the next narrowing, which were asked while a round had others to wait for.
    """

    level: int
    members: tuple[Point, ...]
    asked: int
    waiting: tuple[Point, ...]


@dataclass(frozen=True)
class SuccessiveNarrowing(Searcher):
    """Successive narrowing over a `Fidelity`, in rounds, as in the code of Negrinho et al. 2019.

    A narrowing begins with random points at the lowest level. When all points of a round are finished, the best share
    of them, rounded down, is evaluated at the next level, until the highest, or until none is left. Then another
    narrowing begins; published, the search ends. The published searcher refuses whoever asks while a round has points
    that run; here that worker gets a random point of the next narrowing. A failed point is not kept.

    domain: of the points.
    fidelities: of the points.
    n_initial: number of points of the first round, at least 1.
    share: of a round's points that are kept, above 0 and below 1.

    Raises TypeError, ValueError.
    """

    domain: Domain
    fidelities: FidelityLevels
    n_initial: int = 27
    share: float = 1 / 3
    reads_objectives = True

    def __post_init__(self) -> None:
        check_integer("n_initial", self.n_initial, 1)
        check_number("share", self.share, above=0.0, below=1.0)

    def settings(self) -> dict[str, Json]:
        return {"n_initial": self.n_initial, "share": self.share, "costs": list(self.fidelities.costs)}

    def initial_state(self) -> State:
        return self._write(Narrowing(0, (), 0, ()))

    def suggest(self, history: HistoryView, state: State, rng: np.random.Generator) -> Suggestion:
        now = self._advance(self._read(state), history)
        while now.asked < len(now.members):
            x = now.members[now.asked]
            now = self._advance(now._replace(asked=now.asked + 1), history)
            if self.domain.key(x) not in history.seen:
                return Suggestion(x, self._write(now), {"origin": "model", "level": self.fidelities.level(x)})
        x = self._draw(history, rng)
        if now.level == 0 and len(now.members) < self.n_initial:
            now = now._replace(members=(*now.members, x), asked=now.asked + 1)
        else:
            now = now._replace(waiting=(*now.waiting, x))
        return Suggestion(x, self._write(now), {"origin": "random", "level": self.fidelities.level(x)})

    def appraise(self, history: HistoryView, state: State, rng: np.random.Generator) -> Appraisal:
        del state, rng
        levels = np.array([self.fidelities.level(x) for x in history.completed])
        return Appraisal(levels == levels.max(), None, LARGEST_COUNTS)

    def _advance(self, now: Narrowing, history: HistoryView) -> Narrowing:
        """Return the next round where all points of this one are finished, the same one elsewhere."""
        is_full = now.level > 0 or len(now.members) >= self.n_initial
        if not is_full or now.asked < len(now.members):
            return now
        running = set(self.domain.keys(history.running))
        finished = {key: place for place, key in enumerate(self.domain.keys(history.completed))}
        keys = [self.domain.key(x) for x in now.members]
        known = history.seen
        if any(key in running or key not in known for key in keys):
            return now
        left = [i for i, key in enumerate(keys) if key in finished]
        ranked = sorted(zip(merits_of(history, [finished[keys[i]] for i in left]), left, strict=True))
        kept = [now.members[i] for _, i in ranked[: int(self.share * len(keys) + 1e-9)]]
        above = now.level + 1
        higher = [] if above == len(self.fidelities.costs) else [move_to_level(self.fidelities, x, above) for x in kept]
        members = tuple(x for x in higher if x is not None)
        if members:
            return Narrowing(above, members, 0, now.waiting)
        first = now.waiting[: self.n_initial]
        return self._advance(Narrowing(0, first, len(first), now.waiting[self.n_initial :]), history)

    def _draw(self, history: HistoryView, rng: np.random.Generator) -> Point:
        """Draw an unseen point at the lowest level; where 100 draws find none, one at the level it is drawn at."""
        for _ in range(DRAWS):
            lowest = move_to_level(self.fidelities, self.domain.sample(1, rng)[0], 0)
            if lowest is not None and self.domain.key(lowest) not in history.seen:
                return lowest
        return self.domain.sample_unseen(history.seen, rng)

    def _write(self, now: Narrowing) -> State:
        encode = self.domain.encode
        points = {"members": [encode(x) for x in now.members], "waiting": [encode(x) for x in now.waiting]}
        return {"level": now.level, "asked": now.asked, **points}

    def _read(self, state: State) -> Narrowing:
        members, waiting = (tuple(self.domain.decode(x) for x in state[name]) for name in ("members", "waiting"))
        return Narrowing(state["level"], members, state["asked"], waiting)
