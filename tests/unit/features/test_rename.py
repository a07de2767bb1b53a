from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from citewell.documents.keys.table import KeyTable
from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import read_text
from citewell.features.citing.write import write_edits
from citewell.lsp.requests.navigation import rename, renamed_span

PAPERS = r"""
%! one/main.tex
\documentclass{article}
\begin{document}
We \citep[see][p.~1]{old, other} and $x_{\cite{old}}$. % not \cite{old}
\nocite{old}\verb|\cite{old}|
\bibliography{../shared,own}
\end{document}
%! one/own.bib
@misc{b, title={old}, crossref = "old", xdata={x,old}, related={older, old}}
%! two.md
---
bibliography: shared.bib
---
As @old says [-@old, p. 3; see @{old}]. `@old` is code.
%! three.md
---
bibliography: other.bib
---
Another @old.
%! other.bib
@misc{old, title={Another}}
%! shared.bib
@string{old = {Journal}}
@article{ old , title={old}, journal=old, ids={alias}}
@misc{older, annote={like \cite{other,old}}}
%! items.tex
\documentclass{article}
\begin{document}
\cite{item}
\begin{thebibliography}{1}
\bibitem{item} It.
\end{thebibliography}
\end{document}
"""


@pytest.fixture
def at(write_files):
    def place(line, marks):
        assert line in PAPERS
        return write_files(PAPERS.replace(line, f"{line}\n{marks}", 1))

    return place


def renamed(files, new):
    """The texts after renaming, of the files that changed."""
    plan = rename(files.table, files.projects, files.path, files.cursor, new)
    assert plan.problem is None
    before = {edit.path: Path(edit.path).read_text() for edit in plan.edits}
    write_edits(plan.edits, before)
    changed = {}
    for path, text in before.items():
        name = Path(path).relative_to(files.folder).as_posix()
        lines = zip(text.splitlines(), Path(path).read_text().splitlines(), strict=True)
        changed[name] = [new for old, new in lines if old != new]
    return changed


EVERYWHERE = {
    "one/main.tex": [
        r"We \citep[see][p.~1]{new:key, other} and $x_{\cite{new:key}}$. % not \cite{old}",
        r"\nocite{new:key}\verb|\cite{old}|",
    ],
    "one/own.bib": [
        '@misc{b, title={old}, crossref = "new:key", xdata={x,new:key}, related={older, new:key}}'
    ],
    "two.md": ["As @new:key says [-@new:key, p. 3; see @{new:key}]. `@old` is code."],
    "shared.bib": [
        "@article{ new:key , title={old}, journal=old, ids={alias}}",
        r"@misc{older, annote={like \cite{other,new:key}}}",
    ],
}


@pytest.mark.parametrize(
    "line, marks",
    [
        (r"We \citep[see][p.~1]{old, other} and $x_{\cite{old}}$. % not \cite{old}", " " * 22 + "|"),
        ("As @old says [-@old, p. 3; see @{old}]. `@old` is code.", " " * 4 + "|"),
        ("@article{ old , title={old}, journal=old, ids={alias}}", " " * 13 + "|"),
        ('@misc{b, title={old}, crossref = "old", xdata={x,old}, related={older, old}}', " " * 35 + "|"),
    ],
)  # fmt: skip
def test_a_key_is_renamed_everywhere_from_wherever_one_asks(at, line, marks):
    files = at(line, marks)
    assert renamed_span(files.table, files.path, files.cursor)[1] == "old"
    assert renamed(files, "new:key") == EVERYWHERE


def test_a_bibitem_is_renamed_with_its_citations(at):
    files = at(r"\bibitem{item} It.", " " * 10 + "|")
    assert renamed(files, "thing") == {"items.tex": [r"\cite{thing}", r"\bibitem{thing} It."]}


@pytest.mark.parametrize("new", ["thing", "zuse"])
def test_what_bibtex_reads_as_one_key_is_renamed_together(write_files, new):
    text = r"""
%! main.tex
\documentclass{article}
\begin{document}
\cite{Zuse} and \citet{zuse}.
       |
\bibliography{refs}
\end{document}
%! refs.bib
@book{ZUSE, title={Raum}}
"""
    assert renamed(write_files(text), new) == {
        "main.tex": [rf"\cite{{{new}}} and \citet{{{new}}}."],
        "refs.bib": [f"@book{{{new}, title={{Raum}}}}"],
    }


def test_an_undefined_key_is_renamed_in_its_paper(at):
    files = at(
        r"We \citep[see][p.~1]{old, other} and $x_{\cite{old}}$. % not \cite{old}", " " * 28 + "|"
    )
    assert renamed(files, "found")["one/main.tex"] == [
        r"We \citep[see][p.~1]{old, found} and $x_{\cite{old}}$. % not \cite{old}"
    ]


def test_a_string_macro_is_renamed_in_its_own_file(at):
    files = at("@article{ old , title={old}, journal=old, ids={alias}}", " " * 38 + "|")
    assert renamed(files, "jrn") == {
        "shared.bib": ["@string{jrn = {Journal}}",
                       "@article{ old , title={old}, journal=jrn, ids={alias}}"]
    }  # fmt: skip


