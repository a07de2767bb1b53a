"""Values of foreign records as a `Work` wants them: plain, bounded, of the right type."""

from __future__ import annotations

import datetime
import html
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec

from citewell.model.languages import language_code
from citewell.model.names import parse_author
from citewell.model.tex import tex_to_unicode
from citewell.model.titles import fold, plain_title
from citewell.model.work import Author

MAX_TITLE = 2_000
MAX_TEXT = 1_000
MAX_ABSTRACT = 20_000
MAX_AUTHORS = 5_000

_YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d)(?!\d)")
_TAGS = re.compile(r"<[^<>]{1,200}>")
_DASHES = re.compile(r"\s*(?:-{2,}|[–—‒−])\s*")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


def title(value: object) -> str:
    """A title without markup, at most 2,000 characters; empty for anything but a text."""
    return plain_title(_printable(value[:MAX_TITLE])) if isinstance(value, str) else ""


def text(value: object, limit: int = MAX_TEXT) -> str:
    """A short field: LaTeX markup resolved, blanks collapsed, cut at `limit` characters."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = f"{value:g}" if isinstance(value, float) else str(value)
    if not isinstance(value, str):
        return ""
    value = _printable(value[: limit * 2])
    if "{" in value or "\\" in value or "}" in value:
        value = tex_to_unicode(value)
    return _squeezed(value)[:limit]


def raw(value: object, limit: int = MAX_TEXT) -> str:
    """An identifier, key or address: trimmed, otherwise as it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    return _printable(value[:limit]).strip() if isinstance(value, str) else ""


def language(value: object) -> str:
    """ISO 639-1 code of the first language that a text, or a list of texts, states; else empty."""
    if isinstance(value, list):
        return next((code for one in value if (code := language(one))), "")
    return language_code(value) if isinstance(value, str) else ""


def pages(value: object) -> str:
    """Page range with a plain hyphen: "225--240" and "225–240" become "225-240"."""
    plain = text(value, 100)
    return plain if plain.replace("-", "", 1).isalnum() else _DASHES.sub("-", plain)


def abstract(value: object) -> str:
    """An abstract: tags taken out, blanks collapsed, cut at 20,000 characters."""
    if not isinstance(value, str):
        return ""
    plain = _printable(value[:MAX_ABSTRACT])
    if "<" in plain:
        plain = _TAGS.sub(" ", plain)
    return _squeezed(plain)


def year(value: object) -> int | None:
    """The year in a number or a date; None outside 1500 to 2099."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value if 1500 <= value <= 2099 else None
    found = _YEAR.search(value) if isinstance(value, str) else None
    return int(found.group()) if found else None


def count(value: object) -> int | None:
    """A number of citations; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        return None
    return min(value, 2**31 - 1)


def authors(names: Iterable[object]) -> tuple[Author, ...]:
    """Authors from display names; what is no text is left out."""
    parsed = (parse_author(text(name, 300)) for name in names if isinstance(name, str))
    return tuple(islice((author for author in parsed if author.family), MAX_AUTHORS))


