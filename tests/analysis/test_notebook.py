"""A notebook shows what it should: pictures once, tables that leave nothing out, a bar, and no warning."""

from __future__ import annotations

from collections import Counter

import nbformat
import pytest
from nbclient import NotebookClient

SETUP = """
import bostruct as bo
space = bo.Space({f"a long name of a variable {i}": bool for i in range(30)})
study = bo.Study(space, method="random", seed=0)
result = study.optimize(lambda point: sum(point.values()), 8)
"""
CLOSED = "from matplotlib import pyplot\nprint(pyplot.get_fignums())"
PICTURES = {  # how many each cell shows
    "result.plot()": 1,
    "result.plot()\nNone": 1,
    "from matplotlib.figure import Figure\nresult.plot(ax=Figure().subplots())": 0,
    "found = bo.importance(result)\nbo.plot_importance(found)\nNone": 1,
    "a = bo.cnn_domain().pool[0]\nbo.plot_architecture(a)\nNone": 1,
    "bo.plot_transport(a, a)\nNone": 1,
    CLOSED: 0,
}
TABLES = ("result", "study", "study.trials[0]", "space", "found")


def execute(sources):
    """Return each cell's outputs, by its source; the kernel runs in a process of its own."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MPLBACKEND", raising=False)
        NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True).execute()
    return {source: cell.outputs for source, cell in zip(sources, notebook.cells, strict=True)}


@pytest.mark.slow
def test_what_a_notebook_shows():
    outputs = execute([SETUP, *PICTURES, *TABLES])
    assert not [cell for cell, found in outputs.items() if any("ename" in one for one in found)]
    kinds = {cell: Counter(kind for one in found for kind in one.get("data", {})) for cell, found in outputs.items()}
    assert {cell: kinds[cell]["image/png"] for cell in PICTURES} == PICTURES
    texts = {cell: "".join(one.get("text", "") for one in found) for cell, found in outputs.items()}
    assert texts[CLOSED] == "[]\n"  # no figure is left open
    assert "8/8" in texts[SETUP]
    assert "Warning" not in texts[SETUP]
    for name in TABLES:
        (output,) = outputs[name]
        html = output.data["text/html"]
        assert all(f">a long name of a variable {i}</th>" in html for i in range(30)), name


INTERRUPTED = """
import bostruct as bo
values = iter([3.0, 2.0, 1.0])

def objective(point):
    if (value := next(values, None)) is None:
        raise KeyboardInterrupt
    return value

result = bo.minimize(objective, {"a": range(9)}, 8, method="random", seed=0, progress=False)
"""
LOOK = "import sys; print(sys.last_value.result.n_completed)"


def test_what_was_interrupted_says_where_its_result_is():
    outputs = execute([INTERRUPTED, LOOK])
    says = "3 trials finished. The result so far is error.result, or sys.last_value.result"
    assert says in outputs[INTERRUPTED][0]["traceback"][-1]
    assert outputs[LOOK][0]["text"] == "3\n"
