"""The sentences of a summary that may be shown: each cites papers of the list that support it.

Support is a rule, not a proof: of the content words of a sentence, most must be in the records that
it cites (titles, abstracts, authors, years), each cited paper must hold a part of them, and every
number must be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citewell.documents.sentences import split_sentences
from citewell.llm.closed_sentences import is_closed
from citewell.model import Work
from citewell.model.overview import CitedSentence
from citewell.model.titles import normalise_title

MOST_WORDS = 200
SUPPORTED = 0.7
"""Least share of a sentence's content words that the cited records hold together."""
OWN_PART = 0.3
"""Least share that each of them holds."""
LEAST_WORDS = 3
"""Content words without which a sentence states nothing that could be checked."""
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
    """The sentences that hold, in order, and how many do not. `works` are numbered from 1.

    `answer` is a list of sentences or a text; together at most `MOST_WORDS` words are kept.
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
        # An object that was cut off: its strings are what was written.
        texts = _QUOTED.findall(texts[0])
    for text in texts[:MAX_SENTENCES]:
        # The numbers of a sentence may follow its full stop.
        moved = re.sub(r"([.!?])((?:\s*\[[\d,; ]+\])+)", r"\2\1", " ".join(text.split()))
        yield from split_sentences(moved)[:MAX_SENTENCES]


def _checked(sentence: str, works: Sequence[Work]) -> CitedSentence | None:
    """The sentence with the ids of the papers that support it; None where none does."""
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
    """Stems of the words that carry a statement, and all numbers."""
    from Stemmer import Stemmer

    words = normalise_title(text).split()
    kept = [word for word in words if (len(word) > 2 and word not in _FUNCTION) or word.isdigit()]
    return set(Stemmer("english").stemWords(kept))
