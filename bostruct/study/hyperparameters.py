"""A table of the posterior of a model's hyperparameters, which shows the relevance of the variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bostruct.checks import load_by_name, optional_import
from bostruct.contracts import Array, Domain, HyperparameterSamples
from bostruct.display import html_table
from bostruct.goals.declared import Goals

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_LISTED = 30
RANKED = ("relevance", "coefficient")  # hyperparameters that are listed by their size
NEGLIGIBLE = 1e-9  # a relevance or coefficient that is listed last
HEADER = ("hyperparameter", "variable", "mean", "95% interval")


class Hyperparameter(NamedTuple):
    """The posterior of one hyperparameter.

    name: name of the hyperparameter.
    variable: its variable, or the choices of its coefficient; "" if it belongs to the whole model.
    samples: posterior samples (s,); s = 1 for a point estimate. A relevance is in [0, 2]; coefficients, means and
        standard deviations are in the user's units, or in the units to which `auto` compresses values.
    output: the objective or constraint of its model; "" if there is one objective.
    """

    name: str
    variable: str
    samples: Array
    output: str = ""

    @property
    def mean(self) -> float:
        """The mean of the samples."""
        return float(np.mean(self.samples))

    @property
    def interval(self) -> tuple[float, float] | None:
        """The central 95% interval of the samples; None for a point estimate."""
        if len(self.samples) == 1:
            return None
        low, high = np.quantile(self.samples, (0.025, 0.975)).tolist()
        return low, high


@dataclass(frozen=True, repr=False)
class HyperparameterTable:
    """The hyperparameters of a model: first those of all variables together, last the relevances that are zero.

    ``relevance`` is 1 minus the mean prior correlation of two points that differ only in that variable: near 0, the
    variable does not matter to the model. It does not depend on how a method parameterizes its kernels.
    """

    rows: tuple[Hyperparameter, ...]

    def __iter__(self) -> Iterator[Hyperparameter]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def relevance(self) -> dict[str, float]:
        """The mean relevance of each variable to the first output, largest first; empty for other models."""
        found: dict[str, float] = {}
        for row in self.rows:
            if row.name == "relevance":
                found.setdefault(row.variable, row.mean)
        return found

    def to_dataframe(self) -> pd.DataFrame:
        """Return a pandas DataFrame with output, name, variable, mean, low, high and samples of each hyperparameter.

        Raises MissingExtra if pandas is not installed.
        """
        columns = ["output", "name", "variable", "mean", "low", "high", "samples"]
        rows = [(r.output, r.name, r.variable, r.mean, *(r.interval or (None, None)), r.samples) for r in self.rows]
        return optional_import("pandas", "pandas").DataFrame(rows, columns=columns)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the relevance of each variable, or the largest coefficients, with 95% intervals.

        ax: axes to draw on; None for a new figure.

        Returns the matplotlib axes. Raises MissingExtra if matplotlib is not installed.
        """
        return load_by_name("bostruct.analysis.importances:draw_hyperparameters")(self, ax)

    def __repr__(self) -> str:
        rows = [HEADER, *self._list_cells()[:MOST_LISTED]]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
        lines = [
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
        more = len(self.rows) - MOST_LISTED
        return "\n".join([*lines, *([f"and {more} more, in rows"] if more > 0 else [])])

    def _repr_html_(self) -> str:
        return html_table(self._list_cells(), HEADER)

    def _list_cells(self) -> list[tuple[str, str, str, str]]:
        return [
            (
                f"{row.output}: {row.name}" if row.output else row.name,
                row.variable,
                f"{row.mean:.4g}",
                "point estimate" if row.interval is None else "{:.4g} to {:.4g}".format(*row.interval),
            )
            for row in self.rows
        ]


def tabulate_hyperparameters(
    outputs: Sequence[Sequence[HyperparameterSamples]], domain: Domain, goals: Goals
) -> HyperparameterTable:
    """Return the table of the hyperparameters of each output, with variable names, in the user's directions."""
    objectives = [goals.name_objective(k) for k in range(goals.n_objectives)]
    labels = [*objectives, *(limit.name for limit in goals.limits)] if len(outputs) > 1 else [""]
    rows = list[Hyperparameter]()
    for k, (output, label) in enumerate(zip(outputs, labels, strict=True)):
        is_maximized = k < goals.n_objectives and goals.directions[k] == "maximize"
        signs = [-1.0 if one.has_sign and is_maximized else 1.0 for one in output]
        own = [
            Hyperparameter(one.name, _name_variable(one, domain), sign * one.values, label)
            for one, sign in zip(output, signs, strict=True)
        ]
        kinds = list(dict.fromkeys(row.name for row in own))
        own.sort(key=lambda row: (kinds.index(row.name), -abs(row.mean) if row.name in RANKED else 0.0))
        rows += sorted(own, key=lambda row: (row.variable != "", row.name in RANKED and abs(row.mean) < NEGLIGIBLE))
    return HyperparameterTable(tuple(rows))


def _name_variable(one: HyperparameterSamples, domain: Domain) -> str:
    """Return the name of a hyperparameter's variable, prefixed by its part if there are several."""
    if one.variable is None or isinstance(one.variable, str):
        return one.variable or ""
    part = one.name.partition(": ")[0]
    if part in domain.parts:
        return f"{part}.{list(domain.parts[part].variables)[one.variable]}"
    return list(domain.variables)[one.variable]
