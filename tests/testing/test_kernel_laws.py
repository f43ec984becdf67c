"""Kernels that obey the laws pass, and each planted fault breaks one; ours are checked beside their own tests."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import bostruct as bo
from bostruct.contracts import Kernel, Parameter, Prior, SingleGram
from bostruct.kernels.algebra import SpectrumClip
from bostruct.surrogates.hyperparameters import Normal
from bostruct.testing.kernel_laws import LAWS, KernelCase, check_kernel
from tests.permutations import Distant

SPACE = bo.Space({"a": bool, "b": list("pqrs"), "c": range(6), "d": bo.Integer(-3, 3)})

NORMAL = Normal(0.0, 1.0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@dataclass(frozen=True)
class Faulty(Kernel):
    """exp(-rate * differing columns), but for one fault."""

    fault: str = "none"
    prior: Prior = NORMAL
    kept: dict = field(default_factory=dict)

    @property
    def parameters(self):
        return (Parameter("log_rate", 1, self.prior, -1.0),)

    def prepare(self, xs, ys=None):
        rows = np.asarray(xs)
        if self.fault == "knows arrays alone" and not isinstance(xs, np.ndarray):
            rows = xs.base[xs.of]
        others = rows if ys is None else np.asarray(ys)
        found = (rows[:, None] != others[None]).sum(axis=2).astype(float)
        if self.fault == "asks for identity" and ys is not xs:
            found += 0.5
        if self.fault == "adds noise to training points" and ys is None:
            found -= 0.01 * np.eye(len(found))
        if self.fault == "centers" and len(found) > 1:
            found -= found.mean()
        if self.fault == "takes an order":
            found += 0.1 * (rows[:, None, 2] > others[None, :, 2])
        return found

    def gram(self, theta, prepared):
        found = np.exp(-np.exp(theta[0]) * prepared)
        if self.fault in ("hands out what it keeps", "hands out a read-only array"):
            found = self.kept.setdefault((float(theta[0]), id(prepared)), (found, prepared))[0]
            found.flags.writeable = self.fault == "hands out what it keeps"
        if self.fault == "is indefinite":
            return 1.0 - np.tanh(prepared) * 0.9 + (prepared == 2.0)
        if self.fault == "is not finite":
            return np.where(prepared > 2.0, np.nan, found)
        return found.T if self.fault == "turns" else found

    def diag(self, theta, xs):
        del theta
        return np.full(len(xs), 2.0 if self.fault == "has another diagonal" else 1.0)

    def line(self, theta, i, prepared, gram=None):
        del i
        if self.fault == "overwrites what it is given" and gram is not None:
            gram[:] = 0.0
        kept = self.gram(theta, prepared)
        if self.fault == "returns its own array":

            def into(value):
                kept[:] *= self.gram(np.array([value]), prepared) / kept
                return kept

            return into
        if self.fault == "stays":
            return lambda _: kept.copy()
        return lambda value: self.gram(np.array([value]), prepared)

    def gram_and_pullback(self, theta, prepared):
        gram = self.gram(theta, prepared)
        slope = -(1.0 if self.fault == "forgets the chain rule" else np.exp(theta[0])) * prepared * gram
        return gram, lambda cotangent: np.array([np.vdot(cotangent, slope)])


FAULTS = ["knows arrays alone", "asks for identity", "adds noise to training points", "centers", "takes an order"]
FAULTS += ["is indefinite", "is not finite", "turns", "has another diagonal", "overwrites what it is given"]
FAULTS += [
    "hands out what it keeps",
    "hands out a read-only array",
    "returns its own array",
    "stays",
    "forgets the chain rule",
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_kernel_fails(fault, rng):
    with pytest.raises((AssertionError, ValueError)):
        check_kernel(Faulty(fault), SPACE, rng, reach=1.0)


class Squared(Faulty):
    """exp(-rate * squared number of differing columns), which is indefinite, and seldom so on six points."""

    def gram(self, theta, prepared):
        return np.exp(-np.exp(theta[0]) * prepared**2)

    def gram_and_pullback(self, theta, prepared):
        gram = self.gram(theta, prepared)
        slope = -np.exp(theta[0]) * prepared**2 * gram
        return gram, lambda cotangent: np.array([np.vdot(cotangent, slope)])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("space", [SPACE, bo.Space({f"x{i}": bool for i in range(4)})], ids=["large", "small"])
def test_an_indefinite_kernel_fails_under_any_seed(space, seed):
    with pytest.raises(
        AssertionError, match=r"^Squared breaks the law: gram is positive semi-definite at theta .*, for \d+ "
    ):
        check_kernel(Squared(), space, np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(10))
def test_a_kernel_that_overflows_far_from_its_initial_values_fails_under_any_seed(seed):
    class Overflowing(Faulty):
        def gram(self, theta, prepared):
            return super().gram(theta, prepared) * (np.nan if abs(theta[0] + 1.0) > 2.0 else 1.0)

    with pytest.raises(AssertionError, match=r"^Overflowing breaks the law: gram is finite at theta"):
        check_kernel(Overflowing(), SPACE, np.random.default_rng(seed))


def test_a_semi_definite_kernel_may_have_zeros_on_its_diagonal(rng):
    class Linear(Faulty):
        def prepare(self, xs, ys=None):
            return np.asarray(xs)[:, :1] * np.asarray(xs if ys is None else ys)[:, 0].astype(float)

        def gram(self, theta, prepared):
            return np.exp(theta[0]) * prepared

        def diag(self, theta, xs):
            return np.exp(theta[0]) * np.asarray(xs)[:, 0] ** 2

        def gram_and_pullback(self, theta, prepared):
            gram = self.gram(theta, prepared)
            return gram, lambda cotangent: np.array([np.vdot(cotangent, gram)])

    check_kernel(Linear(), SPACE, rng, reach=1.0)


class Misformed(Faulty):
    """A kernel whose methods return something else than the contract says."""

    def gram(self, theta, prepared):
        found = super().gram(theta, prepared)
        return found.tolist() if self.fault == "gram a list" else found

    def diag(self, theta, xs):
        return 1.0 if self.fault == "diag a number" else super().diag(theta, xs)

    def gram_and_pullback(self, theta, prepared):
        gram, pullback = super().gram_and_pullback(theta, prepared)
        if self.fault == "pullback a number":
            return gram, lambda cotangent: float(pullback(cotangent)[0])
        return 1.0 if self.fault == "no pullback" else (gram, pullback)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("gram a list", r"gram returns the matrix \(n, m\): expected an array, got \[\["),
        ("diag a number", r"diag returns one number for each point \(n,\): expected an array, got 1.0"),
        ("pullback a number", r"the pullback returns the gradient \(p,\): expected an array, got -?\d"),
        ("no pullback", "gram_and_pullback returns a matrix and a function: got 1.0"),
    ],
)
def test_a_value_of_the_wrong_form_is_named(fault, says, rng):
    with pytest.raises(AssertionError, match=rf"^Misformed breaks the law: {says}"):
        check_kernel(Misformed(fault), SPACE, rng, reach=1.0)


def test_a_kernel_with_a_faulty_prior_fails(rng):
    @dataclass(frozen=True)
    class Nowhere(Prior):
        def log_density(self, theta):
            return -np.inf * (1.0 + abs(theta))

    with pytest.raises(AssertionError, match="log_density is finite at the initial value"):
        check_kernel(Faulty(prior=Nowhere()), SPACE, rng)


def test_the_faultless_pass(rng):
    check_kernel(Faulty(), SPACE, rng, reach=1.0)


@dataclass(frozen=True)
class Mallows(Faulty):
    """The kernel of Kendall's distance, whose batches are lists."""

    def prepare(self, xs, ys=None):
        return Distant(4).distances(xs, xs if ys is None else ys)


