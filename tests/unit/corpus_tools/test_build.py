"""Building, adding, renewing, compacting: what is written and what is left alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.corpus.errors import LibraryError
from citewell.corpus.library import Library
from citewell_corpus.build import BuildReport, build_library
from citewell_corpus.sources import read_sources, source_at, write_sources

Build = Callable[..., BuildReport]
Open = Callable[[], Library]
MadeUp = Callable[..., list[dict[str, Any]]]
Write = Callable[..., Path]


def files_of(library: Library) -> dict[str, float]:
    return {
        str(path): path.stat().st_mtime_ns
        for segment in library.segments
        for path in segment.path.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def hundred(tmp_path: Path, made_up: MadeUp, write_jsonl: Write) -> Path:
    return write_jsonl(tmp_path / "hundred.jsonl", made_up(100))


def test_a_build_holds_every_record_and_every_index(
    build: Build, opened: Open, hundred: Path, word_index: Callable[..., Any]
) -> None:
    report = build(hundred, builders=[word_index()])
    library = opened()
    assert (report.works, report.added, report.segments) == (100, 100, 1)
    assert len(library) == len(list(library.iter_works())) == 100
    (segment,) = library.segments
    assert (segment.index("words") / "words.json").is_file()
    assert library.manifest.indexes == {"words": {"version": 1}}
    assert library.manifest.sources[str(hundred)].records == 100
    assert library.verify() == []
    assert not (library.path / "staging").exists()


def test_the_same_build_twice_writes_nothing(build: Build, opened: Open, hundred: Path) -> None:
    first = build(hundred)
    second = build(hundred)
    assert second.up_to_date
    assert second.snapshot == first.snapshot


def test_adding_writes_one_small_segment_and_leaves_the_large_one_alone(
    build: Build,
    opened: Open,
    hundred: Path,
    tmp_path: Path,
    made_up: MadeUp,
    write_jsonl: Write,
    word_index: Callable[..., Any],
) -> None:
    build(hundred, builders=[word_index()])
    before = files_of(opened())
    index = word_index()
    report = build(write_jsonl(tmp_path / "ten.jsonl", made_up(10, seed=1)), builders=[index])
    library = opened()
    assert (report.works, report.added, report.segments) == (110, 10, 2)
    assert index.built == [10]
    after = files_of(library)
    assert before.items() <= after.items()


def test_a_record_already_there_is_merged_and_shadows_the_old_row(
    build: Build, opened: Open, hundred: Path, tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    build(hundred)
    known = made_up(100)[7]
    richer = known | {"id": "other:1", "source": "crossref", "doi": "10.5555/seven", "pages": None}
    report = build(write_jsonl(tmp_path / "more.jsonl", [richer]))
    assert (report.works, report.added, report.updated) == (100, 0, 1)
    library = opened()
    (work,) = library.lookup(doi="10.5555/seven")
    assert work.id == known["id"]
    assert work.pages == "7-16"
    row = int(library.rows_of(["other:1"])[0])
    assert row == library.rows - 1
    assert library.origins_of(row) == (str(hundred), str(tmp_path / "more.jsonl"))
    assert sum(1 for w in library.iter_works() if w.title == work.title) == 1


def test_a_record_that_says_nothing_new_adds_no_row(
    build: Build, opened: Open, hundred: Path
) -> None:
    build(hundred)
    text = hundred.read_text("utf-8")
    hundred.write_text(text + "\n", encoding="utf-8")
    report = build(hundred)
    assert (report.unchanged, report.updated, report.added, report.segments) == (100, 0, 0, 1)
    assert opened().rows == 100


def test_a_changed_source_is_read_again_and_only_its_changes_are_written(
    build: Build, opened: Open, hundred: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    build(hundred)
    records = made_up(100)
    records[3]["title"] = "A title that was mended later"
    del records[50]
    records.append(made_up(1, seed=9)[0])
    write_jsonl(hundred, records)
    report = build()
    assert (report.updated, report.added, report.removed, report.unchanged) == (1, 1, 1, 98)
    library = opened()
    assert len(library) == 100
    assert library.rows == 102
    assert library.lookup(title="A title that was mended later")[0].id == records[3]["id"]
    assert library.work("made-up:0-50") is None


def test_a_source_that_is_removed_takes_its_share_of_merged_works_along(
    build: Build, opened: Open, hundred: Path, tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    richer = made_up(100)[7] | {"id": "other:1", "source": "crossref", "doi": "10.5555/seven"}
    extra = write_jsonl(tmp_path / "more.jsonl", [richer, *made_up(3, seed=4)])
    build(hundred, extra)
    assert len(opened()) == 103
    folder = tmp_path / "library"
    known = read_sources(folder)
    del known[str(extra)]
    write_sources(folder, known)
    build()
    library = opened()
    assert len(library) == 100
    assert library.lookup(doi="10.5555/seven") == []
    assert library.work("made-up:0-7") is not None


def test_a_new_index_is_built_beside_the_others_which_are_left_alone(
    build: Build, opened: Open, hundred: Path, word_index: Callable[..., Any]
) -> None:
    build(hundred, builders=[word_index()])
    old = files_of(opened())
    words, more = word_index(), word_index()
    more.name = "more"
    build(builders=[words, more])
    library = opened()
    assert (words.built, more.built) == ([], [100])
    assert set(library.manifest.indexes) == {"words", "more"}
    # The files are shared with the segment before, which readers may have mapped.
    assert all(Path(path).stat().st_mtime_ns == time for path, time in old.items())
    assert library.verify() == []


def test_many_small_additions_leave_few_segments(
    build: Build, opened: Open, hundred: Path, tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    build(hundred)
    rewritten = 0
    for number in range(24):
        path = write_jsonl(tmp_path / f"add{number}.jsonl", made_up(2, seed=100 + number))
        build(path)
        library = opened()
        assert len(library) == 100 + 2 * (number + 1)
        assert len(library.segments) <= 6
        rewritten += library.segments[-1].count
    assert rewritten < 24 * 24
    assert len({work.id for work in opened().iter_works()}) == 148


def test_compacting_leaves_one_segment_without_dead_rows(
    build: Build,
    opened: Open,
    hundred: Path,
    tmp_path: Path,
    made_up: MadeUp,
    write_jsonl: Write,
    word_index: Callable[..., Any],
) -> None:
    build(hundred, builders=[word_index()])
    changed = [record | {"pages": "1-2"} for record in made_up(100)[:5]]
    build(write_jsonl(tmp_path / "more.jsonl", [*changed, *made_up(5, seed=2)]),
          builders=[word_index()])  # fmt: skip
    before = sorted(opened().iter_works(), key=lambda work: work.id)
    origins = {w.id: opened().origins_of(int(opened().rows_of([w.id])[0])) for w in before}
    report = build(builders=[word_index()], compact=True)
    library = opened()
    assert (report.segments, library.rows, len(library)) == (1, 105, 105)
    assert sorted(library.iter_works(), key=lambda work: work.id) == before
    assert {w.id: library.origins_of(int(library.rows_of([w.id])[0])) for w in before} == origins
    assert build(builders=[word_index()], compact=True).up_to_date


def test_a_second_writer_is_told_that_the_library_is_busy(hundred: Path, tmp_path: Path) -> None:
    folder = tmp_path / "library"
    folder.mkdir()
    holder = (
        "import sys, pathlib; from citewell_corpus.stages.publish import writer_lock\n"
        "with writer_lock(pathlib.Path(sys.argv[1])):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(LibraryError) as caught:
            build_library(folder, add=[source_at(str(hundred))])
        assert caught.value.problem.code == "library-locked"
        assert str(other.pid) in caught.value.problem.message
        # A holder that is killed leaves no lock behind.
        other.kill()
        other.wait()
        assert build_library(folder, add=[source_at(str(hundred))]).works == 100


def test_a_folder_of_something_else_is_never_built_into(hundred: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("x", encoding="utf-8")
    with pytest.raises(LibraryError) as caught:
        build_library(tmp_path / "home", add=[source_at(str(hundred))])
    assert caught.value.problem.code == "library-foreign"
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.tex"]


def test_a_damaged_library_is_not_added_to_but_can_be_built_afresh(
    build: Build, opened: Open, hundred: Path, tmp_path: Path
) -> None:
    build(hundred)
    (catalogue,) = (tmp_path / "library").glob("segments/*/catalogue.sqlite")
    catalogue.write_bytes(b"")
    with pytest.raises(LibraryError) as caught:
        build(hundred)
    assert caught.value.problem.code == "library-corrupt"
    assert build(fresh=True).works == 100
    assert opened().verify() == []


def test_a_source_that_has_gone_is_named_and_its_papers_stay(
    build: Build, opened: Open, hundred: Path, tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    build(hundred)
    hundred.unlink()
    report = build(write_jsonl(tmp_path / "more.jsonl", made_up(5, seed=2)))
    assert [problem.code for problem in report.problems] == ["source-missing"]
    assert len(opened()) == report.works == 105
    with pytest.raises(LibraryError) as caught:
        build(fresh=True)
    assert caught.value.problem.code == "source-missing"
    assert len(opened()) == 105


def test_sources_that_did_not_change_are_not_read_at_all(
    build: Build, hundred: Path, tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    build(hundred)
    facts = hundred.stat()
    # Same size, same time: only a reader of the content could tell.
    hundred.write_bytes(hundred.read_bytes()[::-1])
    os.utime(hundred, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    report = build(write_jsonl(tmp_path / "more.jsonl", made_up(5, seed=2)))
    assert [source.name for source in report.sources] == [str(tmp_path / "more.jsonl")]
    assert report.works == 105


def test_unknown_sources_are_refused_with_a_cure(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("Dear Sir", encoding="utf-8")
    for text, code in (
        (str(tmp_path / "none.bib"), "source-missing"),
        (str(tmp_path / "letter.txt"), "source-unknown"),
    ):
        with pytest.raises(LibraryError) as caught:
            source_at(text)
        assert caught.value.problem.code == code
        assert caught.value.problem.hint
    with pytest.raises(LibraryError) as caught:
        source_at(str(tmp_path / "letter.txt"), "cookbook")
    assert caught.value.problem.code == "source-unknown"


def test_an_empty_source_gives_a_library_that_says_so(build: Build, tmp_path: Path) -> None:
    empty = tmp_path / "empty.bib"
    empty.write_text("% nothing yet\n", encoding="utf-8")
    report = build(empty)
    assert report.works == 0
    assert [problem.code for problem in report.problems] == ["source-empty"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes to set")
def test_a_full_disk_is_named_nothing_is_lost_and_the_next_build_goes_on(
    build: Build, opened: Open, hundred: Path, tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    import resource

    build(hundred)
    large = write_jsonl(tmp_path / "large.jsonl", made_up(2000, seed=3))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    for size in (100, 100_000, 600_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            with pytest.raises(LibraryError) as caught:
                build(large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert caught.value.problem.code == "library-disk-full"
        library = opened()
        assert len(library) == 100
        assert library.verify() == []
        assert not (library.path / "staging").exists(), "the space is given back"
    assert build(large).works == 2100


@pytest.fixture
def unprivileged(tmp_path: Path) -> Any:
    """Act as a user whom file permissions bind, even where the tests run as root."""
    if sys.platform == "win32":
        pytest.skip("Windows does not bind a folder's owner by its mode")
    if os.geteuid() != 0:
        yield
        return
    places = {path: path.stat().st_mode for path in (tmp_path, *tmp_path.parents[:-2])}
    for place in places:
        place.chmod(0o755)
    os.seteuid(65534)
    yield
    os.seteuid(0)
    for place, mode in places.items():
        place.chmod(mode)


def test_a_read_only_folder_is_named_and_the_library_can_still_be_read(
    build: Build, opened: Open, hundred: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    build(hundred)
    hundred.write_text(hundred.read_text("utf-8") + "\n", encoding="utf-8")
    folder = tmp_path / "library"
    modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
    for path in modes:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        request.getfixturevalue("unprivileged")
        with pytest.raises(LibraryError) as caught:
            build(hundred)
        assert caught.value.problem.code == "library-unwritable"
        assert "library.path" in caught.value.problem.hint
        assert len(opened()) == 100
        assert len(list(opened().iter_works())) == 100
    finally:
        if sys.platform != "win32" and os.getuid() == 0:
            os.seteuid(0)
        for path, mode in modes.items():
            path.chmod(mode)


def test_adding_step_by_step_comes_to_the_same_works_as_building_at_once(
    tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    base = made_up(60)
    other = [
        record
        | {
            "id": f"o:{n}",
            "source": "other",
            "title": record["title"].upper(),
            "doi": f"10.5555/{n}",
        }
        for n, record in enumerate(base[::3])
    ]
    third = [
        {"id": f"t:{n}", "source": "third", "title": "Another wording", "doi": f"10.5555/{n}"}
        | ({"title": f"{record['title']} (extended)"} if n % 2 else {})
        for n, record in enumerate(base[::3])
    ]
    parts = [write_jsonl(tmp_path / f"{n}.jsonl", p) for n, p in enumerate((base, other, third))]
    sources = [source_at(str(path)) for path in parts]
    build_library(tmp_path / "once", add=sources)
    for source in sources:
        build_library(tmp_path / "steps", add=[source])

    def works(folder: Path) -> set[frozenset[str]]:
        with Library.open(folder) as library:
            return {frozenset(work.same_as) for work in library.iter_works()}

    once = works(tmp_path / "once")
    assert once == works(tmp_path / "steps")
    assert max(map(len, once)) == 3
    assert len(once) == 60 + 10


@pytest.mark.parametrize(
    "names",
    [
        [".sources.json.4711.tmp"],
        [".CURRENT.4711.tmp", "lock"],
        [".DS_Store", "Thumbs.db", "desktop.ini", "@eaDir"],
        ["notes.txt"],
    ],
)
@pytest.mark.parametrize("built", [True, False])
def test_what_others_or_a_killed_writer_left_does_not_lock_a_library(
    hundred: Path, tmp_path: Path, built: bool, names: list[str]
) -> None:
    folder = tmp_path / "library"
    folder.mkdir()
    if built:
        build_library(folder, add=[source_at(str(hundred))])
    elif names == ["notes.txt"]:
        (folder / "sources.json").write_text('{"format":1,"sources":{}}')
    for name in names:
        (folder / name).write_bytes(b"{")
    if not built and "notes.txt" not in names:
        with pytest.raises(LibraryError) as caught:
            Library.open(folder)
        assert caught.value.problem.code == "library-missing"
    build_library(folder, add=[source_at(str(hundred))])
    assert len(Library.open(folder)) == 100
    left = {path.name for path in folder.iterdir()}
    assert not any(name.endswith(".tmp") for name in left)
    assert {name for name in names if not name.endswith(".tmp")} <= left


def test_a_build_after_one_that_was_killed_looks_at_the_checksums(
    hundred: Path, tmp_path: Path, made_up: MadeUp, write_jsonl: Write
) -> None:
    folder = tmp_path / "library"
    build_library(folder, add=[source_at(str(hundred))])
    flip(next(folder.glob("segments/*/catalogue.sqlite")))
    (folder / "staging").mkdir()
    more = write_jsonl(tmp_path / "more.jsonl", made_up(10, seed=9))
    with pytest.raises(LibraryError) as caught:
        build_library(folder, add=[source_at(str(more))])
    assert caught.value.problem.code == "library-corrupt"
    assert build_library(folder, fresh=True).works == 100


def flip(path: Path) -> None:
    """One wrong bit in the middle of a file."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
