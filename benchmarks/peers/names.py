"""Names that an option of a command lists, separated by commas or semicolons."""

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
    separator: str = ",",
) -> list[str]:
    """Return the names that an option lists; end the command if a name is unknown.

    parser: of the command.
    option: name of the option, for the message.
    given: as the user wrote it.
    allowed: the known names, which may contain commas.
    spellings: known names by other ways to write them, which messages do not list.
    separator: "," or ";".
    """
    listed, names, rest = list(allowed), list[str](), given.split(separator)
    known = {**dict(zip(listed, listed, strict=True)), **spellings}
    while rest:  # names may contain commas: take the longest match
        end = next((end for end in range(len(rest), 0, -1) if separator.join(rest[:end]) in known), 1)
        names.append(separator.join(rest[:end]))
        rest = rest[end:]
    if unknown := [name for name in names if name not in known]:
        other, word = (";", "commas") if separator == "," else (",", "semicolons")
        is_joined = any(f"{name}{other}" in one for name in listed for one in unknown)
        hint = f". Separate names by {word}" if is_joined else did_you_mean(unknown[0], listed)
        expected, got = (", ".join(map(repr, names)) for names in (listed, unknown))
        parser.error(f"{option}: expected some of {expected}; got {got}{hint}")
    return [known[name] for name in names]
