"""The contract of all sources, and the queries that they answer.

A source is a class with facts (who it is, what it provides, its rules for requests) and up to five
queries. An unsupported query is answered with `Failed(UNABLE)`. Modules of sources import no HTTP
library: they build requests and parse bodies, and `Fetch` transports them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, TypeVar

import msgspec

from citewell.model import Problem, Work
from citewell.model.titles import normalise_title

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# Answers of a source: records, none, or the reason of a failure. Queries never raise.


class Reason(StrEnum):
    """The reason why a source did not answer. None is evidence about the reference."""

    THROTTLED = "throttled"
    """It asks for a delay (429, or 503 with a time)."""
    UNREACHABLE = "unreachable"
    """No connection, a timeout, or an internal error of the server."""
    REFUSED = "refused"
    """It rejects the request (401, 403, a redirect to an unknown host)."""
    NONSENSE = "nonsense"
    """The answer is truncated, too large, or not of the documented form."""
    RESTING = "resting"
    """It failed several times in a row and is not queried for a while."""
    UNABLE = "unable"
    """It lacks this service."""


class Matched(msgspec.Struct, frozen=True):
    """Records, best first."""

    source: str
    works: tuple[Work, ...]


class NoMatch(msgspec.Struct, frozen=True):
    """The source answered, and has no such record."""

    source: str


class Failed(msgspec.Struct, frozen=True):
    """The source did not answer: whether it has a record is unknown."""

    source: str
    reason: Reason
    message: str
    """One sentence for the user, without key and without an address that contains one."""

    @property
    def problem(self) -> Problem:
        """The failure as a problem for the user."""
        return Problem(
            "source-unanswered",
            self.message,
            "What it could not answer counts as unchecked; try again later.",
        )


Answer = Matched | NoMatch | Failed


class SourceQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A query about a reference: exactly what may be sent of it."""

    doi: str = ""
    arxiv: str = ""
    isbn: str = ""
    """ISBN of a whole book, with 13 digits."""
    title: str = ""
    authors: tuple[str, ...] = ()
    """Family names, at most the first three."""
    year: int | None = None


class Conditions(msgspec.Struct, frozen=True):
    """Conditions of a search, for the filters that a source has."""

    year_from: int | None = None
    year_to: int | None = None
    authors: tuple[str, ...] = ()
    """Names, of letters and digits only."""

    def years(self, form: str) -> tuple[str, ...]:
        """The filter of this form, which takes the first and the last year; none without years."""
        if self.year_from is None and self.year_to is None:
            return ()
        return (form.format(self.year_from or FIRST_YEAR, self.year_to or LAST_YEAR),)

    def people(self, form: str) -> tuple[str, ...]:
        """A filter of this form for each author."""
        return tuple(form.format(name) for name in self.authors)


NO_CONDITIONS = Conditions()
FIRST_YEAR, LAST_YEAR = 1500, 2100
"""Years before and after all papers, for a range without one of its ends."""


def of_works(source: str, works: tuple[Work, ...] | list[Work]) -> Matched | NoMatch:
    """`Matched`, or `NoMatch` for an empty list."""
    return Matched(source, tuple(works)) if works else NoMatch(source)


# Counts of the outcomes of requests to each source in this process, for a server's metrics.
#
# The other caches of a search process hold results that one search needs several times. No setting
# sizes them, and a miss is read from mapped files: an operator could do nothing about it.

Outcome = Literal["hit", "revalidated", "miss", "uncached", "failed"]
"""`hit`: from the cache on disk. `revalidated`: from there, after the source confirmed that nothing
has changed. `miss`: from the source. `uncached`: from the source, without a look at the cache.
`failed`: no answer, or the request was abandoned."""
Listener = Callable[[str, Outcome], None]

_listeners: list[Listener] = []


def listen(listener: Listener) -> None:
    """Register a listener that is called with the source's name and the outcome of each request, on
    the thread of the sources."""
    _listeners.append(listener)


def count(source: str, outcome: Outcome) -> None:
    """Count one request to a source, retries included."""
    for listener in _listeners:
        listener(source, outcome)


