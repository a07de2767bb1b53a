"""The texts of a prompt and of its answer: passage, numbered candidates, choices, remarks.

Both are untrusted text and may contain instructions. They are truncated and stripped of prompt
delimiters; whatever they contain, the output is a number from the list or nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from citewell.model import Query, Work
from citewell.model.display_text import shorten
from citewell.model.query import MARK

PASSAGE_CHARACTERS = 1800
TITLE_CHARACTERS = 300
CHARACTERS_PER_TOKEN = 3
"""A low estimate: English has four or more, formulas and other scripts fewer."""
_SPACE = re.compile(r"\s+")
_MARKS = re.compile(r"\[\[\s*##|##\s*\]\]|<\|[^|>]{0,40}\|>")
"""The field delimiters of DSPy's prompts and the turn delimiters of chat templates."""


def clean(text: str, most: int) -> str:
    """The beginning of a text on one line, without control characters and prompt delimiters."""
    text = text[: most * 4].encode("utf-8", "replace").decode("utf-8")
    text = "".join(c if c.isprintable() else " " for c in text)
    while (less := _MARKS.sub(" ", text)) != text:
        text = less
    text = _SPACE.sub(" ", text).strip()
    return shorten(text, most)


def passage_of(query: Query) -> str:
    """The citing sentence with its context; `[CITATION]` marks the place."""
    parts = []
    if query.paper.title:
        parts.append(f"Paper: {clean(query.paper.title, TITLE_CHARACTERS)}")
    if query.section:
        parts.append(f"Section: {clean(query.section, 200)}")
    sentence = query.sentence or MARK
    prose = " ".join((*query.before[-2:], sentence, *query.after[:1]))
    parts.append(f"Passage: {clean(prose, PASSAGE_CHARACTERS)}")
    if query.text:
        parts.append(f"The author typed: {clean(query.text, 300)}")
    return "\n".join(parts)


def candidate_of(work: Work, abstract: int) -> str:
    """One candidate on one line: title, authors, year, the beginning of the abstract."""
    names = [author.family or author.given for author in work.authors]
    who = ", ".join(names[:3]) + (" et al." if len(names) > 3 else "")
    line = clean(work.title, TITLE_CHARACTERS)
    details = "; ".join(part for part in (who, str(work.year or "")) if part)
    if details:
        line += f" ({clean(details, 120)})"
    if abstract and work.abstract:
        line += f". {clean(work.abstract, abstract)}"
    return line


def numbered(lines: Sequence[str]) -> str:
    """The lines, numbered from 1."""
    return "\n".join(f"[{number}] {line}" for number, line in enumerate(lines, 1))


def tokens_of(text: str) -> int:
    """The approximate number of tokens of a text, rather too high than too low."""
    return len(text) // CHARACTERS_PER_TOKEN + 1


def fitting(lines: Sequence[str], room: int) -> int:
    """Number of the lines that fit into `room` tokens; at least one."""
    spent = 0
    for number, line in enumerate(lines):
        spent += tokens_of(line) + 4
        if spent > room and number:
            return number
    return len(lines)


# A model's free text, made safe to show: one short line that names only the candidates.
#
# A model repeats what it reads, which may contain instructions to an agent or an author. Its
# remark is therefore truncated, and stripped of markup, addresses, identifiers, and references
# that match no candidate. Front ends quote it (`features.pick`). It is an unverified claim.

MAX_REMARK = 200
MAX_READ = 1_000
"""Number of characters of a text that are read."""
GAP = "[…]"
"""Replaces removed text."""
_NOTHING = ("", "none", "null", "n/a")

