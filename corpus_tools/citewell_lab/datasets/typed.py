"""Typed words: what an author who knows a paper would type into a placeholder.

Each kind is a way of naming a paper: its title, a few words of it, who wrote it and when. The words
are made from what the citing paper's own .bib says, by rules and a random number that depends on
the question alone, so that the same data always gives the same queries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random

import msgspec

from citewell.corpus.columns import opening_name
from citewell.model import Question, Work
from citewell.model.languages import STOPWORDS
from citewell.model.names import parse_author
from citewell.model.query import MARK, OTHER
from citewell.model.titles import plain_title
from citewell.model.venues import shown_venue, venue_ids

TAG = "typed:"
"""Prefix of the kind in a question's tags."""
LEFT_OUT = 0.4
"""Share of the questions of `FROM_RECORD` that are asked with the paper taken out of the library:
of papers that it lacks, no abstract and no venue is known."""
FROM_RECORD = frozenset({"abstract", "venue"})
"""Kinds that need the cited paper's record."""
MOST_MISSPELT = 6
"""Words of a title of which several are misspelt."""

LEAST_CUT = 5
"""Letters of a word that is cut off; `LEAST_TYPED` of them stay."""
LEAST_TYPED = 3

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_LAST = re.compile(r"[^\W\d_]+$")
_SENTENCE = re.compile(r"(?<=[.?!])\s+")
_SHAPED = re.compile(r"(?=(?:.*[A-Z]){2}|.*[A-Z].*\d)[\w.+-]{2,20}")
"""A system's name: two capitals, or a capital and a digit."""
_NAME = re.compile(r"(?=(?:.*[A-Z]){2}|.*[A-Za-z].*\d)[\w.+-]{2,20}")
"""A system's name within a sentence; includes "word2vec"."""
_VERSION = re.compile(r"[vV]\d+(?:\.\d+)*")
_CAPITAL = re.compile(r"[A-Z][\w+-]+")
_VAGUE = frozenset(
    "paper work study approach method methods model models results problem present show propose "
    "proposed novel new using based also however recent existing task tasks".split()
)


class About(msgspec.Struct, frozen=True):
    """Facts about a cited paper and its citation."""

    title: str
    authors: tuple[str, ...] = ()
    """Family names."""
    first_author: str = ""
    """The first author's full name, as the citing paper's bibliography gives it."""
    year: int | None = None
    abstract: str = ""
    venue: str = ""
    """Short name, as authors type it: "ICLR"."""
    sentence: str = ""
    """The citing sentence up to the citation."""


def _content(text: str) -> list[str]:
    """The distinct content words in lower case, in order."""
    found = (word.lower() for word in _WORD.findall(text))
    kept = (w for w in found if len(w) > 2 and w.encode() not in STOPWORDS and not w.isdigit())
    return list(dict.fromkeys(kept))


def _title(about: About, random: Random) -> str:
    return about.title


