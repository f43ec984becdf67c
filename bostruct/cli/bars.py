"""Progress for those who watch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bostruct.history import Trial
    from bostruct.study import Study

    Callback = Callable[[Study, Trial], None]


@contextmanager
def bar(total: int, done: int, label: str, wanted: bool | None) -> Iterator[Any]:
    """A tqdm bar on stderr, silent unless `wanted`; None shows it where stderr is a terminal."""
    from tqdm import tqdm

    shown = sys.stderr.isatty() if wanted is None else wanted
    with tqdm(total=total, initial=done, desc=label, file=sys.stderr, disable=not shown, dynamic_ncols=True) as made:
        yield made


@contextmanager
def trial_bar(study: Study, total: int, optimum: float | None, wanted: bool | None) -> Iterator[Callback]:
    """A callback that moves a bar by one trial, and shows the incumbent and its regret to a known optimum."""
    with bar(total, study.n_finished, "trials", wanted) as made:

        def show(study: Study, trial: Trial) -> None:
            best = study.incumbent
            parts = ["best -" if best is None else f"best {best.value:.6g}"]
            if best is not None and best.value is not None and optimum is not None:
                parts.append(f"regret {best.value - optimum:.4g}")
            parts.append(f"{trial.info.get('suggest_seconds', 0.0):.2f} s a suggestion")
            made.set_postfix_str(", ".join(parts), refresh=False)
            made.update(1)

        yield show
        made.total = made.n  # a run that ended early is done with what it did
        made.refresh()
