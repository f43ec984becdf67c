"""Programs of search spaces, for their tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from bostruct.domains.language.program import Node, Program
from bostruct.domains.language.space import SearchSpace

PAIRS = list(combinations(range(7), 2))


def specify_by_name(space: SearchSpace, chosen: Mapping[str, Any]) -> SearchSpace:
    """Give each choice the value of its name."""
    while not space.is_terminal:
        for h in space.hyperparameters:
            space = space.assign(h.path, chosen[h.path.rpartition("/")[2]])
    return space


def build_part(make: Callable[[], Any]) -> Program:
    """Build the program of a part without choices."""
    return SearchSpace(make).program()


def draw_program(builder: Callable[[], Any], seed: int) -> Program:
    space = SearchSpace(builder)
    return space.present(space.sample(1, np.random.default_rng(seed))[0])


def read_by(program: Program, node: Node) -> list[Node]:
    """The nodes that a node reads."""
    return [program.nodes[source.node] for source in node.sources.values() if source.node is not None]


def kinds_of(program: Program) -> list[str]:
    return [node.kind for node in program.nodes]
