"""The tables of a report."""

from __future__ import annotations

import math
import platform
import statistics
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from bostruct import __version__
from bostruct.analysis.importances import is_selected
from bostruct.analysis.pictures import rank_trials
from bostruct.analysis.report.facts import Run, write_point
from bostruct.analysis.report.story import cut_end, format_seconds, format_time
from bostruct.checks import hide_addresses, short_repr
from bostruct.contracts import Domain
from bostruct.display import Html, element, in_full, pluralize, printable
from bostruct.study.history import Trial, count_reasons, first_line
from bostruct.surrogates.fanova import Importances

MOST_COLUMNS = 60
MOST_FRONT = 100
MOST_REASONS = 20
MOST_EFFECTS = 50
LEAST_CLEAR_SHARE = 0.01  # variables without any effect have smaller shares
MOST_RULES = 5  # constraints that are named
LONGEST_EFFECT = 40  # characters of a variable's name next to its share
LONGEST_TITLE, LONGEST_NAME = 60, 120  # characters of a column's and of a variable's name; unlimited for best points
CLASSES = {"began": "w", "status": "s"}  # CSS classes of columns: never broken into lines, wide enough for a reason
MOST_CELLS = 60_000  # about 1 MB
LEAST_ROWS, MOST_ROWS = 100, 1000
LONGEST_CELL = 120  # characters of a part of a point


def write_table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    numeric: Sequence[int] = (),
    sort: bool = False,
) -> Html:
    """Return a scrollable table whose cells are labeled by row and column headers.

    sort: whether the table can be sorted by a script.
    """
    head = element("tr", *(element("th", cut_end(title, LONGEST_TITLE), scope="col") for title in header))
    kinds = ["n" if position in numeric else CLASSES.get(title) for position, title in enumerate(header)]
    classes = [{} if kind is None else {"class_": kind} for kind in kinds[1:]]
    lines = []
    for name, *values in rows:
        cells = (element("td", cell, **own) for cell, own in zip(values, classes, strict=True))
        lines.append(element("tr", element("th", name, scope="row", class_=kinds[0]), *cells))
    return _scroll(caption, "sortable" if sort else None, element("thead", head), element("tbody", *lines))


def write_facts(caption: str, facts: Iterable[tuple[str, object]]) -> Html:
    """Return a table of names and their values.

    facts: (name, text).
    """
    lines = (element("tr", element("th", name, scope="row"), element("td", what)) for name, what in facts)
    return _scroll(caption, "facts", element("tbody", *lines))


def _scroll(caption: str, kind: str | None, *parts: Html) -> Html:
    """Return a table in a scrollable region."""
    table = element("table", element("caption", caption), *parts, class_=kind)
    return element("div", table, class_="scroll", role="region", tabindex="0", aria_label=caption)


def format_value(value: object, digits: int = 6) -> str:
    """Return a short text of a number, a dash for None.

    value: a number or None.
    """
    return "–" if value is None else f"{value:.{digits}g}" if isinstance(value, int | float) else str(value)


def tabulate_best(run: Run) -> Html:
    """Return a table of the complete best observed point and the recommended point."""
    best, found = run.result.best_trial, run.recommended
    trials = {"best observed": best}
    if found is not None and found.trial.number != best.number:
        trials["recommended by the model"] = found.trial
    points = [write_point(trial.point) for trial in trials.values()]
    names = dict.fromkeys(name for point in points for name in point)
    rows: list[Sequence[object]] = [["trial", *(trial.number for trial in trials.values())]]
    rows.append(["observed value", *(repr(trial.value) for trial in trials.values())])
    for limit in run.result.goals.limits:
        rows.append([str(limit), *(format_value(trial.constraints.get(limit.name)) for trial in trials.values())])
    rows += [[name, *(point.get(name, "–") for point in points)] for name in names]
    for name in dict.fromkeys(name for trial in trials.values() for name in trial.attributes):
        cells = (in_full(trial.attributes.get(name, "–")) for trial in trials.values())
        rows.append([f"attribute {name}", *(cut_end(cell, LONGEST_CELL) for cell in cells)])
    return write_table("The best point" + ("s" if len(trials) > 1 else ""), ["variable", *trials], rows)


def tabulate_modules(run: Run) -> Html | None:
    """Return a table of the recommended program's modules, in computation order; None if points are not programs."""
    trial = run.recommended.trial if run.recommended is not None else next(iter(run.front), None)
    nodes = getattr(None if trial is None else trial.point, "nodes", None)
    if trial is None or not isinstance(nodes, Sequence):
        return None
    rows = []
    for node in nodes:
        read = [f"input {one.port}" if one.node is None else nodes[one.node].path for one in node.sources.values()]
        rows.append([node.path, node.kind, hide_addresses(in_full(node.values)), ", ".join(read)])
    return write_table(
        f"The modules of the program of trial {trial.number}", ["module", "kind", "values", "reads"], rows
    )


