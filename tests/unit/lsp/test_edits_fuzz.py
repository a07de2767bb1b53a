"""Ten thousand random edits: what is kept from edit to edit equals what is read anew.

A workspace of two papers that share a .bib is edited as an editor and other programs do: ranges in
the three position encodings, several changes in one message, files written, replaced and removed on
disk. After every few edits the texts, the scanned documents, the parsed bibliographies and the table
of keys are compared with those that a fresh start makes of the same texts.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from lsprotocol import types

from citewell.documents.bib.reader import parse_bib
from citewell.lsp.documents.project_state import DocumentInput, LinkedProjects, ProjectCache
from citewell.lsp.protocol.open_document import LineIndex, OpenDocument
from citewell.model.document import Span
from citewell.options import Options

EDITS = 10_000
FILES = {
    "main.tex": "\\documentclass{article}\n\\newcommand{\\own}[1]{\\citep{#1}}\n\\begin{document}\n"
    "See \\cite{a,b} and \\own{c}.\n\\input{part}\n\\bibliography{refs,more}\n\\end{document}\n",
    "part.tex": "A part \\own{a} \\citet[p.~1]{b}.\n",
    "notes.md": "---\nbibliography: refs.bib\n---\nWe follow @a and [@b; @c].\n",
    "refs.bib": "@string{j = {J}}\n@article{a, title={A}, journal=j}\n@misc{b, crossref={a}}\n",
    "more.bib": "@book{c,\n  title = {C},\n}\n",
}
PIECES = [
    *"\\{}[]()<>$%@,;#\n \r", "\\cite{a}", "\\own{b}", "[@a; @c]", "@b", "\\nocite{*}", "\\input{part}",
    "\\bibliography{refs}", "\\newcommand{\\own}[1]{\\cite{#1}}", "\\begin{verbatim}", "\\end{verbatim}",
    "@misc{d, title={D}}\n", "@string{k = {K}}\n", "xdata={a},", "ids={e, f},", "\r\n", "é", "神", "🎉",
    "bibliography: more.bib\n", "---\n", "\\begin{document}", "% ", "word ", "\\bibitem{a}", "\\iffalse",
]  # fmt: skip


def shown(linked: LinkedProjects) -> object:
    """All that the projects of a file say, without the identity of its objects."""

    def keys(table):
        files = {
            path: (
                sorted((p.key, p.span, p.kind) for k in keys_of(file) for p in file.uses(k)),
                sorted((p.key, p.span, p.kind) for k in keys_of(file) for p in file.definitions(k)),
            )
            for path, file in table.files.items()
        }  # fmt: skip
        return files, set(table.groups), table.counts

    return (
        linked.document,
        [(p.root, p.documents, {b: bib_view(f) for b, f in p.bibs.items()}, p.missing_bibs)
         for p in linked.projects],
        bib_view(linked.bib) if linked.bib else None,
        keys(linked.keys),
        keys(linked.all_keys),
    )  # fmt: skip


def keys_of(file):
    return ["a", "b", "c", "d", "e", "f", "*"]


def bib_view(bib):
    return (
        [(e.type, e.key, e.start, e.body.text, e.body.marks, e.body.faults) for e in bib.entries],
        [(b.type, b.start, b.body.text) for b in bib.blocks],
        bib.strings,
    )


class Workbench:
    """An editor over a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.dice = random.Random(seed)
        self.papers = ProjectCache()
        self.open: dict[Path, OpenDocument] = {}
        self.texts: dict[Path, str] = {}
        self.edits = 0
        self.epoch = 0
        """As in a session: rises when a file is opened, closed or changed by others."""
        for name, text in FILES.items():
            (folder / name).write_bytes(text.encode())

    def edit(self) -> None:
        self.edits += 1
        path = self.folder / self.dice.choice(sorted(FILES))
        act = self.dice.random()
        self.epoch += act < 0.03 or path not in self.open
        if act < 0.02:
            self.outside(path)
        elif path not in self.open:
            text = path.read_bytes().decode() if path.is_file() else ""
            encoding = self.dice.choice(["utf-8", "utf-16", "utf-32"])
            self.open[path] = OpenDocument(path.as_uri(), text, 1, "latex", encoding)
            self.texts[path] = text
        elif act < 0.03:
            del self.open[path], self.texts[path]
        elif act < 0.06 or len(self.texts[path]) > 1_500:
            self.change(path, None, FILES[path.name])
        else:
            text = self.texts[path]
            start = self.dice.randint(0, len(text))
            end = min(len(text), start + self.dice.choice([0, 0, 0, 1, 2, 9]))
            self.change(path, Span(start, end), self.dice.choice([*PIECES, ""]))

    def change(self, path: Path, span: Span | None, new: str) -> None:
        """One content change; the plain text says what must come of it."""
        document, text = self.open[path], self.texts[path]
        if span is None:
            document.apply_change(types.TextDocumentContentChangeWholeDocument(new))
            self.texts[path] = new
        else:
            # A position cannot stand between the two characters of one line end.
            inside = (text[at - 1 : at + 1] == "\r\n" for at in (span.start, span.end))
            if any(inside):
                return
            range_ = LineIndex(text, document.encoding).range(span)
            document.apply_change(types.TextDocumentContentChangePartial(range=range_, text=new))
            self.texts[path] = text[: span.start] + new + text[span.end :]
        assert document.source == self.texts[path]

    def outside(self, path: Path) -> None:
        """Another program writes, replaces or removes the file."""
        kind = self.dice.randrange(3)
        if kind == 0:
            path.unlink(missing_ok=True)
            return
        text = FILES[path.name] + self.dice.choice(PIECES)
        place = path.with_name("new.tmp") if kind == 1 else path
        place.write_bytes(text.encode())
        place.replace(path)

    def reading(self, path: Path) -> DocumentInput:
        text = self.texts.get(path)
        if text is None:
            text = path.read_bytes().decode() if path.is_file() else ""
        return DocumentInput(
            path=path, text=text, texts=dict(self.texts), roots=(self.folder,), options=Options(),
            epoch=self.epoch, is_bib=path.suffix == ".bib",
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_over_random_edits_equals_what_is_read_anew(tmp_path: Path, seed: int) -> None:
    bench = Workbench(tmp_path, seed)
    count = 0
    while bench.edits < EDITS // 4:
        for _ in range(bench.dice.randint(1, 9)):
            bench.edit()
        path = tmp_path / bench.dice.choice(sorted(FILES))
        wanted = bench.reading(path)
        kept = bench.papers.linked(wanted)
        if bench.dice.random() < 0.5:
            fresh = ProjectCache().linked(wanted)
            assert shown(kept) == shown(fresh)
            count += 1
        if path.suffix == ".bib":
            assert bib_view(bench.papers.bib(wanted)) == bib_view(parse_bib(wanted.text, str(path)))
        else:
            document, _ = bench.papers.read(wanted)
            assert document == ProjectCache().read(wanted)[0]
    assert count > 100
