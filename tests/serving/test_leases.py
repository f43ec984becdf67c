"""Leases run out, can be renewed, and are forgotten."""

from __future__ import annotations

import pytest

from bostruct.serving.served_study import Leases


@pytest.fixture
def clock():
    return [100.0]


@pytest.fixture
def leases(clock):
    return Leases(lambda: clock[0])


def test_a_lease_runs_out_once_and_one_without_end_never(leases, clock):
    leases.grant(4, 10.0)
    leases.grant(2, 10.0)
    leases.grant(3, None)
    clock[0] += 9.9
    assert leases.find_expired() == []
    clock[0] += 0.1
    assert leases.find_expired() == [2, 4]
    leases.end(2)
    leases.end(4)
    assert leases.find_expired() == []
    clock[0] += 1e9
    assert (leases.find_expired(), len(leases)) == ([], 1)


def test_a_renewed_lease_begins_anew(leases, clock):
    leases.grant(0, 10.0)
    clock[0] += 9
    assert leases.renew(0, None) == 10.0
    clock[0] += 9
    assert leases.find_expired() == []
    assert leases.renew(0, 2.0) == 2.0
    clock[0] += 3
    assert leases.renew(0, None) == 2.0  # late, but nobody asked since
    clock[0] += 3
    assert leases.find_expired() == [0]


def test_a_trial_that_is_not_out_has_no_lease(leases):
    with pytest.raises(LookupError):
        leases.renew(0, 1.0)
    leases.grant(0, 1.0)
    leases.end(0)
    leases.end(0)
    with pytest.raises(LookupError):
        leases.renew(0, None)
