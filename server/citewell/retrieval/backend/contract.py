"""The contract of back ends, their problems, and the addresses of servers.

A point represents one row of one segment. Segments never change, so points keep their numbers from
snapshot to snapshot; a superseded row is deleted.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model import CitewellError, Problem
from citewell.retrieval.attributes import AUTHOR, KIND, LANGUAGE, VENUE, Between

FORMAT = 3
DENSE, WORDS, CITED = "dense", "bm25", "cited"
"""Names of the vectors of a point; the last is that of cited works (`cited`)."""
RETRACTED = "retracted"
"""A field of a point's payload for filters, beside those of the attributes; `payload` describes
them."""
HASHES = (KIND, LANGUAGE, VENUE, AUTHOR)
"""Fields with hashes, compared only by `AnyOf`."""
KEY, CITATIONS = "key", "citations"
"""Further fields: the key of the title, and the logarithm of one more than the number of
citations."""
STATE = (1 << 63) - 1
"""The point with the state of the back end."""
_ROW_BITS = 32
_HINTS = {
    "backend-occupied": "Choose a place that does not exist, or remove this one.",
    "backend-snapshot": "Name the folder that `citewell library snapshot` wrote.",
    "backend-address": "Use `edge:FOLDER` or `qdrant://HOST:PORT/NAME`.",
    "backend-not-installed": "Install the extra `qdrant`: `pip install '.[qdrant]'`.",
    "backend-locked": "Close the other program; the embedded indexes answer here.",
    "backend-dimension": "Run `citewell library build --to`, which replaces it.",
    "backend-version": "Run `citewell library build --to`, which replaces it.",
    "backend-server": "Update the server; until then the embedded indexes answer.",
    "backend-stale": "Run `citewell library build --to`; until then the embedded indexes answer.",
    "backend-failed": "Until it works again, the embedded indexes answer.",
    "backend-unreachable": "Start the server, or check the address; until then the embedded "
    "indexes answer.",
    "backend-late": "The embedded index answers; `retrieval.timeout_ms` sets the limit.",
    "backend-key": "Set CITEWELL_QDRANT_KEY, or run `keyring set citewell qdrant`; elsewhere than "
    "on this machine a key needs `qdrants://`.",
    "backend-missing": "Run `citewell library build --to`.",
}


class TermWeights(msgspec.Struct, frozen=True):
    """A sparse vector: hashes of terms, and their weights."""

    hashes: NDArray[np.uint32]
    weights: NDArray[np.float32]


Payload = dict[str, bool | int | float | list[int]]
"""Fields of a point, by name."""


class AnyOf(msgspec.Struct, frozen=True):
    """Points with one of the numbers in a field; none if it is empty."""

    field: str
    numbers: tuple[int, ...]


Condition = AnyOf | Between
"""A condition on a point."""


class Batch(msgspec.Struct, frozen=True):
    """Points to write."""

    points: NDArray[np.int64]
    """Shape (n,)."""
    dense: NDArray[np.float32]
    """Shape (n, d), of length 1, or 0 for a paper without a known word."""
    words: Sequence[TermWeights]
    """One for each point."""
    payloads: Sequence[Payload]
    """One for each point."""
    cited: NDArray[np.float32] | None = None
    """Shape (n, d + 1), 0 for a paper without one; None if no paper has one."""

    def rows(
        self, sparse: Callable[[list[int], list[float]], Any]
    ) -> Iterator[tuple[int, dict[str, Any], Payload]]:
        """Number, vectors by name and payload of each point; a vector of zeros is left out.
        `sparse` makes a sparse vector."""
        nothing = np.zeros((len(self.points), 0), np.float32)
        cited_rows = nothing if self.cited is None else self.cited
        for number, dense, words, payload, cited in zip(
            self.points.tolist(), self.dense, self.words, self.payloads, cited_rows, strict=True
        ):
            vectors: dict[str, Any] = {}
            if dense.any():
                vectors[DENSE] = dense.tolist()
            if cited.any():
                vectors[CITED] = cited.tolist()
            if len(words.hashes):
                vectors[WORDS] = sparse(words.hashes.tolist(), words.weights.tolist())
            yield number, vectors, payload


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a back end."""

    format: int = FORMAT
    dim: int
    encoder: str
    """Fingerprint of the encoder of the dense vectors."""
    words: str
    """Fingerprint of the weights of words."""
    segments: dict[str, int] = {}
    """Number of rows read of each segment; all of them for a finished segment."""
    cited: str = ""
    """Fingerprint of the vectors of cited works; empty without them."""
    left_out: dict[str, str] = {}
    """Hashes of the lists of each segment's excluded rows: dead and quarantined ones."""

    def vectors(self) -> dict[str, int]:
        """Names of the vectors of a point, and their lengths. A back end stores each for every
        point, even if empty: `cited` exists only if some have one."""
        return {DENSE: self.dim} | ({CITED: self.dim + 1} if self.cited else {})

    def fits(self, wanted: State) -> bool:
        """Whether a library with the other state can be written into this back end."""
        return (self.format, self.dim, self.encoder, self.words, self.cited) == (
            wanted.format, wanted.dim, wanted.encoder, wanted.words, wanted.cited,
        )  # fmt: skip


