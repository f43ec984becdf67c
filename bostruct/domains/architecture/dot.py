"""Architectures in Graphviz's language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bostruct.domains.architecture.labels import Label

COLORS = {"input": "#f2c9d4", "output": "#f2c9d4", "decision": "#cfe8cf"}
GROUP_COLORS = {"pool": "#dfe7f5", "fc": "#f6e5c3"}


def layer_color(label: Label) -> str:
    """Return a layer's fill color: ends and decision layers as in the paper's figures, pools and fc layers tinted.

    label: the layer's `Label`.
    """
    return COLORS.get(label.role) or GROUP_COLORS.get(label.group or "", "#ffffff")


def architecture_dot(names: Sequence[str], labels: Sequence[Label], edges: Iterable[tuple[int, int]]) -> str:
    """Write one box per layer, from the input at the top.

    names: text of each layer.
    labels: `Label` of each layer.
    edges: pairs of layer numbers.
    """
    lines = ["digraph architecture {", '  node [shape=box, style="filled,rounded", fontname="Helvetica"];']
    for u, (name, label) in enumerate(zip(names, labels, strict=True)):
        text = f"{u}: {name}".replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  {u} [label="{text}", fillcolor="{layer_color(label)}"];')
    lines += [f"  {u} -> {v};" for u, v in edges]
    return "\n".join([*lines, "}", ""])
