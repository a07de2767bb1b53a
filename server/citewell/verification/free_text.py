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
from citewell.model.venues import venue_ids
from citewell.model.work import Author
from citewell.verification.venues import is_preprint

_YEAR = re.compile(r"(?<![\d.:/-])(1[89]\d\d|20\d\d)[a-z]?(?![\d/:-])")
_YEAR_IN_BRACKETS = re.compile(r"\((?:\w+[ .,]+){0,2}(1[89]\d\d|20\d\d)[a-z]?(?:,[^)]*)?\)[.,:]?")
_QUOTED = re.compile(r"[\"“”]([^\"“”]{8,300}?)[,.]?[\"“”]")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_DOI_TEXT = re.compile(
    r"\b(?:doi\s*[:=]?\s*)?(?:https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/\S+", re.I
)
_ET_AL = re.compile(r",?\s*(?:\band\s+)?(?:\bet\.?\s+al\b\.?|\band others\b)", re.I)
_SENTENCE = re.compile(
    r"(?<=[^\W\d_]{2})(?<!\bet al)(?<!\bvs)\.\s+(?=[\"“(\w])|[?!]\.?\s+(?=[^\W\d_a-zß-ÿ])"
)
_INITIALS = r"(?:[A-Z](?:\.|(?=[\s,])|$)[\s-]*){1,4}"
_SURNAME_FIRST = re.compile(
    r"(?:^|[,;]\s*(?:&|\band\b)?\s*|&\s*|\band\s+)"
    r"((?:[a-z]{1,4}\s+){0,3}[^\W\d_][\w'’-]+(?:[ -][A-Z][\w'’-]+)?),\s*"
    rf"({_INITIALS})"
)
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_SMALL_CAPS = re.compile(rf"\s*{_GROUP}\s*[,.]?\s*(?:\\emph\s*)?{_GROUP}\s*,?(.*)", re.S)
_UP = r"[^\W\d_a-zß-ÿ]"
_PARTICLES = r"(?:(?:van|von|de|den|der|di|da|del|della|la|le|du|dos|ten|ter|al|el|bin|im)\s+){0,3}"
_SURNAME = rf"{_PARTICLES}{_UP}[\w'’-]+(?:[ -]{_UP}[\w'’-]+)?"
_LETTERS = rf"(?:{_UP}\.(?:-\w\.)?[\s-]*){{1,4}}"
_JUNIOR = r"(?:,?\s*(?:Jr|Sr|III|II)\b\.?)?"
_AND = r"(?:\s*[,;]\s*(?:and\s+|&\s*)?|\s*and\s+|\s*&\s*)"
_MORE = r"(?:,?\s*et\.?\s+al\b\.?|,?\s*and\s+others)?"
_FAMILY_FIRST = re.compile(
    rf"{_SURNAME},\s+{_LETTERS}{_JUNIOR}(?:{_AND}{_SURNAME},\s+{_LETTERS}{_JUNIOR})*{_MORE}"
    r"(?=[:.,;(\s])"
)
"""Ash, A., Beech, B. C., and Cedar, D."""
_INITIALS_FIRST = re.compile(
    rf"{_LETTERS}{_SURNAME}(?:{_AND}{_LETTERS}{_SURNAME})*{_MORE}(?=\s*[:.,;(])"
)
"""A. Ash, B. C. Beech, and D. Cedar"""
_TYPE = re.compile(r"\s*\[(?:[JCMDRSPNGAZ]|DB|CP|EB)(?:/(?:OL|CD|MT|DK))?\](?:\s*//)?[\s.,]*")
"""The type of document behind a title of GB/T 7714: [J] for a journal, [C]// for a volume."""
_PAGES = re.compile(
    r"(?:\b(?:pages?|pp?)\b\.?\s*|:\s*)[\w.:]*\d\s*(?:[-–—]+\s*[\w.:]*\d+)?|\d+\s*[–—-]+\s*\d+"
)
_LEADING_YEAR = re.compile(r"^\s*\(?(?:1[89]\d\d|20\d\d)[a-z]?\)?\s*[.,:]\s*")
_NAMES_YEAR = re.compile(r"[\s,.]*\(?(?:1[89]\d\d|20\d\d)[a-z]?\)?[\s.]*$")
_PART = re.compile(r"[,;]\s+|[.?!:]\s+|\s[-–—]{1,3}\s|[“”\"()]")
_UNREAL_ARXIV = re.compile(r"(?i)\barxiv\s*:\s*(\d{4}\.[\dx?]{3,6})\b")
MOST_PARTS, LONGEST_RUN, MOST_GUESSES = 60, 5, 120
_LATE_YEAR = re.compile(r",\s*(?:1[89]|20)\d\d$")
_IN = re.compile(r"^(?:in\s*:?\s+)", re.I)
_VENUE_TAIL = re.compile(r"\s*(?:[,.;](?!\w)|\bpages?\b|\bpp\b|\bvol\b|\(|\d).*$", re.S)
_WHICH = re.compile(r"^(.{0,40}?)\b(?:\d{4}|\d+(?:st|nd|rd|th))\s+(?=\w+ )")
_JOINED = re.compile(r"\s*(?:,\s*(?:and|&)\s+|\s+and\s+|\s*&\s*|;\s*|,\s*)")
_NAME_LIKE = re.compile(r"^(?:[^\W\d_][\w.'’`-]*\s*){1,6}$")


