"""The waiting times of clients of `bostruct serve`, alone and during slow suggestions of another study.

    python -m benchmarks.serving    # the table in docs/evidence/studies.md, a minute

A server in a separate process has a quick study by random search and a slow study by `combo` with 100 trials, both with
30 variables of 5 choices, in one file. A client sends ask, tell and describe requests to the quick study, first alone
and then while another client continuously asks the slow study. Wall-clock milliseconds over HTTP; the file is on disk.
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
        """Return the answer to a request; raise HTTPError if it is rejected.

        fields: of the request.
        """
        sent = urllib.request.Request(self._url, json.dumps(fields).encode(), self._headers)
        with urllib.request.urlopen(sent, timeout=600) as answer:
            return json.load(answer)


@contextmanager
def serve(file: Path) -> Iterator[Client]:
    """Serve a file of studies in a separate process.

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

    file: new file.
    """
    bo.Study(SPACE, method="random", seed=0, storage=file, name="quick").close()
    rng = np.random.default_rng(0)
    with bo.Study(SPACE, method="combo", seed=0, storage=file, name="slow") as study:
        for _ in range(N_TRIALS):
            study.add({name: int(rng.integers(5)) for name in SPACE}, float(rng.normal()))


def measure(client: Client, seconds: float) -> dict[str, list[float]]:
    """Return the milliseconds that requests to the quick study take, by request.

    client: of the server.
    seconds: duration of the measurement.
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
    parser.add_argument("--seconds", type=float, default=20.0, help="of each of the two measurements")
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
            loaded = measure(client, seconds)
            is_over.set()
            thread.join()
    print(
        "| request | alone: median | 99 % | beside a slow study: median | 99 % | longest |\n|---|---|---|---|---|---|"
    )
    for name in REQUESTS:
        cells = [f"{np.quantile(taken[name], share):.1f}" for taken in (alone, loaded) for share in (0.5, 0.99)]
        print(f"| `{name}` | {' | '.join(cells)} | {max(loaded[name]):.1f} |")
    print(f"\n{len(waits)} slow suggestions of {statistics.median(waits):.1f} s (median)")


if __name__ == "__main__":
    main()
