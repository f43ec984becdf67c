"""The progress bar fits its terminal, and says what a watcher needs."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios

import pytest

import bostruct as bo
from bostruct.study.progress import progress_bar, trial_bar


@pytest.fixture
def terminal(monkeypatch):
    """Call a function with a terminal of 80 columns as stderr; return what it wrote there, line by line."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with open(theirs, "w") as screen, open(ours, "rb", buffering=0) as reader:

        def watch(call):
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stderr", screen)
                call()
            screen.flush()
            os.set_blocking(ours, False)
            text = b""
            while chunk := reader.read(4096):
                text += chunk
            return [line for line in text.decode().replace("\n", "\r").split("\r") if line.strip()]

        yield watch


def objective(point):
    if point["a"] % 3 == 0:
        raise ValueError("a third of all")
    return -1.23456789e-5 * point["a"]


@pytest.mark.parametrize("name", ["short", "link-time flags of the server", "a name that goes on and on " * 9])
def test_a_line_fits_80_columns_and_keeps_what_matters(name, terminal):
    study = bo.Study({"a": range(999)}, method="random", seed=0, name=name)
    shown = terminal(lambda: study.optimize(objective, 30))  # shown without being asked for
    result = study.result
    assert max(map(len, shown)) <= 80
    assert "30/30" in shown[-1]
    assert f"best {result.best_value:.6g}" in shown[-1]
    assert f"{result.n_failed} failed" in shown[-1]
    assert shown[-1].startswith(name[:8])


def test_a_run_without_failures_does_not_speak_of_them(terminal):
    shown = terminal(lambda: bo.minimize(lambda point: point["a"], {"a": range(9)}, 5, method="random", seed=0))
    assert "5/5" in shown[-1]
    assert "failed" not in shown[-1]


def test_a_notebook_without_widgets_gets_text_and_no_warning(monkeypatch, capsys):
    monkeypatch.setattr("bostruct.study.progress.is_notebook", lambda: True)
    bo.minimize(lambda point: point["a"], {"a": range(9)}, 5, method="random", seed=0, name="x" * 200)
    lines = capsys.readouterr().err.rstrip().split("\r")
    assert "5/5" in lines[-1]
    assert max(map(len, lines)) <= 80


def test_nobody_who_does_not_want_a_bar_gets_one(capsys):
    for wanted in (False, None):  # None: stderr is no terminal here
        with progress_bar("label", 5, 0, wanted) as bar:
            assert bar is None
    study = bo.Study({"a": range(9)}, method="random", seed=0)
    with trial_bar("trials", study, 3, False) as show:
        show(study, study.tell(study.ask(), 1.0))
    assert capsys.readouterr() == ("", "")


def test_a_bar_goes_on_from_what_is_done_and_tells_the_regret(terminal):
    study = bo.Study({"a": range(9)}, method="random", seed=0)
    study.optimize(lambda point: point["a"] + 2.0, 4, progress=False)

    def go_on():
        with trial_bar("trials", study, 6, True, optimum=2.0) as show:
            for _ in range(2):
                trial = study.ask()
                show(study, study.tell(trial, trial.point["a"] + 2.0))

    shown = terminal(go_on)
    assert "4/6" in shown[0]
    assert "6/6" in shown[-1]
    assert f"regret {study.best_value - 2.0:.4g}" in shown[-1]


def test_a_run_that_ends_early_is_done_with_what_it_did(terminal):
    study = bo.Study({"a": range(9)}, method="random", seed=0)

    def end_early():
        with trial_bar("trials", study, 50, True) as show:
            show(study, study.tell(study.ask(), failed="no"))

    last = terminal(end_early)[-1]
    assert "1/1" in last
    assert "best none yet, 1 failed" in last
