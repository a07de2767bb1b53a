"""Taking an entry from one .bib to another: its text as it stands, and what it leans on."""

from __future__ import annotations

import re
from collections.abc import Mapping

from citewell.model.bib import BibEntry, BibFile
from citewell.model.bib_value import literal_value

MAX_PARENTS = 20
_PARENTS = ("crossref", "xdata", "xref")
_MACRO = re.compile(r"(?:^|#)\s*([^\s#{}\"(),=]+)\s*(?=#|$)")


def with_parents(bib: BibFile, key: str) -> list[BibEntry]:
    """The entry of a key and all that it inherits from, each behind those that name it, as BibTeX
    wants them; empty when there is no such entry."""
    waiting, found = [key], dict[str, BibEntry]()
    while waiting and len(found) < MAX_PARENTS:
        entry = bib.by_key.get(waiting.pop(0))
        if entry is not None:
            # A parent that two entries name goes behind the later one.
            found.pop(entry.key, None)
            found[entry.key] = entry
            named = (name.strip() for f in _PARENTS for name in entry.get(f).split(","))
            waiting += [name for name in named if name and name not in found]
    return list(found.values())


def self_contained(bib: BibFile, entry: BibEntry, strings: Mapping[str, str]) -> str:
    """The entry's text, byte for byte; but a value that leans on an @string of its file which the
    other file, whose macros are `strings`, lacks or defines otherwise is written out."""
    text = entry.body.text
    for field in reversed(entry.fields):
        names = {name.lower() for name in _MACRO.findall(_without_literals(field.raw))}
        if any(name in bib.strings and strings.get(name) != bib.strings[name] for name in names):
            start, end = field.value_span.start - entry.start, field.value_span.end - entry.start
            text = f"{text[:start]}{{{literal_value(field.raw, bib.strings)}}}{text[end:]}"
    return text


def _without_literals(raw: str) -> str:
    """A raw value without its parts in braces or quotes."""
    kept: list[str] = []
    depth, quoted = 0, False
    for sign in raw:
        if sign == '"' and depth == 0:
            quoted = not quoted
        elif sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
        elif depth == 0 and not quoted:
            kept.append(sign)
    return "".join(kept)
