"""The bibliographies that a document can name: in `\\bibliography{`, `\\addbibresource{`, YAML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePath

from citewell.features.bib.complete import BibItem, ItemKind
from citewell.model.document import Document, Format, Span
from citewell.model.titles import fold

_LATEX = re.compile(
    r"\\(?P<name>(?:no)?bibliography|add(?:global)?bibresource|addglobalbib|addsectionbib)\s*"
    r"(?:\[[^\]\n]{0,200}\])?\s*\{(?P<before>[^{}\n%]*,)?\s*(?P<typed>[^{},\n%]*)$"
)
_YAML = re.compile(
    r"\s*bibliography\s*:\s*(?:\[(?:[^\]\n]*,)?\s*)?[\"']?(?P<typed>[^\"'\[\],\n]*)$"
)
_YAML_ITEM = re.compile(r"\s*-\s+[\"']?(?P<typed>[^\"'\[\],\n]*)$")
_YAML_KEY = re.compile(r"^([A-Za-z_-]+)\s*:", re.MULTILINE)


def path_at(document: Document, cursor: int) -> tuple[Span, bool] | None:
    """The name being typed as a range, and whether it is written with its suffix; else None."""
    text = document.text
    line = max(text.rfind("\n", 0, cursor), text.rfind("\r", 0, cursor)) + 1
    head = text[line:cursor]
    if document.format is Format.LATEX:
        found = _LATEX.search(head)
        if found is None or re.search(r"(?<!\\)%", head[: found.start()]):
            return None
        return Span(line + found.start("typed"), cursor), found["name"].startswith("add")
    front = document.front_matter
    if front is None or cursor not in front:
        return None
    found = _YAML.match(head)
    if found is None and (found := _YAML_ITEM.match(head)) is not None:
        keys = _YAML_KEY.findall(text[front.start : line])
        found = found if keys and keys[-1] == "bibliography" else None
    return (Span(line + found.start("typed"), cursor), True) if found is not None else None


def complete_paths(
    document: Document, place: Span, with_suffix: bool, root: Path, bibs: Iterable[Path]
) -> list[BibItem]:
    """The bibliographies as the document would name them, those nearest to it first."""
    typed = fold(document.text[place.start : place.end].strip())
    named = {
        b.target for b in document.bibliographies if not place.start <= b.span.start <= place.end
    }
    found: list[tuple[int, str]] = []
    for path in bibs:
        try:
            name = PurePath(os.path.relpath(path, root.parent)).as_posix()
        except ValueError:  # another drive
            continue
        if not with_suffix:
            name = name.removesuffix(".bib")
        if typed in fold(name) and name not in named and not any(c.isspace() for c in name):
            found.append((name.count("/") + 3 * name.count(".."), name))
    return [BibItem(name, name, ItemKind.FILE) for _, name in sorted(found)]
