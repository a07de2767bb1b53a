from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.documents.project.declared_bibs import declaration_edit
from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import apply_edits, read_text, write_text
from citewell.options.tree import BibOptions, DocumentOptions

Files = Callable[..., Any]

BOOK = r"""
%! main.tex
\documentclass{book}
\usepackage{own}
\input{macros}
\title{A Book}
\begin{document}
\include{chapters/one}
\input{chapters/two.tex}
\bibliography{bib/first,second}
\end{document}
%! macros.tex
\newcommand{\pic}[2]{#1 \cite{#2}}
%! own.sty
\newcommand{\own}[1]{\citep{#1}}
%! chapters/one.tex
One \cite{a} and \own{b}.
\subfile{chapters/deep/three}
%! chapters/two.tex
\begin{abstract}About it.\end{abstract}
Two \pic{x}{c} \cite{nowhere}.
%! chapters/deep/three.tex
\input{main}
Three \cite{a}.
%! bib/first.bib
@article{a, title={On {Alpha}}, author={Doe, Jane and Roe, R.}, year={2001}, doi={10.1234/A}}
%! second.bib
@book{b, title={Beta}, year=1999}
@book{c, title={Gamma}}
@book{unused, title={Delta}}
"""


@pytest.fixture
def book(fixture_files: Files, tmp_path: Path) -> Path:
    return fixture_files(BOOK).write(tmp_path / "book")


def names(project: Project) -> list[str]:
    return [path.relative_to(project.root.parent).as_posix() for path in project.documents]


@pytest.mark.parametrize("opened", ["main.tex", "chapters/one.tex", "chapters/deep/three.tex"])
def test_any_file_opens_the_whole_paper(book: Path, opened: str) -> None:
    project = Project.open(book / opened)
    assert project.root == book / "main.tex"
    assert names(project) == [
        "main.tex",
        "macros.tex",
        "chapters/one.tex",
        "chapters/deep/three.tex",
        "chapters/two.tex",
    ]
    assert [path.name for path in project.bibs] == ["first.bib", "second.bib"]
    assert project.document.path.endswith(Path(opened).name)
    assert project.problems == []


MACROS = r"""
%! main.tex
\documentclass{book}
\input{macros}
\begin{document}
\chap{Start}{one}
\dir[appendix]{more}
\bibliography{refs}
\end{document}
%! macros.tex
\newcommand{\part@of}[1]{\input{chapters/#1}}
\newcommand{\chap}[2]{\chapter{#1}\label{c:#2}\input{chapters/#2}}
\newcommand*{\dir}[2][body]{\import{#1/}{#2.tex}}
%! chapters/one.tex
\def\deeper#1{\input{chapters/#1}}
\newcommand\two{\input{chapters/two}}
\deeper{a}
%! chapters/a.tex
\citep{inner} \two
%! chapters/two.tex
\cite{last}
%! appendix/more.tex
\deeper{a}
%! refs.bib
@book{inner, title={Inner}}
"""


@pytest.mark.parametrize("opened", ["main.tex", "chapters/one.tex", "chapters/two.tex"])
def test_include_commands_of_the_authors_own_are_followed(
    fixture_files: Files, tmp_path: Path, opened: str
) -> None:
    book = fixture_files(MACROS).write(tmp_path / "book")
    project = Project.open(book / opened)
    assert project.root == book / "main.tex"
    assert set(names(project)) == {
        "main.tex",
        "macros.tex",
        "chapters/one.tex",
        "appendix/more.tex",
        "chapters/a.tex",
        "chapters/two.tex",
    }
    assert set(project.cited_keys()) == {"inner", "last"}
    assert [path.name for path in project.bibs] == ["refs.bib"]


def test_a_new_include_command_opens_the_paper_anew(fixture_files: Files, tmp_path: Path) -> None:
    book = fixture_files(MACROS).write(tmp_path / "book")
    project = Project.open(book / "main.tex")
    text = (book / "macros.tex").read_text(encoding="utf-8")
    texts = {path: document.text for path, document in project.documents.items()}
    texts |= {path: bib.text for path, bib in project.bibs.items()}
    assert project.with_changes(texts.get) is not None
    texts[book / "macros.tex"] = text.replace("chapters/#2", "elsewhere/#2")
    assert project.with_changes(texts.get) is None


