"""Speed of the search-space language: specifying, enumerating, counting, proposing.

python -m benchmarks.speed.language [--check] [--miniature]

The spaces are the running example of Negrinho et al. 2019 (figure 4, 25,008 programs), a chain of repeated
convolutions, Genetic CNN with 2^19 wirings, and the hierarchical space of Liu et al. 2018, whose programs have a
thousand modules. Milliseconds are CPU time, but wall time for suggestions. The key of a program is its fingerprint,
compared with networkx's Weisfeiler-Lehman hash of its graph.
"""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

import bostruct as bo
from benchmarks.speed.report import Row, at_most, main, median, plain_row, time_call
from bostruct.language import D, SearchSpace, siso_module, siso_optional, siso_repeat, siso_sequential
from bostruct.nas.spaces.genetic import genetic_cnn
from bostruct.nas.spaces.hierarchical import hierarchical
from bostruct.nas.spaces.nasnet import nasnet
from examples.language_figures import figure_4

GROWTH = (100, 200, 400, 800, 1600, 3200)
N_TRIALS = 500  # enough for a tree to exhaust the subtrees below its best choices


def conv2d(filters: Any) -> Any:
    return siso_module("Conv2D", {"filters": filters})


def chain(n: int) -> Any:
    return siso_repeat(lambda: conv2d(D([1, 2, 3])), D([n]))


def milliseconds(call: Any, repeats: int) -> float:
    return median([1e3 * time_call(call).cpu for _ in range(repeats)])


def specification(n: int, repeats: int) -> float:
    """Return the milliseconds to build a space of a chain of n and sample one program, without any cache."""
    rng = np.random.default_rng(0)
    return milliseconds(lambda: SearchSpace(partial(chain, n)).sample(1, rng), repeats)


def large_programs(miniature: bool) -> list[Row]:
    """Return the rows of the hierarchical space, on which counting, enumeration and sampling have a work limit."""
    rng, repeats = np.random.default_rng(0), 1 if miniature else 5
    space = SearchSpace(hierarchical())
    x = space.sample(1, rng)[0]
    n_trials = 4 if miniature else 20
    return [
        plain_row("modules of a program of the hierarchical space", str(round(space.program_size()))),
        at_most("counting its programs from below", 1e3, milliseconds(SearchSpace(hierarchical()).count, 1), " ms"),
        at_most(
            "five of a program's neighbors",
            100.0,
            milliseconds(lambda: space.sample_neighbors(x, 5, rng), repeats),
            " ms",
        ),
        at_most("smbo: median suggestion", 500.0, proposal("smbo", n_trials, SearchSpace(hierarchical())), " ms"),
        at_most(
            "an even draw of a chain of 1,000 optional modules",
            100.0,
            milliseconds(partial(SearchSpace(optional_chain).sample, 1, rng, "architecture"), repeats),
            " ms",
        ),
    ]


def optional_chain() -> Any:
    return siso_sequential([siso_optional(lambda: conv2d(D([1, 2, 3])), D([0, 1])) for _ in range(1_000)])


def key_rows(name: str, space: SearchSpace, n_programs: int) -> list[Row]:
    """Return rows of the key of new programs and of networkx's hash of their graphs; the first two programs warm up."""
    programs = [space.present(x) for x in space.sample(n_programs + 2, np.random.default_rng(0))]
    ours, theirs = [], []
    for program in programs:
        graph = nx.DiGraph()
        for i, node in enumerate(program.nodes):
            graph.add_node(i, label=f"{node.kind} {sorted(node.values.items())}")
            graph.add_edges_from((source.node, i) for source in node.sources.values() if source.node is not None)
        ours.append(1e3 * time_call(lambda program=program: program.fingerprint).cpu)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that earlier versions return other hashes
            call = time_call(lambda graph=graph: nx.weisfeiler_lehman_graph_hash(graph, node_attr="label"))
        theirs.append(1e3 * call.cpu)
    what = f"key of a program of {name}, {median([len(one) for one in programs]):.0f} nodes, CPU"
    return [
        at_most(what, 10.0, median(ours[2:]), " ms"),
        plain_row("networkx's hash of the graph, times ours", f"{median(theirs[2:]) / median(ours[2:]):.3g}x"),
    ]


def proposal(method: str, n_trials: int, space: SearchSpace) -> float:
    """Return the median milliseconds per suggestion over the second half of a search."""
    result = bo.minimize(
        lambda program: float(sum((i % 5 - 2) * value for i, value in enumerate(space.decisions(program.trace)))),
        space,
        n_trials,
        method=method,
        seed=0,
        progress=False,
    )
    return median([1e3 * trial.info["suggest_seconds"] for trial in result.trials[n_trials // 2 :]])


def measure(miniature: bool) -> list[Row]:
    repeats = 1 if miniature else 9
    growth = GROWTH[:2] if miniature else GROWTH
    times = {n: specification(n, repeats) for n in growth}
    space = SearchSpace(figure_4)
    slope = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)[0]
    rows = [
        at_most("random specification of a new chain of 400", 10.0, times.get(400, times[growth[-1]]), " ms"),
        at_most("growth: time ~ length to the power of", 1.25, float(slope), ""),
        plain_row("chains of " + ", ".join(map(str, times)), ", ".join(f"{t:.2g}" for t in times.values()) + " ms"),
        at_most(
            "enumerating the 25,008 programs of figure 4",
            1e3,
            milliseconds(lambda: list(space.enumerate()), repeats),
            " ms",
        ),
        at_most("counting them", 5.0, milliseconds(lambda: SearchSpace(figure_4).count(), repeats), " ms"),
    ]
    for method in ("smbo", "mcts"):
        n_trials = 20 if miniature else N_TRIALS
        what = f"{method}: median suggestion on Genetic CNN, trials {n_trials // 2} to {n_trials}"
        rows.append(at_most(what, 20.0, proposal(method, n_trials, SearchSpace(genetic_cnn())), " ms"))
    rows += key_rows("the hierarchical space", SearchSpace(hierarchical()), 2 if miniature else 15)
    rows += key_rows("NASNet", SearchSpace(nasnet()), 2 if miniature else 15)
    return rows + large_programs(miniature)


if __name__ == "__main__":
    main("The search-space language", measure)
