"""Trials and points as JSON: what is written is read, for every kind of variable and other domains."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest

import bostruct as bo
from bostruct.serving.messages import Refusal, point_from_json, trial_to_json, write_answer
from bostruct.study.history import Trial

DOMAINS = [
    bo.Space({"a": bool, "b": ["x", None, 2.5], "c": bo.Ordinal([1, 2, 4]), "d": bo.Real(0, 1, when={"a": True})}),
    bo.Space(
        {"a": bo.Integer(1, 5000, log=True), "p": bo.Permutation(["a", "b", "c"], length=2), "t": [(1, 2), (3, 4)]}
    ),
    bo.Space({"s": bo.Subset(list("abc"), size=(1, 2)), "q": bo.Sequence("ACGU", length=(2, 4))}),
    bo.Space({"g": bo.Graph(nx.path_graph(4)), "c": bo.Candidates({"x": [1.0, 2.0, 3.0]}), "f": bo.Fidelity([1, 3])}),
    bo.cnn_domain(),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=range(len(DOMAINS)))
def test_a_point_is_read_as_it_was_written(domain):
    rng = np.random.default_rng(0)
    for x in (domain.sample_unseen(frozenset(), rng) for _ in range(5)):
        trial = Trial(0, domain.present(x), "running")
        shown = json.loads(write_answer(trial_to_json(domain, trial)))["point"]
        given = point_from_json(domain, shown)
        assert domain.key(domain.parse(given)) == domain.key(x)


@pytest.mark.parametrize("point", [None, 5, "a", [], {}, {"a": 1}, {"a": {"vertex": 10**9}}, [[0] * 50] * 50])
@pytest.mark.parametrize("domain", DOMAINS, ids=range(len(DOMAINS)))
def test_what_is_no_point_is_refused(domain, point):
    with pytest.raises(Refusal, match="point: ") as refused:
        point_from_json(domain, point)
    assert refused.value.code == "bad_value"
    assert len(str(refused.value)) < 1000
