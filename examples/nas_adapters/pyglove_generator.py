"""bostruct as an algorithm of PyGlove: pg.sample(space, Bostruct())."""

import re
from functools import partial

import pyglove as pg

import bostruct as bo
from bostruct.language import D, FloatRange, SearchSpace, identity, siso_module, siso_sequential, substitution_module


class Bostruct(pg.DNAGenerator):
    method: str = "auto"
    seed: int = 0

    def _setup(self):
        space = SearchSpace(partial(chain, self.dna_spec))
        self._study = bo.Study(space, method=self.method, seed=self.seed, direction="maximize")

    def _propose(self):
        try:
            trial = self._study.ask()
        except bo.SpaceExhausted:
            raise StopIteration from None
        dna = pg.DNA.from_numbers([module.values["value"] for module in trial.point.nodes], self.dna_spec)
        return dna.set_metadata("trial", trial.number)

    def _feedback(self, dna, reward):
        self._study.tell(dna.metadata.get("trial"), reward)


def chain(spec, taken=()):
    """A module for each decision, in the order of a DNA's numbers; taken: by the earlier choices of a manyof.

    keyed_by=() makes later choices of a manyof the same ones to the model, whatever was chosen before.
    """
    if spec.is_space:
        return siso_sequential([identity(), *map(chain, spec.elements)])
    name = re.sub(r"\W+", "_", f"at {spec.id}")
    if spec.is_numerical:
        return siso_module(name, {"value": FloatRange(spec.min_value, spec.max_value, 33, log=spec.scale == "log")})
    first = taken[-1] if taken and spec.sorted else 0
    end = len(spec.candidates) - (spec.num_choices - len(taken) - 1) * (spec.distinct and spec.sorted)
    value = D([i for i in range(first, end) if not (spec.distinct and i in taken)])

    def opened(values):
        chosen = (*taken, values["value"])
        rest = [chain(spec, chosen)] if len(chosen) < spec.num_choices else []
        return siso_sequential([chain(spec.candidates[chosen[-1]]), *rest])

    behind = substitution_module("Opened", opened, {"value": value}, ["in"], ["out"], keyed_by=())
    return siso_sequential([siso_module(name, {"value": value}), behind])
