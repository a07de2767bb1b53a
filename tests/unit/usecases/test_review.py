"""A review accuses nothing that the paper does not show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from citewell.documents.project.paper_project import TextProject
from citewell.engine.contract import Checks, Engine
from citewell.features.checking.codes import CODES, CodeSelection, meaning_of
from citewell.features.checking.report import Policy, Weight
from citewell.features.review.report import Review, ReviewFinding, figures_of, located, shown_under
from citewell.model import Author, CitewellError, Work
from citewell.model.check import Check, Claim, FieldFinding, Severity, Verdict
from citewell.model.document import Diagnostic, Level, Span
from citewell.options import Options
from citewell.usecases.review import ReviewTask, papers_at, plan_consistency

ROWS = Work(id="x:rows", title="Pruning Trees in Rows", authors=(Author("Ash", "Ann"),), year=2020)
ENTRY = "@misc{ash2020, title = {Pruning trees in rows}, author = {Ash, Ann}, year = {2020}}\n"
HEAD = "\\documentclass{article}\n\\begin{document}\n"
END = "\\bibliography{refs}\n\\end{document}\n"


class Knows:
    """An engine that knows the work behind one name, and accuses every reference."""

    def expected(self, names: Sequence[str]) -> list[Work | None]:
        return [ROWS if name == "OrchNet" else None for name in names]

    def check(self, claims: Sequence[Claim], **_: Any) -> Checks:
        finding = FieldFinding(
            field="author", code="author-unrelated", severity=Severity.ERROR, confidence=0.99,
            message="None of the names is an author.",
        )  # fmt: skip
        return Checks(
            tuple(
                Check(claim=one, verdict=Verdict.FABRICATED, confidence=0.99, findings=(finding,))
                for one in claims
            )
        )


def paper_of(**files: str) -> TextProject:
    texts = {name.replace("_", "."): text for name, text in files.items()}
    return TextProject.of(texts, next(iter(texts)), Options())


def review_of(part: str, **files: str) -> list[ReviewFinding]:
    return findings_of(part, paper_of(**files))


def findings_of(part: str, project: TextProject) -> list[ReviewFinding]:
    task = ReviewTask(cast(Engine, Knows()), Options(), [project], selection=CodeSelection([part]))
    return list(task.run().findings)


@pytest.mark.parametrize(
    ("text", "bib", "count"),
    [
        ("We prune with OrchNet.\n", ENTRY, 1),
        # It is cited elsewhere, and neither its title nor its key has the name.
        ("Rows are pruned \\cite{ash2020}. We use OrchNet.\n", ENTRY, 0),
        ("Rows are pruned \\cite{Ash2020}. We use OrchNet.\n", ENTRY, 0),
        ("We use OrchNet.\\nocite{*}\n", ENTRY, 0),
        # What an undefined key stands for is unknown.
        ("Rows are pruned \\cite{orchnet20}. We use OrchNet.\n", ENTRY, 0),
        ("Rows are pruned \\cite{ash2020}. We use OrchNet.\n", None, 0),
    ],
)  # fmt: skip
def test_a_name_is_uncited_only_if_no_cited_work_can_be_meant(
    text: str, bib: str | None, count: int
) -> None:
    files = {"main_tex": f"{HEAD}{text}{END}"} | ({"refs_bib": bib} if bib else {})
    assert len(review_of("names", **files)) == count


@pytest.mark.parametrize("title", ["OrchNet: Pruning", "Pruning\n  Trees in {R}ows"])
def test_a_list_inside_the_paper_counts_as_its_references(title: str) -> None:
    item = f"\\begin{{thebibliography}}{{9}}\n\\bibitem{{k}} A. Ash. {title}. 2020.\n"
    latex = f"{HEAD}We use OrchNet~and others \\cite{{k}}.\n{item}\\end{{thebibliography}}\n{END}"
    latex = latex.replace("OrchNet~and", "OrchNet. We read").replace("\\bibliography{refs}\n", "")
    assert review_of("names", main_tex=latex) == []
    plain = title.replace("{R}", "R").replace("\n ", "")
    markdown = f"# Trees\n\nWe use OrchNet (Ash 2020).\n\n## References\n\n- Ash: {plain}. 2020.\n"
    assert review_of("names", main_md=markdown) == []


def test_a_fabricated_bibitem_blocks_like_an_entry() -> None:
    item = (
        "\\begin{thebibliography}{9}\n\\bibitem{k} A. Ash. Trees. 2020.\n\\end{thebibliography}\n"
    )
    text = f"{HEAD}Read \\cite{{k}}.\n{item}\\end{{document}}\n"
    (found,) = review_of("references", main_tex=text)
    assert (found.code, found.key, found.weight) == ("author-unrelated", "k", "blocking")


def test_references_that_a_markdown_file_holds_itself_are_checked() -> None:
    text = (
        "---\nreferences:\n- id: k\n  type: article-journal\n  title: Trees in the rows of an "
        "orchard\n  author:\n  - family: Ash\n    given: Ann\n  issued: 2020\n---\n\nRead [@k].\n"
    )
    (found,) = review_of("references", main_md=text)
    assert (found.code, found.key, found.weight) == ("author-unrelated", "k", "blocking")


def entry(key: str, title: str, more: str = "") -> str:
    return f"@misc{{{key},\n  title = {{{title}}},\n  author = {{Ash, Ann}},\n  year = 2020{more}\n}}\n"


def test_the_fix_leaves_what_its_author_silences(tmp_path: Path) -> None:
    path = tmp_path / "refs.bib"
    silenced = "% citewell: ignore title-capitals\n" + entry("a", "The OrchNet of trees")
    path.write_text(silenced + entry("b", "The AppleNet of trees"), encoding="utf-8")
    plan = plan_consistency(path, Options(), None, tmp_path)
    (edit,) = plan.edits[0].edits
    assert edit.text == "{AppleNet}"
    _, bibs, _ = papers_at(path, Options())
    task = ReviewTask(
        cast(Engine, Knows()), Options(), [], bibs, selection=CodeSelection(["consistency"])
    )
    assert [(one.code, one.key) for one in task.run().findings] == [("title-capitals", "b")]


def test_only_the_entry_that_bibtex_reads_takes_part_in_the_consistency() -> None:
    twice = entry("b", "The OrchNet of trees") + entry("b", "The AppleNet of trees")
    text = f"{HEAD}Rows \\cite{{b}}.\n\\bibliography{{one,two}}\n\\end{{document}}\n"
    (found,) = review_of("consistency", main_tex=text, one_bib=twice, two_bib=twice)
    assert (Path(found.path).name, found.line) == ("one.bib", 2)
    assert "OrchNet" in found.message and "AppleNet" not in found.message


def test_citeproc_keeps_the_capitals_of_names() -> None:
    text = "---\nbibliography: refs.bib\n---\n\nRows [@b].\n"
    bib = entry("b", "The OrchNet of trees")
    assert review_of("consistency", main_md=text, refs_bib=bib) == []


def test_a_folder_without_a_paper_is_no_clean_review(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    with pytest.raises(CitewellError) as raised:
        papers_at(tmp_path, Options())
    assert raised.value.problem.code == "review-no-paper"


def test_a_baseline_knows_a_finding_when_the_words_after_it_change(
    fixture_files: Callable[..., Any],
) -> None:
    say = "It has been shown that tall trees need {} water than small ones."
    before = f"{HEAD}{say.format('more')} Apples are red. And \\cite{{no}} is odd.\n{END}"
    after = f"{HEAD}{say.format('more')} Pears are not. And \\cite{{no}} was odd.\n{END}"
    first, second = (
        {one.code: one.fingerprint for part in ("keys", "sentences")
         for one in review_of(part, main_tex=text, refs_bib=ENTRY)}
        for text in (before, after)
    )  # fmt: skip
    assert {"undefined-key", "sentence-uncited"} <= first.keys() and first == second
    other = f"{HEAD}{say.format('less')}\n{END}"
    (third,) = review_of("sentences", main_tex=other, refs_bib=ENTRY)
    assert third.fingerprint != first["sentence-uncited"]


def test_files_of_one_name_in_two_folders_have_findings_of_their_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "all" / name).mkdir(parents=True)
        (tmp_path / "all" / name / "main.tex").write_text(
            f"{HEAD}Read \\cite{{no}}.\n\\end{{document}}\n", encoding="utf-8"
        )

    def found(folder: Path) -> list[str]:
        papers, bibs, _ = papers_at(folder, Options())
        selection = CodeSelection(["undefined-key"])
        task = ReviewTask(
            cast(Engine, Knows()), Options(), papers, bibs, selection=selection, folder=folder
        )
        return [one.fingerprint for one in task.run().findings]

    both = found(tmp_path / "all")
    assert len(set(both)) == len(both) == 2
    (tmp_path / "all").rename(tmp_path / "moved")
    assert found(tmp_path / "moved") == both


def test_a_paper_on_another_drive_keeps_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def other_drive(*_: object) -> str:
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    found = review_of("keys", main_tex=f"{HEAD}Read \\cite{{drive}}.\n{END}", refs_bib=ENTRY)
    monkeypatch.setattr("os.path.relpath", other_drive)
    shown = shown_under(Review(findings=tuple(found)), Path("elsewhere-on-c"))
    assert [one.path for one in shown.findings] == [one.path for one in found]


def test_the_meaning_of_a_code_is_a_whole_sentence() -> None:
    assert [code for code in CODES if not meaning_of(code).endswith((".", ")"))] == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Ash et al. show that small trees need much water.", 1),
        ("Rows exist \\cite{ash2020}. Ash et al. also show that small trees need much water.", 0),
        ("Rows exist \\cite{ash2020}. Oak et al. also show that small trees need much water.", 1),
    ],
)
def test_authors_whose_work_is_cited_need_no_citation_in_each_sentence(
    text: str, count: int
) -> None:
    assert len(review_of("sentences", main_tex=f"{HEAD}{text}\n{END}", refs_bib=ENTRY)) == count


ANNOUNCED = "Several ways to prune trees have been proposed."
CITES = "Some cut rows of trees \\cite{ash2020}."


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (ANNOUNCED, 1),
        (f"{ANNOUNCED} {CITES}", 0),
        (f"{ANNOUNCED} One is old. {CITES}", 0),
        (f"{ANNOUNCED}\n\n\\paragraph{{Rows}} {CITES}", 0),
        (f"{ANNOUNCED} One is old. Another is new. {CITES}", 1),
        (f"{CITES} {ANNOUNCED}", 1),
        # What was found needs a citation of its own.
        (f"It has been shown that old trees need no pruning at all. {CITES}", 1),
        (f"\\begin{{abstract}}\nWe prune. {ANNOUNCED}\n\\end{{abstract}}", 0),
        (f"\\section{{Conclusion}}\n{ANNOUNCED}", 0),
        (f"\\section{{Ethics Statement}}\n{ANNOUNCED}", 0),
        (f"\\section{{Related Work}}\n{ANNOUNCED}", 1),
        ("OrchNet is widely used in orchards of all kinds.", 1),
        ("Rows and OrchNet \\cite{ash2020}. OrchNet is widely used in orchards of all kinds.", 0),
        ("OrchNet is widely used in orchards of all kinds. It is here. It is there. "
         "Rows and OrchNet \\cite{ash2020}.", 1),
        ("The well-known theorem of Pythagoras holds for triangles.", 0),
    ],
)  # fmt: skip
def test_a_sentence_whose_citation_stands_elsewhere_needs_none(text: str, count: int) -> None:
    assert len(review_of("sentences", main_tex=f"{HEAD}{text}\n{END}", refs_bib=ENTRY)) == count


def test_a_hint_is_written_in_the_language_of_the_paper() -> None:
    (found,) = review_of("names", main_md="# Trees\n\nWe prune with OrchNet.\n")
    assert found.hint == "Cite it with [@?OrchNet]."


def test_what_blocks_is_an_error_for_a_pull_request() -> None:
    text = f"{HEAD}Read \\cite{{no,ash2020}}.\n{END}"
    (found,) = review_of("undefined-key", main_tex=text, refs_bib=ENTRY)
    assert (found.level, found.weight) == ("error", "blocking")
    policy = Policy(blocking=frozenset({"sentence-uncited"}))
    one = Diagnostic(code="sentence-uncited", span=Span(0, 0), message="A", level=Level.INFORMATION)
    source = paper_of(main_tex=text, refs_bib=ENTRY).root_document
    assert (
        located(one, "main.tex", source, policy.weight_of([one.code]), Path()).level is Level.ERROR
    )
    assert located(one, "main.tex", source, Weight.NOTE, Path()).level is Level.INFORMATION


@pytest.mark.parametrize(
    ("code", "name", "files"),
    [
        ("name-uncited", "main_tex", {"main_tex": f"{HEAD}Use OrchNet.\n{END}", "refs_bib": ENTRY}),
        ("name-uncited", "main_md", {"main_md": "# Trees\n\nUse OrchNet.\n"}),
        ("unused-entry", "refs_bib", {"main_tex": f"{HEAD}Trees.\n{END}", "refs_bib": ENTRY}),
    ],
)
def test_the_comment_of_a_finding_silences_it(code: str, name: str, files: dict[str, str]) -> None:
    (one,) = review_of(code, **files)
    assert one.path.endswith(name.replace("_", "."))
    lines = files[name].splitlines()
    if one.silence.startswith("<"):
        lines[one.line - 1] += f" {one.silence}"
    else:
        lines.insert(one.line - 1, one.silence)
    assert review_of(code, **files | {name: "\n".join(lines) + "\n"}) == []


@pytest.mark.parametrize(
    ("author", "own"),
    [("Ann Ash", 1), ("A. Ash", 1), ("A. B. Ash", 1), ("Bo Ash", 0), ("Ann Oak", 0)],
)
def test_an_author_with_initials_is_the_author_of_the_references(author: str, own: int) -> None:
    text = f"{HEAD}\\author{{{author}}} Read \\cite{{ash2020}}.\n{END}"
    assert figures_of([paper_of(main_tex=text, refs_bib=ENTRY)]).own == own
    short = ENTRY.replace("Ash, Ann", "Ash, A.-B.")
    assert figures_of([paper_of(main_tex=text, refs_bib=short)]).own == own
