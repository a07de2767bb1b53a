"""Every placeholder of a project at once, over a real small library."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import apply_edits
from citewell.engine.contract import Engine
from citewell.engine.local import LocalEngine
from citewell.model import Hit
from citewell.options import Options
from citewell.usecases.fill import UNTYPED, FillPlan, FillTask, PlaceholderFill, with_unattended
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("libraries")
    sources = [source_at(str(FIXTURES / n)) for n in ("papers.jsonl", "more_papers.jsonl")]
    build_library(folder / "default", add=sources, builders=default_builders(Options()))
    options = Options()
    options = replace(options, library=replace(options.library, path=folder))
    opened = LocalEngine.open(options)
    yield opened
    opened.close()


@pytest.fixture
def fill(
    engine: Engine, tmp_path: Path, fixture_files: Callable[..., Any]
) -> Callable[..., FillPlan]:
    """`fill(text, **how)` writes the files of the text and plans the first one."""

    def run(text: str, **how: Any) -> FillPlan:
        fixture = fixture_files(text)
        fixture.write(tmp_path)
        project = Project.open(tmp_path / fixture.names[0])
        return FillTask(engine, how.pop("options", Options()), **how).run(project)

    return run


def after(plan: FillPlan) -> dict[str, str]:
    """The files' texts once the plan is carried out."""
    found = {}
    for edit in plan.edits:
        path = Path(edit.path)
        before = "" if edit.create else path.read_bytes().decode("utf-8")
        found[path.name] = apply_edits(before, edit.edits)
    return found


def test_every_kind_of_placeholder_of_every_file_is_filled(fill: Callable[..., FillPlan]) -> None:
    plan = fill(
        r"""
%! main.tex
\documentclass{article}
\usepackage{natbib}
\begin{document}
We optimise with \citet<Adam stochastic optimization>.
\input{part}
\bibliography{refs}
\end{document}
%! part.tex
Dropout, a simple way to prevent neural networks from overfitting [CITATION], helps, and so do
\citep[see][p.~2]{generative adversarial nets}.
%! refs.bib
@misc{kept, title = {Kept}}
""",
        options=with_unattended(Options(), unattended=True),
        threshold=0.0,
    )
    assert [Path(f.path).name for f in plan.fills] == ["main.tex", "part.tex", "part.tex"]
    assert [f.line for f in plan.fills] == [4, 1, 2]
    assert not plan.open
    texts = after(plan)
    keys = [f.key for f in plan.fills]
    assert f"\\citet{{{keys[0]}}}." in texts["main.tex"]
    assert f"\\citep{{{keys[1]}}}, helps" in texts["part.tex"] or (
        f"\\citet{{{keys[1]}}}, helps" in texts["part.tex"]
    )
    assert f"\\citep[see][p.~2]{{{keys[2]}}}." in texts["part.tex"]
    assert texts["refs.bib"].startswith("@misc{kept, title = {Kept}}")
    assert all(f"{{{key}," in texts["refs.bib"] for key in keys)


def test_bibliographies_come_before_the_documents_that_cite_from_them(
    fill: Callable[..., FillPlan],
) -> None:
    plan = fill(
        r"""
%! main.tex
\documentclass{article}\begin{document}
\cite<graph attention networks>
\bibliography{refs}
\end{document}
""",
    )
    assert [Path(edit.path).name for edit in plan.edits] == ["refs.bib", "main.tex"]
    assert [edit.create for edit in plan.edits] == [True, False]
    assert plan.diffs[0].startswith("--- /dev/null\n+++ b/refs.bib\n")


def test_a_declaration_that_comes_in_before_the_placeholders_moves_them(
    fill: Callable[..., FillPlan],
) -> None:
    plan = fill(
        r"""
%! main.tex
\documentclass{article}
\usepackage{biblatex}
\begin{document}
One \cite<graph attention networks>, two \cite<long short-term memory>.
\printbibliography
\end{document}
""",
    )
    texts = after(plan)
    first, second = (f.key for f in plan.fills)
    assert f"One \\cite{{{first}}}, two \\cite{{{second}}}.\n" in texts["main.tex"]
    assert "\\addbibresource{references.bib}\n\\begin{document}" in texts["main.tex"]
    assert first != second


def test_a_work_that_is_there_or_wanted_twice_keeps_one_key(fill: Callable[..., FillPlan]) -> None:
    plan = fill(
        r"""
%! main.tex
\documentclass{article}\begin{document}
\cite<attention is all you need> \cite<deep residual learning for image recognition>
\cite<deep residual learning image recognition He 2016>
\bibliography{refs}
\end{document}
%! refs.bib
@inproceedings{mine,
  title = {Attention Is All You Need},
  author = {Vaswani, Ashish and Shazeer, Noam},
  year = {2017},
}
""",
    )
    there, new, again = plan.fills
    assert (there.key, there.reused) == ("mine", True)
    assert new.key == again.key
    assert (new.reused, again.reused) == (False, True)
    assert after(plan)["refs.bib"].count("@") == 2


def test_keys_beside_the_placeholder_stay(
    fill: Callable[..., FillPlan],
) -> None:
    plan = fill(
        r"""
%! main.tex
\documentclass{article}\begin{document}
Known \cite{a, graph attention networks}, \cite{a,,b}.
\bibliography{refs}
\end{document}
%! refs.bib
@misc{a, title = {A}}
""",
        threshold=0.0,
    )
    first, second = (f.key for f in plan.fills)
    assert f"Known \\cite{{a, {first}}}, \\cite{{a,{second},b}}." in after(plan)["main.tex"]


