"""A model's opinion, from the abstract, on whether a cited paper supports the citing sentence.

It is shown with a quotation from the abstract, and only on request. Nothing else uses it: it is not
a finding, changes nothing and makes no accusation.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from citewell.documents.bib.match import same_work
from citewell.documents.bib.work import entry_work
from citewell.documents.context import context_at
from citewell.documents.project.paper_project import Project
from citewell.engine.contract import Engine
from citewell.features.action import Action
from citewell.features.citing.site import key_at
from citewell.features.text.evidence import what_it_says
from citewell.model import Problem, Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.display_text import shorten
from citewell.model.document import Document, KeyUse, Span
from citewell.model.llm import Supported
from citewell.options import Options

KIND = "citewell.ask"
"""Of an action that answers a question: the protocol has no kind for it."""
CAUTION = "This is one model's opinion of an abstract: read the paper."
_TITLE = 60


class SentenceCitation(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence and a key that it cites."""

    path: str
    line: int
    """1-based."""
    column: int
    """1-based, in code points."""
    key: str
    span: Span
    """Of the key."""
    sentence: str
    """With the key's citation replaced by `[CITATION]`, and others by `[OTHER]`."""


class Support(msgspec.Struct, frozen=True, kw_only=True):
    """The model's opinion on one cited sentence."""

    cited: SentenceCitation
    title: str
    """Of the cited paper."""
    supported: Supported


def cited_sentence(document: Document, use: KeyUse) -> SentenceCitation | None:
    """The sentence around a key; None where there is no prose, as at a `\\nocite`."""
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
    """Every sentence of a paper that cites a key of its bibliographies, in reading order.

    With `keys`, only those that cite one of them.
    """
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

    Raises `CitewellError` when the library cannot be asked.
    """
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
    """The paper with an abstract, if anybody has one: its record, else what the entry says."""
    if record is not None and record.abstract:
        return record
    return entry_work(bib, entry)


def ask_support(
    project: Project,
    engine: Engine,
    sentences: list[SentenceCitation],
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
    """The question about the key at a place; None where none stands or no model is named."""
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
