"""What is sent to whom, in words: what a user reads before any source is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from citewell.sources.registry import SOURCES, source_named

NEVER = (
    "Never sent: your files, the sentences around a citation, citation keys, file "
    "names, or anything to a source that you did not allow."
)
ALWAYS = (
    "Each request also carries your internet address, the program's name and version, and the "
    "contact address and key of the source if you have set them."
)


def host_of(name: str) -> str:
    """The host that a source's requests go to."""
    return urlsplit(source_named(name).policy.base).hostname or ""


def what_is_sent(names: Sequence[str]) -> list[tuple[str, str, str]]:
    """(title, host, what is sent) of each source."""
    kinds = [(name, source_named(name)) for name in names]
    return [(kind.title, host_of(name), kind.sends) for name, kind in kinds]


def question(names: Sequence[str]) -> str:
    """The question that an editor asks once, with all that an author must know to answer it."""
    lines = [
        "Citewell would query scholarly sources on the internet about your references. "
        "Nothing has been sent so far. If you allow it, only this is sent:"
    ]
    lines += [f"- to {title} ({host}): {sends}." for title, host, sends in what_is_sent(names)]
    return "\n".join([*lines, NEVER, ALWAYS])


def known() -> tuple[str, ...]:
    """Every source's name."""
    return tuple(SOURCES)
