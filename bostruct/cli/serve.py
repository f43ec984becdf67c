"""`bostruct serve` and `bostruct watch`: studies served to other programs, and shown live in a browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

import click
from click.core import ParameterSource

from bostruct.cli.options import (
    IntegerRange,
    StorageRefused,
    check_folder,
    error_text,
    file_to_write,
    has_none_readable,
    json_option,
    load_problem,
    load_space,
    name_on_record,
    open_place,
    plain_errors,
    space_option,
    warn_if_exposed,
)
from bostruct.cli.text import echo_json

if TYPE_CHECKING:
    from bostruct.contracts import Domain
    from bostruct.serving.service import Service
    from bostruct.serving.transports import StudyServer
    from bostruct.study.study import Study

OF_HTTP = {"path": "--socket", "host": "--host", "port": "--port", "token_file": "--token-file"}
OF_ADDRESS = {"host": "--host", "port": "--port"}
OF_PROBLEM = {"method": "--method", "seed": "--seed", "name": "--name"}
ANSWER_SECONDS = 1.0  # for the last responses to be sent


@click.command()
@click.argument("file", type=click.Path(dir_okay=False), required=False)
@click.option("--problem", metavar="PROBLEM", help="Serve a study of this problem, as in `bostruct run`.")
@click.option("--method", default="auto", show_default=True, help="Method for --problem.")
@click.option("--seed", type=IntegerRange(0), default=0, show_default=True, help="Seed for --problem.")
@click.option("--name", help="Name of the study of --problem; by default as in `bostruct run`.")
@click.option(
    "--study",
    "description",
    type=click.Path(exists=True, dir_okay=False),
    help="Serve the study described by this JSON file.",
)
@click.option("--create", is_flag=True, help="Let clients create studies from descriptions in JSON.")
@click.option("--stdio", is_flag=True, help="Use standard input and output, and end with the input.")
@click.option("--socket", "path", type=file_to_write, callback=check_folder, help="Listen at this Unix socket.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=IntegerRange(0, 65535), default=0, help="The port; by default any free port.")
@click.option(
    "--token-file",
    type=file_to_write,
    callback=check_folder,
    help="Write the token into this file, which only you can read, instead of printing it.",
)
@json_option
def serve(
    *,
    file: str | None,
    problem: str | None,
    method: str,
    seed: int,
    name: str | None,
    description: str | None,
    create: bool,
    stdio: bool,
    path: str | None,
    host: str,
    port: int,
    token_file: str | None,
    as_json: bool,
) -> None:
    """Serve studies to other programs as JSON.

    Programs ask for points and report values. All studies in FILE are served, and the studies of --problem and
    --study, which are stored in FILE or, without FILE, in memory. Over HTTP, each request needs the random token
    that is printed. docs/serve.md describes the requests. Ctrl-C ends the server; running trials are queued again
    for the next process that opens the study.

    \b
    Examples:
      bostruct serve runs.db
      bostruct serve runs.db --problem mine.py:problem --port 8765 --token-file token
      bostruct serve runs.db --study study.json --socket bostruct.sock
      bostruct serve --create --stdio
    """
    _check_options(stdio, path, problem)
    with ExitStack() as stack:
        answers = stack.enter_context(_reserve_stdout()) if stdio else None
        with plain_errors():
            label = None if file is None else open_place(file).label
            if not (problem or description or create) and label is not None and not _is_there(file):
                raise StorageRefused(f"{label}: no such file; create it with --study, --problem or --create")
        stack.enter_context(plain_errors("" if label is None else f"The studies are in {label}."))
        studies = [] if problem is None else [_open_problem(problem, method, seed, name, file)]
        studies += [] if description is None else [_open_described(description, file)]
        service = _start(studies, file, create)
        stack.callback(service.close)
        if answers is not None:
            _serve_stdio(service, answers)
        else:
            _listen(service, host, port, path, token_file, as_json)


def _check_options(stdio: bool, path: str | None, problem: str | None) -> None:
    """Raise UsageError for an option that has no effect because of another option."""
    from bostruct.checks import has_posix

    if stdio:
        _refuse_options(OF_HTTP, "not allowed with --stdio, which does not use HTTP")
    if path is not None:
        _refuse_options(OF_ADDRESS, "not allowed with --socket, which is the address")
    if problem is None:
        _refuse_options(OF_PROBLEM, "only allowed with --problem")
    if path is not None and not has_posix():
        raise click.UsageError("--socket: this system has no Unix sockets")


def _refuse_options(options: dict[str, str], why: str) -> None:
    """Raise UsageError for the first of these options that was given."""
    context = click.get_current_context()
    for parameter, option in options.items():
        if context.get_parameter_source(parameter) is not ParameterSource.DEFAULT:
            raise click.UsageError(f"{option}: {why}")


def _is_there(file: str | None) -> bool:
    """Return whether a file exists; always True for a database, which the server checks."""
    return file is not None and ("://" in file or os.path.exists(os.path.expanduser(file)))


def _start(studies: list[Study], file: str | None, create: bool) -> Service:
    """Serve these studies, and the others in a file; raise UsageError if there is nothing to serve."""
    from bostruct.serving.service import Service

    if file is not None and _is_there(file):
        studies = studies + _open_file(file, {study.name for study in studies})
        if not studies and not create and open_place(file).studies():
            raise StorageRefused("no study is served, for the reasons above")
    if not studies and not create:
        raise click.UsageError("no study to serve: give a FILE with studies, --problem, --study or --create")
    return Service(studies, (lambda description: description.make(file)) if create else None)


def _open_problem(spec: str, method: str, seed: int, name: str | None, file: str | None) -> Study:
    """Open the study of a problem, by default with the name that `bostruct run` uses."""
    from bostruct.comparison.runs import name_in_file
    from bostruct.study.study import Study

    problem = load_problem(spec)
    name = name or name_in_file(file, f"{problem.name} {method} seed={seed}")
    _check_readable(file, name, problem.space, f"--problem {spec}", "--name")
    known_as = name_on_record(problem)
    return Study.for_problem(known_as, problem.space, problem.goals, method=method, seed=seed, storage=file, name=name)


def _open_described(path: str, file: str | None) -> Study:
    """Open the study that a JSON file describes; raise UsageError for an invalid description."""
    from bostruct.serving.messages import Refusal, read_request
    from bostruct.serving.service import CREATED, read_description, read_text

    try:
        with open(path, "rb") as text:
            given = read_request(text.read())
        if unknown := given.keys() - {*CREATED, "study"}:
            raise ValueError(f"expected the fields study, {', '.join(CREATED)}; got {min(unknown)!r}")
        described = read_description(read_text("study", given.get("study", "study")), given)
        _check_readable(file, described.name, described.space, path, '"study"')
        return described.make(file)
    except (Refusal, TypeError, ValueError) as error:
        raise click.UsageError(f"--study: {path}: {error_text(error)}") from error


def _check_readable(file: str | None, name: str, space: Domain, given: str, named_by: str) -> None:
    """Raise StorageError if a stored study has trials, but none of them is valid in a space; it is not changed.

    file: file of studies; None for memory.
    """
    from bostruct.storage.protocol import StorageError
    from bostruct.study.history import Trial
    from bostruct.study.study import Study

    if file is None or not _is_there(file):
        return
    place, trials = open_place(file), tuple[Trial, ...]()
    with suppress(StorageError):  # it does not exist yet; other errors occur when it is opened for writing
        trials = Study.load(place, name, space=space, read_only=True).trials
    if has_none_readable(trials):
        raise StorageError(
            f"{place.label}: none of the {len(trials)} trials of study {name!r} can be read in the space of {given}: "
            f"{trials[0].unread}. Give the current space of the study, or another name by {named_by}; the study is not "
            "changed"
        )


def _open_file(file: str, others: set[str]) -> list[Study]:
    """Open the studies in a file, except for studies that cannot be rebuilt, or that another process writes."""
    from bostruct.contracts import BostructError
    from bostruct.storage.backends import open_storage
    from bostruct.study.study import Study

    studies = []
    for row in open_storage(file).studies():
        if row.name not in others:
            try:
                studies.append(Study.load(file, row.name))
            except BostructError as error:
                click.echo(f"Note: study {row.name!r} is not served: {error_text(error)}", err=True)
    return studies


@contextmanager
def _reserve_stdout() -> Iterator[BinaryIO]:
    """Reserve standard output for responses: output of imported modules is redirected to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        yield answers


