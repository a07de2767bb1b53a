"""Every rule of the lint: what it underlines, and where it holds its tongue."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.project.files import FileCache
from citewell.documents.project.workspace import Workspace
from citewell.features.checking.lint import CODES, RULES, lint
from citewell.model.document import Diagnostic, Level

GOOD = """%! refs.bib
@article{good, author = {Ada Ash}, title = {On Walking in the Woods}, journal = {Paths}, year = 2001}
"""


@pytest.fixture
def found(tmp_path: Path, fixture_files: Callable[..., object]) -> Callable[..., list[str]]:
    """The diagnostics of all files of a fixture, as "file: code: underlined text"; the marks of the
    fixture must be what is underlined."""

    def run(text: str, *expected: str, **levels: str) -> list[Diagnostic]:
        fixture = fixture_files(text)
        folder = fixture.write(tmp_path)
        findings = lint_folder(
            folder, fixture.names, {k.replace("_", "-"): v for k, v in levels.items()}
        )
        codes = [one.code for _, one in findings]
        places = [(name, one.span) for name, one in findings]
        assert codes == list(expected), findings
        if fixture.marked:
            assert places == list(fixture.marked)
        return [one for _, one in findings]

    return run


def lint_folder(
    folder: Path, names: tuple[str, ...], levels: dict[str, str]
) -> list[tuple[str, Diagnostic]]:
    workspace = Workspace(FileCache(), roots=[folder])
    workspace.refresh(lambda path: None)
    findings = []
    for name in names:
        path = folder / name
        projects = workspace.of(path)
        if path.suffix == ".bib":
            projects = tuple(p for p in projects if path in p.bibs)
            own = parse_bib(path.read_text(encoding="utf-8"), str(path))
            source = projects[0].bibs[path] if projects else own
        else:
            source = projects[0].documents[path]
        assert source is not None
        findings += [(name, one) for one in lint(source, projects, levels)]
    return findings


# -- undefined keys ----------------------------------------------------------------------------


def paper(body: str, preamble: str = "", end: str = "\\bibliography{refs}") -> str:
    """A main file; what is marked stands in its body or its end."""
    return (
        f"%! main.tex\n\\documentclass{{article}}{preamble}\n\\begin{{document}}\n"
        f"{body}\n{end}\n\\end{{document}}\n"
    )


def test_a_key_that_no_bibliography_has_is_an_error_with_the_nearest_key(found):
    (one,) = found(
        paper("We walk \\cite{good, goood}.\n                    ^^^^^") + GOOD, "undefined-key"
    )
    assert one.level is Level.ERROR
    assert one.message == (
        'The key "goood" is not in the bibliographies of this paper. Did you mean "good"?'
    )
    assert one.data == {"key": "goood", "nearest": "good"}


KEYS = {
    "front matter": r"""
%! paper.md
---
bibliography: refs.bib
---
We walk [@good; @nobody2001] as @nowhere did, see @fig-walk and someone@example.org.
                 ^^^^^^^^^^
                                 ^^^^^^^
""" + GOOD,
    "a readme may name people": "%! README.md\n# A tool\nThanks to @octocat for the idea.\n",
    "a part that no paper includes": "%! part.tex\nWe walk \\cite{unknown2001}.\n",
    "a bibliography of TeX is not missing":
        paper(r"We walk \cite{good}.", end="\\bibliography{IEEEabrv,refs}") + GOOD,
    "a .bbl may define any key": paper("We walk \\cite{anything}.", end="\\input{main.bbl}"),
    "no bibliography at all": paper("We walk \\cite{anything}.\n              ^^^^^^^^", end=""),
    "bibitems": paper(
        "We walk \\cite{one,two}.\n                  ^^^",
        end="\\begin{thebibliography}{9}\n\\bibitem{one} A. Ash.\n\\end{thebibliography}",
    ),
    "a part of a paper": paper(r"\input{part}") + r"""%! part.tex
We walk \cite{good} and run \cite{bad}.
                                  ^^^
""" + GOOD,
    "BibTeX does not part keys by case": paper(r"We walk \cite{Good}.") + GOOD,
    "biblatex does, and knows further ids": paper(
        "We walk \\cite{Good} and \\cite{alias}.\n              ^^^^",
        "\n\\usepackage{biblatex}\n\\addbibresource{refs.bib}", "",
    ) + """%! refs.bib
@article{good, ids = {alias, other}, author = {Ada Ash}, title = {On Walking in the Woods},
  journaltitle = {Paths}, date = {2001-05}}
