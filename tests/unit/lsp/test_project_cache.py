"""The papers that the reader thread holds, while other programs write their files."""

from pathlib import Path

import msgspec

from citewell.documents.project import files
from citewell.lsp.documents.buffers import read_file_version
from citewell.lsp.documents.project_state import DocumentInput, ProjectCache
from citewell.options import Options

PAPER = "\\documentclass{article}\n\\begin{document}\n\\cite{a}\n\\bibliography{refs}\n\\end{document}\n"


def write(path: Path, text: str) -> None:
    """As Zotero does: a new file, moved over the old one."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


def reading(folder: Path) -> DocumentInput:
    return DocumentInput(folder / "main.tex", PAPER, {}, (folder,), Options(), 0)


def test_a_bib_that_is_replaced_while_it_is_read_does_not_pass_for_the_one_that_was_read(
    tmp_path, monkeypatch
):
    bib = tmp_path / "refs.bib"
    write(bib, "@misc{old, title={Old}}")
    read_text = files.read_text

    def replaced_meanwhile(path: Path):
        found = read_text(path)
        if path == bib and "old" in found.text:
            write(bib, "@misc{new, title={New}}")
        return found

    monkeypatch.setattr(files, "read_text", replaced_meanwhile)
    papers = ProjectCache()
    _, paper = papers.read(reading(tmp_path))
    assert [entry.key for entry in paper.project.bibs[bib].entries] == ["old"]
    assert dict(paper.file_versions)[bib] != read_file_version(bib), (
        "nobody would look at the new file"
    )
    _, paper = papers.read(reading(tmp_path))
    assert [entry.key for entry in paper.project.bibs[bib].entries] == ["new"]
    assert dict(paper.file_versions)[bib] == read_file_version(bib)


def test_a_bib_that_is_written_anew_with_the_same_text_is_looked_at_once(tmp_path):
    bib = tmp_path / "refs.bib"
    write(bib, "@misc{old, title={Old}}")
    papers = ProjectCache()
    _, first = papers.read(reading(tmp_path))
    write(bib, "@misc{old, title={Old}}")
    assert dict(first.file_versions)[bib] != read_file_version(bib)
    _, again = papers.read(reading(tmp_path))
    assert again is first
    assert dict(again.file_versions)[bib] == read_file_version(bib)


def test_a_file_that_was_replaced_is_outdated_for_a_plan_made_before(tmp_path):
    bib, missing = tmp_path / "refs.bib", tmp_path / "missing.bib"
    write(bib, "@misc{old, title={Old}}")
    papers, texts = ProjectCache(), {bib: "@misc{old, title={Old}}", missing: ""}
    assert papers.outdated(reading(tmp_path), texts) == []
    write(bib, "@misc{new, title={New}}")
    write(missing, "@misc{b}")
    assert papers.outdated(reading(tmp_path), texts) == [bib, missing]


def test_papers_that_use_the_same_bib_share_its_tables_and_not_their_citations(tmp_path):
    bib = tmp_path / "refs.bib"
    write(bib, "@misc{a, title={One}}\n@misc{b, title={Two}}")
    papers = ProjectCache()
    first = reading(tmp_path)
    other = msgspec.structs.replace(
        first, path=tmp_path / "other.tex", text=PAPER.replace("{a}", "{b}")
    )
    _, one = papers.read(first)
    _, two = papers.read(other)
    assert two.tables is one.tables
    assert [match.entry.key for match in one.index.search("", 2)] == ["a", "b"]
    assert [match.entry.key for match in two.index.search("", 2)] == ["b", "a"]
    edited = msgspec.structs.replace(first, text=PAPER.replace("{a}", "{a,b}"))
    _, after = papers.read(edited, rescan=True)
    assert after is not one
    assert after.tables is one.tables, "an edit of the manuscript costs nothing of the .bib"
    write(bib, "@misc{a, title={One}}\n@misc{c, title={Three}}")
    _, changed = papers.read(edited, rescan=True)
    assert changed.taken == {"a", "c"}
    assert {match.entry.key for match in changed.index.search("", 3)} == {"a", "c"}


def test_the_editors_copy_of_a_bib_takes_no_memory_of_its_own(tmp_path):
    bib = tmp_path / "refs.bib"
    write(bib, text := "@misc{a, title={One}}")
    papers = ProjectCache()
    _, paper = papers.read(reading(tmp_path))
    copied = "".join(list(text))
    cache = papers._cache(Options())
    assert cache.text(bib, {bib: copied}.get) is paper.project.bibs[bib].text
    assert cache.file_version(bib) is None, "the editor's text counts, not the file"
