"""The page of a report: told text never becomes markup, a screen reader can tell it, and its size stays reasonable."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bostruct as bo
from bostruct.analysis.report import facts
from bostruct.analysis.report import page as page_module
from bostruct.analysis.report.facts import read_run
from bostruct.analysis.report.page import SORT, STYLE, render_page, write_report
from bostruct.language import SearchSpace
from bostruct.nas.spaces.wrs_cnn import reduced_wrs_cnn
from tests.analysis.report.runs import HOSTILE, LINE, TURNED, check_page, make_hostile, make_plain

ROOT = Path(__file__).resolve().parents[3]


def render(*studies: bo.Study | bo.Result) -> str:
    return render_page([read_run(study) for study in studies], "runs.db" if len(studies) != 1 else "")


def make_empty() -> bo.Study:
    return bo.Study({"a": bool}, method="random", seed=0)


def make_failed() -> bo.Study:
    study = make_empty()
    study.tell(study.ask(), failed="no license")
    study.tell(study.ask(), infeasible="too hot")
    return study


def make_running() -> bo.Study:
    study = make_plain(3)
    study.ask()
    return study


def make_infeasible() -> bo.Study:
    study = bo.Study({"a": bool}, method="random", seed=0, constraints={"heat": ("<=", 1.0)})
    study.tell(study.ask(), {"value": 1.0, "constraints": {"heat": 2.0}})
    return study


def make_run(space: object, objective: Callable[[Any], float], n: int = 12) -> bo.Study:
    study = bo.Study(space, method="random", seed=0)
    study.optimize(objective, n, progress=False)
    return study


STRUCTURED = {
    "order": bo.Permutation(range(4)),
    "some": bo.Subset(range(5), 2),
    "word": bo.Sequence("ACGU", (2, 4)),
    "inner": bo.Real(0.0, 1.0),
}
CONDITIONAL = {"optimizer": ["sgd", "adam"], "momentum": bo.Real(0.0, 0.99, when={"optimizer": "sgd"})}


def make_programs() -> bo.Study:
    return make_run(SearchSpace(reduced_wrs_cnn()), len, 3)


MAKERS = {
    "empty": make_empty,
    "failed": make_failed,
    "running": make_running,
    "infeasible": make_infeasible,
    "structured": lambda: make_run(STRUCTURED, lambda point: point["inner"]),
    "architectures": lambda: make_run(bo.cnn_domain(), len, 3),
    "programs": make_programs,
    "conditional": lambda: make_run(CONDITIONAL, lambda point: point.get("momentum", 1.0)),
    "plain": make_plain,
    "two objectives": lambda: make_plain(directions=["minimize", "maximize"]),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_any_study_becomes_a_page(kind):
    study = MAKERS[kind]()
    found = check_page(render(study))
    assert "not drawn" not in "".join(found.text)
    assert "What made" not in "".join(found.text)
    assert found.find("nav")
    if any(trial.status == "completed" for trial in study.trials) and study.result.has_feasible:
        assert found.find("img")
    for trial in study.trials:
        assert str(trial.number) in found.text


def test_a_program_is_told_by_its_choices_and_its_modules():
    study = make_programs()
    best, text = study.best_point, check_page(render(study)).text
    assert {node.path for node in best.nodes} | set(best.trace) <= set(text)


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected a file in a folder that exists: .*nowhere"):
        write_report(make_plain(), tmp_path / "nowhere" / "page.html")


def test_a_space_that_the_file_does_not_hold_is_told_as_it_is_stored(tmp_path):
    space = bo.Space({"a": range(4), "b": range(4)}, constraints=[lambda point: point["a"] <= point["b"]])
    bo.minimize(lambda point: point["a"], space, method="random", n_trials=4, seed=0, storage=tmp_path / "r.db")
    with bo.Study.load(tmp_path / "r.db", read_only=True) as study:
        assert "a space that its file does not fully contain" in "".join(check_page(render(study)).text)


def test_told_text_is_text():
    html = render(make_hostile())
    found = check_page(html)
    text = "".join(found.text)
    for told in HOSTILE:
        shown = told.replace(LINE, r"\u2028").replace(TURNED, r"\u202e")
        assert shown[:60] in text
    assert HOSTILE[5] in text  # the best point is whole
    assert "not drawn" not in text
    assert html.isascii() or not {LINE, TURNED, "\0"} & set(html)
    pictures = [base64.b64decode(image["src"].partition(",")[2]).decode() for image in found.find("img")]
    assert len(pictures) >= 2
    assert not any("<script" in picture or "<img" in picture for picture in pictures)


def test_the_policy_allows_the_style_and_the_script_of_the_page_alone():
    html = render(make_empty())
    (policy,) = [one["content"] for one in check_page(html).find("meta") if one.get("http-equiv")]
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    assert allowed == [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (STYLE, SORT)]
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "connect-src 'none'" in policy
    assert f"<style>{STYLE}</style>" in html
    assert f"<script>{SORT}</script>" in html


def test_several_studies_are_told_one_by_one(monkeypatch):
    monkeypatch.setattr(page_module, "MOST_RUNS", 2)
    html = render(make_plain(), make_empty(), make_failed())
    found = check_page(html)
    assert found.headings[:3] == [1, 2, 3]
    assert found.headings.count(2) == 2
    assert "The first 2 are described below" in html
    assert "contains no study" in render()


def test_1100_trials_of_34_variables_are_cut_and_the_page_says_so(monkeypatch):
    monkeypatch.setattr(facts, "LEAST_FOR_IMPORTANCES", 9999)  # a forest of them takes 4 s
    study = bo.Study({f"v{i}": [0, 1, 2] for i in range(34)}, method="random", seed=0)
    for i in range(1100):
        study.add({f"v{k}": (i // 3 ** (k % 7) + k) % 3 for k in range(34)} | {f"v{i % 34}": i % 3}, float(i % 977))
    html = render(study)
    assert len(html.encode()) < 3_000_000
    assert "of 1,100 trials, half of them the best and the others the last; bostruct show --csv" in html
    assert all(f'<th scope="row">v{i}</th>' in html for i in range(34))  # the best point is whole


def test_without_matplotlib_there_are_tables_and_a_word(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = check_page(render(make_plain()))
    assert not found.find("img")
    assert any("There are no pictures" in text for text in found.text)


def test_writes_a_study_or_a_result(tmp_path):
    study = make_plain()
    bo.write_report(study, tmp_path / "study.html")
    write_report(study.result, tmp_path / "result.html")
    told = [(tmp_path / f"{name}.html").read_text(encoding="utf-8") for name in ("study", "result")]
    assert "<h1>study</h1>" in told[0]
    assert "<h1>Result</h1>" in told[1]
    with pytest.raises(TypeError, match="study_or_result: expected a Study or a Result, got 3"):
        bo.write_report(3, tmp_path / "no.html")


def test_another_process_and_hash_seed_make_the_same_page(tmp_path):
    def run(point):
        if point["optimizer"] == "adam":
            raise bo.Infeasible("too hot" if point["layers"] > 2 else "too slow")
        return point["momentum"]

    space = {**CONDITIONAL, "layers": range(5), "word": STRUCTURED["word"]}
    path = tmp_path / "runs.db"
    with bo.Study(space, method="random", seed=0, storage=path) as study:
        study.optimize(run, 20, progress=False)
    code = (
        "import sys; from bostruct.study.study import Study; from tests.analysis.report.test_page import read_page;"
        "print(*read_page(Study.load(sys.argv[1])))"
    )
    other = {**os.environ, "PYTHONHASHSEED": "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"}
    call = [sys.executable, "-c", code, str(path)]
    told = subprocess.run(call, env=other, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    with bo.Study.load(path) as loaded:
        here = read_page(loaded)
    assert told[0] != here[0]  # the seed is another
    assert told[1] == here[1]


def read_page(study: bo.Study) -> list[str]:
    """Return a hash that depends on the process, and that of the page of a study."""
    return [str(hash("a")), hashlib.sha256(render(study).encode()).hexdigest()]


def test_the_space_is_shown_with_its_conditions_and_constraints():
    def is_cheap(point):
        return "k" not in point or point["k"] < 4

    space = bo.Space({"model": ["a", "b"], "k": bo.Integer(1, 5, when={"model": "b"})}, [is_cheap, lambda _: True])
    study = bo.Study(space, method="random", seed=0)
    study.optimize(lambda point: float(point.get("k", 0)), 3, progress=False)
    page = render(study)
    assert "<caption>The space, with 2 constraints: is_cheap, &lt;lambda&gt;</caption>" in page
    assert "<td>Integer(1, 5, when={&#x27;model&#x27;: &#x27;b&#x27;})</td>" in page
    assert "<caption>The space</caption>" in render(make_plain(3))


def test_the_hypervolume_is_told_with_its_corner():
    study = bo.Study({"a": range(4)}, method="random", seed=0, directions=["minimize", "maximize"])
    for value in ((1.0, 2.0), (2.0, 4.0), (3.0, 1.0)):
        study.tell(study.ask(), value)
    assert study.result.hypervolume((2.1, 1.8)) == pytest.approx(0.42)
    assert "The front dominates a hypervolume of 0.42 up to the corner (2.1, 1.8)." in render(study)
