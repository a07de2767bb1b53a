"""A source that is read again: the library then holds what a build from scratch would hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.corpus.errors import LibraryError
from citewell.corpus.library import Library
from citewell_corpus.build import BuildReport, build_library
from citewell_corpus.sources import read_sources, source_at

Build = Callable[..., BuildReport]
Open = Callable[[], Library]
Bib = Callable[..., Path]

TITLES = {
    "Apples": "Apples and the Slow Ripening of Orchards",
    "Wombat": "Wombat Burrows under Frozen Ground",
    "Emu": "Emu Eggs in the Colour of Rain",
    "Quokka": "Quokka Smiles and How They Spread",
}


@pytest.fixture
def bib(tmp_path: Path) -> Bib:
    """`bib("a.bib", key="Apples")`: a .bib with these works by key; "Apples 10.5555/x" has a DOI."""

    def write(name: str, **works: str) -> Path:
        text = ""
        for key, fact in works.items():
            word, _, doi = fact.partition(" ")
            fields = {"author": f"{word}son, Ann", "title": TITLES.get(word, word), "year": "2001"}
            fields |= {"journal": "Nature Notes"} | ({"doi": doi} if doi else {})
            text += f"@article{{{key},\n"
            text += "".join(f"  {field} = {{{value}}},\n" for field, value in fields.items())
            text += "}\n"
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def held(library: Library) -> list[tuple[Any, ...]]:
    return sorted((work.title, work.doi, work.id) for work in library.iter_works())


@pytest.fixture
def as_fresh(tmp_path: Path, opened: Open) -> Callable[[], Library]:
    """The library, after a check that a build from scratch holds the same works."""

    def compare() -> Library:
        library = opened()
        with Library.open(tmp_path / "library") as now:
            sources = [source_at(path) for path in now.manifest.sources]
        build_library(tmp_path / "afresh", add=sources, fresh=True)
        with Library.open(tmp_path / "afresh") as fresh:
            assert [facts[:2] for facts in held(library)] == [facts[:2] for facts in held(fresh)]
            assert library.manifest.merged == fresh.manifest.merged
        for work in library.iter_works():
            assert len(library.rows_of([work.id])) == 1
        return library

    return compare


def test_keys_that_move_to_other_entries_lose_no_paper(
    build: Build, bib: Bib, as_fresh: Callable[[], Library]
) -> None:
    build(bib("a.bib", smith2001a="Apples", smith2001b="Wombat"))
    build(bib("a.bib", smith2001a="Emu", smith2001b="Apples", smith2001c="Wombat"))
    library = as_fresh()
    assert len(library) == 3
    keys = {work.title.split()[0]: work.id.rpartition(":")[2] for work in library.iter_works()}
    assert keys == {"Emu": "smith2001a", "Apples": "smith2001b", "Wombat": "smith2001c"}


def test_an_entry_keeps_its_id_when_its_title_or_its_key_changes(
    build: Build, bib: Bib, as_fresh: Callable[[], Library]
) -> None:
    build(bib("a.bib", one="Apples", two="Wombat"))
    report = build(bib("a.bib", one="Emu", new="Wombat"))
    assert (report.updated, report.added, report.removed) == (2, 0, 0)
    library = as_fresh()
    keys = {work.title.split()[0]: work.id.rpartition(":")[2] for work in library.iter_works()}
    assert keys == {"Emu": "one", "Wombat": "two"}


def test_a_key_that_was_renamed_can_be_given_to_another_entry_later(
    build: Build, bib: Bib, as_fresh: Callable[[], Library]
) -> None:
    build(bib("a.bib", one="Apples"))
    build(bib("a.bib", two="Apples"))
    build(bib("a.bib", one="Emu", two="Apples"))
    assert len(as_fresh()) == 2


def test_a_doi_that_moves_to_another_entry_is_found_there(
    build: Build, bib: Bib, as_fresh: Callable[[], Library]
) -> None:
    build(bib("a.bib", p="Apples 10.5555/ppp", q="Wombat"))
    build(bib("a.bib", p="Apples", q="Wombat 10.5555/ppp"))
    (work,) = as_fresh().lookup(doi="10.5555/ppp")
    assert work.title == TITLES["Wombat"]


def test_a_paper_that_each_of_two_sources_drops_in_turn_is_gone(
    build: Build, bib: Bib, as_fresh: Callable[[], Library]
) -> None:
    build(bib("a.bib", p="Apples", q="Wombat"), bib("b.bib", p="Apples", q="Wombat"))
    report = build(bib("a.bib", q="Wombat"))
    assert (report.updated, report.removed) == (1, 0)
    library = as_fresh()
    (work,) = library.lookup(title=TITLES["Apples"])
    (row,) = library.rows_of([work.id])
    assert library.origins_of(int(row))[0].endswith("b.bib")
    assert [origin.source.rpartition("/")[2] for origin in work.provenance] == ["b.bib"]
    report = build(bib("b.bib", q="Wombat"))
    assert (report.updated, report.removed) == (0, 1)
    assert as_fresh().lookup(title=TITLES["Apples"]) == []


def test_a_source_that_is_emptied_leaves_what_others_say(
    build: Build, bib: Bib, as_fresh: Callable[[], Library]
) -> None:
    build(bib("a.bib", p="Apples 10.5555/ppp", q="Wombat"), bib("b.bib", p="Apples 10.5555/ppp"))
    build(bib("a.bib", r="Emu"))
    assert len(as_fresh()) == 2


@pytest.mark.parametrize("two", [False, True])
def test_reading_a_source_again_merges_nothing(
    build: Build, bib: Bib, as_fresh: Callable[[], Library], two: bool
) -> None:
    build(bib("a.bib", p="Apples", q="Wombat", r="Emu"))
    if two:
        assert build(bib("b.bib", one="Apples", other="Quokka")).by_title == 1
    report = build(bib("a.bib", p="Apples", q="Wombat"))
    assert (report.removed, report.by_identifier, report.by_title) == (1, 0, 0)
    assert as_fresh().manifest.merged == int(two)
    build(bib("a.bib", p="Apples"))
    assert as_fresh().manifest.merged == int(two)


def test_two_sources_read_again_together_and_then_one_of_them_lose_no_paper(
    build: Build, bib: Bib, as_fresh: Callable[[], Library]
) -> None:
    build(bib("a.bib", one="Apples", two="Wombat"), bib("b.bib", x="Apples", y="Wombat"))
    build(bib("a.bib", three="Emu"), bib("b.bib", x="Wombat", y="Wombat"))
    as_fresh()
    build(bib("a.bib", one="Quokka", two="Wombat"))
    assert len(as_fresh()) == 2


def test_a_source_is_removed_although_another_one_is_missing(
    build: Build, bib: Bib, opened: Open, tmp_path: Path
) -> None:
    a = bib("a.bib", p="Apples", q="Wombat")
    b = bib("b.bib", p="Apples", r="Emu")
    build(a, b, bib("c.bib", p="Apples 10.5555/ppp", s="Quokka"))
    a.unlink()
    report = build(remove=[str(b)])
    assert [problem.code for problem in report.problems] == ["source-missing"]
    library = opened()
    assert sorted(work.title.split()[0] for work in library.iter_works()) == [
        "Apples",
        "Quokka",
        "Wombat",
    ]
    (work,) = library.lookup(title=TITLES["Apples"])
    origins = sorted(origin.source.rpartition("/")[2] for origin in work.provenance)
    assert origins == ["a.bib", "c.bib"]
    assert set(library.manifest.sources) == {str(a), str(tmp_path / "c.bib")}
    assert build(bib("d.bib", t="Emu")).works == 4
    report = build(remove=[str(tmp_path / "c.bib"), str(tmp_path / "d.bib")])
    assert report.works == 2
    assert build().up_to_date


def test_a_removal_that_fails_removes_nothing(
    build: Build, bib: Bib, opened: Open, tmp_path: Path
) -> None:
    build(bib("a.bib", p="Apples"), bib("b.bib", q="Wombat"))
    (tmp_path / "a.bib").unlink()
    with pytest.raises(LibraryError):
        build(remove=[str(tmp_path / "b.bib")], fresh=True)
    assert len(read_sources(tmp_path / "library")) == len(opened()) == 2


def test_a_file_is_one_source_however_its_path_is_written(
    build: Build, bib: Bib, opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s").mkdir()
    build(bib("s/r.bib", p="Apples"))
    monkeypatch.chdir(tmp_path / "s")
    for path in ("../s/r.bib", "./r.bib", str(tmp_path / "s" / ".." / "s" / "r.bib")):
        assert build(Path(path)).up_to_date
    assert set(read_sources(tmp_path / "library")) == {str(tmp_path / "s" / "r.bib")}
    with pytest.raises(LibraryError) as caught:
        source_at("../s/../s/none.bib")
    assert str(tmp_path / "s" / "none.bib") in str(caught.value.problem)


def test_a_path_through_a_link_keeps_its_meaning(bib: Bib, tmp_path: Path) -> None:
    (tmp_path / "far" / "inner").mkdir(parents=True)
    far, near = bib("far/r.bib", p="Apples"), bib("r.bib", q="Wombat")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "inner")
    through = Path(source_at(f"{tmp_path}/link/../r.bib").path)
    assert through.samefile(far)
    assert not through.samefile(near)
    deep = Path(source_at(f"{tmp_path}/link/../../r.bib").path)
    assert deep.samefile(near)
    (tmp_path / "here.bib").symlink_to(far)
    assert source_at(f"{tmp_path}/far/../here.bib").path == str(tmp_path / "here.bib")