def test_an_include_command_of_a_style_file_is_followed(
    fixture_files: Files, tmp_path: Path
) -> None:
    text = r"""
%! main.tex
\documentclass{article}
\usepackage{own}
\begin{document}
\body{one}
\end{document}
%! own.sty
\NewDocumentCommand{\body}{O{x} m}{\InputIfFileExists{#1/#2}{}{}}
%! x/one.tex
\cite{a}
"""
    book = fixture_files(text).write(tmp_path / "book")
    assert names(Project.open(book / "main.tex")) == ["main.tex", "x/one.tex"]


def test_own_commands_are_known_in_every_file(book: Path) -> None:
    project = Project.open(book / "main.tex")
    assert project.cited_keys() == ("a", "b", "c", "nowhere")
    assert [path.name for path, _ in project.uses("a")] == ["one.tex", "three.tex"]
    assert [path.name for path in project.styles] == ["own.sty"]


def test_entries_that_nobody_cites_yet_are_told_unless_the_bib_is_a_collection(
    tmp_path: Path,
) -> None:
    entries = "@misc{a, title={Cited}}\n@misc{b, title={Waiting}}\n@misc{c}\n"
    (tmp_path / "refs.bib").write_text(entries)
    main = tmp_path / "main.tex"
    main.write_text(
        "\\documentclass{article}\\begin{document}\\cite{a}\\bibliography{refs}\\end{document}"
    )
    assert Project.open(main).citing_paper().uncited == ("Waiting",)
    many = "".join(f"@misc{{k{n}, title={{Title {n}}}}}\n" for n in range(400))
    (tmp_path / "refs.bib").write_text(entries + many)
    assert Project.open(main).citing_paper().uncited == ()


def test_the_citing_paper_is_gathered_from_all_files(book: Path) -> None:
    paper = Project.open(book / "chapters/one.tex").citing_paper()
    assert (paper.title, paper.abstract) == ("A Book", "About it.")
    assert [(r.key, r.title, r.year) for r in paper.references] == [
        ("a", "On Alpha", 2001),
        ("b", "Beta", 1999),
        ("c", "Gamma", None),
    ]
    assert paper.references[0].authors == ("Doe", "Roe")
    assert paper.references[0].doi == "10.1234/a"
    assert [r.times for r in paper.references] == [2, 1, 1], "as often as its text cites each"


def test_of_entries_with_one_key_the_first_of_the_first_bib_counts(tmp_path: Path) -> None:
    main = "\\documentclass{article}\n\\begin{document}\n\\bibliography{b,a}\n\\end{document}\n"
    (tmp_path / "main.tex").write_text(main)
    (tmp_path / "a.bib").write_text("@misc{k, title={A}}\n@misc{only, title={Only}}")
    (tmp_path / "b.bib").write_text("@misc{k, title={First}}\n@misc{k, title={Second}}")
    project = Project.open(tmp_path / "main.tex")
    path, entry = project.entry("k") or (None, None)
    assert entry is not None
    assert (path, entry.get("title")) == (tmp_path / "b.bib", "First")
    assert (project.entry("only") or (None,))[0] == tmp_path / "a.bib"
    assert project.entry("none") is None


def test_unsaved_buffers_come_before_the_disk(book: Path) -> None:
    buffers = {
        book / "chapters/one.tex": r"Now \cite{new}.",
        book / "second.bib": "@book{new, title={New}}",
        book / "bib/first.bib": "",
    }
    project = Project.open(book / "chapters/one.tex", read=buffers.get)
    assert "new" in project.cited_keys()
    assert [reference.key for reference in project.references()] == ["new"]


def test_a_cache_reads_only_what_changed(book: Path) -> None:
    cache = FileCache()
    first = Project.open(book / "main.tex", cache=cache)
    again = Project.open(book / "main.tex", cache=cache)
    assert all(again.documents[path] is document for path, document in first.documents.items())
    assert all(again.bibs[path] is bib for path, bib in first.bibs.items())
    path = book / "second.bib"
    path.write_text(path.read_text(encoding="utf-8") + "@misc{d, title={D}}\n", encoding="utf-8")
    third = Project.open(book / "main.tex", cache=cache)
    assert [entry.key for entry in third.bibs[path].entries] == ["b", "c", "unused", "d"]
    assert third.bibs[book / "bib/first.bib"] is first.bibs[book / "bib/first.bib"]


