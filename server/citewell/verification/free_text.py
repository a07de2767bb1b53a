"""A tolerant parser of free-text references: names, year, title, venue, identifiers.

The styles of the field are enough: "A. Author and B. Other. Title. In Venue, 2020.", "Author, A.,
& Other, B. (2020). Title. Venue, 3(2), 1-9.", 'A. Author, "Title," in Proc. Venue, 2020.', and the
forms in which people and language models put the title first. What cannot be read stays empty: a
wrong guess would accuse. Words in the place of the authors that are no names in any style are kept
as `Claim.unread`.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple

import msgspec

from citewell.model.check import Claim
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.model.tex import tex_to_unicode
from citewell.model.titles import plain_title, title_key
from citewell.model.venues import venue_ids
from citewell.verification.author_list import UPPER, NameList, leading_names, names_within
from citewell.verification.likeness import names_preprint

_YEAR_TEXT = r"(?:1[5-9]\d\d|20\d\d)"
_YEAR = re.compile(rf"(?<![\d:/-])(?<!\d\.)({_YEAR_TEXT})[a-z]?(?![\d/-]|:\d)")
_YEAR_IN_BRACKETS = re.compile(rf"[(\[](?:\w+[ .,]+){{0,2}}({_YEAR_TEXT})[a-z]?(?:,[^)\]]*)?[)\]]")
_MONTH = r"(?:(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?(?:\s+\d{1,2})?,?\s*)?"
_LEADING_YEAR = re.compile(
    rf"^[\s.,:;–—-]*(?:[(\[]\s*(?:\w+[ .,]+){{0,2}}{_YEAR_TEXT}[a-z]?(?:[,/–-][^)\]]*)?[)\]]"
    rf"|{_YEAR_TEXT}[a-z]?"
    rf"(?:,?\s+{_MONTH[:-1]}(?=[.,:]))?(?=[\s.,:;])|\((?:n\.?\s?d\.?|in press"
    rf"|forthcoming)\))[\s.,:;–—-]*"
)
_QUOTED = re.compile(r"[\"“”„«]([^\"“”„«»]{8,300}?)[,.]?[\"“”»]")
_SINGLE_QUOTED = re.compile(r"[‘'`]{1,2}(\S.{8,300}?)[,.]?[’']{1,2}(?=[\s,.:;(]|$)")
_DIRECT = re.compile(r"^[\s.,:;–—-]*(?=[\"“”„«‘'`])")
_URL = re.compile(r"(?:https?://|www\.)\S+")
_ONLINE = re.compile(r"\s*\[(?:internet|online|en ligne|en línea|on-line)\]", re.I)
_DOI_TEXT = re.compile(
    r"\b(?:doi\s*[:=]?\s*)?(?:https?://(?:dx\.)?doi\.org/)?10\.\d{4,9}/\S+", re.I
)
_SENTENCE = re.compile(
    r"(?:(?<=[^\W\d_]{2})|(?<=[\])”’]))(?<!\bet al)(?<!\bvs)\.\s+(?=[\"“(\w])"
    r"|\.,?\s+(?=[Ii]n:?\s|Proc|Transactions)"
    r"|[?!]\.?\s+(?=[^\W\d_a-zß-ÿ])|(?<=[\w)])\.\s*//\s*|\s+//\s*"
    r"|[,?!]\s+in(?::\s|\s+(?=(?:the\s+)?(?:\d|[Pp]roc|Advances|Findings|Actes|[A-Z]\w+ "
    r"(?:Conf|Symp|Workshop)|"
    r"Workshop|Conference|International|Annual|IEEE|ACM|AAAI)))"
)
_GROUP = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_SMALL_CAPS = re.compile(rf"\s*{_GROUP}\s*[,.]?\s*(?:\\emph\s*)?{_GROUP}\s*,?(.*)", re.S)
_TYPE = re.compile(r"\s*\[(?:[JCMDRSPNGAZ]|DB|CP|EB)(?:/(?:OL|CD|MT|DK))?\](?:\s*//)?[\s.,]*")
"""The document type after a title in GB/T 7714: [J] for a journal, [C]// for a volume."""
_PAGES = re.compile(
    r"(?:\b(?:pages?|pp?)\b\.?\s*|(?<=[\d)]):\s*)[\w.:]*\d\s*(?:[-–—]+\s*[\w.:]*\d+)?|\d+\s*[–—-]+\s*\d+"
)
_PART = re.compile(r"[,;]\s+|[.?!:]\s+|\s[-–—]{1,3}\s|[“”\"()]")
_UNREAL_ARXIV = re.compile(r"(?i)\barxiv\s*:\s*(\d{4}\.[\dx?]{3,6})\b")
MOST_PARTS, LONGEST_RUN, MOST_GUESSES = 60, 5, 120
_LATE_YEAR = re.compile(r",\s*(?:1[89]|20)\d\d$")
_IN = re.compile(r"^(?:in\s*:?\s+)", re.I)
_VENUE_HEAD = re.compile(
    r"(?:Proc(?:eedings|\.)|Advances in|Findings of|Trans(?:actions|\.)|Journal of|J\.|Annals"
    r"|Actes|"
    r"(?:\w+ )?(?:International|Annual|European|Asian) |Conference|Workshop on|Lecture Notes)"
)
_IN_VENUE = re.compile(rf"in:?\s+(?:{_VENUE_HEAD.pattern})", re.I)
_VENUES_INSIDE = tuple(
    re.compile(rf"(?<=[\w)\].?!])\s(?={words})")
    for words in (
        r"Proceedings of|Advances in|Transactions of|Findings of|Actes d|(?:[A-Z]\w+ )?Journal "
        r"of|J\. ",
        r"(?:\w+th|First|Second|Third|\d+\w\w) (?:[A-Z]\w+ ){0,4}(?:Conference|Meeting|Workshop)",
        r"(?:[A-Z]{3,}[\w-]*|Coling) (?:19|20)\d\d\b|Comput[a-z]*\.? Ling|IEEE |ACM ",
    )
)
_BARE_YEAR = re.compile(rf"\s{_YEAR_TEXT}[a-z]?\s\w")
_VENUE_TAIL = re.compile(r"\s*(?:[,.;](?!\w)|\bpages?\b|\bpp\b|\bvol\b|\(|\d).*$", re.S)
_WHICH = re.compile(r"^(.{0,40}?)\b(?:\d{4}|\d+(?:st|nd|rd|th))\s+(?=\w+ )")
_AFTER_TITLE = re.compile(r"\s+[-–—|]+\s+|\s*[(\[]\s*(?=\D)|[.?!]\s+|,?\s+by:?\s+|[,:;]\s+")
"""Possible separators between a title in first place and the names."""
_BETWEEN = re.compile(r"^[\s.,:;|–—-]*(?:[(\[]\s*)?(?:(?:by|authors?:?|von|par|de)\s+)?", re.I)
_NO_NAMES = re.compile(
    r"(?:in|proceedings|proc|journal|advances|transactions|conference|international|annual|arxiv|corr|"
    r"technical|workshop|university|press|springer|elsevier|the|available|retrieved|accessed|url|doi)\b",
    re.I,
)
_FIELD = re.compile(
    r"(?:^|(?<=[\s*_|;]))(title|authors?|year|date|venue|journal|conference|publisher|publication|doi|url|link|source)"
    r"\s*(?:\*\*|__)?\s*:\s*(?:\*\*|__)?\s*",
    re.I,
)
"""A labelled field before its value."""
_DATED = re.compile(rf"^[(\[]?(?:[\w’']+\s)?{_YEAR_TEXT}[)\]]?\s*[-–—.,:]*\s+(?={UPPER})")
"""A year, or a venue and a year, before everything else."""
_LINK = re.compile(r"\[([^\[\]]+(?:\[[^\[\]]*\][^\[\]]*)*)\]\(\s*<?([^()\s]+)>?\s*\)")
_ANCHOR = re.compile(r"<a\b[^>]*\bhref=[\"']?([^\"'\s>]+)[\"']?[^>]*>(.*?)</a>", re.I | re.S)
_STRONG = re.compile(
    r"\\textbf\s*\{([^{}]*)\}|\*\*([^*]+)\*\*|__([^_]+)__|<(?:b|strong)>(.*?)</(?:b|strong)>|`([^`]+)`(?!`)",
    re.I,
)
_EMPHASIS = re.compile(
    r"\\(?:emph|textit|textsl)\s*\{([^{}]*)\}|(?<![\w*])\*([^*\s][^*]*)\*(?![\w*])|(?<![\w_])_([^_\s][^_]*)_(?![\w_])|<(?:i|em|cite)>(.*?)</(?:i|em|cite)>",
    re.I,
)
_TAG = re.compile(r"</?[a-z][a-z0-9]{0,10}(?:\s[^<>]*)?/?>", re.I)
_DECORATION = re.compile(
    r"^\s*(?:\[(?:PDF|HTML|BOOK|CITATION|DOC|[BCJ])\]|\((?:PDF|HTML)\)|(?:title|paper|pdf)\s*:|\d{1,3}[.)]"
    r"|\[?(?:arxiv:\s*)?\d{4}\.\d{4,5}(?:v\d+)?\]?(?:\s*\[[\w.-]+\])?\s*[:.–—-]?"
    r"|\[?(?:arxiv:)?[a-z-]+(?:\.[A-Z]{2})?/\d{7}(?:v\d+)?\]?\s*:?)\s+",
    re.I,
)
_ARXIV_BEFORE = re.compile(r"\s*\[?(\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?\]?\s")
_SITE = re.compile(
    r"\s+\|\s+Proceedings of [^|]*$|\s+[-–—|·»]+\s+(?:ScienceDirect|Science ?Direct"
    r"|Springer(?:Link| Nature Link)?|IEEE Xplore|IEEE \w+(?: & \w+| \w+)?|arXiv"
    r"(?:\.org)?|OpenReview(?:\.net)?|ACL Anthology|Papers ?With ?Code|Semantic Scholar|Google "
    r"Scholar|ResearchGate"
    r"|PubMed(?: Central)?|PMC|(?:NIPS|NeurIPS)(?: Papers| Proceedings)?|ACM (?:Digital Library|DL)"
    r"|JSTOR|Wiley(?: Online Library)?|Taylor & Francis(?: Online)?|CVF Open Access|dblp|DBLP"
    r"|Hugging ?Face|GitHub|MDPI"
    r"|PLOS(?: ONE)?|Academia(?:\.edu)?|Zenodo|bioRxiv|medRxiv|SSRN|HAL|DeepAI|alphaXiv|Oxford "
    r"Academic|Cambridge Core"
    r"|SAGE(?: Journals)?|Frontiers|Nature|Science|PNAS|JMLR|PMLR|Wikipedia|Academic Torrents"
    r"|CORE|Crossref|EMNLP|YouTube)\s*$"
)