T = TypeVar("T")
_WORD = re.compile(r"[^\W_]+")

ALIKE = 60.0
"""Minimum edit ratio (of 100) between a reference's title and a source's."""
MATCHES = 5
"""Number of records requested for each reference."""


class NonsenseError(ValueError):
    """A body that is not of the documented form. The message quotes nothing of it."""


class SourcePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A source's rules for requests."""

    base: str
    """Address that all paths are appended to."""
    hosts: tuple[str, ...]
    """Hosts allowed as targets of a redirect."""
    per_second: float
    """Requests a second, evenly spaced."""
    per_second_with_key: float = 0.0
    at_once: int = 2
    """Maximum number of concurrent requests."""
    key_variables: tuple[str, ...] = ()
    """Environment variables that may hold a key."""
    key_header: str = ""
    key_parameter: str = ""
    key_prefix: str = ""
    """Prefix of the key in the header: "Bearer "."""
    contact_parameter: str = ""
    """Parameter for the contact address, beside the User-Agent."""
    max_bytes: int = 4_000_000


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """One request, without the key, the contact address and the rate limit."""

    path: str
    params: tuple[tuple[str, str], ...] = ()
    accept: str = "application/json"
    body: bytes | None = None
    """JSON body of a POST request; None: GET."""
    absent: bool = False
    """Whether 404 and 410 mean that there is no record."""


class Fetch(Protocol):
    """Sends a source's requests."""

    async def __call__(
        self, source: type[Source], ask: Ask, decode: Callable[[bytes], T]
    ) -> T | NoMatch | Failed:
        """The decoded body; `NoMatch` for an absent record; `Failed` for everything else."""
        ...


class Source:
    """Base class of the sources. Safe for several tasks of one event loop."""

    name: ClassVar[str]
    """Its name in the settings: "semantic-scholar"."""
    title: ClassVar[str]
    gives: ClassVar[str]
    """Its strengths, in a few words."""
    sends: ClassVar[str]
    """Exactly which data leaves the machine, in words for the user."""
    policy: ClassVar[SourcePolicy]
    ids: ClassVar[frozenset[str]] = frozenset()
    """Kinds of identifiers that it can look up: "doi", "arxiv", "pmid"."""
    can: ClassVar[frozenset[str]] = frozenset()
    """Any of "match", "search", "references", "citations"."""
    fields: ClassVar[frozenset[str]] = frozenset()
    """Fields of study that it covers (`sources.fields`); empty: all."""
    most_words: ClassVar[int] = 0
    """Maximum number of words in a search for a question, for a source whose records must contain
    all of them; 0 for no limit, because the source ranks by the number of words contained."""
    batch: ClassVar[int] = 1
    """Maximum number of identifiers in one request."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch

    async def by_id(self, kind: str, value: str) -> Answer:
        """The record with this identifier."""
        return (await self.by_ids(kind, [value]))[0]

    async def by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        """The records with these identifiers, in order; requests are combined if possible."""
        if kind not in self.ids:
            return [self.unable(f"does not support look-up by {kind}") for _ in values]
        answers: list[Answer] = []
        for start in range(0, len(values), self.batch):
            answers += await self._by_ids(kind, values[start : start + self.batch])
        return answers

    async def match(self, wanted: SourceQuery) -> Answer:
        """Records with a title like the reference's, most similar first."""
        if "match" not in self.can:
            return self.unable("does not match references")
        if not normalise_title(wanted.title):
            return NoMatch(self.name)
        answer = await self._match(wanted)
        if not isinstance(answer, Matched):
            return answer
        return of_works(self.name, resembling(wanted.title, answer.works))

    async def search(self, text: str, limit: int = 20, where: Conditions = NO_CONDITIONS) -> Answer:
        """Records for words, in the source's own order, with the conditions as far as the source
        has filters for them."""
        if "search" not in self.can:
            return self.unable("does not support search")
        if not text.strip():
            return NoMatch(self.name)
        answer = await self._search(text.strip()[:300], limit, where)
        return Matched(self.name, answer.works[:limit]) if isinstance(answer, Matched) else answer

    async def references(self, kind: str, value: str, limit: int = 100) -> Answer:
        """The references of the work with this identifier."""
        if "references" not in self.can:
            return self.unable("does not list references")
        return await self._references(kind, value, limit)

    async def citations(self, kind: str, value: str, limit: int = 100) -> Answer:
        """The works that cite the work with this identifier."""
        if "citations" not in self.can:
            return self.unable("does not list citations")
        return await self._citations(kind, value, limit)

    # -- to be implemented by a source -------------------------------------------------------

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        raise NotImplementedError

    async def _match(self, wanted: SourceQuery) -> Answer:
        return await self._query(wanted.title, MATCHES)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        return await self._query(" ".join((text, *where.authors)), limit)

    async def _query(self, text: str, limit: int) -> Answer:
        """The records for words, used for matching and searching unless a source distinguishes
        them."""
        raise NotImplementedError

    async def _references(self, kind: str, value: str, limit: int) -> Answer:
        raise NotImplementedError

    async def _citations(self, kind: str, value: str, limit: int) -> Answer:
        raise NotImplementedError

    # -- helpers for sources ------------------------------------------------------------------

    async def works(self, ask: Ask, decode: Callable[[bytes], list[Work]]) -> Answer:
        """The records of one request."""
        got = await self._fetch(type(self), ask, decode)
        return of_works(self.name, got) if isinstance(got, list) else got

    def with_doi(self, answer: Answer, doi: str) -> Answer:
        """The records of an answer with this DOI: a search for a DOI may return others."""
        if not isinstance(answer, Matched):
            return answer
        return of_works(self.name, [work for work in answer.works if work.doi == doi])

    @classmethod
    def unable(cls, what: str) -> Failed:
        """The answer to an unsupported query."""
        return Failed(cls.name, Reason.UNABLE, f"{cls.title} {what}.")


