"""Files of the published repository run as they are written: the same programs in the same order, the same graphs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from bostruct.language import Exact, SearchSpace
from tests.domains.language.deep_architect import Published, define, library, needs_checkout, our_rows, plain

CONSTRUCTS = "docs/source/tutorials/search_space_constructs.rst"
STARTERS = "examples/framework_starters"
LITERATURE = "dev/tutorials/search_spaces_in_the_literature"
CONTRIB = "deep_architect.contrib.misc.search_spaces"
EAGER = f"{CONTRIB}.tensorflow_eager"
HIERARCHICAL = f"{EAGER}.hierarchical_space"
ENAS = "dev.enas.search_space.enas_search_space"
NASNET = f"{EAGER}.nasnet_space"
LOGGING = "docs/source/tutorials/logging_and_visualization.rst"


class Case(NamedTuple):
    """A space of the repository.

    file: a script or page by its path, or a module by its name.
    make: function of what the file defines that builds the space.
    cut: the most values that a hyperparameter keeps in both libraries.
    """

    file: str
    make: Callable[[Any], Any]
    cut: int | None = None


def motifs(levels: Mapping[int, Mapping[str, int]], file: Any) -> Any:
    """Return two cells that share a motif, of fewer nodes than the published ones."""
    shared, top = file.create_motif_hyperp(levels), max(levels)
    cell = partial(file.create_motif, shared[top][0], shared, levels, top)
    return file.mo.siso_sequential([file.conv2d_cell(4, 3), cell(4), file.separable_conv2d(8, 3), cell(8)])


def genetic(nodes: list[int], filters: list[int], sizes: list[int], file: Any) -> Any:
    return file.generate_search_space(nodes, filters, sizes)


def enas(layers: int, file: Any) -> Any:
    return file.get_enas_search_space(10, layers, 8, file.WeightSharer(False))


NODES_2, NODES_3 = {"num_nodes": 2, "num_motifs": 2}, {"num_nodes": 3, "num_motifs": 1}
LISTED = {
    **{
        f"constructs-{i}": (Case(CONSTRUCTS, lambda file, i=i: getattr(file, f"search_space{i}")()), count)
        for i, count in enumerate((64, 32, 8, 16, 48, 48))
    },
    "readme": (Case("README.md", lambda file: file.model_search_space(), 2), 84),
    "logging": (Case(LOGGING, lambda file: file.model_search_space(), 2), 208),
    "keras": (Case(f"{STARTERS}/main_keras.py", lambda file: file.dnn_net(10), 2), 208),
    "pytorch": (Case(f"{STARTERS}/main_pytorch.py", lambda file: file.dnn_net(10), 2), 208),
    "tensorflow": (Case(f"{STARTERS}/main_tensorflow.py", lambda file: file.dnn_net(10), 2), 208),
    "dnn": (Case(f"{CONTRIB}.tensorflow.dnn", lambda file: file.dnn_net(10), 2), 208),
    "genetic": (Case(f"{EAGER}.genetic_space", partial(genetic, [3, 3], [8, 16], [5, 5])), 64),
    "genetic-tutorial": (Case(f"{LITERATURE}/main_genetic.py", lambda file: file.conv_stage(32, 3, 4)), 64),
    "flat": (Case(HIERARCHICAL, partial(motifs, {2: NODES_3})), 252),
    "hierarchical": (Case(HIERARCHICAL, partial(motifs, {2: NODES_2, 3: NODES_3}), 3), 84),
    "enas": (Case(ENAS, partial(enas, 3), 2), 64),
    "nasnet": (Case(NASNET, lambda file: file.generate_search_space(1, 2, 1, 4, 3.0), 2), 256),
}
DRAWN = {
    "2017": Case(f"{LITERATURE}/main_deep_architect.py", lambda file: file.model(10)),
    "conv": Case("examples/benchmarks/search_spaces.py", lambda file: file.get_conv_search_space_fn(10)()),
    "logging": LISTED["logging"][0]._replace(cut=None),
    "pytorch": LISTED["pytorch"][0]._replace(cut=None),
    "genetic": Case(f"{EAGER}.genetic_space", partial(genetic, [3, 4, 5], [64, 128, 256], [5, 5, 5])),
    "nasbench": Case(f"{EAGER}.nasbench_space", lambda file: file.generate_search_space(3, 3, 5, 128)),
    "flat": Case(HIERARCHICAL, lambda file: file.flat_search_space(10)),
    "hierarchical": Case(HIERARCHICAL, lambda file: file.hierarchical_search_space(10)),
    "enas": Case(ENAS, partial(enas, 12)),
    "nasnet": Case(NASNET, lambda file: file.generate_search_space(5, 18, 2, 36, 3.0)),
}


def read(file: str) -> Any:
    return define(file) if "/" in file or file.endswith(".md") else importlib.import_module(file)


def under_both(case: Case) -> tuple[Published, SearchSpace]:
    with library("published", case.cut):
        core, modules = (importlib.import_module(f"deep_architect.{name}") for name in ("core", "modules"))
        published = Published(partial(case.make, read(case.file)), core, modules)
    with library("ours", case.cut):
        ours = SearchSpace(partial(case.make, read(case.file)))
    return published, ours


def show(space: SearchSpace, trace: Any) -> tuple[tuple[Any, ...], list[Any]]:
    return tuple(map(plain, trace.values())), our_rows(space.present(trace))


@needs_checkout
@pytest.mark.parametrize("name", LISTED)
def test_all_programs_are_the_published_ones_in_their_order(name):
    case, count = LISTED[name]
    published, ours = under_both(case)
    assert ours.count() == Exact(count)
    assert [show(ours, trace) for trace in ours.enumerate("depth")] == list(published.programs())


@needs_checkout
@pytest.mark.parametrize("name", DRAWN)
def test_programs_of_whole_spaces_are_published_ones(name):
    published, ours = under_both(DRAWN[name])
    for trace in ours.sample(2, np.random.default_rng(0)):
        chosen, rows = show(ours, trace)
        assert published.replay(chosen) == (chosen, rows)