def test_lists_have_no_single_changes(rng):
    check_kernel(Mallows(), Distant(4), rng, reach=1.0)


@dataclass(frozen=True)
class FaultyClip(SpectrumClip):
    """A kernel that depends on the training points, but for one fault."""

    fault: str = "none"

    def gram_and_diag(self, theta, xs, prepared):
        gram, diag = super().gram_and_diag(theta, xs, prepared)
        if self.fault == "gives another matrix":
            gram = gram + 0.1
        if self.fault == "gives another diagonal":
            diag = diag + 0.1
        return gram, diag


@pytest.mark.parametrize("fault", ["gives another matrix", "gives another diagonal"])
def test_a_faulty_kernel_of_training_points_fails(fault, rng):
    kernel = FaultyClip(Mallows())
    check_kernel(kernel, Distant(4), rng, reach=1.0)
    with pytest.raises(AssertionError, match="gram_and_diag"):
        check_kernel(replace(kernel, fault=fault), Distant(4), rng, reach=1.0)


@dataclass(frozen=True)
class Overriding(Faulty):
    """A kernel whose quick ways do something else than the defaults of the base, but for one or none of them."""

    def gram_and_diag(self, theta, xs, prepared):
        return self.gram(theta, prepared), self.diag(theta, xs) * (2.0 if self.fault == "gram_and_diag" else 1.0)

    def single_grams(self, thetas, xs):
        wrong = 1.01 if self.fault == "single_grams" else 1.0

        def along(ys):
            prepared = self.prepare(xs, ys)
            return (SingleGram((wrong * self.gram(theta, prepared)).astype(np.float32), 1e-6) for theta in thetas)

        return along


@pytest.mark.parametrize("fault", ["gram_and_diag", "single_grams"])
def test_a_quick_way_that_does_something_else_fails(fault, rng):
    check_kernel(Overriding(), SPACE, rng, reach=1.0)
    with pytest.raises(AssertionError, match=fault):
        check_kernel(Overriding(fault), SPACE, rng, reach=1.0)


@pytest.mark.parametrize("fault", ["has another diagonal", "stays", "forgets the chain rule"])
def test_an_override_that_does_something_else_than_the_default_is_named(fault, rng):
    xs = SPACE.sample(6, rng)
    theta = np.array([-0.7])
    case = KernelCase(SPACE, xs, xs, theta, theta + 0.3, 1.0, rng)
    LAWS["defaults"](Faulty(), case)
    with pytest.raises(AssertionError, match="agrees with its default in Kernel"):
        LAWS["defaults"](Faulty(fault), case)


def test_a_plain_object_is_no_kernel(rng):
    with pytest.raises(
        AssertionError, match=r"object breaks the law: check_part raised TypeError: kernel: expected a bostruct"
    ):
        check_kernel(object(), SPACE, rng)  # type: ignore[arg-type]
