"""Texts by which programs connect to a database, which may hold a password, and what messages show of them."""

from __future__ import annotations

import re

# The settings of libpq that nobody else must see.
SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key"})
_SETTING = "(?:host|server|port|user|pass|passwd|pwd)"
# Of libpq, or a URL with letters too few or too many: either may hold a password.
_CONNECTION = re.compile(
    r"^\s*(?:postgres(?:ql)?[:;]*//|postgres(?:ql)?:|[a-z][a-z0-9+.-]+:/+[^/]*:.*@|[^\s/:@]+:[^\s/@]+@[^/]+/)"
    r"|\b(?:pgpass|(?:pg)?password|dbname|hostaddr)\s*="
    r"|^\s*//[^/]*:[^/]*@"  # a URL without its scheme
    # Two settings side by side, by the names of other libraries, too.
    rf"|\b{_SETTING}\s*=\s*[^\s;]+\s*[\s;]\s*{_SETTING}\s*=",
    re.IGNORECASE,
)
# What could be the name of a file, and is where it ends as that of a database.
_BARE = re.compile(r"^\s*(?:[^\s/:@]+:[^\s/]+@[^\s/@]+|(?:pass|passwd|pwd)\s*=.*)$", re.IGNORECASE)
_ENDINGS = (".db", ".db3", ".sqlite", ".sqlite3")
_FIELD = re.compile(
    rf"({'|'.join(sorted(SECRETS))}|\b(?:pgpass|pass|passwd|pwd)\b)(\s*=\s*)('[^']*'|[^&\s'\"]+)", re.IGNORECASE
)
_LOGIN = re.compile(
    r"(\bpostgres(?:ql)?:/*[^\s:/@]*:).*@|((?:\b[a-z][a-z0-9+.-]+:/+|(?<!\S)//)[^\s:/@]*:)\S*@", re.IGNORECASE
)
# A message may have cut a URL off before its @; digits are a port.
_CUT = re.compile(r"(\bpostgres(?:ql)?:/*[^\s:/@]*:)(?![0-9]{1,5}(?:[/?,;'\")\s]|$)|\*\*\*@)\S+", re.IGNORECASE)


def is_connection(text: str) -> bool:
    """Tell whether a text is one by which a program connects, not the path of a file.

    text: any.
    """
    is_bare = _BARE.search(text) is not None and not text.lower().endswith(_ENDINGS)
    return is_bare or _CONNECTION.search(text) is not None


def hide_passwords(text: str) -> str:
    """Return a text with `***` in place of the passwords in it; what stands between two URLs may go with them.

    text: any, such as a message that quotes what a user gave.
    """
    shown = _LOGIN.sub(lambda found: f"{found[1] or found[2]}***@", text)
    return _FIELD.sub(r"\1\2***", _CUT.sub(r"\1***", shown))