""",
}  # fmt: skip


@pytest.mark.parametrize("text", KEYS.values(), ids=KEYS.keys())
def test_a_key_is_undefined_where_no_bibliography_of_its_paper_has_it(found, text):
    found(text, *["undefined-key"] * text.count("^\n"))


def test_a_key_may_stand_in_a_bibliography_that_is_missing(found):
    text = paper(
        "We walk \\cite{good,elsewhere}.", end="\\bibliography{refs,lost}\n                   ^^^^"
    )
    found(text + GOOD, "bib-missing")


def test_a_bibliography_in_the_authors_own_tree_of_tex_is_read(found, tmp_path, monkeypatch):
    own = tmp_path / "tree" / "bibtex" / "bib" / "all"
    own.mkdir(parents=True)
    (own / "mine.bib").write_text("@misc{walk, title = {Walking}}\n", encoding="utf-8")
    monkeypatch.setenv("TEXMFHOME", str(tmp_path / "tree"))
    body = "We walk \\cite{walk} and \\cite{run}.\n                              ^^^"
    found(paper(body, end="\\bibliography{mine}"), "undefined-key")


# -- placeholders ------------------------------------------------------------------------------


def test_each_open_placeholder_is_a_warning(found):
    body = r"""See \cite<walking in the woods>, \citep{}, and others [CITATION].
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^
                                 ^^^^^^^^
                                                      ^^^^^^^^^^
% not here: \cite{}"""
    one, two, three = found(paper(body, end=""), *["unresolved-placeholder"] * 3)
    assert one.level is Level.WARNING
    assert "“walking in the woods”" in one.message
    assert two.message == three.message == "Unresolved placeholder: citation missing."


# -- bibliographies ----------------------------------------------------------------------------

PAPER = paper("We walk \\cite{good}.")


def test_an_entry_that_no_paper_cites_is_greyed_out_on_its_key_only(found):
    (one,) = found(
        PAPER
        + GOOD
        + """
@article{lonely,
         ^^^^^^
  author = {Ben Beech}, title = {Alone}, journal = {Paths}, year = 2002}
""",
        "unused-entry",
    )
    assert (one.level, one.unnecessary) == (Level.HINT, True)


def test_nocite_of_everything_uses_every_entry(found):
    found(
        PAPER.replace("We walk", r"\nocite{*} We walk") + GOOD.replace("good", "other"),
        "undefined-key",
    )


def test_a_volume_that_a_cited_paper_names_is_used_and_gives_it_its_fields(found):
    found(
        PAPER
        + """
%! refs.bib
@inproceedings{good, crossref = {volume}, author = {Ada Ash}, title = {On Walking}}
@proceedings{volume, title = {Proceedings of Paths}, year = 2001, xref = "series"}
@misc{series, title = {A Series}}
@proceedings{unnamed, title = {Proceedings of Nowhere}, year = 2001}
             ^^^^^^^
""",
        "unused-entry",
    )


def test_an_entry_is_used_when_any_paper_of_the_workspace_cites_it(found):
    found(
        PAPER
        + r"""
%! talk.md
---
bibliography: refs.bib
---
As @shared says.
"""
        + GOOD
        + "@misc{shared, title = {Both}}\n@misc{neither, title = {None}}\n"
        + "                              ".replace(" ", "")
        + "      ^^^^^^^\n",
        "unused-entry",
    )


def test_a_repeated_key_is_an_error_that_leads_to_the_first(found):
    (one,) = found(
        PAPER
        + GOOD
        + """
@misc{GOOD, title = {Another Walk}}
      ^^^^
""",
        "bib-duplicate-key",
    )
    assert one.level is Level.ERROR
    assert (
        one.message
        == 'The key "GOOD" is already used in line 1, as "good": keys are not case-sensitive.'
    )
    (first,) = one.related
    assert (first.path.name, first.span.start) == ("refs.bib", len("@article{"))


def test_a_key_that_the_bibliography_read_before_has_too_is_a_warning(found):
    (one,) = found(
        PAPER.replace("{refs}", "{refs,more}")
        + GOOD
        + """
%! more.bib
@misc{good, title = {Another Walk}}
      ^^^^
""",
        "bib-duplicate-key",
    )
    assert one.level is Level.WARNING
    assert one.related[0].path.name == "refs.bib"


TWICE = """%! refs.bib
@article{good, author = {Ada Ash and Ben Beech}, title = {On Walking in the Woods},
  journal = {Paths}, year = 2001}
@misc{again, author = {Ash, A. and Beech, B.}, title = {On {W}alking in the woods}, year = 2000}
      ^^^^^
"""


def test_one_work_under_two_keys_is_found_by_title_and_authors(found):
    (one,) = found(PAPER.replace("{good}", "{good,again}") + TWICE, "duplicate-work")
    assert one.message == 'The same work as "good": the same title and authors.'
    assert one.data["other"] == "good"


def test_one_work_under_two_keys_is_found_by_doi(found):
    found(
        PAPER.replace("{good}", "{good,again}")
        + """
