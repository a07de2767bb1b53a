"""Answers that are encoded already, and how they are sent."""

import os
import threading

from citewell.lsp.protocol.jsonrpc import _PipeWriter


def test_a_message_in_parts_arrives_whole_and_in_order_before_the_next_one():
    source, sink = os.pipe()
    parts = (b"head", b"long" * 500_000, b"tail")

    def write() -> None:
        with os.fdopen(sink, "wb") as stream:
            writer = _PipeWriter(stream)
            writer.write_parts(parts)
            writer.write(b"next")

    writing = threading.Thread(target=write)
    writing.start()
    with os.fdopen(source, "rb") as stream:
        found = stream.read()
    writing.join()
    assert found == b"".join(parts) + b"next"


def test_an_editor_that_is_gone_ends_no_write_with_an_error():
    source, sink = os.pipe()
    os.close(source)
    stream = os.fdopen(sink, "wb", buffering=0)
    _PipeWriter(stream).write_parts((b"head", b"tail"))
    stream.close()
