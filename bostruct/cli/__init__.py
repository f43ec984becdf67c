"""The command line: `bostruct problems | methods | run | nas | compare | show | copy | doctor`."""

from bostruct.cli.group import main

__all__ = ["main"]
