"""What can go wrong with a Qdrant server, as problems."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from citewell.model import CitewellError
from citewell.model.visible import visible
from citewell.retrieval.backend.contract import backend_error
from citewell.retrieval.backend.server_address import ServerAddress

_LATE = (408, 429, 502, 503, 504)
_SHOWN = 200
"""Characters of a server's message that are repeated."""


@contextmanager
def failing(address: ServerAddress) -> Iterator[None]:
    """Turns what the client raises into a `CitewellError`. No message holds the key."""
    from httpx import HTTPError
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    try:
        yield
    except UnexpectedResponse as error:
        raise refused(address, error.status_code or 0, error.content) from None
    except ResourceExhaustedResponse:
        raise backend_error("backend-late", f"{address} has too much to do.") from None
    except ResponseHandlingException as error:
        raise _broken(address, error.source) from None
    except (HTTPError, ValueError) as error:
        raise _broken(address, error) from None


def refused(address: ServerAddress, status: int, content: bytes) -> CitewellError:
    """The exception for an answer other than 200."""
    words = _words_of(content)
    if status in (401, 403):
        return backend_error("backend-key", f"{address} refuses the key, or wants one: {words}.")
    if status == 404:
        return backend_error("backend-missing", f"The server has no collection {address}.")
    if status in _LATE:
        return backend_error("backend-late", f"{address} did not answer in time: {words}.")
    if "dimension" in words.lower():
        message = f"The vectors of {address} have another length: {words}."
        return backend_error("backend-dimension", message)
    return backend_error("backend-failed", f"{address} answered with {status}: {words}.")


def _broken(address: ServerAddress, source: Exception) -> CitewellError:
    from httpx import ConnectTimeout, HTTPError, TimeoutException

    if isinstance(source, TimeoutException) and not isinstance(source, ConnectTimeout):
        return backend_error("backend-late", f"{address} did not answer in time.")
    reason = visible(" ".join(str(source).split()))[:_SHOWN] or type(source).__name__
    if isinstance(source, HTTPError):
        message = f"{address} cannot be reached, or broke off: {reason}."
        return backend_error("backend-unreachable", message)
    return backend_error("backend-failed", f"{address.url} does not answer as Qdrant does.")


def _words_of(content: bytes) -> str:
    """The message of the server, on one line."""
    try:
        status = json.loads(content)["status"]
        text = status["error"] if isinstance(status, dict) else str(status)
    except (ValueError, KeyError, TypeError):
        text = content.decode("utf-8", "replace")
    return (visible(" ".join(str(text).split()))[:_SHOWN] or "no reason given").rstrip(".")
