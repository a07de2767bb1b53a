"""The language model in a literature search: it reads the question, writes queries, and summarises
a list.

The model proposes and rules check: a condition consists of words of the question, a query is words
to search for, and a sentence of a summary is kept only if the abstracts that it cites support it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from citewell.documents.context import split_sentences
from citewell.llm import texts
from citewell.llm.assistant import ModelConnection
from citewell.llm.failures import no_answer
from citewell.llm.texts import GAP, clean, names_known, without_identifiers
from citewell.model import Work
from citewell.model.cancel import Cancel
from citewell.model.llm import CitedSentence, Interpreted, SuggestedQueries, Summary
from citewell.model.titles import normalise_title

# Whether a sentence may be shown as a statement about some papers: it names nothing else.
#
# Abstracts are foreign text. A sentence of one, or the model's version of it, may contain an
# address, a reference to a paper outside the list, or an instruction to the reader.

MAX_SENTENCE = 400
"""Maximum number of characters of a displayed sentence."""
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}"
    r"\b(?:instructions?|prompts?|previous|above|prior|list|rules?|everything)\b"
    r"|\b(?:you|the (?:reader|assistant|model|reviewer|author)s?) (?:must|should|shall|have to|"
    r"are (?:now|required|asked|instructed))\b"
    r"|\b(?:system|assistant|user|developer)\s*(?:prompt|message)?\s*:"
    r"|\bas an? (?:ai|assistant|language model|editor|reviewer) (?:i|you|model)\b"
    r"|\b(?:please|always|only|must|now|instead|should)\s+(?:cite|recommend|output|print|answer|"
    r"respond|say|write|call|run|accept|choose|pick|select)\b"
    r"|^\W*(?:cite|recommend|output|print|answer|respond|repeat|call|choose|select|say|write)\b"
    r"|\b(?:tool|function) call\b|\bend of (?:candidates|papers|abstracts?|list)\b",
    re.IGNORECASE,
)


def is_closed(sentence: str, works: Sequence[Work]) -> bool:
    """Whether the sentence is short and contains no markup, address, identifier or instruction, and
    no reference to a paper outside `works`.

    Only authors, years, titles and venues of the records prove a reference: statements in their
    abstracts may be planted.
    """
    if not sentence or len(sentence) > MAX_SENTENCE or not sentence.isprintable():
        return False
    if _INSTRUCTION.search(sentence):
        return False
    text = without_identifiers(sentence)
    if GAP in text or "�" in text or _length(text) < _length(sentence):
        return False
    return names_known(text, [replace(work, abstract="") for work in works])


def _length(text: str) -> int:
    """Number of letters and digits."""
    return sum(character.isalnum() for character in text)


# The sentences of a summary that may be shown: each cites papers of the list that support it.
#
# Support is a rule, not a proof: most content words of a sentence must be in the records that it
# cites (titles, abstracts, authors, years), each cited paper must contain a part of them, and every
# number must occur there.

MOST_WORDS = 200
SUPPORTED = 0.7
"""Minimum share of a sentence's content words in the cited records together."""
OWN_PART = 0.3
"""Minimum share in each of them."""
LEAST_WORDS = 3
"""Minimum number of content words in a verifiable statement."""
MAX_SENTENCES = 40
_FUNCTION = frozenset(
    "about above after all also although among and any are because been before being between both "
    "but can could did does each for from had has have here how however into its itself may might "
    "more most nor not off one only onto other others our out over own same should since some such "
    "than that the their them then there these they this those through thus too two under until "
    "upon very was were what when where whereas whether which while who whose why will with within "
    "without would yet you your paper papers work works study studies show shows shown several "
    "many further".split()
)
_CITED = re.compile(r"\s*\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.){12,600})"?')


def checked_sentences(
    answer: object, works: Sequence[Work]
) -> tuple[tuple[CitedSentence, ...], int]:
    """The supported sentences, in order, and the number of the others. `works` are numbered from 1.

    `answer` is a list of sentences or a text; at most `MOST_WORDS` words in all are kept.
    """
    kept: list[CitedSentence] = []
    dropped = words = 0
    for sentence in _sentences(answer):
        one = _checked(sentence, works)
        size = 0 if one is None else len(one.text.split())
        if one is None or words + size > MOST_WORDS or any(one.text == k.text for k in kept):
            dropped += 1
            continue
        words += size
        kept.append(one)
    return tuple(kept), dropped


def _sentences(answer: object) -> Iterator[str]:
    items = answer if isinstance(answer, (list, tuple)) else [answer]
    texts = [item[:4000] for item in items[:MAX_SENTENCES] if isinstance(item, str)]
    if len(texts) == 1 and texts[0].lstrip().startswith(("{", "[")):
        # A truncated object: its strings are the answer.
        texts = _QUOTED.findall(texts[0])
    for text in texts[:MAX_SENTENCES]:
        # The numbers of a sentence may follow its full stop.
        moved = re.sub(r"([.!?])((?:\s*\[[\d,; ]+\])+)", r"\2\1", " ".join(text.split()))
        yield from split_sentences(moved)[:MAX_SENTENCES]


def _checked(sentence: str, works: Sequence[Work]) -> CitedSentence | None:
    """The sentence with the ids of the papers that support it, or None."""
    numbers = [int(n) for group in _CITED.findall(sentence) for n in re.findall(r"\d+", group)]
    if any(not 1 <= number <= len(works) for number in numbers):
        return None
    text = " ".join(_CITED.sub("", sentence).split())
    cited = [works[number - 1] for number in dict.fromkeys(numbers)]
    stated = _content(text)
    if len(stated) < LEAST_WORDS:
        return None
    records = {work.id: _content(_record(work)) for work in cited}
    cited = [work for work in cited if len(stated & records[work.id]) >= OWN_PART * len(stated)]
    held = {word for work in cited for word in records[work.id]}
    missing = stated - held
    if not cited or len(missing) > (1 - SUPPORTED) * len(stated):
        return None
    if any(word.isdigit() for word in missing) or not is_closed(text, cited):
        return None
    return CitedSentence(text, tuple(work.id for work in cited))


def _record(work: Work) -> str:
    names = " ".join(author.family for author in work.authors)
    return f"{work.title} {work.abstract} {names} {work.year or ''}"


def _content(text: str) -> set[str]:
    """Stems of the content words, and all numbers."""
    from Stemmer import Stemmer

    words = normalise_title(text).split()
    kept = [word for word in words if (len(word) > 2 and word not in _FUNCTION) or word.isdigit()]
    return set(Stemmer("english").stemWords(kept))


QUESTION_CHARACTERS = 600
SHOWN = 30
"""Maximum number of papers that a summary may cite; those without room in the request are left
out."""
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
    """One query for each aspect of the papers found. Raises only `Cancelled`."""
    program, module, problem = model.program("aspects", question)
    if module is None:
        return SuggestedQueries(program=program, model=model.name, problem=problem)
    topic = clean(question, QUESTION_CHARACTERS)
    lines = model.lines(module, topic, works[:FOR_QUERIES])
    found = model.ask(module, cancel, question=topic, candidates=lines)
    queries = []
    for aspect in ASPECTS:
        for text in texts.queries(found.field(aspect), 1):
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

    A name, venue, year or word missing from the question is no condition. Raises `Cancelled` alone.
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
    """The names that consist of words of the question."""
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
    """The years in the question, as read by the rules."""
    found = _YEARS.fullmatch(str(answer).strip()) if isinstance(answer, str) else None
    if found is None:
        return ""
    numbers = [year for year in (found[2], found[3]) if year]
    return found[0] if set(numbers) <= known else ""
