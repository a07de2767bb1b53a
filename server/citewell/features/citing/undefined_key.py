"""The paper that an undefined key means: a search of the library, with a probability.

The key is parsed (`key_meaning`). The library is searched for its author and year, and for its
words as if typed, with the sentence around the citation; each result is compared with the key.
`ranking.identity` decides how far the first one is trusted, as for typed words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

import msgspec

from citewell.documents.keys.pattern import is_stop_word
from citewell.engine.contract import Engine
from citewell.engine.identified import work_identified
from citewell.model import Hit, Query, Work
from citewell.model.identifiers import acl_id, arxiv_id, identifier_of, normalise_doi
from citewell.model.names import family_key
from citewell.model.query import CitingPaper
from citewell.model.titles import fold, normalise_title, title_key
from citewell.ranking.identity import of_key

# The meaning of a citation key: surnames, year, title words, an identifier.
#
# Keys follow a handful of habits, each of which hides the title in its own way:
#
# | habit | example | after the year |
# |---|---|---|
# | ACL Anthology | `devlin-etal-2019-bert` | a word of the title |
# | Google Scholar | `vaswani2017attention` | its first word |
# | Semantic Scholar | `Burns2022DiscoveringLK` | first word, initials of the next two |
# | Mendeley | `Tai2015ImprovedNetworks` | first and last word |
# | arXiv, in full | `kirk2024prismalignmentdataset` | all words in one |
# | ACM | `Papineni:2002:BMA:1073083.1073135` | initials of three words, an identifier |
# | DBLP | `DBLP:journals/corr/MikolovLS13` | nothing; initials of the other authors before |
# | one's own | `blei-03`, `hall-maudslay20` | often nothing |

_YEAR = re.compile(r"(?<!\d)((?:19[3-9]|20[0-4])\d)(?!\d)")
_SHORT_YEAR = re.compile(r"(?<!\d)'?(\d\d)(?!\d)")
_PIECE = re.compile(r"[A-Z]?[a-z]+(?:'[a-z]+)?|[A-Z]+(?![a-z])|\d+")
_ETAL = frozenset({"etal", "et", "al", "ea", "and", "others", "alias"})
_DBLP = re.compile(r"^(?:DBLP:)?(?:conf|journals)/([\w-]+)/([\w-]+)$", re.IGNORECASE)
_ABSTRACT = re.compile(
    r"^(?:DBLP:)?(?:journals/corr/)?(?:abs|corr)[-_/:](\d{4})[-.](\d{4,5})$", re.I
)
"""An arXiv id in the form of DBLP and others: "journals/corr/abs-1706-03762"."""
_NOISE = re.compile(r"^(?:(?:10\.)?\d{5,}[./_-]?|(?:pmlr|icml|nips|neurips|iclr|acl)-v\d+-)", re.I)
_PARTICLES = frozenset({"van", "von", "der", "den", "de", "del", "della", "da", "di", "la", "le"})
_NEAR = 1


class KeyMeaning(msgspec.Struct, frozen=True):
    """The parts of a key. Any may be missing."""

    key: str
    head: str = ""
    """The part before the year, folded, letters only: surnames, by the usual conventions."""
    heads: tuple[str, ...] = ()
    """The parts of `head`."""
    year: int | None = None
    tail: tuple[str, ...] = ()
    """The pieces after the year, as written: words, or initials."""
    coauthors: str = ""
    """Initials of the authors after the first, as in DBLP ("ls")."""
    doi: str = ""
    arxiv: str = ""
    anthology: str = ""

    @property
    def surname(self) -> str:
        """The first author's, if the key begins with one; may be part of a longer name."""
        return self.heads[0] if self.heads else ""

    @property
    def words(self) -> str:
        """The words to look up in titles."""
        kept = [w for w in self.tail if len(w) > 2 and not w.isdigit() and not w.isupper()]
        return " ".join(kept)


