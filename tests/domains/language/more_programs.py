"""Small search spaces of programs, by functions that worker processes can import."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

from bostruct import language as lang


def step(_values: Any, x: Any) -> Any:
    return x


def other_step(_values: Any, x: Any) -> Any:
    return x


def scaled(factor: Any) -> Any:
    return lambda _values, x: factor * x


def one(value: Any = 0, implementation: Any = None) -> Any:
    """Return the program of one module, with a value and what it stands for."""
    return lang.SearchSpace(lambda: lang.siso_module("M", {"x": value}, implementation)).program()


def conv2d(filters: Any) -> Any:
    return lang.siso_module("Conv2D", {"filters": filters})


def layers_of_kinds() -> Any:
    """One to three layers, each dense (of 1 to 4 units on a scale) or an activation: 5 + 25 + 125 = 155 programs."""

    def layer() -> Any:
        dense = lambda: lang.siso_module("Dense", {"units": lang.FloatRange(1.0, 4.0, 4)})  # noqa: E731
        return lang.siso_or({"dense": dense, "relu": lambda: lang.siso_module("ReLU")}, lang.D(["dense", "relu"]))

    return lang.siso_repeat(layer, lang.D([1, 2, 3]))


def endless() -> Any:
    """Figure 18: a layer, and perhaps more of the same."""
    return lang.siso_sequential([conv2d(lang.D([1, 2])), lang.siso_optional(endless, lang.D([0, 1]))])


def genetic_stages() -> Any:
    """The wiring of Genetic CNN (Xie and Yuille 2017): three stages of 3 + 6 + 10 bits."""
    return lang.siso_sequential([_stage(n) for n in (3, 4, 5)])


def _stage(n: int) -> Any:
    pairs = list(combinations(range(n), 2))

    def wired(dh: dict[str, Any]) -> Any:
        inputs, outputs = lang.siso_module("Entry")
        used = sorted({node for pair in pairs if dh[_bit(pair)] for node in pair})
        if not used:
            return inputs, outputs
        nodes = {node: lang.siso_module("Node") for node in used}
        for node in used:
            before = [nodes[u][1]["out"] for u in used if u < node and dh[_bit((u, node))]]
            nodes[node][0]["in"].connect(_sum(before or [outputs["out"]])["out"])
        ends = [nodes[u][1]["out"] for u in used if not any(dh[_bit((u, v))] for v in range(u + 1, n))]
        return inputs, _sum(ends)

    return lang.substitution_module("Stage", wired, {_bit(pair): lang.D([0, 1]) for pair in pairs}, ["in"], ["out"])


def _bit(pair: tuple[int, int]) -> str:
    return f"{pair[0]}_{pair[1]}"


def _sum(outputs: list[Any]) -> Any:
    inputs, summed = lang.combiner(len(outputs), "Add")
    for i, output in enumerate(outputs):
        inputs[f"in{i}"].connect(output)
    return summed


def shallow_and_wide(program: Any) -> float:
    """An objective on `figure_4` of the examples: chains of 300 and 500 filters in all, by unlike layers."""
    trace = program.trace
    total = abs(trace["Conv2D-0.filters"] - 128) / 64
    for place, wanted in (("SISORepeat-0/", 300), ("SISORepeat-1/", 500)):
        filters = [value for path, value in trace.items() if path.startswith(place)]
        total += abs(sum(filters) - wanted) / 100 + 0.2 * sum(a == b for a, b in pairwise(filters))
    return total + trace.get("SISOOptional-0[1]/Dropout-0.rate", 1.0)


def wiring_cost(program: Any) -> float:
    """An objective on `genetic_stages`: some bits help, some pairs of bits help more."""
    bits = list(program.trace.values())
    bonus = 3.0 * bits[0] * bits[5] + 2.0 * bits[9] * bits[1]
    return sum(((i * 7) % 5 - 2.0) * bit for i, bit in enumerate(bits)) - bonus