_MARKUP = re.compile(
    r"<!--.*?(?:-->|$)"
    r"|<(script|style)\b.*?(?:</\1\s*>|$)"
    r"|</?[A-Za-z!?][^<>]{0,300}(?:>|$)"
    r"|<\|[^|>]{0,40}\|?>"
    r"|\[\[\s*##[^\]]{0,80}(?:\]\]|$)"
    r"|```+|~~~+",
    re.IGNORECASE | re.DOTALL,
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9A-F]{1,6}|[A-Z]{2,10});?", re.IGNORECASE)
_CITATION = re.compile(
    r"\\\w*(?:cite|ref|bibitem)\w*\*?(?:\s*\[[^\]]{0,200}\])*\s*(?:\{[^}]{0,300}(?:\}|$)"
    r"|<[^>]{0,300}(?:>|$))?"
    r"|\[[^\]\[]{0,200}?-?@[^\]]{0,300}(?:\]|$)"
    r"|@[A-Za-z]+\s*[{(].*?(?:[)}]{2,}|$)"
    r"|(?<![\w.])@[A-Za-z][\w:.+/-]*",
    re.DOTALL,
)
_LINK = re.compile(r"!?\[([^\]\[]{0,300})\]\([^()\s]{0,2000}[^()]{0,300}\)?")
_ADDRESS = re.compile(
    r"[\w+.-]{0,40}:\s?//\S*"
    r"|(?<![A-Za-z])(?:mailto|javascript|data|file|vscode|command|tel|urn|doi|arxiv|hdl|pmid|pmcid|isbn|issn)"
    r"\s?:\s?[^\s,;]+"
    r"|(?<![\w.+%-])[\w.+%-]{1,100}@[\w-]{1,100}(?:\.[\w-]{1,100}){1,9}"
    r"|\bwww\.\S+"
    r"|(?<![\w.-])(?:[\w-]{1,100}\.){1,9}(?:com|org|net|edu|gov|io|ai|dev|app|info|biz|xyz|me|ly|co|uk|de|cn|ru|fr"
    r"|eu|ch|at|jp|in|us|tv|gg|sh|to|cc|site|online|zip|mov)\b(?:[/:?#]\S*)?"
    r"|\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?:/\S*)?",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"10\s?\.\s?\d{4,9}(?:\.\d{1,9}){0,5}\s?/\s?\S+"
    r"|(?<!\d)\d{4}\s?\.\s?\d{4,5}(?:v\d+)?(?!\d)"
    r"|(?<![\w-])[a-z-]{2,20}(?:\.[A-Z]{2})?/\d{7}(?:v\d+)?\b"
    r"|\b[A-Z]\d{2}-\d{4}\b"
    r"|\b\d{4}\.[a-z][\w-]{1,40}\.\d+\b"
    r"|\b(?:PMC|W)\d{5,}\b"
    r"|\b(?:PMID|ISBN(?:-1[03])?|ISSN)\s*[\dX-]{7,17}"
    r"|\b97[89][\d -]{10,14}\b"
    r"|\b[0-9a-f]{20,}\b"
    r"|(?<![\w-])[A-Za-z][\w-]{0,60}?(?:19|20)\d{2}[A-Za-z]\w*"
    r"|(?<![\w-])[A-Za-z][A-Za-z_:-]{1,60}(?:19|20)\d{2}\b"
)
_ESCAPE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,300}(?:\x07|\x1b\\|$)|.)|\x9b[0-?]*[@-~]"
)
_NAME = r"(?<![\w'’.-])[^\W\d_a-zà-öø-ÿ][\w'’.-]{0,60}"
_OTHERS = "(?:colleagues|coworkers|others)"
_PEOPLE = rf"{_NAME}(?:(?:\s*,\s*{_NAME}){{0,9}}\s*,?\s*(?:and|&)\s+(?:{_NAME}|{_OTHERS}))?"
_AUTHORS = re.compile(
    rf"(?P<people>{_PEOPLE})(?P<more>\s+(?:et\s+al\b\.?|and\s+{_OTHERS}))?"
    r"(?:['’]s?)?\s*,?\s*(?:[(\[]\s*)?(?P<year>(?:1[89]|20)\d{2})[a-z]?(?:\s*[)\]])?"
    rf"|(?P<first>{_NAME})\s+(?:et\s+al\b\.?|and\s+{_OTHERS})"
)
_QUOTED = re.compile(r"[“”\"«»„‟]([^“”\"«»„‟]{1,300})(?:[“”\"«»„‟]|$)|‘([^‘’]{1,300})’")
_TITLE = re.compile(
    r"(?:[^\W\d_a-z][\w'’-]*[:,]?)(?:\s+(?:(?:a|an|and|are|as|at|by|for|from|in|into|is|of|on|or|the|"
    r"to|via|vs|with|you|all|not|than)\s+){0,3}(?:[^\W\d_a-z][\w'’-]*[:,]?)){3,}"
)
_NUMBER = re.compile(
    r"\[\s*#?(\d{1,4})\s*\]|\b((?:candidate|paper|number|no\.|#)\s*#?)(\d{1,4})\b", re.IGNORECASE
)
_SIGNS = re.compile(r"[`*_#~|\\<>{}$^@]+")
_GAPS = re.compile(r"(?:[\s(,;:\"'“”]*\[…\][\s),;:\"'“”]*){2,}")
_BEFORE_SIGN = re.compile(r"\s+([.,;:!?)])")
_WORDS = re.compile(r"[^\W_]+")
_ORDINARY = frozenset(
    "after and as at before both by during early even from if in it its late like of on since "
    "that the then these this those through to until what when where while with year".split()
)
"""Words that may precede a year at the beginning of a sentence."""