_LONGEST_TITLE = 400
"""Maximum number of characters of a title in first place."""
_LONG_TITLE = 36
"""Letters of a title long enough to be unique."""
_ABOUT = re.compile(
    r"\b(?:comment\w*|repl(?:y|ies)|response|review\w*|discussion|errat\w+|corrigend\w+|correction|retraction|letter)\b",
    re.I,
)


class _Split(NamedTuple):
    """The parts of a reference."""

    names: NameList | None
    title: str
    tail: str
    """The text after the title, or after title and names."""
    unread: str = ""
    """Words in the names' place that could not be parsed with certainty."""


def parse_reference(text: str, *, latex: bool = False) -> Claim:
    """Parse one written reference; `raw` of the claim is its plain text, empty for an empty one."""
    blocks = _blocks(text) if latex else []
    plain = " ".join((". ".join(blocks) if blocks else _unmarked(text)).split())
    doi, arxiv = normalise_doi(plain), arxiv_id(plain) or arxiv_before(plain)
    if len(blocks) > 1:
        bare = [_bare(block) for block in blocks]
        split = _of_blocks(bare)
    else:
        bare = [_bare(plain)]
        split = _labelled(bare[0]) or _parts(undecorated(bare[0]))
    unreal = _UNREAL_ARXIV.search(plain) if not arxiv else None
    claim = Claim(doi=doi, arxiv=arxiv, raw_arxiv=unreal[1] if unreal else "", raw=plain)
    return _filled(claim, split, ". ".join(bare))


