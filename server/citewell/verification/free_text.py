"""A reference written out, taken apart by tolerant rules: names, year, title, venue, identifiers.

The styles of the field are enough: "A. Author and B. Other. Title. In Venue, 2020.", "Author, A.,
& Other, B. (2020). Title. Venue, 3(2), 1-9.", 'A. Author, "Title," in Proc. Venue, 2020.' What
cannot be read stays empty: a wrong guess would accuse.
"""

from __future__ import annotations

import re

from citewell.model.check import Claim
from citewell.model.ids import arxiv_id, normalise_doi
from citewell.model.names import parse_author
from citewell.model.tex import tex_to_unicode
from citewell.model.titles import plain_title
from citewell.model.work import Author

_YEAR = re.compile(r"(?<![\d.:/-])(1[89]\d\d|20\d\d)[a-z]?(?![\d/:-])")
_YEAR_IN_BRACKETS = re.compile(r"\((?:\w+[ .,]+){0,2}(1[89]\d\d|20\d\d)[a-z]?(?:,[^)]*)?\)[.,:]?")
_QUOTED = re.compile(r"[\"“”]([^\"“”]{8,300}?)[,.]?[\"“”]")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_DOI_TEXT = re.compile(
    r"\b(?:doi\s*[:=]?\s*)?(?:https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/\S+", re.I
)
_ET_AL = re.compile(r",?\s*(?:\bet\.?\s+al\b\.?|\band others\b)", re.I)
_SENTENCE = re.compile(r"(?<=[^\W\d_]{2})(?<!\bet al)(?<!\bvs)[.?!]\s+(?=[\"“(\w])|[?!]\s+(?=\w)")
_INITIALS = r"(?:[A-Z](?:\.|(?=[\s,])|$)[\s-]*){1,4}"
_SURNAME_FIRST = re.compile(
    r"(?:^|[,;]\s*(?:&|\band\b)?\s*|&\s*|\band\s+)"
    r"((?:[a-z]{1,4}\s+){0,3}[^\W\d_][\w'’-]+(?:[ -][A-Z][\w'’-]+)?),\s*"
    rf"({_INITIALS})"
)
_LATE_YEAR = re.compile(r",\s*(?:1[89]|20)\d\d$")
_IN = re.compile(r"^(?:in\s*:?\s+)", re.I)
_VENUE_TAIL = re.compile(r"\s*(?:[,.;]|\bpages?\b|\bpp\b|\bvol\b|\(|\d).*$", re.S)
_JOINED = re.compile(r"\s*(?:,\s*(?:and|&)\s+|\s+and\s+|\s*&\s*|;\s*|,\s*)")
_NAME_LIKE = re.compile(r"^(?:[^\W\d_][\w.'’`-]*\s*){1,6}$")


def parse_reference(text: str, *, latex: bool = False) -> Claim:
    """The claim of one written reference; `raw` is its plain text, empty for an empty reference."""
    if latex:
        text = _newblocks(text)
    plain = " ".join(text.split())
    doi, arxiv = normalise_doi(plain), arxiv_id(plain)
    rest = _URL.sub(" ", _DOI_TEXT.sub(" ", plain))
    rest = " ".join(rest.split())
    names, title, tail, year = _parts(rest)
    authors, others = _authors(names)
    return Claim(
        title=_LATE_YEAR.sub("", plain_title(title).strip(" .,;:")),
        authors=tuple(authors),
        others=others,
        year=year,
        venue=_venue(tail),
        doi=doi,
        arxiv=arxiv,
        raw=plain,
        surnames_only=True,
    )


def _newblocks(text: str) -> str:
    """Plain text of a \\bibitem; \\newblock ends a sentence, as it does on paper."""
    text = re.sub(r"\\newblock\b", " ", text)
    text = re.sub(r"\\(?:em|it|bf|sl|sc|rm)\b\s*", "", text)
    text = re.sub(r"\\(?:url|href)\s*\{([^{}]*)\}", r" \1 ", text)
    return tex_to_unicode(text)


