"""`bostruct show`, `report`, `copy`, `delete`, `rename` and `import`: the studies in files and databases."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bostruct import __version__
from bostruct.analysis.tables import format_number, format_table
from bostruct.cli.options import (
    IntegerRange,
    check_folder,
    check_not_empty,
    check_outputs,
    check_page,
    file_to_write,
    json_option,
    load_space,
    load_to_read,
    open_place,
    overwrite_option,
    plain_errors,
    plot_option,
    short_name,
    space_option,
)
from bostruct.cli.text import (
    BEST_FACTS,
    Facts,
    describe_findings,
    describe_trial,
    echo_json,
    format_pairs,
    incumbent_row,
    list_findings,
)
from bostruct.display import pluralize, printable_lines

if TYPE_CHECKING:
    from bostruct.contracts import Domain
    from bostruct.storage.protocol import Storage
    from bostruct.study.result import Result
    from bostruct.study.study import Study

STATUSES = ("completed", "failed", "infeasible", "running", "waiting")  # of running trials, some may be queued


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--name", help="Name of the study; required if the file contains several.")
@click.option("--trial", type=IntegerRange(0), metavar="N", help="Show one trial, with all its stored data.")
@click.option("--csv", type=file_to_write, callback=check_folder, help="Write the trials to this file, one per row.")
@plot_option
@overwrite_option
@space_option
@json_option
def show(
    *,
    file: str,
    name: str | None,
    trial: int | None,
    csv: str | None,
    plot: str | None,
    overwrite: bool,
    problem: str | None,
    as_json: bool,
) -> None:
    """List the studies in a file or a database, or show one.

    \b
    Examples:
      bostruct show runs.db
      bostruct show runs.db --problem mine.py:problem
      bostruct show runs.db --trial 12
      bostruct show runs.db --name "branin auto seed=0" --csv trials.csv --plot run.png
    """
    if trial is not None and (csv, plot) != (None, None):
        raise click.UsageError("--trial: shows one trial, without --csv and --plot")
    with plain_errors():
        place = open_place(file)
        names = [row.name for row in place.studies()]
        check_not_empty(place, names)
        if name is None and len(names) != 1:
            if any(option is not None for option in (trial, csv, plot, problem)):
                listed = ", ".join(map(repr, names))
                raise click.UsageError(f"--name: expected one of {listed}, because the file has several studies")
            _list_studies(place, names, as_json)
            return
        with load_to_read(place, name, load_space(problem)) as study:
            check_outputs({csv: "table of trials", plot: "picture"}, overwrite=overwrite)
            if trial is None:
                _show_one(study, csv, plot, overwrite, as_json)
            else:
                _show_trial(study, trial, as_json)


def _show_trial(study: Study, number: int, as_json: bool) -> None:
    """Print all stored data of one trial."""
    from bostruct.display import in_full

    if number >= (n := len(study.trials)):
        raise click.UsageError(f"--trial: expected a number below {n}, got {number}" if n else "--trial: no trials yet")
    trial = study.trials[number]
    facts = {name: value for name, value in vars(trial).items() if value not in (None, (), {}) and name[0] != "_"}
    facts |= {"point": trial.point, "origin": trial.origin}
    if as_json:
        echo_json(facts)
        return
    for name in ("started", "finished"):
        if name in facts:
            facts[name] = datetime.fromtimestamp(facts[name], tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    info = {name: value for name, value in facts.pop("info", {}).items() if name not in ("attributes", "origin")}
    rows = [(name, value if isinstance(value, str) else in_full(value)) for name, value in facts.items()]
    rows += [(f"attribute {name}", in_full(value)) for name, value in trial.attributes.items()]
    click.echo(format_pairs([*rows, *((f"info {name}", in_full(value)) for name, value in info.items())]))


def _study_facts(study: Study, result: Result) -> Facts:
    counts, waiting = Counter(trial.status for trial in result.trials), study.n_waiting
    counts["running"], counts["waiting"] = counts["running"] - waiting, waiting
    best = study.incumbent
    return {
        "study": study.name,
        "version": study.version,
        "method": result.method,
        "seed": study.seed,
        "goals": study.goals.to_json(),
        "trials": len(result.trials),
        **{status: counts[status] for status in STATUSES},
        "unread": result.n_unread,
        "best_value": None if best is None else best.value,
        "best_trial": None if best is None else best.number,
        "front": [
            describe_trial(trial)
            for trial in (result.pareto_front if result.goals.n_objectives > 1 and result.has_feasible else ())
        ],
    }


def _list_studies(place: Storage, names: list[str], as_json: bool) -> None:
    listed = []
    for name in names:
        with load_to_read(place, name) as study:
            listed.append(_study_facts(study, study.result))
    if as_json:
        echo_json({"file": place.label, "studies": listed})
        return
    from bostruct.goals.declared import Goals

    header = ("study", "method", "goals", *STATUSES, "best value")
    rows = [
        (
            facts["study"],
            facts["method"],
            str(Goals.from_json(facts["goals"])),
            *(str(facts[status]) for status in STATUSES),
            f"{len(facts['front'])} on the front" if facts["front"] else format_number(facts["best_value"]),
        )
        for facts in listed
    ]
    click.echo(format_table(header, rows))
    click.echo("\n`--name NAME` shows one.")


def _show_one(study: Study, csv: str | None, plot: str | None, overwrite: bool, as_json: bool) -> None:
    from bostruct.analysis.importances import find_selected
    from bostruct.analysis.plots import save_figure
    from bostruct.surrogates.fanova import list_variables

    result = study.result
    facts = _study_facts(study, result) | dict.fromkeys(BEST_FACTS) | describe_findings(result)
    is_single = study.goals.n_objectives == 1
    steps = result.incumbents if is_single else ()
    incumbents = [step.best_value for step in steps if step.best_value is not None]
    facts["space_changes"] = _describe_changes(study)
    facts["origins"] = dict(Counter(trial.origin for trial in result.trials))
    facts["seconds_suggesting"], facts["seconds_evaluating"] = result.timing
    facts["suggest_seconds"] = study.goals.suggest_seconds
    facts["selected"] = find_selected(result)
    facts["hasty"] = sum(trial.info.get("haste", 0) > 0 for trial in result.trials)
    if csv is not None:
        result.to_csv(csv, overwrite=overwrite)
    if plot is not None:
        try:
            save_figure(result.plot(), plot, overwrite=overwrite)
        except ValueError as error:
            raise click.ClickException(f"--plot: there is nothing to draw: {error}") from error
    if as_json:
        echo_json(facts | {"incumbents": incumbents})
        return
    counts = ", ".join(f"{facts[status]} {status}" for status in STATUSES if facts[status])
    rows = [
        ("study", facts["study"]),
        ("method", f"{facts['method']}, seed {facts['seed']}, {study.goals}"),
        ("trials", f"{facts['trials']}: {counts}" if counts else "none"),
        ("chosen by", ", ".join(f"{n} {name}" for name, n in Counter(trial.choice for trial in result.trials).items())),
        ("seconds", f"{facts['seconds_suggesting']:.2f} suggesting, {facts['seconds_evaluating']:.2f} evaluating"),
    ]
    if (limit := facts["suggest_seconds"]) is not None:
        rows.append(("time limit", f"{limit:g} s per suggestion; {facts['hasty']} were made cheaper to meet it"))
    if facts["selected"]:
        rows.append(("selected", list_variables(facts["selected"])))
    if result.order:
        rows += list_findings(facts, result, with_points=True)
    rows += [*([incumbent_row(result)] if incumbents else []), *_past_of(facts)]
    rows += [(what, path) for what, path in (("trials in", csv), ("picture", plot)) if path is not None]
    click.echo(format_pairs(rows))


def _past_of(facts: Facts) -> list[tuple[str, str]]:
    """Return rows that describe changes of the study's space, and the version that created it if it differs."""
    rows = [("space changed", text) for text in facts["space_changes"]]
    if facts["unread"]:
        rows.append(("ignored", f"{pluralize(facts['unread'], 'trial')} not in the current space of the study"))
    if facts["version"] != __version__:
        rows.append(("made by", f"bostruct {facts['version']}; this is {__version__}, whose suggestions may differ"))
    return rows


