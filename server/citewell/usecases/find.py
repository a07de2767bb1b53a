"""Papers to cite: a search for each place, then the language model's choice if configured.

A passage becomes one query for each of its places; a result includes its confidence and the
required one.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import combinations
from typing import Literal

import msgspec

from citewell.documents.context import query_for
from citewell.documents.project.files import scan_document
from citewell.engine.contract import Engine, Tier
from citewell.features.text.evidence import chosen_first, confidence_of, who_chose
from citewell.model import CitewellError, CitingPaper, Hit, Problem, Query, SearchResult, Work
from citewell.model.cancel import Cancel
from citewell.model.identifiers import identifier_of
from citewell.model.llm import Picked
from citewell.model.query import MARK, Direction
from citewell.model.titles import title_key
from citewell.options import Options
from citewell.sources.fields import fields_of, fields_text
from citewell.usecases.weights import WEIGHED, OrderWeights, with_weights

MAX_PASSAGE = 20_000
MAX_PLACES = 20
SEARCHING = "searching"
ASKING = "asking the language model"
ASKING_SOURCES = "asking the sources"
_TAGGED = re.compile(r"(?i)(?<![\w*])<\s{0,3}((?:cite|citation|ref|reference)\b[\w ?!]{0,20})>")
"""A mark in prose that would be parsed as HTML: "<citation needed>"."""
_SPOKEN = re.compile(r"[^\W\d_]{2}")
_END = re.compile(r"\s*([.!?]?)\s*$")

Status = Literal["found", "nothing_found", "not_checked"]
"""`nothing_found`: everything was searched without a match; `not_checked`: a part failed."""
Progress = Callable[[str, int, int], None]
"""Called with the current step, the amount done and the total, on the working thread."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Show no progress."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The papers for one query."""

    query: Query
    result: SearchResult
    """Best first; the language model's choice before all others, if it made one."""
    confidence: float = 0.0
    """Probability that an author would cite the first paper."""
    picked: Picked | None = None
    """The language model's answer, if it was asked."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The papers, best first."""
        return self.result.hits

    @property
    def queries(self) -> tuple[str, ...]:
        """The texts that were searched for, each once: the typed words, the sentence, and those
        added by rules or the language model."""
        texts = (self.query.text, self.query.sentence, *self.result.queries)
        return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))

    @property
    def field(self) -> str:
        """The fields of the question, "unclear" if its words and the best papers show none."""
        topic = self.result.understood.query.topic or self.query.text or self.query.sentence
        return fields_text(fields_of(topic, [hit.work for hit in self.hits]))

    @property
    def confidences(self) -> tuple[float | None, ...]:
        """For each paper the probability that an author would cite it, with three decimals, if
        known."""
        own = [hit.confidence for hit in self.hits]
        known = [self.confidence, *own[1:]] if own else []
        return tuple(None if one is None else round(one, 3) for one in known)

    @property
    def by_model(self) -> bool:
        """True when the language model answered: with a paper, or with none."""
        return self.picked is not None and self.picked.by == "model"

    @property
    def none_fits(self) -> bool:
        """True when the language model found no paper fitting."""
        return self.by_model and self.picked is not None and not self.picked.work

    @property
    def who(self) -> str:
        """The chooser and the reason; "" if the language model did not answer."""
        if self.picked is None or not self.by_model:
            return ""
        return f"{'none fits, ' if self.none_fits else ''}{who_chose(self.picked)}"

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the search and of the choice."""
        failed = self.picked.problem if self.picked is not None else None
        return (*self.result.problems, *self.result.dropped, *((failed,) if failed else ()))

    def least_confidence(self, options: Options, threshold: float | None = None) -> float:
        """The minimum confidence for taking the first paper: lower if the model chose it.
        `threshold` replaces the settings `fill.typed_threshold` and `fill.threshold`."""
        least = threshold
        if least is None:
            fill = options.fill
            least = fill.typed_threshold if self.query.typed else fill.threshold
        return min(least, options.llm.pick_threshold) if self.by_model else least

    def sure_id(self, options: Options) -> str:
        """The id of the first paper if it is likely enough to be cited, else ""."""
        if not self.hits or self.none_fits or self.confidence < self.least_confidence(options):
            return ""
        return self.hits[0].work.id


def find_papers(
    engine: Engine,
    queries: Sequence[Query],
    count: int,
    *,
    pick: int,
    tier: Tier = "deep",
    weights: OrderWeights | None = None,
    progress: Progress = no_progress,
    cancel: Cancel | None = None,
) -> list[Found]:
    """The best `count` papers for each query, in order, with `weights` among the `WEIGHED` most
    relevant. The language model chooses among the best `pick` of each, unless that is 0. Raises
    only `Cancelled`."""
    depth = max(count, pick, WEIGHED if weights else 0)
    total = len(queries) * (2 if pick else 1)
    results: list[SearchResult] = []
    for number, query in enumerate(queries):
        progress(SEARCHING, number, total)
        result = engine.find(query, depth, tier=tier, cancel=cancel)
        results.append(with_weights(engine, result, weights))
    found: list[Found] = []
    for number, (query, result) in enumerate(zip(queries, results, strict=True), len(queries)):
        if pick:
            progress(ASKING, number, total)
        found.append(choose(engine, query, result, count, pick=pick > 0, cancel=cancel))
    return found


def find_in_one_pass(
    engine: Engine,
    queries: Sequence[Query],
    count: int,
    *,
    pick: int,
    weights: OrderWeights | None = None,
    cancel: Cancel | None = None,
) -> list[Found]:
    """Return what `find_papers` does, faster for many queries and without progress."""
    depth = max(count, pick, WEIGHED if weights else 0)
    results = engine.find_batch(queries, depth, tier="deep", cancel=cancel)
    results = [with_weights(engine, result, weights) for result in results]
    return [
        choose(engine, query, result, count, pick=pick > 0, cancel=cancel)
        for query, result in zip(queries, results, strict=True)
    ]


def choose(
    engine: Engine,
    query: Query,
    result: SearchResult,
    count: int,
    *,
    pick: bool,
    cancel: Cancel | None = None,
) -> Found:
    """The first `count` results for a query, after the language model's choice if it is to `pick`
    and the first paper is not certain. Raises only `Cancelled`."""
    picked = None
    if pick and query.model and result.hits and not is_named_whole(query, result.hits):
        picked = engine.pick(query, [hit.work for hit in result.hits], cancel=cancel)
        if picked.by == "model":
            result = msgspec.structs.replace(
                result,
                hits=chosen_first(result.hits, picked),
                variant=f"{result.variant}+{picked.program}",
            )
    if len(result.hits) > count:
        result = msgspec.structs.replace(result, hits=result.hits[:count])
    confidence = confidence_of(query, result.hits)
    return Found(query=query, result=result, confidence=confidence, picked=picked)


_LEAST_WORDS = 3
"""Minimum number of words of a title that name one paper for certain."""


def is_named_whole(query: Query, hits: Sequence[Hit]) -> bool:
    """Whether the typed words are an identifier or the whole title of the first paper, and of no
    other listed one."""
    if not query.typed:
        return False
    if identifier_of(query.text) is not None:
        return True
    key = title_key(query.text)
    same = [hit for hit in hits if title_key(hit.work.title) == key]
    return len(query.text.split()) >= _LEAST_WORDS and same == [hits[0]]


def suffix_of(text: str) -> str:
    """The suffix of files with this kind of text: ".tex" or ".md" (which may also contain formulas
    with backslashes)."""
    markdown = text.startswith("---\n") or "[@" in text
    return ".tex" if "\\" in text and not markdown else ".md"


def passage_queries(
    text: str, suffix: str, options: Options, paper: CitingPaper | None = None
) -> list[Query]:
    """The queries for each `[CITATION]` or other placeholder, at most `MAX_PLACES`. A passage
    without any needs a citation at its end, unless it ends in a comment or in code. A passage that
    is an identifier is looked up."""
    if identifier_of(text) is not None:
        return [Query(text=text.strip(), paper=paper or CitingPaper())]
    name = f"passage{suffix}"
    document = scan_document(name, text, options.documents)
    # Also after a comma: brackets right after a Markdown key contain its page numbers.
    for mark in (" [CITATION]", ", [CITATION]"):
        if document.placeholders:
            break
        marked = _END.sub(rf"{mark}\1", text, count=1)
        document = scan_document(name, marked, options.documents)
    places = document.placeholders[:MAX_PLACES]
    known = paper or CitingPaper()
    return [query_for(document, place, paper=known) for place in places]


def in_sentence(query: Query, options: Options) -> Query:
    """The query; if its words are a passage with a placeholder, such as `[CITATION]`, the query of
    the first of its places. Filters stay."""
    text = _TAGGED.sub(r"[\1]", query.text)
    document = scan_document(f"passage{suffix_of(text)}", text, options.documents)
    if not document.placeholders:
        return query
    place = query_for(document, document.placeholders[0], paper=query.paper)
    has_sentence = _SPOKEN.search(place.sentence.replace(MARK, "")) is not None
    if not has_sentence and not place.text:
        return query
    return msgspec.structs.replace(
        query,
        text=place.text,
        sentence=place.sentence if has_sentence else "",
        before=place.before,
        after=place.after,
        acronyms=place.acronyms,
    )


def status_of(results: Sequence[SearchResult]) -> Status:
    """Whether an empty answer means that there is no match. Raises `CitewellError` when no search
    could be made."""
    if any(result.hits for result in results):
        return "found"
    for result in results:
        if result.failed:
            raise CitewellError(result.failed[0])
    return "not_checked" if any(result.dropped for result in results) else "nothing_found"


# Cursors: the start of the next page of a list, for one request only.


def digest(*parts: object) -> str:
    """A short hash of a request, so that a cursor cannot be used with another one."""
    return blake2b(repr(parts).encode(), digest_size=6).hexdigest()


def to_cursor(name: str, offset: int) -> str:
    """The cursor of the next page of a request."""
    return base64.urlsafe_b64encode(f"{name}:{offset}".encode()).decode().rstrip("=")


def from_cursor(cursor: str, name: str | None = None) -> tuple[str, int]:
    """The request and the offset. Raises `CitewellError` for an invalid cursor."""
    try:
        text = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii")
        of, _, number = text.partition(":")
        offset = int(number)
    except (ValueError, binascii.Error, UnicodeDecodeError):
        of, offset = "", -1
    if offset < 0 or not of or (name is not None and of != name):
        raise CitewellError(
            Problem(
                "cursor-foreign",
                "The cursor does not belong to this request.",
                "Repeat the request with the same arguments and without a cursor.",
            )
        )
    return of, offset


# The neighbours of one or several papers in the citation graph: those of most papers come first.

DIRECTIONS: tuple[Direction, ...] = ("cites", "cited_by", "cocited")
LINKS = 400
"""Number of papers read in one direction from one paper, unless a later page needs more."""
DATED_LINKS = 4_000
"""Number of papers read instead if only some years are requested."""


class PaperRelation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One relation between a given paper and a listed one."""

    id: str
    """Id of the given paper."""
    direction: Direction
    """`cites`: the given paper cites the listed one; `cited_by`: is cited by it; `cocited`: others
    cite both."""
    together: int = 1
    """For `cocited`, the number of papers that cite both."""


