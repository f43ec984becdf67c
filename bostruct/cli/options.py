"""Shared options of the commands: parsing of problems and methods, and error handling."""

from __future__ import annotations

import logging
import math
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import click

from bostruct.output_files import check_page_ending

if TYPE_CHECKING:
    from bostruct.contracts import Domain
    from bostruct.problems.own import AnyProblem
    from bostruct.serving.guarded_http import GuardedServer
    from bostruct.storage.protocol import Storage
    from bostruct.study.history import Trial
    from bostruct.study.run_settings import FailureLimit
    from bostruct.study.study import Study

FAILED = 1
STORAGE_REFUSED = 3
INTERRUPTED = 130  # the convention of shells for SIGINT
STORAGE_LOG = "bostruct.storage"  # its warnings explain why a command waits

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


class IntegerRange(click.IntRange):
    """A range of integers, which errors call so."""

    name = "integer"


relabel_option = click.option(
    "--relabel", type=IntegerRange(0), metavar="SEED", help="Permute every variable's choices at random."
)
progress_option = click.option(
    "--progress/--no-progress", default=None, help="Show a progress bar on stderr; by default if that is a terminal."
)


def read_max_initial_failures(context: click.Context, option: click.Parameter, given: str) -> FailureLimit:
    """Return the number of an option, ``auto``, or None for ``none``; raise BadParameter."""
    if given == "auto":
        return "auto"
    if given == "none":
        return None
    if not given.isdecimal() or int(given) < 1:
        raise click.BadParameter(f"expected a number from 1, auto or none; got {given}", context, option)
    return int(given)


class FiniteRange(click.FloatRange):
    """A numeric range that excludes NaN, which click's ranges include, and infinity."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        return number if math.isfinite(number) else self.fail(f"expected a finite number, got {value}", param, ctx)


failures_option = click.option(
    "--max-initial-failures",
    metavar="N",
    default="auto",
    show_default=True,
    callback=read_max_initial_failures,
    help="End a run after N failed trials without a completed one: auto is at least 10, none continues.",
)
timeout_option = click.option(
    "--timeout",
    type=FiniteRange(0.0),
    metavar="SECONDS",
    help="Start no trial after so many seconds of a run; running trials finish. A resumed run has the full time again.",
)
patience_option = click.option(
    "--patience",
    type=IntegerRange(1),
    metavar="N",
    help="End a run after N completed trials in a row without a better one.",
)
space_option = click.option(
    "--problem",
    metavar="PROBLEM",
    help="The space of the study, if the file does not contain all of it (functions, Python objects): a problem as for "
    "`run`, or module:name or file.py:name of the space itself.",
)
file_to_write = click.Path(dir_okay=False, writable=True)
FOLDERS = re.compile(r".*[/\\]")  # the folders of a path, which differ between machines
PICTURES = (".png", ".pdf", ".svg")
NEVER_READ = frozenset({"csv", "plot", "out", "name"})  # parameters that are not inputs


def check_folder(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Return a path after checking that its folder exists; raises BadParameter.

    path: path of a file to write; None if the option was not given. A leading `~` is the home directory.
    """
    del context
    if path is None:
        return None
    path = os.path.expanduser(path)
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        raise click.BadParameter(f"the directory of {path} does not exist", param=option)
    return path