def remark(answer: object, works: Sequence[Work] = ()) -> str:
    """The text on one line of at most `MAX_REMARK` characters; empty if nothing remains.

    Names, years and titles are kept only if they occur in `works`, the candidates shown to the
    model.
    """
    text = without_identifiers(answer)
    if text.strip(".\"' ").lower() in _NOTHING:
        return ""
    known = _CandidateWords(works)
    text = _QUOTED.sub(lambda found: _quoted(found, known), text)
    text = _AUTHORS.sub(lambda found: _authors(found, known), text)
    text = _TITLE.sub(lambda found: found[0] if known.title(found[0]) else GAP, text)
    text = _NUMBER.sub(lambda found: _numbered(found, len(works)), text)
    text = _tidy(text)
    return text if _says_something(text) else ""


def names_known(text: str, works: Sequence[Work]) -> bool:
    """Whether `works` contain all people with a year, quoted titles, and numbers of candidates in a
    text."""
    known = _CandidateWords(works)
    text = _QUOTED.sub(lambda found: _quoted(found, known), text)
    text = _AUTHORS.sub(lambda found: _authors(found, known), text)
    text = _TITLE.sub(lambda found: found[0] if known.title(found[0]) else GAP, text)
    return GAP not in text


def without_identifiers(answer: object) -> str:
    """The text on one line of bounded length, without control characters, markup, addresses and
    identifiers. Empty for any other value."""
    if not isinstance(answer, str):
        return ""
    text = answer[:MAX_READ].encode("utf-8", "replace").decode("utf-8")
    # Look-alike letters would hide an address.
    text = unicodedata.normalize("NFKC", _ESCAPE.sub(" ", text))
    text = "".join(_plain(character) for character in text)
    for pattern in (_MARKUP, _ENTITY):
        text = _until_stable(pattern, " ", text)
    # Half a link would become a whole one when an identifier in it is removed.
    text = _LINK.sub(r" \1 ", text).replace("](", "] (")
    for pattern in (_CITATION, _ADDRESS, _IDENTIFIER):
        text = _until_stable(pattern, f" {GAP} ", text)
    text = _SIGNS.sub(" ", text)
    # Without its signs, a text may contain another address or identifier.
    for pattern in (_ADDRESS, _IDENTIFIER):
        text = _until_stable(pattern, f" {GAP} ", text)
    return _SPACE.sub(" ", text).strip()


def _until_stable(pattern: re.Pattern[str], by: str, text: str) -> str:
    """Remove parts until none is left: a removal must not create another one."""
    for _ in range(8):
        less = pattern.sub(by, text)
        if less == text:
            return text
        text = less
    return "" if pattern.search(text) else text


def _plain(character: str) -> str:
    if character.isspace():
        return " "
    kind = unicodedata.category(character)
    if kind in ("Cf", "Mn") and character not in "\u0301\u0308":
        return ""  # zero width, bidirectional marks, variation selectors, stacked accents
    return " " if kind.startswith(("C", "Z")) else character


class _CandidateWords:
    """Words of the candidates' own titles and abstracts."""

    def __init__(self, works: Sequence[Work]) -> None:
        self._works = [(_folded(_text_of(work)), work.year) for work in works]
        self._people = {
            word
            for work in works
            for author in work.authors
            for word in _folded(author.display).split()
        }

    def people(self, names: Sequence[str]) -> bool:
        return all(name in self._people for name in names)

    def dated(self, names: Sequence[str], year: str) -> bool:
        """Whether one candidate has all of the names and the year."""
        return any(
            all(f" {name} " in text for name in names)
            and (str(known) == year or f" {year} " in text)
            for text, known in self._works
        )

    def title(self, words: str) -> bool:
        """Whether the words occur in the title, venue or abstract of a work."""
        wanted = f" {_folded(words).strip()} "
        return any(wanted in text for text, _ in self._works)


def _text_of(work: Work) -> str:
    names = " ".join(author.display for author in work.authors)
    places = (work.venue, work.booktitle, work.journal)
    return " . ".join((names, work.title, *places, work.abstract))


def _folded(text: str) -> str:
    bare = unicodedata.normalize("NFKD", text).casefold()
    bare = "".join(c for c in bare if not unicodedata.combining(c))
    return f" {' '.join(_WORDS.findall(bare))} "


def _authors(found: re.Match[str], known: _CandidateWords) -> str:
    year = found["year"]
    names = _folded(found["first"] or found["people"]).split()
    names = [name for name in names if name not in ("and", "al", "et", "s") and len(name) > 1]
    names = [name for name in names if name not in ("colleagues", "coworkers", "others")]
    if year is None:
        return found[0] if known.people(names) else GAP
    if set(names) <= _ORDINARY:
        return found[0]
    return found[0] if known.dated(names, year) else GAP


