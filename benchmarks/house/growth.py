"""The places that one more part touches: who names a part of each kind that is already there."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.house.figures import Figure
from benchmarks.house.source import File, leave_out_bridges


class Exemplar(NamedTuple):
    """A part that is there, as any other of its kind would be. kind: what it is. module: where it is written."""

    kind: str
    module: str


EXEMPLARS = (
    Exemplar("kind of variable", "bostruct.domains.space.numeric"),
    Exemplar("factor of the product kernel", "bostruct.kernels.space.complete"),
    Exemplar("method", "bostruct.methods.combo"),
    Exemplar("searcher", "bostruct.searchers.tpe"),
    Exemplar("storage back end", "bostruct.storage.documents"),
    Exemplar("problem", "bostruct.problems.ising"),
)


def naming_files(files: list[File]) -> Figure:
    """List the files that import the exemplar of each kind of part, and count the most of any kind.

    Bridges are left out: they name the kinds that the other side has too, and one more kind need not be among them.
    """
    files = leave_out_bridges(files)
    places, most = [], 0
    for kind, module in EXEMPLARS:
        naming = [file.name for file in files if any(edge.target == module for edge in file.imports)]
        places.append(f"one more {kind} ({module.removeprefix('bostruct.')}): {', '.join(naming) or 'nowhere'}")
        most = max(most, len(naming))
    return Figure("most files that name one part", most, tuple(places), shown=True)