def check_picture(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Return a path after checking its folder and its file type; raises BadParameter.

    path: path of a plot to write; None if the option was not given.
    """
    if path is not None and not path.endswith(PICTURES):
        raise click.BadParameter(f"expected a file that ends in {', '.join(PICTURES)}; got {path}", param=option)
    return check_folder(context, option, path)


def check_page(context: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Return the path of a page to write after checking its folder and its ending; raises BadParameter."""
    try:
        check_page_ending(path or "")
    except ValueError as error:
        raise click.BadParameter(str(error), param=option) from error
    return check_folder(context, option, path)


overwrite_option = click.option(
    "--overwrite", is_flag=True, help="Also replace files that bostruct did not write; never a database or an input."
)
plot_option = click.option(
    "--plot", type=file_to_write, callback=check_picture, help=f"Draw into this file ({', '.join(PICTURES)})."
)


def check_outputs(outputs: Mapping[str | None, str], *, overwrite: bool) -> None:
    """Check that outputs may be written before any work; raises the errors of `check_output`.

    outputs: the type of each file by its path, which is None if its option was not given.
    """
    from bostruct.output_files import check_output

    given = click.get_current_context().params
    texts = [one for name, one in given.items() if isinstance(one, str) and name not in NEVER_READ]
    pieces = [piece for text in texts for piece in (text, *re.split("[:,=]", text))]
    modules = [getattr(sys.modules.get(piece), "__file__", None) or "" for piece in pieces]
    for path, kind in outputs.items():
        if path is not None:
            check_output(path, kind, overwrite=overwrite, inputs=[*pieces, *modules])


class StorageRefused(click.ClickException):
    """Storage that is locked, foreign, damaged, or contains something else."""

    exit_code = STORAGE_REFUSED


@contextmanager
def plain_errors(when_interrupted: str = "") -> Iterator[None]:
    """Print errors of the package as a line on stderr with an exit code, and its warnings as notes.

    Log messages of the storage, such as that a database is not available, are also notes.
    """
    from bostruct.contracts import BostructError
    from bostruct.execution.interrupts import TERMINATED
    from bostruct.output_files import OutputRefused
    from bostruct.storage.protocol import StorageError, StudyMismatch
    from bostruct.study.records import OtherVersion
    from bostruct.study.space_changes import SpaceChanged

    try:
        with warnings.catch_warnings(), _show_log():
            for category in (OtherVersion, SpaceChanged):
                warnings.simplefilter("always", category)
            warnings.showwarning = _notes(warnings.showwarning, (OtherVersion, SpaceChanged))
            yield
    except (StorageError, StudyMismatch) as error:
        hint = "; `bostruct import` reads tables" if ".csv: is not a SQLite database" in str(error) else ""
        raise StorageRefused(error_text(error) + hint) from error
    except OutputRefused as error:
        raise click.UsageError(error_text(error).replace("overwrite=True", "--overwrite")) from error
    except BrokenPipeError:
        raise  # stdout was closed, which click handles
    except (BostructError, OSError) as error:
        raise click.ClickException(error_text(error)) from error
    except KeyboardInterrupt:
        click.echo(f"Interrupted. {when_interrupted}".rstrip(), err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    except SystemExit as error:
        if error.code == TERMINATED:
            click.echo(f"Terminated. {when_interrupted}".rstrip(), err=True)
        raise


class _NoteHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        from bostruct.display import printable_lines

        try:
            click.echo(f"Note: {printable_lines(record.getMessage())}", err=True)
        except Exception:  # stderr is closed, and logging must not fail
            self.handleError(record)


@contextmanager
def _show_log() -> Iterator[None]:
    log, handler = logging.getLogger(STORAGE_LOG), _NoteHandler(logging.WARNING)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _notes(show: Callable[..., None], categories: tuple[type[Warning], ...]) -> Callable[..., None]:
    """Return a `warnings.showwarning` that prints warnings of these types as notes, and passes others to `show`."""

    def show_note(message: Warning | str, kind: type[Warning], *location: Any) -> None:
        if issubclass(kind, categories):
            from bostruct.display import printable_lines

            click.echo(f"Note: {printable_lines(str(message))}", err=True)
        else:
            show(message, kind, *location)

    return show_note


def warn_if_exposed(server: GuardedServer, host: str, does: str) -> None:
    """Print a warning if other machines can reach a server.

    does: what clients do with the studies, such as ``uses``.
    """
    from bostruct.display import printable

    if not server.is_loopback:
        port = server.server_port
        click.echo(
            f"Warning: {printable(host)} is not a loopback address. Anyone who can reach it and knows the token {does} "
            f"the studies, and the connection is not encrypted. A tunnel is safer: ssh -L {port}:127.0.0.1:{port} "
            "THIS_MACHINE",
            err=True,
        )


def add_relabel(spec: str, relabel: int | None) -> str:
    """Return the specification with `relabel=SEED` added; raise UsageError if it already contains it.

    relabel: seed of the relabeling, from 0, if any.
    """
    if relabel is None:
        return spec
    if "relabel=" in spec:
        raise click.UsageError(f"--relabel: {spec} contains relabel= already")
    return f"{spec}{',' if ':' in spec else ':'}relabel={relabel}"


def open_place(storage: str) -> Storage:
    """Return the storage for an argument; messages show its label, which contains no password.

    Raises StorageError, MissingExtra.
    """
    from bostruct.storage.backends import open_storage

    return open_storage(storage)


def check_not_empty(place: Storage, names: Sequence[str]) -> None:
    """Raise StorageError if a storage contains no study, or does not exist."""
    from bostruct.storage.protocol import StorageError

    if not names:
        raise StorageError(f"{place.label}: contains no study")


def short_name(place: Storage) -> str:
    """Return the name of the file or database of a storage."""
    if "://" not in place.label:
        return Path(place.label).name
    return unquote(urlsplit(place.label).path.strip("/")) or "studies"


def load_problem(spec: str) -> AnyProblem:
    """Load a problem; raise UsageError if it does not exist, ClickException if it needs a missing package."""
    from bostruct.contracts import MissingExtra
    from bostruct.problems import registry

    try:
        return registry.load(spec)
    except MissingExtra as error:
        raise click.ClickException(str(error)) from error
    except (ValueError, OSError) as error:
        raise click.UsageError(error_text(error)) from error


def name_on_record(problem: AnyProblem) -> str:
    """Return the stored name of a problem, without the folders of files in it.

    problem: any problem; a custom one has its name on the command line, such as ``folder/mine.py:problem``.
    """
    from bostruct.outcome import storable
    from bostruct.problems.registry import ENTRIES, PARAMETER_STARTS

    entry, _, settings = problem.name.partition(":")
    if entry not in ENTRIES:
        return storable(FOLDERS.sub("", problem.name))
    parts = (one.partition("=") for one in PARAMETER_STARTS.split(settings))
    without_folders = ",".join(name + sign + FOLDERS.sub("", value) for name, sign, value in parts)
    return storable(f"{entry}:{without_folders}" if settings else entry)


def load_space(spec: str | None) -> Domain | None:
    """Return a space, or the space of a problem; None if none is given; raises the errors of `load_problem`.

    spec: a problem, as on the command line, or ``module:name`` of a space or of a dict of variables.
    """
    if spec is None:
        return None
    from bostruct import plugins
    from bostruct.problems.registry import is_own

    if is_own(spec):
        try:
            return _import_space(spec, plugins.import_reference("problem", spec))
        except (TypeError, ValueError, OSError) as error:
            raise click.UsageError(error_text(error)) from error
    return load_problem(spec).space


def _import_space(spec: str, given: object) -> Domain:
    """Return the space of a module, or of its problem; raise TypeError or ValueError."""
    from bostruct.contracts import Domain
    from bostruct.domains.registry import as_domain
    from bostruct.problems.own import as_problem

    if isinstance(given, Mapping | Domain):
        return as_domain(given)
    return as_problem(f"problem: {spec}", given, spec).space


def load_to_read(place: Storage, name: str | None, space: Domain | None = None) -> Study:
    """Open a study for reading only.

    name: name of the study; None for the only study in the storage.
    space: the space of --problem; None for the stored space.

    Raises StorageError, also if the study has trials but none of them is valid in the given space.
    """
    from bostruct.checks import short_repr
    from bostruct.display import pluralize
    from bostruct.storage.protocol import StorageError
    from bostruct.study.study import Study

    study = Study.load(place, name, space=space, read_only=True)
    if space is not None and has_none_readable(trials := study.trials):
        study.close()
        raise StorageError(
            f"{place.label}: --problem: of {pluralize(len(trials), 'trial')} of study {study.name!r} none can be read "
            f"in the space {short_repr(space, 200)}: {trials[0].unread}. Is it the right one?"
        )
    return study


def has_none_readable(trials: Sequence[Trial]) -> bool:
    """Return whether a study has trials, but none of them is valid in its space."""
    return bool(trials) and all(trial.unread is not None for trial in trials)


def error_text(error: Exception) -> str:
    """Return the message of an error; for a file, its path and the reason, without the system's error number."""
    from bostruct.display import printable_lines

    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return printable_lines(f"{error.filename}: {error.strerror}")
    return printable_lines(str(error))


def check_method(name: str, problem: AnyProblem) -> str:
    """Return a method's name; raise UsageError, with the names or the reason why it does not support the problem."""
    from bostruct.contracts import DomainError
    from bostruct.study.stored_searcher import build_searcher

    try:
        build_searcher(name, problem.space, problem.goals)
    except DomainError as error:
        raise click.UsageError(f"{problem.name} cannot be searched by {name}: {error_text(error)}") from error
    except (TypeError, ValueError) as error:
        raise click.UsageError(error_text(error)) from error
    return name


def check_config(problem: AnyProblem, config: int) -> int:
    """Return the number of a set of initial points; raise UsageError if the problem lacks it.

    config: number of the set; for a custom problem, any seed.
    """
    if problem.configs and config not in problem.configs:
        known = ", ".join(map(str, problem.configs))
        raise click.UsageError(f"--config: expected one of {known} for {problem.name}; got {config}")
    return config
