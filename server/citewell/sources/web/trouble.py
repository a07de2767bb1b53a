"""Why a request came to nothing, inside the HTTP layer; outside it is a `Failed`."""

from __future__ import annotations

from citewell.sources.answers import Reason


class Trouble(Exception):  # noqa: N818 - it never leaves the HTTP layer
    """A request without a usable answer. The message holds no key and no full address."""

    def __init__(
        self, reason: Reason, message: str, *, again: bool = False, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.again = again
        """Another try may succeed."""
        self.wait = wait
        """Seconds for which the source asked to be left alone."""
