"""Questions by author, topic, year and venue, made from the records of a library.

They are the kind of queries that PapeRet was measured with: "Papers by Ann Ruiz on parsing since
2015". A rule labels the whole library: an answer meets every condition of its question, and its
title or abstract holds all words of the topic. The same library always gives the same questions;
the tuning and the test part share no author and no wording.
"""

from __future__ import annotations

import gc
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import Literal

import msgspec

from citewell.model import Query, Question, Target, Work
from citewell.model.languages import STOPWORDS
from citewell.model.names import family_key
from citewell.model.titles import fold, normalise_title
from citewell.model.venues import shown_venue
from citewell.retrieval.attributes import venues_in
from citewell.retrieval.words import split

NAME = "paperet"
FILTERED = "paperet-filters"
"""Name of the same questions with author, venue and years as filters, the topic as words."""
Part = Literal["valid", "test"]
Person = tuple[str, str]
"""Surname and first given name, folded."""
Pair = tuple[str, str]
"""Two words in a row."""
COUNT = 60
MOST_ANSWERS = 40
LEAST_PAPERS = 8
"""Papers that the author of a question has at least."""
TRIED = 12
"""Papers of the author from which a question is made; the one with the most answers is kept."""
COMMON, RARE = 6000, 25
"""Titles that may hold the two words of a topic."""

_VAGUE = frozenset(
    "approach approaches aware based challenge comprehensive cost cross data driven effective "
    "efficient fast fine framework free high human improved improving large level many method "
    "methods model models multi novel open real results scale second self shot simple small step "
    "study system systems task tasks time towards toward trained training using with".split()
)
"""Words that make no topic with another one."""

WORDINGS: dict[Part, tuple[str, ...]] = {
    "valid": (
        "papers by {author} on {topic}",
        "{topic} by {author} in {year}",
        "{surname} {topic} {year} {venue}",
        "{surname} et al. {venue} {year} {topic}",
        "Which papers did {author} publish at {venue} about {topic}?",
        "{topic} papers by {author} since {year}",
        "work on {topic} by {author} between {low} and {high}",
        "{author}'s work on {topic} before {next}",
        "{venue} {year} {author} {topic}",
        "articles about {topic} written by {author} and {coauthor}",
    ),
    "test": (
        "{topic} research by {author}",
        "{author} {topic} {year}",
        "{topic} {surname} {venue} {year}",
        "what has {author} published about {topic} in {year}",
        "{author} papers on {topic} from {venue}",
        "find {topic} articles by {author} after {previous}",
        "{topic} papers authored by {author} from {low} to {high}",
        "studies of {topic} by {author} until {year}",
        "{surname} and {cosurname} {year} {topic}",
        "{author} {venue} {topic}",
    ),
}
"""Wordings of the questions, by part; each placeholder in one is a condition."""


class Facts(msgspec.Struct, frozen=True):
    """The facts that the rule needs of one paper."""

    id: str
    people: frozenset[Person]
    """Surname and first given name of each author, folded."""
    year: int
    venues: frozenset[str]
    words: frozenset[bytes]
    """Words of title and abstract, plurals cut."""


class MetadataConditions(msgspec.Struct, frozen=True):
    """The conditions of one question."""

    topic: tuple[bytes, ...]
    people: tuple[Person, ...] = ()
    low: int = 0
    high: int = 9999
    venue: str = ""

    def answers(self, facts: Facts) -> bool:
        """Whether a paper meets all of them. A person without a given name is a surname."""
        return (
            self.low <= facts.year <= self.high
            and (not self.venue or self.venue in facts.venues)
            and all(_is_among(one, facts.people) for one in self.people)
            and facts.words.issuperset(self.topic)
        )


class QuestionPaper(msgspec.Struct, frozen=True):
    """A paper from which a question is made."""

    title: str
    authors: tuple[tuple[str, str, str], ...]
    """Surname and given name folded, and the name as it is written."""
    year: int
    venue: str
    id: str


def metadata_questions(
    works: Iterable[Work], part: Part, count: int = COUNT, *, filtered: bool = False
) -> list[Question]:
    """The questions of one part; with `filtered` their conditions are filters of the query."""
    gc.disable()  # a million small objects, none of which refers to another
    try:
        facts, records, pairs = _read(works)
    finally:
        gc.enable()
    written = Counter(author[:2] for record in records for author in record.authors)
    by_person: dict[Person, list[QuestionPaper]] = defaultdict(list)
    for record in records:
        for author in record.authors:
            if written[author[:2]] >= LEAST_PAPERS and _part(author[:2]) == part:
                by_person[author[:2]].append(record)
    by_name = _by_surname(facts, {person[0] for person in by_person})
    random = Random(f"{NAME}:{part}")
    people = sorted(by_person)
    random.shuffle(people)
    questions: list[Question] = []
    for person in people:
        if len(questions) == count:
            break
        wording = WORDINGS[part][len(questions) % len(WORDINGS[part])]
        best: tuple[list[str], Query] = ([], Query())
        for record in random.sample(by_person[person], min(TRIED, len(by_person[person]))):
            made = _question(record, person, wording, pairs, random)
            if made is None:
                continue
            text, conditions, fields = made
            right = [one.id for one in by_name[person[0]] if conditions.answers(one)]
            if record.id in right and len(best[0]) < len(right) <= MOST_ANSWERS:
                best = right, fields if filtered else Query(text=text)
        if best[0]:
            name = f"{NAME}-{part}-{len(questions)}"
            targets = tuple(Target(ids=(one,)) for one in best[0])
            questions.append(Question(id=name, query=best[1], paper=name, targets=targets))
    return questions


