"""What all tests of trainings share."""

import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    """Sums are taken in one order, and small matrices are not waited for."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
