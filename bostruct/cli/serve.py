"""`bostruct serve`: studies for other programs, over HTTP or over standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

import click

from bostruct.cli.options import (
    check_folder,
    error_text,
    file_to_write,
    json_option,
    load_problem,
    open_place,
    plain_errors,
)
from bostruct.cli.text import echo_json

if TYPE_CHECKING:
    from bostruct.serving.http_server import StudyServer
    from bostruct.serving.service import Service
    from bostruct.study.study import Study

EXPOSED = (
    "Warning: {host} is not a loopback address. Whoever reaches it and knows the token uses the studies, and the "
    "connection is not encrypted. A tunnel is safer: ssh -L {port}:127.0.0.1:{port} THIS_MACHINE"
)
ANSWER_SECONDS = 1.0  # for the last answers to go out


@click.command()
@click.argument("file", type=file_to_write, required=False)
@click.option("--problem", metavar="PROBLEM", help="Serve a study of this problem, as of `bostruct run`.")
@click.option("--method", default="auto", show_default=True, help="Of the study of --problem.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the study of --problem.")
@click.option("--name", help="Of the study of --problem; by default as of `bostruct run`.")
@click.option(
    "--study",
    "description",
    type=click.Path(exists=True, dir_okay=False),
    help="Serve the study that this JSON describes.",
)
@click.option("--create", is_flag=True, help="Let clients make studies from descriptions in JSON.")
@click.option("--stdio", is_flag=True, help="Speak on standard input and output, and end with the input.")
@click.option("--socket", "path", type=file_to_write, callback=check_folder, help="Listen at this Unix socket.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0, the default, takes a free one.")
@click.option(
    "--token-file",
    type=file_to_write,
    callback=check_folder,
    help="Write the token into this file, which only you can read, and do not print it.",
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
    """Serve studies to other programs: they ask for points and tell values, as JSON.

    All studies in FILE are served, and those of --problem and --study, which are kept in FILE; without FILE in memory.
    Over HTTP each request needs the random token that is printed. docs/serve.md has the requests. Ctrl-C ends; trials
    that are out are handed out again by who opens the study next.

    \b
    Examples:
      bostruct serve runs.db
      bostruct serve runs.db --problem mine.py:problem --port 8765 --token-file token
      bostruct serve runs.db --study study.json --socket bostruct.sock
      bostruct serve --create --stdio
    """
    _check_doors(stdio, path, token_file)
    with ExitStack() as stack:
        answers = stack.enter_context(_reserve_stdout()) if stdio else None
        with plain_errors():
            label = None if file is None else open_place(file).label
        stack.enter_context(plain_errors("" if label is None else f"The studies are in {label}."))
        studies = [] if problem is None else [_open_problem(problem, method, seed, name, file)]
        studies += [] if description is None else [_open_described(description, file)]
        service = _start(studies, file, create)
        stack.callback(service.close)
        if answers is not None:
            _serve_stdio(service, answers)
        else:
            _listen(service, host, port, path, token_file, as_json)


def _check_doors(stdio: bool, path: str | None, token_file: str | None) -> None:
    import socket

    if stdio and (path is not None or token_file is not None):
        raise click.UsageError("--stdio: expected neither --socket nor --token-file, which are for HTTP")
    if path is not None and not hasattr(socket, "AF_UNIX"):
        raise click.UsageError("--socket: this system has no Unix sockets")


def _start(studies: list[Study], file: str | None, create: bool) -> Service:
    """Serve these studies, and the others in a file; raise UsageError where there is nothing to serve."""
    from bostruct.serving.service import Service

    if file is not None and ("://" in file or os.path.exists(file)):
        studies = studies + _open_file(file, {study.name for study in studies})
    if not studies and not create:
        raise click.UsageError("no study to serve: give a FILE with studies, --problem, --study or --create")
    return Service(studies, (lambda description: description.make(file)) if create else None)


def _open_problem(spec: str, method: str, seed: int, name: str | None, file: str | None) -> Study:
    """Open the study of a problem, by the name that `bostruct run` gives it unless there is another."""
    from bostruct.comparison.runs import name_in_file, study_goals
    from bostruct.study.study import Study

    problem = load_problem(spec)
    default = name_in_file(file, f"{problem.name} {method} seed={seed}")
    goals = study_goals(problem.goals)
    return Study(problem.space, method=method, seed=seed, storage=file, name=name or default, **goals)


def _open_described(path: str, file: str | None) -> Study:
    """Open the study that a file of JSON describes; raise UsageError where it describes none."""
    from bostruct.serving.descriptions import read_description
    from bostruct.serving.json_lines import read_request
    from bostruct.serving.operations import CREATED, read_text
    from bostruct.serving.refusals import Refusal

    try:
        with open(path, "rb") as described:
            given = read_request(described.read())
        if unknown := given.keys() - {*CREATED, "study"}:
            raise ValueError(f"expected the fields study, {', '.join(CREATED)}; got {min(unknown)!r}")
        return read_description(read_text("study", given.get("study", "study")), given).make(file)
    except (Refusal, TypeError, ValueError) as error:
        raise click.UsageError(f"--study: {path}: {error_text(error)}") from error


def _open_file(file: str, others: set[str]) -> list[Study]:
    """Open the studies in a file; those that it cannot hold alone, or that somebody else writes, are left out.

    file: its path.
    others: names of studies in it that are open already.
    """
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
    """Keep standard output for answers: what an imported module prints goes to standard error."""
    sys.stdout.flush()
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        yield answers


@contextmanager
def _keep_token(path: str, token: str) -> Iterator[None]:
    """Keep a token in a new file that only the user of this process can read, until the server ends."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(token + "\n")
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(path)


def _listen(service: Service, host: str, port: int, path: str | None, token_file: str | None, as_json: bool) -> None:
    from bostruct.execution.interrupts import exit_on_sigterm
    from bostruct.serving.http_server import StudyServer

    with ExitStack() as stack:
        server = stack.enter_context(StudyServer(service, host, port, path))
        if not server.is_loopback:
            click.echo(EXPOSED.format(host=ascii(host)[1:-1], port=server.server_port), err=True)
        if token_file is not None:
            stack.enter_context(_keep_token(token_file, server.token))
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
    from bostruct.serving.http_server import PATH

    names, url = server.service.list_studies(), server.url + PATH
    if as_json:
        token = {"token": server.token} if token_file is None else {"token_file": token_file}
        echo_json({"url": url, "socket": path, "studies": names} | token)
        return
    where = url if path is None else f"the Unix socket {printable(path)}, as {url}"
    click.echo(f"Studies: {', '.join(map(repr, names)) or 'none yet'}\nListening at {where}")
    click.echo(f"Token: {server.token}" if token_file is None else f"Token: in {printable(token_file)}")
    click.echo("Ctrl-C ends.")


def _serve_stdio(service: Service, answers: BinaryIO) -> None:
    from bostruct.execution.interrupts import exit_on_sigterm
    from bostruct.serving.stdio import serve_lines

    with exit_on_sigterm():
        try:
            serve_lines(service, sys.stdin.buffer, answers)
        except KeyboardInterrupt:
            click.echo("Stopped.", err=True)
