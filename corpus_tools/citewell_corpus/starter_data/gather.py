"""Facts for the starter, from files of records and from agreeing bibliographies."""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rapidfuzz import fuzz

from citewell.documents.bib.reader import parse_bib
from citewell.model import Provenance, Work
from citewell.model.names import CUT, family_key
from citewell.model.titles import title_key
from citewell.model.venues import venue_ids
from citewell.sources import values
from citewell_corpus.importers.bibtex import NO_PAPER, work_of
from citewell_corpus.importers.contract import ImportReport
from citewell_corpus.importers.files import lines

SOURCE = "bibliographies"
_FILLER = "1011.1669"
"""The arXiv id that Mendeley enters if it is unknown."""
_ONE_PERSON = 80.0
"""Least likeness (rapidfuzz, 0-100) of two spellings of a given name."""
_LARGE_MODELS, _FEW = 2022, 4
"""First year in which technical reports of fewer people are likely to have unnamed authors."""
_MACRO = re.compile(r"[a-z][a-z0-9]*|(?:jour|mag|proc|pub)-[\w-]+|\w+_\w+")
"""The name of a macro that its bibliography does not define: "biocyb", "pub-acm"."""
AGREEING = 2
"""Number of bibliographies of different repositories that must agree on a work."""
_YEARS_APART = 1
"""Maximum years between a preprint and its publication."""


def recent(path: Path, until: int) -> Iterator[bytes]:
    """The lines of a file of records with year `until` or earlier, or unknown."""
    decode = msgspec.json.Decoder(type=_Dated).decode
    for _, line in lines(path, ImportReport()):
        try:
            year = values.year(decode(line).year)
        except msgspec.DecodeError:
            year = None
        if year is None or year <= until:
            yield line


def agreed(path: Path, until: int, owners: dict[str, str]) -> Iterator[bytes]:
    """Records of works on which several bibliographies agree, of `until` or earlier, in the
    exchange format.

    `owners` are the first authors of the titles read so far: another author's work with the same
    title gets its own id.
    """
    for line in recent(path, until):
        found: dict[str, Any] = msgspec.json.decode(line)
        names = [" ".join(filter(None, (given, family, suffix)))
                 for family, given, suffix in _people(found["authors"])]  # fmt: skip
        first = family_key(found["authors"][0][0]) if names else ""
        owner = owners.setdefault(title_key(found["title"]), first)
        if found.get("arxiv") == _FILLER:
            del found["arxiv"]
        for name in ("journal", "booktitle", "publisher"):
            text = found.get(name, "")
            if text.startswith("http") or (_MACRO.fullmatch(text) and not venue_ids(text)):
                del found[name]
        source = CUT if found.get("authors_cut") or _is_cut_report(found) else SOURCE
        yield record_line({**found, "authors": names}, source, "" if owner == first else first)


def _people(authors: list[list[str]]) -> list[list[str]]:
    """The authors, without one of two spellings of a person."""
    if len(authors) == 2 and family_key(authors[0][0]) == family_key(authors[1][0]):
        given = [given.partition(" ")[0] for _, given, _ in authors]
        if min(map(len, given)) > 2 and fuzz.ratio(*given) >= _ONE_PERSON:
            return authors[:1]
    return authors


def _is_cut_report(found: dict[str, Any]) -> bool:
    """Whether it is the report on a model, with few of its many authors named."""
    people = [one for one in found["authors"] if one[1]]
    large = (found.get("year") or 0) >= _LARGE_MODELS
    return large and 0 < len(people) < _FEW and "technical report" in found["title"].lower()


def wanted(path: Path) -> dict[str, int]:
    """Title key and citation count of each work of a table; its first row is a head."""
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    return {title_key(row[2]): int(row[0]) for row in rows if len(row) >= 3}


def from_bibliographies(titles: Iterable[str], files: Sequence[Path]) -> Iterator[bytes]:
    """Records of the works with these title keys on which entries of several repositories agree.

    The files hold citations with the repository and the raw entry (`source_repo`, `gold_title`,
    `bib_entry_raw`). Entries agree when title, first author and year do; the fullest one is taken.
    """
    sought = set(titles)
    found: defaultdict[str, list[tuple[str, Work]]] = defaultdict(list)
    decode = msgspec.json.Decoder(type=_BibCitation).decode
    for path in files:
        for _, line in lines(path, ImportReport()):
            cited = decode(line)
            key = title_key(cited.gold_title or "")
            if key in sought and cited.bib_entry_raw:
                work = _entry(cited.bib_entry_raw)
                if work is not None and title_key(work.title) == key:
                    found[key].append((cited.source_repo, work))
    for key in sorted(found):
        work = _agreement(found[key])
        if work is not None:
            yield record_line(
                {
                    **{name: getattr(work, name) for name in _TAKEN},
                    "authors": [author.display for author in work.authors],
                }
            )


_TAKEN = ("title", "year", "kind", "venue", "booktitle", "journal", "volume", "issue", "pages",
          "publisher", "doi", "arxiv", "url")  # fmt: skip


class _Dated(msgspec.Struct):
    year: int | str | None = None


class _BibCitation(msgspec.Struct):
    source_repo: str
    gold_title: str | None = None
    bib_entry_raw: str | None = None


def record_line(facts: dict[str, Any], source: str = SOURCE, owner: str = "") -> bytes:
    """A record of a work that bibliographies cite, in the exchange format.

    `owner` distinguishes works of one title.
    """
    named = title_key(facts["title"]) + owner
    mark = hashlib.blake2b(named.encode(), digest_size=5).hexdigest()
    names = (*_TAKEN, "authors", "same_as")
    known = {name: facts[name] for name in names if facts.get(name)}
    return msgspec.json.encode({"id": f"cited:{mark}", "source": source, **known})


def _entry(text: str) -> Work | None:
    entries = [one for one in parse_bib(text, "").entries if one.type not in NO_PAPER]
    if len(entries) != 1:
        return None
    work = work_of(entries[0], "entry", Provenance(source=SOURCE))
    return None if isinstance(work, str) else work


def _agreement(entries: Sequence[tuple[str, Work]]) -> Work | None:
    """The fullest entry of the largest agreeing group; None if that is too small."""
    groups: defaultdict[str, list[tuple[str, Work]]] = defaultdict(list)
    for repository, work in entries:
        if work.authors and work.year is not None:
            groups[family_key(work.authors[0])].append((repository, work))
    best: list[tuple[str, Work]] = []
    for _, group in sorted(groups.items()):
        year = Counter(work.year for _, work in group).most_common(1)[0][0] or 0
        near = [one for one in group if abs((one[1].year or 0) - year) <= _YEARS_APART]
        if len({repository for repository, _ in near}) > len({name for name, _ in best}):
            best = near
    if len({repository for repository, _ in best}) < AGREEING:
        return None
    return max(
        (work for _, work in best),
        key=lambda work: (sum(bool(getattr(work, name)) for name in _TAKEN), repr(work)),
    )
