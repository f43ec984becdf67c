"""Servers in this process, and requests to them."""

from __future__ import annotations

import http.client
import json
import threading
from contextlib import contextmanager

import bostruct as bo
from bostruct.serving.service import Service
from bostruct.serving.transports import StudyServer

SPACE = {"a": range(9), "b": [True, False]}
JSON_SPACE = {"variables": {"x": {"kind": "Real", "low": 0, "high": 1}, "k": {"kind": "Ordinal", "choices": [1, 2, 4]}}}


def make_service(*names, create=False, space=SPACE, **settings):
    """A service of studies in memory, which search at random unless told otherwise."""
    settings = {"method": "random", "seed": 0} | settings
    studies = [bo.Study(space, name=name, **settings) for name in names]
    return Service(studies, (lambda description: description.make(None)) if create else None)


def ask(service, request, **fields):
    """The answer of a service, as a client reads it."""
    answer = service.answer(json.dumps({"request": request, **fields}).encode())
    data = json.loads(answer.body)
    assert data["ok"] == (answer.status == 200)
    assert answer.body.endswith(b"}\n")
    assert answer.body.count(b"\n") == 1
    return data


def code_of(service, request, **fields):
    """The code of the refusal that a request meets."""
    return ask(service, request, **fields)["error"]["code"]


@contextmanager
def run_server(service, **settings):
    """A server of studies in a thread."""
    with StudyServer(service, **settings) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def post(server, body, path="/v1", method="POST", token=None, timeout=60, **headers):
    """Status and answer of a request over HTTP."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=timeout)
    given = {"Authorization": f"Bearer {server.token if token is None else token}"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    try:
        connection.request(method, path, text, {name: value for name, value in given.items() if value is not None})
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None
    finally:
        connection.close()
