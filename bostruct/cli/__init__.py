"""The command line: `bostruct problems | run | compare | show | doctor`."""

from bostruct.cli.group import main

__all__ = ["main"]