def _by_surname(facts: Iterable[Facts], surnames: set[str]) -> dict[str, list[Facts]]:
    found: dict[str, list[Facts]] = defaultdict(list)
    for one in facts:
        for name in {person[0] for person in one.people} & surnames:
            found[name].append(one)
    return found


def _read(
    works: Iterable[Work],
) -> tuple[list[Facts], list[QuestionPaper], dict[Pair, int]]:
    facts: list[Facts] = []
    records: list[QuestionPaper] = []
    pairs: Counter[Pair] = Counter()
    for work in works:
        people = [(family_key(a), _given(a.given), a.display) for a in work.authors]
        venues = venues_in(work)
        facts.append(
            Facts(
                work.id,
                frozenset((family, given) for family, given, _ in people),
                work.year or 0,
                venues,
                frozenset(map(_stem, split(f"{work.title} {work.abstract}"))),
            )
        )
        pairs.update(set(_pairs(work.title)))
        if work.year and len(venues) == 1 and work.abstract and people:
            full = tuple(one for one in people if len(one[1]) > 1 and len(one[0]) > 2)
            records.append(QuestionPaper(work.title, full, work.year, next(iter(venues)), work.id))
    return facts, records, dict(pairs)


def _question(
    record: QuestionPaper,
    person: Person,
    wording: str,
    pairs: dict[Pair, int],
    random: Random,
) -> tuple[str, MetadataConditions, Query] | None:
    topics = [pair for pair in _pairs(record.title) if RARE <= pairs.get(pair, 0) <= COMMON]
    author = next(one for one in record.authors if one[:2] == person)
    others = [one for one in record.authors if one[:2] != person]
    if not topics or (("{co" in wording) and not others):
        return None
    topic = random.choice(topics)
    other = random.choice(others) if others else author
    before, after = random.randint(0, 2), random.randint(1, 3)
    year = record.year
    text = wording.format(
        author=author[2],
        surname=author[2].split()[-1].lower(),
        coauthor=other[2],
        cosurname=other[2].split()[-1].lower(),
        topic=" ".join(topic),
        venue=shown_venue(record.venue),
        year=year,
        low=year - before,
        high=year + after,
        next=year + 1,
        previous=year - 1,
    )
    low, high = _years(wording, year, before, after)
    people = []
    if "{author}" in wording:
        people.append(author[:2])
    elif "{surname}" in wording:
        people.append((author[0], ""))
    if "{coauthor}" in wording:
        people.append(other[:2])
    elif "{cosurname}" in wording:
        people.append((other[0], ""))
    venue = record.venue if "{venue}" in wording else ""
    names = [author[2] if "{author}" in wording else author[2].split()[-1]]
    if "{co" in wording:
        names.append(other[2] if "{coauthor}" in wording else other[2].split()[-1])
    conditions = MetadataConditions(
        tuple(_stem(word.encode()) for word in topic), tuple(people), low, high, venue
    )
    fields = Query(
        text=" ".join(topic),
        author=" and ".join(names),
        venue=shown_venue(venue) if venue else "",
        year_from=low or None,
        year_to=high if high < 9999 else None,
    )
    return text, conditions, fields


def _years(wording: str, year: int, before: int, after: int) -> tuple[int, int]:
    if "{low}" in wording:
        return year - before, year + after
    if "since {year}" in wording or "{previous}" in wording:
        return year, 9999
    if "until {year}" in wording or "{next}" in wording:
        return 0, year
    return (year, year) if "{year}" in wording else (0, 9999)


def _is_among(person: Person, people: frozenset[Person]) -> bool:
    if person[1]:
        return person in people
    return any(family == person[0] for family, _ in people)


def _given(given: str) -> str:
    words = fold(given).replace(".", " ").split()
    return words[0] if words else ""


def _pairs(title: str) -> list[Pair]:
    """Each two telling words in a row."""
    words = normalise_title(title).split()
    return [
        (one, two)
        for one, two in pairwise(words)
        if all(len(w) > 3 and w.isascii() and w.isalpha() and _is_specific(w) for w in (one, two))
    ]


def _is_specific(word: str) -> bool:
    return word not in _VAGUE and word.encode() not in STOPWORDS


@lru_cache(maxsize=1 << 20)
def _stem(word: bytes) -> bytes:
    plural = len(word) > 3 and word.endswith(b"s") and not word.endswith(b"ss")
    return word[:-1] if plural else word


def _part(person: Sequence[str]) -> Part:
    return "test" if zlib.crc32(" ".join(person).encode()) % 2 else "valid"
