"""Hostile requests: bytes that somebody might send to a server of studies, with the token and without it."""

from __future__ import annotations

import contextlib
import json
import random
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

from bostruct.serving.service import OF_SERVER, OPERATIONS

ODD: list[Any] = [None, True, 0, -1, 1, 2**63, 10**40, 0.5, 1e308, "", "a", "b", "../b", "\u0000", "\ud800", "é" * 99]
ODD += [[], [1], [[1, 2]], {}, {"a": 1}, {"$ne": 1}, "os:system", "__class__", "x" * 5000, "1; DROP TABLE trials"]
FIELDS = {name: one.fields for name, one in OPERATIONS.items()} | OF_SERVER | {"": ()}
PATHS = ["/", "//v1", "/v1/", "/v1?token=a", "/v1#", "/v2", "/../../etc/passwd", "/%2e%2e/etc/passwd", "/v1%00", "*"]
PATHS += ["http://evil.com/v1", "/v1/../v1", "\\v1", "/" + "a" * 9000, "/v1 HTTP/1.1\r\nX: y"]
BODIES = [b"", b"{", b"[]", b"null", b"\xff\xfe", b"\x80\x04.", b"{}" * 99, b'{"a":' * 9000, b'{"request":"\xc3\x28"}']
BODIES += [b'{"request":"ask","n":NaN}', b'{"request":"ask","n":1e999}', b'{"a":' + b"[" * 50_000]
BODIES += [b'{"a":' + b"9" * 9000 + b"}"]
METHODS = ["GET", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "X", "POST\0"]
LENGTHS = ["-1", "1e9", "99999999999999999999", "1048577", "abc", "", "+5", "0x10", "5\r\nContent-Length: 6", "999"]
STARTS = [b"", b"\x16\x03\x01\x02\x00\x01\x00", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n\r\n", b"GET /\r\n\r\n"]
STARTS += [b"SSH-2.0-x\r\n"]

Attack = Callable[[random.Random, str], bytes]


def request(
    body: bytes, token: str, path: str = "/v1", method: str = "POST", host: str = "localhost", more: str = ""
) -> bytes:
    """A request over HTTP that is in order, unless what it is given is not."""
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Length: {len(body)}\r\n{more}\r\n"
    return head.encode("utf-8", "surrogateescape") + body


def _ask() -> bytes:
    return json.dumps({"request": "ask", "study": "a"}).encode()


def wrong_token(rng: random.Random, token: str) -> bytes:
    wrong = rng.choice(["", "a", token[:-1], token + "a", token.swapcase(), "\udcff" * 9, "a" * 9000])
    if rng.random() < 0.3:
        more = rng.choice([f"Authorization: Bearer {token}\r\n", f"Cookie: token={token}\r\n", f"X-Token: {token}\r\n"])
        return request(_ask(), wrong, f"/v1?token={token}", more=more)
    return request(_ask(), wrong)


def wrong_host(rng: random.Random, token: str) -> bytes:
    host = rng.choice(["evil.com", "127.0.0.1.evil.com", "", "a@localhost", "[::1", "localhost\r\nHost: evil.com"])
    return request(_ask(), token, host=host)


def wrong_origin(rng: random.Random, token: str) -> bytes:
    more = rng.choice(["Origin: http://evil.com", "Origin: null", "Sec-Fetch-Site: cross-site", "Origin: file://"])
    return request(_ask(), token, more=f"{more}\r\n")


def wrong_method(rng: random.Random, token: str) -> bytes:
    return request(_ask(), token, method=rng.choice(METHODS))


def wrong_path(rng: random.Random, token: str) -> bytes:
    return request(_ask(), token, path=rng.choice(PATHS))


def wrong_head(rng: random.Random, token: str) -> bytes:
    many = "".join(f"X-{i}: {i}\r\n" for i in range(rng.choice([90, 200, 900, 5000])))
    long = "X: " + "a" * rng.choice([9000, 70_000]) + "\r\n"
    return request(_ask(), token, more=rng.choice([many, long, "nocolon\r\n", "A\0: \0\r\n", " folded\r\n"]))


def wrong_length(rng: random.Random, token: str) -> bytes:
    length = rng.choice(LENGTHS)
    chunked = "Transfer-Encoding: chunked\r\n" if rng.random() < 0.3 else ""
    whole = request(_ask(), token, more=chunked)
    return whole.replace(f"Content-Length: {len(_ask())}".encode(), f"Content-Length: {length}".encode())


def huge_body(rng: random.Random, token: str) -> bytes:
    return request(b" " * rng.choice([1_048_577, 3_000_000]), rng.choice([token, "wrong"]))


def wrong_json(rng: random.Random, token: str) -> bytes:
    return request(rng.choice(BODIES), token)


def wrong_fields(rng: random.Random, token: str) -> bytes:
    kind = rng.choice([name for name in FIELDS if name != "finish"])
    known = [*FIELDS[kind], *FIELDS[kind], "key", "id", "protocol", "x"]
    fields = {name: rng.choice(ODD) for name in rng.sample(known, rng.randrange(min(len(known), 4)))}
    needed = {"trial": 0, "point": {"x": 1, "y": 2}, "value": 1}
    fields |= {name: part for name, part in needed.items() if name in FIELDS[kind] and name not in fields}
    said = {"request": kind, "study": rng.choice([*["a"] * 8, None, 5, "c"]), **fields}
    return request(json.dumps(said).encode(), token)


def others_trials(rng: random.Random, token: str) -> bytes:
    said = {"request": rng.choice(["tell", "requeue", "renew"]), "study": "a", "trial": rng.randrange(10**6, 10**9)}
    return request(json.dumps(said | ({"value": 0} if said["request"] == "tell" else {})).encode(), token)


def two_requests(rng: random.Random, token: str) -> bytes:
    del rng
    both = _ask() + request(json.dumps({"request": "finish", "study": "b"}).encode(), token)
    lengths = (f"Content-Length: {len(body)}".encode() for body in (both, _ask()))
    return request(both, token).replace(*lengths)


def garbage(rng: random.Random, token: str) -> bytes:
    del token
    return rng.choice(STARTS) + rng.randbytes(rng.randrange(200))


ATTACKS: list[Attack] = [wrong_token, wrong_host, wrong_origin, wrong_method, wrong_path, wrong_head, wrong_length]
ATTACKS += [huge_body, wrong_json, wrong_fields, wrong_fields, wrong_fields, others_trials, two_requests, garbage]


def shoot(port: int, sent: bytes, rng: random.Random) -> bytes:
    """Send bytes to a server, perhaps in pieces, perhaps without waiting for the answer, and return the answer."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, contextlib.suppress(OSError):
        if rng.random() < 0.1:
            sent = sent[: rng.randrange(len(sent) + 1)]
        if rng.random() < 0.1:  # gone before the answer, with a reset
            connection.sendall(sent)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return b""
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(65536):
            answer += part
    return answer


def drip(port: int, sent: bytes, seconds: float) -> float:
    """Send a byte now and then (slow loris) until the server ends the connection; return the seconds that it took."""
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, contextlib.suppress(OSError):
        for byte in sent:
            connection.sendall(bytes([byte]))
            time.sleep(0.2)
            if time.monotonic() - began > seconds:
                break
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                if connection.recv(1) == b"":
                    break
            connection.setblocking(True)
    return time.monotonic() - began