def parse_reference(text: str, *, latex: bool = False) -> Claim:
    """The claim of one written reference; `raw` is its plain text, empty for an empty reference."""
    blocks = _blocks(text) if latex else []
    plain = " ".join((". ".join(blocks) if blocks else text).split())
    doi, arxiv = normalise_doi(plain), arxiv_id(plain)
    if len(blocks) > 1:
        names, title, tail, year = _of_blocks([_bare(block) for block in blocks])
    else:
        names, title, tail, year = _parts(_bare(plain))
    authors, others = _authors(names)
    unreal = _UNREAL_ARXIV.search(plain) if not arxiv else None
    return Claim(
        title=_LATE_YEAR.sub("", plain_title(title).strip(" .,;:")),
        authors=tuple(authors),
        others=others,
        year=year,
        venue=_venue(tail),
        doi=doi,
        arxiv=arxiv,
        raw_arxiv=unreal[1] if unreal else "",
        raw=plain,
        surnames_only=True,
    )


def title_guesses(raw: str) -> list[str]:
    """Every part of a written reference that may be its title, where it was taken apart wrongly.

    Runs of what commas, full stops and brackets part, of four words and more, longest first.
    """
    text = _TYPE.sub(". ", _bare(raw))
    parts = [part for part in _PART.split(text) if part and part.strip()]
    found: dict[str, None] = {}
    for start in range(min(len(parts), MOST_PARTS)):
        for end in range(start + 1, min(start + LONGEST_RUN, len(parts)) + 1):
            guess = " ".join(parts[start:end]).strip()
            if 4 <= len(guess.split()) <= 40:
                found[guess] = None
    return sorted(found, key=len, reverse=True)[:MOST_GUESSES]


def _bare(text: str) -> str:
    """Without addresses and identifiers."""
    return " ".join(_URL.sub(" ", _DOI_TEXT.sub(" ", text)).split())


def _blocks(text: str) -> list[str]:
    """The parts of a \\bibitem as plain text, as far as its style marks them.

    \\newblock ends the names and the title; `{\\sc Names}, {\\em Title}, ...` does so without.
    """
    text = re.sub(r"\\(?:url|href)\s*\{([^{}]*)\}", r" \1 ", text)
    marked = _SMALL_CAPS.match(text) if re.match(r"\s*\{\s*\\sc\b", text) else None
    if marked and "\\newblock" not in text:
        return [_plain(part).strip(" ,") for part in marked.groups()]
    parts = [_plain(part).strip(" .") for part in re.split(r"\\newblock\b", text)]
    return [part for part in parts if part]


