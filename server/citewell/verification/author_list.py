"""The authors of a printed reference: the end of their list, and their names.

Styles differ in the order of given name and surname, in initials and in separators; some invert
only the first name ("Ash, Ann, and Ben Beech"). The list is split at its separators first; the
kinds of its parts determine the style.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from citewell.model.names import is_organisation, parse_author
from citewell.model.work import Author


def _capitals() -> str:
    """The upper-case letters of Latin, Greek and Cyrillic, and letters without case (Chinese)."""
    cased = [chr(code) for code in (*range(0x41, 0x530), *range(0x1E00, 0x2000))]
    return (
        "".join(one for one in cased if one.isupper()) + "\u0590-\u06ff\u0900-\u0e7f\u3040-\ud7a3"
    )


UPPER = f"[{_capitals()}]"
"""A letter that can begin a name."""
_PARTICLE = (
    r"(?:(?:van|von|vom|zu|zur|de|den|der|des|di|da|das|del|della|dela|dos|do|du|la|le|las|los|ten|ter|te"
    r"|al|el|bin|ibn|ben|af|av|und|y|e|'t|op)(?=[\s'’])|d['’](?=\w)|al-(?=\w))"
)
_REST_OF_NAME = r"[^\s,;.:()\[\]{}\"“”«»&/|?!<>=+\d_—]"
_INITIAL = (
    rf"{UPPER}[a-zà-ÿ]?\.(?:\s?[-‐–]\s?{UPPER}\.?)*|{UPPER}(?:[-‐]{UPPER})+\.?(?!\w)"
    rf"|{UPPER}(?![\w'’.])"
)
_CAPITALISED = rf"(?:[dDlLO]['’‘`]|[Mm]a?c|al-|el-|de|di|ff|\*)?{UPPER}{_REST_OF_NAME}+"
"""A word of a name; in a PDF whose font is not mapped, signs stand for some of its letters."""
_WORD = rf"(?:{_CAPITALISED}|{_INITIAL})"
_PART = re.compile(
    rf"(?:{_PARTICLE}\s*)*{_WORD}(?:(?:\s+|(?<=\.))(?:(?:{_PARTICLE}\s*)*{_WORD}|(?:van|von|de)(?:\s+de[rn]?)?\b))*"
)
_TOKEN = re.compile(rf"{_INITIAL}|[^\s]+")
_JUNIOR = re.compile(r",?\s+(?:Jr|Sr|jr|sr|II|III|IV)\b\.?(?=\s|,|;|$)")
_OTHERS = re.compile(
    r"[\s,;]*(?:\(|\[)?(?:(?:and|&|und|et|y|e)\s+)?(?:\bet\.?\s*al(?:ii|ia)?\b\.?|\b[Oo]thers\b|\bu\.\s?a\.(?!\w)"
    r"|\bet\s+(?:coll|autres)\b\.?|\by\s+(?:otros|col)s?\b\.?|и\s+др\.|等|\bco-?(?:authors|workers)\b"
    r"|\+?\d+\s+(?:more|others)\b)(?:\)|\])?"
)
_ELLIPSIS = r"(?:\.\s\.\s\.|\.\.\.|…)"
_AND = r"(?:and|&|und|et|y|e|i|a|og|och|en|ja|ve|si|és|и|та)"
_SEPARATOR = re.compile(
    rf"\s*(?P<dots>[,;]?\s*{_ELLIPSIS},?(?:\s*&)?)\s*|\s*(?P<mark>[,;/·|、，；])?\s*(?:(?P<and>{_AND})(?=\s))?\s+"
    r"|\s*(?P<bare>[;/、，；])\s*"
)
_ROLE = re.compile(
    r"[\s,]*[(\[]?\b(?:[Ee]ds?|[Ee]ditors?|[Hh]rsg|[Cc]oords?|[Tt]rans)\b\.?[)\]]?", re.UNICODE
)
_STOPPED = re.compile(
    r"\s*$|\s*[:.](?=\s|$|[\"“‘«]|\(?\d)|\s*[,;.]?\s*[(\[]|,\s*(?=\S)|;\s*|[,.]?\s*[\"“”„‘«'`*_\\]|[,.]?\s*(?:1[5-9]|20)\d\d"
    r"|\s+[-–—|]+\s|\s*//|\.(?=\s)"
)
_TITLE = re.compile(rf"\s+(?:{UPPER}|\d|[\"“‘«(\['])")
"""Text after the full stop of an initial that ends a list."""
_HEAD_OF_TITLE = re.compile(r"\s*:\s|\s+[-–—]+\s|\s*\(")
"""Text after a coined name at the start of a title: "Ash, A. BERT: Rivers"."""
_WITH_SMALL_WORD = re.compile(
    rf"{UPPER}[\w'’-]*(?:\s(?!{_AND}\b)[a-z]{{2,8}}){{1,2}}(?:\s{UPPER}[\w'’-]+)?(?=,\s|\s+(?:and|&)\s)"
)
"""A name with a lower-case part: "Ju yeong Ji"."""
_WITHOUT_CAPITAL = re.compile(rf"[^\w\s]?[a-z]\w{{2,}}\s{UPPER}[\w'’-]+(?=,\s|\s+(?:and|&)\s|\.)")
"""A name that lost its first letter in a PDF."""
_FEW = 3
"""Number of names below which such a part is more likely a title."""
_LONGEST_PART = 200
"""Maximum number of characters read of one name, and of the title's first words after it."""
MOST_NAMES = 400
"""Maximum number of names read from one reference; collaborations have thousands."""