def tabulate_front(run: Run) -> Html:
    """Return a table of the trials of the Pareto front, with their values and points."""
    goals, shown = run.result.goals, run.front[:MOST_FRONT]
    points = [write_point(trial.point) for trial in shown]
    names = list(dict.fromkeys(name for point in points for name in point))[:MOST_COLUMNS]
    header = ["trial", *(f"{goals.name_objective(k)} ({way}d)" for k, way in enumerate(goals.directions)), *names]
    rows = [
        [trial.number, *map(format_value, trial.values), *(point.get(name, "–") for name in names)]
        for trial, point in zip(shown, points, strict=True)
    ]
    cut = f", the first {MOST_FRONT}" if len(run.front) > MOST_FRONT else ""
    caption = f"The Pareto front of {pluralize(len(run.front), 'trial')}{cut}"
    return write_table(caption, header, rows, numeric=range(goals.n_objectives + 1), sort=True)


def tabulate_limits(run: Run) -> Html:
    """Return a table of the constraints, with the share of completed trials that satisfy each."""
    completed, rows = run.result.list_completed(), []
    for limit in run.result.goals.limits:
        kept = sum(limit.name not in trial.broken for trial in completed)
        share = f"{100 * kept / len(completed):.0f}%" if completed else "–"
        rows.append([str(limit), f"{kept:,} of {len(completed):,}", share])
    return write_table("Constraints, and how many completed trials satisfy them", ["constraint", "by", "share"], rows)


def tabulate_reasons(run: Run) -> Html:
    """Return a table of the reasons why trials have no value, most frequent first."""
    counts = count_reasons(run.result.trials)
    cut = f", the {MOST_REASONS} most frequent of {len(counts):,}" if len(counts) > MOST_REASONS else ""
    rows = [[cut_end(reason, 500), f"{n:,}"] for reason, n in counts.most_common(MOST_REASONS)]
    return write_table(f"Reasons for no value{cut}", ["reason, its first line", "trials"], rows, numeric=(1,))


def clean_names(found: Importances) -> Importances:
    """Return importances with names that fit next to bars, the selected first; a position distinguishes equal names."""
    main = dict(sorted(found.main.items(), key=lambda item: not is_selected(item[0], found.selected)))
    names = [cut_end(printable(name), LONGEST_EFFECT) for name in main]
    distinct = [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names)]
    named = dict(zip(main, distinct, strict=True))
    selected = tuple(named.get(name, name) for name in found.selected)
    return found._replace(main=dict(zip(distinct, main.values(), strict=True)), selected=selected)


def tabulate_effects(found: Importances, caption: str) -> Html:
    """Return a table of the share of each variable; mark small shares, and shares no larger than their spread."""
    rows = []
    for name, one in list(found.main.items())[:MOST_EFFECTS]:
        clear = "below 1%" if one.share < LEAST_CLEAR_SHARE else "unsure" if one.is_vague else "yes"
        rows.append([name, f"{one.share:.3f}", f"{one.spread:.3f}", clear])
    cut = f", the first {MOST_EFFECTS} of {len(found.main)}" if len(found.main) > MOST_EFFECTS else ""
    return write_table(f"{caption}{cut}", ["variable", "share", "spread", "sure?"], rows, numeric=(1, 2), sort=True)


def tabulate_model(run: Run) -> Html | None:
    """Return a table of the predictions of the method's model; None if it is empty."""
    facts: list[tuple[str, object]] = []
    if (found := run.recommended) is not None:
        facts.append(("recommended", f"trial {found.trial.number}, {found.why}"))
        if found.mean is not None and found.low is not None and found.high is not None:
            facts.append(("posterior mean, without noise", f"{found.mean:.6g}"))
            facts.append(("95% interval", f"{found.low:.6g} to {found.high:.6g}"))
            facts.append(("observed value there", format_value(found.trial.value)))
    noise = next((trial.info["noise"] for trial in reversed(run.result.trials) if "noise" in trial.info), None)
    if isinstance(noise, int | float) and math.isfinite(noise):
        facts.append(("noise", f"{min(noise, 1.0):.2g} of the variance of the values, in the last model"))
    return write_facts("What the model predicts", facts) if facts else None


def tabulate_time(run: Run) -> Html:
    """Return the durations of suggestions and evaluations, and how busy the workers were."""
    trials = run.result.trials
    suggest = [trial.info["suggest_seconds"] for trial in trials if "suggest_seconds" in trial.info]
    spent = [t.seconds for t in trials if t.seconds is not None and t.origin != "added"]
    rows = [
        [name, *(format_seconds(one) for one in (sum(times), statistics.median(times), max(times)))]
        for name, times in (("to choose a point", suggest), ("to evaluate it, from ask to tell", spent))
        if times
    ]
    table = write_table("Seconds on the clock", ["time", "in all", "median", "longest"], rows, numeric=(1, 2, 3))
    if (busy := run.busy) is None:
        return table
    pauses = f", {pluralize(busy.pauses, 'pause')} of more than a minute left out" if busy.pauses else ""
    share = f"{100 * busy.share:.0f}%"
    text = f"At most {pluralize(busy.workers, 'trial')} ran at a time. Evaluations filled {share} of the time of "
    text += f"{pluralize(busy.workers, 'worker')} over {format_seconds(busy.seconds)}{pauses}."
    return Html(table + element("p", text))


