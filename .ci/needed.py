"""Print what the core and some extras need, and pytest, without torch and what needs torch: "EXTRA ..."."""

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
optional = project["optional-dependencies"]
wanted = [*project["dependencies"], *(line for extra in sys.argv[1].split() for line in optional[extra])]
wanted += [line for line in optional["dev"] if re.match("pytest|hypothesis", line)]
print(*(line for line in wanted if not re.match("torch|gpytorch", line)))