class NameList(NamedTuple):
    """The authors at the start of a text."""

    authors: tuple[Author, ...]
    others: bool
    """Whether more authors follow, without names."""
    end: int
    """Offset of the end of the list."""


class _NamePart(NamedTuple):
    text: str
    begin: int
    end: int
    mark: str
    """The separator before it: "", ",", ";", "and", ", and" or "…"."""


def leading_names(text: str) -> NameList | None:
    """The longest list of authors at the start of a text, or None."""
    begin = len(text) - len(text.lstrip(" \t([{*_\"'"))
    if groups := _GROUPS_FIRST.match(text, begin):
        people = _leading_people(text, groups.end())
        if people is not None:
            return people._replace(authors=(*_groups(groups[1]), *people.authors))
    if organisation := _organisation(text[begin:]):
        return organisation._replace(end=organisation.end + begin)
    found = _leading_people(text, begin)
    if found is not None and (groups := _GROUPS_LAST.match(text, found.end)):
        authors = (*found.authors, *_groups(groups[1]))
        return NameList(authors, found.others, groups.end())
    return found


_GROUP = rf"(?:[Tt]he\s+)?(?:{UPPER}[\w&'’-]*\s+){{1,6}}(?:Collaborations?|Consortium)"
_LISTED_GROUPS = rf"({_GROUP}(?:(?:,|,?\s+(?:and|&))\s+{_GROUP})*)"
_GROUPS_FIRST = re.compile(rf"{_LISTED_GROUPS}(?:[,:;]|,?\s+(?:and|&))\s+")
_GROUPS_LAST = re.compile(rf"\s*,?\s*[(\[](?:for\s+|on behalf of\s+)?{_LISTED_GROUPS}[)\]]?")
"""Groups before and behind the people: "A. Ash et al. (CMS Collaboration)"."""


def _groups(text: str) -> list[Author]:
    names = re.split(r"(?<=Collaboration)(?:,|,?\s+(?:and|&))\s+", text)
    return [Author(re.sub(r"^[Tt]he\s+", "", name)) for name in names]


def _leading_people(text: str, begin: int) -> NameList | None:
    parts = _parts(text, begin)
    for count in range(len(parts), 0, -1):
        last = parts[count - 1]
        for end in _ends(text, last):
            others = _OTHERS.match(text, end)
            stop = others.end() if others else end
            if role := _ROLE.match(text, stop):
                stop = role.end()
            inside = end < last.end and _TITLE.match(text, stop)
            if not others and not inside and not _STOPPED.match(text, stop):
                continue
            authors = _authors([*parts[: count - 1], last._replace(text=text[last.begin : end])])
            if authors is None or _is_headed(authors[-1], text, stop):
                continue
            if count == 1 and not authors[0].given and not others and text[stop : stop + 1] == ":":
                return None  # a coined name at the start of a title: "BERT: ..."
            more = bool(others) or any(part.mark == "…" for part in parts[:count])
            return NameList(tuple(authors), more, stop)
    return None


