"""Values of foreign records as a `Work` wants them: plain, bounded, of the right type."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from itertools import islice
from typing import Any

from citewell.model import Author
from citewell.model.languages import language_code
from citewell.model.names import parse_author
from citewell.model.tex import tex_to_unicode
from citewell.model.titles import plain_title

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
