"""Online search as a retriever that never blocks its caller.

A search leaves its words here and continues with the library. Once the author pauses, the allowed
sources are queried. Their answers join the list when the same words are searched again, as an
editor does at the next keystroke while the list is incomplete.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING

import msgspec

from citewell.engine.contract import LinkedPapers, SourcesFound
from citewell.engine.online import Online
from citewell.model import Evidence, Hit, Problem, Query, Work
from citewell.model.cancel import Cancel, Cancelled
from citewell.model.identifiers import identifier_of
from citewell.model.titles import fold, normalise_title, title_key
from citewell.retrieval.attributes import passes
from citewell.sources.combine import MergedRecords, merge, same_works
from citewell.sources.contract import Answer, Conditions, Matched, SourceQuery, bare_words
from citewell.sources.fields import keywords_of, sources_for, words_of
from citewell.sources.registry import source_named
from citewell.sources.service import TimeBudget, failures

if TYPE_CHECKING:
    from citewell.engine.signals import LibrarySignals

logger = logging.getLogger(__name__)

PAUSE = 0.4
"""Seconds without another search before the words are sent, so that not every letter is sent."""
LEAST = 4
"""Minimum length of a text that is worth a request."""
LIMIT = 20
"""Number of records requested from each source."""
REMEMBERED = 64
"""Number of texts with answers in memory."""
MAX_WORKS = 3_000
_STEP = 0.05
"""Seconds between two checks of the cancellation."""
EVERY = 3
"""Number of library records between two online records."""

Held = Callable[[Work], Work | None]


class Late(msgspec.Struct, frozen=True):
    """The sources' answers to a text."""

    works: tuple[MergedRecords, ...] = ()
    """Best first: by reciprocal rank over the sources."""
    problems: tuple[Problem, ...] = ()