def names_within(text: str) -> NameList | None:
    """The authors of a text made of names only; parts that are a name in no style are kept as
    written. None for a text that is not a list of names."""
    bare = text.strip(' \t.,;:()[]*_"“”-–—|')
    found = leading_names(bare)
    if found is not None and not re.search(r"\w", _REST.sub("", bare[found.end :])):
        return found
    others = _OTHERS.search(bare)
    pieces = [
        piece.strip(" .")
        for piece in re.split(rf"[,;]\s*(?:{_AND}\s+)?|\s+{_AND}\s+", _OTHERS.sub("", bare))
    ]
    pieces = [piece for piece in pieces if re.search(r"\w", piece)]
    named = [
        piece for piece in pieces if 2 <= len(piece.split()) <= 5 and not re.search(r"\d", piece)
    ]
    named = [piece for piece in named if re.match(UPPER, piece)]
    if len(named) < 2 or len(named) < 0.7 * len(pieces):
        return None
    return NameList(tuple(map(_in_reading_order, named)), others is not None, len(text))


_REST = re.compile(r"\b(?:1[5-9]|20)\d\d[a-z]?\b")


def _organisation(text: str) -> NameList | None:
    """An organisation in place of authors: "World Health Organization. Title"."""
    end = re.match(
        rf"((?:The\s+)?{UPPER}[\w&'’-]*(?:\s+(?:of|for|and|the|{UPPER}[\w&'’-]*))*?\s+[A-Z]\w+)\s*(?=[.:(]|,\s*(?:\d|[\"“]))",
        text,
    )
    if end is None or not is_organisation(Author(end[1])):
        return None
    return NameList((Author(end[1]),), False, end.end(1))


def _parts(text: str, begin: int) -> list[_NamePart]:
    """Possible names, or halves of names, at the start of a text, as far as the separators
    reach."""
    found: list[_NamePart] = []
    mark, at = "", begin
    while len(found) < 2 * MOST_NAMES:
        part = _PART.match(text, at, at + _LONGEST_PART)
        if part is None and len(found) > _FEW and mark:
            part = _WITHOUT_CAPITAL.match(text, at)
        if part is None or part.group().lower() == "others":
            break
        end = part.end()
        found.append(_NamePart(part.group(), at, end, mark))
        if len(found) > _FEW and (odd := _WITH_SMALL_WORD.match(text, at)):
            end = odd.end()
            found[-1] = _NamePart(odd.group(), at, end, mark)
        if junior := _JUNIOR.match(text, end):
            end = junior.end()
        separator = _SEPARATOR.match(text, end)
        if separator is None or separator.end() == end:
            break
        if separator["dots"]:
            mark = "…"
        elif separator["and"]:
            mark = ", and" if separator["mark"] else "and"
        else:
            mark = separator["mark"] or separator["bare"] or ""
        if not mark:
            break
        mark = {"，": ",", "、": ",", "；": ";", "/": ";", "·": ";", "|": ";"}.get(mark, mark)
        at = separator.end()
    return found


def _is_headed(author: Author, text: str, stop: int) -> bool:
    """True when the word after the initials of the last name is the first of a title."""
    words = author.given.split()
    return (
        len(words) > 1
        and words[-2].endswith(".")
        and len(words[-1]) > 2
        and (_HEAD_OF_TITLE.match(text, stop) is not None)
    )


def _ends(text: str, part: _NamePart) -> list[int]:
    """Possible ends of the last part of a list: its own end, or the end of an initial inside it."""
    inner = [
        part.begin + token.end()
        for token in _TOKEN.finditer(part.text)
        if token.group().endswith(".") and token.end() < len(part.text)
    ]
    return [part.end, *reversed(inner)]


