"""The commands under one roof; each imports what it needs when it is run, so that `bostruct --help` answers at once."""

from __future__ import annotations

import click

from bostruct import __version__
from bostruct.cli.compare import compare
from bostruct.cli.copy import copy
from bostruct.cli.doctor import doctor
from bostruct.cli.methods import methods
from bostruct.cli.nas import nas
from bostruct.cli.problems import problems
from bostruct.cli.report import report
from bostruct.cli.run import run
from bostruct.cli.serve import serve
from bostruct.cli.show import show
from bostruct.cli.watch import watch


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 failed, 2 wrong use of the command line, 3 storage refused, 130 interrupted, "
    "143 terminated.",
)
@click.version_option(__version__, prog_name="bostruct")
def main() -> None:
    """Bayesian optimization over structured and combinatorial domains.

    \b
    Example:
      bostruct run max3sat --method combo --trials 100 --seed 3 --storage runs.db
    """


for command in (problems, methods, run, nas, compare, show, report, watch, serve, copy, doctor):
    main.add_command(command)
