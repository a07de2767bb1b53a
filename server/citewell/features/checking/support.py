"""A model's opinion, from the abstract, on whether a cited paper supports the citing sentence.

It is shown with a quotation from the abstract, and only on request. Nothing else uses it: it is not
a finding, changes nothing and makes no accusation.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

import msgspec

from citewell.documents.bib.work import entry_work, same_work
from citewell.documents.context import context_at
from citewell.documents.project.paper_project import Project
from citewell.engine.contract import Engine
from citewell.features.action import Action
from citewell.features.citing.citation import key_at
from citewell.features.text.evidence import what_it_says
from citewell.model import Problem, Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.display_text import shorten
from citewell.model.document import Document, KeyUse, Placeholder, PlaceholderKind, Span
from citewell.model.llm import Supported
from citewell.model.query import MARK, OTHER
from citewell.options import Options

KIND = "citewell.ask"
"""Kind of an action that answers a question: the protocol has none for it."""
CAUTION = "This is one model's opinion of an abstract: read the paper."
_TITLE = 60


class SentenceCitation(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence and a cited key."""

    path: str
    line: int
    """1-based."""
    column: int
    """1-based, in code points."""
    key: str
    span: Span
    """Range of the key."""
    sentence: str
    """With the key's citation replaced by `[CITATION]`, and others by `[OTHER]`."""


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """The model's opinion on one cited sentence."""

    cited: SentenceCitation
    title: str
    """Title of the cited paper."""
    supported: Supported


def cited_sentence(document: Document, use: KeyUse) -> SentenceCitation | None:
    """The sentence around a key; None outside prose, as in a `\nocite`."""
    start = use.span.start
    sentence = context_at(document, start).sentence
    if not any(letter.isalpha() for letter in sentence.replace("[CITATION]", "")):
        return None
    line_start = document.text.rfind("\n", 0, start) + 1
    return SentenceCitation(
        path=document.path,
        line=document.text.count("\n", 0, start) + 1,
        column=start - line_start + 1,
        key=use.key,
        span=use.span,
        sentence=sentence,
    )


def cited_sentences(project: Project, keys: Container[str] | None = None) -> list[SentenceCitation]:
    """Every sentence of a paper that cites a key of its bibliographies, in reading order. With
    `keys`, only those that cite one of them."""
    found = []
    for document in project.documents.values():
        for citation in document.citations:
            if citation.command == "nocite":
                continue
            for use in citation.keys:
                if (keys is None or use.key in keys) and project.entry(use.key) is not None:
                    found.append(cited_sentence(document, use))
    return [one for one in found if one is not None]


def find_record(engine: Engine, entry: BibEntry) -> Work | None:
    """The record of an entry: by DOI, by arXiv identifier, by title where authors and year agree.
    Raises `CitewellError` when the library is unavailable."""
    body = entry.body
    questions = [{"doi": body.doi}, {"arxiv": body.arxiv}, {"title": entry.get("title")}]
    for question in questions:
        if not all(question.values()):
            continue
        for work in engine.lookup(**question):
            if same_work(entry, work):
                return work
    return None


def readable_work(bib: BibFile, entry: BibEntry, record: Work | None) -> Work:
    """The paper with an abstract, if available: its record, else the entry's own content."""
    if record is not None and record.abstract:
        return record
    return entry_work(bib, entry)


def ask_support(
    project: Project, engine: Engine, sentences: list[SentenceCitation]
) -> Iterator[Support]:
    """The model's opinion of each citation, in order. Raises `CitewellError`."""
    for cited in sentences:
        found = project.entry(cited.key)
        if found is None:
            continue
        path, entry = found
        work = readable_work(project.bibs[path], entry, find_record(engine, entry))
        supported = engine.verify(cited.sentence, work)
        yield Support(cited=cited, title=work.title, supported=supported)


def support_action(document: Document, offset: int, options: Options) -> Action | None:
    """The question about the key at a place; None without a key or a configured model."""
    found = key_at(document, offset) if options.llm.provider != "none" else None
    if found is None or found[0].command == "nocite":
        return None
    use = found[1]
    return Action(
        title=f"Ask {options.llm.provider} whether {use.key} supports this sentence",
        kind=KIND,
        name="support",
        arguments={"key": use.key, "start": use.span.start},
        slow=True,
        asks=True,
    )


def use_near(document: Document, start: int, key: str) -> KeyUse | None:
    """The citation of a key nearest to an offset, because the author may have typed since; None
    when there is none."""
    uses = (use for citation in document.citations for use in citation.keys if use.key == key)
    return min(uses, key=lambda use: abs(use.span.start - start), default=None)


def in_words(key: str, work: Work, supported: Supported) -> str:
    """The answer to an author who asked about one citation."""
    return f"{key} (“{shorten(work.title, _TITLE)}”): {what_it_says(supported)}. {CAUTION}"


def without_abstract(key: str) -> Problem:
    """The problem of a paper without an abstract in library and entry."""
    return Problem(
        "llm-no-abstract",
        f"Neither the library nor the entry has an abstract of {key}: the model was not asked.",
        "Read the paper.",
    )


# Detects a sentence that relies on the work of others without a citation, with high precision.
#
# Used only at the author's cursor, never to underline anything. It fires on phrases that seldom
# occur without a citation (`tests/bench/uncited_bench.py` measures how seldom); claims in other
# words are left to the author. "State of the art" is not among the phrases: two of three
# sentences with it have no citation.