def test_an_uncertain_placeholder_stays_open_and_says_why(fill: Callable[..., FillPlan]) -> None:
    plan = fill(
        r"""
%! main.tex
\documentclass{article}\begin{document}
\cite<salt roads of the twelfth century> \cite<graph attention networks>
\bibliography{refs}
\end{document}
""",
    )
    left, taken = plan.fills
    assert left in plan.open and taken in plan.filled
    assert "not certain enough" in left.reason
    assert left.candidates
    assert "\\cite<salt roads of the twelfth century>" in after(plan)["main.tex"]


UNTYPED_AND_TYPED = r"""
%! main.tex
\documentclass{article}\begin{document}
We use Adam, a method for stochastic optimization [CITATION]. And \cite<graph attention networks>.
\bibliography{refs}
\end{document}
"""


def test_a_placeholder_without_words_stays_open_however_sure_the_best_paper_is(
    fill: Callable[..., FillPlan],
) -> None:
    plan = fill(UNTYPED_AND_TYPED, threshold=0.0)
    untyped, typed = plan.fills
    assert untyped.hit is None and untyped.reason == UNTYPED
    assert untyped.candidates
    assert typed.hit is not None
    assert "optimization [CITATION]." in after(plan)["main.tex"]


def test_unattended_fills_without_words_from_its_own_threshold(
    fill: Callable[..., FillPlan],
) -> None:
    options = with_unattended(Options(), unattended=True)
    sure = replace(options, fill=replace(options.fill, threshold=0.0))
    never = replace(options, fill=replace(options.fill, threshold=1.0))
    assert fill(UNTYPED_AND_TYPED, options=sure).fills[0].hit is not None
    left = fill(UNTYPED_AND_TYPED, options=never).fills[0]
    assert left.hit is None and "not certain enough" in left.reason


def test_whoever_chooses_may_take_any_paper_or_none(fill: Callable[..., FillPlan]) -> None:
    requests: list[PlaceholderFill] = []

    def choose(found: PlaceholderFill) -> Hit | None:
        requests.append(found)
        return found.candidates[1] if len(requests) == 1 else None

    plan = fill(
        r"""
%! main.tex
\documentclass{article}\begin{document}
We see it \cite<neural networks>. And here \cite{}.
\bibliography{refs}
\end{document}
""",
        choose=choose,
    )
    assert requests[0].sentence.startswith("We see it [CITATION]")
    assert plan.fills[0].hit == requests[0].candidates[1]
    assert plan.fills[1].hit is None
    assert plan.fills[1].reason == "skipped"


def test_unsaved_text_is_what_counts(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "main.tex"
    path.write_text("\\cite<long short-term memory>\n", encoding="utf-8")
    buffer = "\\documentclass{article}\n\\begin{document}\nNew \\cite<graph attention networks>.\n\\bibliography{r}\n\\end{document}\n"
    project = Project.open(path, read=lambda p: buffer if p == path else None)
    plan = FillTask(engine, Options()).run(project)
    (found,) = plan.fills
    assert found.line == 3
    edit = next(e for e in plan.edits if e.path == str(path))
    assert f"New \\cite{{{found.key}}}." in apply_edits(buffer, edit.edits)


def test_without_a_library_every_placeholder_stays_open_with_the_problem(tmp_path: Path) -> None:
    path = tmp_path / "main.tex"
    path.write_text(
        "\\documentclass{article}\\begin{document}\\cite<x y z>\\end{document}", "utf-8"
    )
    options = Options()
    options = replace(options, library=replace(options.library, path=tmp_path / "none"))
    engine = LocalEngine.open(options)
    plan = FillTask(engine, options).run(Project.open(path))
    assert [f.reason for f in plan.fills] == ["no papers found"]
    assert "library-missing" in {p.code for p in plan.problems}
    assert plan.edits == ()


@pytest.mark.parametrize("opening", ["\\citep<", "\\cite{"])
@pytest.mark.parametrize("how", [{"threshold": 0.0}, {"choose": lambda found: found.candidates[0]}])
def test_a_placeholder_that_nothing_closes_is_left_open(
    fill: Callable[..., FillPlan], opening: str, how: dict[str, Any]
) -> None:
    plan = fill(
        f"""
%! main.tex
We build on {opening}graph attention in this work and go on.
We use \\citet<generative adversarial nets>.
%! refs.bib
@misc{{kept, title = {{Kept}}}}
""",
        **how,
    )
    (open_,) = plan.open
    assert open_.text == f"{opening}graph attention"
    assert open_.candidates[0].work.title == "Graph Attention Networks"
    assert open_.reason.startswith("it is not closed")
    assert (
        f"We build on {opening}graph attention in this work and go on.\nWe use \\citet{{"
        in after(plan)["main.tex"]
    )


def test_one_word_that_nothing_closes_is_filled_up_to_its_line_end(
    fill: Callable[..., FillPlan],
) -> None:
    plan = fill("%! main.tex\nAs in \\citet<adam\nand more prose.\n", threshold=0.0)
    text = after(plan)["main.tex"]
    assert text.startswith("As in \\citet{")
    assert text.endswith("}\nand more prose.\n")
