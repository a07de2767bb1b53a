"""One work out of several records of it: fields by trust, every source kept."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from citewell.model import Author, Provenance, Work
from citewell.model.titles import normalise_title, title_key
from citewell.sources.malformed_names import is_malformed, malformed_name
from citewell.sources.trust import is_preprint, is_preprint_doi, is_workshop, work_trust
from citewell.sources.variants import variants_of, without_sources

_DETAILS = ("volume", "issue", "pages", "publisher")
_COMPLETENESS = ("doi", "booktitle", "journal", "volume", "pages", "publisher", "abstract", "url")


def combine(records: Sequence[Work], identifier: str = "") -> Work:
    """The work that these records describe; `identifier` is its id if it has one already.

    The record of the published version from the most trusted source leads, and gaps are filled
    from the others in that order. What describes the publication (book title, volume, pages,
    publisher) is taken only from records of the same publication, because a mixture of two would
    be a reference to nothing.
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
        retracted=any(work.retracted for work in ranked),
        notice=_first(ranked, "notice"),
        same_as=_identifiers(ranked, doi),
        provenance=_provenance(ranked),
        variants=(),
    )
    return msgspec.structs.replace(merged, variants=variants_of(merged, ranked))


def _publication_fields(records: Sequence[Work]) -> dict[str, str]:
    """What describes the publication, by records of it; the first one leads."""
    lead = records[0]
    names = ("venue", "volume", "issue", "pages", "publisher")
    return {name: _first(records, name) for name in names} | {
        "booktitle": lead.booktitle if lead.journal else _first(records, "booktitle"),
        "journal": lead.journal if lead.booktitle else _first(records, "journal"),
    }


def update(held: Work, new: Sequence[Work]) -> Work:
    """The work in the library, `held`, after its sources gave `new` records of it.

    A source's new records replace its earlier ones; the id is kept, so that references to it stay
    valid.
    """
    speaking = {origin.source for work in new for origin in work.provenance}
    if {origin.source for origin in held.provenance} <= speaking:
        renewed = combine(new, held.id)
        ids = dict.fromkeys((*renewed.same_as, held.id, *held.same_as))
        return msgspec.structs.replace(renewed, same_as=tuple(ids))
    # New records first: at equal trust the newer one wins.
    return combine([*new, without_sources(held, speaking)], held.id)


def fill_gaps(own: Work, other: Work) -> Work:
    """The author's own record of a work, with what it lacks from another record of it.

    Unlike in `combine` no value of `own` is replaced, whatever the other source is trusted. What
    describes the publication is taken if `own` says nothing of one, or names the same. Both
    records' sources are kept, and where the other record disagrees, its values as a variant.
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
    """True when nothing but the days of retrieval differs."""
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
    """The first author list that was not damaged on its way, else the first of names, else the
    first one; complete lists before incomplete ones. Also whether it is incomplete."""
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
    """Every id, and the DOIs of other versions: not this publication's, but ways to find it."""
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
