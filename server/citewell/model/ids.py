"""Identifiers of papers, found in whatever a record or an author wrote, in one canonical form.

Two records name the same paper when these forms are equal, so every layer must use them.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from citewell.model.lazy_pattern import lazy_pattern

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


def literal_url(text: str) -> str:
    """The first web address in a text, without LaTeX escapes and closing punctuation, or ""."""
    found = _WEB.search(_TEX_ESCAPE.sub(r"\1", text))
    return found[0].rstrip(".,;:!?)]'\"") if found else ""


def isbn13(text: str) -> str:
    """The first ISBN in a text with 13 digits and no hyphens, or "" where none has a right check
    digit. An ISBN of ten digits gets its prefix 978."""
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
    doi = found.group()
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
    number needs `arXiv`, `abs/` or a link before it. Mendeley's filler is none.
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
    """The text; a stamp of arXiv, also one that lost its first letter, as the journal that stands
    for a preprint: "rXiv:2110.14168v2 [cs.LG] 18 Nov 2021" is "arXiv preprint arXiv:2110.14168".
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
    """The text if it is an address of the web; empty for any other, such as `javascript:`."""
    text = text.strip()
    return text if text.lower().startswith(("https://", "http://")) else ""