def test_a_magic_comment_names_the_root_wherever_it_lies(
    fixture_files: Files, tmp_path: Path
) -> None:
    folder = fixture_files(
        r"""
%! a/root.tex
\begin{document} \bibliography{r} \end{document}
%! b/part.tex
% !TeX root = ../a/root
Text \cite{x}.
%! a/r.bib
@book{x, title={X}}
"""
    ).write(tmp_path)
    project = Project.open(folder / "b/part.tex")
    # It is believed even though no include leads from it to the part.
    assert project.path in project.documents
    assert project.root == folder / "a/root.tex"
    assert [path.name for path in project.bibs] == ["r.bib"]


def test_the_search_for_a_root_stays_in_the_workspace(fixture_files: Files, tmp_path: Path) -> None:
    folder = fixture_files(
        r"""
%! main.tex
\documentclass{x} \input{sub/part}
%! sub/part.tex
Text.
"""
    ).write(tmp_path)
    assert Project.open(folder / "sub/part.tex", roots=[folder]).root.name == "main.tex"
    assert Project.open(folder / "sub/part.tex", roots=[folder / "sub"]).root.name == "part.tex"


def test_a_declared_bib_that_is_not_there_is_a_problem_and_still_the_target(
    tmp_path: Path,
) -> None:
    main = tmp_path / "main.tex"
    main.write_text("\\documentclass{x}\\begin{document}\\bibliography{new}", encoding="utf-8")
    project = Project.open(main)
    assert [problem.code for problem in project.problems] == ["bib-missing"]
    assert project.target_bib() == tmp_path / "new.bib"
    assert project.declaration_edit(tmp_path / "new.bib") is None


def test_includes_read_no_other_files_than_sources(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("\\cite{secret}", encoding="utf-8")
    (tmp_path / "data.txt").write_text("\\cite{data}", encoding="utf-8")
    main = tmp_path / "main.tex"
    main.write_text(
        "\\input{secret}\\input{data.txt}\\input{/etc/passwd}\\cite{a}", encoding="utf-8"
    )
    project = Project.open(main)
    assert list(project.documents) == [main]
    assert project.cited_keys() == ("a",)


def test_binary_and_unreadable_files_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "bin.tex").write_bytes(b"\\cite{x}\x00\x01\x02" * 100)
    main = tmp_path / "main.tex"
    main.write_bytes(b"\\input{bin}\\input{gone}\\cite{caf\xe9}\r\n")
    project = Project.open(main)
    assert project.cited_keys() == ("café",)


def test_a_bib_opens_the_paper_that_declares_it(book: Path) -> None:
    project = Project.open(book / "bib/first.bib")
    assert project.root == book / "main.tex"
    assert project.document is project.root_document
    assert "a" in project.cited_keys()


def test_a_bib_that_nobody_declares_is_a_project_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "lib.bib"
    path.write_text("@book{a, title={A \\cite{x}}}", encoding="utf-8")
    project = Project.open(path)
    assert [entry.key for _, entry in project.entries()] == ["a"]
    assert project.cited_keys() == ()
    assert project.target_bib() == path


def test_a_class_in_an_included_preamble_still_makes_the_main_file(
    fixture_files: Files, tmp_path: Path
) -> None:
    folder = fixture_files(
        r"""
%! main.tex
\input{preamble}
\begin{document}\input{part}\end{document}
%! preamble.tex
\documentclass{article}
\usepackage{biblatex}
\addbibresource{r.bib}
%! part.tex
Text \cite{a}.
%! r.bib
@book{a, title={A}}
"""
    ).write(tmp_path)
    project = Project.open(folder / "part.tex")
    assert project.root == folder / "main.tex"
    assert [reference.key for reference in project.references()] == ["a"]


def test_quarto_projects_declare_their_bibliography_once(
    fixture_files: Files, tmp_path: Path
) -> None:
    folder = fixture_files(
        """
%! _quarto.yml
project:
  type: book
bibliography: refs.bib
%! chapters/one.qmd
Text [@a].
%! refs.bib
@book{a, title={A}}
"""
    ).write(tmp_path)
    project = Project.open(folder / "chapters/one.qmd")
    assert [reference.key for reference in project.references()] == ["a"]
    assert project.declaration_edit(project.target_bib()) is None