def _quoted(found: re.Match[str], known: _CandidateWords) -> str:
    words = found[1] or found[2] or ""
    few = len(_WORDS.findall(words)) < 3
    return f"'{words.strip()}'" if few or known.title(words) else GAP


def _numbered(found: re.Match[str], count: int) -> str:
    number = int(found[1] or found[3])
    return found[0] if 1 <= number <= count else GAP


def _tidy(text: str) -> str:
    text = _GAPS.sub(f" {GAP} ", text.replace('"', "'").replace("“", "'").replace("”", "'"))
    text = _BEFORE_SIGN.sub(r"\1", _SPACE.sub(" ", text)).strip()
    return shorten(text, MAX_REMARK)


def _says_something(text: str) -> bool:
    return any(character.isalpha() for character in text.replace(GAP, ""))


# Validation of answers: a number of the list, an order of its numbers, words of the abstract.
#
# The answer's type asks for it, a server with JSON schemas enforces it, and these functions check
# it again. Anything else is no answer.

NONE = "none"
LEAST_QUOTE = 8
"""Minimum number of letters of a meaningful quotation."""
_CHOICE = re.compile(
    r'"?choice"?\s*[:=]\s*(?:"\[?(\d{1,3}|none)\]?"|\[?(\d{1,3}|none)\]?(?=\s*(?:[,}\n]|$)))',
    re.IGNORECASE,
)
_ALONE = re.compile(r"\W*(?:candidate|paper|number)?\W*(\d{1,3}|none)\W*", re.IGNORECASE)
_NUMBERS = re.compile(r"\d{1,4}")


def choice(answer: object, count: int) -> int | None:
    """The chosen number from 1 to `count`; 0 for "none"; None if it is no answer."""
    if isinstance(answer, bool) or not isinstance(answer, (str, int)):
        return None
    text = str(answer).strip().strip("[]").lower()
    if text == NONE:
        return 0
    if not (text.isascii() and text.isdecimal()) or len(text) > 3:
        return None
    number = int(text)
    return number if 1 <= number <= count else None


def repaired_choice(raw: str, count: int) -> int | None:
    """The number in an answer without the requested form; None unless it is unambiguous. It is
    unambiguous as one `choice` field, or as a number alone: a number in prose is no choice."""
    found = {(a or b).lower() for a, b in _CHOICE.findall(raw[:20_000])}
    if len(found) == 1:
        return choice(found.pop(), count)
    alone = _ALONE.fullmatch(raw.strip()[:200])
    return choice(alone[1], count) if alone is not None and not found else None


def order(answer: object, count: int) -> list[int]:
    """The numbers in an answer that are on the list, from 1, each once, in its order. Takes a list
    or a text; everything else is left out."""
    if isinstance(answer, str):
        items: Iterable[object] = _NUMBERS.findall(answer[:20_000])
    elif isinstance(answer, (list, tuple)):
        items = answer[:1000]
    else:
        return []
    numbers = (choice(item, count) for item in items)
    return list(dict.fromkeys(number for number in numbers if number))


def completed(first: Sequence[int], count: int) -> list[int]:
    """The order followed by all missing numbers, in the old order; from 1."""
    named = set(first)
    return [*first, *(number for number in range(1, count + 1) if number not in named)]


def quotation(answer: object, sources: Sequence[str]) -> str:
    """The quoted words as in the first source that contains them, or "". Case, blanks and the forms
    of quotes and dashes are ignored; letters and digits must match."""
    wanted = _with_places(str(answer or "")[:2000])[0]
    if len(wanted.replace(" ", "")) < LEAST_QUOTE:
        return ""
    for source in sources:
        text, places = _with_places(source)
        at = text.find(wanted)
        if at >= 0:
            return source[places[at] : places[at + len(wanted) - 1] + 1]
    return ""


def queries(answer: object, most: int) -> list[str]:
    """The queries of an answer, one line each, without duplicates and without identifiers, which
    would name a paper."""
    items = answer if isinstance(answer, (list, tuple)) else [answer]
    lines = [without_identifiers(item).replace(GAP, " ") for item in items[:20]]
    lines = [" ".join(line.split())[:300] for line in lines]
    return list(dict.fromkeys(line for line in lines if len(line) > 2))[:most]


def _with_places(text: str) -> tuple[str, list[int]]:
    """Letters and digits, one blank between words, and the offset of each in the text."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        folded = unicodedata.normalize("NFKC", character).casefold()
        for letter in folded:
            if letter.isalnum():
                letters.append(letter)
                places.append(place)
            elif letters and letters[-1] != " ":
                letters.append(" ")
                places.append(place)
    if letters and letters[-1] == " ":
        letters.pop()
        places.pop()
    return "".join(letters), places
