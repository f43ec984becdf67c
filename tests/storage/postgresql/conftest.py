"""A server for the tests, and an empty database for each."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from itertools import count

import pytest

from tests.storage.postgresql.server import Server, why_not

_numbers = count()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if importlib.util.find_spec("psycopg") is None:
        pytest.skip("psycopg is not installed: it comes with the extra postgresql")
    if (why := why_not()) is not None:
        pytest.skip(why)
    started = Server()
    yield started
    started.remove()


@pytest.fixture
def database(server: Server) -> str:
    """The name of an empty database."""
    name = f"db{next(_numbers)}"
    server.query(f"CREATE DATABASE {name}")
    return name


@pytest.fixture
def url(server: Server, database: str) -> str:
    return server.socket_url(database)
