"""The list of a literature search as a file for another program."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.paper_text import paper_texts, ris_of_work
from citewell.model import Work
from citewell.options import Options
from citewell.usecases.explore.contract import ExploredWork

Form = Literal["bibtex", "ris", "csl", "csv", "jsonl"]
COLUMNS = (
    "id", "title", "authors", "year", "venue", "doi", "arxiv", "url", "abstract", "sources",
    "reasons",
)  # fmt: skip


def exported(papers: Sequence[ExploredWork], form: Form, options: Options) -> bytes:
    """The papers in UTF-8: entries with distinct keys in the style of the settings (`bibtex`), RIS,
    an array of CSL-JSON items, CSV with `COLUMNS`, or one JSON object a line."""
    works = [one.work for one in papers]
    if form == "bibtex":
        return "\n".join(paper_texts(works, "bibtex", options)).encode()
    if form == "ris":
        return "".join(map(ris_of_work, works)).encode()
    if form == "csl":
        items = msgspec.json.encode([_csl(work) for work in works])
        return msgspec.json.format(items, indent=1) + b"\n"
    if form == "csv":
        return _csv(papers)
    return b"".join(msgspec.json.encode(record_of(one)) + b"\n" for one in papers)


def _csl(work: Work) -> dict[str, Any]:
    """The item with the sources of its record, which CSL has the variable `source` for."""
    sources = ", ".join(dict.fromkeys(one.source for one in work.provenance))
    return {**csl_of_work(work), **({"source": sources} if sources else {})}


def record_of(paper: ExploredWork) -> dict[str, Any]:
    """The paper for programs: its record with reasons, its relevance where it is judged, and the
    ids of its other editions."""
    found: dict[str, Any] = msgspec.to_builtins(paper.work)
    found["authors"] = [author.display for author in paper.work.authors]
    found["reasons"] = msgspec.to_builtins(paper.reasons)
    if paper.relevance is not None:
        found["relevance"] = round(paper.relevance, 4)
    if paper.editions:
        found["editions"] = [work.id for work in paper.editions]
    return found


def reasons_text(paper: ExploredWork) -> str:
    """The reasons in one line: "search #4; papers #2 (like “...”)"."""
    parts = []
    for one in paper.reasons:
        rank = f" #{one.rank}" if one.rank else ""
        what = one.query if one.step in ("papers", "citations", "order") else ""
        about = ", ".join(text for text in (what, one.detail) if text)
        parts.append(f"{one.step}{rank}" + (f" ({about})" if about else ""))
    return "; ".join(parts)


def reason_text(paper: ExploredWork) -> str:
    """Why a paper is in the list, in words for people."""
    first = paper.reasons[0] if paper.reasons else None
    if first is None or first.step == "kept":
        return "kept by you" if first else ""
    text = next((one.text for one in paper.reasons if one.text), "")
    if text:
        return text
    if first.step == "references":
        return "found with your words and the best papers together"
    if first.step == "sources":
        return f"found by {first.detail}"
    return f"{first.query} ({first.detail})" if first.detail else first.query


def _csv(papers: Sequence[ExploredWork]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for one in papers:
        work = one.work
        writer.writerow(
            (
                work.id,
                work.title,
                "; ".join(author.display for author in work.authors),
                work.year or "",
                work.venue or work.booktitle or work.journal or work.publisher,
                work.doi,
                work.arxiv,
                work.url,
                work.abstract,
                ", ".join(dict.fromkeys(one.source for one in work.provenance)),
                reasons_text(one),
            )
        )
    return out.getvalue().encode()
