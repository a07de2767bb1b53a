"""OpenAlex in Parquet: the library of the same records in JSON Lines, and what damage costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from citewell.corpus.errors import LibraryError
from citewell.corpus.library import Library
from citewell.model import Work
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.importers import ImportReport, find_importer
from citewell_corpus.importers.openalex import OpenAlexImporter
from citewell_corpus.sources import source_at

pyarrow = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
from pyarrow import parquet  # noqa: E402

TOPICS = ("Hedgehogs", "Tunnels", "Gardens", "Fences")
ABSTRACT = pyarrow.map_(pyarrow.string(), pyarrow.list_(pyarrow.int32()))


def work(number: int) -> dict[str, Any]:
    """A work object as the API has it."""
    return {
        "id": f"https://openalex.org/W{number}",
        "doi": f"https://doi.org/10.5555/road.{number}",
        "title": f"[{number}] {TOPICS[number % 4]} beside roads",
        "publication_year": 2000 + number % 20,
        "type": "article",
        "language": "en",
        "is_retracted": number == 7,
        "is_paratext": number == 9,
        "authorships": [
            {"author": {"display_name": f"Kim Name{number}"}, "is_corresponding": True}
        ],
        "primary_location": {
            "landing_page_url": f"https://example.org/{number}",
            "source": {"display_name": "Journal of Road Ecology", "type": "journal"},
        },
        "biblio": {"volume": "3", "issue": None, "first_page": "1", "last_page": "9"},
        "cited_by_count": number,
        "referenced_works": [f"https://openalex.org/W{(number + n) % 40}" for n in range(7, 11)],
        "abstract_inverted_index": {"Animals": [0, 3], "and": [1], f"roads{number}": [2]},
        "concepts": [{"display_name": "not read", "score": 0.5}],
    }


RECORDS = [work(number) for number in range(40)]


def as_maps(path: Path, records: list[dict[str, Any]] = RECORDS, rows: int = 8) -> None:
    """With nested columns, the inverted index as a map."""
    columns = {name: [one[name] for one in records] for name in records[0]}
    arrays = {
        name: pyarrow.array([list(one.items()) for one in values], ABSTRACT)
        if name == "abstract_inverted_index"
        else pyarrow.array(values)
        for name, values in columns.items()
    }
    parquet.write_table(pyarrow.table(arrays), path, row_group_size=rows, compression="snappy")


def as_json(path: Path) -> None:
    """With what is nested as JSON in columns of text."""
    records = [
        {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in one.items()}
        for one in RECORDS
    ]
    parquet.write_table(pyarrow.Table.from_pylist(records), path, row_group_size=16)


def as_lines(path: Path) -> None:
    path.write_text("".join(json.dumps(one) + "\n" for one in RECORDS), encoding="utf-8")


def content(folder: Path) -> tuple[list[Work], list[list[int]]]:
    with Library.open(folder) as library:
        works = [msgspec.structs.replace(w, provenance=()) for w in library.iter_works()]
        priors = [part.priors() for part in library.citing]
        return works, [one.key.tolist() + one.list_cited.tolist() for one in priors]


def test_parquet_gives_the_library_of_the_same_records_in_json_lines(tmp_path: Path) -> None:
    made = {}
    for name, write in (("lines", as_lines), ("maps", as_maps), ("json", as_json)):
        source = tmp_path / name / ("part.jsonl" if name == "lines" else "part_000.parquet")
        source.parent.mkdir()
        write(source)
        pattern = source_at(str(source.parent / "*"))
        builders = default_builders(Options())
        report = build_library(tmp_path / f"lib-{name}", add=[pattern], builders=builders, jobs=2)
        assert report.works == 39
        assert report.sources[0].skipped == {"paratext": 1}
        made[name] = content(tmp_path / f"lib-{name}")
    assert made["lines"] == made["maps"] == made["json"]
    works, (lists,) = made["maps"]
    assert works[0].title == "[0] Hedgehogs beside roads"
    assert works[0].abstract == "Animals and roads0 Animals"
    assert works[0].journal == "Journal of Road Ecology"
    assert sum(one.retracted for one in works) == 1
    assert lists


def test_a_damaged_row_group_costs_its_own_rows(tmp_path: Path) -> None:
    path = tmp_path / "part_000.parquet"
    as_maps(path)
    column = parquet.ParquetFile(path).metadata.row_group(2).column(0)
    data = bytearray(path.read_bytes())
    begin = column.dictionary_page_offset or column.data_page_offset
    data[begin : begin + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)
    report = ImportReport()
    works = list(OpenAlexImporter().read(path, report))
    assert len(works) == 40 - 8 - 1  # the group's rows, and the paratext
    assert report.bad == 1
    (problem,) = report.problems
    assert problem.code == "source-unreadable" and problem.path == str(path)
    assert "Row group 3 of 5" in problem.message and "8 of its 8 rows" in problem.message


@pytest.mark.parametrize("damage", ["cut", "footer"])
def test_a_file_without_a_sound_end_is_one_damaged_file(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "part_000.parquet"
    as_maps(path)
    data = path.read_bytes()
    path.write_bytes(data[:-40] if damage == "cut" else data[:-200] + b"\0" * 192 + data[-8:])
    with pytest.raises(LibraryError) as caught:
        list(OpenAlexImporter().read(path, ImportReport()))
    assert caught.value.problem.code == "source-unreadable"
    assert caught.value.problem.path == str(path)


@pytest.mark.parametrize(
    "spelling", ["corpusid citationcount externalids", "paperId citationCount externalIds"]
)
def test_parquet_of_semantic_scholar_gives_the_works_of_its_lines(
    tmp_path: Path, spelling: str
) -> None:
    identity, count, others = spelling.split()
    paper = {
        identity: "7",
        "title": "Tunnels for hedgehogs",
        "year": 2021,
        others: {"DOI": "10.5555/tun.7"},
        "authors": [{"name": "Kim Meadow"}],
        count: 3,
        "references": [{"title": "Hedgehogs beside roads", identity: "8"}],
    }
    lines, rows = tmp_path / "papers.jsonl", tmp_path / "papers.parquet"
    lines.write_text(json.dumps(paper) + "\n", encoding="utf-8")
    parquet.write_table(pyarrow.Table.from_pylist([paper]), rows)
    made = []
    for path in (lines, rows):
        importer, cited = find_importer(path), []
        assert importer is not None and importer.name == "semantic-scholar"
        found = list(importer.read(path, ImportReport(on_citing=cited.append)))
        made.append(([msgspec.structs.replace(one, provenance=()) for one in found], cited))
    assert made[0] == made[1]
    ((work,), (citing,)) = made[1]
    assert (work.doi, work.citations, work.year) == ("10.5555/tun.7", 3, 2021)
    assert [one.id for one in citing.cited] == ["s2:8"]


def test_memory_is_bounded_by_a_batch_of_rows(tmp_path: Path) -> None:
    path = tmp_path / "part_000.parquet"
    as_maps(path, [work(number) for number in range(20_000)], rows=20_000)
    code = """
import resource, sys
from pathlib import Path
from citewell_corpus.importers import ImportReport
from citewell_corpus.importers.openalex import OpenAlexImporter
from pyarrow import parquet
works = OpenAlexImporter().read(Path(sys.argv[1]), ImportReport())
next(works)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert sum(1 for _ in works) == 19_998
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    pytest.importorskip("resource", reason="not on Windows")
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    grown = int(done.stdout) / (1 if sys.platform == "linux" else 1024)
    assert grown < 40_000, "kilobytes beyond the first batch"


def test_without_pyarrow_the_problem_says_how_to_install_it(tmp_path: Path) -> None:
    as_maps(tmp_path / "part_000.parquet")
    code = (
        "import sys; sys.modules['pyarrow'] = None; "
        "sys.argv = ['citewell', 'library', 'add', 'part_000.parquet', '--name', 'own']; "
        "from citewell.cli import main; main()"
    )
    own = os.environ | {"CITEWELL_LIBRARY_PATH": str(tmp_path / "libraries")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=own, capture_output=True,
        encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "pyarrow" in done.stderr and "part_000.parquet" in done.stderr
    assert "parquet]" in done.stderr and "pip install" in done.stderr
