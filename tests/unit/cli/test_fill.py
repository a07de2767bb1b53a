"""Writing a plan: all of it or nothing."""

from pathlib import Path

import pytest

from citewell.cli.fill import exit_code
from citewell.model import CitewellError, Hit, Problem, Work
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import Placeholder, PlaceholderKind, Span
from citewell.usecases.fill_plan import FillPlan, PlaceholderFill, write_fill


def plan_for(folder: Path) -> FillPlan:
    bib, tex = str(folder / "new.bib"), str(folder / "p.tex")
    return FillPlan(
        edits=(
            FileEdit(bib, (TextEdit(Span(0, 0), "@misc{k}\n"),), create=True, adds=("k",)),
            FileEdit(tex, (TextEdit(Span(6, 7), "k"),)),
        ),
        texts={bib: "", tex: "\\cite{?}\r\n"},
    )


@pytest.fixture
def plan(tmp_path: Path) -> FillPlan:
    (tmp_path / "p.tex").write_bytes(b"\\cite{?}\r\n")
    return plan_for(tmp_path)


def test_every_file_is_written(plan: FillPlan, tmp_path: Path) -> None:
    assert write_fill(plan) is True
    assert (tmp_path / "new.bib").read_bytes() == b"@misc{k}\n"
    assert (tmp_path / "p.tex").read_bytes() == b"\\cite{k}\r\n"


def test_nothing_is_written_when_a_file_has_changed_meanwhile(
    plan: FillPlan, tmp_path: Path
) -> None:
    (tmp_path / "p.tex").write_bytes(b"% new line\n\\cite{?}\n")
    with pytest.raises(CitewellError) as caught:
        write_fill(plan)
    assert caught.value.problem.code == "file-changed"
    assert not (tmp_path / "new.bib").exists()
    assert (tmp_path / "p.tex").read_bytes() == b"% new line\n\\cite{?}\n"


def test_nothing_is_written_when_a_new_file_is_there_by_now(plan: FillPlan, tmp_path: Path) -> None:
    (tmp_path / "new.bib").write_bytes(b"")
    with pytest.raises(CitewellError):
        write_fill(plan)
    assert (tmp_path / "p.tex").read_bytes() == b"\\cite{?}\r\n"


def test_a_plan_without_edits_writes_nothing() -> None:
    assert write_fill(FillPlan()) is False


def fill_of(hit: Hit | None) -> PlaceholderFill:
    place = Placeholder(PlaceholderKind.EMPTY, Span(0, 7), "", Span(6, 6), "cite")
    return PlaceholderFill(path="p.tex", line=1, column=1, text="", placeholder=place, hit=hit)


HIT = Hit(Work(id="t:1", title="T"), 1.0)


@pytest.mark.parametrize(
    ("fills", "codes", "done", "expected"),
    [
        ((), (), False, 0),
        ((HIT,), (), True, 0),
        ((HIT,), (), False, 1),
        ((HIT, None), (), True, 1),
        ((None,), ("library-missing",), True, 2),
        ((HIT,), ("retriever-late",), True, 0),
    ],
)
def test_the_exit_code_says_what_is_left(
    fills: tuple[Hit | None, ...], codes: tuple[str, ...], done: bool, expected: int
) -> None:
    plan = FillPlan(
        fills=tuple(fill_of(hit) for hit in fills), problems=tuple(Problem(c, "m") for c in codes)
    )
    assert exit_code(plan, done) == expected
