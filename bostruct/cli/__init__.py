"""The command line: `bostruct problems | methods | run | nas | compare | show | doctor`."""

from bostruct.cli.group import main

__all__ = ["main"]
