"""The switch of mutants: copied beside the mutated package as `bostruct_mutants`, so it imports nothing of ours.

MUTANTS_ON is the number of the mutant that is on, in this process and in those that it starts. MUTANTS_HITS is a file
to which each process adds the numbers of the mutants whose lines it runs, once each.
"""

import os

hits: set[int] = set()
on = int(os.environ.get("MUTANTS_ON", -1))


def is_on(number: int) -> bool:
    """Tell whether a mutant is on, and note that its line is run."""
    if number not in hits:
        hits.add(number)
        if file := os.environ.get("MUTANTS_HITS"):
            try:
                with open(file, "ab") as out:
                    out.write(b"%d\n" % number)
            except OSError:  # a test that makes the disk full, or allows no more files
                hits.discard(number)
    return number == on


def turn_on(number: int) -> None:
    """Turn a mutant on, in this process and in those that it will start."""
    global on
    on = number
    os.environ["MUTANTS_ON"] = str(number)


def note_in(file: str) -> None:
    """Note from here on what is run in another file."""
    hits.clear()
    os.environ["MUTANTS_HITS"] = file
