"""A fault-tolerant .bib parser with exact ranges.

A file in an editor is broken most of the time: a fault costs only its own entry, every range is
exact, and an edit is parsed without the rest of the file. A broken entry ends at the latest at an
`@type{` at the start of a line.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from sys import intern

import msgspec

from citewell.documents.bib.scan import EntryScan, Heads, plain_entry
from citewell.documents.textfile import apply_edits
from citewell.model.bib import BibBlock, BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.cancel import stepper
from citewell.model.document import Span
from citewell.model.problem import CitewellError, Problem

_CHUNK = 1 << 16
_BLOCKS = frozenset({"string", "preamble", "comment"})


def parse_bib(text: str, path: str = "") -> BibFile:
    """Parse a .bib file; never raises.

    `problems` of the result lists each fault with its line; the result has all intact entries, and
    the broken ones as far as they can be parsed.
    """
    reader, step = _Reader(text, 0, {}, shares_text=_is_narrow(text)), stepper()
    while reader.step() is not None:
        step()
    return BibFile(path, text, tuple(reader.entries), reader.strings, tuple(reader.blocks))


def parse_regions(text: str, path: str, regions: Sequence[Span]) -> BibFile:
    """Parse the bibliography inside some regions of a document, with ranges in the whole text."""
    parts, end = [], 0
    for region in regions:
        parts += [" " * (region.start - end), text[region.start : region.end]]
        end = region.end
    read = parse_bib("".join(parts), path)
    return msgspec.structs.replace(read, text=text, regions=tuple(regions))


def reparse(old: BibFile, new_text: str) -> BibFile:
    """Return `parse_bib(new_text, old.path)`, at a cost that depends on the size of the change.

    Entries that are parsed again have texts of their own, since each would otherwise keep the whole
    file alive. Entries outside the change keep their body, and those below it only move. A change
    to an @string parses everything again, because any entry may use its macros.
    """
    if new_text == old.text:
        return old
    if old.regions:
        grown = len(new_text) - len(old.text)
        last = Span(old.regions[-1].start, old.regions[-1].end + grown)
        return parse_regions(new_text, old.path, (*old.regions[:-1], last))
    same_head, same_tail = _common_ends(old.text, new_text)
    shift = len(new_text) - len(old.text)
    kept, restart = _untouched(old, same_head)
    starts = {entry.start: index for index, entry in enumerate(old.entries[kept:], kept)}
    reader = _Reader(new_text, restart, old.strings, defines=False)
    tail: tuple[BibEntry, ...] = ()
    rejoin = len(old.text)
    step = stepper()
    while (start := reader.step(len(new_text) - same_tail, shift, starts)) is not None:
        if start < 0:
            rejoin = -start - 1
            tail = old.entries[starts[rejoin] :]
            break
        step()
    lost = (block for block in old.blocks if restart <= block.start < rejoin)
    if any(block.type == "string" for block in (*lost, *reader.blocks)):
        return parse_bib(new_text, old.path)
    if shift:
        tail = tuple(
            [BibEntry(entry.type, entry.key, entry.start + shift, entry.body) for entry in tail]
        )
    blocks = (
        *(block for block in old.blocks if block.start < restart),
        *reader.blocks,
        *(
            BibBlock(block.type, block.start + shift, block.body)
            for block in old.blocks
            if block.start >= rejoin
        ),
    )
    entries = (*old.entries[:kept], *reader.entries, *tail)
    return BibFile(old.path, new_text, entries, old.strings, blocks)


class _Reader:
    """Parses entry after entry, from an offset between two of them."""

    def __init__(
        self,
        text: str,
        at: int,
        strings: dict[str, str],
        *,
        shares_text: bool = False,
        defines: bool = True,
    ) -> None:
        """`defines`: add the parsed macros to `strings`. Leave it out if the macros belong to a
        file that is still in use."""
        self.text = text
        self.at = at
        self.heads = Heads(text, at)
        self.strings = strings
        self.shares_text = shares_text
        self.defines = defines
        self.known_names: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.entries: list[BibEntry] = []
        self.blocks: list[BibBlock] = []

    def step(
        self, resume_at: int = 0, shift: int = 0, known: Mapping[int, int] | None = None
    ) -> int | None:
        """Parse the next entry or block and return its start; None at the end of the file.

        An entry that was parsed before (it starts at or after `resume_at`, and `shift` earlier in
        `known`) is not parsed again: -1 - its old start is returned.
        """
        head = self.heads.next(self.at)
        if head is None:
            return None
        start = head.start()
        if known is not None and start >= resume_at and (start - shift) in known:
            return shift - start - 1
        kind = intern(head[1].lower())
        sources = (self.text, self.heads, head, self.strings, self.known_names)
        if kind in _BLOCKS:
            body = EntryScan(*sources, shares_text=self.shares_text).block(kind)
            self.blocks.append(BibBlock(kind, start, body))
            if kind == "string" and self.defines:
                for index, name in enumerate(body.names):
                    self.strings[name] = body.raw(index)
        else:
            found = plain_entry(*sources, shares_text=self.shares_text)
            if found is None:
                found = EntryScan(*sources, shares_text=self.shares_text).entry()
            key, body = found
            self.entries.append(BibEntry(kind, key, start, body))
        self.at = start + body.length
        return start


def _is_narrow(text: str) -> bool:
    """True where a code point takes one byte, as in most entries on their own. One letter of
    another alphabet makes each code point of the whole file take two or four."""
    return text.isascii() or sys.getsizeof(text) < 2 * len(text)


def _untouched(old: BibFile, same_head: int) -> tuple[int, int]:
    """The number of leading entries that were parsed without a look beyond the common prefix, and
    the offset at which to start parsing: after them and the blocks among them."""
    kept, restart = len(old.entries), 0
    for index, entry in enumerate(old.entries):
        if entry.start + entry.body.reach > same_head:
            kept = index
            break
    boundary = old.entries[kept].start if kept < len(old.entries) else len(old.text) + 1
    for block in old.blocks:
        if block.start < boundary and block.start + block.body.reach > same_head:
            boundary = block.start
            while kept and old.entries[kept - 1].start > boundary:
                kept -= 1
            break
    if kept:
        restart = old.entries[kept - 1].end
    for block in old.blocks:
        if block.start < boundary:
            restart = max(restart, block.start + block.body.length)
    return kept, restart


def _common_ends(old: str, new: str) -> tuple[int, int]:
    """Lengths of the longest common prefix and of the longest common suffix of the rest. Compared
    in chunks that fit the processor's cache, since a slice of a string is a copy."""
    shorter = min(len(old), len(new))
    head, size = 0, _CHUNK
    while head < shorter:
        if head + size <= shorter and new.startswith(old[head : head + size], head):
            head += size
        elif size == 1:
            break
        else:
            size //= 2
    tail, size = 0, _CHUNK
    while tail < shorter - head:
        piece = old[len(old) - tail - size : len(old) - tail] if tail + size <= len(old) else ""
        if tail + size <= shorter - head and new.endswith(piece, 0, len(new) - tail):
            tail += size
        elif size == 1:
            break
        else:
            size //= 2
    return head, tail


# Verification of an edit of a .bib, on the text that would result.
#
# Keys, titles and names come from records, agents and other programs. Whatever they contain, an
# edit is written only if the new text parses as the old entries, unchanged, and the intended new
# entries.

BibOf = Callable[[Path, str], BibFile]
"""The parsed bibliography of a path and its text."""


def check_edits(
    edits: Sequence[FileEdit], texts: Mapping[str, str], bib_of: BibOf | None = None
) -> None:
    """Raise `CitewellError` if an edit has unintended effects.

    `texts` maps paths to the texts that the edits refer to. Edits of files other than .bib are not
    checked. With a `bib_of` that has parsed the file already, only what changes is parsed.
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
    """The first entry or block outside of the edits that no longer parses the same."""
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
            continue  # an edit inside it
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
