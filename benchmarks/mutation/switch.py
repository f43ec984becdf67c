"""The switch of mutants, copied next to the mutated package as `bostruct_mutants`; it must not import bostruct.

MUTANTS_ON is the number of the active mutant, in this process and its child processes. MUTANTS_HITS is a file to which
each process appends the numbers of the mutants whose lines it runs, once each.
"""

import os

hits: set[int] = set()
on = int(os.environ.get("MUTANTS_ON", -1))


def is_on(number: int) -> bool:
    """Return whether a mutant is on, and record that its line is run."""
    if number not in hits:
        hits.add(number)
        if file := os.environ.get("MUTANTS_HITS"):
            try:
                with open(file, "ab") as out:
                    out.write(b"%d\n" % number)
            except OSError:  # a test may fill the disk or forbid new files
                hits.discard(number)
    return number == on


def turn_on(number: int) -> None:
    """Turn a mutant on, in this process and its future child processes."""
    global on
    on = number
    os.environ["MUTANTS_ON"] = str(number)


def record_in(file: str) -> None:
    """From now on, record the mutants that are run in another file."""
    hits.clear()
    os.environ["MUTANTS_HITS"] = file
