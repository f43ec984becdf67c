"""bostruct as an optimizer of NePS (neural-pipeline-search): neps.run(..., optimizer=Bostruct).

Settings go in by functools.partial(Bostruct, method="combo"). Floats, and integers of more than `steps` values, are
searched on a grid. All that is known is in the trials that NePS hands over, so several workers and resumed runs need
nothing more. A fidelity is always at its highest.
"""

import logging
import sys
import tempfile

import numpy as np

import bostruct as bo

try:
    import neps
    from neps.optimizers.optimizer import ImportedConfig, SampledConfig
except ModuleNotFoundError:
    sys.exit("this example needs NePS: pip install neural-pipeline-search")


PREFIX = "SAMPLING__Resolvable."  # of the names that NePS gives to decisions


class Bostruct:
    def __init__(self, space, method="auto", seed=0, steps=33):
        self.method, self.seed = method, seed
        drawn = neps.algorithms.neps_random_search(space, ignore_fidelity="highest_fidelity")({}, None).config
        self.fixed = {key: value for key, value in drawn.items() if not key.startswith(PREFIX)}  # fidelities
        keys = {key.removeprefix(PREFIX).partition("::")[0]: key for key in drawn if key.startswith(PREFIX)}
        found = {name: one for name, one in space.get_attrs().items() if is_simple(one)}
        if set(keys) != set(found):
            others = ", ".join(sorted(set(keys) ^ set(found)))
            raise ValueError(f"space: expected floats, integers and categories of simple values, got others: {others}")
        self.choices = {keys[name]: choices(one, steps) for name, one in found.items()}
        kinds = {keys[name]: bo.Categorical if hasattr(one, "choices") else bo.Ordinal for name, one in found.items()}
        self.space = bo.Space({key: kinds[key](values) for key, values in self.choices.items()})

    def __call__(self, trials, budget_info, n=None):
        del budget_info  # it says when to stop, which NePS does
        known = [(self.point(trial.config), trial.report) for trial in trials.values()]
        running = [point for point, report in known if report is None]
        study = bo.Study(self.space, method=self.method, seed=self.seed, initial_points=running)
        for point, report in known:
            if report is not None:
                value = report.objective_to_minimize
                study.add(point, failed=str(report.err)) if value is None else study.add(point, value)
        for _ in running:  # by other workers: they are asked first, and never again
            study.ask()
        first = next_number(trials)
        asked = [SampledConfig(str(first + i), study.ask().point | self.fixed) for i in range(n or 1)]
        return asked[0] if n is None else asked

    def import_trials(self, external_evaluations, trials):
        first = next_number(trials)
        return [ImportedConfig(str(first + i), *one) for i, one in enumerate(external_evaluations)]

    def point(self, config):
        """Numbers of other origin are moved to the nearest on the grid."""
        return {key: min(own, key=lambda value: abs(value - config[key])) for key, own in self.choices.items()}


def is_simple(one):
    if isinstance(one, neps.Categorical):
        return all(isinstance(choice, str | int | float) for choice in one.choices)
    return isinstance(one, neps.Float | neps.Integer)


def choices(one, steps):
    """Numbers of the choices of a category, values of a number."""
    if isinstance(one, neps.Categorical):
        return list(range(len(one.choices)))
    whole = isinstance(one, neps.Integer)
    if whole and not one.log and one.upper - one.lower < steps:
        return list(range(one.lower, one.upper + 1))
    values = (np.geomspace if one.log else np.linspace)(one.lower, one.upper, steps).clip(one.lower, one.upper)
    return sorted({round(value) if whole else float(value) for value in values})


def next_number(trials):
    return max((int(key) for key in trials), default=0) + 1


class Space(neps.PipelineSpace):
    rate = neps.Float(1e-4, 1e-1, log=True)
    layers = neps.Integer(1, 8)
    activation = neps.Categorical(("relu", "tanh", "gelu", "silu"))
    pool = neps.Categorical(("max", "mean", "none"))


def loss(rate, layers, activation, pool):
    """Stands in for a training; the least is 0, at 10 ** -2.5, 6, gelu and mean."""
    wrong = (activation != "gelu") + (pool != "mean") + 0.5 * (activation == "relu" and pool == "max")
    return abs(np.log10(rate) + 2.5) + 0.2 * abs(layers - 6) * (1 + wrong) + wrong


def run(optimizer, n_trials=40):
    """The least loss."""
    with tempfile.TemporaryDirectory() as parent:
        folder = f"{parent}/run"  # NePS makes it
        neps.run(loss, Space(), optimizer=optimizer, root_directory=folder, total_evaluations_to_spend=n_trials)
        return neps.status(folder)[1]["best_objective_to_minimize"]


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    for optimizer in (Bostruct, "random_search"):
        print(f"{optimizer if isinstance(optimizer, str) else 'bostruct'}: {run(optimizer):.3f}")
