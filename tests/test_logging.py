"""The package logs under its own name: suggestions, fallbacks and workers; nothing is shown until a program listens."""

from __future__ import annotations

import logging
import subprocess
import sys

import bostruct as bo


def test_suggestions_are_logged_with_their_origin(caplog):
    with caplog.at_level(logging.INFO, "bostruct"):
        bo.minimize(lambda point: point["x"], {"x": range(20)}, n_trials=12, seed=0)
    texts = [record.getMessage() for record in caplog.records if record.name == "bostruct.study.suggestion"]
    assert len(texts) == 12
    assert texts[0].startswith("trial 0: auto, initial, in ")
    assert texts[11].startswith("trial 11: auto, model, in ")


def test_a_fallback_is_a_warning_that_says_why(caplog):
    with caplog.at_level(logging.WARNING, "bostruct"), bo.Study({"x": range(50)}, seed=0) as study:
        for _ in range(11):
            study.tell(study.ask(), failed="no license")
    warned = [record.getMessage() for record in caplog.records]
    assert warned == ["trial 10: auto fell back to a random point: no trial has completed"]


def test_nothing_is_shown_by_default():
    code = (
        "import bostruct as bo\n"
        "with bo.Study({'x': range(50)}, seed=0) as study:\n"
        "    for _ in range(11):\n"
        "        study.tell(study.ask(), failed='no license')\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")