def _plain(latex: str) -> str:
    latex = re.sub(r"\\(?:em|it|bf|sl|sc|rm|tt)\b\s*", "", latex)
    return " ".join(tex_to_unicode(latex).split())


def _of_blocks(blocks: list[str]) -> tuple[str, str, str, int | None]:
    """Names, title, what follows and the year, where the bibliography's style marks its parts."""
    names, title, tail = blocks[0], blocks[1], ". ".join(blocks[2:])
    year = _year_of(f"{names} {tail}") or _year_of(title)
    if quoted := _QUOTED.search(title):
        title = quoted[1]
    return _NAMES_YEAR.sub("", names), title, tail, year


def _year_of(text: str) -> int | None:
    bracketed = _YEAR_IN_BRACKETS.search(text)
    years = [int(found[1]) for found in _YEAR.finditer(_PAGES.sub(" ", text))]
    return int(bracketed[1]) if bracketed else (years[-1] if years else None)


def _parts(text: str) -> tuple[str, str, str, int | None]:
    """Names, title, what follows the title, and the year."""
    bracketed, year = _YEAR_IN_BRACKETS.search(text), _year_of(text)
    if (marked := _TYPE.search(text)) and marked.start() > 0:
        return *_before_type(text[: marked.start()]), text[marked.end() :], year
    if quoted := _QUOTED.search(text):
        return text[: quoted.start()], quoted[1], text[quoted.end() :], year
    for style in (_FAMILY_FIRST, _INITIALS_FIRST):
        if names := style.match(text):
            rest = text[names.end() :]
            title = _LEADING_YEAR.sub("", rest.lstrip(" .,:;"))
            by_commas = style is _INITIALS_FIRST and rest.startswith(",")
            return names.group(), *(_until_comma if by_commas else _first_sentence)(title), year
    if bracketed and bracketed.start() > 2 and _looks_like_names(text[: bracketed.start()]):
        # APA: "Names (2020). Title. Venue"
        title, tail = _first_sentence(text[bracketed.end() :].lstrip(" .,:"))
        return text[: bracketed.start()], title, tail, year
    head, rest = _leading_names(text)
    title, tail = _first_sentence(_LEADING_YEAR.sub("", rest))  # ACL: "Names. 2020."
    return head, title, tail, year


def _before_type(text: str) -> tuple[str, str]:
    """Names and title in the style of GB/T 7714, "Ash A, Beech B C, et al. Title": no initial has a
    full stop, or all have."""
    for style in (_FAMILY_FIRST, _INITIALS_FIRST):
        if names := style.match(text):
            return names.group(), text[names.end() :].lstrip(" .,:;")
    head, stop, title = text.partition(". ")
    return (head, title) if stop else ("", text)


def _until_comma(text: str) -> tuple[str, str]:
    """The title in a style that parts all by commas: up to "in", a venue, or a number."""
    for comma in re.finditer(r",\s+", text):
        chunk = re.split(r",\s", text[comma.end() :], maxsplit=1)[0]
        if _IN.match(chunk) or re.search(r"\d", chunk) or venue_ids(chunk) or is_preprint(chunk):
            return text[: comma.start()], text[comma.end() :]
    return _first_sentence(text)


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
        # "Vaswani, Ashish" cannot be distinguished from two surnames.
        return [], others
    return [parse_author(name) for name in names], others


def _venue(tail: str) -> str:
    text = _IN.sub("", tail.strip(" .,;"))
    if re.match(r"(?i)arxiv|corr\b", text):
        return "arXiv"
    text = re.sub(r"^(?:1[89]|20)\d\d\s*", "", text)
    text = _WHICH.sub(r"\1", _WHICH.sub(r"\1", text))  # "the 2020", "the 36th"
    head = _VENUE_TAIL.sub("", text).strip(" .,;")
    return head if len(head) < 200 else ""
