"""Operations: each is built as a torch module that does what its name says."""

from __future__ import annotations

import re

import pytest
import torch
from torch.nn import functional

import bostruct as bo
from bostruct.contracts import DomainError, Exact
from bostruct.domains.language.errors import LanguageError
from bostruct.language import D, SearchSpace, siso_sequential, siso_split_combine
from bostruct.nas import ops

IMAGES = torch.randn(2, 4, 8, 6, generator=torch.Generator().manual_seed(0))


def network_of(make, shape=(2, 4, 8, 6)):
    return SearchSpace(make).program().to_torch(shape).eval()


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: ops.conv2d(5), (2, 5, 8, 6)),
        (lambda: ops.conv2d(5, 5, 2), (2, 5, 4, 3)),
        (lambda: ops.conv2d(5, 3, dilation=2), (2, 5, 8, 6)),
        (lambda: ops.depthwise_conv2d(3, 2), (2, 4, 4, 3)),
        (lambda: ops.separable_conv2d(7), (2, 7, 8, 6)),
        (lambda: ops.batch_norm(), (2, 4, 8, 6)),
        (lambda: ops.dropout(0.5), (2, 4, 8, 6)),
        (lambda: ops.dense(9), (2, 4, 8, 9)),
        (lambda: ops.max_pool(), (2, 4, 4, 3)),
        (lambda: ops.avg_pool(3, 1), (2, 4, 8, 6)),
        (lambda: ops.global_pool(), (2, 4)),
        (lambda: ops.flatten(), (2, 4 * 8 * 6)),
    ],
)
def test_shapes_are_as_promised(make, expected):
    assert network_of(make)(IMAGES).shape == expected


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (ops.relu, functional.relu),
        (ops.tanh, torch.tanh),
        (ops.sigmoid, torch.sigmoid),
        (ops.max_pool, lambda x: functional.max_pool2d(x, 3, 2, 1)),
        (ops.avg_pool, lambda x: functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)),
        (ops.global_pool, lambda x: x.mean(dim=(2, 3))),
    ],
)
def test_operations_without_weights_are_the_functions(make, expected):
    assert torch.equal(network_of(make)(IMAGES), expected(IMAGES))


def test_several_inputs_are_joined():
    def twice(join):
        return lambda: siso_split_combine(ops.relu, join, 2)

    part = functional.relu(IMAGES)
    assert torch.equal(network_of(twice(ops.concat))(IMAGES), torch.cat([part, part], dim=1))
    assert torch.equal(network_of(twice(ops.add))(IMAGES), part + part)


def test_padding_keeps_the_size_or_there_is_none():
    assert [ops.padding(1), ops.padding(3), ops.padding(5), ops.padding(3, 2)] == [0, 1, 2, 2]
    with pytest.raises(DomainError, match=r"kernel: expected an odd size, .* got 2"):
        ops.padding(2)


def test_layers_are_those_of_architectures():
    def network():
        return siso_sequential([ops.conv2d(8, 3, 2), ops.relu(), ops.max_pool(), ops.avg_pool(), ops.dense(4)])

    program = SearchSpace(network).program()
    assert program.to_architecture() == bo.Architecture.chain("conv3-8/2 max-pool avg-pool fc-4 softmax")


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda given: ops.conv2d(given), "filters"),
        (lambda given: ops.conv2d(8, kernel=given), "kernel"),
        (lambda given: ops.separable_conv2d(8, stride=given), "stride"),
        (lambda given: ops.depthwise_conv2d(dilation=given), "dilation"),
        (lambda given: ops.dense(given), "units"),
        (lambda given: ops.dropout(given), "rate"),
        (lambda given: ops.batch_norm(momentum=given), "momentum"),
        (lambda given: ops.max_pool(given), "kernel"),
        (lambda given: ops.avg_pool(stride=given), "stride"),
    ],
)
def test_a_list_of_choices_without_its_hyperparameter_is_refused(build, name):
    for given in ([3, 5], (3, 5), range(3, 6)):
        words = re.escape(f"{name}: expected one value or a hyperparameter, got {given!r}; a choice is D({given!r})")
        with pytest.raises(LanguageError, match=words):
            SearchSpace(lambda given=given: build(given))
    assert SearchSpace(lambda: build(D([3, 5]))).count() == Exact(2)
