"""The command group; each command imports its dependencies when it runs, so that `bostruct --help` is fast."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from bostruct import __version__
from bostruct.cli.catalog import methods, problems
from bostruct.cli.doctor import doctor
from bostruct.cli.nas import nas
from bostruct.cli.run import compare, run
from bostruct.cli.serve import serve, watch
from bostruct.cli.studies import copy, delete, import_csv, rename, report, show


class DiscreetGroup(click.Group):
    """A command group that hides passwords in error messages, because logs of jobs may be public."""

    def make_context(self, *args: Any, **settings: Any) -> click.Context:
        with _hide_passwords_in_errors():
            return super().make_context(*args, **settings)

    def invoke(self, ctx: click.Context) -> Any:
        with _hide_passwords_in_errors():
            return super().invoke(ctx)


@contextmanager
def _hide_passwords_in_errors() -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        from bostruct.storage.postgresql.connecting import hide_passwords

        vars(error)["message"] = hide_passwords(error.message)  # newer versions of click declare it final
        raise


@click.group(
    cls=DiscreetGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong use of the command line, 3 storage rejected, 130 interrupted, "
    "143 terminated.",
)
@click.version_option(__version__, prog_name="bostruct")
def main() -> None:
    """Bayesian optimization over structured and combinatorial domains.

    \b
    Example:
      bostruct run max3sat --method combo --trials 100 --seed 3 --storage runs.db
    """


for command in (
    problems, methods, run, nas, compare, show, report, watch, serve, copy, rename, delete, doctor, import_csv,
):  # fmt: skip
    main.add_command(command)
