"""Addresses of Qdrant servers, `qdrant://HOST:PORT/NAME` and `qdrants://` with TLS."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

import msgspec

from citewell.model import CitewellError
from citewell.retrieval.backend.contract import backend_error

_SCHEMES = {"qdrant": False, "qdrants": True}
"""Whether the connection is encrypted."""
_PORT = 6333
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class ServerAddress(msgspec.Struct, frozen=True):
    """A collection, or an alias of one, on a Qdrant server."""

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
        """Whether nothing leaves this machine."""
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

    Raises `CitewellError` for one that is malformed, which the message does not repeat where it
    may hold a password.
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
    """Whether the back end at an address is asked over a network."""
    return text.startswith(tuple(f"{scheme}:" for scheme in _SCHEMES))


def malformed_address(text: str) -> CitewellError:
    """The exception for an address that is none; it repeats no password."""
    shown = "This" if "@" in text else repr(text)
    return backend_error("backend-address", f"{shown} is no address of a back end.")
