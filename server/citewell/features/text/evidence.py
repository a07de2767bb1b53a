"""The reasons for a paper's place in a list, in words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from citewell.documents.context import split_sentences
from citewell.model import Evidence, Hit, Problem, Query, Work
from citewell.model.display_text import shorten
from citewell.model.languages import STOPWORDS
from citewell.model.llm import Picked, Supported
from citewell.model.query import FILTERS, MARK, OTHER, PartKind, Understood
from citewell.model.titles import normalise_title, title_key
from citewell.options import Options
from citewell.retrieval import registry
from citewell.retrieval.words import split
from citewell.sources.registry import source_title

_RANKERS = ("learned", "history", "cross-encoder", "weights")
"""Rankers, which order papers and find none."""
_IN_THIS_PAPER = {
    "cited here": "what this paper cites",
    "cited in this sentence": "what this sentence already cites",
    "dismissed here": "what you dismissed here",
}
"""Words for features of the ranker about the paper being written."""
_SHORT = {"learned": "ranker"}
_HELD = {"bib": "in your .bib", "zotero": "in your Zotero"}
_CITED = {
    "cited in such words": "cited in such words",
    "cited on this topic": "cited on this topic",
}
"""Words for the known citations of a paper, the most significant first."""
_TYPED = {
    "name": "known by a name that you typed",
    "title": "its title begins with a name that you typed",
    "authors": "by an author that you typed",
}
MOST_WORDS = 4


def reason(hit: Hit, typed: str = "") -> str:
    """The reason for a paper in the list, in words: "its title is what you typed", "cited beside 2
    papers of yours; its title has graph, attention". `typed`: the words of the search."""
    proofs = {proof.retriever: proof for proof in hit.evidence}

    def says(name: str, words: Mapping[str, str]) -> list[str]:
        fields = proofs[name].fields if name in proofs else ()
        return [text for field, text in words.items() if field in fields][:1]

    parts = [_HELD[name] for name in proofs if name in _HELD]
    parts += proofs["weights"].terms if "weights" in proofs else ()
    if text := quoted(hit.evidence):
        parts.append(f"its text says {text}")
    if typed and normalise_title(typed) == normalise_title(hit.work.title):
        parts.append("its title is what you typed")
    else:
        parts += says("exact_match", _TYPED)
    taken = says("history", _IN_THIS_PAPER)
    if "history" in proofs and not taken:
        parts.insert(0, "close to what you accepted before")
    parts += taken
    context = proofs.get("citation_context")
    if context is not None and (count := context.beside):
        parts.append(f"cited beside {count} {'paper' if count == 1 else 'papers'} of yours")
    else:
        parts += says("citation_context", _CITED)
    if (criteria := proofs.get("criteria")) and criteria.fields:
        parts.append(f"of the {' and '.join(criteria.fields)} asked for")
    if (words := proofs.get("bm25")) and words.terms and words.fields:
        have = "has" if len(words.fields) == 1 else "have"
        where = " and ".join(words.fields)
        parts.append(f"its {where} {have} {', '.join(words.terms[:MOST_WORDS])}")
    if "cross-encoder" in proofs and _has_moved(proofs["cross-encoder"]):
        parts.append("it fits when read beside your passage")
    if not parts and "dense" in proofs:
        parts.append("close to your words in meaning")
    elif not parts:
        names = (name for name in proofs if name not in _RANKERS)
        parts += [f"found by {registry.label(one) or source_title(one)}" for one in names][:1]
    return "; ".join(parts[:2])


def sentence(hit: Hit, typed: str = "", cited: int = 0) -> str:
    """`reason` and the citations as a sentence: "Its title is what you typed; cited 1,204 times
    here."; empty if there is none."""
    here = f"{cited_text(cited)} here" if cited else ""
    text = "; ".join(part for part in (reason(hit, typed), here) if part)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def why(hit: Hit) -> str:
    """The retrievers and ranks in short form, as plain text: "ranker #1 (from 4), bm25 #4
    (graph)"."""
    parts = []
    for proof in _telling(hit.evidence):
        text = f"{_SHORT.get(proof.retriever, proof.retriever)} #{proof.rank}"
        if _has_moved(proof):
            text += f" (from {proof.before})"
        if proof.terms:
            text += f" ({', '.join(proof.terms[:4])})"
        parts.append(text)
    text = quoted(hit.evidence)
    return ", ".join(parts) + (f": {text}" if text else "")


def quoted(evidence: Sequence[Evidence]) -> str:
    """The matching sentence of the full text with its page, as plain text: "“...” (page 3)"; empty
    without one."""
    for proof in evidence:
        if proof.snippet:
            page = f" (page {proof.page})" if proof.page else ""
            return f"“{proof.snippet}”{page}"
    return ""


