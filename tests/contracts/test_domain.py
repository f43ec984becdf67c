"""A domain is what its base says, with right defaults for all that it does not write."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError, PointError, SpaceExhausted
from bostruct.contracts.domain import Choice, Domain, LocalDomain, TreeDomain
from bostruct.language import D, SearchSpace, siso_module
from bostruct.testing import check_domain
from tests.permutations import Described, Distant, Mutable, Permutations, Swaps

SPACE = bo.Space({"a": bool, "b": range(4)})
NETWORKS = bo.mlp_domain()
PROGRAMS = SearchSpace(lambda: siso_module("Dense", {"units": D([1, 2])}))


@dataclass(frozen=True)
class Necklace(LocalDomain):
    """Strings of n beads; a neighbor has one bead of another color. Nothing but this is written."""

    n: int

    def sample(self, m, rng):
        return ["".join(rng.choice(list("rgb"), self.n)) for _ in range(m)]

    def neighbors(self, x):
        return [x[:i] + bead + x[i + 1 :] for i in range(self.n) for bead in "rgb" if bead != x[i]]


class Pairs(Domain):
    """Pairs of numbers with a name, as dicts that hold tuples."""

    def sample(self, m, rng):
        return [{"pair": tuple(rng.integers(3, size=2).tolist()), "name": "p"} for _ in range(m)]


class Steps(TreeDomain):
    """Ways of three steps, each left or right."""

    def sample(self, m, rng):
        return [tuple(rng.integers(2, size=3).tolist()) for _ in range(m)]

    def decisions(self, x):
        return x

    def options(self, made):
        return 2 if len(made) < 3 else 0

    def roll_out(self, made, rng):
        return (*made, *rng.integers(2, size=3 - len(made)).tolist())


class Listed(Domain):
    """The numbers 0 to 4."""

    def sample(self, m, rng):
        return rng.integers(5, size=m).tolist()

    def list_few(self, most):
        return list(range(5)) if most >= 5 else None


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("domain", "traits"),
    [
        (SPACE, "local choices tree mutable"),
        (bo.Space({"order": bo.Permutation(["x", "y", "z"])}), "local mutable"),
        (NETWORKS, "mutable"),
        (PROGRAMS, "local choices tree mutable"),
        (bo.Space({"a": SPACE, "b": NETWORKS}), "mutable"),
        (bo.joint_domain({"a": SPACE, "b": SPACE}), "local choices tree mutable"),
        (bo.joint_domain({"a": SPACE, "b": Necklace(2)}), "local mutable"),
        (bo.joint_domain({"a": SPACE, "b": Permutations(3)}), "mutable"),
        (Permutations(4), ""),
        (Mutable(4), "mutable"),
        (Swaps(4), "local mutable"),
        (Distant(4), "local distances mutable"),
        (Described(4), "features"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_each_domain_has_its_traits_and_no_other(domain, traits):
    found = domain.traits._asdict()
    assert [name for name, one in found.items() if one] == traits.split()
    assert all(one is domain for name, one in found.items() if one and name != "mutable")


def test_traits_are_found_without_counting_the_points():
    class Costly(Mutable):
        @property
        def size(self):
            raise AssertionError("counted")

    assert Costly(4).traits.mutable


@pytest.mark.parametrize("domain", [Necklace(4), Steps(), Listed()], ids=lambda one: type(one).__name__)
def test_the_defaults_obey_the_laws_but_for_what_is_no_point(domain, monkeypatch):
    monkeypatch.setattr("bostruct.testing.domain_laws.check_refusals", lambda *_: None)  # defaults accept much
    check_domain(domain, np.random.default_rng(0), rebuildable=False)


def test_points_of_json_are_encoded_as_they_are_and_lists_come_back_as_tuples(rng):
    domain = Pairs()
    (x,) = domain.sample(1, rng)
    assert domain.decode({"pair": list(x["pair"]), "name": "p"}) == x
    assert domain.key(x) == frozenset({("name", "p"), ("pair", x["pair"])})
    assert domain.parse(domain.present(x)) == x
    assert domain.tokens([x, x])[0].tolist() == domain.tokens([x])[0].tolist()
    with pytest.raises(PointError, match="expected one of Pairs"):
        domain.check({"pair": np.zeros(2)})


def test_a_listed_domain_knows_its_points_and_draws_the_last_unseen_one(rng):
    domain = Listed()
    domain.check(4)
    with pytest.raises(PointError, match="expected one of Listed, got 5"):
        domain.check(5)
    assert domain.sample_unseen({0, 1, 2, 4}, rng) == 3
    with pytest.raises(SpaceExhausted, match=r"no unseen point of Listed was found; 5 were seen$"):
        domain.sample_unseen({0, 1, 2, 3, 4}, rng)


def test_a_domain_without_changes_of_its_own_is_mutated_to_any_other_point(rng):
    assert Listed().mutate(2, rng) != 2
    assert Listed().crossover(1, 2, rng) is None

    class Alone(Domain):
        def sample(self, m, rng):
            return rng.integers(1, size=m).tolist()

    with pytest.raises(DomainError, match="no other point was found in 100 draws"):
        Alone().mutate(0, rng)


def test_a_mutation_takes_a_listed_point_if_draws_find_no_other(rng):
    class Rare(Listed):
        def sample(self, m, rng):
            del rng
            return [0] * m

    assert {Rare().mutate(0, rng) for _ in range(50)} == {1, 2, 3, 4}


def test_points_are_listed_once_to_check_many():
    class Counted(Listed):
        calls = 0

        def list_few(self, most):
            Counted.calls += 1
            return super().list_few(most)

    domain = Counted()
    for x in range(5):
        domain.check(x)
    assert Counted.calls == 1


def test_keys_tell_an_empty_list_from_an_empty_dict():
    domain = Pairs()
    assert domain.key([]) != domain.key({})
    assert domain.key({"a": [1, {}]}) == domain.key({"a": (1, {})})


def test_decisions_name_their_choices_by_place():
    assert Steps().coordinates((0, 1, 1)) == [
        Choice(f"decision {k}", f"decision {k}", v, 2, False) for k, v in enumerate((0, 1, 1))
    ]
    assert Steps().choice_after((0, 1, 1)) is None


def test_equal_settings_make_equal_domains_and_another_form_is_not_read():
    assert Necklace(3) == Necklace(3) != Necklace(4)
    assert Pairs() == Pairs() != Listed()
    assert hash(Pairs()) == hash(Pairs())
    assert Necklace(3).to_json() == {"domain": f"{__name__}:Necklace", "settings": {"n": 3}}
    with pytest.raises(PointError, match="Necklace does not read points of its earlier forms"):
        Necklace(3).decode_from("rgb", Necklace(4).to_json())
    assert Necklace(3).decode_from("rgb", Necklace(3).to_json()) == "rgb"


@pytest.mark.parametrize("method", ["auto", "evolution", "hill-climbing", "annealing", "random", "smbo"])
def test_methods_search_a_domain_of_two_members(method, tmp_path):
    domain = Necklace(4)
    call = {"method": method, "seed": 0, "storage": tmp_path / "runs.db"}
    result = bo.minimize(lambda beads: beads.count("r"), domain, n_trials=12, **call)
    again = bo.minimize(lambda beads: beads.count("r"), domain, n_trials=15, **call)
    assert [one.point for one in again.trials[:12]] == [one.point for one in result.trials]


@pytest.mark.parametrize("thing", [object(), Swaps, 3])
def test_a_plain_object_is_refused_with_the_name_of_the_base(thing):
    with pytest.raises(TypeError, match=r"bostruct\.contracts\.Domain \(subclass it\), got "):
        bo.minimize(len, thing, n_trials=1)
