"""Where keys stand: in documents, in .bib files, over the projects of a workspace, after edits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.documents.keys.table import KeyPlace, KeyTable
from citewell.documents.project.files import FileCache
from citewell.documents.project.workspace import Workspace

Files = Callable[..., Any]

TWO_PAPERS = r"""
%! one/main.tex
\documentclass{article}
\begin{document}
\input{part}
\cite{a} \nocite{b}
\bibliography{../shared,own}
\end{document}
%! one/part.tex
See \citep[p.~1]{a,c}.
%! one/own.bib
@misc{c, title={C}, crossref={a}, ids={cc, see}, note={after \cite{b}}}
%! two/paper.md
---
bibliography: ../shared.bib
---
We follow @a and [@b; @a].
%! two/other.md
---
bibliography: third.bib
---
This @a is another work.
%! two/third.bib
@misc{a, title={Another}}
%! shared.bib
@article{a, title={A}}
@article{b, title={B}, xdata = "a"}
@article{a, title={Again}}
%! notes/loose.tex
\begin{thebibliography}{9}
\bibitem[One]{a} A.
\end{thebibliography}
"""


class Texts:
    """The files of a folder, some with unsaved texts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.unsaved: dict[Path, str] = {}
        self.workspace = Workspace(FileCache(), roots=[folder])
        self.refresh()

    def refresh(self) -> None:
        self.workspace.refresh(self.unsaved.get, list(self.unsaved))

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = self.unsaved.get(path) or path.read_text(encoding="utf-8")
        assert old in text
        self.unsaved[path] = text.replace(old, new)
        self.refresh()

    def table(self, name: str) -> KeyTable:
        projects = self.workspace.of(self.folder / name)
        groups = [(*p.documents, *p.bibs) for p in projects]
        return KeyTable(self.workspace.keys(projects), groups)

    def wide(self, name: str) -> KeyTable:
        projects = self.workspace.sharing(self.workspace.of(self.folder / name))
        groups = [(*p.documents, *p.bibs) for p in projects]
        return KeyTable(self.workspace.keys(projects), groups)

    def show(self, places: list[KeyPlace]) -> list[str]:
        """Each place as file:line kind, once it is sure that the key stands there."""
        shown = []
        for place in places:
            text = place.path.read_text(encoding="utf-8")
            assert text[place.span.start : place.span.end] == place.key
            line = text.count("\n", 0, place.span.start) + 1
            name = place.path.relative_to(self.folder).as_posix()
            shown.append(f"{name}:{line} {place.kind}")
        return shown


@pytest.fixture
def texts(fixture_files: Files, tmp_path: Path) -> Texts:
    return Texts(fixture_files(TWO_PAPERS).write(tmp_path / "w"))


def test_a_key_is_found_in_every_file_of_the_paper(texts: Texts) -> None:
    table = texts.table("one/main.tex")
    assert texts.show(table.uses("a")) == [
        "one/main.tex:4 citation",
        "one/part.tex:1 citation",
        "shared.bib:2 link",
        "one/own.bib:1 link",
    ]
    assert texts.show(table.uses("b")) == ["one/main.tex:4 nocite", "one/own.bib:1 link"]
    assert table.count("a") == 2
    assert table.count("nobody") == 0


def test_definitions_are_entries_in_the_order_of_declaration_then_aliases(texts: Texts) -> None:
    table = texts.table("one/main.tex")
    assert texts.show(table.definitions("a")) == ["shared.bib:1 entry", "shared.bib:3 entry"]
    assert texts.show(table.definitions("cc")) == ["one/own.bib:1 alias"]
    found = table.definition("c")
    assert found is not None and found.entry is not None
    assert found.entry.get("title") == "C"
    assert not table.is_defined("see also")
    assert texts.show(texts.table("notes/loose.tex").definitions("a")) == [
        "notes/loose.tex:2 bibitem"
    ]


def test_a_bib_reaches_every_document_that_uses_it(texts: Texts) -> None:
    table = texts.table("shared.bib")
    assert texts.show(table.uses("a")) == [
        "one/main.tex:4 citation",
        "one/part.tex:1 citation",
        "shared.bib:2 link",
        "one/own.bib:1 link",
        "two/paper.md:4 citation",
        "two/paper.md:4 citation",
    ]
    assert table.count("a") == 4


