"""Reading that is given up leaves nothing half known, and goes on when it is wanted."""

from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.model import Problem
from citewell.model.cancel import ReadCancelled, watch_this_thread

PAPER = "\\documentclass{article}\n\\begin{document}\n\\cite{a1}\n\\bibliography{refs}\n\\end{document}\n"
ENTRIES = "".join(f"@misc{{a{n}, title={{T {n}}}}}\n" for n in range(100))


class Impatient:
    """Gives up after so many steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.began: list[tuple[str, int, int]] = []
        self.ended = 0

    def begin(self, what: str, total: int, done: int) -> None:
        self.began.append((what, total, done))

    def step(self) -> None:
        self.left -= 1
        if self.left == -1:
            raise ReadCancelled

    def end(self) -> None:
        self.ended += 1


@pytest.fixture
def watched():
    def watch(steps: int) -> Impatient:
        watch_this_thread(impatient := Impatient(steps))
        return impatient

    yield watch
    watch_this_thread(None)


def test_a_bib_that_was_given_up_is_unknown_until_it_changes(watched, tmp_path):
    (tmp_path / "main.tex").write_text(PAPER, "utf-8")
    path = tmp_path / "refs.bib"
    path.write_text(ENTRIES, "utf-8")
    cache = FileCache()
    watch = watched(50)
    with pytest.raises(ReadCancelled):
        Project.open(tmp_path / "main.tex", cache=cache)
    assert watch.ended == 1
    project = Project.open(tmp_path / "main.tex", cache=cache)
    assert (project.bibs, project.unread_bibs, project.missing_bibs) == ({}, (path,), ())
    assert [problem.code for problem in project.problems] == ["bib-read-cancelled"]
    assert isinstance(project.bib_at(path), Problem), "nothing is written into it"
    assert cache.bib(path, ENTRIES).entries == (), "it is not read for itself either"
    path.write_text("@misc{a1, title={One}}\n", "utf-8")
    project = Project.open(tmp_path / "main.tex", cache=cache)
    assert [entry.key for entry in project.bibs[path].entries] == ["a1"]
    assert project.problems == []


def test_a_bib_that_was_given_up_is_read_when_it_is_wanted(watched, tmp_path):
    (tmp_path / "main.tex").write_text(PAPER, "utf-8")
    path = tmp_path / "refs.bib"
    path.write_text(ENTRIES, "utf-8")
    cache = FileCache()
    watched(50)
    with pytest.raises(ReadCancelled):
        Project.open(tmp_path / "main.tex", cache=cache)
    watch_this_thread(None)
    cache.try_again(path)
    assert cache.cancelled() == []
    assert len(Project.open(tmp_path / "main.tex", cache=cache).bibs[path].entries) == 100


def test_a_change_that_was_given_up_leaves_the_file_unknown_and_not_as_it_was(watched, tmp_path):
    path = tmp_path / "refs.bib"
    cache = FileCache()
    assert len(cache.bib(path, ENTRIES).entries) == 100
    watched(5)
    anew = ENTRIES.replace("title", "note")
    with pytest.raises(ReadCancelled):
        cache.bib(path, anew)
    assert isinstance(cache.text(path, {path: anew}.get), Problem)
    watch_this_thread(None)
    assert len(cache.bib(path, ENTRIES).entries) == 100, "the old text is known as before"


def test_reading_and_reading_again_say_the_same_watched_or_not(watched):
    plain = parse_bib(ENTRIES, "refs.bib")
    changed = ENTRIES.replace("T 50", "Fifty")
    watched(10**9)
    assert parse_bib(ENTRIES, "refs.bib").text == plain.text
    again = reparse(plain, changed)
    assert [entry.get("title") for entry in again.entries] == [
        entry.get("title") for entry in parse_bib(changed).entries
    ]


def test_the_files_of_a_workspace_that_were_given_up_are_known_when_they_are_open(
    watched, tmp_path
):
    for number in range(20):
        (tmp_path / f"p{number:02}.tex").write_text(PAPER, "utf-8")
    texts: dict[Path, str] = {}
    workspace = Workspace(FileCache(), roots=[tmp_path])
    watched(7)
    with pytest.raises(ReadCancelled):
        workspace.read_ahead(texts.get, 60)
    assert workspace.read_ahead(texts.get, 60), "it is not begun again by itself"
    workspace.refresh(texts.get)
    read = len(workspace.projects)
    assert (read + workspace.passed_over, 0 < read < 20) == (20, True)
    late = tmp_path / "p19.tex"
    texts[late] = PAPER
    workspace.refresh(texts.get, texts)
    assert len(workspace.projects) == read + 1
    assert [project.root for project in workspace.of(late)] == [late]
    watch_this_thread(None)
    workspace.take_up()
    assert workspace.read_ahead(texts.get, 60)
    workspace.refresh(texts.get, texts)
    assert len(workspace.projects) == 20