def read_key(key: str) -> KeyMeaning:
    """Parse a key by the habits above; empty if it follows none. Never raises."""
    anthology = acl_id(key)
    arxiv = arxiv_id(key) or arxiv_id(_ABSTRACT.sub(r"arXiv:\1.\2", key))
    text = key
    if dblp := _DBLP.match(key):
        text = dblp[2]
    elif ":" in key and key.lower().startswith("dblp"):
        text = key.rpartition("/")[2]
    text = _NOISE.sub("", fold_case(text))
    year, before, after = _split_at_year(text)
    pieces = [p for p in _PIECE.findall(before) if fold(p) not in _ETAL and not p.isdigit()]
    heads, coauthors, words = _heads(pieces, dblp is not None)
    return KeyMeaning(
        key=key,
        head="".join(fold(piece) for piece in heads),
        heads=tuple(fold(piece) for piece in heads),
        year=year,
        tail=(*words, *(p for p in _PIECE.findall(after) if fold(p) not in _ETAL)),
        coauthors=coauthors,
        doi=normalise_doi(key) if key.startswith("10.") or "/10." in key else "",
        arxiv=arxiv,
        anthology=anthology,
    )


def fold_case(text: str) -> str:
    """A key without accents, but with its capitals, which separate its words."""
    return "".join(
        char if char.isascii() else (fold(char).upper() if char.isupper() else fold(char))
        for char in text
    )


def _split_at_year(text: str) -> tuple[int | None, str, str]:
    if found := _YEAR.search(text):
        return int(found[1]), text[: found.start()], text[found.end() :]
    for found in _SHORT_YEAR.finditer(text):
        if found.start() > 1:
            short = int(found[1])
            year = 2000 + short if short < 45 else 1900 + short
            return year, text[: found.start()], text[found.end() :]
    # Without a year, the first piece may be a name, and the others words.
    first = _PIECE.search(text)
    if first is None:
        return None, text, ""
    return None, text[: first.end()], text[first.end() :]


def _heads(pieces: list[str], dblp: bool) -> tuple[list[str], str, list[str]]:
    """The surnames, the initials of further ones, and words of the title among them."""
    if len(pieces) > 1 and pieces[0].islower() and pieces[0] not in _PARTICLES:
        # Better BibTeX's habit: `heDeepResidualLearning2015`.
        capital = [place for place, piece in enumerate(pieces) if not piece[0].islower()]
        if capital and capital[0] >= 1 and not pieces[capital[0]].isdigit():
            return pieces[: capital[0]], "", pieces[capital[0] :]
    if (
        len(pieces) > 1
        and pieces[-1].isupper()
        and len(pieces[-1]) <= 4
        and (dblp or (len(pieces[0]) > 2 and not pieces[0].isupper()))
    ):
        return pieces[:-1], fold(pieces[-1]), []
    return [piece for piece in pieces if len(piece) > 1] or pieces, "", []


class KeyFit(msgspec.Struct, frozen=True):
    """The match of a record with a key; every part in [0, 1]."""

    identifier: float = 0.0
    """The key is an identifier, or the source's own key, of the record."""
    surname: float = 0.0
    """1: the key begins with the first author's surname; less for part of that surname, another
    author's surname, or the name of a method in the title (`mask-r-cnn-2017`)."""
    year: float = 0.0
    """1: equal; 0.5: a year apart; 0.3: the key or the record has none; 0: another."""
    title: float = 0.0
    """Share of the part after the year that the title explains, by the best convention."""
    title_detail: float = 0.0
    """Share of the title in the key: 0 for `blei-03`, 1 for a dozen letters."""
    authors: float = 0.0
    """Share of the further names or initials that are authors'; 0 if there are none."""
    contradicts: float = 0.0
    """Part of the key that the record does not explain."""


def fit(meaning: KeyMeaning, work: Work) -> KeyFit:
    """Compare a key with a record."""
    names = [family_key(author) for author in work.authors]
    surname, authors, unexplained = _names_fit(meaning, names, work)
    title, title_detail = _title_fit(meaning, work, names)
    return KeyFit(
        identifier=float(_is_identifier(meaning, work)),
        surname=surname,
        year=_year_fit(meaning.year, work.year),
        title=title,
        title_detail=title_detail,
        authors=authors,
        contradicts=max(unexplained, (1 - title) * title_detail),
    )


