"""Where a record came from and what found it, in a line."""

from __future__ import annotations

from citewell.model import Hit, Work


def source_of(work: Work) -> str:
    """The records that a work was read from: "acl-anthology:2020.acl-main.1"."""
    names = [
        f"{origin.source}:{origin.source_id}" if origin.source_id else origin.source
        for origin in work.provenance
    ]
    return "; ".join(dict.fromkeys(names)) or work.id


def why_of(hit: Hit) -> str:
    """Which retrievers found the paper, and by which words."""
    parts = []
    for evidence in hit.evidence:
        words = f" ({', '.join(evidence.terms[:4])})" if evidence.terms else ""
        parts.append(f"{evidence.retriever} #{evidence.rank}{words}")
    return ", ".join(parts)
