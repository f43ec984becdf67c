"""Turns: time is that of a training's own, errors are values at their end, and what has ended is let go of."""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager

import pytest
import torch

from bostruct.nas.devices import DeviceContext
from bostruct.nas.outcomes import OutOfMemory, Stopped, Trained, TrainingFailed
from bostruct.nas.training import Clock, RoundRobin, TrainingContext
from tests.nas.graphs import CPU


class Counter:
    """Counts its turns, and raises in one of them."""

    def __init__(self, number, error=None):
        self.number, self.error, self.turns, self.closed = number, error, 0, False

    def work(self):
        self.turns += 1
        if self.error is not None and self.turns == 2:
            raise self.error

    def has_ended(self):
        return self.turns >= 3

    def result(self):
        return Trained(torch.nn.Identity(), (), float(self.number), 0.0, float)

    def close(self):
        self.closed = True


def make_group(seeds, device=DeviceContext, fails_alone=True, all_or_none=False):
    contexts = [TrainingContext(device(CPU, seed), Clock()) for seed in seeds]
    return RoundRobin(contexts, fails_alone=fails_alone, all_or_none=all_or_none)


def go_on(group, then=None):
    while group.running:
        group.each(Counter.work, then)
        group.finish()


def run(errors, then=None, **settings):
    group = make_group([0] * len(errors), **settings)
    try:
        group.begin(lambda number: Counter(number, errors[number]))
        go_on(group, then)
    finally:
        group.close()
    return [group.outcomes[number] for number in range(len(errors))]


def test_every_training_has_its_outcome():
    found = run([None, None])
    assert [one.error for one in found if isinstance(one, Trained)] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (TrainingFailed("epoch 0: out of time"), TrainingFailed, "^epoch 0: out of time$"),
        (MemoryError(), OutOfMemory, "^out of memory$"),
        (ValueError("a wrong shape"), TrainingFailed, "^ValueError: a wrong shape$"),
    ],
)
def test_an_error_is_the_failure_of_its_training_alone(error, kind, message):
    found = run([None, error, None])
    assert type(found[1]) is kind
    with pytest.raises(kind, match=message):
        raise found[1]
    assert all(isinstance(found[number], Trained) for number in (0, 2))


def test_errors_of_others_code_are_raised_where_they_are_asked_for():
    with pytest.raises(ValueError, match="a wrong shape"):
        run([None, ValueError("a wrong shape")], fails_alone=False)
    assert isinstance(run([MemoryError()], fails_alone=False)[0], OutOfMemory)


def test_all_or_none_stops_the_others_but_not_for_memory():
    found = run([None, ValueError("a wrong shape"), None], all_or_none=True)
    assert [type(one) for one in found] == [Stopped, TrainingFailed, Stopped]
    found = run([None, MemoryError()], all_or_none=True)
    assert [type(one) for one in found] == [Trained, OutOfMemory]


def test_one_that_cannot_begin_has_failed():
    group = make_group([0, 0])
    group.begin(lambda number: Counter(1 // number))
    assert isinstance(group.outcomes[0], TrainingFailed)
    assert list(group.running) == [1]


def test_what_the_caller_raises_is_raised_and_closes_all():
    seen = []

    def tell(counter):
        seen.append(counter)
        if len(seen) == 2:
            raise KeyError("the caller's")

    with pytest.raises(KeyError, match="the caller's"):
        run([None, None, None], then=tell)
    assert [one.number for one in seen] == [0, 1]
    assert all(one.closed for one in seen)


@pytest.mark.parametrize("fails", [True, False])
def test_what_has_ended_is_let_go_of_before_memory_is_given_back(fails):
    """Without the collector, as a GPU's memory cannot wait for it."""
    held: list[weakref.ref[Counter]] = []
    gone = []

    class Watching(DeviceContext):
        def release(self):
            gone.append(held[0]() is None)

    group = make_group([0], Watching)

    def make(number):
        held.append(weakref.ref(counter := Counter(number, ValueError if fails else None)))
        return counter

    gc.collect()
    gc.disable()
    try:
        group.begin(make)
        go_on(group)
        assert held[0]() is None
    finally:
        gc.enable()
    assert gone == ([True] if fails else [])


def test_each_turn_has_the_random_numbers_of_its_training():
    drawn = {3: [], 4: []}

    class Drawing(Counter):
        def work(self):
            super().work()
            drawn[self.number].append(float(torch.rand(())))

    seeds = list(drawn)
    group = make_group(seeds)
    state = torch.get_rng_state()
    group.begin(lambda number: Drawing(seeds[number]))
    for _ in range(3):
        group.each(Drawing.work)
    assert torch.equal(torch.get_rng_state(), state)
    for seed, found in drawn.items():
        generator = torch.Generator().manual_seed(seed)
        assert found == [float(torch.rand((), generator=generator)) for _ in range(3)]


def test_a_clock_counts_its_own_turns(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("bostruct.nas.training.monotonic", lambda: now[0])
    clock = Clock(longest=5.0, deadline=150.0)
    for _ in range(2):
        with clock.run():
            now[0] += 2.0
        now[0] += 10.0  # of others
    with clock.run():
        assert clock.seconds() == 4.0
        assert not clock.is_late()
        now[0] += 1.5
        assert clock.is_late()
    other = Clock(deadline=150.0)
    now[0] = 149.0
    with other.run():
        assert not other.is_late()
        now[0] = 150.5
        assert other.is_late()


class QueueingDevice(DeviceContext):
    """A device that takes steps at once and does them when it is waited for: a simulated GPU."""

    def __init__(self, now, behind, *given):
        super().__init__(*given)
        self.cuda, self._now, self._behind = True, now, behind

    @contextmanager
    def activate(self):
        yield

    def synchronize(self):
        self._now[0] += self._behind

    def release(self):
        pass


def test_the_time_of_a_queue_is_shared_and_ends_a_training_that_only_launches(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("bostruct.nas.training.monotonic", lambda: now[0])
    members = [TrainingContext(QueueingDevice(now, 8.0, CPU, 0), Clock(longest=5.0)) for _ in range(4)]
    group = RoundRobin(members, fails_alone=True, all_or_none=False)
    group.begin(Counter)
    seen = []
    for _ in range(3):
        group.wait()
        for member in members:
            with member.clock.run():
                seen.append((member.clock.seconds(), member.clock.is_late()))
    assert seen == [(2.0, False)] * 4 + [(4.0, False)] * 4 + [(6.0, True)] * 4


def test_an_error_of_the_device_waits_for_a_turn(monkeypatch):
    member = TrainingContext(QueueingDevice([0.0], 0.0, CPU, 0), Clock())
    group = RoundRobin([member], fails_alone=True, all_or_none=False)
    group.begin(Counter)

    def lost():
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(member.context, "synchronize", lost)
    group.wait()
    assert list(group.running) == [0]