def _is_identifier(meaning: KeyMeaning, work: Work) -> bool:
    if meaning.key and meaning.key == work.bibkey:
        return True
    if meaning.anthology and meaning.anthology in (acl_id(work.url), acl_id(work.doi)):
        return True
    if meaning.anthology and f"acl:{meaning.anthology}" in (work.id, *work.same_as):
        return True
    if meaning.arxiv and meaning.arxiv == work.arxiv:
        return True
    return bool(meaning.doi) and meaning.doi == work.doi


def _year_fit(stated: int | None, known: int | None) -> float:
    if stated is None or known is None:
        return 0.3
    apart = abs(stated - known)
    return 1.0 if apart == 0 else 0.5 if apart == _NEAR else 0.0


def _names_fit(meaning: KeyMeaning, names: list[str], work: Work) -> tuple[float, float, float]:
    """The match of the first surname, of the further ones, and the unexplained part of the head."""
    head = meaning.head
    if not head or not names:
        return 0.0, 0.0, 0.5
    found = _first_name(head, names, work)
    if found is None:
        return _nickname_fit(meaning, work)
    first, rest = found
    good, named = 0, 0
    for name in names[1:]:
        if name and rest.startswith(name):
            good, named, rest = good + 1, named + 1, rest[len(name) :]
    if meaning.coauthors:
        initials = "".join(name[:1] for name in names[1:])
        named += 1
        if initials.startswith(meaning.coauthors[:3]):
            good += 1
        else:
            rest = rest or meaning.coauthors
    words = normalise_title(work.title).split()
    if rest and ("".join(words).startswith(rest) or rest in words):
        rest = ""
    unexplained = len(rest) / max(1, len(head) + len(meaning.coauthors))
    return first, good / named if named else 0.0, min(1.0, unexplained * 2)


def _first_name(head: str, names: list[str], work: Work) -> tuple[float, str] | None:
    """The match of the head with a surname, and the rest; None if there is none."""
    first = names[0]
    if first and head.startswith(first):
        return 1.0, head[len(first) :]
    parts = [fold(part) for author in work.authors[:1] for part in author.family.split()]
    parts = [part for part in parts if len(part) > 2 and head.startswith(part)]
    if parts:
        return 0.9, head[len(max(parts, key=len)) :]
    if len(head) >= 4 and first.startswith(head):
        return 0.6, ""
    others = [name for name in names[1:] if name and head.startswith(name)]
    return (0.3, head[len(max(others, key=len)) :]) if others else None


def _nickname_fit(meaning: KeyMeaning, work: Work) -> tuple[float, float, float]:
    """The match of keys without a name: `iron-2022` is "IRON: Inverse Rendering by ..."."""
    words = normalise_title(work.title).split()
    joined = "".join(words)
    called = normalise_title(work.title.partition(":")[0]).replace(" ", "")
    head = meaning.head
    if len(head) >= 3 and (head == called or (len(head) >= 5 and joined.startswith(head))):
        return 0.5, 0.0, 0.0
    known = [part for part in meaning.heads if part in words]
    share = sum(map(len, known)) / max(1, sum(map(len, meaning.heads)))
    return 0.3 * share if share > 0.5 else 0.0, 0.0, 1.0 - 0.7 * share


def _title_fit(meaning: KeyMeaning, work: Work, names: list[str]) -> tuple[float, float]:
    tail = [piece for piece in meaning.tail if not piece.isdigit()]
    letters = sum(len(piece) for piece in tail)
    if not tail or (letters == 1 and len(meaning.tail) == 1):
        return 0.0, 0.0
    detail = min(1.0, letters / 6)
    words = normalise_title(work.title.replace("-", "").replace("'", "")).split()
    spaced = normalise_title(work.title).split()
    telling = [word for word in words if not is_stop_word(word)]
    known = {*words, *spaced, *names, *_venue_words(work)}
    whole = fold("".join(tail))
    candidates = [
        _covered(whole, "".join(words)),
        _covered(whole, "".join(telling)),
        _by_words(tail, known, {*telling[:1], *spaced[:2]}),
        _by_initials(tail, words),
        _by_initials(tail, spaced),
        _by_first_and_last(tail, spaced),
    ]
    return max(candidates), detail


