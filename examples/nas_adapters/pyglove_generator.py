"""bostruct as an algorithm of PyGlove: pg.sample(space, Bostruct()).

Every decision point of the space is a variable: oneof and each choice of a manyof unordered, floatv a grid. What DNAs
have to respect (choices that are distinct or sorted, decisions that others make inactive) is a constraint.
"""

import sys

import numpy as np

import bostruct as bo
from bostruct.contracts import SpaceExhausted

try:
    import pyglove as pg
except ModuleNotFoundError:
    sys.exit("this example needs PyGlove: pip install pyglove")


class Bostruct(pg.DNAGenerator):
    method: str = "auto"
    seed: int = 0
    steps: int = 33

    def _setup(self):
        self._points = {f"{i} {one.id}": one for i, one in enumerate(self.dna_spec.decision_points)}
        self._choices = {name: choices(one, self.steps) for name, one in self._points.items()}
        self._names = {id(one): name for name, one in self._points.items()}
        self._when, self._groups = {}, []
        self._walk(self.dna_spec, {})
        kinds = {name: bo.Categorical if one.is_categorical else bo.Ordinal for name, one in self._points.items()}
        variables = {name: kinds[name](self._choices[name]) for name in self._points if len(self._choices[name]) > 1}
        space = bo.Space(variables, constraints=[self._is_dna])
        self._study = bo.Study(space, method=self.method, seed=self.seed, direction="maximize")
        self._running = {}

    def _propose(self):
        try:
            trial = self._study.ask()
        except SpaceExhausted:
            raise StopIteration from None
        self._running[tuple(trial.point.values())] = trial
        return self._dna(trial.point)

    def _feedback(self, dna, reward):
        point = self._point(dna)
        trial = self._running.pop(tuple(point.values()), None)
        if trial is None:  # of an earlier run, or of somebody else
            self._study.add(point, reward)
        else:
            self._study.tell(trial, reward)

    def _dna(self, point):
        whole = {name: point.get(name, own[0]) for name, own in self._choices.items()}
        return pg.DNA.from_dict({self._points[name].id: value for name, value in whole.items()}, self.dna_spec)

    def _point(self, dna):
        """Inactive decisions are at their first choice; floats move to the nearest on the grid."""
        decided = {str(key): value for key, value in dna.to_dict().items()}
        return {
            name: min(own, key=lambda value: abs(value - decided.get(str(self._points[name].id), own[0])))
            for name, own in self._choices.items()
            if len(own) > 1
        }

    def _walk(self, spec, when):
        """Note which choices make each decision active, and the choices of each manyof."""
        for one in spec.elements if spec.is_space else spec.choice_specs if spec.is_categorical else [spec]:
            if spec.is_space:
                self._walk(one, when)
                continue
            name = self._names[id(one)]
            self._when[name] = when
            for index, candidate in enumerate(one.candidates if one.is_categorical else ()):
                self._walk(candidate, when | {name: index})
        if spec.is_categorical and spec.num_choices > 1:
            self._groups.append(([self._names[id(one)] for one in spec.choice_specs], spec))

    def _is_dna(self, point):
        """Without making one, for thousands of points are looked at to propose one."""
        whole = {name: point.get(name, own[0]) for name, own in self._choices.items()}
        active = {name: all(whole[k] == v for k, v in when.items()) for name, when in self._when.items()}
        if any(whole[name] != own[0] and not active[name] for name, own in self._choices.items()):
            return False
        for names, spec in (group for group in self._groups if active[group[0][0]]):
            values = [whole[name] for name in names]
            if (spec.distinct and len(set(values)) < len(values)) or (spec.sorted and sorted(values) != values):
                return False
        return True


def choices(decision, steps):
    """Numbers of candidates, or values of a float."""
    if decision.is_categorical:
        return list(range(len(decision.candidates)))
    if not decision.is_numerical:
        raise ValueError(f"{decision.id}: expected oneof, manyof or floatv, got {type(decision).__name__}")
    low, high = decision.min_value, decision.max_value
    values = (np.geomspace if decision.scale == "log" else np.linspace)(low, high, steps)
    return sorted({float(value) for value in values.clip(low, high)})


OPERATIONS = ("conv3", "conv5", "pool", "skip", "sep3")
SPACE = pg.Dict(
    stem=pg.oneof(OPERATIONS),
    cells=pg.manyof(3, OPERATIONS, distinct=True, sorted=True),
    head=pg.oneof([pg.Dict(kind="linear"), pg.Dict(kind="mlp", units=pg.oneof([16, 32, 64, 128]))]),
    rate=pg.floatv(1e-4, 1e-1, scale="log"),
)


def accuracy(network):
    """Stands in for a training; the largest is 0."""
    right = (network.stem == "conv5") + sum(one in ("conv3", "skip", "sep3") for one in network.cells)
    right += network.head.kind == "mlp" and 1 - abs(np.log2(network.head.units) - 6) / 4
    return right - 5 - 0.5 * abs(np.log10(network.rate) + 2.5)


def run(algorithm, n_trials=40):
    """The largest accuracy."""
    found = []
    for network, feedback in pg.sample(SPACE, algorithm, num_examples=n_trials):
        found.append(accuracy(network))
        feedback(found[-1])
    return max(found)


if __name__ == "__main__":
    for name, algorithm in (("bostruct", Bostruct()), ("random", pg.geno.Random(seed=0))):
        print(f"{name}: {run(algorithm):.3f}")
