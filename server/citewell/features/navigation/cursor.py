"""Cursors: where the next page of a list begins, for one request and no other."""

from __future__ import annotations

import base64
import binascii
from hashlib import blake2b

from citewell.model import CitewellError, Problem


def digest(*parts: object) -> str:
    """A short name of a request, so that a cursor cannot be used with another one."""
    return blake2b(repr(parts).encode(), digest_size=6).hexdigest()


def to_cursor(name: str, offset: int) -> str:
    """Where the next page of a request begins."""
    return base64.urlsafe_b64encode(f"{name}:{offset}".encode()).decode().rstrip("=")


def from_cursor(cursor: str, name: str | None = None) -> tuple[str, int]:
    """The request and the offset. Raises `CitewellError` for what is no cursor of this request."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        of, _, number = text.partition(":")
        offset = int(number)
    except (ValueError, binascii.Error, UnicodeDecodeError):
        of, offset = "", -1
    if offset < 0 or not of or (name is not None and of != name):
        raise CitewellError(
            Problem(
                "cursor-foreign",
                "The cursor does not belong to this request.",
                "Repeat the request with the same arguments and without a cursor.",
            )
        )
    return of, offset
