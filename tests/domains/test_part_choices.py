"""Paths of parts' choices: each leads back to its part, whatever dots the names have."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

import bostruct as bo
from bostruct.domains.part_choices import DescribedParts, PartChoices

NAMES = ["a", "a.", "a..", "a./", "a.//", "a.b", ".a", ".", "./"]
LEAVES = ["x", ".x", "..x", "/x", "x."]


@pytest.mark.parametrize("names", [*combinations(NAMES, 2), NAMES, NAMES[::-1]], ids=" ".join)
def test_every_path_leads_back_to_its_part(names: tuple[str, ...], rng: np.random.Generator) -> None:
    domain = bo.joint_domain({name: {leaf: range(9) for leaf in LEAVES} for name in names})
    x = domain.sample(1, rng)[0]
    paths = domain.names(x)
    assert len(set(paths)) == len(paths) == len(names) * len(LEAVES)
    sorted_paths = PartChoices(domain.part_names, domain.domains).sort_by_part(paths)
    assert sorted_paths == dict(enumerate([LEAVES] * len(names)))
    for k, path in enumerate(paths):
        changed = domain.present(domain.resample(x, [path], rng))
        part, leaf = names[k // len(LEAVES)], LEAVES[k % len(LEAVES)]
        before = domain.present(x)
        assert changed[part][leaf] != before[part][leaf]
        assert changed == before | {part: before[part] | {leaf: changed[part][leaf]}}


def test_variables_beside_parts_keep_their_names() -> None:
    values = {"s.u": range(5), "s..u": bool, "a...x": bool, "s": {"u": range(5), ".u": bool}, "a.": {"x": bool}}
    space = bo.Space(values)
    names = space.names(space.sample(1, np.random.default_rng(0))[0])
    assert len(set(names)) == len(names) == 6
    assert set(names) >= {"s.u", "s..u", "a...x"}


def test_ordinary_names_have_one_dot() -> None:
    domain = bo.joint_domain({"inner": {"flip": bool}, "b": bo.joint_domain({"c": {"d": bool}})})
    assert domain.names(domain.sample(1, np.random.default_rng(0))[0]) == ("inner.flip", "b.c.d")


def test_descriptions_of_parts_have_the_same_paths_and_no_tests() -> None:
    values = {"s.u": range(5), "s": {"u": range(5)}, "n": bo.Integer(1, 5, when={"s": lambda s: s["u"] > 2})}
    space: Any = bo.Space(values)
    described = DescribedParts(space, space.domains)
    for x in space.sample(8, np.random.default_rng(0)):
        assert described.coordinates(x) == space.coordinates(x)