def _typo(about: About, random: Random) -> str:
    """The title with a typo in a longer word: a letter swapped, dropped, doubled or replaced."""
    words = about.title.split()
    places = [n for n, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if not places:
        return ""
    place = random.choice(places)
    words[place] = _misspell(words[place], random)
    return " ".join(words)


def _typos(about: About, random: Random) -> str:
    """The title's first words, two to four of them with a typo: "attenion is al you ned"."""
    words = about.title.lower().split()[:MOST_MISSPELT]
    places = [n for n, word in enumerate(words) if len(word) > 2 and word.isalpha()]
    if len(places) < 3:
        return ""
    for place in random.sample(places, random.randint(2, min(4, len(places)))):
        words[place] = _misspell(words[place], random)
    return " ".join(words)


def _misspell(word: str, random: Random) -> str:
    """The word of at least three letters with a letter after the first swapped with the next,
    dropped, doubled or replaced; a short word with a letter dropped."""
    if len(word) < 5:
        at = random.randrange(1, len(word))
        return word[:at] + word[at + 1 :]
    changed = word
    while changed.lower() == word.lower():  # swapping two equal letters has no effect
        at = random.randrange(1, len(word) - 1)
        changed = random.choice(
            (
                word[:at] + word[at + 1] + word[at] + word[at + 2 :],
                word[:at] + word[at + 1 :],
                word[:at] + word[at] + word[at:],
                word[:at] + random.choice(_LETTERS) + word[at + 1 :],
            )
        )
    return changed


def _opening(about: About, random: Random) -> str:
    """The title's first words."""
    words = about.title.split()
    return " ".join(words[:4]) if len(words) > 5 else ""


def _words(about: About, random: Random) -> str:
    """Three to five content words of the title, in order, but not all of them."""
    content = _content(about.title)
    if len(content) < 4:
        return ""
    count = random.randint(3, min(5, len(content) - 1))
    chosen = sorted(random.sample(range(len(content)), count))
    return " ".join(content[n] for n in chosen)


def _author(about: About, random: Random) -> str:
    return about.authors[0].lower() if about.authors and len(about.authors[0]) > 1 else ""


def _author_year(about: About, random: Random) -> str:
    name = _author(about, random)
    return f"{name} {about.year}" if name and about.year else ""


def _full_name_year(about: About, random: Random) -> str:
    """ "Ashish Vaswani 2017", "Vaswani, A. 2017" or "a. vaswani 2017"."""
    author = parse_author(about.first_author)
    if not author.family or len(author.given) < 2 or not about.year:
        return ""
    full, initial = f"{author.given} {author.family}", author.given[0]
    forms = (full, full.lower(), f"{author.family}, {initial}.", f"{initial}. {author.family}")
    return f"{random.choice(forms)} {about.year}"


def _words_year(about: About, random: Random) -> str:
    """Two content words of the title, in order, and the year."""
    content = _content(about.title)
    if len(content) < 3 or not about.year:
        return ""
    chosen = sorted(random.sample(range(len(content)), 2))
    return f"{content[chosen[0]]} {content[chosen[1]]} {about.year}"


def _venue(about: About, random: Random) -> str:
    """The first author, or two content words of the title, with the venue and the year."""
    words = random.choice((_author(about, random), _words_year(about, random).rpartition(" ")[0]))
    return f"{words} {about.venue} {about.year}" if words and about.venue and about.year else ""


def _author_word(about: About, random: Random) -> str:
    name = _author(about, random)
    content = [w for w in _content(about.title) if len(w) > 3 and w != name]
    return f"{name} {random.choice(content)}" if name and content else ""


def _author_year_word(about: About, random: Random) -> str:
    name, year = _author_year(about, random), about.year
    words = _author_word(about, random)
    return f"{words.rpartition(' ')[0]} {year} {words.split()[-1]}" if name and words else ""


def _acronym(about: About, random: Random) -> str:
    """The name before the title's colon, if it looks like a system's: "BERT"."""
    name = opening_name(about.title)
    return name if _SHAPED.fullmatch(name) else ""


def _called(about: About, random: Random) -> str:
    """The name before the citation, if it looks like a system's: "word2vec [CITATION]". A version
    belongs to the word before it: "Inception v1"."""
    words = about.sentence.replace(OTHER, " ").rstrip(" (~,").split()[-2:]
    if not words or not _NAME.fullmatch(words[-1]):
        return ""
    is_version = len(words) > 1 and _VERSION.fullmatch(words[-1]) and _CAPITAL.fullmatch(words[0])
    return " ".join(words) if is_version else words[-1]


def _abstract(about: About, random: Random) -> str:
    """Six consecutive words of a sentence of the abstract, none of them in the title."""
    known = set(_content(about.title)) | _VAGUE
    runs = []
    for sentence in _SENTENCE.split(about.abstract):
        content = [word for word in _content(sentence) if word not in known]
        if len(content) > 5:
            runs.append(content[:6])
    return " ".join(random.choice(runs)) if runs else ""


KINDS: Mapping[str, tuple[str, Callable[[About, Random], str]]] = {
    "title": ("the full title", _title),
    "typo": ("the title with a typing error", _typo),
    "typos": ("the title's first words, 2 to 4 misspelt", _typos),
    "opening": ("the title's first four words", _opening),
    "words": ("3 to 5 words of the title", _words),
    "author-year-word": ("first author, year, a title word", _author_year_word),
    "author-year": ("first author and year", _author_year),
    "author-word": ("first author and a title word", _author_word),
    "author": ("first author alone", _author),
    "full-name-year": ("first author's full name and year", _full_name_year),
    "words-year": ("2 words of the title and the year", _words_year),
    "venue": ("first author or 2 title words, venue and year", _venue),
    "acronym": ("the name before the colon", _acronym),
    "called": ("the name that the sentence gives it", _called),
    "abstract": ("6 words of the abstract, not of the title", _abstract),
}
"""Each kind with its description and generator, which returns "" if the paper has none."""


def typed_questions(
    questions: Iterable[Question],
    records: Mapping[str, Work],
    kinds: Sequence[str] = tuple(KINDS),
) -> Iterator[Question]:
    """Each question with a single answer, once per kind, with the typed words; `records` are those
    of the cited papers, by question id. Questions with typed words, or without a title, are
    skipped."""
    for question in questions:
        if question.query.text or len(question.targets) != 1 or not question.targets[0].titles:
            continue
        target, record = question.targets[0], records.get(question.id)
        about = About(
            plain_title(target.titles[0]),
            target.authors,
            target.first_author,
            target.year,
            record.abstract if record is not None else "",
            _short_venue(record) if record is not None else "",
            question.query.sentence.partition(MARK)[0],
        )
        for kind in kinds:
            random = Random(f"{question.id}:{kind}")
            text = KINDS[kind][1](about, random)
            if text.strip():
                yield _typed(question, kind, text, random)


def half_typed(questions: Iterable[Question], *, unfinished: bool) -> Iterator[Question]:
    """The questions whose last word has `LEAST_CUT` letters or more, its end not typed yet, as an
    editor asks them on the way; `unfinished` says so in the query."""
    for question in questions:
        text = question.query.text
        word = _LAST.search(text)
        if word is None or len(word[0]) < LEAST_CUT:
            continue
        typed = Random(f"{question.id}:half").randint(LEAST_TYPED, len(word[0]) - 1)
        query = msgspec.structs.replace(
            question.query, text=text[: word.start() + typed], unfinished=unfinished
        )
        yield msgspec.structs.replace(question, query=query)


def _short_venue(work: Work) -> str:
    """The short name of the venue of a record, "" where the table of venues lacks it."""
    ids = sorted(venue_ids(work.venue))
    return shown_venue(ids[0]) if len(ids) == 1 else ""


def _typed(question: Question, kind: str, text: str, random: Random) -> Question:
    out = kind in FROM_RECORD and random.random() < LEFT_OUT
    exclude = (*question.query.exclude, *question.gold) if out else question.query.exclude
    return msgspec.structs.replace(
        question,
        id=f"{question.id}:{kind}",
        query=msgspec.structs.replace(question.query, text=text, exclude=exclude),
        tags=(*question.tags, f"{TAG}{kind}", *(("left-out",) if out else ())),
    )
