"""The language model in a literature search: it reads the question, writes queries, sums up a list.

It proposes and rules check: a condition consists of words of the question, a query is words to
search for, and a sentence of a summary is kept only if the abstracts that it cites support it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.llm import answers
from citewell.llm.connection import ModelConnection
from citewell.llm.failures import no_answer
from citewell.llm.summary import checked_sentences
from citewell.llm.texts import clean
from citewell.model import Work
from citewell.model.cancel import Cancel
from citewell.model.llm import Interpreted, SuggestedQueries
from citewell.model.overview import Summary
from citewell.model.titles import normalise_title

QUESTION_CHARACTERS = 600
SHOWN = 30
"""Papers that a summary may cite; those for which the request has no room are left out."""
FOR_QUERIES = 10
ASPECTS = ("methods", "applications", "limitations")
MOST_NAMES = 4
_YEARS = re.compile(
    r"(?:(since|after|before|until) )?((?:1[89]|20)\d{2})(?: ?(?:-|–|to) ?((?:1[89]|20)\d{2}))?",
    re.IGNORECASE,
)


def summarize(
    model: ModelConnection, question: str, works: Sequence[Work], cancel: Cancel
) -> Summary:
    """A summary of the first `SHOWN` works for the question, in at most `summary.MOST_WORDS` words.

    Every sentence cites ids of `works` whose abstracts support it. Raises `Cancelled` alone.
    """
    program, module, problem = model.program("summarize", question)
    if module is None or not works:
        return Summary(program=program, model=model.name, problem=problem)
    topic = clean(question, QUESTION_CHARACTERS)
    lines = model.lines(module, topic, works[:SHOWN])
    found = model.ask(module, cancel, question=topic, candidates=lines)
    shown = works[: len(lines)]
    sentences, dropped = checked_sentences(found.field("sentences") or found.raw, shown)
    if not sentences:
        problem = found.problem or no_answer(model.name, "sentences that the abstracts support")
    return Summary(
        sentences=sentences,
        dropped=dropped,
        of=len(lines),
        program=program,
        model=model.name,
        problem=problem,
        usage=found.usage,
    )


def suggest_queries(
    model: ModelConnection, question: str, works: Sequence[Work], cancel: Cancel
) -> SuggestedQueries:
    """One query for each aspect of what was found. Raises `Cancelled` alone."""
    program, module, problem = model.program("aspects", question)
    if module is None:
        return SuggestedQueries(program=program, model=model.name, problem=problem)
    topic = clean(question, QUESTION_CHARACTERS)
    lines = model.lines(module, topic, works[:FOR_QUERIES])
    found = model.ask(module, cancel, question=topic, candidates=lines)
    queries = []
    for aspect in ASPECTS:
        for text in answers.queries(found.field(aspect), 1):
            if len(_words(text)) > 1:
                queries.append((aspect, text))
    if not queries:
        problem = found.problem or no_answer(model.name, "search queries")
    return SuggestedQueries(
        queries=tuple(queries),
        program=program,
        model=model.name,
        problem=problem,
        usage=found.usage,
    )


def interpret(model: ModelConnection, question: str, cancel: Cancel) -> Interpreted:
    """The conditions that the model reads in a question, as a typed query for the rules.

    A name, venue, year or word that the question does not contain is no condition of it. Raises
    `Cancelled` alone.
    """
    program, module, problem = model.program("interpret", question)
    if module is None:
        return Interpreted(program=program, model=model.name, problem=problem)
    topic = clean(question, QUESTION_CHARACTERS)
    found = model.ask(module, cancel, question=topic)
    if found.problem is not None:
        return Interpreted(
            program=program, model=model.name, problem=found.problem, usage=found.usage
        )
    known = _words(topic)
    authors = _names(found.field("authors"), known)
    venues = _names(found.field("venues"), known)
    excluded = _names(found.field("excluded"), known)
    years = _years(found.field("years"), known)
    taken = {word for name in (*authors, *venues, *excluded) for word in _words(name)}
    named = str(found.field("topic") or "")[:QUESTION_CHARACTERS].split()
    words = [word for word in named if _words(word) and _words(word) <= known - taken]
    if not words or not (authors or venues or excluded or years):
        return Interpreted(program=program, model=model.name, usage=found.usage)
    parts = words
    parts += [f"by {' and '.join(authors)}"] if authors else []
    parts += [f"at {venue}" for venue in venues[:1]]
    parts += [years] if years else []
    parts += [f'-"{word}"' for word in excluded]
    return Interpreted(text=" ".join(parts), program=program, model=model.name, usage=found.usage)


def _names(answer: object, known: set[str]) -> list[str]:
    """The names that consist of the question's own words."""
    items = answer if isinstance(answer, (list, tuple)) else [answer]
    found = []
    for item in items[:MOST_NAMES]:
        text = " ".join(re.findall(r"[\w.'’-]+", item[:200])) if isinstance(item, str) else ""
        words = _words(text)
        if words and words <= known:
            found.append(text)
    return list(dict.fromkeys(found))


def _words(text: str) -> set[str]:
    return set(normalise_title(text).split())


def _years(answer: object, known: set[str]) -> str:
    """The years that the question states, as the rules read them."""
    found = _YEARS.fullmatch(str(answer).strip()) if isinstance(answer, str) else None
    if found is None:
        return ""
    numbers = [year for year in (found[2], found[3]) if year]
    return found[0] if set(numbers) <= known else ""
