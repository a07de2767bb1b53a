"""Sentences of a paper that refer to the work of others without a citation.

A sentence is left out where the paper gives the citation elsewhere: in the next two sentences, if
it announces them ("several methods have been proposed"), or before, beside the same name. Abstracts
and conclusions repeat what is cited in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from citewell.documents.context import context_at
from citewell.features.checking.support import Uncited, following_citation, uncited_at
from citewell.features.review.names import cited_names, names_in
from citewell.model.display_text import shorten
from citewell.model.document import Diagnostic, Document, Level, Span
from citewell.model.query import MARK
from citewell.model.titles import fold, normalise_title

MOST_SENTENCES = 10
"""Sentences without a citation that are reported of one paper."""
ANNOUNCED = 2
"""Sentences after an announcement that may have the citations."""
_AUTHORS = re.compile(
    r"\b[A-Z][\w'-]+\s+(?:et\s+al\.?|and\s+colleagues)|\b(?i:according to) (?!(?:Lemma|Theorem"
    r"|Equation|Eq|Section|Algorithm|Figure|Table|Appendix|Definition)\b)[A-Z]"
)
_BEEN = r"\b(?:has|have)\s+(?!already)(?:\w+\s+)?been\s+(?:\w+\s+)?"
_FOUND = re.compile(_BEEN + r"(?:shown|demonstrated|observed|reported|argued|established)\b")
_ANNOUNCEMENT = re.compile(
    _BEEN + r"(?:proposed|introduced|studied|explored|investigated)\b"
    r"|\b(?:proposed|introduced|pioneered)\s+by\b"
    r"|\b(?i:well[-\s]established|widely\s+(?:used|adopted|studied))\b"
)
_CERTAIN = (_AUTHORS, _FOUND, _ANNOUNCEMENT)
"""Phrases of sentences that want a citation, the most certain first. "Existing methods" and the
like are too often the paper's own or those of the sentence before; what is "well known" is in
textbooks."""
_CLOSING = re.compile(
    r"\b(?:abstract|conclu\w+|limitations?|ethic\w*|impacts?|acknowledge?ments?|future work)\b",
    re.IGNORECASE,
)
"""Headings of parts that repeat what the paper has cited."""


def sentence_diagnostics(
    documents: Mapping[Path, Document], families: set[str]
) -> Iterator[tuple[Path, Diagnostic]]:
    """A finding for each of these sentences, the most certain first, at most `MOST_SENTENCES`.
    `families` are the folded family names of the authors that the paper cites."""
    found: dict[tuple[Path, int], tuple[int, Uncited]] = {}
    known: dict[str, None] = {}
    for path, document in documents.items():
        abstract = f" {normalise_title(document.abstract)} "
        cited = dict(cited_names(document))
        for rank, pattern in enumerate(_CERTAIN):
            for match in pattern.finditer(document.text):
                if fold(match[0].split()[0]) in families:
                    continue  # "Smith et al. also show ..." with their work cited elsewhere
                one = uncited_at(document, match.start())
                if one is None or "abstract" in path.stem.lower():
                    continue
                words = " ".join(one.sentence.replace(MARK, "").split())
                names = names_in(words)
                if (
                    _CLOSING.search(context_at(document, one.at).section)
                    or f" {normalise_title(words)} " in abstract
                    or any(n in known or cited.get(n, one.at) < one.at for n in names)
                    or (pattern is _ANNOUNCEMENT and following_citation(document, one, ANNOUNCED))
                ):
                    continue
                found.setdefault((path, one.at), (rank, one))
        known.update(dict.fromkeys(cited))
    ranked = sorted(found.items(), key=lambda item: item[1][0])
    for (path, _), (_, one) in ranked[:MOST_SENTENCES]:
        words = " ".join(one.sentence.replace(MARK, "").split())
        yield (
            path,
            Diagnostic(
                code="sentence-uncited",
                span=Span(one.at, one.at),
                message=f"The sentence refers to other work without a citation: “"
                f"{shorten(words, 160)}”",
                level=Level.INFORMATION,
                data={"hint": "Cite the work, or say that it is your own.", "sentence": words},
            ),
        )
