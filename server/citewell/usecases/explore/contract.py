"""What a literature search asks for and what it gives back."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.reference import paper_texts, ris_of_work
from citewell.model import Problem, Work
from citewell.model.overview import CitedSentence, Overview
from citewell.model.query import Understood
from citewell.options import Options

PassName = Literal[
    "search", "reading", "references", "papers", "aspects", "citations", "sources",
    "chains",
]  # fmt: skip
"""`search`: the words. `reading`: the words as the language model understands them, where the rules
agree. `references`: again, with the best papers as references of the paper being
written. `papers`: the best papers as queries. `aspects`: queries for methods, applications and
limitations, in the best papers' own words. `citations`: what they cite, what cites them, and
what is cited with them. `sources`: what the allowed sources of
the field answered. `chains`: what the best papers cite and what cites them, by a source."""
Order = Literal["auto", "relevance", "recent", "cited"]
"""What decides within a band of about equally relevant papers; `auto`: what the words ask for."""
Ending = Literal["", "complete", "little"]
"""Empty while there are passes to come; `little`: the last pass brought little."""

MAX_TEXT = 2_000
"""Characters of the words that are searched for."""
MAX_COUNT = 400
MAX_ROUNDS = 3


class ExploreQuery(msgspec.Struct, frozen=True, kw_only=True):
    """One literature search."""

    text: str = ""
    author: str = ""
    venue: str = ""
    year_from: int | None = None
    year_to: int | None = None
    kept: tuple[str, ...] = ()
    """Ids of papers that answer the question: they count as references, and come first."""
    rejected: tuple[str, ...] = ()
    """Ids of papers that do not: neither they nor other editions of them are listed."""
    count: int = 200
    """Papers in the list, `MAX_COUNT` at most."""
    rounds: int = 0
    """How often the passes after the first are made, `MAX_ROUNDS` at most, and at least once with
    `kept`; later ones start from papers that the earlier ones found."""
    order: Order = "auto"
    online: bool = False
    """Whether to list what the allowed sources answer, where the engine asks them."""
    model: bool = True
    """Whether the language model takes part, where one is configured for literature searches."""
    overview: bool = False
    """Whether the last list comes with an overview."""
    without: frozenset[str] = frozenset()
    """Names of passes to leave out, or "judge" for the judgement, to measure what they give."""


class ListingReason(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a paper is in the list, or stands where it does."""

    step: str
    """Name of the pass; "kept" for a paper of the request, "order" for its place in its band."""
    query: str
    """The query of that pass, in words."""
    rank: int = 0
    """1-based rank in the answer; 0 where there is none."""
    detail: str = ""
    """What matched: "bm25 #4 (graph)"."""
    text: str = ""
    """`detail` in words for people: "its title has graph"."""


class ExploredWork(msgspec.Struct, frozen=True, omit_defaults=True):
    """One work of the list."""

    work: Work
    reasons: tuple[ListingReason, ...] = ()
    """In the order of the passes."""
    editions: tuple[Work, ...] = ()
    """Other records of the same work, such as its preprint."""
    relevance: float | None = None
    """Probability that it answers the question, by all passes so far; None where the papers are
    not judged, and for a paper that fails a condition of the words."""


class Pass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The queries of one pass, and what it changed."""

    name: PassName
    round: int = 1
    queries: tuple[str, ...] = ()
    """In words."""
    found: int = 0
    """Papers in its answers, each once."""
    added: int = 0
    """Papers of the list that were not in it before."""
    entered: int = 0
    """Papers among the first 50 that were not there before."""
    cut: int = 0
    """Papers that were found so far and are not in the list: beyond its end, rejected, or outside
    the filters."""
    milliseconds: float = 0.0


class Exploration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The list after a pass, best first."""

    papers: tuple[ExploredWork, ...] = ()
    passes: tuple[Pass, ...] = ()
    understood: Understood = Understood()
    """What was understood of the words."""
    ending: Ending = ""
    snapshot: str = ""
    """Of the library that was searched."""
    problems: tuple[Problem, ...] = ()
    relevant: int | None = None
    """Number of papers at the head judged relevant, kept ones included; the others
    fall below the cut. None where the papers are not judged: without words to search for, with
    the name of an author, and without the trained ranker."""
    overview: Overview | None = None
    """Of the last list, where it was asked for."""


# The list of a literature search as a file for another program.

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


# An overview of a list of papers as plain text; every sentence names its papers.

NOTHING_QUOTED = "No abstract of these papers has a sentence that can be quoted."


def overview_text(overview: Overview, names: Mapping[str, str] | None = None) -> str:
    """The model's text if there is one, then a paragraph for each theme; empty for no papers.

    Papers are named by id, or as `names` has them by id.
    """

    def cited(sentence: CitedSentence) -> str:
        if names is None:
            return ", ".join(sentence.ids)
        return "; ".join(names.get(name, name) for name in sentence.ids)

    blocks = []
    if overview.summary is not None and overview.summary.sentences:
        written = " ".join(_cited(one, cited(one)) for one in overview.summary.sentences)
        blocks.append(f"{written}\n({overview.summary.model}; {overview.summary.program})")
    for theme in overview.themes:
        papers = f"{len(theme.ids)} paper" + ("" if len(theme.ids) == 1 else "s")
        name = ", ".join(theme.words) or "others"
        quoted = [f"  “{one.text}” [{cited(one)}]" for one in theme.sentences]
        quoted = quoted or [f"  {NOTHING_QUOTED}"]
        blocks.append("\n".join((f"{name} ({papers})", *quoted)))
    return "\n\n".join(blocks)


def _cited(sentence: CitedSentence, papers: str) -> str:
    """The sentence with its papers before the full stop."""
    text = sentence.text.rstrip()
    end = text[-1] if text[-1:] in ".!?" else "."
    return f"{text.rstrip('.!?')} [{papers}]{end}"