def today() -> str:
    """The present day, for records that are read from a source now."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _printable(value: str) -> str:
    """Without control characters; the check first, because hardly any text has one."""
    return value if value.isprintable() else _CONTROL.sub("", value)


def _squeezed(value: str) -> str:
    if "  " in value or not value.isprintable():
        return " ".join(value.split())
    return value.strip()


def mapping(value: object) -> dict[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def first_mapping(value: object) -> dict[str, Any]:
    """The first of a list of JSON objects; an empty one for anything else."""
    return mapping(value[0]) if isinstance(value, list) and value else {}


# Names of authors that are no names: an e-mail address, markup, several people in one.
#
# Stricter than `malformed`, which also calls a list of sound names damaged if one occurs twice.
# What is found here keeps a paper out of search, so that unusual names count as sound:
# organisations, mononyms, long names, nicknames in parentheses, footnote marks.

_LONGEST = 80
"""Maximum characters of a person's name."""
_LONGEST_ORGANISATION = 160
_MOST_WORDS = 7
"""Maximum capitalised words of a person's name, initials and particles aside."""
_INSTITUTION = (
    r"universit|\buniv\.|\binstitut|\bdepartment|\bdept\b|\bfaculty of|\blaborator|\bschool of"
    r"|\bcollege of|\bhospital"
)
_MARKS = re.compile(r"[@<>{}\\=|;\x00-\x09\x0b-\x1f\x7f-\x9f\ufffd]")
_SUSPECT_TEXTS = (
    "http", "www.", "et al", "et. al", "etal", "others", " and ", " & ", "universit", "univ.",
    "institut", "department", "dept", "faculty of", "laborator", "school of", "college of",
    "hospital",
)  # fmt: skip
_LONG = 40
"""A list without a longer name, and without the marks and texts above, has no malformed name."""
_REASONS = (
    ("e-mail address", re.compile(r"\S@[\w-]+\.\w")),
    ("web address", re.compile(r"https?:|\bwww\.", re.IGNORECASE)),
    ("markup", re.compile(r"[<>{}\\=|]")),
    ("control character", re.compile(r"[\x00-\x1f\x7f-\x9f\ufffd]")),
    ("“et al.”", re.compile(r"\bet\.?\s*al\b|^(?:and )?others$", re.IGNORECASE)),
    ("several names in one", re.compile(r";")),
    ("affiliation", re.compile(rf"\([^()]*(?:{_INSTITUTION})", re.IGNORECASE)),
)
_INSTITUTION_WORD = re.compile(_INSTITUTION, re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_WORD = re.compile(r"[^\W\d_][^\W\d_'’.-]+(?:[-'’][^\W\d_]+)*")
_TWO_PEOPLE = re.compile(r"\S+\s+\S.*\s(?:and|&)\s\S+\s+\S")
_OF_ORGANISATIONS = frozenset(
    """
    of for the on team group consortium collaboration committee association society project network
    center centre council board lab laboratory labs program programme initiative agency ministry
    organization organisation foundation institute university department company inc ltd gmbh corp
    corporation federation union office bureau service services academy commission workshop
    """.split()
)


class MalformedName(msgspec.Struct, frozen=True):
    """A name that is none, as the record has it, and why."""

    name: str
    reason: str
    """Such as "e-mail address"."""


def malformed_name(authors: Sequence[Author]) -> MalformedName | None:
    """The first malformed name in a list of authors; None if all may be names."""
    if not _may_have_one(authors):
        return None
    for author in authors:
        if reason := _reason(author):
            return MalformedName(author.display, reason)
    return None


def _may_have_one(authors: Sequence[Author]) -> bool:
    """False if none of the names can be malformed: a quick test, for every work of a library."""
    names = []
    for author in authors:
        name = f"{author.given} {author.family} {author.suffix}"
        if len(name) > _LONG or not (author.given or author.family)[:1].isalpha():
            return True
        names.append(name)
    text = "\n".join(names)
    if _MARKS.search(text) is not None:
        return True
    text = text.lower()
    for one in _SUSPECT_TEXTS:  # noqa: SIM110 - a third of the time of any()
        if one in text:
            return True
    return False


def _reason(author: Author) -> str:
    name = html.unescape(author.display)
    if _LETTER.search(name) is None:
        return "no letters"
    found = next((reason for reason, pattern in _REASONS if pattern.search(name)), "")
    if found:
        return found
    if _is_affiliation(author):
        return "affiliation"
    if author.given and _is_of_several(name):
        return "several names in one"
    longest = _LONGEST if author.given else _LONGEST_ORGANISATION
    return f"longer than {longest} characters" if len(name) > longest else ""


def _is_affiliation(author: Author) -> bool:
    """True for "Ann Ash, University of Leeds", which was read as a family and a given name."""
    family = author.family.strip()
    if " " not in family or not family[0].isupper():
        return False
    return _INSTITUTION_WORD.search(author.given) is not None


def _is_of_several(name: str) -> bool:
    words = name.replace(",", " ").split()
    if not _OF_ORGANISATIONS.isdisjoint(word.lower().strip(".") for word in words):
        return False
    if _TWO_PEOPLE.search(name):
        return True
    full = [word for word in words if word[0].isupper() and _WORD.fullmatch(word)]
    return len(full) > _MOST_WORDS


# Author lists that were damaged on their way into a record.
#
# Such lists are no evidence: they are kept for display and never held against a reference.

"""Letters of the longest real personal names; longer ones are several names run together."""
_DAMAGED = re.compile(r"[;\\{}<>@=|*†‡]")
_WORDS = re.compile(r"\bet\.?\s*al\b|https?:", re.IGNORECASE)


def is_malformed(authors: Sequence[Author]) -> bool:
    """True for a list with markup in a name, a name twice, or every name cut into two.

    An organisation or a mononym among other names is sound, and so is an empty list.
    """
    shown = [html.unescape(author.display) for author in authors]
    if any(_is_broken(name) for name in shown):
        return True
    if len({fold(name) for name in shown}) < len(shown):
        return True
    # "Family; Given" that was split at the semicolon leaves single words only.
    single = [author for author in authors if not author.given and " " not in author.family]
    return len(authors) > 1 and len(single) == len(authors)


def _is_broken(name: str) -> bool:
    if len(name) > _LONGEST or _DAMAGED.search(name) is not None:
        return True
    if not name[:1].isalpha() and _LETTER.search(name) is None:
        return True
    # Every record of an import comes here, and these two tests are cheaper than the pattern.
    low = name.lower()
    may_match = "http" in low or ("et" in low and "al" in low)
    return may_match and _WORDS.search(name) is not None
