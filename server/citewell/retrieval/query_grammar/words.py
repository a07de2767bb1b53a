"""The words by which the rules of `query_grammar` know the parts of a query, and what is topic."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from citewell.model.languages import STOPWORDS
from citewell.model.lazy_pattern import lazy_pattern

KINDS = {
    "survey": "survey", "surveys": "survey", "review": "survey", "reviews": "survey",
    "overview": "survey", "tutorial": "survey", "dataset": "dataset", "datasets": "dataset",
    "corpora": "dataset", "benchmark": "benchmark", "benchmarks": "benchmark",
}  # fmt: skip
"""Words that ask for a kind of paper. They are words of titles, too, and stay in the topic."""
TITLE_WORDS = {
    "survey": ("survey", "review", "overview", "tutorial"),
    "dataset": ("dataset", "corpus", "corpora", "treebank"),
    "benchmark": ("benchmark", "evaluation", "challenge"),
}
"""Words of titles by which a paper is of a kind."""
STUDIED = {
    "review": ("product", "customer", "consumer", "book", "movie", "restaurant", "hotel", "user"),
}
"""Words of titles beside which such a word names what a paper studies: "product reviews"."""
ENTRY_TYPES = {
    "article": ("article",), "journal": ("article",),
    "inproceedings": ("inproceedings",), "conference": ("inproceedings",),
    "incollection": ("incollection",), "chapter": ("incollection", "inbook"),
    "inbook": ("inbook",), "book": ("book",), "booklet": ("booklet",),
    "thesis": ("phdthesis", "mastersthesis"), "phdthesis": ("phdthesis",),
    "mastersthesis": ("mastersthesis",), "report": ("techreport",),
    "techreport": ("techreport",), "manual": ("manual",), "unpublished": ("unpublished",),
    "misc": ("misc",),
}  # fmt: skip
"""Names of kinds that records state, with their BibTeX entry types."""
KIND_OF = frozenset("of on about for paper papers article articles".split())
"""Words behind the name of a kind that is asked for."""
AUTHOR_CUES = (
    "by", "written by", "authored by", "published by", "co-authored by", "coauthored by",
    "authors", "author", "work of", "works of", "papers of", "papers from",
)  # fmt: skip
EXCLUDING = (
    "but not about", "but not on", "but not", "but no", "excluding", "except for", "except",
    "not about",
)  # fmt: skip
RECENT = ("the most recent", "most recent", "recent", "the latest", "latest", "newest")
EARLY = (
    "early work", "early works", "early papers", "early research", "earliest papers",
    "earliest work", "the first papers", "the first paper", "the original paper",
    "original paper", "original papers", "pioneering work", "pioneering papers",
)  # fmt: skip
INFLUENTIAL = (
    "classic", "classical", "influential", "highly influential", "most influential", "seminal",
    "landmark", "foundational", "highly cited", "highly-cited", "most cited", "most-cited",
    "well known", "well-known", "most important", "important",
)  # fmt: skip
SUPERLATIVES = (
    "highly influential", "most influential", "seminal", "highly cited", "highly-cited",
    "most cited", "most-cited", "most important",
)  # fmt: skip
"""Those of `INFLUENTIAL` that are hardly ever part of a topic."""
INFLUENTIAL_TOPICS = ("classic", "influential", "foundational")
"""Others of `INFLUENTIAL` that count before a topic, too. Not "classical" or "landmark", which
describe what is studied more often."""
INFLUENTIAL_THEMSELVES = {
    "influential": frozenset(
        "authors bloggers examples factors features individuals instances members messages neurons "
        "nodes observations people person points posts reviewers samples scholars seeds sentences "
        "sources speakers spreaders tokens tweets user users variables vertices words".split()
    ),
    "foundational": frozenset({"model", "models"}),
}
"""Nouns that such an adjective describes: "influential users in forums" is a topic."""
PAPERS = frozenset(
    "paper papers work works article articles study studies publication publications research "
    "literature".split()
)
TITLED_AFTER = frozenset("advance advances progress trends developments".split())
"""Words behind "recent" in titles: "Recent Advances in Parsing"."""
PUBLISHED = frozenset(
    "published publish appeared appearing appear presented journal accepted".split()
)
VENUE_HEADS = frozenset(
    "conference journal transactions proceedings symposium annual international advances "
    "findings ieee acm association".split()
)
"""Words with which the full name of a venue begins."""
REQUEST_ONLY = frozenset(
    """
    any article articles book books find give list literature me paper papers please
    provide publication publications published publish publishes references research show some
    studies study tell want wanted work works written wrote authored appeared presented did does
    do has have had what which who whose is are was there about on in at from by for of to the a
    an with that and or i need looking my their his her among amongst see also cf eg e.g
    """.split()
)
VENUE_STOPS = frozenset(
    """
    by since before after between until about with that which on in at from for year during using
    and or of is are was i
    """.split()
)
"""Words that end the name of a venue or what is left out."""
NO_NAME = (
    frozenset(word.decode() for word in STOPWORDS)
    | PAPERS
    | frozenset("et al last past year years since said survey review using based via".split())
)
"""Words that are no part of a name."""

_QUESTION = re.compile(
    r"\?\s*$|^\s*(?:can|could|would|please|which|what|where|who|are there|is there|any|give|tell|"
    r"list|find|show|provide|name|i need|i want|looking for)\b", re.I
)  # fmt: skip
_SOURCES = (
    r"(?:papers?|articles?|publications?|literature|works?|stud(?:y|ies)|research(?:es|ers?)?|"
    r"references?)"
)
_ASKS = lazy_pattern(
    rf"^\s*(?:(?:can|could|would|please|which|what|where|who|are there|is there|any|give|tell|list|"
    rf"find|show|provide|name|i need|i want|looking for)\b[^?:.]{{0,40}}\b{_SOURCES}\b"
    rf"|who (?:\w+ )?(?:proposed|introduced|invented|studied|showed)\b"
    rf"|(?:the |recent |classic |all )*(?:papers|articles|publications|literature) "
    rf"(?:about|on|that|which)\b)", re.I | re.S
)  # fmt: skip
_FIRST_PERSON = re.compile(r"\b(?:we|our|us|I)\b")
_CITED = re.compile(r"\[(?:CITATION|OTHER)\]|\\cite|\([A-Z][^()]{2,40}, (?:19|20)\d\d[a-z]?\)")
_ENDS = re.compile(r"(?<!et al)(?<!\b[A-Z])[.!;]\s*$")
SENTENCE_WORDS = 8
"""Words from which a text with a full stop is a sentence."""
LONG = 40
"""Words from which any text is one."""


def is_titled(words: Collection[str], word: str) -> bool:
    """Whether a paper is of a kind by this word of titles; `words` are those of its title."""

    def has(one: str) -> bool:
        return one in words or f"{one}s" in words

    return has(word) and not any(map(has, STUDIED.get(word, ())))


def is_sentence(text: str) -> bool:
    """True for prose that wants a citation. Years and names in it are no conditions; a question
    for papers is a query, however long."""
    words = len(text[:4000].split())
    if _CITED.search(text[:4000]):
        return words >= SENTENCE_WORDS
    if words > LONG:
        return True
    if words < SENTENCE_WORDS or _QUESTION.search(text):
        return False
    return bool(_ENDS.search(text) or _FIRST_PERSON.search(text))


def asks_for_papers(text: str) -> bool:
    """True for a request for the literature on a topic ("Which papers study X?", "papers on X").

    Any other words may mean one paper, and so may a question that names no papers: many titles
    are questions.
    """
    return _ASKS.match(text[:4000]) is not None and not is_sentence(text)


def topic_of(text: str, cut: Sequence[tuple[int, int, str | None]], *, has_parts: bool) -> str:
    """The text with some ranges replaced; where something was understood, without the words that
    only ask for papers."""
    pieces: list[str] = []
    at = 0
    for start, end, instead in cut:
        pieces += (text[at:start], f" {instead} " if instead else " ")
        at = end
    rest = "".join((*pieces, text[at:]))
    if not has_parts:
        return topic_of_request(" ".join(rest.split()) if cut else text)
    words = [word for word in rest.split() if any(c.isalnum() for c in word)]
    bare = [word.strip("?,.;:'’()[]").lower() for word in words]
    kept = [n for n, word in enumerate(bare) if word and word not in REQUEST_ONLY]
    if not kept:
        return ""
    # Inside the topic "of" and "for" stay: they belong to titles.
    inside = range(kept[0], kept[-1] + 1)
    return " ".join(words[n].strip("?,;()[]") for n in inside if n in kept or bare[n] in _INSIDE)


_INSIDE = frozenset("of for to the a an with and or on in from by at is do".split())

_REQUEST = frozenset(
    """
    any article articles books book find give know list literature looking me name need paper
    papers please provide publication publications reference references research researches show
    some studies study tell want work works address addressed addresses discuss discussed
    discusses explore explored explores focus focused focuses investigate investigated
    investigates introduce introduced introduces present presented presents propose proposed
    proposes
    """.split()
)


def topic_of_request(text: str) -> str:
    """A question for papers without the words that only ask: "Which papers study X?" is "X?".

    Any other text stays as it is, and so does a request of nothing else.
    """
    if not _QUESTION.search(text):
        return text
    kept = [word for word in text.split() if word.strip("?,.;:'").lower() not in _REQUEST]
    return " ".join(kept) or text