def resembling(title: str, works: Sequence[Work]) -> list[Work]:
    """The works with a title like this one, most similar first: sources always return something."""
    from rapidfuzz import fuzz

    wanted = normalise_title(title)
    scored = []
    for number, work in enumerate(works):
        known = normalise_title(work.title)
        ratio = fuzz.ratio(wanted, known)
        begins = len(known) >= 20 and (wanted.startswith(known) or known.startswith(wanted))
        if ratio >= ALIKE or (begins and len(wanted) >= 20):
            scored.append((-ratio, number))
    return [works[number] for _, number in sorted(scored)]


def bare_words(text: str) -> list[str]:
    """The words of a text, letters and digits only: none is an operator of a query language."""
    return _WORD.findall(text)


def json_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body. Raises `NonsenseError`."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NonsenseError("the body is not JSON") from None
    if not isinstance(found, dict):
        raise NonsenseError("the body is not a JSON object")
    return found


def child(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object under a name. Raises `NonsenseError` when there is none."""
    found = value.get(name)
    if not isinstance(found, dict):
        raise NonsenseError(f"the body has no {name!r}")
    return found


def children(value: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects of the list under a name; other entries are left out."""
    found = value.get(name)
    if not isinstance(found, list):
        raise NonsenseError(f"the body has no list {name!r}")
    return [item for item in found if isinstance(item, dict)]


def records(
    items: Sequence[dict[str, Any]], work_of: Callable[[dict[str, Any], str], Work | str]
) -> list[Work]:
    """The works of a list of records, without records that are no work.

    A list without any readable record is nonsense, not an empty answer.
    """
    from citewell.sources.values import today

    day = today()
    made = [work_of(item, day) for item in items]
    works = [work for work in made if isinstance(work, Work)]
    if made and not works:
        raise NonsenseError("no record could be read")
    return works


def parse_xml(body: bytes) -> Element:
    """Parse XML into its root element. Raises `NonsenseError`, also for a document that declares
    entities."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(body)
    except (ParseError, DefusedXmlException, ValueError, RecursionError):
        raise NonsenseError("the body is not plain XML") from None
    return root


def text_of(element: Element, name: str) -> str:
    """The text of the first child with a name, nested elements included, or ""."""
    found = element.find(name)
    return "" if found is None else "".join(found.itertext()).strip()
