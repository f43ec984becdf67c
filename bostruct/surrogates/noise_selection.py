"""A choice between two Gaussian processes, one of which expects noise and one of which expects next to none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bostruct.checks import check_number, has_hardly_grown
from bostruct.contracts import ADDED_LATER, Array, Batch, Info, Kernel, State, Surrogate
from bostruct.surrogates.map_gp import MAPGP, Mode
from bostruct.surrogates.posterior import GaussianPosterior


@dataclass(frozen=True)
class NoiseSelection(Surrogate):
    """A choice between two models, each fitted at its mode: the one whose posterior density is higher.

    This is the mode under a prior that mixes those of the two models: one model climbs from either part of the mixture,
    so that neither hides the other.

    quiet: expects next to no noise.
    noisy: the same kernel; its noise prior has the sd of the quiet one's, since densities are compared without their
        constants.
    log_odds: of `noisy` before any data, finite.
    growth: the last model and mode serve until the data have grown by this share since they were fitted, at least 0;
        with 0 each call fits both models.

    Raises TypeError or ValueError for `log_odds` and `growth`.
    """

    quiet: MAPGP
    noisy: MAPGP
    log_odds: float = 0.0
    growth: float = field(default=0.0, metadata=ADDED_LATER)

    def __post_init__(self) -> None:
        check_number("log_odds", self.log_odds, -math.inf)
        check_number("growth", self.growth, 0.0)
        if self.quiet.kernel is not self.noisy.kernel and self.quiet.kernel != self.noisy.kernel:
            raise ValueError("noisy: expected a model with the kernel of the quiet one, for they share their data")

    def with_variances(self, variances: Array) -> NoiseSelection:
        """Return the choice between models that know the noise of the values that they are conditioned on next.

        Where the noise of all values is known, the two models are one: the quiet one is fitted, and serves.

        variances: of the noise of each value (n,), at least 0, in the user's units squared; NaN where it is learned.
        """
        return replace(self, quiet=self.quiet.with_variances(variances), noisy=self.noisy.with_variances(variances))

    def for_slack(self, warp: Callable[[Surrogate], Surrogate]) -> Surrogate:
        quiet, noisy = (replace(one, near_zero=True) for one in (self.quiet, self.noisy))
        return warp(replace(self, quiet=quiet, noisy=noisy))

    def with_kernel(self, change: Callable[[Kernel], Kernel], join: Callable[..., Batch]) -> NoiseSelection:
        quiet, noisy = (one.with_kernel(change, join) for one in (self.quiet, self.noisy))
        return replace(self, quiet=quiet, noisy=noisy, growth=0.0)

    def initial_state(self) -> State:
        return [self.quiet.initial_state(), self.noisy.initial_state()]

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[GaussianPosterior, State, Info]:
        """Fit both models, each from its own last mode, and keep the more probable model.

        A fit that failed counts as improbable. Where the data have hardly grown since the last fit, nothing is fitted.

        xs: n points.
        values: (n,), in the user's units, minimized.
        state: of `initial_state`, or what the last call returned.
        rng: unused; the climbs are deterministic.

        Returns the posterior, the state for the next call, and what goes on record. Raises NumericalError.
        """
        del rng  # the climbs are deterministic
        fit = self.quiet.prepare(xs, values)  # serves both, which have the same kernel
        if isinstance(state, dict) and has_hardly_grown([len(values)], [state["n"]], self.growth):
            model, last = self.noisy if state["is_noisy"] else self.quiet, state["modes"][int(state["is_noisy"])]
            if model.accepts(last):
                posterior, info = model.posterior_at(fit, Mode(np.array(last), {"fit": "kept", "likelihoods": 0}))
                return posterior, state, info
        last = self._last_modes(state)
        if fit.usual_noise is not None:
            mode = self.quiet.find_mode(fit, last[0])
            posterior, info = self.quiet.posterior_at(fit, mode)
            return posterior, self._learned([mode.packed.tolist(), last[1]], len(values), False), info
        quiet, noisy = self.quiet.find_mode(fit, last[0]), self.noisy.find_mode(fit, last[1])
        gain = noisy.info.get("log_posterior", -math.inf) + self.log_odds - quiet.info.get("log_posterior", -math.inf)
        is_noisy = gain > 0.0
        model, mode = (self.noisy, noisy) if is_noisy else (self.quiet, quiet)
        posterior, info = model.posterior_at(fit, mode)
        likelihoods = quiet.info["likelihoods"] + noisy.info["likelihoods"]
        learned = self._learned([quiet.packed.tolist(), noisy.packed.tolist()], len(values), is_noisy)
        return posterior, learned, info | {"likelihoods": likelihoods}

    def _learned(self, modes: State, n: int, is_noisy: bool) -> State:
        return {"modes": modes, "n": n, "is_noisy": is_noisy} if self.growth else modes

    def _last_modes(self, state: State) -> list[State]:
        """Return the last mode of each model; a study of version 0.1.0 had one model, whose mode serves both."""
        if state is None:
            return self.initial_state()
        if isinstance(state, dict):
            return state["modes"]
        is_pair = len(state) == 2 and all(mode is None or isinstance(mode, list) for mode in state)
        return state if is_pair else [state, state]
