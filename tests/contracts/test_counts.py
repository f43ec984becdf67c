"""The number of points of a domain, in one form for all domains."""

import math

import bostruct as bo
import bostruct.language as lang
from bostruct.contracts import INFINITE, AtLeast, Exact


def test_spaces_and_programs_count_alike():
    assert bo.Space({"a": [1, 2, 3]}).count() == Exact(3)
    assert (lang.INFINITE, lang.AtLeast, lang.Exact) == (INFINITE, AtLeast, Exact)
    assert INFINITE.count == math.inf
    assert Exact(3) != AtLeast(3)
