"""The clients of Qdrant servers, of which a process has one for each server.

`qdrant_client` takes a second to import.
"""

from __future__ import annotations

import atexit
import re
import threading
from typing import Any

from citewell.retrieval.backend.contract import backend_error
from citewell.retrieval.backend.qdrant_faults import failing
from citewell.retrieval.backend.server_address import ServerAddress
from citewell.sources.web.keys import find_key

KEY_VARIABLES = ("CITEWELL_QDRANT_KEY", "QDRANT_API_KEY")
KEY_NAME = "qdrant"
OLDEST = (1, 11)
"""The first version with indexes of integers on disk; float16 vectors and the query API came with
1.10, indexes of integers that only look up or only compare with 1.8, sparse vectors with 1.7."""
_clients: dict[tuple[object, ...], Any] = {}
_lock = threading.Lock()


def connect(address: ServerAddress, seconds: float) -> Any:
    """The client of a server whose version is supported.

    `seconds` limits each request. Raises `CitewellError`.
    """
    headers = key_headers(address)
    named = (address.url, seconds, *headers.values())
    with _lock:
        client = _clients.get(named)
        if client is None:
            if not _clients:
                # At the end of the interpreter, a client can no longer close its connection.
                atexit.register(close_clients)
            client = _clients[named] = _client(address, seconds, headers)
    with failing(address):
        version = str(client.info().version)
    number = re.match(r"(\d+)\.(\d+)", version)
    if number is None or (int(number[1]), int(number[2])) < OLDEST:
        wanted = ".".join(map(str, OLDEST))
        message = f"{address.url} is Qdrant {version}; version {wanted} or newer is needed."
        raise backend_error("backend-server", message)
    return client


def close_clients() -> None:
    """Close the connections to all servers; the next `connect` opens new ones."""
    with _lock:
        clients = list(_clients.values())
        _clients.clear()
    for client in clients:
        client.close()


def key_headers(address: ServerAddress) -> dict[str, str]:
    """The header with the key, empty without one. Raises `CitewellError` where that would be sent
    unencrypted over a network."""
    key = find_key(KEY_VARIABLES, KEY_NAME)
    if key is None:
        return {}
    if not address.tls and not address.is_local:
        message = f"The key of {key.origin} is not sent unencrypted to {address.host}."
        raise backend_error("backend-key", message)
    return {"api-key": key.value}


def _client(address: ServerAddress, seconds: float, headers: dict[str, str]) -> Any:
    try:
        import qdrant_client
    except ImportError:
        message = "A Qdrant server needs a package that is not installed."
        raise backend_error("backend-not-installed", message) from None
    # The key as a header: the client warns of one without encryption, which is decided above.
    return qdrant_client.QdrantClient(
        url=address.url, headers=headers, timeout=max(1, round(seconds)), prefer_grpc=False,
        check_compatibility=False, trust_env=not address.is_local,
    )  # fmt: skip
