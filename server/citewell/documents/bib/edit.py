"""New entries in .bib files: one insertion, in the file's own style, and no other byte changed."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence

from citewell.documents.bib.entry import entry_text
from citewell.documents.bib.match import find_work
from citewell.documents.bib.reader import reparse
from citewell.documents.bib.style import BibStyle, detect_style
from citewell.documents.keys.pattern import make_key
from citewell.model.bib import BibBlock, BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.document import Span
from citewell.model.work import Work
from citewell.options.tree import BibOptions


def insert_entry(
    bib: BibFile,
    work: Work,
    key: str | None,
    options: BibOptions,
    taken: Collection[str] = (),
) -> tuple[FileEdit | None, str]:
    """The edit that adds `work` to `bib`, and the key to cite it by.

    No edit when the work is already there: then the key is the one it has. A given `key` is taken
    over unless another entry has it; else one is made after `options.key_pattern`. `taken` are
    keys of the project's other files, which the new key must not repeat.
    """
    known = find_work(bib, work)
    if known is not None and known.key:
        return None, known.key
    keys = _Taken(bib, taken)
    if not key or key in keys:
        key = make_key(work, options.key_pattern, keys)
    style = detect_style(bib)
    text = entry_text(work, key, style, abstract=options.abstract)
    return FileEdit(bib.path, (_insertion(bib, [text], style),), adds=(key,)), key


def insert_texts(bib: BibFile, texts: Mapping[str, str]) -> FileEdit:
    """The edit that adds whole entries by key, as they are: only their line ends become those of
    the file."""
    style = detect_style(bib)
    ended = [style.newline.join(text.splitlines()) for text in texts.values()]
    return FileEdit(bib.path, (_insertion(bib, ended, style),), adds=tuple(texts))


def _insertion(bib: BibFile, texts: Sequence[str], style: BibStyle) -> TextEdit:
    text = (style.newline * (style.gap + 1)).join(texts)
    edits = [
        TextEdit(Span(at, at), f"{before}{text}{after}")
        for at, before, after in _places(bib, style)
    ]
    return next((edit for edit in edits if _keeps_all(bib, edit, len(texts))), edits[0])


def new_bib_text(
    work: Work,
    key: str | None,
    options: BibOptions,
    taken: Collection[str] = (),
    newline: str = "\n",
) -> tuple[str, str]:
    """The text of a new .bib file that holds `work`, and the key of its entry."""
    if not key or key in taken:
        key = make_key(work, options.key_pattern, taken)
    text = entry_text(work, key, BibStyle(newline=newline), abstract=options.abstract)
    return text + newline, key


class _Taken(Container[str]):
    """The keys of a file and of its neighbours; BibTeX does not part keys by case."""

    def __init__(self, bib: BibFile, others: Collection[str]) -> None:
        self._keys = {key.lower() for key in bib.by_key}
        self._others = others

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and (key.lower() in self._keys or key in self._others)


def _keeps_all(bib: BibFile, edit: TextEdit, count: int) -> bool:
    """True when the file with the insertion reads as before, with `count` good entries more."""
    at = edit.span.start
    after = reparse(bib, bib.text[:at] + edit.text + bib.text[at:])
    if len(after.entries) != len(bib.entries) + count or len(after.blocks) != len(bib.blocks):
        return False
    index = next(
        (i for i, entry in enumerate(after.entries) if at <= entry.start < at + len(edit.text)), -1
    )
    added = after.entries[index : index + count]
    if index < 0 or any(entry.body.faults for entry in added):
        return False
    others: tuple[BibEntry | BibBlock, ...] = (
        *after.entries[:index],
        *after.entries[index + count :],
        *after.blocks,
    )
    before: tuple[BibEntry | BibBlock, ...] = (*bib.entries, *bib.blocks)
    return all(
        one.body is other.body or (one.type, one.body.text) == (other.type, other.body.text)
        for one, other in zip(before, others, strict=True)
    )


def _places(bib: BibFile, style: BibStyle) -> Iterator[tuple[int, str, str]]:
    """Offsets where a new entry may go, best first, each with the text to put before and after it.

    This is the end of the file, but before an unclosed entry or comment there and before a lone
    `@`, because any reader of the file would take the new entry for a part of it.
    """
    text, newline = bib.text, style.newline
    items: list[BibEntry | BibBlock] = sorted(
        (*bib.entries, *bib.blocks), key=lambda item: item.start
    )
    tail = len(text)
    while items and not items[-1].body.closed:
        tail = items.pop().start
    end = items[-1].span.end if items else 0
    stray = text.find("@", end, tail)
    if tail < len(text) or stray >= 0:
        place = tail if stray < 0 else stray
        line = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
        # At the beginning of its line, so that a comment sign there stays before it.
        yield _between(text, max(line, end), newline, style.gap)
        yield _between(text, place, newline, style.gap)
    before = _between(text, len(text), newline, style.gap)[1]
    if text.endswith(newline) and text.strip():
        # The same text, inserted before the last line end: some editors leave an empty line behind
        # what is inserted after it.
        yield len(text) - len(newline), newline + before, ""
    # Blanks at the end of the file would indent the entry.
    blanks = len(text.rstrip(" \t"))
    if not blanks or text[blanks - 1] in "\r\n":
        yield blanks, before, newline
    yield len(text), before, newline
    yield _between(text, 1 if text.startswith("\ufeff") else 0, newline, style.gap)


def _between(text: str, at: int, newline: str, gap: int) -> tuple[int, str, str]:
    """`at`, with the line ends that separate an insertion there from the text around it."""
    head = text[max(0, at - 4096) : at].rstrip(" \t")
    lines = 0
    while lines <= gap and head.endswith(("\n", "\r")):
        head = head.removesuffix("\n").removesuffix("\r") if head[-1] == "\n" else head[:-1]
        head = head.rstrip(" \t")
        lines += 1
    empty = not head.strip("\ufeff")
    before = "" if empty else newline * max(0, gap + 1 - lines)
    after = "" if text[at : at + 1] in ("\n", "\r") else newline * (gap + 1)
    return at, before, after
