"""The words by which the rules of `query_grammar` recognise the parts of a query and the topic."""

from __future__ import annotations

import re
from collections.abc import Sequence

from citewell.model.languages import STOPWORDS
from citewell.model.lazy_pattern import lazy_pattern
from citewell.retrieval.words import split

KINDS = {
    "survey": "survey", "surveys": "survey", "review": "survey", "reviews": "survey",
    "overview": "survey", "tutorial": "survey", "dataset": "dataset", "datasets": "dataset",
    "corpora": "dataset", "benchmark": "benchmark", "benchmarks": "benchmark",
}  # fmt: skip
"""Words that ask for a kind of paper. They also occur in titles, and stay in the topic."""
TITLE_WORDS = {
    "survey": ("survey", "review", "overview", "tutorial"),
    "dataset": ("dataset", "corpus", "corpora", "treebank"),
    "benchmark": ("benchmark", "evaluation", "challenge"),
}
"""Words of titles that mark a kind of paper."""
METHOD = "method"
"""The kind of papers whose titles mark no other kind."""
STUDIED = frozenset(
    "amazon app book challenge clinical code consumer critic customer field film game hotel "
    "imdb legal mobile movie music news online opinion paper peer product reader restaurant "
    "rolling shared student system task user yelp".split()
)
"""Words before "review" or "survey" that make it the object of a paper, such as "peer review"."""
_SURVEY = lazy_pattern(
    r"(?:^(?:surveys|reviews|tutorials)|(?:(\w+)[\s-]+)?\b(?:survey|review|overview|tutorial))\b"
    r"(?=\s*(?:[:.,;)\]–—]|$)|\s+-\s|\s+(?:about|and|article|for|from|in|of|on|paper|with)\b)"
    r"(?!.*\b(?:shared[ -]?tasks?|task \d+|tasks? at|workshop|challenge|campaign|track)\b)",
    re.IGNORECASE,
)
"""A title of a survey, and the word before that of `TITLE_WORDS`: not the overview of a shared
task."""
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
"""Names of kinds in records, with their BibTeX entry types."""
KIND_OF = frozenset("of on about for paper papers article articles".split())
"""Words after the name of a requested kind."""
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
"""Phrases of `INFLUENTIAL` that hardly ever belong to a topic."""
INFLUENTIAL_TOPICS = ("classic", "influential", "foundational")
"""Others of `INFLUENTIAL` that also count before a topic. Not "classical" or "landmark", which
usually describe the subject."""
INFLUENTIAL_THEMSELVES = {
    "influential": frozenset(
        "authors bloggers examples factors features individuals instances members messages neurons "
        "nodes observations people person points posts reviewers samples scholars seeds sentences "
        "sources speakers spreaders tokens tweets user users variables vertices words".split()
    ),
    "foundational": frozenset({"model", "models"}),
}
"""Nouns described by the adjective: "influential users in forums" is a topic."""
PAPERS = frozenset(
    "paper papers work works article articles study studies publication publications research "
    "literature".split()
)
TITLED_AFTER = frozenset("advance advances progress trends developments".split())
"""Words after "recent" in titles: "Recent Advances in Parsing"."""
_PRAISE = ("", "best ", "common ", "current ", "different ", "emerging ", "existing ", "main ",
           "new ", "popular ", "various ")  # fmt: skip
ADVANCES = tuple(
    f"{adjective}{noun} {sign}"
    for adjective in (*_PRAISE, *(f"{one} " for one in RECENT))
    for noun in ("advances", "advancements", "progress", "developments", "trends")
    for sign in ("in", "on", "of", "for", "towards")
)
"""Requests for the recent papers on a topic."""
METHODS = tuple(
    f"{adjective}{noun} {sign}"
    for adjective in _PRAISE
    for noun in ("methods", "approaches", "techniques", "algorithms")
    for sign in ("for", "to", "of")
)
"""Requests for papers that propose something, before a topic."""
REVIEWING = frozenset("systematic literature critical comprehensive scoping good a".split())
"""Words before "review" that ask for one."""
PUBLISHED = frozenset(
    "published publish appeared appearing appear presented journal accepted".split()
)
VENUE_HEADS = frozenset(
    "conference journal transactions proceedings symposium annual international advances "
    "findings ieee acm association".split()
)
"""Words at the start of a venue's full name."""
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
"""Words that end the name of a venue or an exclusion."""
NO_NAME = (
    frozenset(word.decode() for word in STOPWORDS)
    | PAPERS
    | frozenset("et al last past year years since said survey review using based via".split())
)
"""Words that do not belong to a name."""

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
"""Minimum words of a text with a full stop to be a sentence."""
LONG = 40
"""Minimum words of any text to be a sentence."""


def is_of_kind(title: str, kind: str) -> bool:
    """Whether a title marks its paper as of a kind of `TITLE_WORDS`, or as of none (`METHOD`)."""
    if kind == METHOD:
        return not any(is_of_kind(title, other) for other in TITLE_WORDS)
    if kind == "survey":
        return any((one[1] or "").lower() not in STUDIED for one in _SURVEY.finditer(title))
    words = {word.decode().removesuffix("s") for word in split(title)}
    return not words.isdisjoint(TITLE_WORDS[kind])


def is_sentence(text: str) -> bool:
    """True for prose that needs a citation. Its years and names are no conditions; a question for
    papers is a query, however long."""
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
    """The text with some ranges replaced and, if a part was recognised, without words that only ask
    for papers."""
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
    # "of" and "for" inside the topic stay: they belong to titles.
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

    Any other text is unchanged, and so is a request without a topic.
    """
    if not _QUESTION.search(text):
        return text
    kept = [word for word in text.split() if word.strip("?,.;:'").lower() not in _REQUEST]
    return " ".join(kept) or text
