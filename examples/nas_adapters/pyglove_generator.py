"""bostruct as an algorithm of PyGlove: pg.sample(space, Bostruct())."""

from functools import partial

import pyglove as pg

import bostruct as bo


class Bostruct(pg.DNAGenerator):
    method: str = "auto"
    seed: int = 0

    def _setup(self):
        space, self._fixed = build_space(self.dna_spec)
        self._study = bo.Study(space, method=self.method, seed=self.seed, direction="maximize")

    def _propose(self):
        try:
            trial = self._study.ask()
        except bo.SpaceExhausted:
            raise StopIteration from None
        dna = pg.DNA.from_dict(self._fixed | trial.point, self.dna_spec)
        return dna.set_metadata("trial", trial.number)

    def _feedback(self, dna, reward):
        self._study.tell(dna.metadata.get("trial"), reward)


def build_space(spec):
    """Return a space with a variable for each decision of a DNASpec, and the decisions that leave no choice."""
    variables, constraints, options, conditions = {}, [], {}, {}
    for one in spec.decision_points:
        inside = one.parent_spec.parent_spec if one.is_subchoice else one.parent_spec
        name, above = str(one.id), str(inside.parent_choice.id) if inside.parent_choice else ""
        if above and inside.index not in options.get(above, []):
            continue  # no DNA has this decision
        when = conditions[name] = {above: inside.index} if above in variables else conditions.get(above)
        if one.is_numerical:
            variables[name] = bo.Real(one.min_value, one.max_value, log=one.scale == "log", when=when)
            continue
        options[name] = list_options(one)
        if len(options[name]) == 1:
            continue
        variables[name] = bo.Categorical(options[name], when=when)
        if one.subchoice_index == 0 and (one.distinct or one.sorted):
            names = [str(choice.id) for choice in one.parent_spec.choice_specs]
            constraints.append(partial(fits, names, one.distinct, one.sorted))
    fixed = {name: values[0] for name, values in options.items() if len(values) == 1}
    return bo.Space(variables, constraints), fixed


def list_options(choice):
    """Return the candidates that a choice can take; choice i of a sorted set leaves room for those before and after."""
    n, i = len(choice.candidates), choice.subchoice_index
    if i is None or not (choice.distinct and choice.sorted):
        return list(range(n))
    return list(range(i, n - choice.parent_spec.num_choices + i + 1))


def fits(names, distinct, ordered, point):
    """Return whether the choices of a manyof are distinct and sorted, where they have to be."""
    taken = [point.get(name) for name in names]
    if None in taken:  # the point has no such choices
        return True
    return not (distinct and len(set(taken)) < len(taken)) and not (ordered and taken != sorted(taken))
