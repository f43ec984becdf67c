"""Compare `auto` with its peers on numbers, with categories and conditions, and with itself with a prior.

    python -m benchmarks.mixed [OPTIONS OF benchmarks.peers]

This is `python -m benchmarks.peers` for these groups of problems.
"""

from __future__ import annotations

from benchmarks.peers.__main__ import main
from benchmarks.peers.groups import MIXED

if __name__ == "__main__":
    raise SystemExit(main(groups=MIXED, name="benchmarks.mixed"))
