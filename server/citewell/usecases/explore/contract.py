"""The request and the result of a literature search."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.reference import paper_texts, ris_of_work
from citewell.model import CitewellError, Problem, Work
from citewell.model.llm import CitedSentence, Overview
from citewell.model.query import Understood
from citewell.options import Options

PassName = Literal[
    "search", "reading", "references", "papers", "aspects", "citations", "sources",
    "chains",
]  # fmt: skip
"""`search`: the words. `reading`: the words as interpreted by the language model, if the rules
agree. `references`: again, with the best papers as references of the paper being written. `papers`:
the best papers as queries. `aspects`: queries for methods, applications and limitations, in the
best papers' own words. `citations`: papers that they cite, that cite them, or that are cited with
them. `sources`: answers of the allowed sources of the field. `chains`: references and citing papers
of the best papers, from a source."""
Order = Literal["auto", "relevance", "recent", "cited"]
"""Order within a band of about equally relevant papers; `auto`: by the words of the question."""
Ending = Literal["", "complete", "little"]
"""Empty while passes remain; `little`: the last pass found few new papers."""

MAX_TEXT = 2_000
"""Maximum number of characters of the query."""
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
    """Ids of papers that do not: neither they nor their other editions are listed."""
    count: int = 200
    """Number of papers in the list, at most `MAX_COUNT`."""
    rounds: int = 0
    """Number of rounds of the passes after the first, at most `MAX_ROUNDS`, and at least one with
    `kept`; later rounds start from papers found in earlier ones."""
    order: Order = "auto"
    weights: str = ""
    """Weights of relevance, authority and age, by which the first papers are ordered instead."""
    online: bool = False
    """Whether to list answers of the allowed sources, if the engine queries them."""
    model: bool = True
    """Whether the language model takes part, if configured for literature searches."""
    overview: bool = False
    """Whether the last list includes an overview."""
    without: frozenset[str] = frozenset()
    """Names of passes to leave out, or "judge" for the judgement, to measure their effect."""


class ListingReason(msgspec.Struct, frozen=True, omit_defaults=True):
    """The reason why a paper is in the list, or for its place."""

    step: str
    """Name of the pass; "kept" for a paper of the request, "order" for its place in its band."""
    query: str
    """The query of that pass, in words."""
    rank: int = 0
    """1-based rank in the answer; 0 if there is none."""
    detail: str = ""
    """The match: "bm25 #4 (graph)"."""
    text: str = ""
    """`detail` in words: "its title has graph"."""


class ExploredWork(msgspec.Struct, frozen=True, omit_defaults=True):
    """One work of the list."""

    work: Work
    reasons: tuple[ListingReason, ...] = ()
    """In the order of the passes."""
    editions: tuple[Work, ...] = ()
    """Other records of the same work, such as its preprint."""
    relevance: float | None = None
    """Probability that it answers the question, after all passes so far; None if the papers are not
    judged, and for a paper that fails a condition."""


class Pass(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The queries of one pass, and its changes."""

    name: PassName
    round: int = 1
    queries: tuple[str, ...] = ()
    """In words."""
    found: int = 0
    """Number of distinct papers in its answers."""
    added: int = 0
    """Number of papers added to the list."""
    entered: int = 0
    """Number of papers that entered the first 50."""
    cut: int = 0
    """Number of papers found so far but not listed: beyond the end, rejected, or filtered out."""
    milliseconds: float = 0.0


