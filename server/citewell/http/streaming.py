"""What an answer in parts needs, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from citewell.model import Problem

Work = TypeVar("Work")


def wants(request: Request, media_type: str) -> bool:
    """Whether a client asks for a format by name; one that takes anything does not."""
    accepted = request.headers.get("accept", "").lower()
    return any(part.partition(";")[0].strip() == media_type for part in accepted.split(","))


class StreamedAnswer(Response, Generic[Work]):
    """One answer in parts. The status is 200 before anything is known."""

    format: ClassVar[str]
    """The media type."""

    def __init__(
        self, work: Work, status_of: Callable[[Problem], int], headers: Mapping[str, str]
    ) -> None:
        super().__init__(
            status_code=200,
            media_type=self.format,
            # A proxy that collects the answer would keep the first parts to itself.
            headers={**headers, "x-accel-buffering": "no"},
        )
        # The length is not known.
        self.raw_headers = [one for one in self.raw_headers if one[0] != b"content-length"]
        self._work = work
        self._status_of = status_of