# Where a new entry goes


def test_the_setting_names_the_target(book: Path) -> None:
    project = Project.open(book / "main.tex", bib_options=BibOptions(target="bib/mine.bib"))
    assert project.target_bib() == book / "bib/mine.bib"


def test_nothing_outside_of_the_workspace_is_a_target(fixture_files: Files, tmp_path: Path) -> None:
    folder = fixture_files(
        r"""
%! work/main.tex
\documentclass{x}\begin{document}\bibliography{../outside,inside}\end{document}
%! work/inside.bib
@book{a, title={A}}
%! outside.bib
@book{b, title={B}}
"""
    ).write(tmp_path)
    project = Project.open(folder / "work/main.tex", roots=[folder / "work"])
    assert [path.name for path in project.bibs] == ["outside.bib", "inside.bib"]
    assert project.target_bib() == folder / "work/inside.bib"
    escape = BibOptions(target="../outside.bib")
    project = Project.open(folder / "work/main.tex", roots=[folder / "work"], bib_options=escape)
    assert project.target_bib() == folder / "outside.bib"
    assert not project.may_write(project.target_bib()), "which is said, and nothing is written"
    link = folder / "work" / "linked.bib"
    try:
        link.symlink_to(folder / "outside.bib")
    except OSError:
        pytest.skip("symbolic links are not allowed here")
    assert not project.may_write(link)


def test_a_read_only_bib_and_a_collection_are_passed_over(tmp_path: Path) -> None:
    for name in ("anthology", "frozen", "custom"):
        (tmp_path / f"{name}.bib").write_text("@book{a, title={A}}", encoding="utf-8")
    (tmp_path / "frozen.bib").chmod(0o444)
    main = tmp_path / "main.tex"
    main.write_text("\\bibliography{anthology,frozen,custom}", encoding="utf-8")
    assert Project.open(main).target_bib() == tmp_path / "custom.bib"
    main.write_text("\\bibliography{anthology,frozen}", encoding="utf-8")
    project = Project.open(main)
    assert project.target_bib() == tmp_path / "frozen.bib"
    assert not project.may_write(project.target_bib()), "which is said, and nothing is written"