def _covered(whole: str, title: str) -> float:
    """The match of all words in one: the share that begins the title."""
    if len(whole) < 4:
        return float(bool(whole) and title.startswith(whole)) * 0.8
    same = 0
    while same < min(len(whole), len(title)) and whole[same] == title[same]:
        same += 1
    if same == len(whole):
        return 1.0
    return same / len(whole) if same >= 12 else 0.0


def _by_words(tail: list[str], known: set[str], first: set[str]) -> float:
    """The match of words of title, authors or venue, in any order, weighted by length. A single
    word should be the first of the title: elsewhere it counts less."""
    total = sum(len(piece) for piece in tail)
    good = 0.0
    for piece in tail:
        word = fold(piece)
        if word in known or (len(word) >= 4 and any(k.startswith(word) for k in known)):
            good += len(piece)
    alone = fold(tail[0])
    if len(tail) == 1 and not any(one.startswith(alone) for one in first):
        good *= 0.75
    return good / total if total else 0.0


def _by_initials(tail: list[str], words: list[str]) -> float:
    """The match of `DiscoveringLK`, `BMA`: a full first word, then initials."""
    at, good, total = 0, 0, 0
    for place, piece in enumerate(tail):
        word = fold(piece)
        total += len(word)
        if place == 0 and at < len(words) and words[at].startswith(word) and len(word) > 2:
            good, at = good + len(word), at + 1
        elif piece.isupper() or len(word) <= 2:
            for letter in word:
                if at < len(words) and words[at][:1] == letter:
                    good, at = good + 1, at + 1
                else:
                    return good / max(1, sum(len(p) for p in tail)) * 0.5
        else:
            return good / max(1, sum(len(p) for p in tail)) * 0.5
    return good / total if total else 0.0


def _by_first_and_last(tail: list[str], words: list[str]) -> float:
    """The match of `ImprovedNetworks`, `TheData`: the first word and the last of the title."""
    if len(tail) < 2 or not words:
        return 0.0
    first, last = fold(tail[0]), fold("".join(tail[1:]))
    firsts = {words[0], *words[:3]}
    good = (first in firsts) * len(first)
    ending = "".join(words)
    head_end = normalise_title(" ".join(words)).split()
    if last in head_end or ending.endswith(last):
        good += len(last)
    return good / max(1, len(first) + len(last))


def _venue_words(work: Work) -> set[str]:
    text = f"{work.venue} {work.booktitle} {work.journal}"
    return {word for word in normalise_title(text).split() if len(word) > 2}


NARROW = 40
"""Number of papers of the author and the year to compare."""
WIDE = 12
"""Number of papers found by the words of the key."""
OFFERED = 3
"""Number of papers offered if it is uncertain which one is meant."""
SURE = 0.9
"""Minimum probability for "add all missing entries". It is higher than that for typed words, whose
paper the author sees at once."""
_RIVAL = 0.85
"""Relative score of a rival that makes the best paper doubtful."""
_CONFIDENCE, _NAMED = 0.6, 1.5
"""Weights of the search's confidence, for a paper in general, and for a possible nickname."""
_SIGNS = re.compile(r"[\W_]+")
_IDENTIFIED = 5.0
"""The score of a paper identified by the key: above all others."""


class KeyCandidate(msgspec.Struct, frozen=True):
    """A paper that the key may mean."""

    work: Work
    fit: KeyFit
    confidence: float = 0.0
    """Probability that the words of the key mean it."""
    score: float = 0.0
    """Match with the key; orders the candidates."""


class Meaning(msgspec.Struct, frozen=True):
    """The most likely meaning of an undefined key."""

    key: str
    works: tuple[Work, ...] = ()
    """The best matching papers, at most `OFFERED`."""
    probability: float = 0.0
    """Probability that the first one is meant."""
    has_rival: bool = False
    """Whether another one matches equally well."""

    @property
    def is_sure(self) -> bool:
        """True when nothing else fits and the probability is high."""
        return bool(self.works) and self.probability >= SURE and not self.has_rival

    @property
    def offered(self) -> tuple[Work, ...]:
        """The paper that is certainly meant, or those for the author's choice."""
        return self.works[:1] if self.is_sure else self.works


