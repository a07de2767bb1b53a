"""Plans a fetch of the literature around a paper: its references are resolved at OpenAlex, and
their topics, venues, years and own references choose what is worth fetching.

Prices: https://developers.openalex.org/api-reference/authentication
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from citewell.corpus.errors import LibraryError
from citewell.model import Problem
from citewell.model.identifiers import normalise_doi
from citewell.sources.adapters.openalex import OpenAlex
from citewell.sources.contract import (
    Ask,
    Failed,
    Fetch,
    Matched,
    NonsenseError,
    SourceQuery,
    children,
    json_object,
)
from citewell.sources.values import mapping, raw, text, year
from citewell_corpus.fetching.contract import FetchedPage, Selection
from citewell_corpus.fetching.feeds.openalex import BATCH, OpenAlexFeed
from citewell_corpus.fetching.harvest import stopped
from citewell_corpus.fetching.run import PACKED, patient
from citewell_corpus.processes import Progress

MOST_TOPICS, MOST_VENUES = 5, 5
FEWEST = 2
"""Works that a topic or a venue needs, where there are more than a few."""
MOST_NEIGHBOURS = 2_000
MOST_TITLES = 100
"""References without an identifier that are searched by title: a search costs ten requests."""
EARLIEST = 0.1
"""Share of the references that may be older than the first year of the selection."""
_SELECT = "id,doi,publication_year,topics,primary_location,referenced_works"
_OWN_TOPICS = 2
"""Topics of a work that count, the most fitting first."""


class PaperPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A selection that covers the literature around a paper, with its cost."""

    selection: Selection
    references: int
    resolved: int
    """References that the source knows."""
    topics: tuple[str, ...]
    """Their names; the selection has their identifiers."""
    venues: tuple[str, ...]
    works: int
    megabytes: float
    """On this disk, compressed."""
    seconds: float
    requests: int

    @property
    def words(self) -> str:
        """The selection and its cost in one sentence."""
        since, until = self.selection.since, self.selection.until
        between = f", {since} to {until}" if until else f" from {since} on" if since else ""
        about = f" on {_listed(self.topics)}{between}, most cited first" if self.topics else ""
        has_latest = self.topics and self.venues
        latest = f", and the latest of {_listed(self.venues)}" if has_latest else ""
        minutes = max(1, round(self.seconds / 60))
        return (
            f"about {self.works:,} works{about}, with what your references cite{latest}; "
            f"{max(1, round(self.megabytes)):,} MB, {minutes:,} min, {self.requests:,} requests to "
            f"OpenAlex, which knows {self.resolved:,} of your {self.references:,} references"
        )


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a planned fetch."""

    works: int = 20_000
    megabytes: float = 200.0
    minutes: float = 30.0


async def plan_for(
    references: Sequence[SourceQuery],
    request: Fetch,
    limits: Limits,
    *,
    since: int | None = None,
    until: int | None = None,
    progress: Progress,
) -> PaperPlan:
    """The plan for the literature around references. Raises `LibraryError`: "fetch-unknown" where
    the source knows none of them, "fetch-stopped" or "fetch-refused" where it does not answer."""
    records = await _resolved(references, request, progress)
    if not records:
        message = f"OpenAlex knows none of the {len(references):,} references."
        hint = "Name a topic: `citewell library fetch openalex --topic NAME`."
        raise LibraryError(Problem("fetch-unknown", message, hint))
    topics = _frequent((_topics(one) for one in records), MOST_TOPICS)
    venues = _frequent((_venue(one) for one in records), MOST_VENUES)
    years = sorted(found for one in records if (found := year(one.get("publication_year"))))
    own = [_identity(one) for one in records]
    cited = Counter(name for one in records for name in _cited(one))
    for name in own:
        cited.pop(name, None)
    neighbours = [name for name, _ in cited.most_common(MOST_NEIGHBOURS)]
    selection = Selection(
        topics=tuple(topics),
        venues=tuple(venues),
        since=since or (years[int(EARLIEST * len(years))] if years else None),
        until=until,
        works=(*own, *neighbours),
    )
    return await _measured(selection, request, limits, topics, venues, len(references), len(own))


async def _measured(
    selection: Selection,
    request: Fetch,
    limits: Limits,
    topics: dict[str, str],
    venues: dict[str, str],
    references: int,
    resolved: int,
) -> PaperPlan:
    """The plan with its cost, judged by the first page of the topics, within the limits."""
    feed = OpenAlexFeed()
    sample = msgspec.structs.replace(
        selection,
        works=() if topics else selection.works[:BATCH],
        venues=(),
    )
    began = time.monotonic()

    def decode(body: bytes) -> FetchedPage:
        return feed.page(sample, "", body)

    page = await patient(request, OpenAlex, feed.ask(sample, "", ""), decode)
    page = page or FetchedPage((), "")
    pace = max(time.monotonic() - began, 1 / OpenAlex.policy.per_second)
    size = PACKED * sum(map(len, page.records)) / (len(page.records) or 1) / 1e6
    named = len(selection.works)
    within = [limits.works, int(60 * limits.minutes / pace * feed.page_size)]
    if size:
        within.append(int(limits.megabytes / size))
    most = max(1, min(within))
    works = min(most, named + (page.total or 0 if topics else 0))
    requests = -(-min(named, works) // BATCH) + -(-max(0, works - named) // feed.page_size)
    return PaperPlan(
        selection=msgspec.structs.replace(selection, most=most),
        references=references,
        resolved=resolved,
        topics=tuple(topics.values()),
        venues=tuple(venues.values()),
        works=works,
        megabytes=round(works * size, 1),
        seconds=round(requests * pace, 1),
        requests=requests,
    )


async def _resolved(
    references: Sequence[SourceQuery], request: Fetch, progress: Progress
) -> list[dict[str, Any]]:
    """The source's records of references, by DOI, then by title."""
    progress.stage("resolve the references", len(references))
    dois = {doi: one for one in references if (doi := _doi(one))}
    found: dict[str, dict[str, Any]] = {}
    known: set[SourceQuery] = set()
    for record in await _records("doi", list(dois), request):
        found[_identity(record)] = record
        wanted = dois.get(normalise_doi(raw(record.get("doi"))))
        if wanted is not None:
            known.add(wanted)
    progress.advance(len(known))
    source, names = OpenAlex(request), []
    for one in [one for one in references if one not in known][:MOST_TITLES]:
        answer = await source.match(one)
        if isinstance(answer, Failed):
            raise stopped(answer)
        if isinstance(answer, Matched):
            names.append(answer.works[0].id.removeprefix("openalex:"))
        progress.advance(1)
    new = [name for name in dict.fromkeys(names) if name not in found]
    found |= {_identity(record): record for record in await _records("openalex", new, request)}
    return list(found.values())


