"""URLs of databases, and what of them a person may see: no password, whatever goes wrong."""

from __future__ import annotations

import importlib
import logging
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

import bostruct as bo
from bostruct.cli import main
from bostruct.contracts import BostructError, MissingExtra
from bostruct.storage.backends import open_storage
from bostruct.storage.postgresql import connecting, session
from bostruct.storage.postgresql.connecting import Place, is_url
from bostruct.storage.postgresql.sql import SqlConnection
from bostruct.storage.protocol import StorageError
from tests.storage.postgresql.proxy import Proxy
from tests.storage.postgresql.server import PASSWORD, QUOTED, free_port

SPACE = {"a": range(9)}
PARTS = (PASSWORD, QUOTED, "pl@nted", "nted/", "s3cr3t")


@pytest.mark.parametrize(
    ("given", "label"),
    [
        ("postgresql://ann:s3cr3t@db.lab:5433/runs", "postgresql://ann@db.lab:5433/runs"),
        ("postgres://ann@db.lab/runs?password=s3cr3t&sslmode=require", "postgresql://ann@db.lab/runs?sslmode=require"),
        ("postgresql://ann:s3cr3t@/runs?host=/tmp/a&port=5", "postgresql://ann@/runs?host=/tmp/a&port=5"),
        ("postgresql://h1:1,h2:2/a%20b", "postgresql:///a%20b?host=h1%2Ch2&port=1%2C2"),
        ("postgresql://a%40b:s3cr3t@[::1]:5/d?sslpassword=s3cr3t", "postgresql://a%40b@/d?host=%3A%3A1&port=5"),
        ("postgresql://", "postgresql:///"),
    ],
)
def test_the_label_says_all_but_what_is_secret_and_opens_the_same(given: str, label: str) -> None:
    pytest.importorskip("psycopg")
    place = Place(given)
    assert is_url(given)
    assert place.label == label
    assert Place(label).label == label
    keys = {"password", "sslpassword"}
    assert Place(label)._parameters == {k: v for k, v in place._parameters.items() if k not in keys}


@pytest.mark.parametrize(
    "given",
    [
        "postgresql://ann:p@s3cr3t@h/d",
        "postgresql://ann:p/s3cr3t@h/d",
        "postgresql://ann:s3cr3t@h:port/d",
        "postgresql://ann:s3cr3t%zz@h/d",
        "postgresql://ann:s3cr3t@h/d?nonsense=1",
        "postgresql://ann:s3cr3t@h/\0",
        "postgresql+psycopg://ann:s3cr3t@h/d",
        "mysql://ann:s3cr3t@h/d",
    ],
)
def test_what_is_no_url_is_refused_without_being_shown(given: str) -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(StorageError, match=r"^storage: expected ") as caught:
        open_storage(given)
    chain: BaseException | None = caught.value
    while chain is not None:
        assert "s3cr3t" not in repr(chain)
        chain = chain.__cause__ or chain.__context__


def test_without_psycopg_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"it comes with the extra 'postgresql': pip install") as caught:
        bo.Study(SPACE, storage="postgresql://ann:s3cr3t@h/d")
    assert "s3cr3t" not in str(caught.value)
    monkeypatch.undo()
    importlib.invalidate_caches()


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """All that was said, in which the test ends by looking for parts of the password."""
    found: list[str] = []
    with caplog.at_level(logging.DEBUG, "psycopg"), caplog.at_level(logging.DEBUG, "bostruct"):
        yield found
    found.append(caplog.text)
    for text in found:
        assert not [part for part in PARTS if part in text], text


def run(*arguments: str) -> Any:
    return CliRunner().invoke(main, arguments)


def catch(said: list[str], step: Callable[[], Any], message: str) -> None:
    with pytest.raises(BostructError, match=message) as caught:
        step()
    chain: BaseException | None = caught.value
    while chain is not None:
        said += [*traceback.format_exception_only(chain), repr(chain), *map(str, getattr(chain, "__notes__", ()))]
        chain = chain.__cause__ or chain.__context__


