"""Looks that are told apart in gray, names that start no formula, and a beginning that takes little room."""

from __future__ import annotations

import numpy as np

from bostruct.analysis.pictures import COLORS, curve_style, shorten_label


def lightness(color: str) -> float:
    """CIE 1976 lightness, 0 to 100."""
    shares = np.array([int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    y = float(linear @ [0.2126, 0.7152, 0.0722])
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


def test_curves_that_are_alike_in_gray_differ_in_dashes_and_marks():
    styles = [curve_style(i) for i in range(len(COLORS))]
    assert len({(style["color"], style["marker"]) for style in styles}) == len(styles)
    assert len({style["marker"] for style in styles}) == len(styles)
    for i, one in enumerate(styles):
        for other in styles[:i]:
            close = abs(lightness(one["color"]) - lightness(other["color"])) < 6.0
            assert not close or one["linestyle"] != other["linestyle"] or one["marker"] != other["marker"]


def test_no_color_is_too_pale_for_white_paper():
    assert all(lightness(color) < 80.0 for color in COLORS)


def test_twenty_curves_have_looks_of_their_own():
    assert len({str(curve_style(i)) for i in range(20)}) == 20


def test_long_names_lose_their_middle_and_start_no_formula():
    assert shorten_label("a" * 10 + "b" * 10, 9) == "aaaa…bbbb"
    assert shorten_label("cost in $\n") == r"cost in \$\n"
