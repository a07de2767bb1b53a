"""Whether a meeting's papers are all held."""

import json

import pytest

from citewell.corpus.library import Library
from citewell.corpus.volumes import VolumesBuilder
from citewell.engine.records import LibraryRecords
from citewell.model import Author
from citewell.retrieval.bm25_build import Bm25Builder
from citewell_corpus.build import build_library
from citewell_corpus.sources import source_at


def papers(years, *, part="main", lacking=()):
    """Sixty numbered papers a year, those of some numbers left out."""
    return [
        {
            "id": f"acl:{year}.emnlp-{part}.{n}",
            "title": f"River {n} of {year} in {part}",
            "authors": [f"Ann Alder{n}", f"Bob Birch{n}"],
            "year": year,
            "venue": "EMNLP",
            "booktitle": f"Conference on Rivers {part}",
            "kind": "inproceedings",
        }
        for year in years
        for n in range(1, 61)
        if n not in lacking
    ]


@pytest.fixture
def meeting(tmp_path):
    """Builds a library of some sources and gives what it says of a meeting."""
    builders = [Bm25Builder(), VolumesBuilder()]

    def ask(*sources, year=2018):
        for number, source in enumerate(sources):
            path = tmp_path / f"{number}.jsonl"
            path.write_text("".join(json.dumps(record) + "\n" for record in source))
            build_library(tmp_path / "library", add=[source_at(path)], builders=builders)
        with Library.open(tmp_path / "library") as library:
            records = LibraryRecords(library)
            return records.meeting("emnlp", year, [Author("Alder7", "Ann"), Author("Birch7")])

    return ask


def test_a_meeting_without_a_gap_is_held_whole(meeting):
    held = meeting([*papers(range(2017, 2020)), *papers([2018], part="demo")])
    assert (held.papers, held.whole) == (60, True)
    assert {work.id for work in held.by_authors} == {
        "acl:2018.emnlp-main.7",
        "acl:2018.emnlp-demo.7",
    }


def test_a_gap_in_the_year_after_leaves_it_open(meeting):
    held = meeting([*papers([2017, 2018]), *papers([2019], lacking=range(20, 30))])
    assert not held.whole


def test_a_meeting_in_several_segments_is_one(meeting, tmp_path):
    lacking = range(5, 11)
    first = papers(range(2017, 2020), lacking=lacking)
    rest = [paper for paper in papers(range(2017, 2020)) if paper not in first]
    held = meeting(first, rest)
    with Library.open(tmp_path / "library") as library:
        assert len(library.segments) == 2
    assert (held.papers, held.whole) == (60, True)


def test_columns_of_another_format_are_not_read(tmp_path, monkeypatch):
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in papers([2018])))
    monkeypatch.setattr("citewell.corpus.volumes.FORMAT", 99)
    builders = [Bm25Builder(), VolumesBuilder()]
    build_library(tmp_path / "library", add=[source_at(path)], builders=builders)
    monkeypatch.undo()
    with Library.open(tmp_path / "library") as library:
        for column in (library.segments[0].path / "volumes").iterdir():
            column.write_bytes(b"not what it was")
        held = LibraryRecords(library).meeting("emnlp", 2018, [Author("Alder7")])
        assert held.by_authors and not held.whole


def test_damaged_columns_leave_it_open(tmp_path):
    path = tmp_path / "papers.jsonl"
    records = papers(range(2017, 2020))
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    builders = [Bm25Builder(), VolumesBuilder()]
    build_library(tmp_path / "library", add=[source_at(path)], builders=builders)
    with Library.open(tmp_path / "library") as library:
        for column in (library.segments[0].path / "volumes").iterdir():
            column.write_bytes(bytes(column.stat().st_size))
        assert not LibraryRecords(library).meeting("emnlp", 2018, [Author("Alder7")]).whole