class ScoredPoints(msgspec.Struct, frozen=True):
    """Points, best first, and their scores."""

    points: NDArray[np.int64]
    scores: NDArray[np.float32]


class Backend(Protocol):
    """A back end. Thread-safe. Every method raises `CitewellError`."""

    def state(self) -> State | None:
        """The state; None if nothing was written yet."""
        ...

    def set_state(self, state: State) -> None:
        """Store the state; everything written earlier is durable when this returns."""
        ...

    def upsert(self, batch: Batch) -> None:
        """Write points, replacing existing ones."""
        ...

    def delete(self, points: NDArray[np.int64]) -> None:
        """Remove points; missing ones are ignored."""
        ...

    def optimize(self) -> None:
        """Build the indexes, if the back end does not do so by itself."""
        ...

    def count(self) -> int:
        """Number of points, without the one of the state."""
        ...

    def nearest(
        self, vector: NDArray[np.float32], k: int, where: Sequence[Condition] = (),
        using: str = DENSE,
    ) -> ScoredPoints:  # fmt: skip
        """About `k` points that meet all conditions, with the greatest dot products with the dense
        vectors of this name."""
        ...

    def weighted(self, terms: TermWeights, k: int, where: Sequence[Condition] = ()) -> ScoredPoints:
        """The `k` points that meet all conditions, with the greatest sums of products of
        weights."""
        ...

    def snapshot(self, into: Path) -> Path:
        """Write a copy that can be restored into the folder; return its path."""
        ...


class WriteTarget(msgspec.Struct, frozen=True):
    """The target for writing a library."""

    backend: Backend
    publish: Callable[[], None]
    """Make the written points available to searches, if they are not yet."""


def point_numbers(segment: str, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers of the points of rows of a segment."""
    base = int(segment.partition("-")[0]) << _ROW_BITS
    return np.asarray(rows + base, np.int64)


def places_of(points: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number of each point's segment, and its row there."""
    return points >> _ROW_BITS, points & ((1 << _ROW_BITS) - 1)


def backend_error(code: str, message: str) -> CitewellError:
    """The exception for a problem of a back end, with its standard hint."""
    return CitewellError(Problem(code, message, _HINTS[code]))


# Addresses of Qdrant servers, `qdrant://HOST:PORT/NAME` and `qdrants://` with TLS.

_SCHEMES = {"qdrant": False, "qdrants": True}
"""Whether each scheme is encrypted."""
_PORT = 6333
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class ServerAddress(msgspec.Struct, frozen=True):
    """A collection, or its alias, on a Qdrant server."""

    host: str
    port: int
    tls: bool
    collection: str

    @property
    def url(self) -> str:
        """The server's URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"qdrant{'s' * self.tls}://{host}:{self.port}/{self.collection}"


def server_address(text: str) -> ServerAddress | None:
    """The address of a server; None for another kind of address.

    Raises `CitewellError` for a malformed one; the message leaves out text that may be a password.
    """
    if not is_server(text):
        return None
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port or _PORT
    except ValueError:
        raise malformed_address(text) from None
    name = parts.path.strip("/")
    if "@" in text or parts.query or parts.fragment or not host or not _NAME.fullmatch(name):
        raise malformed_address(text)
    return ServerAddress(host, port, _SCHEMES[parts.scheme], name)


def is_server(text: str) -> bool:
    """Whether the back end at an address is reached over a network."""
    return text.startswith(tuple(f"{scheme}:" for scheme in _SCHEMES))


def malformed_address(text: str) -> CitewellError:
    """The exception for a malformed address; it contains no password."""
    shown = "This" if "@" in text else repr(text)
    return backend_error("backend-address", f"{shown} is no address of a back end.")
