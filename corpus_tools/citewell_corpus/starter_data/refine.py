"""Gathered records made fit to ship: no samples, names in their usual case, versions joined."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from citewell.model.names import family_key, split_authors, usual_case
from citewell.model.titles import fold, normalise_title, plain_title, title_key
from citewell.model.venues import JOURNALS, venue_ids
from citewell.model.work import Author, Work
from citewell.sources.trust import JOURNAL_VERSIONS, is_second_hand
from citewell.verification.people import placeholder_names, without_anonymous
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import lines
from citewell_corpus.importers.records import JsonRecord, work_of
from citewell_corpus.starter_data.duplicates import same_papers
from citewell_corpus.starter_data.gather import SOURCE, record_line

# Records of no work: samples of templates, works without an author, titles that are notes.

_NOTE = re.compile(
    r"(?:(?:a )?(?:technical|tech|internal|progress|annual|final|project) (?:report|memo|note)"
    r"|(?:early |rough |working |unpublished )?(?:draft|manuscript|notes?|work|paper)"
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
"""A whole normalised title that is a note on a work and names none."""
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
"""The titles of the samples: xampl.bib, and the kits of IEEE, ACM, Springer, CVPR and NeurIPS."""
_UNNAMED = frozenset(
    {"unknown", "anon", "none", "na", "nn", "various", "misc", "et al", "variousauthors"}
)


def is_sample(work: Work) -> bool:
    """True for a record of no work, whatever number of bibliographies agree on it."""
    title = normalise_title(work.title)
    if not title or _NOTE.fullmatch(title) or _TEMPLATE.search(title):
        return True
    if placeholder_names(work.authors):
        return True
    named = [
        author
        for author in without_anonymous(work.authors)
        if normalise_title(author.display).replace(" ", "") not in _UNNAMED
    ]
    # Curated lists hold front matter without authors; what people cite has one.
    return not named and (bool(work.authors) or is_second_hand(work))


# Journal versions and books that people cite for a work of which lists hold another version.

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
    """The versions of a file (JSON Lines) that appeared until then in a journal or as a book."""
    decode = msgspec.json.Decoder(EntryVersion).decode
    for _, line in lines(path, ImportReport()):
        one = decode(line)
        one.title = plain_title(one.title).rstrip(".")
        one.journal = _INVERTED.sub(r"\2 \1", _ACRONYM.sub("", one.journal))
        if one.year is not None and one.year <= until and _is_placed(one):
            yield one


def version_record(one: EntryVersion, titled: Sequence[Work]) -> bytes | None:
    """The record of a version, joined to those of the works `titled` alike that it is one of.

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
    """Whether the version names a journal, or a publisher as a book."""
    if one.kind != "article":
        return bool(one.publisher)
    ids = venue_ids(one.journal)
    return (
        len(title_key(one.journal)) >= _LEAST_JOURNAL
        and (not ids or not ids.isdisjoint(JOURNALS))
        and "submitted" not in one.journal.lower()
    )


def _is_damaged(authors: Sequence[Author], work: Work) -> bool:
    """Whether a name of the work stands within another name, but is no author."""
    words = {word for author in authors for word in fold(author.display).split()}
    return any(family_key(author) in words for author in work.authors)


def refine(files: Sequence[Path], later: Sequence[Path], scratch: Path, until: int) -> list[Path]:
    """The files of records as they ship, and one of the versions in the files `later`.

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
    """The lines of a file that are no samples, with their records and works."""
    decode = msgspec.json.Decoder(JsonRecord).decode
    for _, line in lines(path, ImportReport()):
        record = decode(line)
        record.abstract = None
        work = work_of(record, "", path.stem)
        if isinstance(work, Work) and not is_sample(work):
            yield line, record, work


def _refined(path: Path, spellings: _Spellings, same: dict[str, str]) -> Iterator[bytes]:
    """The lines of a file with the names as `spellings` has them, joined to the `same` paper."""
    for line, record, work in _works(path):
        changes: dict[str, Any] = {}
        names = [spellings.best(name) for name in record.authors or ()]
        if names != (record.authors or []):
            changes["authors"] = names
        if (first := same.get(work.id, work.id)) != work.id:
            changes["same_as"] = [*(record.same_as or ()), first]
        yield msgspec.json.encode({**msgspec.json.decode(line), **changes}) if changes else line


class _Spellings:
    """How the records write each person."""

    def __init__(self) -> None:
        self._written: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def add(self, names: Sequence[str]) -> None:
        """Count the names that are in a usual case."""
        for name in names:
            if usual_case(name) == name:
                self._written[_letters(name)][name] += 1

    def best(self, name: str) -> str:
        """The name in the case that most records of the person have, or the usual one."""
        usual = usual_case(name)
        if usual == name:
            return name
        written = self._written.get(_letters(name))
        return written.most_common(1)[0][0] if written else usual


def _letters(name: str) -> str:
    return " ".join(fold(name).replace(".", " ").split())