def undecorated(title: str) -> str:
    """A title without additions of search engines and sites: "[PDF]", "[1810.04805]", a list
    number, "- ScienceDirect"."""
    bare = _SITE.sub("", _DECORATION.sub("", title))
    return bare if len(title_key(bare)) >= 4 else title


def arxiv_before(title: str) -> str:
    """The arXiv identifier before a title: "[1810.04805] BERT: ..."."""
    found = _ARXIV_BEFORE.match(title)
    return arxiv_id(f"arXiv:{found[1]}") if found else ""


def _filled(claim: Claim, split: _Split, text: str) -> Claim:
    title = _LATE_YEAR.sub("", plain_title(split.title).strip(" .,;:*_"))
    return msgspec.structs.replace(
        claim,
        title=title,
        authors=split.names.authors if split.names else (),
        others=bool(split.names and split.names.others),
        year=_year_of(text.replace(split.title, " ") if split.title else text) or _year_of(text),
        venue=_venue(split.tail),
        unread=split.unread,
    )


def with_title(claim: Claim, title: str) -> Claim:
    """A free-text claim with a known title. The names precede it or, if nothing does, follow it."""
    text = _bare(claim.raw)
    place = _place_of(title, text)
    if place is None:
        return msgspec.structs.replace(claim, title=title)
    head, tail = text[: place[0]].strip(), text[place[1] :]
    names, unread = _names_of_head(head)
    if names is None and not unread:
        names, tail = _names_behind(tail)
    return _filled(claim, _Split(names, text[slice(*place)], tail, unread), text)


