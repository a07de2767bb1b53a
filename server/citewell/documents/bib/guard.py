"""Whether an edit of a .bib does what it means, asked of the file as it would be.

Keys, titles and names come from records, agents and other programs. Whatever is in them, an edit is
written only if the new text reads as the old entries, unchanged, and the entries that were meant.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.textfile import apply_edits
from citewell.model.bib import BibBlock, BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.problem import CitewellError, Problem

BibOf = Callable[[Path, str], BibFile]
"""A bibliography as it was read; the text is what the file holds."""


def check_edits(
    edits: Sequence[FileEdit], texts: Mapping[str, str], bib_of: BibOf | None = None
) -> None:
    """Raise `CitewellError` when one of the edits does something else than it says.

    `texts` are the texts by path to which the edits refer. Edits of other files than .bib pass.
    With a `bib_of` that has read the file already, the price is that of what changes.
    """
    for edit in edits:
        if not edit.path.lower().endswith((".bib", ".bibtex")):
            continue
        path, text = Path(edit.path), texts[edit.path]
        before = bib_of(path, text) if bib_of is not None else parse_bib(text, edit.path)
        problem = wrong_edit(before, edit)
        if problem is not None:
            raise CitewellError(problem)


def wrong_edit(before: BibFile, edit: FileEdit) -> Problem | None:
    """The first unintended effect of an edit of `before`; None when there is none."""
    after = reparse(before, apply_edits(before.text, edit.edits))
    wanted = Counter(entry.key for entry in before.entries)
    wanted.subtract(edit.removes)
    wanted.update(edit.adds)
    found = Counter(entry.key for entry in after.entries)
    more = [key for key in found if found[key] > wanted[key]]
    less = [key for key in wanted if wanted[key] > found[key]]
    if more:
        return _refused(before, edit, f"would add an unintended entry `{more[0][:80]}`")
    if less:
        what = "lack the new entry" if less[0] in edit.adds else "lose the entry"
        return _refused(before, edit, f"would {what} `{less[0][:80]}`")
    changed = _changed(before, after, edit.edits)
    if changed is not None:
        what = f"the entry `{changed.key[:80]}`" if isinstance(changed, BibEntry) else "an @string"
        return _refused(before, edit, f"would change {what}")
    if len(before.blocks) != len(after.blocks):
        return _refused(before, edit, "would change an @string, @preamble or @comment")
    if _faults(after) > _faults(before):
        return _refused(before, edit, "would leave a malformed entry")
    return None


def _changed(
    before: BibFile, after: BibFile, edits: Sequence[TextEdit]
) -> BibEntry | BibBlock | None:
    """The first entry or block outside of the edits that does not read as before."""
    new: dict[int, BibEntry | BibBlock] = {entry.start: entry for entry in after.entries}
    new.update((block.start, block) for block in after.blocks)
    old: list[BibEntry | BibBlock] = [*before.entries, *before.blocks]
    old.sort(key=lambda item: item.start)
    ordered = sorted(edits, key=lambda edit: edit.span)
    shift = place = 0
    for entry in old:
        while place < len(ordered) and ordered[place].span.end <= entry.start:
            edit = ordered[place]
            shift += len(edit.text) - (edit.span.end - edit.span.start)
            place += 1
        if place < len(ordered) and ordered[place].span.start < entry.span.end:
            continue  # an edit inside of it
        same = new.get(entry.start + shift)
        if same is None or not _same(entry, same):
            return entry
    return None


def _same(one: BibEntry | BibBlock, other: BibEntry | BibBlock) -> bool:
    """True if both have the same type and text; the text includes the key."""
    return one.body is other.body or (one.type, one.body.text) == (other.type, other.body.text)


def _faults(bib: BibFile) -> int:
    entries = sum(len(entry.body.faults) for entry in bib.entries if entry.body.faults)
    return entries + sum(len(block.body.faults) for block in bib.blocks)


def _refused(before: BibFile, edit: FileEdit, what: str) -> Problem:
    name = Path(before.path).name
    at = min((change.span.start for change in edit.edits), default=0)
    line = before.text.count("\n", 0, at) + 1
    broken = next((problem for problem in before.problems if problem.line), None)
    hint = "Nothing was written."
    if broken is not None:
        hint += f" Correct line {broken.line} first: {broken.message}"
    return Problem(
        "bib-edit-refused",
        f"{name} was not changed: with the edit it {what}.",
        hint,
        before.path,
        line,
    )