async def _records(kind: str, names: Sequence[str], request: Fetch) -> list[dict[str, Any]]:
    """The records with these identifiers; broken ones are left out."""
    found: list[dict[str, Any]] = []
    for start in range(0, len(names), BATCH):
        params = (
            ("filter", f"{kind}:{'|'.join(names[start : start + BATCH])}"),
            ("per_page", str(BATCH)),
            ("select", _SELECT),
        )
        found += await patient(request, OpenAlex, Ask(path="/works", params=params), _decode) or []
    return found


def _decode(body: bytes) -> list[dict[str, Any]]:
    answer = json_object(body)
    if not isinstance(answer.get("results"), list):
        raise NonsenseError("the body has no list of works")
    return [one for one in children(answer, "results") if _identity(one).startswith("W")]


def _doi(reference: SourceQuery) -> str:
    doi = reference.doi or (f"10.48550/arxiv.{reference.arxiv}" if reference.arxiv else "")
    return "" if "," in doi or "|" in doi else doi


def _identity(record: dict[str, Any]) -> str:
    return raw(record.get("id")).rpartition("/")[2]


def _cited(record: dict[str, Any]) -> list[str]:
    listed = record.get("referenced_works")
    names = (raw(one).rpartition("/")[2] for one in (listed if isinstance(listed, list) else ()))
    return [name for name in names if name.startswith("W")]


def _topics(record: dict[str, Any]) -> list[tuple[str, str]]:
    listed = record.get("topics")
    topics = (mapping(one) for one in (listed if isinstance(listed, list) else ())[:_OWN_TOPICS])
    return [(_identity(one), text(one.get("display_name"))) for one in topics]


def _venue(record: dict[str, Any]) -> list[tuple[str, str]]:
    source = mapping(mapping(record.get("primary_location")).get("source"))
    if raw(source.get("type")) not in ("journal", "conference"):
        return []
    return [(_identity(source), text(source.get("display_name")))]


def _frequent(named: Iterable[list[tuple[str, str]]], most: int) -> dict[str, str]:
    """Identifier and name of what most records have; rare ones count where nothing is frequent."""
    counts = Counter(one for names in named for one in names if all(one))
    frequent = [one for one, count in counts.most_common(most) if count >= FEWEST]
    return dict(frequent or [one for one, _ in counts.most_common(1)])


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
