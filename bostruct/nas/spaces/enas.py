"""The recurrent cell of ENAS (Pham et al. 2018), as Negrinho et al. 2019 encode it (figure 16)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from bostruct.domains.language.combinators import apply_part, combiner, identity, siso_or, siso_sequential
from bostruct.domains.language.compilers.implementations import Shapes, TorchLayer, Values
from bostruct.domains.language.graph import IO, Builder, substitution_module
from bostruct.domains.language.hyperparameters import D
from bostruct.nas import ops
from bostruct.nas.ops import IntSetting

if TYPE_CHECKING:
    from torch import Tensor


ENAS_ACTIVATIONS = ("tanh", "relu", "sigmoid", "identity")


def enas_cell(nodes: int = 8, units: tuple[int, ...] = (32, 64, 128, 256)) -> Builder:
    """Return the search space of recurrent cells of ENAS, with inputs ``x`` and ``ht`` and output ``ht+1``.

    The first node reads both inputs, each other node one node before it; each has an activation. Nodes that no node
    reads are averaged, as in the paper's figure (its caption says otherwise).

    Parameters
    ----------
    nodes : int, default 8
        Number of nodes.
    units : tuple of int, default (32, 64, 128, 256)
        Numbers of units to choose from; there are len(units) x (nodes - 1)! x 4^nodes cells.
    """
    return partial(_enas_cell, nodes, tuple(units))


def _enas_cell(nodes: int, units: tuple[int, ...]) -> IO:
    h_units = D(units, name="units")
    sources = {str(i): D(range(i), name=f"source_{i}") for i in range(1, nodes)}
    return substitution_module("Cell", partial(_wire_enas_cell, nodes, h_units), sources, ["x", "ht"], ["ht+1"])


def _wire_enas_cell(nodes: int, h_units: IntSetting, sources: dict[str, int]) -> IO:
    first_inputs, first_outputs = _first_node(h_units)
    made = [first_outputs]
    for i in range(1, nodes):
        made.append(apply_part(siso_sequential([ops.dense(h_units), _choose_activation()]), made[sources[str(i)]]))
    ends = sorted(set(range(nodes)) - set(sources.values()))
    inputs, outputs = combiner(len(ends), "Average", TorchLayer(_average_inputs))
    for position, i in enumerate(ends):
        inputs[f"in{position}"].connect(made[i]["out"])
    return first_inputs, {"ht+1": outputs["out"]}


def _first_node(h_units: IntSetting) -> IO:
    x, h, total, end = ops.dense(h_units), ops.dense(h_units), ops.add(2), _choose_activation()
    total[0]["in0"].connect(x[1]["out"])
    total[0]["in1"].connect(h[1]["out"])
    end[0]["in"].connect(total[1]["out"])
    return {"x": x[0]["in"], "ht": h[0]["in"]}, end[1]


def _choose_activation() -> IO:
    makers = {"tanh": ops.tanh, "relu": ops.relu, "sigmoid": ops.sigmoid, "identity": identity}
    return siso_or(makers, D(ENAS_ACTIVATIONS), "Activation")


def _average_inputs(values: Values, shapes: Shapes) -> Callable[..., Tensor]:
    del values, shapes
    return _mean_of_inputs


def _mean_of_inputs(*given: Tensor) -> Tensor:
    return sum(given[1:], given[0]) / len(given)
