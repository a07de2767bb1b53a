"""The coverage of a paper's references by a library, and fetches for the rest."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from citewell.corpus.library import Library
from citewell.documents.bib.work import entry_work, same_work
from citewell.documents.project.files import FileCache, SourceFiles
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.model.bib import BibEntry, BibFile
from citewell.model.venues import work_venues
from citewell.model.work import Work
from citewell.options import Options

NO_VENUE = "no venue"
FEW = 2
"""Minimum missing papers of a venue to suggest a fetch."""
FEW_REFERENCES = 10
"""Minimum missing references to suggest a fetch of the literature around the paper."""
MOST_COMMANDS = 6
_ANTHOLOGY = frozenset(
    ("acl", "emnlp", "naacl", "eacl", "aacl", "tacl", "conll", "coling", "findings", "lrec")
)
_NO_PAPERS = frozenset({"online", "software", "www", "electronic", "manual", "dataset"})


class Share(msgspec.Struct, frozen=True):
    """Number of references in one group, and of those in the library."""

    name: str
    held: int
    references: int


class MissingReference(msgspec.Struct, frozen=True):
    """A reference without a record in the library."""

    key: str
    title: str
    year: int | None
    venue: str


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """Coverage of the references of papers or `.bib` files."""

    references: int
    held: int
    by_venue: tuple[Share, ...]
    """Most references first."""
    by_year: tuple[Share, ...]
    """Latest first."""
    by_kind: tuple[Share, ...]
    """Most references first."""
    missing: tuple[MissingReference, ...]
    commands: tuple[str, ...]
    """Commands that would fetch the missing references, the most useful one first."""


def coverage(paths: Iterable[Path], library: Library, options: Options) -> Coverage:
    """Count the references of papers (those that they cite) and of `.bib` files (all entries).

    An entry is held when the library has its DOI or arXiv id, or its title with a common author and
    a year that differs by one at most. Entries that are no papers (software, web pages) and those
    without a title are left out.
    """
    seen: set[tuple[str, int | None]] = set()
    venues: dict[str, list[int]] = {}
    kinds: dict[str, list[int]] = {}
    paths = tuple(paths)
    years: dict[str, list[int]] = {}
    missing: list[tuple[str, Work, str]] = []
    for path in paths:
        for entry, work in references_of(path, options):
            identity = (entry.body.title_key or work.doi, work.year)
            if identity in seen:
                continue
            seen.add(identity)
            found = is_held(library, entry, work)
            venue = _venue_of(work)
            year = str(work.year or "no year")
            for table, name in ((venues, venue), (years, year), (kinds, work.kind)):
                share = table.setdefault(name, [0, 0])
                share[0] += found
                share[1] += 1
            if not found:
                missing.append((entry.key, work, venue))
    around = [f"citewell library fetch --for {shlex.quote(str(paths[0]))}"]
    if len(paths) > 1 or len(missing) < FEW_REFERENCES:
        around = []
    return Coverage(
        references=len(seen),
        held=len(seen) - len(missing),
        by_venue=_shares(venues),
        by_kind=_shares(kinds),
        by_year=tuple(Share(name, *years[name]) for name in sorted(years, reverse=True)),
        missing=tuple(
            MissingReference(key, work.title, work.year, venue) for key, work, venue in missing
        ),
        commands=(*around, *_commands([(work, venue) for _, work, venue in missing])),
    )


def _shares(counts: dict[str, list[int]]) -> tuple[Share, ...]:
    """The groups, most references first."""
    shares = (Share(name, held, count) for name, (held, count) in counts.items())
    return tuple(sorted(shares, key=lambda share: (-share.references, share.name)))


def is_held(library: Library, entry: BibEntry, work: Work) -> bool:
    """Whether the library has a record of an entry's work."""
    if library.lookup(doi=work.doi, arxiv=work.arxiv):
        return True
    return any(same_work(entry, one) for one in library.lookup(title=work.title))


def references_of(path: Path, options: Options) -> Iterator[tuple[BibEntry, Work]]:
    """The entries of a `.bib`, or those that a paper or the papers of a folder cite, that are
    titled papers; of a folder, also those of `.bib` files that no paper uses."""
    if path.is_dir():
        roots = [absolute(path)]
        workspace = Workspace(FileCache(options.documents), roots=roots)
        workspace.refresh(lambda path: None, opened=SourceFiles(roots).list())
        used = {bib.path for project in workspace.projects for bib in project.bibliographies}
        for project in workspace.projects:
            yield from _papers(project.bibliographies, set(project.cited_keys()))
        yield from _papers([bib for bib in workspace.bibs() if bib.path not in used], None)
        return
    project = Project.open(path, options.documents, bib_options=options.bib)
    is_bib = path.suffix.lower() == ".bib"
    yield from _papers(project.bibliographies, None if is_bib else set(project.cited_keys()))


def _papers(
    bibs: Iterable[BibFile], cited: Collection[str] | None
) -> Iterator[tuple[BibEntry, Work]]:
    for bib in bibs:
        for entry in bib.entries:
            if cited is None or entry.key in cited:
                work = entry_work(bib, entry)
                if work.title and entry.type not in _NO_PAPERS:
                    yield entry, work


def _venue_of(work: Work) -> str:
    """The short name of the venue: the id of a known one, else the entry's own text."""
    known = sorted(work_venues(work))
    if known:
        return known[0].upper() if len(known[0]) <= 8 else known[0]
    name = work.journal or work.booktitle or work.venue
    if not name and work.arxiv:
        return "arXiv"
    return name[:80] or NO_VENUE


def _commands(missing: list[tuple[Work, str]]) -> Iterator[str]:
    """A fetch for each venue with several missing papers, most papers first."""
    counts = Counter(venue for _, venue in missing)
    anthology = sum(count for venue, count in counts.items() if venue.lower() in _ANTHOLOGY)
    named: list[tuple[int, str]] = []
    if anthology >= FEW:
        named.append((anthology, "citewell library fetch acl-anthology"))
    for venue, count in counts.items():
        if (
            count < FEW
            or venue == NO_VENUE
            or venue.lower() in _ANTHOLOGY
            or "arxiv" in venue.lower()
        ):
            continue
        works = [work for work, of in missing if of == venue]
        years = [work.year for work in works if work.year]
        between = f" --since {min(years)} --until {max(years)}" if years else ""
        source = "openalex" if works[0].journal else "dblp"
        named.append(
            (count, f"citewell library fetch {source} --venue {shlex.quote(venue)}{between}")
        )
    for _, command in sorted(named, key=lambda one: -one[0])[:MOST_COMMANDS]:
        yield command
