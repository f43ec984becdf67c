"""The network of weighted random search: its layers, and its ranges."""

from __future__ import annotations

import numpy as np

from bostruct.language import Exact, SearchSpace
from bostruct.nas.spaces.wrs_cnn import reduced_wrs_cnn, wrs_cnn


def test_pools_come_after_every_second_convolution():
    space = SearchSpace(reduced_wrs_cnn())
    for n, pools in ((3, 1), (4, 2), (5, 2), (6, 3)):
        program = space.complete({"convolutions": n}, np.random.default_rng(n)).program()
        kinds = [node.kind for node in program.nodes]
        assert kinds.count("Conv2D") == n
        assert kinds.count("MaxPool2D") == pools
        assert kinds.count("Dropout") == pools + program.trace["dense_layers"]


def test_counts_are_those_of_the_ranges():
    space = SearchSpace(wrs_cnn((1, 2), (1, 2), (5, 7), (10, 13)))
    assert space.count() == Exact((3 + 3**2) * (4 + 4**2))
    lengths = {len(trace) for trace in space.enumerate()}
    assert lengths == {2 + convolutions + dense for convolutions in (1, 2) for dense in (1, 2)}


def test_the_reduced_space_is_that_of_smaller_ranges():
    values = {h.path: h.values for h in SearchSpace(reduced_wrs_cnn(classes=3)).hyperparameters}
    assert values["convolutions"] == (3, 4, 5, 6)
    assert values["dense_layers"] == (1, 2, 3, 4)
    program = SearchSpace(reduced_wrs_cnn(classes=3)).complete({}, np.random.default_rng(0)).program()
    filters = [node.values["filters"] for node in program.nodes if node.kind == "Conv2D"]
    *units, classes = [node.values["units"] for node in program.nodes if node.kind == "Dense"]
    assert classes == 3
    assert all(16 <= n <= 128 for n in filters)
    assert all(64 <= n <= 256 for n in units)


def test_layers_keep_their_choices_when_more_of_them_come():
    space = SearchSpace(wrs_cnn())
    short = space.complete({"convolutions": 3, "dense_layers": 1}, np.random.default_rng(0)).trace
    long = space.complete(short | {"convolutions": 6}, np.random.default_rng(1)).trace
    assert {path for path in short if long[path] != short[path]} == {"convolutions"}
    assert len(long) == len(short) + 3
