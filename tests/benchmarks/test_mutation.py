"""Mutants: each is a small fault behind its own switch, and the package is what it was while none is on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutation.__main__ import main
from benchmarks.mutation.mutants import draw_mutants, write_mutated

SOURCE = '''"""A package."""

from numba import njit


def judge(a: int = 3, b: bool = True) -> str:
    """Say 1 + 1."""
    if not b or a > 2 * 2:
        raise ValueError(f"{a + 1}")
    a += 1
    print(a)
    return "much" if a == 3 else f"{a * 2}"


@njit
def compiled(a):
    return a + 1
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "tree" / "bostruct"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "one.py").write_text(SOURCE)
    return folder


def test_bodies_are_mutated_and_texts_types_defaults_and_compiled_loops_are_not(package):
    found = {mutant.key.split(": ", 1)[1] for mutant in draw_mutants(package, 100, 0)}
    assert all(mutant.function == "judge" for mutant in draw_mutants(package, 100, 0))
    assert found <= {
        "not b or a > 2 * 2 -> not (not b or a > 2 * 2)",
        "not b or a > 2 * 2 -> not b and a > 2 * 2",
        "not b -> b",
        "a > 2 * 2 -> a >= 2 * 2",
        "2 * 2 -> 2 / 2",
        "2 -> 3",
        "raise ValueError(f'{a + 1}') -> pass",
        "a += 1 -> pass",
        "1 -> 2",
        "print(a) -> pass",
        "'much' if a == 3 else f'{a * 2}' -> None",
        "a == 3 -> not a == 3",
        "a == 3 -> a != 3",
        "3 -> 4",
    }
    assert len(found) >= 5


@pytest.mark.parametrize("seed", range(3))
def test_a_fault_is_there_if_its_switch_is_on_and_only_then(package, tmp_path, seed):
    mutants = draw_mutants(package, 3, seed)
    before = run(tmp_path)
    assert "much" in before
    write_mutated(package, mutants)
    switch = Path(__file__).parents[2] / "benchmarks/mutation/switch.py"
    (tmp_path / "tree" / "bostruct_mutants.py").write_text(switch.read_text())
    assert len((package / "one.py").read_text().splitlines()) == len(SOURCE.splitlines())
    assert run(tmp_path) == before
    turned = [run(tmp_path, f"import bostruct_mutants; bostruct_mutants.turn_on({k})") for k in range(3)]
    assert any(found != before for found in turned)


def run(tmp_path: Path, before: str = "") -> str:
    calls = "\n".join(
        f"try: print(judge({a}, {b}))\nexcept ValueError as error: print('refused', error)"
        for a in (1, 2, 3, 4, 5)
        for b in (True, False)
    )
    fake = "import sys\nsys.modules['numba'] = type(sys)('numba')\nsys.modules['numba'].njit = id"
    program = f"{fake}\n{before}\nfrom bostruct.one import judge\n{calls}"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path / "tree", capture_output=True, text=True, check=False)
    return done.stdout + done.stderr.splitlines()[-1] if done.stderr else done.stdout


def test_the_report_counts_the_killed_and_lists_survivors(package, tmp_path, capsys, monkeypatch):
    mutants = draw_mutants(package, 3, 0)
    (tmp_path / "mutants.json").write_text(json.dumps(mutants))
    results = [{"mutant": 0, "killed": True, "by": "t", "ran": 1}, {"mutant": 1, "killed": False, "why": "survived"}]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(one) + "\n" for one in results))
    monkeypatch.setattr("sys.argv", ["mutation", "report", str(tmp_path)])
    main()
    said = capsys.readouterr().out
    assert said.startswith("1 of 2 mutants killed (50.0%); 0 equivalent ones excluded, 1 not run\n")
    assert f"of {mutants[1].key}" in said