class OnlineSearch:
    """Queries the sources for the words of searches, and caches the answers. Thread-safe."""

    def __init__(self, online: Online) -> None:
        self._online = online
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._timer: threading.Timer | None = None
        self._waiting = ""
        """The words that the timer will send."""
        self._answers: OrderedDict[str, Late] = OrderedDict()
        self._pending: set[str] = set()
        self._works: OrderedDict[str, Work] = OrderedDict()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sources."""
        return self._online.names

    def offer(self, text: str) -> Late:
        """The records known for these words so far; without any, the sources are queried soon."""
        key = normalise_title(text)
        if len(key) < LEAST:
            return Late()
        with self._lock:
            found = self._answers.get(key)
            if found is not None:
                self._answers.move_to_end(key)
                return found
            if key != self._waiting:
                self._drop_timer()
                if key not in self._pending:
                    self._waiting = key
                    self._timer = threading.Timer(PAUSE, self._ask, (key, text))
                    self._timer.daemon = True
                    self._timer.start()
        return Late()

    def _drop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._waiting = None, ""

    def wait(self, text: str, seconds: float) -> None:
        """Wait for the answers to these words, at most `seconds`. For an explicit search."""
        key = normalise_title(text)
        end = time.monotonic() + seconds
        with self._lock:
            self._drop_timer()
        if len(key) >= LEAST:
            self._ask(key, text)
        with self._arrived:
            while len(key) >= LEAST and key not in self._answers:
                left = end - time.monotonic()
                if left <= 0 or not self._arrived.wait(left):
                    return

    def ask(self, texts: Iterable[str], seconds: float, cancel: Cancel) -> None:
        """Query the words of several searches, each text once, and wait for the answers.

        A source that has not answered after `seconds`, or is silent for too long, is a problem of
        the answers. Raises `Cancelled`, and abandons pending requests.
        """
        budget = TimeBudget(seconds)
        wanted = {key: text for text in texts if len(key := normalise_title(text)) >= LEAST}
        with self._lock:
            self._drop_timer()
        sent = [self._ask(key, text, budget) for key, text in wanted.items()]
        try:
            with self._arrived:
                while any(key not in self._answers and key in self._pending for key in wanted):
                    cancel.check()
                    self._arrived.wait(_STEP)
        except Cancelled:
            for future in sent:
                if future is not None:
                    future.cancel()
            raise

    def remember(self, works: Iterable[Work]) -> None:
        """Cache records from another request to a source, so that their ids are known."""
        with self._lock:
            for work in works:
                self._works[work.id] = work
            while len(self._works) > MAX_WORKS:
                self._works.popitem(last=False)

    def work(self, identifier: str) -> Work | None:
        """A record offered earlier."""
        with self._lock:
            return self._works.get(identifier)

    def close(self) -> None:
        """Stop all queries."""
        with self._lock:
            self._drop_timer()

    def _ask(
        self, key: str, text: str, budget: TimeBudget | None = None
    ) -> Future[list[Answer]] | None:
        """Send a request if needed, and return it."""
        with self._lock:
            if self._waiting == key:
                self._timer, self._waiting = None, ""
            if key in self._pending or key in self._answers:
                return None
            self._pending.add(key)
        try:
            future = self._send(text, budget)
        except Exception as error:
            logger.warning("The online search failed: %s", type(error).__name__)
            self._keep(key, Late(), lasting=False)
            return None
        future.add_done_callback(lambda done: self._take(key, done))
        return future

    def _send(self, text: str, budget: TimeBudget | None) -> Future[list[Answer]]:
        """An identifier is sent as one, anything else as words."""
        identifier = identifier_of(text)
        if identifier is None:
            return self._online.search(" ".join(text.split()), LIMIT, budget)
        doi = identifier.doi
        if identifier.kind == "acl":
            doi = f"10.18653/v1/{identifier.value.lower()}"
        if doi or identifier.arxiv:
            return self._online.look_up(SourceQuery(doi=doi, arxiv=identifier.arxiv), budget)
        nothing: Future[list[Answer]] = Future()
        nothing.set_result([])
        return nothing

    def _take(self, key: str, done: Future[list[Answer]]) -> None:
        if done.cancelled() or done.exception() is not None:
            self._keep(key, Late(), lasting=False)
            return
        answers = done.result()
        failed = failures(answers)
        problems = tuple(one.problem for one in failed)
        # A failure is reported once and not cached: the next search for the words queries again.
        late = Late(tuple(fused(answers)), problems)
        self._keep(key, late, lasting=not failed or bool(late.works))

    def _keep(self, key: str, late: Late, *, lasting: bool) -> None:
        with self._arrived:
            self._pending.discard(key)
            self._answers[key] = late
            for merged in late.works:
                self._works[merged.work.id] = merged.work
            while len(self._answers) > REMEMBERED:
                self._answers.popitem(last=False)
            while len(self._works) > MAX_WORKS:
                self._works.popitem(last=False)
            self._arrived.notify_all()
            if not lasting:
                timer = threading.Timer(30.0, self._forget, (key, late))
                timer.daemon = True
                timer.start()

    def _forget(self, key: str, late: Late) -> None:
        with self._lock:
            if self._answers.get(key) is late:
                del self._answers[key]


def fused(answers: Sequence[Answer]) -> list[MergedRecords]:
    """The works of all answers, each once, by reciprocal rank over the sources."""
    found = [answer for answer in answers if isinstance(answer, Matched)]
    records = [work for answer in found for work in answer.works]
    rank = {
        work.id: 1 / (60 + place)
        for answer in found
        for place, work in enumerate(answer.works, start=1)
    }
    groups = same_works(records)
    groups.sort(key=lambda group: -sum(rank[work.id] for work in group))
    return [merge(group) for group in groups]


def allows(query: Query, work: Work) -> bool:
    """Whether a record passes the filters of a query."""
    if not passes(query, work):
        return False
    own = title_key(query.paper.title)
    return work.id not in query.exclude and (not own or title_key(work.title) != own)


def joined(hits: Sequence[Hit], late: Late, query: Query, k: int, known: Held) -> tuple[Hit, ...]:
    """The library's list joined with the sources' results, each work once.

    A record of a listed work adds its source to that hit. A record with all the words in its title
    comes first if the library's best does not have them; the others are interspersed.
    """
    place = {key: n for n, hit in enumerate(hits) for key in _keys(hit.work)}
    listed = list(hits)
    first: list[Hit] = []
    others: list[Hit] = []
    words = set(normalise_title(query.text).split())
    best = _holds(hits[0].work, words) if hits else False
    for rank, merged in enumerate(late.works, start=1):
        evidence = _evidence(merged, rank)
        at = next((place[key] for key in _keys(merged.work) if key in place), None)
        if at is not None:
            old = listed[at]
            listed[at] = msgspec.structs.replace(old, evidence=(*old.evidence, *evidence))
            continue
        if not allows(query, merged.work):
            continue
        work = known(merged.work) or merged.work
        hit = Hit(work=work, score=0.0, evidence=evidence)
        (first if not best and _holds(work, words) else others).append(hit)
    order: list[Hit] = [*first]
    waiting = iter(others)
    for n, hit in enumerate(listed, start=1):
        order.append(hit)
        if n % EVERY == 0 and (other := next(waiting, None)) is not None:
            order.append(other)
    order += waiting
    return _falling(order[:k])


def _falling(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The hits with descending scores: those of the sources take their neighbour's."""
    scores = [hit.score for hit in hits if hit.confidence is not None or not _online(hit)]
    score = max(scores, default=1.0)
    done = []
    for hit in hits:
        score = score if _online(hit) else min(score, hit.score)
        done.append(msgspec.structs.replace(hit, score=score))
    return tuple(done)


