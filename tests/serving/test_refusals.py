"""Codes of refusals: each has a status, and is written of."""

from __future__ import annotations

from http import HTTPStatus
from pathlib import Path

from bostruct.serving.messages import CODES, Refusal

PAGE = Path(__file__).parents[2] / "docs" / "serve.md"


def test_each_code_has_a_status_that_http_knows_and_a_row_on_the_page():
    rows = {
        tuple(cell.strip() for cell in line.split("|")[1:3]) for line in PAGE.read_text().splitlines() if "|" in line
    }
    assert {(f"`{code}`", str(HTTPStatus(status).value)) for code, status in CODES.items()} <= rows


def test_a_refusal_has_its_message_and_facts():
    refusal = Refusal("too_large", "so long", given=3)
    assert (str(refusal), refusal.code, refusal.status, refusal.facts) == ("so long", "too_large", 413, {"given": 3})
