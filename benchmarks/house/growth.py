"""The files that a new part must touch, estimated by the files that import an existing part of its kind."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.house.figures import Figure
from benchmarks.house.source import File, leave_out_bridges


class Exemplar(NamedTuple):
    """An existing part that represents its kind. kind: kind of part. module: module of the part."""

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
    """List the files that import the exemplar of each kind of part, and return the largest count of all kinds.

    Bridges are omitted: they name the kinds that the other library also has, which may not include a new kind.
    """
    files = leave_out_bridges(files)
    places, most = [], 0
    for kind, module in EXEMPLARS:
        naming = [file.name for file in files if any(edge.target == module for edge in file.imports)]
        places.append(f"one more {kind} ({module.removeprefix('bostruct.')}): {', '.join(naming) or 'nowhere'}")
        most = max(most, len(naming))
    return Figure("most files that name one part", most, tuple(places), shown=True)
