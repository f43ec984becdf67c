"""Show README on a package index without what leads into the repository: no address of the repository is known there.

Everything else about the package stands in pyproject.toml.
"""

import re
from pathlib import Path

from setuptools import setup

FENCED = re.compile(r"(^```.*?^```\n)", re.MULTILINE | re.DOTALL)
PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n\n?", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:|mailto:)[^)]*\)")


def strip_local_links(text: str) -> str:
    """Drop pictures with an address in the repository, and leave the text of links to it; code stays as it is."""
    parts = FENCED.split(text)
    return "".join(part if i % 2 else LINK.sub(r"\1", PICTURE.sub("", part)) for i, part in enumerate(parts))


setup(
    long_description=strip_local_links(Path(__file__).with_name("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
