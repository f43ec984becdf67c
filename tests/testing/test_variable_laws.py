"""Every kind of variable obeys the laws, and each planted fault breaks the one that names it."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.space.variable import Variable
from bostruct.testing import check_variable
from bostruct.testing.variable_laws import as_columns
from tests.domains.space.test_kinds import DESCRIPTIONS
from tests.wide_variable import ORDERS, Order

OURS = [*DESCRIPTIONS, Order("abc"), bo.Categorical([None, [1, 2], {"a": 3}]), bo.Integer(-500, 499)]
OURS += [bo.Real(1e-5, 0.1, log=True), bo.Graph(nx.star_graph(5)), bo.Ordinal(range(7)), bo.Categorical(range(40))]
OTHER = np.random.default_rng


LARGE = [bo.Subset(range(1000), size=5), bo.Subset(range(129), size=64), bo.Subset(range(130), size=(0, 130))]
LARGE += [bo.Subset(range(130), size=60, graph=nx.complete_graph(130))]


@pytest.mark.parametrize("variable", LARGE, ids=lambda variable: f"{variable.width} items, {variable.sizes}")
def test_a_variable_may_list_some_of_its_neighbors(variable):
    check_variable(variable, np.random.default_rng(0))


class Some(bo.Subset):
    """Subsets of 129 items, which list some of their exchanges."""

    def __init__(self):
        super().__init__(range(129), size=64)


class DrawsTwo(Some):
    """Draws subsets two exchanges away among others."""

    def sample_neighbors(self, columns, m, rng, large_steps=False):
        found = super().sample_neighbors(columns, m, rng, large_steps)
        for i, row in enumerate(found):
            found[i] = super().sample_neighbors(row, 1, np.random.default_rng(i), large_steps)[0]
        return found


class DrawsUp(Some):
    """Draws no exchange for an earlier item."""

    def _up(self, columns):
        every = super().sample_neighbors(columns, 10**6, np.random.default_rng(0))
        moved = (every * np.arange(129)).sum(axis=1) > np.dot(columns, np.arange(129))
        near = {row.tobytes() for row in self.neighbors(columns)}
        return every[[bool(up) or row.tobytes() in near for up, row in zip(moved, every, strict=True)]]

    def count_neighbors(self, columns, large_steps=False):
        del large_steps
        return len(self._up(columns))

    def sample_neighbors(self, columns, m, rng, large_steps=False):
        del large_steps
        found = self._up(columns)
        return found[np.sort(rng.choice(len(found), size=min(m, len(found)), replace=False))]


class NeverDrawsListed(Some):
    def _others(self, columns):
        return super().sample_neighbors(columns, 10**6, np.random.default_rng(0))[100:]

    def count_neighbors(self, columns, large_steps=False):
        del large_steps
        return len(self._others(columns))

    def sample_neighbors(self, columns, m, rng, large_steps=False):
        del large_steps
        found = self._others(columns)
        return found[np.sort(rng.choice(len(found), size=min(m, len(found)), replace=False))]


class CountsTooMany(Some):
    def count_neighbors(self, columns, large_steps=False):
        return super().count_neighbors(columns, large_steps) + 1


class ChangesTwice(Some):
    def change_each(self, rows, rng):
        return super().change_each(super().change_each(rows, rng), rng)


@pytest.mark.parametrize(
    ("faulty", "says"),
    [
        (DrawsTwo, "sample_neighbors (draws|is symmetric)|count_neighbors counts"),
        (DrawsUp, "sample_neighbors is symmetric: "),
        (NeverDrawsListed, "sample_neighbors draws among all neighbors: of .* never"),
        (CountsTooMany, "count_neighbors counts the neighbors of .*: expected 4160, the number .*, got 4161"),
        (ChangesTwice, "change_each returns neighbors, or the value"),
    ],
)
def test_a_fault_of_a_variable_that_lists_some_neighbors_is_caught(faulty, says):
    with pytest.raises(AssertionError, match=says):
        check_variable(faulty(), np.random.default_rng(0))


@pytest.mark.parametrize("variable", OURS, ids=lambda variable: variable.kind)
def test_ours_obey(variable):
    check_variable(variable, np.random.default_rng(0))


class Ring(Order):
    """Orders whose moves go to the other five by one chance each."""

    def move(self, columns, share):
        here = [tuple(row) for row in ORDERS.tolist()]
        place = here.index(tuple(int(c) for c in columns))
        return list(here[(place + 1 + int(share * 5)) % 6])


class Stays(Ring):
    def move(self, columns, share):
        return list(columns) if share < 2.0 else super().move(columns, share)


class Favors(Ring):
    def move(self, columns, share):
        return super().move(columns, share**2)


class OneWay(Ring):
    def move(self, columns, share):
        return super().move(columns, 0.6 * share if columns[0] else share)


class Narrow(Ring):
    def move(self, columns, share):
        return super().move(columns, share)[:2]


class Flat(Ring):
    def sample(self, m, rng):
        return super().sample(m, rng)[:, 0]


class Uneven(Ring):
    is_even = False

    def chances(self, values):
        return np.where(np.arange(len(values)) == 0, 0.5, 0.5 / (len(values) - 1))


class Certain(Ring):
    is_even = False

    def chances(self, values):
        return np.ones(len(values))


class Constant(Ring):
    def sample(self, m, rng):
        return super().sample(m, rng) * 0 + np.arange(3)


class OwnGenerator(Ring):
    def sample(self, m, rng):
        del rng
        return super().sample(m, OTHER())


class Cut(Ring):
    def enumerate(self):
        return super().enumerate()[:4]


class Twice(Ring):
    def enumerate(self):
        return np.repeat(super().enumerate()[:3], 2, axis=0)


class Larger(Ring):
    @property
    def size(self):
        return 7


class Loose(Ring):
    def check(self, columns):
        del columns


class TakesAll(Ring):
    def decode(self, data):
        return list(data)


class Fails(Ring):
    def decode(self, data):
        return [int(item) for item in data]


class Swapped(Ring):
    def decode(self, data):
        return super().decode(data)[::-1]


class Shares(Ring):
    def present(self, columns):
        return SHARED.setdefault(tuple(columns), [self.items[c] for c in columns])


class Asymmetric(Ring):
    def neighbors(self, columns, large_steps=False):
        near = super().neighbors(columns)
        return near[:1] if not large_steps and columns[0] == 0 else near


class Leaping(Ring):
    def neighbors(self, columns, large_steps=False):
        near = super().neighbors(columns)
        return np.vstack([near, [[9, 9, 9]]]) if large_steps else near


class OwnNeighbor(Ring):
    def neighbors(self, columns, large_steps=False):
        return np.vstack([super().neighbors(columns), [columns]]) if large_steps else super().neighbors(columns)


class DrawsItself(Ring):
    def sample_neighbors(self, columns, m, rng, large_steps=False):
        return (
            np.vstack([super().sample_neighbors(columns, m, rng, large_steps), [columns]])[-m:]
            if m
            else np.empty((0, 3), int)
        )


class DrawsFar(Ring):
    def sample_neighbors(self, columns, m, rng, large_steps=False):
        return super().sample_neighbors(self.neighbors(columns)[0], m, rng, large_steps)


class DrawsAll(Ring):
    def sample_neighbors(self, columns, m, rng, large_steps=False):
        return super().sample_neighbors(columns, m + 9, rng, large_steps)


class ChangesOne(Ring):
    def change_each(self, rows, rng):
        return super().change_each(rows, rng)[:1]


class ChangesAll(Ring):
    def change_each(self, rows, rng):
        return self.sample(len(rows), rng)


class CountsOne(Ring):
    def count_neighbors(self, columns, large_steps=False):
        return super().count_neighbors(columns, large_steps) + (not large_steps)


class Forgets(Ring):
    def describe(self):
        return {"items": ["x", "y", "z"]}


class Tuples(Ring):
    def describe(self):
        return {"items": tuple(self.items)}


class Unkind(Ring):
    def to_json(self):
        return self.describe()


SHARED: dict[tuple[int, ...], list[str]] = {}


@pytest.mark.parametrize(
    ("faulty", "says"),
    [
        (Stays, "move reaches another value from"),
        (Favors, "move is reversible for equal probabilities, or for the probabilities of sample: to "),
        (OneWay, "move is reversible for equal probabilities, or for the probabilities of sample: to "),
        (Narrow, "move returns width = 3 columns: got "),
        (Flat, r"sample returns an integer array \(m, width\): got "),
        (Constant, "sample draws values uniformly: of 360 it drew"),
        (Uneven, "sample draws values with the probabilities of chances: of 360 it drew"),
        (Certain, r"chances returns probabilities \(m,\) of m values, with sum 1: got "),
        (OwnGenerator, "sample draws only from the given generator: "),
        (Cut, "enumerate lists all values: expected 6, got 4"),
        (Twice, "enumerate lists each value once"),
        (Larger, "enumerate lists all values: expected 7, got 6"),
        (Loose, "check raises PointError for an invalid value: it accepted "),
        (TakesAll, "decode raises PointError for an invalid value: it accepted "),
        (Fails, "decode raises PointError for .*: got (TypeError|ValueError): "),
        (Swapped, "decode is the inverse of encode: "),
        (Shares, "callers may change a returned value: present gave "),
        (Asymmetric, "neighbors are symmetric: "),
        (Leaping, r"neighbors with large_steps returns columns of a value: got \(9, 9, 9\); "),
        (OwnNeighbor, "no value is its own neighbor: neighbors with large_steps of "),
        (DrawsItself, "no value is its own neighbor: sample_neighbors of "),
        (DrawsFar, "(no value is its own neighbor|sample_neighbors draws)"),
        (DrawsAll, "sample_neighbors draws m values: expected 0, got 3"),
        (ChangesOne, "change_each draws a change of each value: expected 12, got 1"),
        (ChangesAll, "change_each returns neighbors, or the value: of "),
        (CountsOne, "count_neighbors counts the neighbors of "),
        (Forgets, "from_json rebuilds an equal variable from describe: "),
        (Tuples, "describe returns plain JSON: "),
        (Unkind, "to_json contains the kind: expected 'Unkind', got "),
    ],
)
def test_a_faulty_variable_fails(faulty, says):
    SHARED.clear()
    with pytest.raises(AssertionError, match=f"^{faulty.__name__} breaks the law: {says}"):
        check_variable(faulty(["a", "b", "c"]), np.random.default_rng(0))


def test_a_kind_need_not_write_how_its_values_are_listed():
    class Unlisted(Ring):
        enumerate = Variable.enumerate

    check_variable(Unlisted("abc"), np.random.default_rng(0))


class Shouts(bo.Categorical):
    """A kind that presents its choices in another form, and inherits that it does not."""

    def present(self, columns):
        return super().present(columns).upper()

    def parse(self, value):
        return super().parse(value.lower() if isinstance(value, str) else value)


class Reversed(bo.Categorical):
    def decode_column(self, values):
        return super().decode_column(values)[::-1]


class Crosses(Ring):
    def cross(self, mine, theirs, rng):
        del rng
        return mine if mine != theirs else None


@pytest.mark.parametrize(
    ("faulty", "says"),
    [
        (Shouts, "by values_are_choices, "),
        (Reversed, "decode_column reads the values that encode returned"),
        (Crosses, "cross returns None for all pairs of values, or for none"),
    ],
)
def test_what_a_kind_says_of_its_values_is_checked(faulty, says):
    with pytest.raises(AssertionError, match=f"^{faulty.__name__} breaks the law: {says}"):
        check_variable(faulty(["a", "b", "c"]), np.random.default_rng(0))


def test_columns_are_told_from_anything_else():
    assert as_columns(Order("abc"), np.array([0, 1, 2]), "it") == (0, 1, 2)
    for wrong in ("012", [0.0, 1.0, 2.0], [True, False, True], None, 3):
        with pytest.raises(AssertionError, match="it returns integers: got "):
            as_columns(Order("abc"), wrong, "it")
