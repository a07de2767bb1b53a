"""Which venue a text names: one short id for all the spellings of a conference or journal.

A text may name several ("EMNLP-IJCNLP", "Findings of ACL: EMNLP"); two texts agree when they share
one. The table is a matter of fact (DBLP's and the ACL Anthology's names). Checks of references and
filters of searches read the same one.
"""

from __future__ import annotations

import re
from functools import lru_cache

from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.titles import normalise_title
from citewell.model.venue_names import ABBREVIATIONS, ACRONYMS, BARE_NAMES, LINKING, NAMES, SHORT
from citewell.model.work import Work

_GENERIC = frozenset(
    """proceedings proc of the in on for and a an annual international intl int national conference
    conf joint workshop workshops symposium symp meeting journal j transactions trans trans. volume
    vol part long short papers main track ieee acm cvf rsj press letters research advances
    annals review reviews lecture notes series edition european world asian pacific first second
    third fourth fifth companion extended abstracts adjunct findings society association chapter
    advance usa""".split()
)
_ORDINAL = lazy_pattern(r"^(?:\d+(?:st|nd|rd|th)?|[ivxlc]+|\w+(?:ieth|teenth)|\d+\w?)$")
_CODE = re.compile(r"^([a-z]{2,})\d{2,}$")
_MLA = re.compile(r"^mla:[^:]*?\d{4}([a-z]+)-")
_DBLP = re.compile(r"DBLP:(?:conf|journals)/([a-z0-9]+)/")
_SERIES = lazy_pattern(
    r"(?:including (?:its )?subseries )?(?:and )?lecture notes in "
    r"(?:computer science|artificial intelligence|bioinformatics)"
    r"|^synthesis lectures (?:on|in) .*"
)
"""A series holds the volumes of many meetings and is none itself."""


@lru_cache(maxsize=16384)
def venue_ids(text: str) -> frozenset[str]:
    """Ids of the venues that the text names; empty for one that the table does not know."""
    words = _SERIES.sub(" ", normalise_title(text)).strip()
    if not words:
        return frozenset()
    found = _ids_in(words)
    if not found and "." in text:
        # ISO 4 cuts "computer", "computational" and "computing" to the same letters.
        for ending in ("er", "ational", "ing"):
            bare = LINKING.sub("", _written_out(words, ending))
            found = found or frozenset(name for pattern, name in BARE_NAMES if pattern.search(bare))
    return found


def _written_out(words: str, ending: str) -> str:
    """The words with abbreviations of ISO 4 in full, "comput" with this ending."""
    full = {**ABBREVIATIONS, "comput": f"comput{ending}"}
    return " ".join(full.get(word, word) for word in words.split())


def _ids_in(words: str) -> frozenset[str]:
    if found := SHORT.get(words):
        return frozenset({found})
    ids = {name for pattern, name in NAMES if pattern.search(words)}
    if len(words) > 12 or not ids:
        for word in words.split():
            coded = _CODE.match(word)
            word = coded[1] if coded else word
            if word in ACRONYMS:
                ids.add(ACRONYMS[word])
    if {"naacl", "eacl", "aacl", "tacl"} & ids:
        ids.discard("acl")
    return frozenset(ids)


def work_venues(work: Work) -> frozenset[str]:
    """Ids of every venue that a record names: in its fields, and in the ids merged into it."""
    ids: set[str] = set()
    for text in (work.venue, work.booktitle, work.journal):
        if text:
            ids |= venue_ids(text)
    for identifier in (work.id, *work.same_as):
        found = _MLA.match(identifier) or _DBLP.search(identifier)
        if found:
            ids |= venue_ids(found[1])
    return frozenset(ids)


def content_words(text: str) -> list[str]:
    """The distinctive words of a venue, in order."""
    return [
        word
        for word in normalise_title(text).split()
        if word not in _GENERIC and not _ORDINAL.match(word)
    ]
