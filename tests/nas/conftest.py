"""What all tests of trainings share."""

import pytest
import torch

from bostruct.nas import devices


@pytest.fixture(autouse=True)
def one_thread():
    """Sums are taken in one order, and small matrices are not waited for."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Stream:
    """As torch gives them: more than there are, and then the same ones again."""

    asked = 0

    def __init__(self, number):
        self.number, self.cuda_stream = number, Stream.asked % devices.STREAMS
        Stream.asked += 1


@pytest.fixture
def gpu(monkeypatch):
    """What a context asks of torch when it is made on a GPU; gives its compute capability, to be changed."""
    capability = [9, 0]
    random = torch.Generator
    monkeypatch.setattr(devices, "_FREE_STREAMS", {})
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch, "Generator", lambda *_: random())
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda number: ("current", number))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: tuple(capability))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    return capability
