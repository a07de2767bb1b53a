"""Faults of Parquet in a bulk data set: a package that is missing, a file cut off, a broken row."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.corpus.errors import LibraryError
from citewell_corpus.build import BuildReport
from citewell_corpus.importers import ImportReport
from citewell_corpus.importers.openalex import OpenAlexImporter

pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
from pyarrow import parquet  # noqa: E402

TITLES = ("Hedgehogs", "Tunnels", "Gardens", "Fences", "Ponds")


def works(part: int) -> pyarrow.Table:
    """Five works, as OpenAlex has them."""
    return pyarrow.Table.from_pylist(
        [
            {
                "id": f"https://openalex.org/W{10 * part + at}",
                "title": f"{title} beside road {part}",
                "publication_year": 2020,
                "authorships": [{"author": {"display_name": f"Kim Name{part}{at}"}}],
                "referenced_works": ["https://openalex.org/W1"],
            }
            for at, title in enumerate(TITLES, 1)
        ]
    )


def snapshot(folder: Path, parts: int) -> Path:
    """A pattern of files with five works each."""
    folder.mkdir()
    for part in range(parts):
        parquet.write_table(works(part), folder / f"part_{part:04d}.parquet")
    return folder / "*.parquet"


@pytest.mark.parametrize("is_pattern", [True, False], ids=["pattern", "folder"])
def test_a_build_without_pyarrow_ends_and_reads_all_once_it_is_installed(
    tmp_path: Path,
    build: Callable[..., BuildReport],
    monkeypatch: pytest.MonkeyPatch,
    is_pattern: bool,
) -> None:
    pattern = snapshot(tmp_path / "works", 2)
    source = pattern if is_pattern else pattern.parent
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(LibraryError) as caught:
            build(source, jobs=1)
    assert caught.value.problem.code == "parquet-not-installed"
    assert build(source, jobs=1).works == 10


def test_a_file_of_a_pattern_that_was_cut_off_is_named(
    tmp_path: Path, build: Callable[..., BuildReport]
) -> None:
    pattern = snapshot(tmp_path / "works", 3)
    cut = tmp_path / "works" / "part_0001.parquet"
    cut.write_bytes(cut.read_bytes()[:-40])
    report = build(pattern, jobs=2)
    assert report.works == 10
    (source,) = report.sources
    assert (source.bad, source.skipped) == (1, {})
    (problem,) = source.problems
    assert (problem.code, problem.path) == ("source-unreadable", str(cut))


def test_text_that_is_not_utf8_costs_its_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "part_0000.parquet"
    titles = pyarrow.array([b"Roads", b"Fences \xff", b"Ponds", b"Meadows", b"Cameras"])
    broken = pyarrow.Array.from_buffers(pyarrow.string(), 5, titles.buffers())
    parquet.write_table(works(0).set_column(1, "title", broken), path)
    report = ImportReport()
    found = [one.title for one in OpenAlexImporter().read(path, report)]
    assert found == ["Roads", "Ponds", "Meadows", "Cameras"]
    (problem,) = report.problems
    assert (problem.code, problem.line) == ("record-bad", 2)