def test_a_files_own_declaration_comes_first(fixture_files: Files, tmp_path: Path) -> None:
    folder = fixture_files(
        r"""
%! main.tex
\documentclass{x}\input{one}\bibliography{all}
%! one.tex
\cite{a}\bibliography{one}
%! all.bib
%% empty
%! one.bib
%% empty
"""
    ).write(tmp_path)
    project = Project.open(folder / "main.tex")
    assert project.target_bib() == folder / "all.bib"
    assert project.target_bib(folder / "one.tex") == folder / "one.bib"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "\\documentclass{article}\n\\begin{document}\nText.\n\\end{document}\n",
            "\\documentclass{article}\n\\begin{document}\nText.\n"
            "\\bibliographystyle{plain}\n\\bibliography{references}\n\\end{document}\n",
        ),
        (
            "\\documentclass{article}\r\n\\usepackage{natbib}\r\n\\begin{document}\r\nText. \\end{document}",
            "\\documentclass{article}\r\n\\usepackage{natbib}\r\n\\begin{document}\r\nText. "
            "\r\n\\bibliographystyle{plainnat}\r\n\\bibliography{references}\r\n\\end{document}",
        ),
        (
            "\\documentclass{IEEEtran}\n\\begin{document}\n\\end{document}\n",
            "\\documentclass{IEEEtran}\n\\begin{document}\n"
            "\\bibliographystyle{IEEEtran}\n\\bibliography{references}\n\\end{document}\n",
        ),
        (
            "\\documentclass{x}\n\\bibliographystyle{abc}\n\\begin{document}\n\\end{document}\n",
            "\\documentclass{x}\n\\bibliographystyle{abc}\n\\begin{document}\n"
            "\\bibliography{references}\n\\end{document}\n",
        ),
        (
            "\\documentclass{x}\n\\usepackage{biblatex}\n  \\begin{document}\n\\end{document}\n",
            "\\documentclass{x}\n\\usepackage{biblatex}\n\\addbibresource{references.bib}\n"
            "  \\begin{document}\n\\printbibliography\n\\end{document}\n",
        ),
        (
            "\\documentclass{x}\n\\usepackage{biblatex}\n\\addbibresource[x]{a.bib}\n\\begin{document}\n",
            "\\documentclass{x}\n\\usepackage{biblatex}\n\\addbibresource[x]{a.bib}\n"
            "\\addbibresource{references.bib}\n\\begin{document}\n",
        ),
        (
            "\\documentclass{x}\\begin{document}\\bibliography{a, b}\\end{document}",
            "\\documentclass{x}\\begin{document}\\bibliography{a, b,references}\\end{document}",
        ),
        (
            "\\documentclass{x}\\begin{document}\n% \\bibliography{}\n\\bibliographystyle{abc}"
            "\\bibliography{ }\\end{document}",
            "\\documentclass{x}\\begin{document}\n% \\bibliography{}\n\\bibliographystyle{abc}"
            "\\bibliography{references}\\end{document}",
        ),
        (
            "\\documentclass{x}\\begin{document}\n\\bibliography{}\n\\end{document}",
            "\\documentclass{x}\\begin{document}\n\\bibliographystyle{plain}\n"
            "\\bibliography{references}\n\\end{document}",
        ),
        (
            "\\documentclass{x}\\usepackage{biblatex}\\addbibresource[a]{}\\begin{document}x",
            "\\documentclass{x}\\usepackage{biblatex}\\addbibresource[a]{references.bib}"
            "\\begin{document}x",
        ),
        (
            "\\documentclass{x}\n\\begin{document}\nstill typing",
            "\\documentclass{x}\n\\begin{document}\nstill typing"
            "\n\\bibliographystyle{plain}\n\\bibliography{references}\n",
        ),
        ("no document here", None),
        (
            "\\documentclass{x}\\begin{document}\\begin{thebibliography}{9}\\bibitem{a} A."
            "\\end{thebibliography}\\end{document}",
            None,
        ),
    ],
)
def test_a_new_bib_is_declared_where_latex_wants_it(
    tmp_path: Path, before: str, after: str | None
) -> None:
    check_declaration(tmp_path / "main.tex", before, after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Text.\n", "---\nbibliography: references.bib\n---\n\nText.\n"),
        ("---\ntitle: T\n---\nx", "---\ntitle: T\nbibliography: references.bib\n---\nx"),
        (
            "---\r\ntitle: T\r\n---\r\nx",
            "---\r\ntitle: T\r\nbibliography: references.bib\r\n---\r\nx",
        ),
        ("---\nbibliography:\n---\nx", "---\nbibliography: references.bib\n---\nx"),
        ("---\nbibliography: a.bib\n---\n", "---\nbibliography: [a.bib, references.bib]\n---\n"),
        (
            "---\nbibliography: 'a b.bib'\n---\n",
            "---\nbibliography: ['a b.bib', references.bib]\n---\n",
        ),
        ("---\nbibliography: [a.bib]\n---\n", "---\nbibliography: [a.bib, references.bib]\n---\n"),
        (
            '---\nbibliography:\n  - a.bib\n  - "b.bib" # x\n---\n',
            '---\nbibliography:\n  - a.bib\n  - "b.bib"\n  - references.bib # x\n---\n',
        ),
    ],
)
def test_a_new_bib_is_declared_in_front_matter(tmp_path: Path, before: str, after: str) -> None:
    check_declaration(tmp_path / "paper.md", before, after)


def check_declaration(path: Path, before: str, after: str | None) -> None:
    path.write_bytes(before.encode())
    bib = path.parent / "references.bib"
    project = Project.open(path)
    edit = project.declaration_edit(bib)
    if after is None:
        assert edit is None
        return
    assert edit is not None
    assert apply_edits(before, edit.edits) == after
    write_text(read_text(path), after)
    again = Project.open(path)
    assert any(problem.path == str(bib) for problem in again.problems)
    assert again.declaration_edit(bib) is None


def test_a_bib_in_another_folder_is_declared_by_its_relative_path(book: Path) -> None:
    project = Project.open(book / "chapters/one.tex")
    edit = project.declaration_edit(book / "bib" / "third.bib")
    assert edit is not None
    assert Path(edit.path) == book / "main.tex"
    text = project.root_document.text
    assert "\\bibliography{bib/first,second,bib/third}" in apply_edits(text, edit.edits)
    assert declaration_edit(project.root, project.documents, (), book / "x.bib") is not None


