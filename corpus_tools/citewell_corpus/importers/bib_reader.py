"""The entries of an imported `.bib` file, split by bibtexparser.

Blocks that it cannot split, or splits wrongly (after a missing comma), are read by the editor's
parser, which recovers more and reports each fault with its line. Values are kept raw, so that both
give the same entry.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from sys import intern
from typing import Any

from citewell.documents.bib.reader import parse_bib
from citewell.model.bib import BibEntry
from citewell.model.bib_body import BibBody
from citewell_corpus.importers.contract import ImportReport

_NEXT_FIELD = re.compile(r"""["}\w]\s+[A-Za-z][\w-]*\s*=\s*["{\w]""")


def bib_entries(text: str, path: Path, report: ImportReport) -> Iterator[tuple[int, BibEntry]]:
    """Each entry with its 1-based line, duplicate keys included; faults go into the report.

    The offsets of the entries are not those of the file.
    """
    import bibtexparser
    from bibtexparser import model

    # It logs each fault; they are in the report.
    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)
    library = bibtexparser.parse_string(text, parse_stack=[])
    # It treats text after a failed block as a comment.
    blocks = [
        (block, _unwrapped(block))
        for block in library.blocks
        if not isinstance(block, model.ImplicitComment)
    ]
    # The last definition of a macro wins, as in BibTeX.
    strings = {own.key.lower(): own.value for _, own in blocks if isinstance(own, model.String)}
    lines = text.split("\n")
    ends = [max(0, block.start_line or 0) for block, _ in blocks[1:]] + [len(lines)]
    for (block, own), end in zip(blocks, ends, strict=False):
        line = max(0, block.start_line or 0) + 1
        if isinstance(own, model.Entry) and own.key and all(_whole(f.value) for f in own.fields):
            kind = intern(own.entry_type.strip().lower())
            yield line, BibEntry(kind, own.key, 0, _body(own.fields, strings))
        elif isinstance(own, model.Entry | model.ParsingFailedBlock):
            # bibtexparser stops in the middle of a block; read the rest as well.
            raw = "\n".join(lines[line - 1 : end]) or own.raw or ""
            yield from _recovered(raw, line, strings, path, report)


def _unwrapped(block: Any) -> Any:
    """The entry of a block that only has a duplicate key or field."""
    from bibtexparser.model import DuplicateBlockKeyBlock, DuplicateFieldKeyBlock

    while isinstance(block, DuplicateBlockKeyBlock | DuplicateFieldKeyBlock):
        block = block.ignore_error_block
    return block


def _whole(value: str) -> bool:
    """Whether a value does not include the next field: `{A} year = {B}`."""
    if "=" not in value or _NEXT_FIELD.search(value) is None:
        return True
    return parse_bib(f"@misc{{a, a = {value}}}").problems == ()


def _body(parsed: list[Any], strings: Mapping[str, str]) -> BibBody:
    text = ""
    marks: list[int] = []
    names: list[str] = []
    for field in parsed:
        name = field.key.lower()
        begin = len(text) + len(name) + 1
        text += f"{name}={field.value}\n"
        marks += (begin - len(name) - 1, begin - 1, begin, begin + len(field.value))
        names.append(name)
    return BibBody.at(
        text, 0, marks, tuple(names), strings, length=len(text), key_at=0, reach=len(text)
    )


def _recovered(
    raw: str, line: int, strings: Mapping[str, str], path: Path, report: ImportReport
) -> Iterator[tuple[int, BibEntry]]:
    """The entries that the editor's parser finds in a block; faults refer to lines of the file."""
    bib = parse_bib(raw, str(path))
    bib.strings.update(strings)
    for problem in bib.problems:
        if not problem.code.startswith("bib-duplicate"):
            report.bad_record(path, line - 1 + (problem.line or 1), problem.message)
    for entry in bib.entries:
        yield line + raw.count("\n", 0, entry.start), entry
