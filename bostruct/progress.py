"""A progress bar for those who watch; silence for everybody else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bostruct.history import Trial


def _silent(study: Any, trial: Trial) -> None:
    del study, trial


@contextmanager
def shown_progress(study: Any, how: Any) -> Iterator[Callable[[Any, Trial], None]]:
    """A callback that moves a bar on stderr; None shows one where stderr is a terminal."""
    wanted = sys.stderr.isatty() if how.progress is None else how.progress
    if not wanted:
        yield _silent
        return
    from tqdm.auto import tqdm

    with tqdm(total=how.n_trials, initial=study.n_finished, desc=study.name, file=sys.stderr) as bar:

        def show(study: Any, trial: Trial) -> None:
            best = study.incumbent
            found = "none yet" if best is None else f"{best.value:.6g} (trial {best.number})"
            seconds = trial.info.get("suggest_seconds", 0.0)
            bar.set_postfix_str(f"best {found}, {seconds:.3f} s a suggestion", refresh=False)
            bar.update(1)

        yield show
