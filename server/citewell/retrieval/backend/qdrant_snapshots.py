"""Snapshots of a collection: one file from a server, and back into a server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.retrieval.backend.contract import backend_error
from citewell.retrieval.backend.qdrant_connect import key_headers
from citewell.retrieval.backend.qdrant_faults import failing, refused
from citewell.retrieval.backend.server_address import ServerAddress

if TYPE_CHECKING:
    import httpx


WRITING_SECONDS = 60.0
"""Limit of each request that writes, and of each block of a file."""


def download(address: ServerAddress, client: Any, name: str, into: Path) -> Path:
    """Have the server make a snapshot of a collection, write it into the folder, and remove it
    from the server.

    The file, with nothing else in the folder when this raises `CitewellError` or `OSError`.
    """
    with failing(address):
        remote = client.collection_cluster_info(name).remote_shards
    if remote:
        message = f"{address} is spread over several servers; make a snapshot on each of them."
        raise backend_error("backend-failed", message)
    into.mkdir(parents=True, exist_ok=True)
    with failing(address), _http(address) as http:
        made = http.post(f"/collections/{name}/snapshots", params={"wait": "true"})
        if made.status_code != 200:
            raise refused(address, made.status_code, made.content)
        snapshot = Path(str(made.json()["result"]["name"])).name
        path = f"/collections/{name}/snapshots/{snapshot}"
        part, whole = into / f"{snapshot}.part", into / snapshot
        try:
            with http.stream("GET", path) as answer, part.open("wb") as file:
                if answer.status_code != 200:
                    raise refused(address, answer.status_code, answer.read())
                for block in answer.iter_bytes():
                    file.write(block)
                file.flush()
                os.fsync(file.fileno())
            part.replace(whole)
        finally:
            part.unlink(missing_ok=True)
            http.delete(path)
    return whole


def upload(address: ServerAddress, name: str, file: Path) -> None:
    """Have the server make a collection of a snapshot. Raises `CitewellError` or `OSError`."""
    with failing(address), file.open("rb") as stream, _http(address) as http:
        answer = http.post(
            f"/collections/{name}/snapshots/upload",
            params={"priority": "snapshot", "wait": "true"},
            files={"snapshot": (file.name, stream)},
        )
        if answer.status_code != 200:
            raise refused(address, answer.status_code, answer.content)


def _http(address: ServerAddress) -> httpx.Client:
    """For whole files, which the client of the package would read into memory."""
    import httpx

    timeout: Any = httpx.Timeout(WRITING_SECONDS, read=None)
    return httpx.Client(
        base_url=address.url, headers=key_headers(address), timeout=timeout,
        trust_env=not address.is_local,
    )  # fmt: skip
