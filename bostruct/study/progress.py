"""Progress bars for terminals and notebooks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any

from bostruct.display import is_notebook, printable
from bostruct.study.history import Trial

FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
WIDTH = 80  # columns if the width is unknown, as in a file
DEFAULT_BAR, LEAST_BAR = 10, 4  # columns of the bar itself: the default, and the minimum
LABEL = (40, 24, 12, 0)  # characters of a label, fewer if space is needed


@contextmanager
def progress_bar(label: str, total: float | None, done: int, wanted: bool | None) -> Iterator[Any]:
    """Show a tqdm bar on stderr if wanted, otherwise yield None.

    total: total number of trials; None if unknown.
    done: number of finished trials.
    wanted: whether to show a bar; None to show it in a terminal and in a notebook.
    """
    if not (sys.stderr.isatty() or is_notebook() if wanted is None else wanted):
        yield None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets, a notebook has a text bar
        from tqdm.auto import tqdm
    fixed = not sys.stderr.isatty() and tqdm.__module__ != "tqdm.notebook"
    size: dict[str, Any] = {"ncols": WIDTH} if fixed else {"dynamic_ncols": True}
    with tqdm(
        total=total, initial=done, desc=_cut_text(label, LABEL[0]), file=sys.stderr, bar_format=FORMAT, **size
    ) as bar:
        yield bar


@contextmanager
def trial_bar(
    label: str, study: Any, total: float | None, wanted: bool | None, optimum: float | None = None
) -> Iterator[Callable[[Any, Trial], None]]:
    """Yield a callback that advances a bar by one trial, and shows the incumbent and the number of failed trials.

    wanted: whether to show a bar; None to show it in a terminal and in a notebook.
    """
    with progress_bar(label, total, study.n_finished, wanted) as bar:

        def show(study: Any, trial: Trial) -> None:
            if bar is not None:
                seconds = f"{trial.info.get('suggest_seconds', 0.0):.2f} s per suggestion"
                _set_text(bar, label, _list_facts(study, optimum), seconds)
                bar.update(1)

        yield show
        if bar is not None:
            bar.total = bar.n  # a run that ended early is complete
            bar.refresh()


def _list_facts(study: Any, optimum: float | None) -> list[str]:
    best, result = None if study.incumbent is None else study.incumbent.value, study.result
    if result.goals.n_objectives > 1 and result.has_feasible:
        facts = [f"{len(result.pareto_front)} on the front"]
    else:
        facts = ["best none yet" if best is None else f"best {best:.6g}"]
    if best is not None and optimum is not None:
        facts.append(f"regret {best - optimum:.4g}")
    counts = {"failed": result.n_failed, "infeasible": result.n_infeasible}
    return [*facts, *(f"{count} {status}" for status, count in counts.items() if count)]


def _set_text(bar: Any, label: str, facts: Sequence[str], detail: str) -> None:
    """Show the longest text that fits the width: facts are kept, the detail and the label are shortened."""
    labels, endings = [_cut_text(label, most) for most in LABEL], ((*facts, detail), facts)
    texts = [(name, ", ".join(ending)) for name, ending in product(labels, endings)]
    fitting = (text for text in texts if bar.gui or _fits(bar, *text))
    name, ending = next(fitting, texts[-1])
    bar.set_description_str(name, refresh=False)
    bar.set_postfix_str(ending, refresh=False)


def _fits(bar: Any, label: str, ending: str) -> bool:
    """Return whether the line fits the terminal, with room for one more trial."""
    from tqdm.utils import disp_len

    now = bar.format_dict
    line = bar.format_meter(**now | {"n": now["n"] + 1, "ncols": None, "prefix": label, "postfix": ending})
    return disp_len(line) - DEFAULT_BAR + LEAST_BAR <= (now["ncols"] or WIDTH)


def _cut_text(text: str, most: int) -> str:
    text = printable(text)
    return text if len(text) <= most else (text[: most - 1] + "…" if most else "")