class Neighbour(msgspec.Struct, frozen=True):
    """A listed paper."""

    work: Work
    links: tuple[PaperRelation, ...]


class Neighbours(msgspec.Struct, frozen=True, omit_defaults=True):
    """The neighbours of the given papers."""

    papers: tuple[Neighbour, ...] = ()
    total: int = 0
    """Number of linked papers in the library; `papers` is a part of them."""
    elsewhere: int = 0
    """Number of linked papers missing from the library; one linked to several of the given papers
    counts repeatedly."""
    unknown: tuple[str, ...] = ()
    """Ids of given papers without any known citation, which differs from having none."""
    problems: tuple[Problem, ...] = ()


def related_works(
    engine: Engine,
    works: Sequence[Work],
    k: int = 20,
    *,
    offset: int = 0,
    directions: Sequence[Direction] = DIRECTIONS,
    years: tuple[int | None, int | None] = (None, None),
    cancel: Cancel | None = None,
) -> Neighbours:
    """The `k` papers, from the one at `offset`, with links to most of the given ones, then with
    most links, then with most citations together with one of them; within the `years`, if given.
    Raises `Cancelled`."""
    given = {work.id for work in works}
    found: dict[str, Work] = {}
    links: dict[str, list[PaperRelation]] = {}
    best: dict[str, int] = {}
    known: set[str] = set()
    problems: list[Problem] = []
    total = elsewhere = 0
    first, last = years
    dated = first is not None or last is not None
    depth = DATED_LINKS if dated else max(LINKS, offset + k)
    for work in works:
        for direction in directions:
            if cancel is not None:
                cancel.check()
            beside = engine.related(work.id, direction, depth)
            problems += beside.problems
            if beside.total > len(beside.works) and not dated:
                total = max(total, beside.total)
            elsewhere += beside.elsewhere
            if beside.known:
                known.add(work.id)
            pairs = zip(beside.works, beside.together, strict=True)
            for rank, (other, together) in enumerate(pairs):
                if other.id in given:
                    continue
                if dated and not (first or 0) <= (other.year or -1) <= (last or 9999):
                    continue
                found[other.id] = other
                links.setdefault(other.id, []).append(PaperRelation(work.id, direction, together))
                best[other.id] = min(rank, best.get(other.id, rank))

    def place(name: str) -> tuple[int, int, int, int]:
        own = links[name]
        together = max(one.together for one in own)
        return -len({one.id for one in own}), -len(own), -together, best[name]

    order = sorted(found, key=place)
    page = order[offset : offset + k]
    return Neighbours(
        papers=tuple(Neighbour(found[name], tuple(links[name])) for name in page),
        total=max(total, len(order)),
        elsewhere=elsewhere,
        unknown=tuple(work.id for work in works if work.id not in known),
        problems=tuple(dict.fromkeys(problems)),
    )


