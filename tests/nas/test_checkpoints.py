"""Checkpoints: a killed training goes on from them bit for bit; a file that does not fit is said and left."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import pytest
import torch

import bostruct as bo
from bostruct.nas import diabetes, digits
from bostruct.nas.checkpoints import TrainingState, data_digest, load_checkpoint, save_checkpoint
from bostruct.nas.data import Examples
from bostruct.nas.steps import make_optimizer
from tests.nas.graphs import CPU, Graphs, context_with
from tests.nas.trainings import QUICK, trained


@pytest.mark.parametrize("architecture", ["conv3-8 conv3-8/2 softmax", "conv3-8 fc-8 softmax"])
def test_a_training_goes_on_from_every_checkpoint(tmp_path, architecture):
    chosen = bo.Architecture.chain(architecture)
    whole = trained(digits(), QUICK, architecture=chosen)

    class Killed(Exception):
        pass

    def kill_at(epoch):
        def watch(number, _):
            if number == epoch:
                raise Killed

        return watch

    for epoch in range(QUICK.epochs):
        file = tmp_path / f"{epoch}.pt"
        with pytest.raises(Killed):
            trained(digits(), QUICK, architecture=chosen, checkpoint=file, watch=kill_at(epoch))
        resumed = trained(digits(), QUICK, architecture=chosen, checkpoint=file)
        assert (resumed.epochs, resumed.test_error) == (whole.epochs, whole.test_error)


def test_a_damaged_checkpoint_is_said_and_left(tmp_path):
    file = tmp_path / "c.pt"
    file.write_bytes(b"not a checkpoint")
    with pytest.warns(UserWarning, match="not a whole checkpoint"):
        found = trained(diabetes(), QUICK, checkpoint=file)
    assert found.epochs == trained(diabetes(), QUICK).epochs


def test_a_checkpoint_that_does_not_fit_is_said_and_left(tmp_path):
    file, wider = tmp_path / "c.pt", bo.Architecture.chain("relu-32 linear")
    trained(diabetes(), QUICK, checkpoint=file)
    partial = tmp_path / "c.pt.12345"
    partial.write_bytes(b"of a process that was killed")
    with pytest.warns(UserWarning, match="not a whole checkpoint"):
        found = trained(diabetes(), QUICK, architecture=wider, checkpoint=file)
    assert found.epochs == trained(diabetes(), QUICK, architecture=wider).epochs
    assert not partial.exists()
    trained(diabetes(), QUICK, checkpoint=file, architecture=wider)
    with pytest.warns(UserWarning, match=r"of another training \(other recipe, seed\)"):
        trained(diabetes(), replace(QUICK, learning_rate=1e-3), 1, checkpoint=file, architecture=wider)


def test_a_digest_is_of_content_and_shape():
    data = diabetes()
    assert data_digest(data) == data_digest(diabetes())
    changed = data.train.inputs.clone()
    changed[5, 3] += 1.0
    assert data_digest(replace(data, train=Examples(changed, data.train.targets))) != data_digest(data)
    assert data_digest(data.part(0.5)) != data_digest(data)
    held = weakref.ref(data)
    del data
    gc.collect()
    assert held() is None


@pytest.mark.parametrize("saved", [True, False])
def test_a_checkpoint_leaves_the_optimizer_its_graphs_and_the_rate_where_they_read_it(tmp_path, saved):
    contexts = [context_with(Graphs)(CPU, 0, with_graphs=one) for one in (saved, True)]
    runs = []
    for context in contexts:
        network = torch.nn.Linear(2, 1)
        optimizer = make_optimizer(list(network.parameters()), QUICK, context)
        network(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        runs.append(TrainingState(network, optimizer, torch.Generator()))
    save_checkpoint(tmp_path / "c.pt", runs[0], {})
    group = dict(runs[1].optimizer.param_groups[0])
    load_checkpoint(tmp_path / "c.pt", runs[1], {})
    loaded = runs[1].optimizer.param_groups[0]
    assert loaded["lr"] is group["lr"]
    assert (loaded["fused"], loaded["capturable"]) == (group["fused"], group["capturable"]) == (True, True)
    for one, other in zip(runs[0].network.parameters(), runs[1].network.parameters(), strict=True):
        assert torch.equal(runs[0].optimizer.state[one]["exp_avg"], runs[1].optimizer.state[other]["exp_avg"])
