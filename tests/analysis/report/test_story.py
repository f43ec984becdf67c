"""The sentences of a story say what happened."""

from __future__ import annotations

import re

import pytest

from bostruct.analysis.report.facts import read_run
from bostruct.analysis.report.story import cut_end, format_seconds, format_time, tell_story
from bostruct.analysis.report.tables import tabulate_best, tabulate_limits, tabulate_model, tabulate_trials
from bostruct.study.history import first_line
from tests.analysis.report.runs import make_hostile, make_plain


def read(*paragraphs: str) -> str:
    return re.sub("<[^>]*>", " ", " ".join(paragraphs)).replace("  ", " ")


def test_the_story_of_a_search():
    study = make_plain()
    said = read(*tell_story(read_run(study)))
    best = study.best_trial
    assert "minimizes its objective by the method random with seed 1, over a space of 3 variables." in said
    assert "There are 24 trials: 24 completed." in said
    assert f"The best observed value is {best.value:g} , of trial {best.number}." in said
    assert f"; {23 - best.number} later trials brought nothing better." in said


def test_the_story_tells_failures_limits_and_the_future():
    said = read(*tell_story(read_run(make_hostile())))
    assert "A feasible trial satisfies 1 constraint:" in said
    assert "24 completed, 6 failed" in said
    assert "violated a constraint" in said
    assert "The most frequent reason for no value, in 2 trials:" in said


def test_trials_that_wait_are_told_apart_from_those_that_run():
    study = make_plain()
    study.ask()
    study.requeue(study.ask())
    run = read_run(study)
    assert "24 completed, 1 running, 1 waiting. A waiting trial has its point" in read(*tell_story(run))
    table = read(tabulate_trials(run))
    assert (table.count("running"), table.count("waiting")) == (1, 1)


def test_the_model_is_told_where_there_is_one():
    run = read_run(make_plain(14, "auto"))
    found = run.recommended
    assert found is not None
    assert found.mean is not None
    said = read(*tell_story(run), tabulate_model(run) or "", tabulate_best(run))
    assert f"whose predicted value without noise is {found.mean:.6g}" in said
    assert f"{found.low:.6g} to {found.high:.6g}" in said
    assert re.search(r"noise [\d.e-]+ of the variance of the values", said)


def test_limits_show_the_share_that_keeps_them():
    study = make_hostile()
    kept = sum(trial.is_feasible for trial in study.trials)
    assert f"{kept} of 24 {100 * kept / 24:.0f}%" in read(tabulate_limits(read_run(study))).replace("  ", " ")


def test_a_row_of_a_trial_says_why_it_failed():
    said = read(tabulate_trials(read_run(make_hostile())))
    assert "second line" not in said
    assert r"\u2028" in said
    assert "violates" in said


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0123, "0.012 s"), (45, "45 s"), (150, "2.5 min"), (9000, "2.5 h"), (432000, "5.0 days")]
)
def test_durations_have_the_unit_that_people_choose(seconds, text):
    assert format_seconds(seconds) == text


def test_texts_are_cut_and_moments_beyond_the_calendar_are_numbers():
    assert cut_end("abcdef", 4) == "abc…"
    assert first_line("\n  a\nb") == "a"
    assert first_line(" ") == ""
    assert format_time(0.0) == "1970-01-01 00:00 UTC"
    assert format_time(1e300) == "1e+300 s since 1970"
