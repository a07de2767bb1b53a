"""The collections behind an address: Citewell writes `NAME-1`, `NAME-2` ..., and NAME is an alias.

What is searched is changed in place while it fits the library's encoder; otherwise another
collection is written beside it, and the alias moves in one request: searches see no gap.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from citewell.model import CitewellError
from citewell.retrieval.backend.contract import (
    HASHES,
    RETRACTED,
    WORDS,
    YEAR,
    State,
    Target,
    backend_error,
)
from citewell.retrieval.backend.qdrant import QdrantBackend
from citewell.retrieval.backend.qdrant_connect import connect
from citewell.retrieval.backend.qdrant_faults import failing
from citewell.retrieval.backend.qdrant_snapshots import WRITING_SECONDS, upload
from citewell.retrieval.backend.server_address import ServerAddress


def open_target(address: ServerAddress, wanted: State, *, fresh: bool) -> Target:
    """The collection to write for a library: the one in use, one that an interrupted run left, or
    a new one. `fresh`: not the one in use. Raises `CitewellError`."""
    client = connect(address, WRITING_SECONDS)
    current, numbers = collections_of(address, client)
    if current and not fresh and _fits(_backend(address, client, current), wanted):
        return Target(_backend(address, client, current), lambda: None)
    name = ""
    for number in sorted(numbers, reverse=True):
        left = f"{address.collection}-{number}"
        if left == current:
            break
        if _fits(_backend(address, client, left), wanted):
            name = left
            break
    if not name:
        name = f"{address.collection}-{max(numbers, default=0) + 1}"
        _create(address, client, name, wanted)
    return Target(_backend(address, client, name), lambda: publish(address, client, name, current))


def restore(address: ServerAddress, file: Path) -> QdrantBackend:
    """Write a snapshot into a new collection and let the address lead there.

    Raises `CitewellError` or `OSError`; what was searched before is then searched still.
    """
    client = connect(address, WRITING_SECONDS)
    current, numbers = collections_of(address, client)
    name = f"{address.collection}-{max(numbers, default=0) + 1}"
    upload(address, name, file)
    backend = _backend(address, client, name)
    if backend.state() is None:
        with failing(address):
            client.delete_collection(name)
        raise backend_error("backend-version", f"{file} is no snapshot of a library.")
    publish(address, client, name, current)
    return backend


def collections_of(address: ServerAddress, client: Any) -> tuple[str, set[int]]:
    """The collection in use, empty if none is, and the numbers of all that Citewell wrote.

    Raises `CitewellError` where the name is that of a collection, which no alias can have.
    """
    with failing(address):
        aliases = {one.alias_name: one.collection_name for one in client.get_aliases().aliases}
        names = [one.name for one in client.get_collections().collections]
    if address.collection in names:
        message = f"{address} is a collection; Citewell needs a name that is free for an alias."
        raise backend_error("backend-address", message)
    pattern = re.compile(rf"{re.escape(address.collection)}-(\d{{1,9}})")
    numbers = {int(found[1]) for found in map(pattern.fullmatch, names) if found}
    return aliases.get(address.collection, ""), numbers


def publish(address: ServerAddress, client: Any, name: str, before: str) -> None:
    """Let the address lead to this collection, and delete the one before."""
    from qdrant_client import models

    alias = address.collection
    create = models.CreateAlias(collection_name=name, alias_name=alias)
    actions: list[Any] = [models.CreateAliasOperation(create_alias=create)]
    if before:
        old = models.DeleteAlias(alias_name=alias)
        actions.insert(0, models.DeleteAliasOperation(delete_alias=old))
    with failing(address):
        client.update_collection_aliases(actions)
        if before:
            client.delete_collection(before)


def _fits(backend: QdrantBackend, wanted: State) -> bool:
    """Whether a library with these vectors and weights can be written there."""
    try:
        state = backend.state()
    except CitewellError as error:
        if error.problem.code == "backend-version":
            return False
        raise
    return state is not None and state.fits(wanted)


def _create(address: ServerAddress, client: Any, name: str, wanted: State) -> None:
    from qdrant_client import models

    codes = models.ScalarQuantization(
        scalar=models.ScalarQuantizationConfig(
            type=models.ScalarType.INT8, quantile=1.0, always_ram=True
        )
    )
    vectors = {
        field: models.VectorParams(
            size=size,
            distance=models.Distance.DOT,
            datatype=models.Datatype.FLOAT16,
            on_disk=True,
            quantization_config=codes,
        )
        for field, size in wanted.vectors().items()
    }
    # No document frequencies here: the server would count them by shard.
    words = models.SparseVectorParams(index=models.SparseIndexParams(on_disk=False))
    with failing(address):
        client.create_collection(
            name, vectors_config=vectors,
            sparse_vectors_config={WORDS: words}, on_disk_payload=True,
        )  # fmt: skip
        for field, schema in _indexes().items():
            client.create_payload_index(name, field, schema, wait=True)
    _backend(address, client, name).set_state(wanted)


def _indexes() -> dict[str, Any]:
    """The indexes of fields, by name."""
    from qdrant_client import models

    number = models.IntegerIndexType.INTEGER
    hashes = models.IntegerIndexParams(type=number, lookup=True, range=False, on_disk=True)
    return {
        YEAR: models.IntegerIndexParams(type=number, lookup=False, range=True, on_disk=True),
        **dict.fromkeys(HASHES, hashes),
        RETRACTED: models.PayloadSchemaType.BOOL,
    }


def _backend(address: ServerAddress, client: Any, name: str) -> QdrantBackend:
    return QdrantBackend(address, client, WRITING_SECONDS, name)