def test_a_key_means_the_same_work_only_where_its_bib_is_used(texts: Texts) -> None:
    wide = texts.wide("one/part.tex")
    reached = wide.reach(texts.folder / "one/part.tex", "a")
    assert {path.name for path in reached} == {
        "main.tex", "part.tex", "own.bib", "shared.bib", "paper.md",
    }  # fmt: skip
    # What only this paper's own .bib defines stays in this paper.
    own = wide.reach(texts.folder / "one/part.tex", "c")
    assert "paper.md" not in {path.name for path in own}


def test_the_cursor_finds_keys_aliases_links_and_bibitems(texts: Texts) -> None:
    table = texts.table("one/main.tex")
    for name, needle, expected in [
        ("one/own.bib", "c, title", "c entry"),
        ("one/own.bib", "a}", "a link"),
        ("one/own.bib", "see", "see alias"),
        ("one/own.bib", "b}}", "b link"),
        ("one/part.tex", "c}", "c citation"),
        ("one/main.tex", "b}", "b nocite"),
    ]:
        path = texts.folder / name
        place = table.at(path, path.read_text(encoding="utf-8").index(needle))
        assert place is not None and f"{place.key} {place.kind}" == expected
    assert table.at(texts.folder / "one/own.bib", 0) is None
    assert table.at(texts.folder / "gone", 0) is None


def test_an_edit_of_one_file_costs_that_file_and_is_seen(texts: Texts) -> None:
    before = texts.table("shared.bib")
    texts.edit("one/part.tex", "{a,c}", "{c,new}")
    projects = texts.workspace.of(texts.folder / "shared.bib")
    files = texts.workspace.keys(projects)
    same = {path for path in files if files[path] is before.files.get(path)}
    assert {path.name for path in files} - {path.name for path in same} == {"part.tex"}
    after = texts.table("shared.bib")
    assert (after.count("a"), after.count("c"), after.count("new")) == (3, 1, 1)
    texts.edit("shared.bib", "@article{b", "@article{renamed")
    assert not texts.table("two/paper.md").is_defined("b")
    assert texts.table("two/paper.md").is_defined("renamed")


def test_files_that_come_and_go_are_followed(texts: Texts) -> None:
    (texts.folder / "three.md").write_text("---\nbibliography: shared\n---\n@b\n")
    texts.refresh()
    assert texts.table("shared.bib").count("b") == 3
    (texts.folder / "three.md").unlink()
    (texts.folder / "one/part.tex").unlink()
    texts.refresh()
    assert texts.table("shared.bib").count("b") == 2
    assert texts.table("shared.bib").count("c") == 0


def test_a_bib_replaced_by_create_and_move_is_read_again(texts: Texts) -> None:
    new = texts.folder / "shared.bib.tmp"
    new.write_text("@article{moved, title={M}}\n")
    new.replace(texts.folder / "shared.bib")
    texts.refresh()
    table = texts.table("one/main.tex")
    assert table.is_defined("moved")
    assert not table.is_defined("b")


def test_a_bib_outside_of_the_workspace_reaches_its_paper(
    fixture_files: Files, tmp_path: Path
) -> None:
    folder = fixture_files(TWO_PAPERS).write(tmp_path / "w")
    workspace = Workspace(FileCache(), roots=[])
    workspace.refresh(lambda path: None)
    assert workspace.projects == ()
    found = workspace.of(folder / "two/third.bib")
    assert [p.root.name for p in found] == ["other.md"]
    assert [p.root.name for p in workspace.of(folder / "one/main.tex")] == ["main.tex"]
    assert workspace.of(folder / "gone.bib") == ()


def test_five_hundred_files_are_looked_at_again_in_no_time(tmp_path: Path) -> None:
    import time

    (tmp_path / "refs.bib").write_text(
        "".join(f"@misc{{k{n}, title={{T}}}}\n" for n in range(2000))
    )
    for number in range(500):
        cites = " ".join(f"[@k{(number * 7 + n) % 2000}]" for n in range(40))
        (tmp_path / f"n{number:03}.md").write_text(f"---\nbibliography: refs.bib\n---\n{cites}\n")
    texts = Texts(tmp_path)
    assert sum(texts.table("refs.bib").counts.values()) == 20_000
    unsaved = texts.folder / "n250.md"
    texts.unsaved[unsaved] = unsaved.read_text() + "[@k1]"
    start = time.process_time()
    texts.refresh()
    assert time.process_time() - start < 1
    assert sum(texts.table("refs.bib").counts.values()) == 20_001


def test_a_document_that_is_not_saved_yet_belongs_to_its_bib(texts: Texts) -> None:
    path = texts.folder / "new.tex"
    texts.unsaved[path] = "\\documentclass{article}\\bibliography{shared}\\cite{b}"
    texts.refresh()
    assert path in texts.table("shared.bib").files