def _place_of(title: str, text: str) -> tuple[int, int] | None:
    """The range of a title in a text, compared by letters and digits."""
    key = title_key(title)
    places, letters = [], []
    for at, char in enumerate(text):
        for letter in title_key(char):
            places.append(at)
            letters.append(letter)
    start = "".join(letters).find(key) if key else -1
    return (places[start], places[start + len(key) - 1] + 1) if start >= 0 else None


def _names_of_head(head: str) -> tuple[NameList | None, str]:
    """The names in the words before a title; or those words if they cannot be parsed with
    certainty."""
    head = re.sub(rf"[\s.,:;(\[–—-]*(?:{_YEAR_TEXT}[a-z]?)?[\s.,:;)\]\"“”‘'`*_–—-]*$", "", head)
    head = _DATED.sub("", _DECORATION.sub("", head))
    if not re.search(r"[^\W\d_]{2}", head) or (
        len(head.split()) == 1 and venue_ids(head.strip("(["))
    ):
        return None, ""
    found = leading_names(f"{head}.")
    if found is not None and not re.search(r"[^\W\d_]{2}", _YEAR.sub("", f"{head}."[found.end :])):
        return found, ""
    return names_within(head), head


def stands_alone(title: str, raw: str) -> bool:
    """True for a long title that is a separate part of a reference, not a work mentioned in it."""
    text = _bare(raw)
    place = _place_of(title, text)
    if place is None or len(title_key(title)) < _LONG_TITLE or _VENUE_HEAD.match(title):
        return False
    head = text[: place[0]].rstrip(" \"“”‘'`*_")
    return _ABOUT.search(head) is None and (not head or head[-1] in ".,:;)]|–—-/")


def title_guesses(raw: str) -> list[str]:
    """Every part of a written reference that may be its title, for one that was parsed wrongly.
    Runs of at least four words between commas, full stops and brackets, longest first."""
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
    """The text without addresses and identifiers."""
    return " ".join(_ONLINE.sub("", _URL.sub(" ", _DOI_TEXT.sub(" ", text))).split())


def _unmarked(text: str) -> str:
    """The text without Markdown and HTML markup; a marked-up title is quoted."""
    if not re.search(r"[*_`<&\[\\]", text):
        return text
    text = _ANCHOR.sub(lambda found: f"[{_TAG.sub('', found[2])}]({found[1]})", text)
    text = _LINK.sub(lambda found: f"{_set_off(found[1])} {found[2]}", text)
    text = _STRONG.sub(lambda found: _set_off(_first_of(found)), text)
    at_head = _EMPHASIS.match(text.lstrip(' \t"“'))
    text = _EMPHASIS.sub(_first_of, text)
    if at_head is not None:
        title = _first_of(at_head)
        text = text.replace(title, _set_off(title), 1)
    text = html.unescape(_TAG.sub(" ", text))
    return tex_to_unicode(text) if "\\" in text else text


def _first_of(found: re.Match[str]) -> str:
    return next((group for group in found.groups() if group is not None), "")


def _set_off(words: str) -> str:
    """The words in quotation marks, if they can be a title: no names, no year, no whole
    reference."""
    if len(words.split()) < 3 or _QUOTED.search(words) or _YEAR.search(words):
        return words
    found = leading_names(words)
    return (
        words
        if found is not None and found.end >= len(words.rstrip(" .,:"))
        else f"“{words.strip()}”"
    )


def _blocks(text: str) -> list[str]:
    r"""The parts of a \bibitem as plain text, as far as its style marks them. \newblock ends the
    names and the title; `{\sc Names}, {\em Title}, ...` marks them without it."""
    text = re.sub(r"\\(?:url|href)\s*\{([^{}]*)\}", r" \1 ", text)
    marked = _SMALL_CAPS.match(text) if re.match(r"\s*\{\s*\\sc\b", text) else None
    if marked and "\\newblock" not in text:
        return [_plain(part).strip(" ,") for part in marked.groups()]
    parts = [_plain(part).strip(" .") for part in re.split(r"\\newblock\b", text)]
    return [part for part in parts if part]


