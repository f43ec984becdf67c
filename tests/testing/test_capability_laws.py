"""Each planted fault of a capability breaks the law that names it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import bostruct as bo
from bostruct.testing import check_domain
from bostruct.testing.capability_laws import check_same_capabilities, check_valid
from tests.permutations import Mutable, Permutations

VARIABLES = {"a": bool, "b": ["p", "q", "r", "s"], "c": range(6)}
OTHER = np.random.default_rng


class Alike(bo.Space):
    def tokens(self, xs):
        return [np.array([7]) for _ in xs]


class Random(bo.Space):
    def tokens(self, xs):
        return [OTHER().integers(2**60, size=3) for _ in xs]


class Negative(bo.Space):
    def tokens(self, xs):
        return [-one for one in super().tokens(xs)]


class TooFew(bo.Space):
    def tokens(self, xs):
        return super().tokens(xs)[1:]


class Floats(bo.Space):
    def tokens(self, xs):
        return [one.astype(float) for one in super().tokens(xs)]


class Forgets(bo.Space):
    def decode_from(self, data, description):
        return super().decode_from(data | {"a": False}, description)


class RollsNothing(bo.Space):
    def roll_out(self, made, rng):
        del made, rng


class RollsAnything(bo.Space):
    def roll_out(self, made, rng):
        return super().roll_out(made if len(made) == self.d else (), rng)


class Endless(bo.Space):
    def options(self, made):
        return super().options(made) or 1


class TooNarrow(bo.Space):
    def options(self, made):
        return min(super().options(made), 1)


class TooMany(bo.Space):
    def sample_candidates(self, m, starts, rng):
        return super().sample_candidates(m + 1 if m else 0, starts, rng)


class NoCandidates(bo.Space):
    def sample_candidates(self, m, starts, rng):
        return super().sample_candidates(0 * m, starts, rng)


class OutsideCandidates(bo.Space):
    def sample_candidates(self, m, starts, rng):
        return super().sample_candidates(m, starts, rng) + 100


class OtherCandidates(bo.Space):
    def sample_candidates(self, m, starts, rng):
        del rng
        return super().sample_candidates(m, starts, OTHER())


class OtherPool(bo.Space):
    @property
    def pool(self):
        return self.sample(3, OTHER())


class OutsidePool(bo.Space):
    @property
    def pool(self):
        return self.sample(3, OTHER()) + 100


class OtherWay(bo.Space):
    def choice_after(self, made):
        return super().choice_after(made[:-1])


class Unending(bo.Space):
    def choice_after(self, made):
        return super().choice_after(made) or super().choice_after(())


class Undecided(bo.Space):
    def decide(self, name, value):
        return super().decide(name, value) + 1


class Unnamed(bo.Space):
    def names(self, x):
        return list(super().names(x))[::-1]


class Forgetful(bo.Space):
    def resample(self, x, names, rng):
        del x, names
        return self.sample(1, rng)[0]


class OtherDraws(bo.Space):
    def resample(self, x, names, rng):
        return super().resample(x, names, OTHER() if len(names) else rng)


@pytest.mark.parametrize(
    ("faulty", "says"),
    [
        (Alike, "tokens distinguish points: "),
        (Random, "tokens of equal points are equal, at every call"),
        (Negative, "tokens are hashes of 63 bits, at least 0: got -"),
        (TooFew, r"tokens returns a list of one array per point: got \["),
        (Floats, "tokens returns arrays of int64, one number per token: got "),
        (Forgets, "decode_from with the own description is decode: got "),
        (RollsNothing, "(roll_out returns valid points: got None|check raised TypeError)"),
        (RollsAnything, "roll_out (keeps the decisions made: expected|draws from)"),
        (Endless, "options is 0 after the last decision: got 1"),
        (TooNarrow, "decision . of .* is among the options"),
        (TooMany, "sample_candidates returns 1 to m points: expected at most 20, got 21"),
        (NoCandidates, "sample_candidates returns 1 to m points: expected at most 20, got 0"),
        (OutsideCandidates, "sample_candidates returns valid points: got "),
        (OtherCandidates, "sample_candidates draws only from the given generator: "),
        (OtherPool, "(pool contains the same points at each access|no method changes a point)"),
        (OutsidePool, "(pool returns valid points: got|check raised PointError)"),
        (OtherWay, "decisions are about the choices of their point, each once: got a"),
        (Unending, "choice_after is None once all decisions are made: after "),
        (Undecided, "decide returns the decision of a value: expected "),
        (Unnamed, r"names lists the paths of the choices: got "),
        (Forgetful, "resample of no choice keeps the point: expected "),
        (OtherDraws, "resample draws only from the given generator: "),
    ],
)
def test_a_faulty_capability_fails(faulty, says):
    for seed in range(3):
        with pytest.raises(AssertionError, match=rf"^{faulty.__name__} breaks the law: {says}"):
            check_domain(faulty(VARIABLES), np.random.default_rng(seed))


def test_the_faultless_pass():
    check_domain(bo.Space(VARIABLES), np.random.default_rng(0), m=6)


@dataclass(frozen=True)
class Named(Permutations):
    def to_json(self):
        return {"domain": "orders of the capability laws", "n": self.n}

    def __eq__(self, other):
        return isinstance(other, Named) and self.n == other.n

    __hash__ = Permutations.__hash__


class AlsoNamed(Named, Mutable):
    """The same domain with mutations, under the same name."""


def build(data):
    return Named(data["n"])


def test_a_domain_rebuilt_as_another_class_fails():
    bo.register_domain("orders of the capability laws", build)
    check_domain(Named(4), np.random.default_rng(0))
    with pytest.raises(AssertionError, match="AlsoNamed has mutable, the rebuilt Named nothing; two classes need"):
        check_domain(AlsoNamed(4), np.random.default_rng(0))
    check_same_capabilities(AlsoNamed(4), Mutable(4))


def test_an_invalid_point_names_the_method():
    with pytest.raises(AssertionError, match=r"draw returns valid points: got \(0, 0\); point: expected"):
        check_valid(Permutations(2), [(0, 1), (0, 0)], "draw")
