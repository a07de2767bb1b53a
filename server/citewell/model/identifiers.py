"""Identifiers of papers: recognised in any text, and normalised.

Two records name the same paper when their normal forms are equal, so every layer must use them. A
DOI, an arXiv id, an id of the ACL Anthology or an address names one work: it is looked up, never
searched for as words. A text with an identifier among other words is no identifier. The numbers of
PubMed, ADS and RePEc are their addresses, those of SSRN are DOIs.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

import msgspec

from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.work import Work

_DOI = lazy_pattern(r"10\.\d{4,9}(?:\.\d+)*/[^\s\"{}|\\^]+")
_DOI_HOST = lazy_pattern(r"^(?:https?://)?(?:dx\.|www\.)?doi\.org/", re.IGNORECASE)
_URL = lazy_pattern(r"^(?:https?://|www\.)", re.IGNORECASE)
_URL_TAIL = lazy_pattern(
    r"(?:[?#].*|/(?:full|fulltext|abstract|summary|pdf|epdf|meta|html)/?|\.(?:full\.)?pdf)$"
)
_TEX_ESCAPE = lazy_pattern(r"\\([_%&#$~])|[{}]|\\(?=[a-z]+\{)")
_WEB = lazy_pattern(r"https?://[^\s<>{}\"|\\^`]+", re.IGNORECASE)
_ISBN = lazy_pattern(
    r"(?<![\dXx/.-])(?:97[89][\s-]?(?:\d[\s-]?){9}\d|(?:\d[\s-]?){9}[\dXx])(?![\dXx-])"
)
_ANGLE = lazy_pattern(
    r"\{?\\ensuremath\s*\{?\s*(<|>|\\lt|\\gt)\s*\}?\}?|\{?\\text(less|greater)(?:\{\}|\})?[ \t]?|"
    r"\$\s*(<|>|\\lt|\\gt)\s*\$|\\?&(lt|gt|amp);"
)
_ANGLES = {"<": "<", ">": ">", "\\lt": "<", "\\gt": ">", "less": "<", "greater": ">", "lt": "<",
           "gt": ">", "amp": "&"}  # fmt: skip
_BRACKETS = {")": "(", "]": "[", ">": "<", "}": "{"}

_NEW_ARXIV = r"\d{2}(?:0[1-9]|1[0-2])\.\d{4,5}"
_OLD_ARXIV = r"[a-z]{2,}(?:-[a-z]{2,})?(?:\.[A-Za-z-]{2,})?/\d{2}(?:0[1-9]|1[0-2])\d{3}"
_ARXIV_ID = rf"(?P<id>{_NEW_ARXIV}|{_OLD_ARXIV})(?:v\d+)?"
_ARXIV_WHOLE = lazy_pattern(rf"^{_ARXIV_ID}(?:\s*\[[\w.,\s-]+\])?$", re.IGNORECASE)
_ARXIV_MARKED = lazy_pattern(
    r"(?:ar5?[xX]iv(?:\.labs)?(?:\.org)?(?:/(?:abs|pdf|html|e-print|format|ps|src))?"
    r"|alphaxiv\.org/(?:abs|pdf)|abs|huggingface\.co/papers)"
    rf"\s?[:/.\s]\s?{_ARXIV_ID}(?![\d])",
    re.IGNORECASE,
)

_MENDELEY_FILLER = "arXiv:1011.1669v3"
"""Mendeley writes this identifier into entries of works that are not on arXiv."""

_NEW_ACL = r"(?:19|20)\d{2}\.[a-z0-9_]+-[a-z0-9_]+\.\d+"
_OLD_ACL = r"[A-Z]\d{2}-\d{4,5}"
_ACL_WHOLE = lazy_pattern(rf"^(?:acl:)?(?P<id>{_NEW_ACL}|{_OLD_ACL})$", re.IGNORECASE)
_ACL_MARKED = lazy_pattern(
    r"(?:aclanthology\.(?:org|info)(?:/(?:papers|attachments|pdf))?"
    r"|aclweb\.org/anthology(?:-new)?|10\.18653/v1|10\.3115/v1|anthology)"
    rf"(?:/[A-Z](?:/[A-Z]\d\d)?)?/(?P<id>{_NEW_ACL}|{_OLD_ACL})(?![\w])",
    re.IGNORECASE,
)
_ARXIV_STAMP = lazy_pattern(
    r"a?rxiv:\s*(?P<id>\d{4}\.\d{4,5})(?:v\d+)?(?:\s*\[[^\]]*\])?(?:\s+\d{1,2} \w+ \d{4})?",
    re.IGNORECASE,
)


_BIBCODE = r"(?:1[6-9]|20)\d\d[A-Za-z&.][\w&.]{9}[\d.]{4}[A-Z.]"
_DATABASES = tuple(
    (lazy_pattern(f"(?:{written})/*", re.IGNORECASE), address)
    for address, written in {
        "pubmed.ncbi.nlm.nih.gov/{}": r"(?:pmid|pubmed)(?:\s*:)?\s*(\d{1,8})"
        r"|europepmc\.org/\w+/med/(\d+)|(?:pubmed\.|)ncbi\.nlm\.nih\.gov/(?:m/)?(?:pubmed/)?(?:\?term=)?(\d+)",
        "pmc.ncbi.nlm.nih.gov/articles/PMC{}": r"(?:pmcid(?:\s*:)?\s*)?pmc(\d{3,8})"
        r"|(?:pmc\.ncbi\.nlm\.nih\.gov|ncbi\.nlm\.nih\.gov/pmc|europepmc\.org)/\w+/(?:pmc/)?pmc(\d+)",
        "ui.adsabs.harvard.edu/abs/{}": rf"(?-i:({_BIBCODE}))"
        rf"|(?:ui\.)?adsabs\.harvard\.edu/(?:#?abs|link_gateway)/({_BIBCODE})(?:/.*)?",
        "doi.org/10.2139/ssrn.{}": r"ssrn(?:\s*:)?\s*(?:id\s*)?(\d{4,8})"
        r"|(?:papers\.)?ssrn\.com/(?:\S+\?(?:\S*&)?)?abstract(?:_?id)?=(\d+)(?:&.*)?",
        "econpapers.repec.org/RePEc:{}": r"(?:(?:[\w.]+\.org|handle)/)?repec:"
        r"(\w{3}:\w{6}:[\w:.&-]+)",
    }.items()
)  # fmt: skip
"""The one address of a work in a database, and how its number and its other addresses are written.
"""


def _of_database(text: str) -> str:
    """The address, without scheme, of a number or an address of a database; "" for other texts."""
    bare = _SCHEME.sub("", unquote(text))
    for pattern, address in _DATABASES:
        if (found := pattern.fullmatch(bare)) is not None:
            return address.format(next(filter(None, found.groups())))
    return ""


def literal_url(text: str) -> str:
    """The first web address in a text, without LaTeX escapes and closing punctuation, or ""."""
    found = _WEB.search(_TEX_ESCAPE.sub(r"\1", text))
    return found[0].rstrip(".,;:!?)]'\"") if found else ""


def isbn13(text: str) -> str:
    """The first ISBN in a text as 13 digits without hyphens, or "" if no check digit is right. An
    ISBN of ten digits gets the prefix 978."""
    for found in _ISBN.finditer(text):
        digits = re.sub(r"[\s-]", "", found[0]).upper()
        if len(digits) == 10:
            total = sum((10 - at) * (10 if d == "X" else int(d)) for at, d in enumerate(digits))
            if total % 11:
                continue
            digits = f"978{digits[:9]}"
            digits += str(-sum(int(d) * (1, 3)[at % 2] for at, d in enumerate(digits)) % 10)
        elif sum(int(d) * (1, 3)[at % 2] for at, d in enumerate(digits)) % 10:
            continue
        return digits
    return ""


def normalise_doi(text: str) -> str:
    """The DOI in `text`, bare and in lower case, or "".

    Takes a DOI, a doi.org link, a publisher's link that holds a DOI, or prose around one, because
    the `doi` field of real files holds all of these. LaTeX escapes and trailing punctuation go; a
    closing bracket stays when the DOI itself opened it (`10.1016/0004-3702(89)90049-0`).
    """
    if "10." not in text:
        return ""
    text = text.strip()
    if "\\" in text or "$" in text or "&" in text:
        text = _ANGLE.sub(lambda found: _ANGLES[found[1] or found[2] or found[3] or found[4]], text)
    if "\\" in text or "{" in text:
        text = _TEX_ESCAPE.sub(r"\1", text)
    if "%" in text:
        text = unquote(text)
    found = _DOI.search(text)
    if found is None:
        return ""
    # INSPIRE writes several in one field.
    doi = found.group().partition(",10.")[0]
    if _URL.match(text) and not _DOI_HOST.match(text):
        previous = ""
        while previous != doi:
            previous, doi = doi, _URL_TAIL.sub("", doi)
    while doi and not doi[-1].isalnum():
        opening = _BRACKETS.get(doi[-1])
        if opening is not None and doi.count(opening) >= doi.count(doi[-1]):
            break
        if doi[-1] in "-_" and len(doi) == len(found.group()):
            break
        doi = doi[:-1]
    return "" if doi.endswith("/") or "/" not in doi else doi.lower()


def arxiv_id(text: str) -> str:
    """The arXiv identifier in `text`, without version, or "".

    New style (`1706.03762`) and old (`cs/0102012`; the subject class of `math.GT/0309136` is not
    part of the identifier). A bare identifier counts only when it is the whole text: elsewhere a
    number needs `arXiv`, `abs/` or a link before it. Mendeley's placeholder is ignored.
    """
    text = text.strip()
    if text == _MENDELEY_FILLER:
        return ""
    if "/" not in text and "." not in text:
        return ""
    found = _ARXIV_WHOLE.match(text) or _ARXIV_MARKED.search(text)
    if found is None:
        return ""
    identifier = found["id"].lower()
    archive, slash, number = identifier.partition("/")
    return f"{archive.partition('.')[0]}/{number}" if slash else identifier


def plain_arxiv_venue(text: str) -> str:
    """The text, with an arXiv stamp (even without its first letter) as the usual journal of a
    preprint: "rXiv:2110.14168v2 [cs.LG] 18 Nov 2021" is "arXiv preprint arXiv:2110.14168".
    """
    found = _ARXIV_STAMP.fullmatch(text)
    return f"arXiv preprint arXiv:{found['id']}" if found else text


def acl_id(text: str) -> str:
    """The ACL Anthology identifier in `text`, or "".

    From the identifier itself (`P19-1001`, `2020.acl-main.1`), a link to the Anthology, or a DOI
    under 10.18653/v1, whose suffix is that identifier. Old style upper case, new style lower.
    """
    text = text.strip()
    if "-" not in text:
        return ""
    found = _ACL_WHOLE.match(text) or _ACL_MARKED.search(text)
    if found is None:
        return ""
    identifier = found["id"]
    return identifier.lower() if identifier[0].isdigit() else identifier.upper()


def web_address(text: str) -> str:
    """The text if it is an http or https address; "" for any other, such as `javascript:`."""
    text = text.strip()
    return text if text.lower().startswith(("https://", "http://")) else ""


Kind = Literal["doi", "arxiv", "acl", "openreview", "url"]

_WRAPPED = lazy_pattern(r"^\\(?:url|href|path)\{(.*)\}$")
_ADDRESS = lazy_pattern(
    r"^(?:https?://|www\.|(?:dx\.)?doi\.org/|(?:export\.|www\.)?arxiv\.org/|aclanthology\.org/|"
    r"(?:www\.)?aclweb\.org/|openreview\.net/|huggingface\.co/papers/|alphaxiv\.org/)",
    re.IGNORECASE,
)
_DOI_PREFIX = lazy_pattern(r"^(?:doi|DOI)\s*[:=]?\s*(?=10\.\d{4})")
_WHOLE_DOI = lazy_pattern(r"^10\.\d{4,9}(?:\.\d+)*/\S+$")
_ARXIV_PREFIX = lazy_pattern(
    r"^(?:eprint\s*[:=]\s*)?arxiv(?:\s*[:.=/]\s*|\s+)(?=\S)", re.IGNORECASE
)
_ARXIV_CLASS = lazy_pattern(r"\s*\[[\w.,\s-]+\]$")
_NUMBERED = lazy_pattern(r"^\d{4}\.\d+(?:v\d+)?$")
"""The digits of an arXiv id, with any month and length."""
_FORUM = lazy_pattern(r"openreview\.net/(?:forum|pdf|attachment)\?(?:[^#\s]*&)?id=([\w-]+)", re.I)
_FORUM_ID = lazy_pattern(r"^openreview:([\w-]+)$", re.IGNORECASE)
_NATURE = lazy_pattern(r"nature\.com/articles/([\w-]+)", re.IGNORECASE)
_ARXIV_DOI = "10.48550/arxiv."
_NAMES = {
    "doi": "DOI",
    "arxiv": "arXiv id",
    "acl": "Anthology id",
    "openreview": "OpenReview forum",
    "url": "address",
}
_LONGEST = 2048
_ADDRESSES = lazy_pattern(r"https?://[^\s{}\"<>]+")
_SCHEME = lazy_pattern(r"^(?:https?://)?(?:www\.)?", re.IGNORECASE)
_FORMAT = lazy_pattern(r"(?:\.(?:html?|pdf|bib|txt)|/)+$", re.IGNORECASE)
_NEURIPS = lazy_pattern(r"n(?:eur)?ips\.cc/\S*?([0-9a-f]{32})")
_YEAR_OF_PAPERS = lazy_pattern(r"ips\.cc/(?:paper(?:_files/paper)?)/(\d{4})/")
_PMLR = lazy_pattern(r"^proceedings\.mlr\.press/(v\d+|r\d+)/([\w-]+)")
_CVF = lazy_pattern(r"^openaccess\.thecvf\.com/\S*/([^/\s]+)$")


class Identifier(msgspec.Struct, frozen=True):
    """One identifier of one work."""

    kind: Kind
    value: str
    """In its normal form; an address as given."""

    @property
    def description(self) -> str:
        """Its name in messages: "the arXiv id 1706.03762"."""
        return f"the {self.noun} {self.value[:200]}"

    @property
    def noun(self) -> str:
        """Its kind in words: "arXiv id"."""
        return _NAMES[self.kind]

    @property
    def key(self) -> str:
        """The value; for an address, the form that its page and files share (see `address_key`)."""
        return address_key(self.value) if self.kind == "url" else self.value

    @property
    def doi(self) -> str:
        """The DOI that it is or that registers it, or ""."""
        if self.kind == "arxiv":
            return f"{_ARXIV_DOI}{self.value}"
        return self.value if self.kind == "doi" else ""

    @property
    def arxiv(self) -> str:
        """The arXiv id that it is, or ""."""
        return self.value if self.kind == "arxiv" else ""

    def names(self, work: Work) -> bool:
        """True when a record from any source has this identifier."""
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
        same = self.key in (address_key(work.url), *work.same_as)
        return same and self.key != "" and not _other_years(work.url, self.value)


def arxiv_ids(work: Work) -> frozenset[str]:
    """The arXiv ids in any field of a record ("CoRR abs/1706.03762")."""
    fields = (work.arxiv, work.doi, work.url, work.journal)
    return frozenset(found for text in fields if text and (found := arxiv_id(text)))


def dois_of(work: Work) -> tuple[str, ...]:
    """Every DOI of a work, normalised: its own, then those of the records merged into it."""
    merged = (name[4:] for name in work.same_as if name.startswith("doi:"))
    return tuple(dict.fromkeys(doi for text in (work.doi, *merged) if (doi := normalise_doi(text))))


@lru_cache(maxsize=1024)
def identifier_of(text: str) -> Identifier | None:
    """The identifier that the whole text is, or None."""
    text = text.strip()
    if not 6 <= len(text) <= _LONGEST:
        return None
    if wrapped := _WRAPPED.match(text):
        text = wrapped[1]
    text = text.strip(" \t\n<>\"'`“”‘’").rstrip(".,;")
    if stored := _of_database(text):
        text = f"https://{stored}"
    if _ADDRESS.match(text) and not re.search(r"\s", text):
        return _of_address(text)
    doi = _DOI_PREFIX.sub("", text)
    return _of_doi(doi) if _WHOLE_DOI.match(doi) else _of_short(text)


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
    """The identifiers in a field or a reference that are written as addresses."""
    found = (identifier_of(one.rstrip(")]}.,;")) for one in _ADDRESSES.findall(text))
    return list(dict.fromkeys(one for one in found if one is not None))


def address_key(address: str) -> str:
    """The form that the page and the files of a paper share: without scheme, "www.", fragment and
    suffix.

    The abstract page and the PDF of a NeurIPS, PMLR or CVF paper have the same form, and so have
    the addresses of a work in PubMed, ADS or RePEc.
    """
    if stored := _of_database(address.strip()):
        return stored
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
    """True for addresses of different years of NeurIPS, which restarts its numbers each year."""
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
