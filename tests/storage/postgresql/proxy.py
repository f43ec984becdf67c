"""A way to a server that can be cut, or be silent, at any moment."""

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
        self.is_silent = False  # data are swallowed, and nobody is told
        self.refuses = False  # who connects is sent away
        self.on_request: Callable[[bytes], str] = lambda _: "pass"  # or "drop" (before it), "deliver" (and then drop)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """End all connections."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _end(*pair)

    def close(self) -> None:
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.refuses:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server))
                self._pairs.append((client, server))
                threading.Thread(target=self._carry, args=(client, server, True), daemon=True).start()
                threading.Thread(target=self._carry, args=(server, client, False), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self.is_silent:
                    continue
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