def tabulate_origin(run: Run) -> Html:
    """Return a table of the origin of the study, and how to open it again."""
    result = run.result
    facts: list[tuple[str, object]] = [
        ("method", result.method),
        ("seed", result.seed),
        ("goals", result.goals),
        ("made by", "unknown" if run.version is None else f"bostruct {run.version}"),
        ("this page by", f"bostruct {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"),
    ]
    if run.where is not None:
        opened = f"bo.Study.load({run.where!r}, {run.name!r}, read_only=True)"
        facts += [("file", run.where), ("to open it", element("code", opened))]
    return write_facts("How it was made", facts)


def tabulate_space(run: Run) -> Html:
    """Return a table of the variables of the space with their values, or the space as a whole."""
    domain = run.result.domain
    if parts := {} if domain is None else domain.variables or domain.parts:
        rows = [[cut_end(name, LONGEST_NAME), cut_end(str(one), 500)] for name, one in parts.items()]
        return write_table(f"The space{_name_rules(domain)}", ["variable", "values"], rows)
    return element("p", element("code", short_repr(domain, 2000)))


def _name_rules(domain: Domain | None) -> str:
    """Return the number of constraints of a space and the names of the first ones; empty without constraints."""
    rules = () if domain is None else domain.constraints
    if not rules:
        return ""
    names = [cut_end(getattr(one, "__name__", hide_addresses(repr(one))), LONGEST_TITLE) for one in rules[:MOST_RULES]]
    more = ", ..." if len(rules) > MOST_RULES else ""
    return f", with {pluralize(len(rules), 'constraint')}: {', '.join(names)}{more}"


def tabulate_trials(run: Run) -> Html:
    """Return a table of the trials; of many trials, only the best and the last."""
    trials, goals = run.result.trials, run.result.goals
    values = list(goals.names) or (["value"] if run.is_single else [f"value {k}" for k in range(goals.n_objectives)])
    limits = [limit.name for limit in goals.limits]
    lead = ["trial", "status", *values, *limits, "chosen by", "began", "seconds"]
    shown = _choose_trial_rows(run, MOST_ROWS)
    points = {trial.number: write_point(trial.point) for trial in shown}
    names = list(dict.fromkeys(name for point in points.values() for name in point))
    most = max(LEAST_ROWS, MOST_CELLS // (len(lead) + min(len(names), MOST_COLUMNS)))
    if most < len(shown):
        shown = _choose_trial_rows(run, most)
    rows = [_write_row(trial, points[trial.number], run, names[:MOST_COLUMNS]) for trial in shown]
    numeric = [0, *range(2, 2 + len(values) + len(limits))]
    caption = _caption(len(trials), len(shown), len(names))
    return write_table(caption, [*lead, *names[:MOST_COLUMNS]], rows, numeric=numeric, sort=True)


def _caption(n_trials: int, n_shown: int, n_names: int) -> str:
    caption = pluralize(n_trials, "trial")
    if n_shown < n_trials:
        caption = f"{n_shown:,} of {caption}, half of them the best and the others the last"
    if n_names > MOST_COLUMNS:
        caption += f", with {MOST_COLUMNS} of {n_names:,} parts of their points"
    return caption + (
        "; bostruct show --csv writes all of them" if n_shown < n_trials or n_names > MOST_COLUMNS else ""
    )


def _choose_trial_rows(run: Run, most: int) -> Sequence[Trial]:
    """Return the trials to show, by number; if there are too many, only the best and the last."""
    result = run.result
    if len(result.trials) <= most:
        return result.trials
    best: Sequence[Trial] = run.front
    if run.is_single:
        completed = result.list_completed()
        best = [completed[i] for i in rank_trials(result, completed, 0)[: most // 2]]
    chosen = {trial.number for trial in best[: most // 2]}
    for trial in reversed(result.trials):
        if len(chosen) >= most:
            break
        chosen.add(trial.number)
    return [result.trials[number] for number in sorted(chosen)]


def _write_row(trial: Trial, point: Mapping[str, str], run: Run, names: Sequence[str]) -> list[object]:
    goals = run.result.goals
    return [
        trial.number,
        _describe_status(trial, run),
        *map(format_value, trial.values or (None,) * goals.n_objectives),
        *(format_value(trial.constraints.get(limit.name)) for limit in goals.limits),
        trial.choice,
        format_time(trial.started),
        format_value(trial.seconds, 3),
        *(cut_end(point.get(name, "–"), LONGEST_CELL) for name in names),
    ]


def _describe_status(trial: Trial, run: Run) -> str:
    if trial.broken:
        return f"violates {cut_end(', '.join(trial.broken), LONGEST_CELL)}"
    if trial.reason is None:
        return run.find_status(trial)
    return f"{trial.status}: {cut_end(first_line(trial.reason), LONGEST_CELL)}"
