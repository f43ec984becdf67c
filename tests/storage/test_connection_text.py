"""Texts by which programs connect, of which messages show all but what is secret."""

from __future__ import annotations

import pytest

from bostruct.storage.postgresql.connecting import hide_passwords, is_connection


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("got 'postgresql://ann:hunter2@db/runs'", "got 'postgresql://ann:***@db/runs'"),
        ("got postgres:/ann:hun ter2/@@db:5432/runs", "got postgres:/ann:***@db:5432/runs"),
        ("got mysql:/ann:hunter2@db/runs, and so on", "got mysql:/ann:***@db/runs, and so on"),
        ("got 'postgresql://ann:hunter2...", "got 'postgresql://ann:***"),
        ("postgresql://db/runs?user=ann&password=hunter2&port=5", "postgresql://db/runs?user=ann&password=***&port=5"),
        ("host=db password = 'hun ter2' user=ann", "host=db password = *** user=ann"),
        ("user=ann pass=hunter2 host=db", "user=ann pass=*** host=db"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=*** psql"),
        ("//ann:hunter2@db/runs", "//ann:***@db/runs"),
    ],
)
def test_a_password_is_not_shown(text: str, shown: str) -> None:
    assert hide_passwords(text) == shown
    assert hide_passwords(shown) == shown


@pytest.mark.parametrize(
    "text",
    ["storage: expected postgresql://user@host:port/database", "postgresql://db:5432/runs", "http://127.0.0.1:8000/v1"],
)
def test_what_is_no_password_stays(text: str) -> None:
    assert hide_passwords(text) == text


PATHS = """runs.db /data/ann@lab/runs.db C:/data/a:b@c.db password/postgres.db 12:30@lab.db pass=3.db runs@lab 12:30
//server/share/ann@lab/runs.db seed=3,pass=2 user=ann,host=lab.db"""
CONNECTIONS = """ann:hunter2@h/db postgresql//ann:hunter2@h/db postgresql;//h/db postgresql:/ann@h/db ann:hunter2@host
ann:hun@ter2@host:5432 //ann:hunter2@host/db PGPASSWORD=hunter2 pass=hunter2"""


@pytest.mark.parametrize("path", [*PATHS.split(), "lr=0.1 host=lab.db", "compass=1 user.db"])
def test_a_path_is_no_connection(path: str) -> None:
    assert not is_connection(path)


@pytest.mark.parametrize(
    "text",
    [
        *CONNECTIONS.split(),
        "export PGPASSWORD=hunter2",
        "user=ann pass=hunter2 host=h",
        "Server=h;User=ann;Pwd=hunter2",
    ],
)
def test_a_url_with_letters_too_few_is_a_connection(text: str) -> None:
    assert is_connection(text)
