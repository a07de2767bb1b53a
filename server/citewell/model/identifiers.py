"""Whether a text is the identifier of a paper, and of which kind.

A DOI, an arXiv id, an id of the ACL Anthology or an address names one work: such a text is looked
up and never searched for by its words. Words around an identifier make it no identifier.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

import msgspec

from citewell.model.ids import acl_id, arxiv_id, normalise_doi
from citewell.model.work import Work

Kind = Literal["doi", "arxiv", "acl", "openreview", "url"]

_WRAPPED = re.compile(r"^\\(?:url|href|path)\{(.*)\}$")
_ADDRESS = re.compile(
    r"^(?:https?://|www\.|(?:dx\.)?doi\.org/|(?:export\.|www\.)?arxiv\.org/|aclanthology\.org/|"
    r"(?:www\.)?aclweb\.org/|openreview\.net/|huggingface\.co/papers/|alphaxiv\.org/)",
    re.IGNORECASE,
)
_DOI_PREFIX = re.compile(r"^(?:doi|DOI)\s*[:=]?\s*(?=10\.\d{4})")
_DOI = re.compile(r"^10\.\d{4,9}(?:\.\d+)*/\S+$")
_ARXIV_PREFIX = re.compile(r"^(?:eprint\s*[:=]\s*)?arxiv(?:\s*[:.=/]\s*|\s+)(?=\S)", re.IGNORECASE)
_ARXIV_CLASS = re.compile(r"\s*\[[\w.,\s-]+\]$")
_NUMBERED = re.compile(r"^\d{4}\.\d+(?:v\d+)?$")
"""An arXiv id, were it not for its month or its length."""
_FORUM = re.compile(r"openreview\.net/(?:forum|pdf|attachment)\?(?:[^#\s]*&)?id=([\w-]+)", re.I)
_FORUM_ID = re.compile(r"^openreview:([\w-]+)$", re.IGNORECASE)
_NATURE = re.compile(r"nature\.com/articles/([\w-]+)", re.IGNORECASE)
_ARXIV_DOI = "10.48550/arxiv."
_NAMES = {
    "doi": "DOI",
    "arxiv": "arXiv id",
    "acl": "Anthology id",
    "openreview": "OpenReview forum",
    "url": "address",
}
_LONGEST = 2048
_ADDRESSES = re.compile(r"https?://[^\s{}\"<>]+")
_SCHEME = re.compile(r"^(?:https?://)?(?:www\.)?", re.IGNORECASE)
_FORMAT = re.compile(r"(?:\.(?:html?|pdf|bib|txt)|/)+$", re.IGNORECASE)
_NEURIPS = re.compile(r"n(?:eur)?ips\.cc/\S*?([0-9a-f]{32})")
_YEAR_OF_PAPERS = re.compile(r"ips\.cc/(?:paper(?:_files/paper)?)/(\d{4})/")
_PMLR = re.compile(r"^proceedings\.mlr\.press/(v\d+|r\d+)/([\w-]+)")
_CVF = re.compile(r"^openaccess\.thecvf\.com/\S*/([^/\s]+)$")


class Identifier(msgspec.Struct, frozen=True):
    """One name of one work."""

    kind: Kind
    value: str
    """In its canonical form; of an address as it was given."""

    @property
    def description(self) -> str:
        """As a message names it: "the arXiv id 1706.03762"."""
        return f"the {self.noun} {self.value[:200]}"

    @property
    def noun(self) -> str:
        """Its kind in words: "arXiv id"."""
        return _NAMES[self.kind]

    @property
    def key(self) -> str:
        """The value, of an address in the one form of its page and files (see `address_key`)."""
        return address_key(self.value) if self.kind == "url" else self.value

    @property
    def doi(self) -> str:
        """The DOI that it is, or that registers it; else empty."""
        if self.kind == "arxiv":
            return f"{_ARXIV_DOI}{self.value}"
        return self.value if self.kind == "doi" else ""

    @property
    def arxiv(self) -> str:
        """The arXiv id that it is; else empty."""
        return self.value if self.kind == "arxiv" else ""

    def names(self, work: Work) -> bool:
        """True when a record of some source has this identifier."""
        if self.kind == "arxiv":
            return self.value in arxiv_ids(work)
        if self.kind == "doi":
            return normalise_doi(work.doi) == self.value
        if f"{self.kind}:{self.value}" in (work.id, *work.same_as):
            return True
        if self.kind == "acl":
            return self.value in (acl_id(work.doi), acl_id(work.url))
        if self.kind == "openreview":
            return f"id={self.value}" in work.url
        return address_key(work.url) == self.key != "" and not _other_years(work.url, self.value)


def arxiv_ids(work: Work) -> frozenset[str]:
    """The arXiv ids that a record has in any of its fields ("CoRR abs/1706.03762")."""
    fields = (work.arxiv, work.doi, work.url, work.journal)
    return frozenset(found for text in fields if text and (found := arxiv_id(text)))


def dois_of(work: Work) -> tuple[str, ...]:
    """Every DOI of a work, normalised: its own, then those of the records merged into it."""
    merged = (name[4:] for name in work.same_as if name.startswith("doi:"))
    return tuple(dict.fromkeys(doi for text in (work.doi, *merged) if (doi := normalise_doi(text))))


@lru_cache(maxsize=1024)
def identifier_of(text: str) -> Identifier | None:
    """The identifier that the whole text is; None for any other text."""
    text = text.strip()
    if not 6 <= len(text) <= _LONGEST:
        return None
    if wrapped := _WRAPPED.match(text):
        text = wrapped[1]
    text = text.strip(" \t\n<>\"'`“”‘’").rstrip(".,;")
    if _ADDRESS.match(text) and not re.search(r"\s", text):
        return _of_address(text)
    doi = _DOI_PREFIX.sub("", text)
    return _of_doi(doi) if _DOI.match(doi) else _of_short(text)


def _of_short(text: str) -> Identifier | None:
    if found := _FORUM_ID.match(text):
        return Identifier("openreview", found[1])
    bare = _ARXIV_CLASS.sub("", _ARXIV_PREFIX.sub("", text))
    if re.search(r"\s", bare):
        return None
    if anthology := acl_id(bare):
        return Identifier("acl", anthology)
    arxiv = arxiv_id(bare) or (bare if bare != text and _NUMBERED.match(bare) else "")
    return Identifier("arxiv", arxiv) if arxiv else None


def identifiers_in(text: str) -> list[Identifier]:
    """Return the identifiers that a field or a reference contains as addresses."""
    found = (identifier_of(one.rstrip(")]}.,;")) for one in _ADDRESSES.findall(text))
    return list(dict.fromkeys(one for one in found if one is not None))


def address_key(address: str) -> str:
    """One form for the pages and files of a paper: without scheme, "www.", fragment and suffix.

    The abstract page and the PDF of NeurIPS, PMLR and CVF papers have the same one.
    """
    plain = _FORMAT.sub("", _SCHEME.sub("", unquote(address.strip()).partition("#")[0]))
    host, slash, path = plain.partition("/")
    plain = f"{host.lower()}{slash}{path}"
    if found := _NEURIPS.search(plain):
        return f"neurips.cc/{found[1]}"
    if found := _PMLR.match(plain):
        return f"proceedings.mlr.press/{found[1]}/{found[2]}"
    if found := _CVF.match(plain):
        return f"openaccess.thecvf.com/{found[1]}"
    return plain if slash else ""


def _other_years(one: str, other: str) -> bool:
    """True for addresses of two years of NeurIPS, which gives papers the same numbers each year."""
    years = [found[1] for text in (one, other) if (found := _YEAR_OF_PAPERS.search(text))]
    return len(set(years)) > 1


def _of_doi(text: str) -> Identifier | None:
    doi = normalise_doi(text)
    if not doi:
        return None
    if doi.startswith(_ARXIV_DOI) and (found := arxiv_id(doi)):
        return Identifier("arxiv", found)
    return Identifier("doi", doi)


def _of_address(text: str) -> Identifier:
    plain = unquote(text)
    found: Identifier | None = None
    if forum := _FORUM.search(plain):
        found = Identifier("openreview", forum[1])
    elif "doi.org/" in plain.lower():
        found = _of_doi(plain)
    elif arxiv := arxiv_id(plain):
        found = Identifier("arxiv", arxiv)
    elif anthology := acl_id(_FORMAT.sub("", plain)):
        found = Identifier("acl", anthology)
    elif article := _NATURE.search(plain):
        found = Identifier("doi", f"10.1038/{article[1].lower()}")
    else:
        found = _of_doi(plain)
    return found or Identifier("url", text)