def questions(meaning: KeyMeaning, context: Query) -> list[tuple[Query, int]]:
    """The queries with their number of papers each; empty for a key without meaning."""
    queries: list[tuple[Query, int]] = []
    change = msgspec.structs.replace
    bare = change(context, paper=CitingPaper(title=context.paper.title))
    if meaning.surname and len(meaning.surname) > 1:
        narrow = change(bare, text=meaning.words, author=meaning.surname, guessed=True)
        if meaning.year is not None:
            narrow = change(narrow, year_from=meaning.year - 1, year_to=meaning.year + 1)
        queries.append((narrow, NARROW))
    if text := _typed(meaning):
        queries.append((change(bare, text=text), WIDE))
    return queries


def _typed(meaning: KeyMeaning) -> str:
    """The words of a key as typed words; empty if there are none."""
    if not (meaning.heads or meaning.words):
        return ""
    if _is_name(meaning):
        return _SIGNS.sub(" ", meaning.key).strip()
    year = "" if meaning.year is None else str(meaning.year)
    return " ".join(filter(None, (*meaning.heads, year, meaning.words)))


def _is_name(meaning: KeyMeaning) -> bool:
    """Whether a key has neither a year nor words of a title: "gpt3", "papineni"."""
    return meaning.year is None and not meaning.words


def identified(engine: Engine, meaning: KeyMeaning) -> list[Work]:
    """The works identified by the key, or with this very key in a source."""
    found = list(engine.lookup(bibkey=meaning.key)) if meaning.key else []
    for name in (meaning.doi, meaning.arxiv, meaning.anthology):
        identifier = identifier_of(name)
        work = None if identifier is None else work_identified(engine, identifier)
        found += [] if work is None else [work]
    return found


def decide(
    meaning: KeyMeaning, known: Iterable[Work], answers: Iterable[tuple[Query, Sequence[Hit]]]
) -> Meaning:
    """The papers that the key may mean, and the probability of the first. `known` are the works
    that the key identifies, `answers` the results of `questions`."""
    best = ranked(meaning, known, answers)
    if not best:
        return Meaning(meaning.key)
    first = best[0]
    return Meaning(
        meaning.key,
        tuple(one.work for one in best[:OFFERED]),
        _probability(meaning, first),
        any(one.score >= _RIVAL * first.score for one in best[1:]),
    )


def ranked(
    meaning: KeyMeaning, known: Iterable[Work], answers: Iterable[tuple[Query, Sequence[Hit]]]
) -> list[KeyCandidate]:
    """The candidates, best match first; of records with one title, the best."""
    found = {work.id: KeyCandidate(work, fit(meaning, work), 1.0, _IDENTIFIED) for work in known}
    weight = _NAMED if _is_name(meaning) else _CONFIDENCE
    for query, hits in answers:
        for rank, hit in enumerate(hits, 1):
            # The confidence of the others is that of the sentence, independent of the key.
            confidence = (hit.confidence or 0.0) if query.typed else 0.0
            old = found.get(hit.work.id)
            fits = fit(meaning, hit.work) if old is None else old.fit
            confidence = max(confidence, 0.0 if old is None else old.confidence)
            score = _IDENTIFIED if fits.identifier else _score(fits, rank)
            score += weight * confidence
            score = score if old is None else max(score, old.score)
            found[hit.work.id] = KeyCandidate(hit.work, fits, confidence, score)
    titles: dict[str, KeyCandidate] = {}
    for one in sorted(found.values(), key=lambda one: -one.score):
        titles.setdefault(title_key(one.work.title) or one.work.id, one)
    return list(titles.values())


def _score(fits: KeyFit, rank: int) -> float:
    return (
        0.40 * fits.surname
        + 0.18 * fits.year
        + 0.40 * fits.title * fits.title_detail
        + 0.12 * fits.authors
        - 0.35 * fits.contradicts
        + 0.12 / (1 + math.log(rank))
    )


def _probability(meaning: KeyMeaning, first: KeyCandidate) -> float:
    fits = first.fit
    return of_key(
        first.confidence,
        is_identified=first.score >= _IDENTIFIED,
        is_name=_is_name(meaning),
        is_authors=fits.surname >= 0.9 and fits.year >= 0.3 and fits.contradicts < 0.3,
        title=fits.title if fits.title_detail >= 0.5 else 0.0,
        has_title=fits.title_detail > 0,
    )
