"""Domains of variables, parts and architectures obey their laws, and each planted fault breaks one."""

from __future__ import annotations

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import DomainError
from bostruct.domains.architecture.domain import ArchitectureDomain
from bostruct.domains.joint import Joint
from bostruct.domains.language.compilers.implementations import labeled_module
from bostruct.language import D, SearchSpace, siso_module
from bostruct.testing.capability_laws import check_architectures, check_parts, check_variables
from tests.architectures import SMALL_CNN
from tests.conditional_spaces import training_space

VARIABLES = {"a": bool, "rate": bo.Real(0.1, 1.0), "c": range(6)}


class Narrow(bo.Space):
    """It says nothing of its last variable."""

    def __init__(self, variables):
        super().__init__(variables)
        self.variables.pop("c")


class Floating(bo.Space):
    def join(self, *batches):
        return super().join(*batches).astype(float)


class Flat(bo.Space):
    def take(self, batch, positions):
        return super().take(batch, positions).ravel()


class Shifted(bo.Space):
    """Its columns are not in the order of its variables."""

    def sample(self, m, rng):
        return np.roll(super().sample(m, rng), 1, axis=1)


class Numberless(bo.Space):
    n_continuous = 0


class Listed(bo.Space):
    """Its variables are no `Variable`s."""

    @property
    def variables(self):
        return {"a": range(6)}

    @variables.setter
    def variables(self, given):
        del given


@pytest.mark.parametrize(
    ("fault", "law"),
    [
        (Narrow, "a row has as many columns"),
        (Floating, "an array of integers"),
        (Flat, "a batch is"),
        (Numberless, "n_continuous is the sum over the variables"),
    ],
)
def test_a_fault_of_variables_is_named(fault, law):
    xs = bo.Space(VARIABLES).sample(4, np.random.default_rng(0))
    with pytest.raises(AssertionError, match=law):
        check_variables(fault(VARIABLES), xs)


def test_columns_in_another_order_are_named():
    domain = Shifted(VARIABLES)
    with pytest.raises(AssertionError, match="contain one of its values: a"):
        check_variables(domain, domain.sample(4, np.random.default_rng(0)))


@pytest.mark.parametrize("domain", [bo.Space(VARIABLES), training_space()], ids=["plain", "conditional"])
def test_spaces_are_of_variables(domain):
    check_variables(domain, domain.sample(20, np.random.default_rng(0)))


def pair():
    return bo.joint_domain({"setting": bo.Space(VARIABLES), "network": SMALL_CNN})


def with_fault(domain: Joint, **members):
    """An equal domain of a class of its own, which has other members."""
    made = object.__new__(type("Faulty", (type(domain),), members))
    vars(made).update(vars(domain))
    return made


def swapped(self, name, xs):
    return type(self).__mro__[1].part(self, name, xs[::-1])


def shorter(self, name, xs):
    return type(self).__mro__[1].part(self, name, xs)[1:]


def foreign(self, name, xs):
    return type(self).__mro__[1].part(self, next(one for one in self.part_names if one != name), xs)


@pytest.mark.parametrize(
    ("fault", "law"),
    [(swapped, "rest of the batch"), (shorter, "one point for each"), (foreign, "part returns valid points")],
)
def test_a_fault_of_parts_is_named(fault, law):
    domain = with_fault(pair(), part=fault)
    with pytest.raises(AssertionError, match=law):
        check_parts(domain, domain.sample(4, np.random.default_rng(0)))


def test_parts_that_do_not_tell_points_apart_are_named():
    domain = pair()
    short = with_fault(domain, parts=property(lambda self: {"setting": self.domains[0]}))
    xs = domain.points([domain.domains[0].sample(1, np.random.default_rng(0))[[0, 0]], list(SMALL_CNN.pool[:2])])
    check_parts(domain, xs)
    with pytest.raises(AssertionError, match="equal if and only if all their parts are"):
        check_parts(short, xs)


def layered():
    return labeled_module("Conv", "conv3-16")


class Nameless(ArchitectureDomain):
    def architectures(self, xs):
        return [x.fingerprint for x in xs]


class Fewer(ArchitectureDomain):
    def architectures(self, xs):
        return list(xs)[1:]


class Neighboring(ArchitectureDomain):
    def architectures(self, xs):
        return list(xs)[::-1]


@pytest.mark.parametrize(
    ("fault", "law"),
    [(Nameless, "each as an Architecture"), (Fewer, "one for each"), (Neighboring, "rest of the batch")],
)
def test_a_fault_of_architectures_is_named(fault, law):
    domain = fault(SMALL_CNN.family, SMALL_CNN.bounds, SMALL_CNN.pool)
    with pytest.raises(AssertionError, match=law):
        check_architectures(domain, domain.sample(4, np.random.default_rng(0)))


def test_programs_stand_for_architectures_where_their_modules_stand_for_layers():
    layers = SearchSpace(layered)
    found = layers.architectures(layers.sample(3, np.random.default_rng(0)))
    assert all(isinstance(one, bo.Architecture) for one in found)
    others = SearchSpace(lambda: siso_module("Unheard", {"units": D([16, 32])}))
    with pytest.raises(DomainError, match="these programs have no architecture: no module has a layer"):
        others.architectures(others.sample(3, np.random.default_rng(0)))
