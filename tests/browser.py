"""A headless Chromium, where one is installed, spoken to by its DevTools protocol over a pipe."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

PROGRAM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed: pages are not looked at")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--disable-background-networking")
START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)


class Browser:
    """One page: what it asks of the network and says on the console is kept in `events`."""

    def __init__(self, inbox: int, outbox: IO[bytes]) -> None:
        self._inbox, self._outbox = inbox, outbox
        self._messages: deque[bytes] = deque()
        self._parts: list[bytes] = []  # of a message that has not ended
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for room in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{room}.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._outbox.write(
            json.dumps(message | ({"sessionId": self._session} if self._session else {})).encode() + b"\0"
        )
        self._outbox.flush()
        while (answer := self._read()).get("id") != self._number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def _read(self) -> dict[str, Any]:
        while not self._messages:
            part = os.read(self._inbox, 1 << 20)
            assert part, "the browser has gone"
            first, *others = part.split(b"\0")
            self._parts.append(first)
            for other in others:
                self._messages.append(b"".join(self._parts))
                self._parts = [other]
        return json.loads(self._messages.popleft())

    def open(self, url: str, width: int = 1280, scheme: str = "light") -> None:
        """Open a page and wait until it is loaded."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def run(self, script: str) -> Any:
        """Return the value of an expression, awaited where it is a promise."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def take_picture(self, path: Path, height: int | None = None) -> None:
        """Write the whole page, or its first pixels, as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"], "scale": 1}
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(shot["data"]))

    @property
    def requests(self) -> list[str]:
        """The addresses that the page asked for, data in addresses left out."""
        asked = (one["params"]["request"]["url"] for one in self._of("Network.requestWillBeSent"))
        return [url for url in asked if not url.startswith("data:")]

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """The errors and warnings of the page, and what its scripts write."""
        return [
            *self._of("Log.entryAdded"),
            *self._of("Runtime.consoleAPICalled"),
            *self._of("Runtime.exceptionThrown"),
        ]

    def _of(self, method: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event.get("method") == method]


@contextmanager
def open_browser(folder: Path) -> Iterator[Browser]:
    """Start a browser whose files are in a folder, and end it."""
    assert PROGRAM is not None
    (browser_reads, we_write), (we_read, browser_writes) = os.pipe(), os.pipe()
    given = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (browser_reads, browser_writes)]  # out of the way of 3 and 4
    line = [sys.executable, "-c", START, *map(str, given), PROGRAM, *OPTIONS, f"--user-data-dir={folder / 'profile'}"]
    with subprocess.Popen(line, pass_fds=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        for fd in (browser_reads, browser_writes, *given):
            os.close(fd)
        with os.fdopen(we_write, "wb") as outbox:
            try:
                yield Browser(we_read, outbox)
            finally:
                process.kill()
                os.close(we_read)
