"""A work as a line of Citewell's exchange format, in which the answers of sources are kept."""

from __future__ import annotations

import msgspec

from citewell.model import Author, Work

_FIELDS = (
    *("id", "title", "year", "venue", "booktitle", "journal", "volume", "issue", "pages"),
    *("publisher", "doi", "arxiv", "url", "bibkey", "abstract", "kind", "citations", "language"),
    *("retracted", "notice"),
)
_ENCODER = msgspec.json.Encoder()


def record_line(work: Work) -> bytes:
    """The JSON of one work as the importer `records` reads it."""
    record = {name: value for name in _FIELDS if (value := getattr(work, name))}
    record["authors"] = [_name(author) for author in work.authors]
    record["source"] = work.provenance[0].source if work.provenance else ""
    if work.provenance:
        record["provenance"] = work.provenance
    return _ENCODER.encode(record)


def _name(author: Author) -> str:
    parts = [part for part in (author.family, author.suffix, author.given) if part]
    # Braces keep the name of an organisation from being taken apart.
    return ", ".join(parts) if author.given else f"{{{author.family}}}"
