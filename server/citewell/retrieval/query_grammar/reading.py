"""Reads typed words by rules: who, where, when, and which topic is left.

The text becomes tokens (`tokens`); at each token the rules of `RULES` are tried in order, and the
first that fits takes its tokens as one part. What no rule takes is the topic. Names count only if
the library knows them, so that "markov" in "markov decision process" stays a word. No text fails
and none is read beyond a bound. docs/queries.md has the grammar.
"""

from __future__ import annotations

import datetime

import msgspec

from citewell.model.query import QueryPart, TypedQuery, Understood
from citewell.retrieval.query_grammar import people, rules
from citewell.retrieval.query_grammar.cursor import Cursor, Names, NoNames, Rule
from citewell.retrieval.query_grammar.words import is_sentence, topic_of

MOST_PARTS = 24
"""Parts of one text; what follows is topic."""
RULES: tuple[Rule, ...] = (
    rules.field,
    rules.excluded,
    rules.phrase,
    rules.citations,
    rules.relation,
    rules.recency,
    rules.influential,
    rules.years,
    people.marked_authors,
    rules.venue,
    rules.kind,
    people.bare_authors,
)
"""Tried in order at each token; the first that fits takes it."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The words to search for, what is a filter, and what was understood."""

    words: str
    """Topic, surnames and single years: what retrievers and rankers look for."""
    understood: Understood = Understood()
    year_from: int | None = None
    """With `year_to`: the years of a range, which is a filter."""
    year_to: int | None = None
    author: str = ""
    """Named in a field, which is a filter."""
    venue: str = ""
    kind: str = ""
    """An entry type named in a field, which is a filter."""
    title_kind: str = ""
    """A kind known by words of titles that is named in a field: a filter if no topic is."""
    language: str = ""
    has_bare_names_only: bool = True
    """Nothing but surnames and years was understood, which may as well be words of a title."""


def read_query(text: str, names: Names | None = None, now: int | None = None) -> Reading:
    """The parts of typed words; `now` is the year that "last three years" counts from."""
    cursor = Cursor(text, names or NoNames(), now or datetime.date.today().year)

    chosen = (rules.field,) if is_sentence(text) else RULES
    parts: list[QueryPart] = []
    kept: list[tuple[int, int, str]] = []
    query: dict[str, object] = {}
    filters: dict[str, object] = {}
    is_bare = True
    at = 0
    while at < len(cursor.tokens):
        token = cursor.tokens[at]
        if token.kind == "plus":
            # The next token is a word, whatever it may mean.
            kept.append((token.start, token.end, ""))
            at += 2
            continue
        found = None
        if len(parts) < MOST_PARTS:
            found = next((one for rule in chosen if (one := rule(cursor, at))), None)
        if found is None:
            at += 1
            continue
        end = found.last or cursor.tokens[found.end - 1].end
        part = QueryPart(start=token.start, end=end, kind=found.kind, value=found.value)
        parts.append(part)
        if found.kept is not None:
            kept.append((part.start, part.end, found.kept))
        for name, value in found.change.items():
            if isinstance(value, tuple):
                value = (*query.get(name, ()), *value)  # type: ignore[misc]
            query[name] = value
        filters.update(found.filters)
        is_bare = is_bare and found.is_bare
        at = found.end
    words = topic_of(cursor.text, kept, has_parts=bool(parts))
    bare: list[tuple[int, int, str]] = [
        (p.start, p.end, "") for p in parts if p.kind not in ("phrase", "kind")
    ]
    starts = {start for start, _, _ in bare}
    bare += [one for one in kept if one[0] not in starts]
    topic = topic_of(cursor.text, sorted(bare), has_parts=bool(parts))
    typed = msgspec.convert({**query, "topic": topic}, TypedQuery) if parts else TypedQuery()
    return Reading(
        words=words,
        understood=Understood(query=typed, parts=tuple(parts)),
        has_bare_names_only=is_bare,
        **filters,  # type: ignore[arg-type]
    )