@pytest.mark.parametrize(
    "new, code, words",
    [
        ("", "rename-invalid", "is empty"),
        ("two words", "rename-invalid", "cannot contain a blank"),
        ("a,b", "rename-invalid", "cannot contain `,`"),
        ("a}b", "rename-invalid", "cannot contain `}`"),
        ("a%b", "rename-invalid", "cannot contain `%`"),
        ("ends.", "rename-invalid", "Markdown cannot cite `ends.`, and two.md"),
        ("older", "rename-taken", "`older` is taken: shared.bib, line 3"),
        ("OLDER", "rename-taken", "`older` is taken"),
        ("b", "rename-taken", "`b` is taken: own.bib, line 1"),
        ("alias", "rename-taken", "`alias` is taken"),
    ],
)
def test_a_key_that_collides_or_cannot_be_is_refused(at, new, code, words):
    files = at("As @old says [-@old, p. 3; see @{old}]. `@old` is code.", "    |")
    plan = rename(files.table, files.projects, files.path, files.cursor, new)
    assert plan.edits == ()
    assert plan.problem.code == code
    assert words in plan.problem.message
    assert plan.problem.hint


def test_case_alone_may_change_and_the_same_name_changes_nothing(at):
    files = at("As @old says [-@old, p. 3; see @{old}]. `@old` is code.", "    |")
    plan = rename(files.table, files.projects, files.path, files.cursor, "Old")
    assert len(plan.edits) == 4
    assert rename(files.table, files.projects, files.path, files.cursor, " old ").edits == ()


def test_a_macro_needs_a_free_name_of_its_own(at):
    files = at("@article{ old , title={old}, journal=old, ids={alias}}", " " * 38 + "|")
    for new, code in [
        ("1st", "rename-invalid"),
        ("a b", "rename-invalid"),
        ("OLD", "rename-taken"),
    ]:
        plan = rename(files.table, files.projects, files.path, files.cursor, new)
        assert plan.problem.code == code


def test_a_bib_outside_of_the_workspace_is_not_written(tmp_path):
    (tmp_path / "w").mkdir()
    (tmp_path / "far.bib").write_text("@misc{k, title={T}}\n")
    main = tmp_path / "w" / "main.tex"
    main.write_text("\\documentclass{article}\\cite{k}\\bibliography{../far}")
    project = Project.open(main, roots=[tmp_path / "w"])
    cache = FileCache()
    table = KeyTable(
        {
            **{p: cache.keys(p, d) for p, d in project.documents.items()},
            **{p: cache.keys(p, b) for p, b in project.bibs.items()},
        }
    )
    plan = rename(table, [project], main, main.read_text().index("k}"), "new")
    assert plan.problem.code == "rename-unwritable"
    assert "far.bib" in plan.problem.message


def bib_files(shared_data: Path) -> list[Path]:
    return sorted((shared_data / "projects").rglob("*.bib"))


def test_renaming_changes_the_name_and_no_other_byte_of_any_real_bib(shared_data, tmp_path):
    """Five keys of each file become another, and become themselves again."""
    dice = random.Random(4)
    tried = 0
    for number, source in enumerate(bib_files(shared_data)):
        copy = tmp_path / str(number) / source.name
        copy.parent.mkdir()
        shutil.copyfile(source, copy)
        whole = copy.read_bytes()
        cache = FileCache()
        entries = cache.bib(copy, read_text(copy).text).entries
        keys = sorted({e.key for e in entries if e.key})
        for key in dice.sample(keys, min(5, len(keys))):
            before = copy.read_bytes()
            file = read_text(copy)
            codec = file.encoding
            table = KeyTable({copy: cache.keys(copy, cache.bib(copy, file.text))})
            places = [*table.uses(key), *table.definitions(key)]
            at = table.definitions(key)[0].span.start
            plan = rename(table, [], copy, at, "renamed:0")
            assert plan.problem is None, (source, key, plan.problem)
            (edit,) = plan.edits
            assert len(edit.edits) == len({p.span for p in places})
            write_edits([edit], {edit.path: file.text})
            after = copy.read_bytes()
            # The bytes between the names are the same, in the same order.
            pieces, last = [], 0
            for change in edit.edits:
                pieces.append(file.text[last : change.span.start])
                assert file.text[change.span.start : change.span.end] == key
                last = change.span.end
            pieces.append(file.text[last:])
            kept = [piece.encode(codec) for piece in pieces]
            head = before[: len(before) - len(file.text.encode(codec))]
            assert after == head + b"renamed:0".join(kept), (source, key)
            assert before == head + key.encode(codec).join(kept), (source, key)
            text = read_text(copy).text
            table = KeyTable({copy: cache.keys(copy, cache.bib(copy, text))})
            back = rename(table, [], copy, at, key)
            if back.problem is None:
                write_edits(back.edits, {back.edits[0].path: text})
                assert copy.read_bytes() == before, (source, key)
            else:
                copy.write_bytes(before)
            tried += 1
        assert copy.read_bytes() == whole
    assert tried > 200


@pytest.mark.parametrize("new", ["2017A&A...600A..10M", "O'Brien+04"])
def test_a_key_may_get_the_signs_that_keys_of_the_paper_have(tmp_path: Path, new: str) -> None:
    (tmp_path / "a.tex").write_text(
        "\\documentclass{article}\\begin{document}\\cite{2016A&A...588A..50M,O'Brien+03}"
        "\\bibliography{r}\\end{document}"
    )
    (tmp_path / "r.bib").write_text("@misc{2016A&A...588A..50M,}\n@misc{O'Brien+03,}\n")
    project = Project.open(tmp_path / "a.tex")
    cache = FileCache()
    files = {path: cache.keys(path, d) for path, d in project.documents.items()}
    files |= {path: cache.keys(path, bib) for path, bib in project.bibs.items()}
    table = KeyTable(files)
    path = tmp_path / "r.bib"
    found = rename(table, [project], path, 8, new)
    assert found is not None and found.problem is None, found
    assert {Path(edit.path).name for edit in found.edits} == {"a.tex", "r.bib"}
    for never in ("a,b", "a{b", "a b", "a%b"):
        refused = rename(table, [project], path, 8, never)
        assert refused is not None and refused.problem is not None
