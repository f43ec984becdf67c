"""bostruct as an optimizer of NePS (neural-pipeline-search): neps.run(..., optimizer=Bostruct).

Settings go in by functools.partial(Bostruct, method="combo"). All that is known is in the trials that NePS hands over,
so several workers and resumed runs need nothing more.
"""

import neps
import numpy as np
from neps.optimizers.optimizer import SampledConfig

import bostruct as bo


class Bostruct:
    def __init__(self, space, method="auto", seed=0):
        self.method, self.seed = method, seed
        drawn = neps.algorithms.neps_random_search(space, ignore_fidelity="highest_fidelity")({}, None).config
        self.fixed = {key: value for key, value in drawn.items() if key.startswith("ENVIRONMENT__")}  # fidelities
        names = {key: key.removeprefix("SAMPLING__Resolvable.").partition("::")[0] for key in drawn.keys() - self.fixed}
        self.space = bo.Space({key: variable(name, space.get_attrs()) for key, name in sorted(names.items())})

    def __call__(self, trials, budget_info, n=None):
        del budget_info  # NePS knows when to stop
        running = [self.point(trial.config) for trial in trials.values() if trial.report is None]
        study = bo.Study(self.space, method=self.method, seed=self.seed, initial_points=running)
        for trial in trials.values():
            if trial.report is not None:
                value = trial.report.objective_to_minimize
                study.add(self.point(trial.config), np.nan if value is None else value)
        asked = [study.ask() for _ in range(len(running) + (n or 1))][len(running) :]  # first what others run
        first = max(map(int, trials), default=0) + 1
        configs = [SampledConfig(str(first + i), trial.point | self.fixed) for i, trial in enumerate(asked)]
        return configs[0] if n is None else configs

    def point(self, config):
        """Return the point of a configuration, without its fidelities."""
        return {key: config[key] for key in self.space.variables}


def variable(name, parts):
    """Return the variable of a number, or of the numbers of a category's choices."""
    one = parts.get(name)
    if isinstance(one, neps.Categorical) and all(isinstance(choice, str | int | float) for choice in one.choices):
        return bo.Categorical(range(len(one.choices)))
    if not isinstance(one, neps.Float | neps.Integer):
        raise ValueError(f"space: expected floats, integers and categories of simple values; {name} is none of them")
    kind = bo.Integer if isinstance(one, neps.Integer) else bo.Real
    return kind(one.lower, one.upper, log=one.log)
