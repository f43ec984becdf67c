"""The pages on studies and experiments run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"


def run_page(name: str) -> dict[str, Any]:
    """Run all blocks of a page in order, and return the names that they bind; `blocks` is their number."""
    page = DOCS / name
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    return names | {"blocks": len(blocks)}


def test_every_block_of_the_page_on_studies_runs_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page("studies.md")["blocks"] >= 16
    assert (tmp_path / "trials.csv").exists()


def test_the_page_on_experiments_says_what_its_blocks_find(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page("experiments.md")
    page = (DOCS / "experiments.md").read_text(encoding="utf-8")
    front = [trial.values for trial in names["result"].pareto_front]
    assert f"# {len(front)} trials, from {front[0]} to {front[-1]}" in page
    assert f"# {names['result'].hypervolume(reference=(12.0, 200.0)):.1f}" in page
    found = names["bo"].minimize(
        names["limited"], names["passes"], n_trials=30, seed=0, constraints={"size": ("<=", 100.0)}
    )
    assert f"# {found.best_trial.value}, {dict(found.best_trial.constraints)}" in page
    point = {"unroll": 8, "vectorize": True, "inline": True, "tile": 40}
    assert abs(names["study"].predict([point]).mean[0] - 4.5) < 0.3
