"""The protocol of a front end and its worker process: typed frames over two pipes.

A frame is a length (4 bytes, big-endian) and that many bytes of msgpack. Every call has a number;
its one reply carries the same number. A frame that is too large, cut short or not of these types
ends the connection: nothing is ever guessed, and nothing is ever executed. What a method takes and
returns is a value inside the frame, of the types that `engine.methods` names.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from citewell.model import Problem
from citewell.options import Options
from citewell.sources.answers import Outcome

VERSION = 4
MAX_FRAME = 64 * 1024 * 1024
"""Bytes. Twenty hits with abstracts need 50 kB; a frame near this size is an error."""

_LENGTH = struct.Struct(">I")


class Hello(msgspec.Struct, frozen=True, tag="hello"):
    """The first frame to the worker: how to build its engine."""

    version: int
    options: Options
    verify: bool = False
    """Look at the checksums of the library first: the child before this one crashed."""


class Call(msgspec.Struct, frozen=True, tag="call", omit_defaults=True):
    """Call a method of the engine."""

    id: int
    method: str
    arguments: msgspec.Raw
    seconds: float | None = None
    """What remains until the caller's deadline."""


class CancelRequest(msgspec.Struct, frozen=True, tag="cancel"):
    """Stop call `id`; its reply is still sent, as `CancelledReply` or as what it came to."""

    id: int


Request = Hello | Call | CancelRequest


class Answer(msgspec.Struct, frozen=True, tag="answer"):
    """What the method returned."""

    id: int
    result: msgspec.Raw


class CancelledReply(msgspec.Struct, frozen=True, tag="cancelled"):
    id: int


class FailedReply(msgspec.Struct, frozen=True, tag="failed"):
    id: int
    problem: Problem


Reply = Answer | CancelledReply | FailedReply


class CacheLookUp(msgspec.Struct, frozen=True, tag="cache"):
    """No reply: a request to a source was answered from the cache, or not. Sent before the reply of
    the call that waited for it, and only to a server that has metrics."""

    source: str
    outcome: Outcome


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


def encode(message: Request | Reply | CacheLookUp) -> bytes:
    """The frame of a message. Raises `BrokenFrameError` when it is larger than `MAX_FRAME`."""
    body = _ENCODER.encode(message)
    if len(body) > MAX_FRAME:
        raise BrokenFrameError(f"a message of {len(body)} bytes is larger than {MAX_FRAME}")
    return _LENGTH.pack(len(body)) + body


def packed(value: Any) -> msgspec.Raw:
    """The arguments or the result of a method, as they travel in a frame."""
    return msgspec.Raw(_ENCODER.encode(value))


def decoder(kind: Any) -> Callable[[bytes | msgspec.Raw], Any]:
    """Reads values of this type. What it returns raises `BrokenFrameError` for any other."""

    @cache
    def made() -> msgspec.msgpack.Decoder[Any]:
        # By the first value: a process reads one half of the types only.
        return msgspec.msgpack.Decoder(kind, dec_hook=_decode_extra)

    def read(body: bytes | msgspec.Raw) -> Any:
        try:
            return made().decode(body)
        except msgspec.MsgspecError as error:
            raise BrokenFrameError(str(error)) from error

    return read


decode_request: Callable[[bytes], Request] = decoder(Request)
decode_reply: Callable[[bytes], Reply | CacheLookUp] = decoder(Reply | CacheLookUp)


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


# A process's own pipes, taken away from everything else that runs in it.


def take_pipes() -> tuple[int, int]:
    """Private descriptors of what were stdin and stdout, both binary.

    Afterwards descriptor 0 is empty and 1 is stderr, so that a stray print of any library, or a
    child that reads, cannot touch the protocol.
    """
    source, sink = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        msvcrt.setmode(source, os.O_BINARY)
        msvcrt.setmode(sink, os.O_BINARY)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return source, sink