# The papers of a map: their citations, similarities and groups.

MAX_PAPERS = 150
"""More would be unreadable on a map."""
MOST_GROUPS = 8
MOST_ALIKE = 3
"""Number of similarity links that start from one paper."""
LEAST_LIKENESS = 0.1
_NEIGHBOURS = 200
"""Number of papers read in one direction from one paper."""
_DIRECTIONS: tuple[Direction, ...] = ("cites", "cited_by")


class MapLink(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line between two papers of a map."""

    first: str
    """Id of the citing paper; of two similar ones, of the first in the list."""
    second: str
    likeness: float = 0.0
    """For similar papers, the share of their citations in common: above 0, at most 1. 0: the first
    cites the second."""


class PaperMap(msgspec.Struct, frozen=True, omit_defaults=True):
    """The papers, the given ones first, with their groups and links."""

    works: tuple[Work, ...] = ()
    groups: tuple[int, ...] = ()
    """For each paper the number of its group by vector similarity, from 0; -1: none."""
    links: tuple[MapLink, ...] = ()
    problems: tuple[Problem, ...] = ()


def paper_map(
    engine: Engine, works: Sequence[Work], k: int, *, cancel: Cancel | None = None
) -> PaperMap:
    """The map of the works and of papers linked to them, up to `k` papers. Raises `Cancelled`."""
    given = list({work.id: work for work in works}.values())[:MAX_PAPERS]
    problems: tuple[Problem, ...] = ()
    if len(given) < k:
        beside = related_works(engine, given, k - len(given), cancel=cancel)
        given += [one.work for one in beside.papers]
        problems = beside.problems
    ids = [work.id for work in given]
    places = {name: place for place, name in enumerate(ids)}
    cites: set[tuple[int, int]] = set()
    around: list[set[str]] = []
    for place, name in enumerate(ids):
        own: set[str] = set()
        for direction in _DIRECTIONS:
            if cancel is not None:
                cancel.check()
            for other in engine.related(name, direction, _NEIGHBOURS).works:
                own.add(f"{direction} {other.id}")
                there = places.get(other.id)
                if there is not None:
                    cites.add((place, there) if direction == "cites" else (there, place))
        around.append(own)
    links = [MapLink(ids[first], ids[second]) for first, second in sorted(cites)]
    links += [MapLink(ids[a], ids[b], share) for a, b, share in _alike(around)]
    most = max(1, min(MOST_GROUPS, round(math.sqrt(len(ids) / 2))))
    groups = engine.cluster(ids, most) if ids else []
    return PaperMap(tuple(given), tuple(groups), tuple(links), problems)


def _alike(around: Sequence[set[str]]) -> list[tuple[int, int, float]]:
    """The pairs with the most citations in common, a few for each paper, by their indices."""
    pairs: list[tuple[float, int, int]] = []
    for a, b in combinations(range(len(around)), 2):
        shared = len(around[a] & around[b])
        if shared:
            share = shared / math.sqrt(len(around[a]) * len(around[b]))
            if share >= LEAST_LIKENESS:
                pairs.append((share, a, b))
    count = [0] * len(around)
    kept: list[tuple[int, int, float]] = []
    for share, a, b in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        if min(count[a], count[b]) < MOST_ALIKE:
            count[a] += 1
            count[b] += 1
            kept.append((a, b, round(share, 3)))
    return kept
