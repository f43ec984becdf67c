"""How long `bostruct serve` lets clients wait, alone and beside a study whose suggestions are slow.

    python -m benchmarks.serving    # the table in docs/evidence/studies.md, a minute

A server in a process of its own has a study by random search and one by `combo`, both in one file, of 30 variables of 5
choices; the latter has 100 trials. A client asks, tells and describes the former in turns, for some seconds alone and
then while another client asks the latter all the time. Milliseconds of the clock, over HTTP, with the file on disk.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import bostruct as bo

SPACE = {f"x{i:02}": range(5) for i in range(30)}
N_TRIALS = 100  # of the slow study
REQUESTS = ("ask", "tell", "describe")


class Client:
    """Requests to a server.

    url: of the protocol.
    token: of the server.
    """

    def __init__(self, url: str, token: str) -> None:
        self._url, self._headers = url, {"Authorization": f"Bearer {token}"}

    def request(self, **fields: Any) -> dict[str, Any]:
        """Return the answer to a request; raise HTTPError for one that is refused.

        fields: of the request.
        """
        sent = urllib.request.Request(self._url, json.dumps(fields).encode(), self._headers)
        with urllib.request.urlopen(sent, timeout=600) as answer:
            return json.load(answer)


@contextmanager
def serve(file: Path) -> Iterator[Client]:
    """Serve a file of studies in a process of its own.

    file: with studies.
    """
    line = [sys.executable, "-m", "bostruct", "serve", str(file), "--json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        try:
            yield Client(found["url"], found["token"])
        finally:
            process.terminate()


def make_studies(file: Path) -> None:
    """Make the two studies.

    file: a new one.
    """
    bo.Study(SPACE, method="random", seed=0, storage=file, name="quick").close()
    rng = np.random.default_rng(0)
    with bo.Study(SPACE, method="combo", seed=0, storage=file, name="slow") as study:
        for _ in range(N_TRIALS):
            study.add({name: int(rng.integers(5)) for name in SPACE}, float(rng.normal()))


def measure(client: Client, seconds: float) -> dict[str, list[float]]:
    """Return the milliseconds that requests to the quick study take, by request.

    client: of the server.
    seconds: to go on for.
    """
    taken: dict[str, list[float]] = {name: [] for name in REQUESTS}

    def clock(request: str, **fields: Any) -> dict[str, Any]:
        began = time.perf_counter()
        answer = client.request(request=request, study="quick", **fields)
        taken[request].append(1e3 * (time.perf_counter() - began))
        return answer

    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        trial = clock("ask")["trials"][0]["number"]
        clock("tell", trial=trial, value=0.0)
        clock("describe")
    return taken


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Milliseconds that clients of bostruct serve wait.")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each of the two halves")
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        make_studies(file)
        with serve(file) as client:
            measure(client, 1.0)
            alone = measure(client, seconds)
            is_over, waits = threading.Event(), []

            def ask_slow() -> None:
                while not is_over.is_set():
                    began = time.perf_counter()
                    client.request(request="ask", study="slow")
                    waits.append(time.perf_counter() - began)

            thread = threading.Thread(target=ask_slow)
            thread.start()
            beside = measure(client, seconds)
            is_over.set()
            thread.join()
    print(
        "| request | alone: median | 99 % | beside a slow study: median | 99 % | longest |\n|---|---|---|---|---|---|"
    )
    for name in REQUESTS:
        cells = [f"{np.quantile(taken[name], share):.1f}" for taken in (alone, beside) for share in (0.5, 0.99)]
        print(f"| `{name}` | {' | '.join(cells)} | {max(beside[name]):.1f} |")
    print(f"\n{len(waits)} slow suggestions of {statistics.median(waits):.1f} s (median)")


if __name__ == "__main__":
    main()
