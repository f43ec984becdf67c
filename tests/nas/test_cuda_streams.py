"""Streams: each belongs to one training, and is given back when it is gone."""

from __future__ import annotations

import torch

from bostruct.nas.devices import STREAMS, DeviceContext, take_stream


def test_no_two_contexts_with_graphs_share_a_stream(gpu):
    del gpu
    cuda = torch.device("cuda")
    torch.cuda.Stream(1)  # of somebody else
    contexts = [DeviceContext(cuda, seed) for seed in range(STREAMS)]
    assert {context._stream.number for context in contexts} == {1}
    assert len({context._stream.cuda_stream for context in contexts}) == STREAMS
    scoring = [DeviceContext(cuda, 0, with_graphs=False) for _ in range(3)]
    assert {context._stream for context in scoring} == {("current", 1)}
    late = DeviceContext(cuda, 0)
    assert (late.graphs, late._stream) == (None, ("current", 1))
    assert DeviceContext(torch.device("cuda:0"), 0)._stream.number == 0
    given_back = contexts[5]._stream
    del contexts[5]
    assert DeviceContext(cuda, 0)._stream is given_back
    contexts[3].itself = contexts[3]  # type: ignore[attr-defined]  # as an error and its frames
    given_back = contexts[3]._stream
    del contexts[3]
    contexts.append(DeviceContext(cuda, 0))
    assert DeviceContext(cuda, 0)._stream is given_back


def test_a_stream_belongs_to_its_owner_while_the_owner_is_there(gpu):
    del gpu

    class Owner:
        pass

    owners = [Owner() for _ in range(STREAMS)]
    taken = [take_stream(0, owner) for owner in owners]
    assert len({stream.cuda_stream for stream in taken if stream is not None}) == STREAMS
    assert take_stream(0, Owner()) is None
    assert take_stream(1, owners[0]) not in taken
    del owners[7]
    assert take_stream(0, owners[0]) is taken[7]