def _parts(text: str) -> tuple[str, str, str, int | None]:
    """Names, title, what follows the title, and the year."""
    bracketed = _YEAR_IN_BRACKETS.search(text)
    years = [int(found[1]) for found in _YEAR.finditer(text)]
    year = int(bracketed[1]) if bracketed else (years[-1] if years else None)
    if quoted := _QUOTED.search(text):
        return text[: quoted.start()], quoted[1], text[quoted.end() :], year
    if bracketed and bracketed.start() > 2 and _looks_like_names(text[: bracketed.start()]):
        # APA: "Names (2020). Title. Venue"
        title, tail = _first_sentence(text[bracketed.end() :].lstrip(" .,:"))
        return text[: bracketed.start()], title, tail, year
    names, rest = _leading_names(text)
    rest = re.sub(r"^\s*(?:1[89]\d\d|20\d\d)[a-z]?\s*[.,:]\s*", "", rest)  # ACL: "Names. 2020."
    title, tail = _first_sentence(rest)
    return names, title, tail, year


def _looks_like_names(text: str) -> bool:
    return len(text) < 600 and len(_JOINED.split(text)) >= 1 and not re.search(r"[:?!]", text)


def _leading_names(text: str) -> tuple[str, str]:
    """The names at the head of a reference, and the rest.

    The names end at the first full stop after a word of more than one letter (initials are no
    end), or at a colon.
    """
    for end in re.finditer(r"\.\s+|:\s+", text):
        head = text[: end.start()]
        initial = end.group()[0] == "." and re.search(r"(?:^|[\s.~-])[A-Z]$", head)
        if initial and not _initials_end(text, end.end()):
            continue
        if re.search(r"\b(?:Jr|Sr|St|Mc)$", head):
            continue
        if len(head) > 3:
            return head, text[end.end() :]
    return "", text


def _initials_end(text: str, at: int) -> bool:
    """True when what follows an initial is a title: several lower-case words come soon."""
    following = text[at : at + 90]
    sentence = re.split(r"[.,&]|\band\b", following)[0].split()
    lower = [w for w in sentence if w[:1].islower() and len(w) > 1]
    return len(sentence) >= 4 or len(lower) >= 2


def _first_sentence(text: str) -> tuple[str, str]:
    found = _SENTENCE.search(text)
    if found is None:
        head, stop, tail = text.partition(". ")
        if stop:
            return head, tail
        comma = re.search(r",\s+(?:in\s|arXiv|(?:1[89]|20)\d\d)", text)
        return (text[: comma.start()], text[comma.end() :]) if comma else (text, "")
    return text[: found.end()].rstrip(" ."), text[found.end() :]


def _authors(text: str) -> tuple[list[Author], bool]:
    others = _ET_AL.search(text) is not None
    text = _ET_AL.sub("", text).strip(" .,;:&(")
    if not text:
        return [], others
    pairs = _SURNAME_FIRST.findall(text)
    if pairs:
        return [Author(family=family, given=given.strip(" ,")) for family, given in pairs], others
    names = [name.strip(" .,") for name in _JOINED.split(text)]
    names = [name for name in names if name]
    if not names or not all(_NAME_LIKE.match(name) for name in names) or len(names) > 200:
        return [], others
    if all(len(name.split()) == 1 for name in names) and len(names) > 1:
        # "Vaswani, Ashish" cannot be told from two surnames.
        return [], others
    return [parse_author(name) for name in names], others


def _venue(tail: str) -> str:
    text = _IN.sub("", tail.strip(" .,;"))
    if re.match(r"(?i)arxiv|corr\b", text):
        return "arXiv"
    text = re.sub(r"^(?:1[89]|20)\d\d\s*", "", text)
    head = _VENUE_TAIL.sub("", text).strip(" .,;")
    return head if len(head) < 200 else ""
