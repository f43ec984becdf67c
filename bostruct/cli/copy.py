"""`bostruct copy`: a backup of studies, between files and databases, also while a study runs."""

from __future__ import annotations

from contextlib import nullcontext

import click

from bostruct.cli.options import check_folder, check_names, json_option, open_place, plain_errors
from bostruct.cli.text import echo_json


def check_target(context: click.Context, option: click.Parameter, target: str) -> str:
    """Return where a copy goes, and refuse a file whose folder is not there; raises BadParameter.

    context: of the command.
    option: that was given, for the message.
    target: the path of a file, or the URL of a database.
    """
    return target if "://" in target else str(check_folder(context, option, target))


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("copy", type=click.Path(dir_okay=False), callback=check_target)
@json_option
def copy(file: str, copy: str, as_json: bool) -> None:
    """Copy a file of studies to a new file, also while a study in it runs.

    FILE and COPY may be databases (postgresql://...), too. All studies are copied then, each as it is at one moment. A
    copy by `cp` is refused when it is opened where `cp` met a step that was being written.

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
        held = ", ".join(map(repr, names))
        click.echo(f"{printable(source.label)} is copied to {printable(target.label)}, which holds {held}")


def copy_studies(source: str, target: str) -> None:
    """Copy all studies of a place, one after the other, to a new file or to a database that has none of their names.

    source, target: the path of a file, or the URL of a database.

    Raises StorageError; a file is removed then, and a database keeps the studies that were copied before.
    """
    from bostruct.study.saving import new_file
    from bostruct.study.study import Study

    place = open_place(source)
    names = [row.name for row in place.studies()]
    check_names(place, names)
    if is_database := "://" in target:
        _check_free(target, names)
    with nullcontext() if is_database else new_file(target):
        for name in names:
            Study.load(source, name, read_only=True).save(target)


def _check_free(target: str, names: list[str]) -> None:
    """Raise StorageError where a database holds a study of one of these names, or one is too long for it."""
    from bostruct.storage.protocol import StorageError, check_new_name

    place = open_place(target)
    if taken := {row.name for row in place.studies()}.intersection(names):
        raise StorageError(f"{place.label}: holds a study {min(taken)!r} already; nothing was copied")
    for name in names:
        check_new_name(name, f"{place.label}: nothing was copied; ")