def _authors(parts: Sequence[_NamePart]) -> list[Author] | None:  # noqa: PLR0911 - one for each style
    """The authors of the parts, in the first style that fits all of them."""
    if any(len(part.text.split()) > 7 for part in parts):
        return None
    marks = [part.mark for part in parts]
    ands = [n for n, mark in enumerate(marks) if mark.endswith("and")]
    texts = [part.text for part in parts]
    if len(texts) > 1 and all(map(_is_surname_with_initials, texts)):
        return [_surname_with_initials(text) for text in texts]
    whole = [_is_whole(text) for text in texts]
    paired = len(parts) > 1 and marks[1] == "," and _is_surname(texts[0]) and _is_given(texts[1])
    capitals = _is_capitals(texts[0]) and not _is_capitals(texts[-1])
    if paired and (capitals or not all(whole[: max(2, len(whole) - 1)])):
        found = _pairs(texts, marks) or _first_inverted(texts, marks, ands)
        if found:
            return found
    if ands and len(ands) == 1 and len(marks) > 2 and ands[0] != len(parts) - 1:
        return None  # "and" precedes the last name
    initials = [re.match(_INITIAL, text) is not None for text in texts]
    if initials[0] and not initials[-1] and not (ands and len(texts) == 2):
        return None  # the first words of the title
    if all(map(_is_surname_with_initials, texts)):
        return [_surname_with_initials(text) for text in texts]
    if all(whole):
        return [_in_reading_order(text) for text in texts]
    clear = [good and not _is_surname_with_initials(text)
             for text, good in zip(texts, whole, strict=True)]  # fmt: skip
    if sum(clear) >= 0.6 * len(clear) and len(clear) > 2 and (clear[-1] or ands):
        return [
            _in_reading_order(text) if good else _surname_with_initials(text)
            for text, good in zip(texts, whole, strict=True)
        ]
    listed = len(texts) == 1 or ands or (";" in marks and "," not in marks)
    if listed and all(_is_surname(text) and len(text.split()) <= 2 for text in texts):
        return [Author(text) for text in texts]
    return None


def _pairs(  # noqa: PLR0911 - one for each other style
    texts: Sequence[str], marks: Sequence[str]
) -> list[Author] | None:
    """Parse inverted names: "Ash, A., Beech, B. C., & Cedar, D."; "Ash, Ann; Beech, Ben"."""
    if len(texts) % 2:
        return None
    families, given = texts[::2], texts[1::2]
    if not all(map(_is_surname, families)) or not all(map(_is_given, given)):
        return None
    if any(mark != "," for mark in marks[1::2]):
        return None
    sure = [mark == ";" or mark.endswith("and") for mark in marks[2::2]]
    initials = sum(map(_is_initials, given))
    if initials == len(given) - 1 > 0 and not _is_initials(given[-1]):
        return None  # the word after the last initials is the title's first
    capitals = all(_is_capitals(family) for family in families)
    if initials < len(given) and not all(sure) and not capitals:
        # Full given names, separated by commas: "Ash, Ann, Ben Beech" is no pair.
        if any(len(family.split()) > 1 for family in families[1:]):
            return None
        if not initials and len(given) > 1 and not (sure and sure[-1]):
            return None
    return [
        Author(_cased(family), one.strip()) for family, one in zip(families, given, strict=True)
    ]


def _first_inverted(
    texts: Sequence[str], marks: Sequence[str], ands: Sequence[int]
) -> list[Author] | None:
    """Parse a list with only the first name inverted: "Ash, Ann, Ben Beech, and Cara Cedar"."""
    if len(ands) > 1 or (ands and ands[0] != len(texts) - 1) or ";" in marks:
        return None
    rest, given = texts[2:], texts[1]
    whole = sum(map(_is_whole, rest))
    if 2 * whole < len(rest) or not all(_is_whole(text) or _is_organised(text) for text in rest):
        return None
    if _is_initials(given) and rest and not ands and not _has_initials(rest[-1]):
        return None
    if _has_initials(given) and not _is_initials(given) and "and" in marks:
        return None  # "Ash, J. Language and Thought"
    return [Author(_cased(texts[0]), texts[1].strip()), *map(_in_reading_order, rest)]


def _is_initials(text: str) -> bool:
    tokens = _TOKEN.findall(text)
    words = [word for word in text.split() if word.rstrip(".")]
    if all(re.fullmatch(_INITIAL, token) for token in tokens):
        return True
    return all(
        re.fullmatch(rf"(?:{UPPER}[a-zà-ÿ]?\.?[-‐–]?){{1,4}}", word)
        or re.fullmatch(rf"{UPPER}{{1,3}}", word)
        or re.fullmatch(r"(?:van|von|de|der|den|del|di|da|la|le)", word)
        for word in words
    )