%! refs.bib
@misc{good, title = {On Walking}, doi = {10.1000/ABC}}
@misc{again, title = {On Walking}, url = {https://doi.org/10.1000/abc}}
      ^^^^^
""",
        "duplicate-work",
    )


@pytest.mark.parametrize(
    "other",
    [
        "author = {Cy Cedar}, year = 2001",
        "author = {Ada Ash}, year = 2009",
        "author = {Ada Ash}, year = 2001, volume = {2}",
    ],
)
def test_namesakes_editions_and_parts_are_other_works(found, other):
    found(
        PAPER.replace("{good}", "{good,again}")
        + GOOD.replace("year", "volume = 1, year")
        + f"@article{{again, journal = {{J}}, title = {{On Walking in the Woods}}, {other}}}\n"
    )


def test_a_thesis_and_the_paper_of_its_title_are_two_works(found):
    found(
        PAPER.replace("{good}", "{good,again}")
        + GOOD
        + "@phdthesis{again, author = {Ada Ash}, title = {On Walking in the Woods}, school = {Oak}, "
        "year = 2001}\n"
    )


def test_two_chapters_of_one_book_may_share_its_doi(found):
    found(
        PAPER.replace("{good}", "{good,again}")
        + """
%! refs.bib
@misc{good, title = {On Walking}, doi = {10.1000/book}}
@misc{again, title = {On Running}, doi = {10.1000/book}}
"""
    )


def test_what_an_entry_lacks_is_told_in_one_sentence(found):
    (one,) = found(
        PAPER
        + """
%! refs.bib
@article{good, title = {On Walking}, author = {}}
         ^^^^
""",
        "missing-field",
    )
    assert one.message == 'The @article "good" has no author, no journal and no year.'
    assert one.data == {"key": "good", "fields": "author,journal,year"}


def test_biblatex_asks_for_no_publisher_of_a_book(found):
    book = "%! refs.bib\n@book{good, author = {Ada Ash}, title = {Walks}, year = 2001}\n"
    found(PAPER + book, "missing-field")


def test_biblatex_reads_dates_and_its_own_names(found):
    found(
        PAPER.replace(r"\begin", "\\usepackage{biblatex}\n\\begin")
        + """
%! refs.bib
@book{good, author = {Ada Ash}, title = {Walks}, date = {2001-05}}
"""
    )


def test_faults_of_syntax_keep_their_own_codes_and_cost_no_further_complaints(found):
    comma, unclosed = found(
        PAPER.replace("{good}", "{good,open}")
        + """
%! refs.bib
@misc{good, title = {On Walking}
                               ^
  year = 2001}
@article{open, title = {On Running},
^^^^^^^^^^^^^
""",
        "bib-missing-comma",
        "bib-unclosed",
    )
    assert comma.message.endswith("Put a comma after the value.")
    assert unclosed.level is Level.ERROR


# -- what the author does not want to hear --------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("% citewell: ignore\n", ""),
        ("% citewell: ignore undefined-key: made by a script\n", ""),
        ("%% citewell: ignore undefined, missing-field -- later\n", ""),
        ("", " % citewell: ignore"),
        ("% citewell: ignore missing-field\n% citewell: ignore undefined-key\n", ""),
    ],
)
def test_a_magic_comment_silences_its_line_or_the_next(found, before, after):
    found(
        PAPER.replace("We walk", before + r"We walk \cite{nobody}").replace(
            "{good}.", "{good}." + after
        )
        + GOOD
    )


@pytest.mark.parametrize(
    "comment", ["% citewell: ignore missing-field\n", "50\\% citewell: ignore\n", "% ignore\n"]
)
def test_other_comments_silence_nothing(found, comment):
    found(PAPER.replace("We walk", comment + r"We walk \cite{nobody}") + GOOD, "undefined-key")


def test_a_comment_does_not_reach_beyond_the_next_line(found):
    text = "% citewell: ignore\nOne.\n\\cite{nobody}"
    found(PAPER.replace("We walk", text) + GOOD, "undefined-key")


def test_markdown_has_comments_of_its_own(found):
    found(
        """
%! paper.md
---
bibliography: refs.bib
---
<!-- citewell: ignore undefined-key -->
As @good and @nobody say.
And @noone. <!-- citewell: ignore -->
But @somebody.
     ^^^^^^^^
"""
        + GOOD,
        "undefined-key",
    )


def test_in_a_bib_a_comment_silences_the_whole_entry_below_it(found):
    found(
        PAPER
        + """
%! refs.bib
% citewell: ignore missing-field
@article{good,
  title = {On Walking}}
@comment{citewell: ignore}
@article{lonely,
  title = {On Running}}
"""
    )


def test_a_file_can_be_left_alone_whole_or_by_code(found):
    found(PAPER.replace("We walk", "% citewell: ignore-file\n\\cite{nobody} \\cite{}") + GOOD)
    found(
        PAPER.replace("We walk", "% citewell: ignore-file undefined-key\n\\cite{nobody} \\cite{}")
        + GOOD,
        "unresolved-placeholder",
    )


def test_the_settings_change_the_level_of_a_code_or_of_a_group_or_silence_it(found):
    text = PAPER.replace("We walk", r"\cite{nobody} \cite{}") + GOOD
    one, two = found(text, "undefined-key", "unresolved-placeholder", undefined_key="hint")
    assert (one.level, two.level) == (Level.HINT, Level.WARNING)
    found(text, "unresolved-placeholder", undefined="off")
    one, _ = found(
        text, "undefined-key", "unresolved-placeholder", undefined="off", undefined_key="warning"
    )
    assert one.level is Level.WARNING


def test_every_code_is_kebab_case_and_stands_once():
    assert len(set(CODES)) == len(CODES) >= len(RULES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)+", code) for code in CODES)
