"""Why a paper stands where it does, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from citewell.features.text.markdown import escape
from citewell.model import Evidence, Hit
from citewell.retrieval import registry

_LABELS = {
    "bib": "your .bib",
    "zotero": "your Zotero",
    "learned": "the trained ranker",
    "history": "what you accepted before",
    "cross-encoder": "reading it beside your passage",
}
"""Of what is no retriever over the library."""
_IN_THIS_PAPER = {
    "cited here": "what this paper cites",
    "cited in this sentence": "what this sentence already cites",
    "dismissed here": "what you dismissed here",
}
"""Words for the features of the ranker that concern the paper being written."""
_SHORT = {"learned": "ranker"}
SURE_TYPED, SURE_SENTENCE = 0.8, 0.7
"""From these probabilities a paper is called sure: the defaults of `fill`, which writes it."""
LIKELY = 0.5
Certainty = Literal["", "sure", "likely", "a guess"]


def found_by(evidence: Sequence[Evidence]) -> str:
    """Which retrievers put the paper at which rank, and by which words, as Markdown:
    "words (rank 4: graph) and the trained ranker (rank 1, moved from 4)"."""
    parts = []
    for proof in _telling(evidence):
        label = _LABELS.get(proof.retriever) or registry.label(proof.retriever)
        if proof.retriever == "history" and proof.fields:
            label = _IN_THIS_PAPER.get(proof.fields[0], label)
        text = f"{label or proof.retriever} (rank {proof.rank}"
        if _has_moved(proof):
            text += f", moved from {proof.before}"
        if proof.terms:
            text += f": {escape(', '.join(proof.terms[:6]))}"
        parts.append(text + ")")
    return " and ".join(parts)


def why(hit: Hit) -> str:
    """The retrievers and ranks in short, as plain text: "ranker #1 (from 4), bm25 #4 (graph)"."""
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
    """The sentence of the full text that matched, with its page, as plain text: "“...” (page 3)";
    empty where no full text did."""
    for proof in evidence:
        if proof.snippet:
            page = f" (page {proof.page})" if proof.page else ""
            return f"“{proof.snippet}”{page}"
    return ""


def certainty(confidence: float | None, *, typed: bool) -> Certainty:
    """A probability in the words that editors show; "" where it is unknown. `typed`: whether the
    author typed words, for which the probability has a calibration of its own."""
    if confidence is None:
        return ""
    if confidence >= (SURE_TYPED if typed else SURE_SENTENCE):
        return "sure"
    return "likely" if confidence >= LIKELY else "a guess"


def moved_by(evidence: Sequence[Evidence]) -> str:
    """From where the cross-encoder moved the paper, where it did."""
    for proof in evidence:
        if proof.retriever == "cross-encoder" and _has_moved(proof):
            return f"moved from {proof.before} to {proof.rank} by the {proof.retriever}"
    return ""


def _telling(evidence: Sequence[Evidence]) -> Iterator[Evidence]:
    """All but a ranker that moved nothing."""
    for proof in evidence:
        if proof.retriever not in ("learned", "history") or proof.before != proof.rank:
            yield proof


def _has_moved(proof: Evidence) -> bool:
    return proof.before not in (None, proof.rank)
