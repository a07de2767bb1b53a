"""The demo's own folder: what is copied, and what is never overwritten."""

from pathlib import Path

import pytest

from citewell.cli.demo import FILES, RECORD, copy_paper
from citewell.documents.project.paper_project import Project
from citewell.model import CitewellError
from citewell.model.document import PlaceholderKind


def test_the_bundled_paper_has_placeholders_of_every_kind_and_one_known_work(
    tmp_path: Path,
) -> None:
    project = Project.open(copy_paper(tmp_path / "new" / "demo"))
    kinds = [p.kind for p in project.document.placeholders]
    assert set(kinds) == set(PlaceholderKind)
    assert len(kinds) == 10
    (bib,) = project.bibliographies
    assert bib.problems == ()
    assert [entry.key for entry in bib.entries] == ["transformer"]


def test_what_the_demo_left_is_replaced(tmp_path: Path) -> None:
    copy_paper(tmp_path)
    paper = copy_paper(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*FILES, RECORD}
    assert paper == tmp_path / FILES[0]


@pytest.mark.parametrize("name", FILES)
def test_what_somebody_wrote_is_refused_and_kept(tmp_path: Path, name: str) -> None:
    copy_paper(tmp_path)
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(CitewellError) as caught:
        copy_paper(tmp_path)
    assert caught.value.problem.code == "demo-folder-taken"
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_a_damaged_record_counts_as_none(tmp_path: Path) -> None:
    copy_paper(tmp_path)
    (tmp_path / RECORD).write_text("[1, 2", encoding="utf-8")
    with pytest.raises(CitewellError):
        copy_paper(tmp_path)


def test_a_file_in_place_of_the_folder_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("x", encoding="utf-8")
    with pytest.raises(CitewellError) as caught:
        copy_paper(tmp_path / "taken")
    assert caught.value.problem.code == "demo-folder-unwritable"