def _has_initials(text: str) -> bool:
    return any(re.fullmatch(_INITIAL, token) for token in _TOKEN.findall(text))


def _is_given(text: str) -> bool:
    """True for initials or given names."""
    if _is_initials(text):
        return True
    tokens = _TOKEN.findall(text)
    initial = next((n for n, one in enumerate(tokens) if re.fullmatch(_INITIAL, one)), None)
    after = [one for one in tokens[initial or 0 :] if not re.fullmatch(_INITIAL, one)]
    if initial is not None and len(after) > 1:
        return False
    return len(tokens) <= 4 and re.match(UPPER, text) is not None and not re.search(r"\d", text)


def _is_surname(text: str) -> bool:
    """True for one surname, with its particles or a second part, and without initials."""
    words = text.split()
    if len(words) > 4 or text.endswith("."):
        return False
    if len(text) == 1:
        return True
    capital = [word for word in words if re.match(UPPER, word)]
    return (
        len(capital) <= 3
        and bool(capital)
        and all(len(word) > 1 for word in capital)
        and not any(re.fullmatch(_INITIAL, word) for word in words)
    )


def _is_capitals(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return len(letters) > 2 and all(not char.islower() for char in letters)


_TRAILING = re.compile(
    rf"^(?P<family>.*?[\w'’]{{2,}}|\w)\s+(?P<given>(?:{UPPER}\.\s?[-‐–]?\s?){{1,5}}"
    rf"|{UPPER}{{1,4}}(?:[-‐]{UPPER})*\.?|{UPPER}(?:[\s-]{UPPER}){{1,4}}\.?)$"
)


def _is_surname_with_initials(text: str) -> bool:
    """True for "Ash A", "van der Beech BC", "Cedar C. D."."""
    found = _TRAILING.match(text)
    return found is not None and _is_surname(found["family"])


def _surname_with_initials(text: str) -> Author:
    found = _TRAILING.match(text)
    if found is None:
        return _in_reading_order(text)
    letters = found["given"].replace(".", " ").replace("-", " ").split()
    given = " ".join(f"{letter}." for word in letters for letter in word)
    return Author(_cased(found["family"]), given)


def _is_whole(text: str) -> bool:
    """True for given name or initials, and a surname: "Ann Ash", "B. C. Beech"."""
    tokens = [token for token in _TOKEN.findall(text) if token]
    if len(tokens) < 2:
        return re.fullmatch(r"[\u3040-\ud7a3]{2,4}", text) is not None
    last = tokens[-1]
    if tokens[0][0].islower() or re.fullmatch(_INITIAL, last) or not re.search(r"\w\w", last):
        return False
    # One surname, or one with particles, follows initials; two if they come first.
    initial = [n for n, token in enumerate(tokens) if re.fullmatch(_INITIAL, token)]
    if not initial:
        return True
    surname = [one for one in tokens[initial[-1] + 1 :] if re.match(UPPER, one)]
    return len(surname) <= (2 if len(initial) == initial[-1] + 1 else 1)


def _is_organised(text: str) -> bool:
    return len(text.split()) == 1 or is_organisation(Author(text))


def _in_reading_order(text: str) -> Author:
    if is_organisation(Author(text)):
        return Author(text)
    words = text.split()
    capitals = [
        word
        for n, word in enumerate(words)
        if _is_capitals(word) and "." not in word and len(word) > (2 if n else 3)
    ]
    if capitals and len(capitals) < len(words) and len(words) > 1:
        given = [word for word in words if word not in capitals]
        if not _is_capitals(given[0]) and len(given[0].rstrip(".")) > 1:
            return Author(_cased(" ".join(capitals)), " ".join(given))
    return parse_author(_spaced(text))


def _spaced(text: str) -> str:
    """The text with separate initials: "A.B.Ash" is "A. B. Ash"."""
    return re.sub(rf"(?<={UPPER}\.)(?={UPPER})", " ", text)


def _cased(family: str) -> str:
    """An all-caps surname in its usual capitalisation."""
    return family.title() if _is_capitals(family) and len(family) > 3 else family