def _plain(latex: str) -> str:
    latex = re.sub(r"\\(?:em|it|bf|sl|sc|rm|tt)\b\s*", "", latex)
    return " ".join(tex_to_unicode(latex).split())


def _of_blocks(blocks: list[str]) -> _Split:
    """The split marked by the bibliography style."""
    title, tail = blocks[1], ". ".join(blocks[2:])
    if quoted := _QUOTED.match(title):
        title = quoted[1]
    names, unread = _names_of_head(blocks[0])
    return _Split(names, title, tail, unread)


def _year_of(text: str) -> int | None:
    bracketed = _YEAR_IN_BRACKETS.search(text)
    years = [int(found[1]) for found in _YEAR.finditer(_PAGES.sub(" ", text))]
    return int(bracketed[1]) if bracketed else (years[-1] if years else None)


def _parts(text: str) -> _Split:  # noqa: PLR0911 - one for each form
    """Split into names, title and rest: names first, then title first, then whatever is marked."""
    text = _DATED.sub("", text)
    if re.match(r"\d{1,4}\s+[^\W\d_]", text) and leading_names(text.partition(" ")[2]):
        text = text.partition(" ")[2]
    if names := leading_names(text):
        title, tail = _title_at_head(text[names.end :])
        if text[names.end :].startswith(",") and _ends_with_name(title):
            # A name in an unusual form ended the list.
            head = f"{text[: names.end]}, {title}"
            return _Split(names_within(head), *_title_at_head(tail), head)
        if _IN_VENUE.match(title):
            return _Split(names, "", f"{title}. {tail}")  # a style without titles
        if title_key(title):
            return _Split(names, title, tail)
    quoted = _QUOTED.search(text)
    if quoted and not re.search(r"\w", text[: quoted.start()]):
        names, tail = _names_behind(text[quoted.end() :])
        return _Split(names, quoted[1], tail)
    marked = _TYPE.search(text)
    if marked and marked.start() > 0:
        head, stop, title = text[: marked.start()].partition(". ")
        names, unread = _names_of_head(head) if stop else (None, "")
        return _Split(names, title if stop else head, text[marked.end() :], unread)
    if split := _title_first(text):
        return split
    if quoted:
        names, unread = _names_of_head(text[: quoted.start()])
        return _Split(names, quoted[1], text[quoted.end() :], unread)
    bracketed = _YEAR_IN_BRACKETS.search(text)
    if bracketed and 2 < bracketed.start() < 600:
        names, unread = _names_of_head(text[: bracketed.start()])
        if names is not None:
            return _Split(names, *_title_at_head(text[bracketed.end() :]), unread)
    head, tail = _first_sentence(_LEADING_YEAR.sub("", text))
    names = names_within(head) if "," in head else None
    if names is not None and len(title_key(tail)) > 8:
        return _Split(names, *_title_at_head(tail), head)
    return _Split(None, head, tail)


def _ends_with_name(title: str) -> bool:
    """True for "... and Ann Ash" in the title's place."""
    _, last_and, name = title.rpartition(" and ")
    found = leading_names(f"{name}.") if last_and and "," in title else None
    if found is None or found.end < len(name) or not found.authors[0].given:
        return False
    return names_within(title) is not None


def _labelled(text: str) -> _Split | None:
    """The parts of "Title: ...; Authors: ...; Year: ...", in any order."""
    marks = list(_FIELD.finditer(text))
    ends = [*(mark.start() for mark in marks), len(text)][1:]
    parts = {mark[1].lower().rstrip("s"): text[mark.end() : end].strip(" \t.,;|*_-\"“”")
             for mark, end in zip(marks, ends, strict=bool(marks))}  # fmt: skip
    if not parts.get("title") or "author" not in parts:
        return None
    names, unread = _names_of_head(parts["author"])
    return _Split(names, parts["title"], parts.get("venue") or parts.get("journal") or "", unread)


