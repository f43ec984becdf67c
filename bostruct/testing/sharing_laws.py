"""The laws of a storage whose studies several writers share."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from bostruct.outcome import Outcome
from bostruct.storage.protocol import News, Storage, StudyLocked, StudyRow, StudyWriter, TrialRow

BLOCKED_SECONDS = 0.2  # for which a writer that has to wait is seen to wait
PATIENCE_SECONDS = 30.0  # within which it must go on once it may


class Interruption(Exception):
    """The error that ends a step before it is done."""


def check_sharing(make: Callable[[], Storage], row: StudyRow) -> None:
    """Check that a second writer is refused with StudyLocked, or shares the study; raise AssertionError.

    make: returns the same place each time, as another process would open it.
    row: of a study that is not there.
    """
    with ExitStack() as left_open:  # a law that is broken leaves nobody to close them

        def begin() -> StudyWriter:
            writer = make().begin(row)[1]
            left_open.callback(_close, writer)
            return writer

        first = begin()
        try:
            second = begin()
        except StudyLocked:
            return
        _check_names(first, second)
        _check_news(first, second)
        _check_steps(first, second, lambda: make().read(row.name).trials)
        _check_deciding(first, second)
        _check_gone(first, second, begin)


def _close(writer: StudyWriter) -> None:
    if writer.is_open:
        writer.close()


def _check_gone(first: StudyWriter, second: StudyWriter, begin: Callable[[], StudyWriter]) -> None:
    mine, gone = _name(first), _name(second)
    second.close()
    assert first.find_gone({gone, mine}) == {gone}, "a writer that has closed is gone, and no other"
    again = begin()
    assert first.find_gone({_name(again)}) == set(), "a writer that came later is there"
    again.close()


def _check_names(first: StudyWriter, second: StudyWriter) -> None:
    names = _name(first), _name(second)
    assert len({*names}) == 2, f"each writer has a name of its own: got {first.owner!r} twice"
    for writer in (first, second):
        gone = writer.find_gone({*names, "nobody", "../" * 9 + "etc/passwd", ""})
        assert gone == {"nobody", "../" * 9 + "etc/passwd", ""}, f"who is there is not gone, all others are: got {gone}"


def _name(writer: StudyWriter) -> str:
    law = "a second writer is refused with StudyLocked, or shares the study: it needs a name as its owner, got None"
    assert writer.owner is not None, law
    return writer.owner


def _check_news(first: StudyWriter, second: StudyWriter) -> None:
    trial = TrialRow(0, '{"a": 0}', "{}", 1e9, 1, owner=first.owner)
    first.insert(trial, '["new"]')
    assert first.look() == News([], '["new"]', 0), "what a writer wrote is no news to it"
    _expect(second.look(), [trial], "what another wrote is news")
    _expect(second.look(), [], "news are told once")
    told = trial._replace(outcome=Outcome(failed="rain"), finished=2e9, told=0, owner=None)
    second.update(told)
    added = told._replace(number=1, told=1)
    second.insert(added)
    _expect(first.look(), [told, added], "news hold each trial once, as it is now, by number")
    first.reopen(trial)
    first.take_back(0)
    _expect(second.look(), [trial._replace(attempts=0, owner=None)], "a trial that is taken back has no owner")


def _check_steps(first: StudyWriter, second: StudyWriter, read: Callable[[], list[TrialRow]]) -> None:
    before, waiting = read(), read()[0]
    taken = waiting._replace(owner=first.owner, attempts=1)
    second.insert(later := TrialRow(2, "{}", "{}", 1e9, 1, owner=second.owner))
    for _ in range(2):
        try:
            with first.changing() as news:
                _expect(news, [later], "a step begins with the news, again after one that was not done")
                first.update(taken)
                first.insert(TrialRow(3, "{}", "{}", 1e9, 1))
                raise Interruption
        except Interruption:
            assert read() == [*before, later], "a step that raises changes nothing"
    with first.changing() as news:
        _expect(news, [later], "a step begins with the news")
        first.update(taken)
        first.insert(last := TrialRow(3, "{}", "{}", 1e9, 1))
        assert read() == [*before, later], "nobody sees a part of a step"
    assert read() == [taken, *before[1:], later, last], "a step is there once it is done"
    _expect(first.look(), [], "what a writer wrote in a step is no news to it")
    _expect(second.look(), [taken, last], "what another wrote in a step is news")


def _check_deciding(first: StudyWriter, second: StudyWriter) -> None:
    decided = threading.Event()
    failed: list[BaseException] = []

    def decide() -> None:
        try:
            with second.deciding():
                decided.set()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=decide, daemon=True)
    with first.deciding():
        with first.deciding():
            thread.start()
        assert not decided.wait(BLOCKED_SECONDS), "a writer waits while another decides"
        second.update(TrialRow(2, "{}", '{"told": "meanwhile"}', 1e9, 1, owner=second.owner))
    assert decided.wait(PATIENCE_SECONDS), f"a writer goes on once no other decides: {failed}"
    thread.join()


def _expect(news: News | None, trials: list[TrialRow], law: str) -> None:
    assert isinstance(news, News), f"news are a News: got {type(news).__name__}"
    found: list[Any] = list(news.trials)
    assert found == trials, f"{law}: got {found}, expected {trials}"
