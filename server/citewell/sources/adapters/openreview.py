"""OpenReview: submissions and papers of machine-learning venues. https://docs.openreview.net"""

from __future__ import annotations

import re
from typing import Any

from citewell.model import Provenance, Work
from citewell.sources import values
from citewell.sources.contract import (
    Answer,
    Ask,
    Source,
    SourcePolicy,
    children,
    json_object,
    records,
)

_YEAR = re.compile(r"(?<!\d)((?:19|20)\d\d)(?!\d)")
_OPEN = re.compile(r"\b(?:submitted|under review|desk reject|withdrawn|reject)", re.IGNORECASE)


class OpenReview(Source):
    """Matching by title, and search, among the papers of OpenReview's venues."""

    name = "openreview"
    title = "OpenReview"
    gives = "ICLR, NeurIPS, TMLR and workshops: what was accepted, and what was withdrawn"
    sends = "titles of references; search words"
    policy = SourcePolicy(
        base="https://api2.openreview.net",
        hosts=("api2.openreview.net",),
        per_second=1.0,
        at_once=1,
        max_bytes=8_000_000,
    )
    can = frozenset({"match", "search"})
    fields = frozenset({"computing"})

    async def _query(self, text: str, limit: int) -> Answer:
        params = (
            ("term", text), ("content", "all"), ("group", "all"), ("source", "forum"),
            ("limit", str(limit)),
        )  # fmt: skip
        return await self.works(Ask(path="/notes/search", params=params), decode_notes)


def decode_notes(body: bytes) -> list[Work]:
    """The papers among the notes of a search; replies and reviews have no title and authors."""
    notes = children(json_object(body), "notes")
    papers = [note for note in notes if _content(note, "title") and _content(note, "authors")]
    return records(papers, work_of_note)


def work_of_note(note: dict[str, Any], day: str) -> Work | str:
    """The work of one submission, or the reason why it is none."""
    identity = values.raw(note.get("forum") or note.get("id"))
    title = values.title(_content(note, "title"))
    if not identity:
        return "The note has no id."
    if not title:
        return "The note has no title."
    names = _content(note, "authors")
    venue = values.text(_content(note, "venue"), 200)
    accepted = bool(venue) and _OPEN.search(venue) is None
    year = _YEAR.search(venue) or _YEAR.search(values.raw(_content(note, "venueid")))
    identifier = f"openreview:{identity}"
    return Work(
        id=identifier,
        title=title,
        authors=values.authors(names if isinstance(names, list) else ()),
        year=int(year.group()) if year else None,
        kind="inproceedings" if accepted else "misc",
        venue=venue if accepted else "OpenReview",
        booktitle=venue if accepted else "",
        url=f"https://openreview.net/forum?id={identity}",
        abstract=values.abstract(_content(note, "abstract")),
        same_as=(identifier,),
        provenance=(Provenance(source="openreview", source_id=identity, retrieved=day),),
    )


def _content(note: dict[str, Any], name: str) -> object:
    """A field of a note: `{"value": ...}` in the second interface, bare in the first."""
    content = note.get("content")
    value = content.get(name) if isinstance(content, dict) else None
    return value.get("value") if isinstance(value, dict) else value