def _describe_changes(study: Study) -> list[str]:
    """Describe when and how the study's space changed, and how many trials remained valid."""
    from bostruct.storage.json_text import parse
    from bostruct.study.space_changes import describe_change

    lines = []
    before = study.first_space
    for change in study.space_changes:
        when = datetime.fromtimestamp(change.changed, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
        read = change.trials - len(parse(change.unread))
        lines.append(f"{when}, {describe_change(before, change.domain)}; {read} of {change.trials} trials read")
        before = change.domain
    return lines


def check_target(context: click.Context, option: click.Parameter, target: str) -> str:
    """Return the target of a copy; raise BadParameter for a file whose folder does not exist."""
    return target if "://" in target else str(check_folder(context, option, target))


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("copy", type=click.Path(dir_okay=False), callback=check_target)
@json_option
def copy(file: str, copy: str, as_json: bool) -> None:
    """Copy a file of studies to a new file.

    A study in FILE may run meanwhile. FILE and COPY may also be databases (postgresql://...). Each study is then
    copied as a consistent snapshot. A copy by `cp` may be damaged, and is then rejected when it is opened, if a
    value was written at the same time.

    \b
    Examples:
      bostruct copy runs.db backup.db
      bostruct copy runs.db "backup-$(date +%F).db" --json
      bostruct copy postgresql://ann@db.lab/runs backup.db
    """
    with plain_errors():
        from bostruct.display import printable
        from bostruct.study.saving import copy_file

        source, target = open_place(file), open_place(copy)
        if "://" in source.label or "://" in target.label:
            copy_studies(file, copy)
        else:
            copy_file(file, copy)
        names = [row.name for row in target.studies()]
    if as_json:
        echo_json({"file": source.label, "copy": target.label, "studies": names})
    else:
        listed = ", ".join(map(repr, names))
        click.echo(f"{printable(source.label)} is copied to {printable(target.label)}, which contains {listed}")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--name", required=True, help="Name of the study.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def delete(file: str, name: str, yes: bool) -> None:
    """Permanently delete a study and all its trials.

    \b
    Example:
      bostruct delete runs.db --name "branin auto seed=0"
    """
    with plain_errors():
        place = open_place(file)
        if not yes:
            count = pluralize(len(place.read(name).trials), "trial")
            click.confirm(f"Permanently delete study {name!r} with {count} from {place.label}?", abort=True)
        place.delete(name)
        click.echo(f"study {name!r} is deleted from {place.label}")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("new")
@click.option("--name", help="Name of the study; required if the file contains several.")
def rename(file: str, new: str, name: str | None) -> None:
    """Rename a study in a file or a database to NEW.

    \b
    Example:
      bostruct rename runs.db "branin, first try" --name "branin auto seed=0"
    """
    with plain_errors():
        from bostruct.storage.protocol import find_study
        from bostruct.study.study import Study

        place = open_place(file)
        name = find_study(place.studies(), name, place.label).name
        Study.rename(place, name, new)
        click.echo(f"study {name!r} in {place.label} is renamed to {new!r}")


def copy_studies(source: str, target: str) -> None:
    """Copy all studies of a storage one by one to a new file, or to a database without studies of the same names.

    Raises StorageError; a file is then removed, and a database keeps the studies that were copied before.
    """
    from bostruct.study.saving import new_file
    from bostruct.study.study import Study

    place = open_place(source)
    names = [row.name for row in place.studies()]
    check_not_empty(place, names)
    if is_database := "://" in target:
        _check_free(target, names)
    with nullcontext() if is_database else new_file(target):
        for name in names:
            Study.load(source, name, read_only=True).save(target)


def _check_free(target: str, names: list[str]) -> None:
    """Raise StorageError if a database contains a study of one of these names, or a name is too long for it."""
    from bostruct.storage.protocol import StorageError, check_new_name

    place = open_place(target)
    if taken := {row.name for row in place.studies()}.intersection(names):
        raise StorageError(f"{place.label}: already contains a study {min(taken)!r}; nothing was copied")
    for name in names:
        check_new_name(name, f"{place.label}: nothing was copied; ")


@click.command(name="import")
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--objective", required=True, metavar="COLUMN", help="The column of the value; a unit may be omitted.")
@click.option("--maximize", is_flag=True, help="Larger values are better; by default, smaller values are better.")
@click.option("--storage", type=click.Path(dir_okay=False), help="A file or postgresql://...; by default not stored.")
@click.option("--name", help="Name of the study in the file of --storage; by default the name of the CSV file.")
@click.option(
    "--space",
    metavar="SPACE",
    help="module:name or file.py:name of the corrected space, or of a dict of variables, with the names of columns; by "
    "default it is guessed and printed.",
)
@click.option("--ignore", multiple=True, metavar="COLUMN", help="A column that is not a variable; may be repeated.")
@click.option("--decimal", type=click.Choice([",", "."]), help="The decimal sign; by default it is detected.")
@click.option("--failed", metavar="COLUMN", help="A column that marks failed rows.")
@click.option("--queue", is_flag=True, help="Evaluate the rows without a value first; by default they are left out.")
@click.option("--method", default="auto", show_default=True, help="As in `bostruct run`.")
@click.option("--seed", type=IntegerRange(0), default=0, show_default=True)
def import_csv(
    *,
    file: str,
    objective: str,
    maximize: bool,
    storage: str | None,
    name: str | None,
    space: str | None,
    ignore: tuple[str, ...],
    decimal: str | None,
    failed: str | None,
    queue: bool,
    method: str,
    seed: int,
) -> None:
    """Create a study from the experiments in a CSV file, one per row.

    The space is guessed from the columns, and printed as Python. Without --storage, nothing else is done, so that the
    space can be corrected first.

    \b
    Examples:
      bostruct import results.csv --objective yield --maximize > space.py
      bostruct import results.csv --objective yield --maximize --space space.py:space --storage runs.db
    """
    from bostruct.study.experiments import SpaceGuessed
    from bostruct.study.study import Study

    with plain_errors(), warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        try:
            how = {"space": load_space(space), "ignore": ignore, "failed": failed, "method": method, "seed": seed}
            study = Study.from_csv(
                file,
                objective,
                direction="maximize" if maximize else "minimize",
                decimal=decimal,  # type: ignore[arg-type]
                unmeasured="queue" if queue else "skip",
                storage=None if storage is None else open_place(storage),
                name=name or Path(file).stem,
                **how,  # type: ignore[arg-type]
            )
        except (TypeError, ValueError) as error:
            raise click.UsageError(str(error)) from error
        for note in notes:
            if note.category is SpaceGuessed:
                click.echo(str(note.message))
                continue
            text = str(note.message).replace("unmeasured='queue' has", "--queue has").replace("failed=", "--failed")
            click.echo(f"Note: {printable_lines(text.replace('row ', 'line ').removeprefix('frame: '))}", err=True)
        with study:
            if storage is None and space is None:
                return
            best = study.result.best_value if study.result.has_feasible else None
            counts = Counter("waiting" if one.status == "running" else one.status for one in study.trials)
            rows = [
                ("study", f"{study.name!r}, {study.goals}"),
                ("trials", f"{len(study.trials)}: {', '.join(f'{n} {word}' for word, n in counts.items())}"),
                ("best value", f"{best}"),
                ("stored", study.where or "nothing; --storage FILE keeps the study"),
            ]
            click.echo("\n".join(f"# {line}" for line in format_pairs(rows).splitlines()))


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--name", help="Name of the study; without it the page shows all studies of the file.")
@click.option(
    "--out",
    type=file_to_write,
    callback=check_page,
    help="The page to write; by default FILE with the ending .html. Required for a database.",
)
@overwrite_option
@space_option
@json_option
def report(
    *, file: str, name: str | None, out: str | None, overwrite: bool, problem: str | None, as_json: bool
) -> None:
    """Write an HTML page about studies: text, plots, tables.

    The page needs no network. FILE may also be a database (postgresql://...). It is only read, even while a study
    in it runs.

    \b
    Examples:
      bostruct report runs.db
      bostruct report runs.db --name "branin auto seed=0" --out branin.html
      bostruct report runs.db --problem mine.py:problem
      bostruct report postgresql://ann@db.lab/runs --out runs.html
    """
    with plain_errors():
        from bostruct.display import printable

        place = open_place(file)
        if out is None and "://" in place.label:
            raise click.UsageError("--out: expected the page to write, because a database has no folder for it")
        space = load_space(problem)
        text, names = render_file(file, name, space)  # first, so that an invalid file is rejected as such
        check_not_empty(place, names)
        page = Path(place.label).with_suffix(".html") if out is None else Path(out)
        _write_page(page, text, is_chosen=out is not None, overwrite=overwrite)
    if as_json:
        echo_json({"file": place.label, "page": str(page), "studies": names})
    else:
        click.echo(f"{printable(str(page))} shows {', '.join(map(repr, names))}")


def _write_page(page: Path, text: str, *, is_chosen: bool, overwrite: bool) -> None:
    """Write a page; raise OSError, with a hint if the user did not choose the path."""
    from bostruct.output_files import OutputRefused, write_output

    try:
        check_outputs({str(page): "page"}, overwrite=overwrite)
        write_output(page, text, "page", overwrite=overwrite)
    except OutputRefused:
        raise
    except OSError as error:
        hint = "" if is_chosen else "; give another page with --out"
        raise OSError(error.errno, f"{error.strerror}{hint}", str(page)) from error


def render_file(file: str, name: str | None, space: Domain | None = None) -> tuple[str, list[str]]:
    """Return the page about the studies of a file or a database, and their names.

    name: name of one study; None for all studies.

    Raises StorageError, UsageError.
    """
    from bostruct.analysis.report.facts import read_run
    from bostruct.analysis.report.page import render_page

    with open_studies(file, name, space) as studies:
        runs = [read_run(study) for study in studies]
    del studies  # a page needs only their results
    return render_page(runs, short_name(open_place(file)) if len(runs) != 1 else ""), [run.name for run in runs]


@contextmanager
def open_studies(file: str, name: str | None, space: Domain | None = None) -> Iterator[list[Study]]:
    """Open studies for reading only.

    name: name of one study; None for all studies.
    space: space of a single study, if the file does not contain it; None for the stored space.

    Raises StorageError, also if no trial of the study is valid in the given space; UsageError if a space is given for
    several studies.
    """
    place = open_place(file)
    names = [row.name for row in place.studies()] if name is None else [name]
    if space is not None and len(names) > 1:
        known = ", ".join(map(repr, names))
        raise click.UsageError(f"--problem: is of one study, but the file has several; pass --name, one of {known}")
    with ExitStack() as stack:
        yield [stack.enter_context(load_to_read(place, one, space)) for one in names]
