"""Answers that are encoded already, and how they are sent."""

import os
import threading

from citewell.lsp.protocol.jsonrpc import _PipeWriter


def test_a_long_message_arrives_whole_before_the_next_one():
    source, sink = os.pipe()
    message = b"head" + b"long" * 500_000 + b"tail"

    def write() -> None:
        with os.fdopen(sink, "wb") as stream:
            writer = _PipeWriter(stream)
            writer.write(message)
            writer.write(b"next")

    writing = threading.Thread(target=write)
    writing.start()
    with os.fdopen(source, "rb") as stream:
        found = stream.read()
    writing.join()
    assert found == message + b"next"


def test_an_editor_that_is_gone_ends_no_write_with_an_error():
    source, sink = os.pipe()
    os.close(source)
    stream = os.fdopen(sink, "wb", buffering=0)
    _PipeWriter(stream).write(b"headtail")
    stream.close()
