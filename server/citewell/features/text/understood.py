"""What was understood of a typed query, in words."""

from __future__ import annotations

from citewell.model.typed_query import PartKind, Understood

_NAMES: dict[PartKind, str] = {
    "author": "author", "venue": "venue", "year": "year", "phrase": "phrase",
    "excluded": "without", "kind": "kind", "language": "language", "recency": "order",
    "citations": "citations", "cites": "cites", "cited_by": "cited by", "like": "like",
}  # fmt: skip


def understood_text(understood: Understood) -> str:
    """The parts in one line: "author: Yann LeCun · year: 2015- · topic: parsing"; "" for none."""
    parts = [f"{_NAMES[part.kind]}: {part.value}" for part in understood.parts]
    if parts and understood.query.topic:
        parts.append(f"topic: {understood.query.topic}")
    return " · ".join(" ".join(part.split()) for part in parts)