def cited_text(times: int) -> str:
    """ "cited 1,204 times"; empty for 0."""
    return f"cited {times:,} {'time' if times == 1 else 'times'}" if times else ""


def _telling(evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """The evidence without a ranker that moved nothing."""
    for proof in evidence:
        if proof.retriever not in ("learned", "history") or proof.before != proof.rank:
            yield proof


def _has_moved(proof: Evidence) -> bool:
    return proof.before not in (None, proof.rank)


# The language model's choice among papers, as displayed.


def picks(options: Options) -> int:
    """Number of papers that the language model chooses from; 0 if none is configured, or not
    enabled for this."""
    own = options.llm
    return own.pick_depth if own.provider != "none" and own.pick else 0


def chosen_first(hits: Sequence[Hit], picked: Picked) -> tuple[Hit, ...]:
    """The papers with the chosen one first; unchanged without a choice."""
    chosen = next((hit for hit in hits if hit.work.id == picked.work), None)
    if chosen is None:
        return tuple(hits)
    return (chosen, *(hit for hit in hits if hit is not chosen))


def its_words(picked: Picked) -> str:
    """ ": “the reason”", or "". The quotation marks attribute the words: a program that reads them
    must not take them for Citewell's."""
    return f": “{picked.reason}”" if picked.reason else ""


def none_fits(picked: Picked) -> Problem:
    """The problem shown to the author when, for the model, no paper fits the place."""
    return Problem(
        "llm-none",
        f"The language model {picked.model} chose none of {picked.of} papers{its_words(picked)}.",
        "Choose from the list yourself, or use other words.",
    )


def what_it_says(supported: Supported) -> str:
    """The model's opinion of an abstract in one line, quoting the abstract."""
    opinion = {
        "yes": "the abstract supports the sentence",
        "no": "the abstract does not support the sentence",
        "unclear": "the abstract does not say",
    }[supported.verdict]
    words = f": “{supported.words}”" if supported.words else ""
    return f"says {supported.model} ({supported.program}): {opinion}{words}"


def who_chose(picked: Picked) -> str:
    """ "chosen by ollama qwen3:8b (pick@builtin): “the reason”", for a line of output."""
    if picked.by != "model":
        return f"first in the list: {picked.model} made no choice"
    return f"chosen by {picked.model} ({picked.program}){its_words(picked)}"


# The interpretation of a typed query, in words.

_NAMES: dict[PartKind, str] = {
    "author": "author", "venue": "venue", "year": "year", "phrase": "phrase",
    "excluded": "without", "kind": "kind", "language": "language", "keyword": "keyword",
    "recency": "order", "citations": "citations", "cites": "cites", "cited_by": "cited by",
    "like": "like",
}  # fmt: skip


def understood_text(understood: Understood) -> str:
    """The parts in one line: "author: Yann LeCun · year: 2015- · topic: parsing"; "" for none."""
    parts = [f"{_NAMES[part.kind]}: {part.value}" for part in understood.parts]
    if parts and understood.query.topic:
        parts.append(f"topic: {understood.query.topic}")
    return " · ".join(" ".join(part.split()) for part in parts)


# The origin of a record, in one line.


def source_of(work: Work) -> str:
    """The source records of a work: "acl-anthology:2020.acl-main.1"."""
    names = [
        f"{origin.source}:{origin.source_id}" if origin.source_id else origin.source
        for origin in work.provenance
    ]
    return "; ".join(dict.fromkeys(names)) or work.id


# Text of records and entries as Markdown that shows exactly that text.

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


def escape(text: str) -> str:
    """Text of a record as Markdown that shows exactly that text."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def fenced(entry: str) -> str:
    """A BibTeX entry as a code block that its own text cannot end."""
    fence = "```"
    while fence in entry:
        fence += "`"
    return f"{fence}bibtex\n{entry.strip()}\n{fence}"


# The sentence of an abstract that fits a place best.

MAX_LETTERS = 400
LEAST_SHARED = 2
"""Minimum number of stems shared by a sentence and the place."""


def fitting_sentence(query: Query, abstract: str) -> str:
    """The abstract's own words, cut at `MAX_LETTERS`; empty if no sentence fits.

    Sentences are compared by the stems shared with the typed words, which count twice, and with the
    citing sentence; long words count more.
    """
    typed = _stems(query.text)
    around = _stems(query.sentence.replace(MARK, " ").replace(OTHER, " "))
    wanted = typed | around
    best, most = "", 0.0
    for sentence in split_sentences(abstract):
        own = _stems(sentence)
        shared = wanted & own
        if len(shared) < min(LEAST_SHARED, len(wanted)) or not shared:
            continue
        weight = sum(math.sqrt(len(stem)) * (2 if stem in typed else 1) for stem in shared)
        score = weight / math.sqrt(8 + len(own))
        if score > most:
            best, most = " ".join(sentence.split()), score
    return shorten(best, MAX_LETTERS)


@lru_cache(maxsize=512)
def _stems(text: str) -> frozenset[str]:
    from Stemmer import Stemmer

    words = [word.decode() for word in split(text) if word not in STOPWORDS and len(word) > 1]
    # A separate stemmer: creating one takes microseconds, and threads must not share it.
    return frozenset(Stemmer("english").stemWords(words))


# The probability that an author would cite the first of the papers found.
#
# A ranker's calibrated probability (`Hit.confidence`) has precedence: it has a calibration for
# sentences and one for typed words, within the bounds of `ranking.identity`. Otherwise (no ranker,
# a record that a source has just sent) it is a curve over the words shared with the record, within
# the same bounds. The curves are logistic fits on searches among 159,215 records: 4,790 with typed
# title words, in whole or in part, of papers of which 41% are missing, and 2,400 with citing
# sentences. The second one exceeds 0.3 only if the sentence all but names the title.

_TYPED_CURVE = (-10.73, 2.79, 8.11, 2.02, 4.80)
"""Intercept; title covered by the words, words covered by the record, agreement, lead."""
_SENTENCE = (-4.29, 1.25, 1.38, 1.51, 0.98)
"""Intercept; title covered, sentence covered, agreement, title covered entirely."""
_TITLE = 0.98
"""Probability when the words are exactly the title: right in 99% of the typed queries with the
paper in the library; another paper may have the same title."""
_WHOLE = 0.99
_LONG_TITLE = 4
"""Minimum words of a title that is not an everyday phrase."""
_RIVALS = 5


def confidence_of(query: Query, hits: Sequence[Hit]) -> float:
    """Probability in [0, 1] that the author would cite the first hit; 0 without hits."""
    from citewell.ranking.identity import highest_of

    if not hits:
        return 0.0
    first = hits[0]
    if first.confidence is not None:
        return first.confidence
    typed = bool(query.text.strip())
    if any(evidence.retriever == FILTERS for evidence in first.evidence):
        return 0.0  # the most cited paper of a venue is not meant by its name
    if typed and title_key(query.text) == title_key(first.work.title):
        return min(_TITLE, highest_of(query.text, first.work))
    sentence = query.sentence.replace(MARK, " ").replace(OTHER, " ")
    wanted = _words(query.text if typed else sentence)
    title = _words(first.work.title)
    contained = _share(title, wanted)
    covered = _share(wanted, title | _record_words(first.work))
    # A ranker puts some paper first in any case: only retrievers can agree.
    found = [evidence for evidence in first.evidence if evidence.before is None]
    agreement = min(1.0, sum(evidence.rank == 1 for evidence in found) / 2)
    if typed:
        rivals = (_share(wanted, _words(hit.work.title)) for hit in hits[1:_RIVALS])
        features = (contained, covered, agreement, covered - max(rivals, default=0.0))
        return min(_logistic(_TYPED_CURVE, features), highest_of(query.text, first.work))
    whole = float(contained >= _WHOLE and len(title) >= _LONG_TITLE)
    return _logistic(_SENTENCE, (contained, covered, agreement, whole))


def _record_words(work: Work) -> set[str]:
    authors = " ".join(author.family for author in work.authors)
    return _words(f"{authors} {work.venue} {work.booktitle} {work.journal} {work.year or ''}")


def _words(text: str) -> set[str]:
    """The stems of the content words."""
    from Stemmer import Stemmer

    words = {word.decode() for word in split(text) if word not in STOPWORDS}
    # A separate stemmer: creating one takes microseconds, and threads must not share it.
    return set(Stemmer("english").stemWords(list(words)))


def _share(part: Iterable[str], whole: set[str]) -> float:
    """Share of `part` in `whole`; long words count more (by the root of their length)."""
    weights = {word: math.sqrt(len(word)) for word in part}
    total = sum(weights.values())
    return sum(weights[word] for word in weights if word in whole) / total if total else 0.0


def _logistic(curve: Sequence[float], features: Sequence[float]) -> float:
    exponent = curve[0] + sum(
        weight * value for weight, value in zip(curve[1:], features, strict=True)
    )
    return 1 / (1 + math.exp(-exponent))
