"""What is answered to a request, and what of it is logged."""

from __future__ import annotations

import json
from concurrent.futures import Future
from typing import Any

import pytest
from pygls.exceptions import JsonRpcContentModified, JsonRpcInternalError

from citewell.lsp.protocol.jsonrpc import Protocol
from citewell.lsp.server import create_server


class Sent:
    """A writer that keeps what is sent."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(
    ("error", "is_logged"), [(JsonRpcContentModified(), False), (JsonRpcInternalError(), True)]
)
def test_a_request_that_an_edit_has_overtaken_is_answered_and_not_logged(
    error: Any, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = create_server()
    protocol, sent = server.protocol, Sent()
    assert isinstance(protocol, Protocol)
    protocol.set_writer(sent)
    future: Future[Any] = Future()
    future.set_exception(error)
    protocol._send_handler_result(future, msg_id=7)
    answer = json.loads(sent.data.partition(b"\r\n\r\n")[2])
    assert (answer["id"], answer["error"]["code"]) == (7, error.CODE)
    assert bool(caplog.records) == is_logged
    server.shutdown()
