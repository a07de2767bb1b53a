"""CSL bibliographies (JSON and YAML, as for Pandoc): parsed into entries and extended in place.

The range of an entry is that of its id: its key is edited there, and its fields are those of the
equivalent BibTeX entry.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from citewell.documents.bib.reader import parse_bib
from citewell.documents.latex.plaintext import escape, escape_title
from citewell.documents.textfile import newline_of
from citewell.model.bib import BibFile, CslEntry, FileEdit, TextEdit
from citewell.model.document import Span
from citewell.model.fields import BIB_FIELDS, DETAILS
from citewell.model.problem import CitewellError, Problem
from citewell.model.work import Author, Work

_KINDS = {
    "article-journal": "article",
    "article-magazine": "article",
    "article-newspaper": "article",
    "paper-conference": "inproceedings",
    "chapter": "incollection",
    "book": "book",
    "thesis": "phdthesis",
    "report": "techreport",
    "manuscript": "unpublished",
}
_TYPES = {
    **{kind: name for name, kind in reversed(_KINDS.items())},
    "mastersthesis": "thesis",
    "proceedings": "book",
    "inbook": "chapter",
}
_PLAIN = {
    one.csl: name for name, one in BIB_FIELDS.items() if one.csl and (one.record or name == "note")
}
"""BibTeX fields by CSL variable."""
_JSON_ID = re.compile(r'"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?\d+)')
_DATE = re.compile(r"-?\d{4}")
_MAX_NODES = 1_000_000
_KEY = re.compile(r"[^\s{}(),=\"#%~\\]+")


def parse_csl(text: str, path: str, region: Span | None = None) -> BibFile:
    """Parse the items of a file, or of the YAML block at `region` of a document; never raises. A
    malformed text has no entries."""
    start, end = (region.start, region.end) if region is not None else (0, len(text))
    source = text[start:end]
    is_json = path.lower().endswith(".json")
    items = list(_json_items(source) if is_json else _yaml_items(source))
    entries = []
    for item, place in items:
        key = str(item.get("id", ""))
        if not _KEY.fullmatch(key):
            continue
        read = parse_bib(_entry_text(item, key)).entries
        if len(read) == 1:
            entries.append(CslEntry(read[0].type, key, start + place, read[0].body))
    regions = () if region is None else (region,)
    return BibFile(path, text, tuple(entries), regions=regions, is_csl=True)


def insert_items(bib: BibFile, works: Mapping[str, Work]) -> FileEdit:
    """Return the edit that adds works by key to a CSL bibliography. Raises `CitewellError` for a
    file that cannot be parsed."""
    newline = newline_of(bib.text)
    insert = _json_insertion if bib.path.lower().endswith(".json") else _yaml_insertion
    now, first, added = bib, None, ""
    for key, work in works.items():
        edit = insert(now, _item(work, key), newline)
        if edit is None:
            break
        text = now.text[: edit.span.start] + edit.text + now.text[edit.span.end :]
        region = (
            Span(now.regions[0].start, now.regions[0].end + len(edit.text)) if now.regions else None
        )
        after = parse_csl(text, bib.path, region)
        if Counter(e.key for e in after.entries) != Counter([*(e.key for e in now.entries), key]):
            break
        now, first, added = after, first or edit.span, added + edit.text
    else:
        if first is not None:
            return FileEdit(bib.path, (TextEdit(first, added),), adds=tuple(works))
    raise CitewellError(
        Problem(
            "bib-edit-refused",
            "The list of references cannot be extended: its form is not understood.",
            "Nothing was written.",
            bib.path,
        )
    )


# Parsing


def _json_items(text: str) -> Iterator[tuple[Mapping[str, Any], int]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(data, dict):
        data = data.get("references", data.get("items", [data]))
    places = (
        (json.loads(m[1]), m.start(1) + m[1].startswith('"')) for m in _JSON_ID.finditer(text)
    )
    for item in data if isinstance(data, list) else ():
        if isinstance(item, dict) and "id" in item:
            place = next((at for found, at in places if found == item["id"]), None)
            if place is not None:
                yield item, place


def _yaml_items(text: str) -> Iterator[tuple[Mapping[str, Any], int]]:
    root = _yaml(text)
    listed = root if _is_list(root) else _value(root, "references")
    budget = [_MAX_NODES]
    for node in listed.value if listed is not None and _is_list(listed) else ():
        identity = _value(node, "id")
        if identity is None or not isinstance(identity.value, str):
            continue
        item = _plain(node, budget)
        place = identity.start_mark.index + (identity.style in ("'", '"'))
        if isinstance(item, dict) and text.startswith(identity.value, place):
            yield item, place


def _yaml(text: str) -> Any:
    """Parse the first document of a YAML text into nodes with offsets; None if it is malformed."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    # The text may be a block between `---` lines, like a Pandoc header.
    head = re.match(r"\ufeff?---[ \t]*\r?\n", text)
    closing = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE).search(
        text, head.end() if head else 0
    )
    text = text[: closing.start()] if closing else text
    try:
        return yaml.compose(text.replace("\ufeff", " "), Loader=loader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _is_list(node: Any) -> bool:
    return getattr(node, "id", "") == "sequence"


def _value(node: Any, name: str) -> Any:
    if getattr(node, "id", "") != "mapping":
        return None
    return next((value for key, value in node.value if key.value == name), None)


def _plain(node: Any, budget: list[int], depth: int = 0) -> Any:
    budget[0] -= 1
    if budget[0] < 0 or depth > 6:
        return None
    if node.id == "mapping":
        return {
            key.value: _plain(value, budget, depth + 1)
            for key, value in node.value
            if isinstance(key.value, str)
        }
    if node.id == "sequence":
        return [_plain(value, budget, depth + 1) for value in node.value]
    return node.value


def _entry_text(item: Mapping[str, Any], key: str) -> str:
    """The BibTeX entry with the content of an item."""
    kind = _KINDS.get(_text(item.get("type")), "misc")
    fields = {"title": escape_title(_text(item.get("title")))}
    for role in ("author", "editor"):
        fields[role] = " and ".join(_names(item.get(role)))
    container = escape(_text(item.get("container-title")))
    fields["booktitle" if kind in ("inproceedings", "incollection") else "journal"] = container
    for variable, name in _PLAIN.items():
        value = _text(item.get(variable))
        fields[name] = value if name in ("doi", "url") else escape(value)
    fields["year"] = _year(item.get("issued"))
    lines = [f"{name} = {{{value}}}" for name, value in fields.items() if value]
    return ",\n".join([f"@{kind}{{{key}", *lines]) + "}"


def _text(value: Any) -> str:
    if isinstance(value, list):
        value = value[0] if value else ""
    return " ".join(str(value).split()) if isinstance(value, str | int) else ""


def _names(value: Any) -> Iterator[str]:
    for name in value if isinstance(value, list) else ():
        if not isinstance(name, dict):
            continue
        literal = _text(name.get("literal") or name.get("name"))
        family = _text(name.get("family"))
        particle = _text(name.get("non-dropping-particle") or name.get("dropping-particle"))
        given, suffix = _text(name.get("given")), _text(name.get("suffix"))
        if not family:
            if literal:
                yield "others" if literal == "others" else f"{{{escape(literal)}}}"
            continue
        parts = [f"{particle} {family}".strip(), suffix, given]
        yield ", ".join(escape(part) for part in parts if part)


def _year(value: Any) -> str:
    """The year of a CSL date: a mapping, a list of parts, or a text."""
    if isinstance(value, dict):
        value = (
            value.get("date-parts") or value.get("year") or value.get("raw") or value.get("literal")
        )
    while isinstance(value, list):
        value = value[0] if value else ""
    if isinstance(value, dict):
        return _year(value)
    found = _DATE.search(_text(value))
    return found[0] if found else ""


# Writing


def _item(work: Work, key: str) -> dict[str, Any]:
    container = work.journal or work.booktitle or work.venue
    item: dict[str, Any] = {
        "id": key,
        "type": _TYPES.get(work.kind, "article" if work.arxiv else "document"),
        "title": work.title,
        "author": [_name(author) for author in work.authors],
        "issued": {"date-parts": [[work.year]]} if work.year is not None else None,
        "container-title": container,
        **{one.csl: getattr(work, one.record) for one in DETAILS},
        "publisher": work.publisher,
        "DOI": work.doi,
        "URL": work.url or (f"https://arxiv.org/abs/{work.arxiv}" if work.arxiv else ""),
    }
    return {name: value for name, value in item.items() if value}


def _name(author: Author) -> dict[str, str]:
    if not author.given:
        return {"literal": author.family}
    name = {"family": author.family, "given": author.given, "suffix": author.suffix}
    return {part: value for part, value in name.items() if value}


def _json_insertion(bib: BibFile, item: Mapping[str, Any], newline: str) -> TextEdit | None:
    end = bib.text.rstrip().rfind("]")
    if not bib.text.strip():
        return TextEdit(
            Span(0, len(bib.text)), f"[{newline}{_json(item, newline)}{newline}]{newline}"
        )
    if end < 0:
        return None
    at = len(bib.text[:end].rstrip())
    comma = "" if bib.text[at - 1] == "[" else ","
    return TextEdit(
        Span(at, at), f"{comma}{newline}{_json(item, newline)}{'' if comma else newline}"
    )


def _json(item: Mapping[str, Any], newline: str) -> str:
    written = json.dumps(item, ensure_ascii=False, indent=2)
    return newline.join(f"  {line}" for line in written.splitlines())


def _yaml_insertion(bib: BibFile, item: Mapping[str, Any], newline: str) -> TextEdit | None:
    region = bib.regions[0] if bib.regions else Span(0, len(bib.text))
    text = bib.text[region.start : region.end]
    root = _yaml(text)
    listed = root if root is not None and _is_list(root) else _value(root, "references")
    if listed is not None and _is_list(listed) and listed.value and not listed.flow_style:
        indent = " " * listed.start_mark.column
        at = len(text[: listed.value[-1].end_mark.index].rstrip())
        lead = newline
    else:
        if listed is not None and getattr(listed, "value", None):
            return None
        closing = re.search(r"^(?:---|\.\.\.)[ \t]*\r?$", text[1:], re.MULTILINE)
        at = closing.start() + 1 if closing else len(text)
        opened = re.search(r"^references[ \t]*:[ \t]*(?:\[[ \t]*\])?[ \t]*\r?$", text, re.MULTILINE)
        if opened and "[" in opened[0]:
            return None
        at, lead = (opened.end(), newline) if opened else (at, f"references:{newline}")
        if not opened and at and text[at - 1] not in "\r\n":
            lead = newline + lead
        indent = ""
    lines = [f"- id: {_scalar(item['id'])}", *_yaml_lines(item)]
    block = newline.join(indent + line for line in lines)
    tail = newline if at == len(text) or text[at : at + 3] in ("---", "...") else ""
    place = region.start + at
    return TextEdit(Span(place, place), lead + block + tail)


def _yaml_lines(item: Mapping[str, Any]) -> Iterator[str]:
    for name, value in item.items():
        if name == "author":
            yield "  author:"
            for person in value:
                parts = [f"{part}: {_scalar(text)}" for part, text in person.items()]
                yield f"  - {parts[0]}"
                yield from (f"    {part}" for part in parts[1:])
        elif name == "issued":
            yield from ("  issued:", "    date-parts:", f"    - - {value['date-parts'][0][0]}")
        elif name != "id":
            yield f"  {name}: {_scalar(value)}"


def _scalar(value: str) -> str:
    """A YAML scalar: bare where that is unambiguous, else in double quotes."""
    if re.fullmatch(r"[A-Za-z][\w .()/-]*[\w.)]|[A-Za-z]", value) and value.lower() not in (
        "y", "n", "yes", "no", "on", "off", "true", "false", "null",
    ):  # fmt: skip
        return value
    return json.dumps(value, ensure_ascii=False)
