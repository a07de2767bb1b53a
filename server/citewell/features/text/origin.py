"""Where a record came from, in a line."""

from __future__ import annotations

from citewell.model import Work


def source_of(work: Work) -> str:
    """The records that a work was read from: "acl-anthology:2020.acl-main.1"."""
    names = [
        f"{origin.source}:{origin.source_id}" if origin.source_id else origin.source
        for origin in work.provenance
    ]
    return "; ".join(dict.fromkeys(names)) or work.id
