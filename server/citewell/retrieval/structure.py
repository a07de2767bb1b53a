"""Puts what typed words ask for into a query: words to search for, filters, conditions.

Only words typed into a placeholder or a search are read so; a year in a citing sentence is a hint
and stays one.
"""

from __future__ import annotations

import re

import msgspec

from citewell.model import Query
from citewell.model.typed_query import TypedQuery, Understood
from citewell.retrieval.query_grammar.reading import Reading, read_query
from citewell.retrieval.typed_text import as_read

_RELATIONS = ("cites", "cited_by", "like")


def structured(query: Query, now: int | None = None) -> Query:
    """The query with the ranges of years and the fields of its typed words as filters, and the
    rest as its words, as far as that takes no library.

    `now` is the year that "the last 5 years" counts from: that of the citing paper if it is known,
    else this one. Filters that the query already has stay.
    """
    if not query.text:
        return query
    query = msgspec.structs.replace(query, text=as_read(query.text).text)
    found, _ = with_conditions(query, read_query(query.text, now=now or query.paper.year))
    return msgspec.structs.replace(found, typed_query=TypedQuery())


def with_conditions(query: Query, reading: Reading) -> tuple[Query, Understood]:
    """The query as its words are understood. Filters that it already has stay.

    Where no word is left ("NeurIPS 2017", "kind:survey"), the conditions are filters.
    """
    understood = reading.understood
    typed = understood.query
    is_plain = _is_plain(reading)
    if is_plain and not typed.authors:
        return query, understood  # a year by itself is the ranker's
    is_single = typed.year_from is not None and typed.year_from == typed.year_to
    if (
        typed.year_from is not None
        and typed.year_to is not None
        and ((is_plain and not _names_coauthors(query, reading)) or (is_single and query.sentence))
    ):
        # So are the years beside it: people often err by one. In a search the year is a condition,
        # in a placeholder it says which paper is meant.
        typed = msgspec.structs.replace(
            typed, year_from=typed.year_from - 1, year_to=typed.year_to + 1
        )
    words = query.text if is_plain else reading.words
    year_from, year_to = reading.year_from, reading.year_to
    author, venue = reading.author, reading.venue
    kind, language = query.kind or reading.kind, query.language or reading.language
    has_topic = typed.topic and (kind or typed.topic != reading.title_kind)
    if not has_topic and not query.sentence:
        related = [part.value for part in understood.parts if part.kind in _RELATIONS]
        if related:
            words = " ".join(related)  # "papers citing BERT": its name is the only word there is
        elif not typed.authors and not typed.phrases:
            # "NeurIPS 2017": the conditions are all that is asked.
            venue = venue or next(iter(typed.venues), "")
            kind = kind or reading.title_kind
            if typed.venues or reading.title_kind or typed.min_citations is not None:
                words, year_from, year_to = "", typed.year_from, typed.year_to
    given = (
        query.author, query.venue, author, venue, kind, language, year_from, year_to,
        typed.min_citations,
    )  # fmt: skip
    if not words.strip() and not any(given):
        words = query.text
    if words == query.text and not understood.parts:
        return query, understood
    changed = msgspec.structs.replace(
        query,
        text=words,
        typed_query=typed,
        year_from=year_from if query.year_from is None else query.year_from,
        year_to=year_to if query.year_to is None else query.year_to,
        author=query.author or author,
        venue=query.venue or venue,
        kind=kind,
        language=language,
    )
    return changed, understood


def _names_coauthors(query: Query, reading: Reading) -> bool:
    """Whether the words are surnames joined by "and", with a year: "Kingma and Welling 2014"."""
    parts = [query.text[part.start : part.end] for part in reading.understood.parts
             if part.kind == "author"]  # fmt: skip
    return any(re.search(r"\s(?:and|&)\s", part) for part in parts)


def _is_plain(reading: Reading) -> bool:
    """Whether only surnames and years were understood: such words are searched as they stand."""
    return bool(reading.understood.parts) and reading.has_bare_names_only