def _title_at_head(rest: str) -> tuple[str, str]:
    """The title at the start of the text after the names, and the rest."""
    by_commas = rest.startswith(",")
    text = _LEADING_YEAR.sub("", rest)
    dated = text != rest and bool(_LEADING_YEAR.match(rest))
    text = text.lstrip(" .,:;")
    if _BARE_YEAR.match(rest):  # IOP: "Ash A 1997 Title Proc. Water 9"
        venue = next(filter(None, (one.search(text) for one in _VENUES_INSIDE)), None)
        if venue is not None:
            return text[: venue.start()], text[venue.end() :]
    if direct := _DIRECT.match(text):
        for marks in (_QUOTED, _SINGLE_QUOTED):
            if quoted := marks.match(text, direct.end()):
                return quoted[1], text[quoted.end() :]
    if (marked := _TYPE.search(text)) and marked.start() > 0:
        return text[: marked.start()], text[marked.end() :]
    return (_until_comma if by_commas and not dated else _first_sentence)(text)


def _title_first(text: str) -> _Split | None:
    """Split "Title - Names (year)", "Title (Names, year)", "Title. Names. Venue" if the names are
    certain."""
    for end in _AFTER_TITLE.finditer(text, 0, _LONGEST_TITLE):
        if len(text[: end.start()].split()) < 2:
            continue
        names, tail = _names_behind(text[end.end() :], sure=end.group().strip() not in (".", ","))
        if names is not None:
            return _Split(names, text[: end.start()], tail)
    return None


def _names_behind(text: str, *, sure: bool = True) -> tuple[NameList | None, str]:
    """The names after a title, and the rest; a venue does not count as names."""
    between = _BETWEEN.match(text)
    text = text[between.end() :] if between else text
    if _NO_NAMES.match(text) or not re.match(UPPER, text):
        return None, text
    field = _FIELD.search(text)
    found = leading_names(text[: field.start()] if field else text)
    if found is None:
        return None, text
    written = text[: found.end]
    venue = bool(venue_ids(written) or names_preprint(written))
    several = len(found.authors) > 1 or found.others or re.search(rf"(?<!\w){UPPER}\.", written)
    dated = re.match(rf"[\s,.(]*{_YEAR_TEXT}", text[found.end :]) is not None
    whole = all(author.given for author in found.authors) or found.others
    if venue or not (several or (sure and dated)) or not (whole or (sure and dated and several)):
        return None, text
    return found, text[found.end :]


def _until_comma(text: str) -> tuple[str, str]:
    """The title in a style that separates all parts by commas: up to "in", a venue, or a number."""
    for comma in re.finditer(r",\s+", text):
        if _is_venue(text[comma.end() :]):
            return text[: comma.start()], text[comma.end() :]
    return _first_sentence(text)


def _is_venue(text: str) -> bool:
    """True for a text that begins with "in", a venue or a number."""
    chunk = re.split(r",\s|(?<=\w{4})\.\s(?=[A-Z])", text, maxsplit=1)[0]
    if _IN.match(chunk) or _VENUE_HEAD.match(chunk) or re.search(r"\d", chunk):
        return True
    return bool(venue_ids(chunk)) or names_preprint(chunk)


def _first_sentence(text: str) -> tuple[str, str]:
    found = _SENTENCE.search(text)
    if found is not None and (further := _SENTENCE.search(text, found.end())):
        # A sentence between the title's first one and "In Proceedings" belongs to the title.
        between = text[found.end() : further.start()]
        venue = bool(re.search(r"\d", between) or venue_ids(between) or names_preprint(between))
        venue = venue or bool(_IN.match(between) or _VENUE_HEAD.match(between))
        if not venue and (
            re.match(r"[Ii]n\s*:?\s", text[further.end() :])
            or re.match(r"[,.]+\s+in", further.group())
            or (found.group()[0] in "?!" and len(between.split()) >= 5)
        ):
            found = further
    if found is None:
        head, stop, tail = text.partition(". ")
        if stop:
            return head, tail
        comma = next(
            filter(lambda one: _is_venue(text[one.end() :]), re.finditer(r",\s+", text)), None
        )
        return (text[: comma.start()], text[comma.end() :]) if comma else (text, "")
    return text[: found.start() + (found.group()[0] in "?!")].rstrip(" ./"), text[found.end() :]


def _venue(tail: str) -> str:
    text = _IN.sub("", tail.strip(" .,;"))
    if re.match(r"(?i)arxiv|corr\b", text):
        return "arXiv"
    text = re.sub(r"^(?:1[89]|20)\d\d\s*", "", text)
    text = _WHICH.sub(r"\1", _WHICH.sub(r"\1", text))  # "the 2020", "the 36th"
    head = _VENUE_TAIL.sub("", text).strip(" .,;")
    return head if len(head) < 200 else ""
