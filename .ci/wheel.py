"""Check what a wheel holds, and that the sdist makes the same wheel as the checkout: FROM_SDIST DIRECT."""

import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def read_wheel(path: str) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


from_sdist, direct = (read_wheel(path) for path in sys.argv[1:])
differing = {name for name in from_sdist.keys() | direct.keys() if from_sdist.get(name) != direct.get(name)}
assert not differing, f"the sdist makes another wheel: {sorted(differing)}"

info = next(name.partition("/")[0] for name in from_sdist if ".dist-info/" in name)
metadata = {f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "top_level.txt")}
sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "bostruct").rglob("*.py")}
expected = {*sources, "bostruct/py.typed", f"{info}/licenses/LICENSE", *metadata}
assert from_sdist.keys() == expected, f"unexpected or missing: {sorted(from_sdist.keys() ^ expected)}"

headers, _, page = from_sdist[f"{info}/METADATA"].decode().partition("\n\n")
assert "Description-Content-Type: text/markdown" in headers
text = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
local = [target for target in re.findall(r"\]\(([^)]*)\)", text) if not re.match("https?:|mailto:", target)]
assert not local, f"the page of an index would have broken links: {local}"
assert "<img" not in text
assert page.startswith("# bostruct")
