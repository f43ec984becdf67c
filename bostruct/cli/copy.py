"""`bostruct copy`: a backup of a file of studies, also while a study runs."""

from __future__ import annotations

import click

from bostruct.cli.options import check_folder, json_option, plain_errors
from bostruct.cli.text import echo_json


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.argument("copy", type=click.Path(dir_okay=False), callback=check_folder)
@json_option
def copy(file: str, copy: str, as_json: bool) -> None:
    """Copy a file of studies to a new file, also while a study in it runs.

    A copy by `cp` is refused when it is opened where `cp` met a step that was being written.

    \b
    Examples:
      bostruct copy runs.db backup.db
      bostruct copy runs.db "backup-$(date +%F).db" --json
    """
    with plain_errors():
        from bostruct.display import printable
        from bostruct.storage.backends import open_storage
        from bostruct.study.saving import copy_file

        copy_file(file, copy)
        names = [row.name for row in open_storage(copy).studies()]
    if as_json:
        echo_json({"file": file, "copy": copy, "studies": names})
    else:
        click.echo(f"{printable(file)} is copied to {printable(copy)}, which holds {', '.join(map(repr, names))}")
