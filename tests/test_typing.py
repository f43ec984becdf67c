"""A user's program checks clean against our public types, and a wrong one does not."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAM = """
from collections.abc import Mapping

import bostruct as bo
from bostruct import methods
from bostruct.contracts import Domain, Kernel


def cost(point: Mapping[str, int]) -> float:
    return float(point["x"] ** 2 + point["y"])


def stop_early(study: bo.Study, trial: bo.Trial) -> None:
    if trial.value is not None and trial.value < 1.0:
        study.stop()


space = bo.Space({"x": bo.Integer(-5, 5), "y": bo.Categorical([1, 2])})
study = bo.Study(space, method=methods.combo(space), seed=0)
study.optimize(cost, n_trials=5, callbacks=[stop_early], progress=False)
trial = study.ask()
study.tell(trial, cost(trial.point))
result: bo.Result = bo.maximize(cost, {"x": range(3), "y": [1, 2]}, n_trials=3, initial_points=[{"x": 1, "y": 2}])
share: float = result.trials[-1].info.get("suggest_seconds", 0.0) / 2
"""
OWN_PARTS = """
own_domain: Domain = RankedOrders(6)
own_kernel: Kernel = BitsKernel()
"""


def check(folder: Path, programs: dict[str, str]) -> list[tuple[str, str]]:
    """Return the errors of pyright in programs, each after a program's name, in standard mode; skip without pyright."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed; the extra dev brings it")
    for name, source in programs.items():
        (folder / name).write_text(source, encoding="utf-8")
    settings = {"include": list(programs), "extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--project", str(folder)]
    found = subprocess.run([*command, "--outputjson"], capture_output=True, text=True, check=False)
    if not found.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {found.stderr[-200:]}")
    report = json.loads(found.stdout)
    assert report["summary"]["filesAnalyzed"] == len(programs)
    found = report["generalDiagnostics"]
    return [(Path(one["file"]).name, f"{one['range']['start']['line'] + 1}: {one['message']}") for one in found]


def parts_of_the_page() -> str:
    """Return what the pages say about a domain and a kernel, as one program."""
    pages = [(ROOT / f"docs/extending-{part}.md").read_text(encoding="utf-8") for part in ("domain", "kernel")]
    return "\n".join(re.findall(r"^```python\n(.*?)^```", "\n".join(pages), re.MULTILINE | re.DOTALL))


@pytest.mark.slow
def test_a_users_program_checks_clean_and_a_wrong_one_does_not(tmp_path):
    wrong = PROGRAM + 'study.tell("first", None)\nworst: str = study.best_value\nbo.Study(3)\n'
    found = check(tmp_path, {"program.py": PROGRAM + parts_of_the_page() + OWN_PARTS, "wrong.py": wrong})
    assert [message for name, message in found if name == "program.py"] == []
    assert len(found) >= 3, found
