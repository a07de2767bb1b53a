"""A server that does nothing: what transport and decoding of a message cost, whatever answers it.

    python tests/bench/bare_peer.py FILE

Decodes every message, and answers every request with the bytes of FILE as its result. A client that
times the same request to it and to a language server sees what its own reading and decoding take.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def serve(result: bytes) -> None:
    """Answer on stdout what arrives on stdin, until the client is gone or asks to end."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while True:
        length = 0
        while (line := source.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not line:
            return
        message = json.loads(source.read(length))
        if message.get("method") == "exit":
            return
        if "id" in message:
            head = b'{"jsonrpc":"2.0","id":%d,"result":' % message["id"]
            length = len(head) + len(result) + 1
            sink.writelines((b"Content-Length: %d\r\n\r\n" % length, head, result, b"}"))
            sink.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]).read_bytes())