def _listen(service: Service, host: str, port: int, path: str | None, token_file: str | None, as_json: bool) -> None:
    from bostruct.execution.interrupts import exit_on_sigterm
    from bostruct.serving.guarded_http import keep_token
    from bostruct.serving.transports import StudyServer

    with ExitStack() as stack:
        server = stack.enter_context(StudyServer(service, host, port, path))
        warn_if_exposed(server, host, "uses")
        if token_file is not None:
            stack.enter_context(keep_token(token_file, server.token))
        _announce(server, path, token_file, as_json)
        stack.enter_context(exit_on_sigterm())
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            click.echo("Stopped.", err=as_json)
        finally:
            service.close()
            server.wait_for_answers(ANSWER_SECONDS)


def _announce(server: StudyServer, path: str | None, token_file: str | None, as_json: bool) -> None:
    from bostruct.display import printable
    from bostruct.serving.transports import PATH

    names, url = server.service.list_studies(), server.url + PATH
    if as_json:
        token = {"token": server.token} if token_file is None else {"token_file": token_file}
        echo_json({"url": url, "socket": path, "studies": names} | token)
        return
    address = url if path is None else f"the Unix socket {printable(path)}, as {url}"
    click.echo(f"Studies: {', '.join(map(repr, names)) or 'none yet'}\nListening at {address}")
    click.echo(f"Token: {server.token}" if token_file is None else f"Token: in {printable(token_file)}")
    click.echo("Ctrl-C ends.")


def _serve_stdio(service: Service, answers: BinaryIO) -> None:
    from bostruct.execution.interrupts import exit_on_sigterm
    from bostruct.serving.transports import serve_lines

    with exit_on_sigterm():
        try:
            serve_lines(service, sys.stdin.buffer, answers)
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--name", help="Name of the study; without it the page shows all studies of the file.")
@click.option("--port", type=IntegerRange(0, 65535), default=0, help="The port; by default any free port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@space_option
def watch(file: str, name: str | None, port: int, host: str, problem: str | None) -> None:
    """Show studies in the browser, updated as values arrive.

    FILE may also be a database (postgresql://...). It is only read; other processes may write it. The printed
    address contains a random token, which is required to open the page. Ctrl-C ends the server.

    \b
    Examples:
      bostruct watch runs.db
      bostruct watch runs.db --port 8765
    """
    with plain_errors():
        from bostruct.cli.live_page import LivePage, WatchServer
        from bostruct.display import printable

        page = LivePage(file, name, load_space(problem))
        with WatchServer(host, port, page.read) as server:
            warn_if_exposed(server, host, "sees")
            click.echo(f"{printable(open_place(file).label)} is shown at {server.page_url}\nCtrl-C ends.")
            try:
                server.serve_forever(poll_interval=0.2)
            except KeyboardInterrupt:
                click.echo("Stopped.")
