"""Names that an option of a command lists, apart from each other by commas."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from bostruct.checks import did_you_mean


def split_names(
    parser: argparse.ArgumentParser,
    option: str,
    given: str,
    allowed: Iterable[str],
    spellings: Mapping[str, str] = MappingProxyType({}),
) -> list[str]:
    """Return the names that an option lists; end the command where one of them is unknown.

    parser: of the command.
    option: its name, for the message.
    given: as the user wrote it.
    allowed: the names that there are, which may have commas.
    spellings: other ways to write some of them, which a message leaves out.
    """
    listed, names, rest = list(allowed), list[str](), given.split(",")
    known = {**dict(zip(listed, listed, strict=True)), **spellings}
    while rest:  # a name may have commas: the longest one
        end = next((end for end in range(len(rest), 0, -1) if ",".join(rest[:end]) in known), 1)
        names.append(",".join(rest[:end]))
        rest = rest[end:]
    if unknown := [name for name in names if name not in known]:
        hint = did_you_mean(unknown[0], listed)
        told, got = (", ".join(map(repr, names)) for names in (listed, unknown))
        parser.error(f"{option}: expected some of {told}; got {got}{hint}")
    return [known[name] for name in names]
