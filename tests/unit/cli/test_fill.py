"""Writing a plan: all of it or nothing."""

from pathlib import Path

import msgspec
import pytest

from citewell.cli.fill import exit_code
from citewell.features.citing.write import write_edits, write_plan
from citewell.model import CitewellError, Hit, Problem, Work
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import Placeholder, PlaceholderKind, Span
from citewell.usecases.fill import FillPlan, PlaceholderFill


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


def test_nothing_is_written_when_a_file_has_changed_meanwhile(
    plan: FillPlan, tmp_path: Path
) -> None:
    (tmp_path / "p.tex").write_bytes(b"% new line\n\\cite{?}\n")
    with pytest.raises(CitewellError) as caught:
        write_edits(plan.edits, plan.texts)
    assert caught.value.problem.code == "file-changed"
    assert not (tmp_path / "new.bib").exists()
    assert (tmp_path / "p.tex").read_bytes() == b"% new line\n\\cite{?}\n"


def test_nothing_is_written_when_a_new_file_is_there_by_now(plan: FillPlan, tmp_path: Path) -> None:
    (tmp_path / "new.bib").write_bytes(b"")
    with pytest.raises(CitewellError):
        write_edits(plan.edits, plan.texts)
    assert (tmp_path / "p.tex").read_bytes() == b"\\cite{?}\r\n"


@pytest.mark.parametrize("changes", [0, 1, 2, 3])
def test_a_stale_plan_is_made_again_twice_and_then_refused(tmp_path: Path, changes: int) -> None:
    """Another program writes the paper each time before the plan is."""
    paper = tmp_path / "p.tex"
    paper.write_bytes(b"\\cite{?}\r\n")
    tries = 0

    def plan() -> FillPlan:
        text = paper.read_bytes().decode()
        found = plan_for(tmp_path)
        edits = (TextEdit(Span(text.index("?"), text.index("?") + 1), "k"),)
        paths = {**found.texts, str(paper): text}
        changed = msgspec.structs.replace(found.edits[1], edits=edits)
        return msgspec.structs.replace(found, edits=(found.edits[0], changed), texts=paths)

    def write(made: FillPlan) -> None:
        nonlocal tries
        tries += 1
        if tries <= changes:
            paper.write_bytes(b"% new line\r\n" + paper.read_bytes())
        write_edits(made.edits, made.texts)

    if changes == 3:
        with pytest.raises(CitewellError) as caught:
            write_plan(plan(), plan, write)
        assert caught.value.problem.code == "file-changed"
        assert [path.name for path in tmp_path.iterdir()] == ["p.tex"]
    else:
        write_plan(plan(), plan, write)
        assert paper.read_bytes() == b"% new line\r\n" * changes + b"\\cite{k}\r\n"
    assert tries == min(changes + 1, 3)


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
