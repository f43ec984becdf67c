"""A surrogate that learns the target task together with earlier tasks, unless the target is better explained alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bostruct.checks import ROUNDING
from bostruct.contracts import ADDED_LATER, Array, Batch, Info, NumericalError, State, Surrogate
from bostruct.surrogates.gaussian import evidence
from bostruct.surrogates.map_gp import MAPGP, NoiseSelection
from bostruct.surrogates.posterior import GaussianPosterior
from bostruct.surrogates.psd_diagnostics import PSDDiagnostics
from bostruct.surrogates.standardization import find_known_variances, standardize, standardize_variances

TaskModel = MAPGP | NoiseSelection | PSDDiagnostics


@dataclass(frozen=True)
class TransferLearning(Surrogate):
    """A choice between a model of only the target task and a model of the target task together with earlier tasks.

    The joint model is kept if the target's values are clearly more probable under it. Under the joint model, their
    probability is conditional on the values of the earlier tasks. Under the other model, it is the probability at the
    mode, times the ratio of the prior density there to its maximum. So earlier tasks that do not help are ignored.

    task_values: values of the earlier tasks (q,), to minimize, each task standardized on its own.
    join: (points of the target, `tasks`) -> batch of both, in this order.
    least_gain: difference of the log probabilities above which the joint model is kept.
    variances: known noise variances of the values, as in `with_variances`; None if all are learned.
    """

    alone: TaskModel
    joint: TaskModel
    tasks: Batch
    task_values: Array
    join: Callable[..., Batch]
    least_gain: float = 1.0
    variances: Array | None = field(default=None, metadata=ADDED_LATER, compare=False)

    def with_variances(self, variances: Array) -> TransferLearning:
        """Return the surrogate with known noise of the values that it is conditioned on next.

        The noise of the earlier tasks is learned.
        """
        return replace(self, alone=self.alone.with_variances(variances), variances=variances)

    def initial_state(self) -> State:
        return [self.alone.initial_state(), self.joint.initial_state()]

    def condition(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[GaussianPosterior, State, Info]:
        """Fit both models, each from its own last mode, and keep one of them.

        Returns the posterior of the target task, the state for the next call, and the info to record: ``transfer`` is
        true if the joint model was kept, and ``transfer_gain`` is the difference of the log probabilities.

        Raises NumericalError.
        """
        alone, alone_state, info = self.alone.condition(xs, values, state[0], rng)
        try:
            joint, joint_state, found, gain = self._condition_jointly(xs, values, state[1], rng)
        except NumericalError:
            return alone, [alone_state, state[1]], info | {"transfer": False}
        gain -= info.get("log_posterior", -math.inf)
        chosen = {"transfer": gain > self.least_gain, "likelihoods": info["likelihoods"] + found["likelihoods"]}
        if math.isfinite(gain):
            chosen["transfer_gain"] = gain
        states = [alone_state, joint_state]
        return (joint, states, found | chosen) if gain > self.least_gain else (alone, states, info | chosen)

    def _condition_jointly(
        self, xs: Batch, values: Array, state: State, rng: np.random.Generator
    ) -> tuple[GaussianPosterior, State, Info, float]:
        """Fit the joint model; return its posterior in the user's units, state, info, and the conditional evidence."""
        variances = find_known_variances(self.variances, len(values))
        standard, shift, scale = standardize(values, ROUNDING, variances)
        both, both_values = self.join(xs, self.tasks), np.concatenate([standard, self.task_values])
        model = self.joint
        if variances is not None:
            of_tasks = np.full(len(self.task_values), np.nan)
            model = model.with_variances(np.concatenate([standardize_variances(variances, scale), of_tasks]))
        joint, state, info = model.condition(both, both_values, state, rng)
        conditional = self._conditional_evidence(joint, both_values, len(values))
        return replace(joint, shift=shift + scale * joint.shift, scale=scale * joint.scale), state, info, conditional

    def _conditional_evidence(self, joint: GaussianPosterior, values: Array, n: int) -> float:
        """Return the log density of the first n values given all others; raise NumericalError."""
        hyper, kernel = joint.samples[0].hyper, joint.kernel
        residual = (values - joint.shift) / joint.scale - hyper.mean
        gram, ratio = kernel.gram(hyper.theta, kernel.prepare(joint.xs)), hyper.ratio(joint.nugget, joint.known)
        given = gram[n:, n:]
        of_tasks = hyper.ratio(joint.nugget)  # the noise of earlier tasks is learned
        together = evidence(gram.copy, residual, hyper.log_amplitude, ratio).log_density
        before = evidence(given.copy, residual[n:], hyper.log_amplitude, of_tasks).log_density
        return together - before - n * math.log(joint.scale)
