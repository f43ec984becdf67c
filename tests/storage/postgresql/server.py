"""A PostgreSQL server of the tests' own, from the system's package, in a temporary folder."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PASSWORD = "pl@nted/secret"  # which no message may show
QUOTED = "pl%40nted%2Fsecret"
HBA = "local all all trust\nlocal replication all trust\nhost all all all scram-sha-256\n"


def find_programs() -> Path | None:
    """Return the folder with initdb and postgres, None where there is none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if (found := shutil.which("initdb")) is not None:
        folders.append(Path(found).resolve().parent)
    return next((folder for folder in reversed(folders) if (folder / "initdb").exists()), None)


def lower_rights() -> list[str]:
    """Return what makes a command run as another user, since PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return []
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]


def why_not() -> str | None:
    """Say why no server can be started, None where one can."""
    if find_programs() is None:
        return "no PostgreSQL server is installed (apt-get install postgresql)"
    if os.getuid() == 0:
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            return "PostgreSQL does not run as root, and there is no user postgres"
        if shutil.which("setpriv") is None:
            return "PostgreSQL does not run as root, and there is no setpriv"
    return None


class Server:
    """A server with the user `ann`, who is let in on the socket, and with PASSWORD over TCP.

    settings: of its configuration, by name.
    options: of initdb, besides ours.
    primary: the server of which it is a standby; None for none.
    """

    def __init__(
        self, settings: dict[str, str] | None = None, options: Sequence[str] = (), primary: Server | None = None
    ) -> None:
        self._given = settings or {}
        found = find_programs()
        assert found is not None
        self.programs = found
        self.folder = Path(tempfile.mkdtemp(prefix="bostruct-pg-"))
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        if primary is not None:
            self._follow(primary)
            return
        ours = ["-U", "ann", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
        self.run([self.programs / "initdb", "-D", self.folder / "data", *ours, *options])
        self.write("data/pg_hba.conf", HBA)
        self.start()
        self.query(f"ALTER USER ann PASSWORD '{PASSWORD}'")

    def _follow(self, primary: Server) -> None:
        source = ["-h", primary.folder, "-p", primary.port, "-U", "ann"]
        self.run(
            [
                self.programs / "pg_basebackup",
                *source,
                "-D",
                self.folder / "data",
                "-R",
                "--no-sync",
                "--checkpoint=fast",
            ]
        )
        self.start()

    def run(self, command: Sequence[object]) -> None:
        """Run a program as the user that owns the server."""
        subprocess.run([*lower_rights(), *map(str, command)], check=True, capture_output=True, cwd="/")

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.write_text(text)

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = {"fsync": "off", "listen_addresses": "127.0.0.1", "unix_socket_directories": str(self.folder)}
        settings |= {"port": str(self.port), "max_connections": "60", "shared_buffers": "16MB", "log_statement": "none"}
        settings |= self._given
        given = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [*lower_rights(), str(self.programs / "postgres"), "-D", str(self.folder / "data"), *given]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, cwd="/")
        self.await_answer()

    def await_answer(self) -> None:
        """Wait until the server answers."""
        deadline = time.monotonic() + 60
        while True:
            try:
                self.query("SELECT 1", database="postgres")
                return
            except Exception:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop the server: SIGINT ends its sessions first, SIGQUIT leaves all to the recovery at the next start."""
        if self._process is not None:
            sessions = self.find_processes()[1:]  # which outlive it for a moment after SIGKILL
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None
            while any(Path(f"/proc/{process}").exists() for process in sessions):
                time.sleep(0.01)

    def find_processes(self) -> list[int]:
        """Return its own process, and then those of its sessions and of its housekeeping; none while it is down."""
        if self._process is None:
            return []
        main = self._process.pid
        try:
            children = Path(f"/proc/{main}/task/{main}/children").read_text()
        except OSError:  # it has just ended
            return []
        return [main, *map(int, children.split())]

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def query(self, statement: str, database: str = "postgres") -> list[Any]:
        """Run a statement as the user ann, and return what it selects."""
        import psycopg

        with psycopg.connect(self.socket_url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)  # type: ignore[arg-type]
            return cursor.fetchall() if cursor.description else []

    def socket_url(self, database: str) -> str:
        return f"postgresql://ann@/{database}?host={self.folder}&port={self.port}"

    def tcp_url(self, database: str, port: int | None = None, password: str = QUOTED) -> str:
        return f"postgresql://ann:{password}@127.0.0.1:{port or self.port}/{database}"


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