_STUDIES = r"(?:work|works|studies|research|researchers|approaches|methods|authors|papers|results)"
_PHRASES = re.compile(
    rf"""
      \b(?:previous|prior|recent|earlier|past|existing|several|many|numerous|other|early|much|most)
        \s+(?:\w+\s+){{0,2}}{_STUDIES}\b
    | \b(?:it\s+)?(?:has|have)\s+(?:\w+\s+)?been\s+(?:\w+\s+)?
        (?:shown|proposed|demonstrated|introduced|studied|observed|reported|argued|established|used|
           explored|investigated|applied)\b
    | \b(?:is|are|was|were)\s+(?:\w+\s+)?(?:first\s+)?(?:introduced|proposed|pioneered)\s+by\b
    | \b(?:according\s+to|following|inspired\s+by|building\s+on|based\s+on\s+the\s+work\s+of)
        \s+(?-i:[A-Z][a-z])
    | \b[A-Z][\w'-]+\s+(?:et\s+al\.?|and\s+colleagues)
    | \b(?:well[-\s]known|well[-\s]established|widely\s+(?:used|adopted|studied))\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
_OWN = re.compile(
    r"\b(?:we|our|ours|us|this\s+(?:paper|section|chapter|thesis|work)|in\s+(?:section|figure|table)"
    r"|the\s+following|as\s+follows)\b",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?](?=[\"')\]}]*(?:\s|$|%))|\n[ \t]*\r?\n")
_PARAGRAPH_END = re.compile(r"\n[ \t]*\r?\n\s*")
MIN_WORDS = 7
REACH = 1500
"""Characters within which the sentence must end."""


class Uncited(msgspec.Struct, frozen=True):
    """A sentence that needs a citation, and the place for one."""

    sentence: str
    at: int
    """Offset before the full stop."""

    @property
    def placeholder(self) -> Placeholder:
        """The empty place as a placeholder, for a search."""
        here = Span(self.at, self.at)
        return Placeholder(PlaceholderKind.MARKER, here, "", here, "")


def uncited_at(document: Document, offset: int) -> Uncited | None:
    """The sentence at an offset, if it reports findings of others and has no citation.

    None in headings, comments, math and code, in a sentence with a citation or placeholder, and in
    one about this paper itself.
    """
    at = sentence_end(document, offset) if _is_prose(document, offset) else None
    if at is None or not _is_prose(document, at):
        return None
    found = _without_citation(document, at)
    return found if found is not None and reports_others(found) else None


def reports_others(found: Uncited) -> bool:
    """True if the words of a sentence seldom occur without a citation."""
    plain = found.sentence.replace(MARK, "")
    return not _OWN.search(plain) and _PHRASES.search(plain) is not None


def uncited_sentences(document: Document) -> Iterator[Uncited]:
    """The sentences of prose with neither citation nor placeholder, in order, each with the place
    for a citation; short ones are left out."""
    offset = 0
    while offset < len(document.text):
        at = sentence_end(document, offset)
        if at is None:
            paragraph = _PARAGRAPH_END.search(document.text, offset)
            end = paragraph.start() if paragraph is not None else len(document.text)
            at = offset + len(document.text[offset:end].rstrip())
            following = paragraph.end() if paragraph is not None else len(document.text)
        else:
            following = at + 1
        found = _without_citation(document, at) if _is_prose(document, at) else None
        if found is not None:
            yield found
        offset = following


def following_citation(document: Document, found: Uncited, sentences: int) -> bool:
    """Whether one of the next sentences, also of the next paragraph, has a citation."""
    after = [one.span.start for one in document.citations if one.span.start > found.at]
    if not after or after[0] > found.at + REACH:
        return False
    between = document.text[found.at + 1 : after[0]]
    stops = [
        sentence_end(document, stop.start() + found.at + 1) for stop in _STOP.finditer(between)
    ]
    return len({stop for stop in stops if stop is not None and stop < after[0]}) < sentences


def _without_citation(document: Document, at: int) -> Uncited | None:
    """The sentence that ends at an offset; None if it is short or cites something."""
    sentence = context_at(document, at).sentence
    if OTHER in sentence or MARK not in sentence:
        return None
    if len(sentence.replace(MARK, "").split()) < MIN_WORDS:
        return None
    return Uncited(sentence, at)


def _is_prose(document: Document, offset: int) -> bool:
    """False outside the body, in ignored regions, and at a citation."""
    body = document.body
    if body is not None and not body.start <= offset <= body.end:
        return False
    spans = (
        *document.blanked,
        *(heading.span for heading in document.headings),
        *(citation.span for citation in document.citations),
        *(placeholder.span for placeholder in document.placeholders),
    )
    return not any(span.start <= offset <= span.end for span in spans)


def sentence_end(document: Document, offset: int) -> int | None:
    """The offset of the full stop that ends the sentence; None when the paragraph ends before."""
    text = document.text
    for found in _STOP.finditer(text[offset : offset + REACH]):
        if found[0][0] not in ".!?":
            return None
        at = offset + found.start()
        word = re.search(r"[\w.]*$", text[max(0, at - _LONGEST_SHORT) : at])
        if word is not None and word[0].lower() in _SHORT:
            continue
        return at
    return None


_LONGEST_SHORT = 12
"""More characters than an abbreviation has."""
_SHORT = frozenset({"e.g", "i.e", "al", "cf", "etc", "vs", "fig", "sec", "eq", "resp", "approx"})