def test_settings_reach_every_document(tmp_path: Path) -> None:
    main = tmp_path / "main.tex"
    main.write_text("\\ask{a} <<ref>>", encoding="utf-8")
    options = DocumentOptions(cite_commands=("ask",), placeholders=("<<ref>>",))
    project = Project.open(main, options)
    assert project.cited_keys() == ("a",)
    assert len(project.document.placeholders) == 1


TECTONIC = r"""
%! Tectonic.toml
[doc]
name = "paper"
OUTPUTS
%! src/_preamble.tex
\documentclass{article}
\begin{document}
%! src/index.tex
As in \cite{a}.
\input{part}
%! src/part.tex
And \cite{b}.
%! src/_postamble.tex
\bibliography{refs}
\end{document}
%! src/talk.tex
\documentclass{beamer} \begin{document} \bibliography{refs} \end{document}
%! src/refs.bib
@book{a, title={Alpha}}
"""


@pytest.mark.parametrize("opened", ["_preamble.tex", "index.tex", "part.tex", "_postamble.tex"])
@pytest.mark.parametrize(
    "outputs",
    [
        "",
        '[[output]]\nname = "default"\ntype = "pdf"',
        '[[output]]\nname = "talk"\ninputs = ["talk.tex"]\n[[output]]\nname = "paper"',
        "[[output]]\nnot toml at all",
    ],
)
def test_the_parts_that_tectonic_joins_are_one_paper(
    fixture_files: Files, tmp_path: Path, outputs: str, opened: str
) -> None:
    folder = fixture_files(TECTONIC.replace("OUTPUTS", outputs)).write(tmp_path)
    project = Project.open(folder / "src" / opened, roots=[folder])
    assert {path.name for path in project.documents} == {
        "_preamble.tex", "index.tex", "part.tex", "_postamble.tex",
    }  # fmt: skip
    assert [path.name for path in project.bibs] == ["refs.bib"]
    talk = Project.open(folder / "src" / "talk.tex", roots=[folder])
    assert [path.name for path in talk.documents] == ["talk.tex"]


@pytest.mark.parametrize(
    ("others", "host"),
    [
        ({}, "main.tex"),
        ({"response.tex": "\\documentclass{letter}\\begin{document}\\end{document}"}, "main.tex"),
        (
            {
                "a.tex": "\\documentclass{x}\\begin{document}\\end{document}",
                "b.tex": "\\documentclass{x}\\begin{document}\\bibliography{refs}\\end{document}",
                "main.tex": None,
            },
            "b.tex",
        ),
        ({"other.tex": "\\documentclass{x}\\begin{document}\\end{document}", "main.tex": None}, "other.tex"),
    ],
)  # fmt: skip
def test_a_part_that_no_paper_includes_yet_belongs_to_the_one_above_it(
    tmp_path: Path, others: dict[str, str | None], host: str
) -> None:
    files = {
        "main.tex": "\\documentclass{x}\\begin{document}\\bibliography{refs}\\end{document}",
        "refs.bib": "@book{a, title={A}}\n",
        "sections/new.tex": "\\section{New} \\cite{a}",
    } | others
    for name, text in files.items():
        if text is not None:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
    part = tmp_path / "sections/new.tex"
    for roots in ([], [tmp_path]):
        project = Project.open(part, roots=roots)
        assert project.root == tmp_path / host
        assert part in project.documents and project.document.path == str(part)
        if "refs" in (tmp_path / host).read_text():
            assert list(project.bibs) == [tmp_path / "refs.bib"]
            assert project.target_bib(part) == tmp_path / "refs.bib"


def test_a_part_beside_several_papers_belongs_to_none(tmp_path: Path) -> None:
    paper = "\\documentclass{x}\\begin{document}\\bibliography{refs}\\end{document}"
    for name in ("one.tex", "two.tex"):
        (tmp_path / name).write_text(paper, encoding="utf-8")
    part = tmp_path / "part.tex"
    part.write_text("\\cite{a}", encoding="utf-8")
    assert Project.open(part, roots=[tmp_path]).root == part
