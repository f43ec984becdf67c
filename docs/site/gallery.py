"""Make the gallery of examples: each is run, and shown with its output and, where it draws one, its picture."""

from __future__ import annotations

import ast
import hashlib
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / "out" / "gallery"  # of what the examples printed and drew, by their source
ARGUMENTS = {"job_shop": ["100", "schedule.svg"]}  # of examples that draw only when they are told where
SECONDS = 600
log = logging.getLogger("mkdocs.gallery")  # MkDocs shows it
TITLES = {  # where the name of the file alone does not say it
    "ask_tell": "Ask and tell",
    "conditions_sklearn": "Conditions in a scikit-learn pipeline",
    "gcc_flags": "Flags of gcc",
    "language_figures": "Figures of Negrinho et al.",
    "language_sklearn": "Programs that are scikit-learn pipelines",
    "maxsat": "MaxSAT",
    "pass_orders": "Orders of LLVM's passes",
    "rna": "RNA",
}


class Shown(NamedTuple):
    """What the gallery shows of an example.

    title: the first sentence of its docstring.
    page: Markdown.
    picture: the bytes of an SVG file; empty for none.
    """

    title: str
    page: str
    picture: bytes


def show_example(path: Path) -> Shown:
    """Run an example, and return what the gallery shows of it; raises RuntimeError where it fails.

    path: of its source.
    """
    source = path.read_text(encoding="utf-8")
    told = ast.get_docstring(ast.parse(source)) or ""
    title, _, more = told.partition("\n")
    output, picture = run_example(path, source)
    shown = [f"## {TITLES.get(path.stem) or path.stem.replace('_', ' ').capitalize()}", title]
    if picture:
        shown.append(f"![{title}]({path.stem}.svg)")
    if more.strip():
        shown.append(more.strip())
    shown.append(f"```text\n{output.strip()}\n```")
    body = source.split('"""', 2)[2].strip() if told else source
    shown.append(f'??? example "examples/{path.name}"\n\n    ```python\n' + _indent(body) + "\n    ```")
    return Shown(title, "\n\n".join(shown), picture)


def run_example(path: Path, source: str) -> tuple[str, bytes]:
    """Return what an example prints, and the picture that it draws; raises RuntimeError where it fails.

    path: of its source.
    source: its text, by which the results of an earlier run are found.
    """
    key = hashlib.sha256(source.encode()).hexdigest()[:16]
    printed, drawn = CACHE / f"{path.stem}-{key}.txt", CACHE / f"{path.stem}-{key}.svg"
    if printed.exists():
        log.info("examples/%s has not changed: its output is that of out/gallery", path.name)
    else:
        log.info("running examples/%s for the gallery", path.name)
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as scratch:
            command = [sys.executable, str(path), *ARGUMENTS.get(path.stem, [])]
            surroundings = os.environ | {"PYTHONPATH": str(ROOT)}
            found = subprocess.run(command, cwd=scratch, env=surroundings, capture_output=True, timeout=SECONDS)
            if found.returncode:
                raise RuntimeError(f"{path}: {found.stderr.decode(errors='replace')[-2_000:]}")
            for picture in sorted(Path(scratch).glob("*.svg")):
                drawn.write_bytes(picture.read_bytes())
        printed.write_bytes(found.stdout)
    return printed.read_text(encoding="utf-8"), drawn.read_bytes() if drawn.exists() else b""


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.splitlines())
