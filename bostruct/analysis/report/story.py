"""A description of a run in sentences."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from bostruct.analysis.pictures import write_ordinal
from bostruct.analysis.report.facts import Run
from bostruct.contracts import Domain
from bostruct.display import Html, element, pluralize
from bostruct.study.history import count_reasons, tell_stop
from bostruct.study.records import GIVE_SPACE

STATUSES = ("completed", "failed", "infeasible", "running", "waiting")
ORIGINS = {
    "given": "given by the user",
    "initial": "of the initial design",
    "random": "drawn at random",
    "exploring a branch": "exploring a branch with few trials",
    "model": "chosen by the model",
    "mutation": "changed from a good one",
    "repeat": "asked for again",
    "fallback": "drawn at random since the model failed",
    "added": "added with their values",
    "double": "duplicates of trials that had been requeued",
}


def tell_story(run: Run) -> list[Html]:
    """Return paragraphs about the search, its trials and failures, the best trial and the model's predictions."""
    paragraphs = (_tell_search(run), _tell_trials(run), _tell_best(run), _tell_end(run))
    return [element("p", *_join(sentences)) for paragraph in paragraphs if (sentences := list(paragraph))]


def _join(sentences: Sequence[object]) -> Iterator[object]:
    for position, sentence in enumerate(sentences):
        yield " " if position else ""
        yield sentence


def format_time(seconds: float) -> str:
    """Return a time as date and time in UTC."""
    try:
        return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, OSError, ValueError):  # a user's clock beyond the calendar
        return f"{seconds:g} s since 1970"


def format_seconds(seconds: float) -> str:
    """Return a duration in the usual unit for its size.

    seconds: at least 0.
    """
    for size, unit in ((86400.0, "days"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def describe_space(domain: Domain | None) -> str:
    """Return a short description of a space.

    domain: domain of the points; None if unknown.
    """
    if domain is not None and domain.parts:
        return f"a space of {pluralize(len(domain.parts), 'part')}"
    if domain is not None and domain.variables:
        rules = len(domain.constraints)
        return f"a space of {pluralize(len(domain.variables), 'variable')}" + (
            f" and {pluralize(rules, 'constraint')}" if rules else ""
        )
    names = {
        "ArchitectureDomain": "architectures",
        "SearchSpace": "programs",
        "JsonDomain": "a space that its file does not fully contain",
    }
    return names.get(type(domain).__name__, "an unknown space")


def _tell_search(run: Run) -> Iterator[object]:
    result, directions = run.result, run.result.goals.directions
    what = f"{directions[0]}s its objective" if run.is_single else f"has {len(directions)} objectives"
    if not run.is_single:
        what += f" ({', '.join(f'{way}d' for way in directions)})"
    yield f"This study {what} by the method"
    yield element("b", result.method)
    yield f"with seed {result.seed}, over {describe_space(result.domain)}."
    if result.domain is not None and not result.domain.is_whole:
        yield "Importances and the model are left out, because they need the whole space."
        yield f"To include them, {GIVE_SPACE}."
    if limits := result.goals.limits:
        yield f"A feasible trial satisfies {pluralize(len(limits), 'constraint')}: {', '.join(map(str, limits))}."
    note = next((trial.info["auto"] for trial in result.trials if "auto" in trial.info), None)
    if note is not None:
        yield f"A note of the method: {note}."
    if run.n_changes:
        yield f"The space was changed {pluralize(run.n_changes, 'time')} on the way."


def _tell_trials(run: Run) -> Iterator[object]:
    result, counts = run.result, run.counts
    if not result.trials:
        yield "There is no trial yet."
        return
    listed = ", ".join(f"{counts[status]:,} {status}" for status in STATUSES if counts[status])
    yield f"There {'is' if len(result.trials) == 1 else 'are'} {pluralize(len(result.trials), 'trial')}: {listed}."
    if counts["waiting"]:
        yield "A waiting trial has its point, but no process evaluates it; the next process that asks receives it."
    origins = Counter(trial.choice for trial in result.trials)
    yield "Points were: " + ", ".join(f"{n:,} {ORIGINS.get(name, name)}" for name, n in origins.items()) + "."
    broken = sum(bool(trial.broken) for trial in result.trials)
    if broken:
        yield f"{pluralize(broken, 'completed trial')} violated a constraint."
    reasons = count_reasons(result.trials).most_common(1)
    if reasons:
        reason, n = reasons[0]
        quoted = element("q", cut_end(reason, 200))
        yield element("span", f"The most frequent reason for no value, in {pluralize(n, 'trial')}: ", quoted, ".")
    if result.n_unread:
        yield f"{pluralize(result.n_unread, 'trial')} cannot be read in the current space of the study."


def cut_end(text: str, limit: int) -> str:
    """Cut a text that is too long, and end it with an ellipsis.

    limit: maximum number of characters, at least 1.
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _tell_best(run: Run) -> Iterator[object]:
    result = run.result
    if run.front:
        yield f"The Pareto front has {pluralize(len(run.front), 'trial')}; no other trial dominates one of them."
        return
    if not run.has_best:
        if run.counts["completed"]:
            yield "No completed trial satisfies all constraints."
        elif result.trials:
            yield "No trial has a value, so there is no best trial."
        return
    best = result.best_trial
    position = result.order.index(best.number) + 1
    ending = f", of trial {best.number}{tell_stop(best)}."
    yield element("span", "The best observed value is ", element("b", f"{best.value:.10g}"), ending)
    later = len(result.order) - position
    rest = f"{pluralize(later, 'later trial')} brought nothing better." if later else "it is the last."
    yield f"It was the {write_ordinal(position)} of {len(result.order):,} to finish; {rest}"
    found = run.recommended
    if found is not None and found.mean is not None:
        same = "the same trial" if found.trial.number == best.number else f"trial {found.trial.number}"
        yield f"The model recommends {same}, whose predicted value without noise is {found.mean:.6g}"
        yield f"(95% interval {found.low:.6g} to {found.high:.6g})."


def _tell_end(run: Run) -> Iterator[object]:
    trials = [trial for trial in run.result.trials if trial.started > 0]
    if trials:
        last = max(max(trial.started, trial.finished or 0.0) for trial in trials)
        yield f"The first trial began {format_time(min(trial.started for trial in trials))},"
        yield f"the last update was {format_time(last)}."
    suggest = [trial.info["suggest_seconds"] for trial in run.result.trials if "suggest_seconds" in trial.info]
    spent = [t.seconds for t in run.result.trials if t.seconds is not None and t.origin != "added"]
    if suggest and spent:
        yield f"In the median it took {format_seconds(statistics.median(suggest))} to choose a point"
        yield f"and {format_seconds(statistics.median(spent))} to evaluate it."