def _online(hit: Hit) -> bool:
    return hit.score == 0.0 and hit.confidence is None


def _evidence(merged: MergedRecords, rank: int) -> tuple[Evidence, ...]:
    sources = dict.fromkeys(origin.source for origin in merged.work.provenance)
    return tuple(Evidence(source, rank, 1 / (60 + rank)) for source in sources)


def _keys(work: Work) -> Iterable[str]:
    if work.doi:
        yield f"doi:{work.doi}"
    if work.arxiv:
        yield f"arxiv:{work.arxiv}"
    key = title_key(work.title)
    if len(key) >= 12:
        yield f"title:{key}:{fold(work.authors[0].family) if work.authors else ''}"


def _holds(work: Work, words: set[str]) -> bool:
    return bool(words) and words <= set(normalise_title(work.title).split())


# The allowed sources for a literature search: those of its field, each queried in its own form,
# concurrently, within one time limit. One that does not answer costs only its own part.

SECONDS = 15.0
"""Time limit for the sources of one pass."""
FOLLOWED = 20
"""Number of papers with references and citing papers requested: 40 lists in both directions."""
LINKS = 20
"""Number of papers taken from one list."""


class SourceSearch:
    """Queries sources for a literature search. Thread-safe."""

    def __init__(
        self, online: Online, offered: OnlineSearch, held: Held, signals: LibrarySignals | None
    ) -> None:
        self._online, self._offered, self._held, self._signals = online, offered, held, signals

    def search(
        self, query: Query, fields: Sequence[str], seconds: float | None, cancel: Cancel
    ) -> SourcesFound:
        """Search the sources of the question's fields for its topic, with its authors and years as
        their filters. Raises `Cancelled`."""
        typed = query.typed_query
        names = [" ".join(bare_words(name)) for name in (query.author, *typed.authors)]
        where = Conditions(query.year_from, query.year_to, tuple(filter(None, names)))
        texts = self._texts(typed.topic or query.text, fields)
        budget = TimeBudget(SECONDS if seconds is None else seconds)
        answers = self._online.search_each(texts, where, LIMIT, budget, cancel)
        words = (*where.people("by {}"), *where.years("from {} to {}"))
        merged = [one.work for one in fused(answers)]
        self._offered.remember(merged)
        return SourcesFound(
            works=tuple(self._held(work) or work for work in merged),
            queries=tuple((name, " ".join((text, *words))) for name, text in texts.items()),
            problems=tuple(one.problem for one in failures(answers)),
        )

    def links(self, works: Sequence[Work], seconds: float | None, cancel: Cancel) -> SourcesFound:
        """References and citers of the first `FOLLOWED` works with an identifier, `LINKS` of each,
        as far as they arrive in time. Raises `Cancelled`."""
        starts = [work for work in works if work.doi or work.arxiv][:FOLLOWED]
        wanted = [SourceQuery(doi=work.doi, arxiv=work.arxiv) for work in starts]
        budget = TimeBudget(SECONDS if seconds is None else seconds)
        found = self._online.links(wanted, LINKS, budget, cancel)
        lists: list[LinkedPapers] = []
        problems = []
        for start, sides in zip(starts, found, strict=True):
            for direction, answer in sides:
                problems += [one.problem for one in failures([answer])]
                if isinstance(answer, Matched):
                    self._offered.remember(answer.works)
                    linked = tuple(self._held(work) or work for work in answer.works[:LINKS])
                    lists.append(LinkedPapers(start=start.id, direction=direction, works=linked))
        return SourcesFound(links=tuple(lists), problems=tuple(dict.fromkeys(problems)))

    def _texts(self, text: str, fields: Sequence[str]) -> dict[str, str]:
        """The text that each source receives."""
        searching: dict[str, frozenset[str]] = {}
        for name in self._online.names:
            source = source_named(name)
            if "search" in source.can:
                searching[name] = source.fields
        names = sources_for(frozenset(fields), searching)
        words = words_of(text)
        # A word in no title is more often a typo than a topic.
        known = None if self._signals is None else self._signals.title_shares(words)
        shares = None if known is None else [share or 1.0 for share in known]
        return {name: keywords_of(text, source_named(name).most_words, shares) for name in names}