def test_no_error_shows_the_password(server, database, said, monkeypatch, tmp_path):
    monkeypatch.setattr(session, "RECONNECT_SECONDS", 0.2)
    monkeypatch.setattr(connecting, "OPEN_SECONDS", 0.2)
    proxy = Proxy(server.port)
    url = server.tcp_url(database, proxy.port)

    def open_study(at: str = url, **given: Any) -> bo.Study:
        return bo.Study(SPACE, **({"method": "random", "seed": 0, "storage": at} | given))

    catch(said, lambda: open_study(server.tcp_url(database, free_port())), "cannot be opened: .*refused")
    wrong = server.tcp_url(database, password="s3cr3t")
    catch(said, lambda: open_study(wrong), "cannot be opened: .*password authentication failed")
    catch(said, lambda: open_study(server.tcp_url("nowhere")), "database .nowhere. does not exist")
    catch(said, lambda: open_study(server.tcp_url(database) + "?sslmode=require"), "SSL")
    catch(said, lambda: bo.Study.load(url), "there is no study|contains none")
    study = open_study()
    said += [repr(study), str(study.where), study._repr_html_(), repr(study._place), repr(study._ledger.store)]
    catch(said, lambda: open_study(seed=1), "seed")
    catch(said, lambda: study.save(url), "already contains a study 'study'")
    trial = study.ask()
    proxy.refuses = True
    proxy.cut()
    catch(said, lambda: study.tell(trial, 1.0), "cannot be reached")
    proxy.refuses = False
    execute = SqlConnection.execute
    with monkeypatch.context() as patched:
        patched.setattr(SqlConnection, "execute", lambda self, *_: execute(self, "SELECT 1 / 0"))
        catch(said, lambda: study.tell(trial, 1.0), "division by zero")
    server.query("DROP SCHEMA bostruct CASCADE", database)
    catch(said, lambda: study.tell(trial, 1.0), "tables of bostruct do not exist")
    monkeypatch.chdir(tmp_path)
    with pytest.warns(UserWarning, match="was lost while study") as warned:
        study.close()
    said += [str(one.message) for one in warned]
    (rescued,) = tmp_path.glob("study-rescued-*.db")
    with bo.Study.load(rescued, read_only=True) as kept:
        assert kept.trials[0].value == 1.0
    for file in tmp_path.iterdir():
        said.append(file.read_bytes().decode("latin-1"))
    said.append((server.folder / "log").read_text())
    proxy.close()


def test_no_command_shows_the_password(server, database, said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    url = server.tcp_url(database)
    ran = run("run", "branin", "--method", "random", "--trials", "3", "--storage", url)
    said.append(ran.output)
    assert ran.exit_code == 0, ran.output
    for command in (
        ["show", url],
        ["show", url, "--json"],
        ["report", url, "--out", "a.html"],
        ["show", url, "--name", "no"],
    ):
        said.append(run(*command).output)
    assert (tmp_path / "a.html").exists()
    said += [file.read_text() for file in tmp_path.iterdir()]
    assert f"postgresql://ann@127.0.0.1:{server.port}/{database}" in said[-1]
    said.append(run("copy", url, "b.db").output)
    for command in (
        ["copy", url.replace(QUOTED, "s3cr3t"), "c.db"],
        ["show", url.replace(QUOTED, "s3cr3t")],
        ["watch", "mysql://a:s3cr3t@h/d"],
    ):
        ran = run(*command)
        said.append(ran.output)
        assert ran.exit_code == 3, ran.output
    page = importlib.import_module("bostruct.cli.live_page").LivePage(url)
    said.append(page.read().body.decode())
    before = page.read().tag
    with bo.Study.load(url) as study:
        study.tell(study.ask(), -1e9)
    page._due = 0.0
    assert page.read().tag != before


def test_times_are_in_order() -> None:
    assert connecting.ASK_LOCK_SECONDS < connecting.RENEW_SECONDS < connecting.GONE_SECONDS / 3
    assert connecting.SILENCE_SECONDS + connecting.CONNECT_SECONDS < connecting.GONE_SECONDS
    assert connecting.IDLE_SECONDS < connecting.LOCK_SECONDS < connecting.STATEMENT_SECONDS
