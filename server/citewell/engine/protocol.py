"""What a front end and its worker process say to each other: typed frames over two pipes.

A frame is a length (4 bytes, big-endian) and that many bytes of msgpack. Every request has a
number; its one reply carries the same number. A frame that is too large, cut short or not of
these types ends the connection: nothing is ever guessed, and nothing is ever executed.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO, Literal

import msgspec

from citewell.engine.contract import Checks, EngineStatus, Related, Tier
from citewell.model import Problem, Query, SearchResult, Work
from citewell.model.check import Claim
from citewell.model.direction import Direction
from citewell.model.feedback import Feedback
from citewell.model.llm import Picked, Supported
from citewell.options import Options

VERSION = 2
MAX_FRAME = 64 * 1024 * 1024
"""Bytes. Twenty hits with abstracts need 50 kB; a frame near this size is an error."""
BATCH = 32
"""Queries that travel in one frame; `find_batch` cuts longer batches."""

_LENGTH = struct.Struct(">I")


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """The first frame to the worker: how to build its engine."""

    version: int
    options: Options
    verify: bool = False
    """Look at the checksums of the library first: the child before this one crashed."""


class FindRequest(msgspec.Struct, frozen=True, tag="find", omit_defaults=True):
    id: int
    queries: tuple[Query, ...]
    k: int
    tier: Tier = "fast"
    batch: bool = False
    seconds: float | None = None
    """What remains until the caller's deadline."""


class WorksRequest(msgspec.Struct, frozen=True, tag="works"):
    id: int
    ids: tuple[str, ...]


class LookupRequest(msgspec.Struct, frozen=True, tag="lookup", omit_defaults=True):
    id: int
    doi: str = ""
    arxiv: str = ""
    title: str = ""
    bibkey: str = ""


class RelatedRequest(msgspec.Struct, frozen=True, tag="related"):
    id: int
    identifier: str
    direction: Direction
    k: int
    offset: int


class CheckRequest(msgspec.Struct, frozen=True, tag="check", omit_defaults=True):
    id: int
    claims: tuple[Claim, ...]
    online: bool = False
    seconds: float | None = None


class LearnRequest(msgspec.Struct, frozen=True, tag="learn"):
    id: int
    feedback: Feedback


class PickRequest(msgspec.Struct, frozen=True, tag="pick"):
    id: int
    query: Query
    works: tuple[Work, ...]


class VerifyRequest(msgspec.Struct, frozen=True, tag="verify"):
    id: int
    sentence: str
    work: Work


class StatusRequest(msgspec.Struct, frozen=True, tag="status"):
    id: int


class CancelRequest(msgspec.Struct, frozen=True, tag="cancel"):
    """Stop request `id`; its reply is still sent, as `CancelledReply` or as what it came to."""

    id: int


NumberedRequest = (
    FindRequest
    | WorksRequest
    | LookupRequest
    | RelatedRequest
    | CheckRequest
    | LearnRequest
    | PickRequest
    | VerifyRequest
    | StatusRequest
)
Request = Hello | NumberedRequest | CancelRequest


class ResultsReply(msgspec.Struct, frozen=True, tag="results"):
    id: int
    results: tuple[SearchResult, ...]


class WorksReply(msgspec.Struct, frozen=True, tag="works"):
    id: int
    works: tuple[Work | None, ...]


class RelatedReply(msgspec.Struct, frozen=True, tag="related"):
    id: int
    result: Related


class ChecksReply(msgspec.Struct, frozen=True, tag="checks"):
    id: int
    result: Checks


class LearnedReply(msgspec.Struct, frozen=True, tag="learned"):
    id: int
    problems: tuple[Problem, ...]


class PickedReply(msgspec.Struct, frozen=True, tag="picked"):
    id: int
    picked: Picked


class SupportedReply(msgspec.Struct, frozen=True, tag="supported"):
    id: int
    supported: Supported


class StatusReply(msgspec.Struct, frozen=True, tag="status"):
    id: int
    status: EngineStatus


class CancelledReply(msgspec.Struct, frozen=True, tag="cancelled"):
    id: int


class FailedReply(msgspec.Struct, frozen=True, tag="failed"):
    id: int
    problem: Problem


Reply = (
    ResultsReply
    | WorksReply
    | RelatedReply
    | ChecksReply
    | LearnedReply
    | PickedReply
    | SupportedReply
    | StatusReply
    | CancelledReply
    | FailedReply
)


class BrokenFrameError(Exception):
    """The other side sent something that is not a frame of this protocol."""


def _encode_extra(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(f"cannot send {type(value).__name__}")


def _decode_extra(kind: type, value: Any) -> Any:
    if issubclass(kind, Path):
        return kind(value)
    raise NotImplementedError(f"cannot receive {kind.__name__}")


_ENCODER = msgspec.msgpack.Encoder(enc_hook=_encode_extra)
_REQUESTS = msgspec.msgpack.Decoder(Request, dec_hook=_decode_extra)
_REPLIES = msgspec.msgpack.Decoder(Reply)


def encode(message: Request | Reply) -> bytes:
    """The frame of a message. Raises `BrokenFrameError` when it is larger than `MAX_FRAME`."""
    body = _ENCODER.encode(message)
    if len(body) > MAX_FRAME:
        raise BrokenFrameError(f"a message of {len(body)} bytes is larger than {MAX_FRAME}")
    return _LENGTH.pack(len(body)) + body


def decode_request(body: bytes) -> Request:
    """The request in a frame's body."""
    try:
        request: Request = _REQUESTS.decode(body)
    except msgspec.MsgspecError as error:
        raise BrokenFrameError(str(error)) from error
    return request


def decode_reply(body: bytes) -> Reply:
    """The reply in a frame's body."""
    try:
        reply: Reply = _REPLIES.decode(body)
    except msgspec.MsgspecError as error:
        raise BrokenFrameError(str(error)) from error
    return reply


def read_frame(stream: BinaryIO) -> bytes | None:
    """The body of the next frame; None at the end of the stream, however it ended."""
    head = _read_exactly(stream, _LENGTH.size)
    if head is None:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > MAX_FRAME:
        raise BrokenFrameError(f"a frame of {size} bytes is larger than {MAX_FRAME}")
    return _read_exactly(stream, size)


def _read_exactly(stream: BinaryIO, size: int) -> bytes | None:
    parts: list[bytes] = []
    while size > 0:
        part = stream.read(size)
        if not part:
            return None
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


Lane = Literal["quick", "fast", "full", "batch", "deep", "check", "online", "llm"]


def lane_of(request: NumberedRequest) -> Lane:
    """Which of the worker's queues a request waits in, so that none waits behind a slower kind."""
    if isinstance(request, FindRequest):
        if request.batch:
            return "batch"
        return "deep" if request.tier == "deep" else request.tier
    if isinstance(request, CheckRequest):
        return "online" if request.online else "check"
    if isinstance(request, PickRequest | VerifyRequest):
        return "llm"
    return "quick"
