"""Labels of values on an axis, short and all different."""

from __future__ import annotations

from collections.abc import Sequence

from bostruct.analysis.picture_style import shorten_label

JOINT = "+"  # between the items of a subset, an order or a sequence


def label_values(values: Sequence[object], most: int) -> list[str]:
    """Return a label for each value of a variable, different ones for different values.

    values: distinct ones, in their order.
    most: number of letters of a label, at least 8.

    Tuples, such as those of a `Subset`, are their items joined by a plus. Where they are long, all items lose letters
    at their ends, as few as needed. Other long values lose their middle; where two are the same then, their positions,
    from 0, stand before them.
    """
    if values and all(isinstance(value, tuple) for value in values):
        texts = _join_items([value for value in values if isinstance(value, tuple)], most)
    else:
        texts = [str(value) for value in values]
    labels = [shorten_label(text, most) for text in texts]
    if len(set(labels)) == len(labels):
        return labels
    return [shorten_label(f"{place} {text}", most) for place, text in enumerate(texts)]


def _join_items(values: Sequence[tuple[object, ...]], most: int) -> list[str]:
    """Return tuples as texts, their items cut to the longest beginnings that fit and tell them apart."""
    names = {repr(item): str(item) for value in values for item in value}
    longest = max(map(len, names.values()), default=0)
    for length in range(longest, 0, -1):
        if len({name[:length] for name in names.values()}) < len(names):
            break  # items look the same: the middle of the text is left out instead
        joined = [JOINT.join(names[repr(item)][:length] for item in value) or "none" for value in values]
        if max(map(len, joined)) <= most:
            return joined
    return [JOINT.join(names[repr(item)] for item in value) or "none" for value in values]
