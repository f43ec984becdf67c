"""Reports in a headless Chromium, where one is installed: dark and light, wide and narrow, alone and live."""

from __future__ import annotations

import threading
import time

import pytest

import bostruct as bo
from bostruct.analysis.report.facts import read_run
from bostruct.analysis.report.page import render_page
from bostruct.cli import live_page
from bostruct.cli.live_page import LivePage, WatchServer
from tests.analysis.report.runs import make_hostile, make_plain
from tests.browser import needs_browser, open_browser

pytestmark = [needs_browser, pytest.mark.slow]
LEAST_CONTRAST = 4.5  # of text, WCAG 2.1 AA
CONTRASTS = """(() => {
  const read = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => read(color).slice(0, 3).map(x => x / 255)
    .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (let one = element; one; one = one.parentElement) {
      const color = getComputedStyle(one).backgroundColor;
      if ((read(color)[3] ?? 1) > 0) return color;
    }
  };
  return [...document.querySelectorAll('p,h1,h2,h3,a,td,th,th button,caption,figcaption,code')].map(element => {
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }).reduce((least, one) => Math.min(least, one), 99);
})()"""
COLUMN = "[...document.querySelectorAll('table.sortable')].at(-1).tBodies[0].rows"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    studies = [make_hostile(12), make_plain(directions=["minimize", "minimize"]), make_plain()]
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(render_page([read_run(study) for study in studies], "runs.db"), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_whole_by_itself(browser, file, width, scheme, tmp_path):
    browser.open(file.as_uri(), width, scheme)
    assert browser.requests == [file.as_uri()]
    assert browser.complaints == []
    assert browser.run("[...document.images].length >= 5 && [...document.images].every(one => one.naturalWidth > 99)")
    assert browser.run("document.documentElement.scrollWidth <= innerWidth")
    assert browser.run(CONTRASTS) >= LEAST_CONTRAST
    is_dark = browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 28)"
    assert is_dark == (scheme == "dark")
    browser.take_picture(tmp_path / "page.png", 900)
    assert (tmp_path / "page.png").stat().st_size > 10_000


def test_a_table_is_sorted_by_a_button(browser, file):
    browser.open(file.as_uri())
    read = f"[...{COLUMN}].map(row => Number(row.cells[2].textContent))"
    numbers = browser.run(read)
    click = "[...document.querySelectorAll('table.sortable')].at(-1).tHead.querySelectorAll('button')[2].click()"
    browser.run(click)
    assert browser.run(read) == sorted(numbers)
    browser.run(click)
    assert browser.run(read) == sorted(numbers, reverse=True)
    assert browser.run("document.querySelectorAll('[aria-sort=descending]').length") == 1


def test_the_keyboard_finds_the_way_past_the_links(browser, file):
    browser.open(file.as_uri())
    for kind in ("keyDown", "keyUp"):
        browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    assert browser.run("document.activeElement.textContent") == "Skip to the report"
    assert browser.run("document.activeElement.getBoundingClientRect().left >= 0")
    assert browser.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_a_live_page_follows_without_losing_its_place(browser, tmp_path, monkeypatch):
    monkeypatch.setattr(live_page, "LEAST_PAUSE", 0.0)
    monkeypatch.setattr(live_page, "FOLLOW", live_page.FOLLOW.replace("2000", "50"))
    with bo.Study({"a": range(60)}, method="random", seed=0, storage=tmp_path / "r.db") as study:
        for _ in range(30):
            study.tell(trial := study.ask(), float(trial.number))
        page = LivePage(str(tmp_path / "r.db"))
        with WatchServer("127.0.0.1", 0, page.read) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            browser.open(server.page_url, 400)
            assert server.token not in browser.run("location.href")
            rows = f"{COLUMN}.length"
            place = "[scrollY, [...document.querySelectorAll('.scroll')].at(-2).scrollTop]"
            browser.run("[...document.querySelectorAll('table.sortable')].at(-1).tHead.querySelector('button').click()")
            browser.run("[...document.querySelectorAll('table.sortable')].at(-1).tHead.querySelector('button').click()")
            browser.run("window.stays = document.querySelector('footer'); window.scrollTo(0, 700)")
            assert browser.run(rows) == 30
            study.tell(study.ask(), 99.0)
            deadline = time.monotonic() + 60
            while browser.run(rows) < 31:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert browser.run(f"{COLUMN}[0].cells[0].textContent") == "30"  # sorted downwards, as before
            assert browser.run("document.activeElement.textContent !== '' && scrollY") == 700
            assert browser.run("stays === document.querySelector('footer')")
            assert browser.run(place)[0] == 700
            assert [one for one in browser.complaints if "304" not in str(one)] == []
            server.shutdown()
            study.close()
