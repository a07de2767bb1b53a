"""Papers to cite: a search for each place, then the language model's choice where one is named.

A passage becomes one query for each of its places; what is found for a query says how sure it is,
and whether that is enough.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Literal

import msgspec

from citewell.documents.context import query_for
from citewell.documents.project.files import scan_document
from citewell.engine.contract import Engine, Tier
from citewell.features.citing.confidence import confidence_of
from citewell.features.text.evidence import chosen_first, who_chose
from citewell.model import CitewellError, CitingPaper, Hit, Problem, Query, SearchResult
from citewell.model.cancel import Cancel
from citewell.model.identifiers import identifier_of
from citewell.model.llm import Picked
from citewell.model.query import MARK
from citewell.options import Options

MAX_PASSAGE = 20_000
MAX_PLACES = 20
SEARCHING = "searching"
ASKING = "asking the language model"
ASKING_SOURCES = "asking the sources"
_TAGGED = re.compile(r"(?i)(?<![\w*])<\s{0,3}((?:cite|citation|ref|reference)\b[\w ?!]{0,20})>")
"""A mark of prose that a document would take for HTML: "<citation needed>"."""
_SPOKEN = re.compile(r"[^\W\d_]{2}")
_END = re.compile(r"\s*([.!?]?)\s*$")

Status = Literal["found", "nothing_found", "not_checked"]
"""`nothing_found`: all was searched and holds no such paper; `not_checked`: a part failed."""
Progress = Callable[[str, int, int], None]
"""Called with the current step, the amount done and the total, on the thread of the work."""


def no_progress(stage: str, done: int, total: int) -> None:
    """For callers that show no progress."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The papers for one query."""

    query: Query
    result: SearchResult
    """Best first; the language model's choice before all others, where it made one."""
    confidence: float = 0.0
    """How likely an author would cite the first paper."""
    picked: Picked | None = None
    """The language model's answer, where it was asked."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The papers, best first."""
        return self.result.hits

    @property
    def queries(self) -> tuple[str, ...]:
        """The texts that were searched for, each once: the typed words, the sentence, and those
        that rules or the language model added."""
        texts = (self.query.text, self.query.sentence, *self.result.queries)
        return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))

    @property
    def confidences(self) -> tuple[float | None, ...]:
        """For each paper how likely an author would cite it, in three decimals, where it is
        known."""
        own = [hit.confidence for hit in self.hits]
        known = [self.confidence, *own[1:]] if own else []
        return tuple(None if one is None else round(one, 3) for one in known)

    @property
    def by_model(self) -> bool:
        """True when the language model answered: with one of the papers, or with none."""
        return self.picked is not None and self.picked.by == "model"

    @property
    def none_fits(self) -> bool:
        """True when the language model found no paper fitting."""
        return self.by_model and self.picked is not None and not self.picked.work

    @property
    def who(self) -> str:
        """Who chose and why; empty where the language model did not answer."""
        if self.picked is None or not self.by_model:
            return ""
        return f"{'none fits, ' if self.none_fits else ''}{who_chose(self.picked)}"

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What went wrong in the search and with the choice."""
        failed = self.picked.problem if self.picked is not None else None
        return (*self.result.problems, *self.result.dropped, *((failed,) if failed else ()))

    def least_confidence(self, options: Options, threshold: float | None = None) -> float:
        """How certain the first paper must be to be taken: less where the model chose it.

        `threshold` stands for the settings `fill.typed_threshold` and `fill.threshold`.
        """
        least = threshold
        if least is None:
            fill = options.fill
            least = fill.typed_threshold if self.query.typed else fill.threshold
        return min(least, options.llm.pick_threshold) if self.by_model else least

    def sure_id(self, options: Options) -> str:
        """The id of the first paper where it is likely enough to be cited; else empty."""
        if not self.hits or self.none_fits or self.confidence < self.least_confidence(options):
            return ""
        return self.hits[0].work.id


def find_papers(
    engine: Engine,
    queries: Sequence[Query],
    count: int,
    *,
    pick: bool,
    tier: Tier = "deep",
    progress: Progress = no_progress,
    cancel: Cancel | None = None,
) -> list[Found]:
    """The best `count` papers for each query, in order.

    With `pick` the language model chooses among the papers of each. Raises only `Cancelled`.
    """
    total = len(queries) * (2 if pick else 1)
    results: list[SearchResult] = []
    for number, query in enumerate(queries):
        progress(SEARCHING, number, total)
        results.append(engine.find(query, count, tier=tier, cancel=cancel))
    found: list[Found] = []
    for number, (query, result) in enumerate(zip(queries, results, strict=True), len(queries)):
        if pick:
            progress(ASKING, number, total)
        found.append(choose(engine, query, result, pick=pick, cancel=cancel))
    return found


def choose(
    engine: Engine, query: Query, result: SearchResult, *, pick: bool, cancel: Cancel | None = None
) -> Found:
    """What was found for a query, after the language model's choice where it is to `pick`.

    Raises only `Cancelled`.
    """
    picked = None
    if pick and result.hits:
        picked = engine.pick(query, [hit.work for hit in result.hits], cancel=cancel)
        if picked.by == "model":
            result = msgspec.structs.replace(
                result,
                hits=chosen_first(result.hits, picked),
                variant=f"{result.variant}+{picked.program}",
            )
    confidence = confidence_of(query, result.hits)
    return Found(query=query, result=result, confidence=confidence, picked=picked)


def suffix_of(text: str) -> str:
    """The suffix of a file whose text is like this one: ".tex" or ".md", which has formulas with
    backslashes, too."""
    markdown = text.startswith("---\n") or "[@" in text
    return ".tex" if "\\" in text and not markdown else ".md"


def passage_queries(
    text: str, suffix: str, options: Options, paper: CitingPaper | None = None
) -> list[Query]:
    """What is asked for each `[CITATION]` or other placeholder, `MAX_PLACES` at most; a passage
    without any wants a citation at its end; one that ends in a comment or in code has no place. One
    that is an identifier asks for what it names."""
    if identifier_of(text) is not None:
        return [Query(text=text.strip(), paper=paper or CitingPaper())]
    name = f"passage{suffix}"
    document = scan_document(name, text, options.documents)
    # After a comma, too: right after a Markdown key, brackets hold its page numbers.
    for mark in (" [CITATION]", ", [CITATION]"):
        if document.placeholders:
            break
        marked = _END.sub(rf"{mark}\1", text, count=1)
        document = scan_document(name, marked, options.documents)
    places = document.placeholders[:MAX_PLACES]
    known = paper or CitingPaper()
    return [query_for(document, place, paper=known) for place in places]


def in_sentence(query: Query, options: Options) -> Query:
    """The query; where its words are a passage with a placeholder, such as `[CITATION]`, that of
    the first of its places. Its filters stay."""
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
    """Whether an empty answer means that nothing is there. Raises `CitewellError` when no search
    could be made at all."""
    if any(result.hits for result in results):
        return "found"
    for result in results:
        if result.failed:
            raise CitewellError(result.failed[0])
    return "not_checked" if any(result.dropped for result in results) else "nothing_found"


# Cursors: where the next page of a list begins, for one request and no other.


def digest(*parts: object) -> str:
    """A short name of a request, so that a cursor cannot be used with another one."""
    return blake2b(repr(parts).encode(), digest_size=6).hexdigest()


def to_cursor(name: str, offset: int) -> str:
    """Where the next page of a request begins."""
    return base64.urlsafe_b64encode(f"{name}:{offset}".encode()).decode().rstrip("=")


def from_cursor(cursor: str, name: str | None = None) -> tuple[str, int]:
    """The request and the offset. Raises `CitewellError` for what is no cursor of this request."""
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
