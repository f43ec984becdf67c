"""The command line: problems, methods, run, nas, compare, show, report, watch, serve, copy, doctor."""

from bostruct.cli.group import main

__all__ = ["main"]
