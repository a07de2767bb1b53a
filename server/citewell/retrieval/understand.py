"""From an author's passage to weighted words, names, years and acronyms for the retrievers.

The weights were measured: words weigh less with distance from the citation, the words typed inside
the placeholder weigh most, and the citing paper's own title helps.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from citewell.model.languages import STOPWORDS
from citewell.model.query import MARK, OTHER, Query
from citewell.retrieval.words import split

MAX_WORDS = 400
"""Maximum number of words read from one part of the text; a pasted file may have more."""


class Weights(msgspec.Struct, frozen=True):
    """The weight of each part of a query in BM25. The defaults are tuned on training papers."""

    text: float = 2.5
    """The words typed inside the placeholder."""
    left: float = 1.0
    right: float = 0.7
    """Words of the citing sentence before and after the mark, times the decay."""
    tau: float = 18.0
    """Distance in words at which a word's weight has fallen to 1/e."""
    floor: float = 0.3
    """The minimum decay inside the citing sentence."""
    before: float = 0.15
    """The previous sentence, times its share by distance."""
    title: float = 0.3
    abstract: float = 0.05
    section: float = 0.1
    name: float = 2.0
    """A surname that the sentence cites."""
    acronym: float = 2.0
    """A name such as BERT, looked up as a title that begins "BERT:"."""
    year: float = 0.6


class Wanted(msgspec.Struct, frozen=True):
    """Weighted items to look up."""

    words: dict[str, float]
    names: dict[str, float]
    """Surnames, folded."""
    acronyms: dict[str, float]
    """Possible first names of a title, folded, with blanks between their words."""
    years: dict[int, float]


_SPACE = re.compile(r"\s+")
_MARKS = re.compile(re.escape(MARK) + "|" + re.escape(OTHER))
_YEAR = re.compile(r"(?<![\d.])(19[5-9]\d|20[0-3]\d)(?![\d.]*\d)")
_CITED_NAME = re.compile(
    r"([^\W\d_][\w'’-]+)(?:\s+et\s+al\b\.?|'s\b|\s*(?:,|\()\s*(?:19|20)\d\d|"
    r"\s+(?:and|&)\s+([^\W\d_][\w'’-]+)(?=\s*(?:\(|,|\[|19|20)))"
)
_ACRONYM = re.compile(r"[^\W_]*[A-Z][^\W_]*(?:[-+][^\W_]+)*")


def plain(text: str) -> str:
    """The text without citation marks, in one line."""
    return _SPACE.sub(" ", _MARKS.sub(" ", text)).strip()


def near_text(query: Query) -> str:
    """The text nearest to the citation: the typed words and the citing sentence."""
    return " ".join(part for part in (query.text, plain(query.sentence)) if part)


def wanted(query: Query, weights: Weights | None = None) -> Wanted:
    """The weighted words, names, acronyms and years of a query; all empty for an empty query."""
    w = weights or Weights()
    words: dict[str, float] = {}
    names: dict[str, float] = {}
    acronyms: dict[str, float] = {}
    years: dict[int, float] = {}
    if query.text:
        _count(words, query.text, w.text)
        for word in split(query.text)[:MAX_WORDS]:
            _most(names, word.decode(), w.text * 0.6)
        _find_acronyms(acronyms, query.text, w.acronym, any_case=True)
        for year in _YEAR.findall(query.text):
            years[int(year)] = w.text
    quiet = 0.4 if query.text else 1.0
    left, mark, right = query.sentence.partition(MARK)
    if not mark:
        _count(words, plain(query.sentence), w.left * quiet)
    else:
        _decay(words, split(plain(left))[::-1], w.left * quiet, w)
        _decay(words, split(plain(right)), w.right * quiet, w)
    cited: dict[str, float] = {}
    _find_names(cited, query.sentence, w.name * quiet)
    for surname, weight in cited.items():
        words.pop(surname, None)  # "Long" in "Long et al." is no length
        _most(names, surname, weight)
    _find_acronyms(acronyms, left[-200:], w.acronym * quiet)
    for year in _YEAR.findall(query.sentence):
        years.setdefault(int(year), w.year * quiet)
    for distance, sentence in enumerate(reversed(query.before[-3:]), 1):
        _count(words, plain(sentence), w.before * quiet / distance)
    _count(words, query.paper.title, w.title * quiet)
    _count(words, query.paper.abstract, w.abstract * quiet)
    _count(words, query.section, w.section * quiet)
    for name in split(query.author):
        _most(names, name.decode(), 2 * w.name)
    return Wanted(words, names, acronyms, years)


def _count(words: dict[str, float], text: str, weight: float) -> None:
    """Add the weight for each occurrence."""
    if weight <= 0:
        return
    for word in _telling(text):
        words[word] = words.get(word, 0.0) + weight


@lru_cache(maxsize=64)
def _telling(text: str) -> tuple[str, ...]:
    """The words of a text without function words. The last texts are cached: the text around a
    placeholder stays the same while an author types."""
    words = split(text)[:MAX_WORDS]
    return tuple(word.decode() for word in words if len(word) > 1 and word not in STOPWORDS)


def _decay(words: dict[str, float], run: list[bytes], weight: float, w: Weights) -> None:
    factor = 2.718281828459045 ** (-1.0 / w.tau)
    share = 1.0
    for word in run[:MAX_WORDS]:
        if len(word) > 1 and word not in STOPWORDS:
            key = word.decode()
            words[key] = words.get(key, 0.0) + weight * max(share, w.floor)
        share *= factor


def _most(found: dict[str, float], key: str, weight: float) -> None:
    if len(key) > 1 and key.encode() not in STOPWORDS:
        found[key] = max(found.get(key, 0.0), weight)


def _find_names(names: dict[str, float], text: str, weight: float) -> None:
    for first, second in _CITED_NAME.findall(text):
        for name in (first, second):
            if name and name[0].isupper():
                for part in split(name):
                    _most(names, part.decode(), weight)


def _find_acronyms(
    found: dict[str, float], text: str, weight: float, any_case: bool = False
) -> None:
    """Find names with two capitals or a digit ("BERT", "RoBERTa", "GPT-2"), the nearest
    strongest."""
    candidates = text.split() if any_case else _ACRONYM.findall(plain(text))
    for distance, name in enumerate(reversed(candidates[-20:])):
        capitals = sum(character.isupper() for character in name)
        shaped = capitals >= 2 or (capitals and any(c.isdigit() for c in name))
        if any_case or shaped:
            key = b" ".join(split(name)).decode()
            _most(found, key, weight * max(0.3, 0.85**distance))


def title_name(title: str) -> str:
    """The name before a title's colon ("BERT: Pre-training ..."), folded, or ""."""
    head, colon, rest = title.partition(":")
    if not colon or not rest.strip() or len(head) > 40:
        return ""
    parts = split(head)
    return b" ".join(parts).decode() if 0 < len(parts) <= 3 else ""