class Exploration(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The list after a pass, best first."""

    papers: tuple[ExploredWork, ...] = ()
    passes: tuple[Pass, ...] = ()
    understood: Understood = Understood()
    """The interpretation of the words."""
    field: str = ""
    """The fields of the question, "unclear" if its words and the best papers show none."""
    ending: Ending = ""
    snapshot: str = ""
    """Snapshot of the searched library."""
    problems: tuple[Problem, ...] = ()
    relevant: int | None = None
    """Number of papers at the head judged relevant, kept ones included; the others fall below the
    cut. None if the papers are not judged: without words to search for, with the name of an author,
    and without the trained ranker."""
    overview: Overview | None = None
    """Overview of the last list, if requested."""


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
    """The paper for programs: its record with reasons, its relevance if judged, and the ids of its
    other editions."""
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
    """The reason for a paper in the list, in words."""
    first = paper.reasons[0] if paper.reasons else None
    if first is None or first.step == "kept":
        return "kept by you" if first else ""
    weighed = [one.text for one in paper.reasons if one.step == "order" and one.text]
    found = [one.text for one in paper.reasons if one.step != "order" and one.text]
    if found or weighed:
        return "; ".join((*weighed, *found[:1]))
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


# An overview of a list of papers as plain text, with the papers of every sentence.

NOTHING_QUOTED = "No abstract of these papers has a sentence that can be quoted."


def overview_text(overview: Overview, names: Mapping[str, str] | None = None) -> str:
    """The model's text if there is one, then a paragraph for each theme; empty for no papers.
    Papers are named by id, or by their names in `names`."""

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


# The probability that each paper of a literature search answers the question, and the cut of the
# list.
#
# A logistic model over the evidence of the passes: the probabilities from the ranker in the two
# passes with the words, the ranks there, and the number of other queries that found the paper.
# Fitted on AutoScholarQuery by `citewell_lab.training.literature`.

# Fusion of the answers of all passes by weighted reciprocal ranks.
#
# The first papers and the tail have different weights: papers found through other papers extend the
# list and would displace the best ones. Tuned on the training and tuning questions of
# AutoScholarQuery; docs/exploring.md has the figures of the test part.

RRF_K = 60
HEAD_LENGTH = 20
"""Number of papers ordered by the weights of the head."""


class Ranked(msgspec.Struct, frozen=True):
    """The answer to one query of a pass: ids of works, best first."""

    name: PassName
    ids: tuple[str, ...]
    chances: tuple[float | None, ...] = ()
    """The ranker's probability of each paper; empty without one."""


HEAD: Mapping[PassName, float] = {
    "search": 1.0, "reading": 1.0, "references": 1.0, "papers": 0.1, "aspects": 0.0,
    "citations": 0.02, "sources": 0.5, "chains": 0.02,
}  # fmt: skip
TAIL: Mapping[PassName, float] = {
    "search": 1.0, "reading": 0.6, "references": 1.0, "papers": 0.45, "aspects": 0.1,
    "citations": 0.05, "sources": 0.8, "chains": 0.05,
}  # fmt: skip


def fused(lists: Sequence[Ranked]) -> list[str]:
    """All ids of the lists, each once, best first."""
    tail = TAIL
    if not any(one.name == "references" for one in lists):
        tail = {**TAIL, "search": 2.0}
    head = _order(lists, HEAD)[:HEAD_LENGTH]
    placed = set(head)
    return head + [name for name in _order(lists, tail) if name not in placed]


def _order(lists: Sequence[Ranked], weights: Mapping[PassName, float]) -> list[str]:
    scores: dict[str, float] = {}
    for one in lists:
        for rank, name in enumerate(one.ids, start=1):
            scores[name] = scores.get(name, 0.0) + weights[one.name] / (RRF_K + rank)
    return sorted(scores, key=lambda name: -scores[name])


NAMES = (
    "one", "search_odds", "references_odds", "search_rank", "references_rank", "papers",
    "citations",
)  # fmt: skip
LEAST, MOST = -7.0, 3.0
"""Bounds of the log odds of a probability; `LEAST` stands for a paper without one."""
JUDGED = 50
"""Number of papers ordered by probability: those found only through other papers have a low one,
and extend the list."""
LAST = 800
"""The rank of a paper missing from an answer."""
_WORDS = ("search", "references")
"""Passes with the words, in which papers have a probability."""


class RelevanceJudge:
    """The weights of `NAMES`, and the minimum probability of a relevant paper."""

    def __init__(self, weights: Sequence[float], cut: float) -> None:
        self._weights = tuple(weights)
        self.cut = cut

    @classmethod
    def read(cls, path: Path) -> RelevanceJudge:
        """Raises `CitewellError` for an unsuitable file."""
        from zipfile import BadZipFile

        import numpy as np

        try:
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                names = tuple(str(name) for name in file["judge_names"])
                weights, cut = file["judge"].tolist(), float(file["cut"])
            if names != NAMES or len(weights) != len(NAMES):
                raise ValueError("it was trained with other features")
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            raise CitewellError(
                Problem(
                    "ranker-weights",
                    f"The weights for literature questions cannot be read ({error}).",
                    "Reinstall citewell, or set `retrieval.ranker` to none.",
                    path=str(path),
                )
            ) from error
        return cls(weights, cut)

    def chances(self, lists: Sequence[Ranked], ids: Sequence[str]) -> list[float] | None:
        """The probability that each paper answers the question, by the answers so far; None if the
        search for the words has no probabilities, as without a ranker."""
        table = judged_features(lists, ids)
        if table is None:
            return None
        return [
            1 / (1 + math.exp(-sum(w * x for w, x in zip(self._weights, row, strict=True))))
            for row in table
        ]


def by_relevance(
    groups: Sequence[list[Work]], chances: Mapping[str, float], cut: float
) -> list[list[Work]]:
    """The groups of editions: those above the `cut` first, then the `JUDGED` likeliest, then the
    others in their order. `chances` is keyed by the id of a group's first work. A paper without a
    probability keeps its place among those below the cut."""
    judged = [group for group in groups if group[0].id in chances]
    likeliest = sorted(judged, key=lambda group: -chances[group[0].id])
    sure = sum(chances[group[0].id] >= cut for group in judged)
    head = likeliest[: max(JUDGED, sure)]
    placed = {group[0].id for group in head}
    in_turn = iter([*head, *(group for group in judged if group[0].id not in placed)])
    ordered = [next(in_turn) if group[0].id in chances else group for group in groups]
    return sorted(ordered, key=lambda group: chances.get(group[0].id, 0.0) < cut)


def judged_features(lists: Sequence[Ranked], ids: Sequence[str]) -> list[tuple[float, ...]] | None:
    """The values of `NAMES` of each paper; None if no search for the words has probabilities."""
    if not any(one.name == "search" and one.chances for one in lists):
        return None
    odds: dict[str, dict[str, float]] = {name: {} for name in _WORDS}
    ranks: dict[str, dict[str, int]] = {name: {} for name in _WORDS}
    votes: dict[str, dict[str, float]] = {"papers": {}, "citations": {}}
    for one in lists:
        if one.name in ("search", "references"):
            ranks[one.name] = {name: rank for rank, name in enumerate(one.ids, start=1)}
            odds[one.name] = {
                name: _odds(chance) for name, chance in zip(one.ids, one.chances, strict=False)
            }
            continue
        own = votes.setdefault(one.name, {})
        for rank, name in enumerate(one.ids, start=1):
            own[name] = own.get(name, 0.0) + RRF_K / (RRF_K + rank)
    again = "references" if odds["references"] else "search"
    return [
        (
            1.0,
            odds["search"].get(name, LEAST),
            odds[again].get(name, LEAST),
            math.log2(1 + ranks["search"].get(name, LAST)),
            math.log2(1 + ranks[again].get(name, LAST)),
            votes["papers"].get(name, 0.0),
            votes["citations"].get(name, 0.0),
        )
        for name in ids
    ]


def _odds(chance: float | None) -> float:
    if not chance or chance <= 0:
        return LEAST
    return min(max(math.log(chance / max(1 - chance, 1e-9)), LEAST), MOST)


@cache
def shipped_judge() -> RelevanceJudge:
    """The shipped judge. Raises `CitewellError` if it cannot be read."""
    from citewell.engine.local import LITERATURE

    return RelevanceJudge.read(LITERATURE)
