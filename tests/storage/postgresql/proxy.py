"""A way to a server that can be cut, or stand still, at any moment."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

COMMIT = b"COMMIT\0"


class Proxy:
    """A TCP port of this machine that leads to another one.

    port: of the server.
    """

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._flows = threading.Event()
        self._flows.set()
        self.refuses = False  # who connects is sent away
        self.on_request: Callable[[bytes], str] = lambda _: "pass"  # or "drop" (before it), "deliver" (and then drop)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _end(*pair)

    def hold(self) -> None:
        """Carry nothing in either direction, and tell nobody; who connects waits."""
        self._flows.clear()

    def go_on(self) -> None:
        """Carry all that was held back, and what follows."""
        self._flows.set()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # so that accept returns
        self._listener.close()
        self.cut()
        self.go_on()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._flows.wait()
                if self.refuses:
                    client.close()
                    continue
                try:
                    server = socket.create_connection(("127.0.0.1", self._server))
                except OSError:  # it is down
                    client.close()
                    continue
                self._pairs.append((client, server))
                threading.Thread(target=self._carry, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._carry, args=(server, client, False), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                fate = self.on_request(data) if is_request else "pass"
                if fate == "drop":
                    break
                if fate == "deliver":  # the server gets it, and its answer meets nobody
                    _half_close(source)
                    target.sendall(data)
                    while target.recv(65536):
                        pass
                    break
                target.sendall(data)
        _end(source, target)


def _half_close(client: socket.socket) -> None:
    client.shutdown(socket.SHUT_RDWR)


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()
