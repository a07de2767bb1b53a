"""Reading a library: look-ups, rows, columns, threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from citewell.corpus.errors import LibraryError
from citewell.corpus.layout import library_path
from citewell.corpus.library import Library
from citewell_corpus.build import build_library
from citewell_corpus.sources import source_at


def test_a_work_is_found_under_its_id_and_under_the_sources_own_identifier(
    library: Library,
) -> None:
    work = library.work("acl:1999.test-main.1")
    assert work is not None
    assert work.title == "Walking on Graphs with Attention"
    assert library.work("1999.test-main.1") == work
    assert library.work("acl:1999.test-main.2") is None


def test_rows_of_keeps_the_order_and_marks_unknown_ids(library: Library) -> None:
    rows = library.rows_of(["x:three", "nothing", "x:two", "x:three"])
    assert rows.dtype == np.int64
    assert rows[1] == -1
    assert rows[0] == rows[3]
    assert [work.id for work in library.works(rows[[0, 2]])] == ["x:three", "x:two"]


@pytest.mark.parametrize(
    "spelling", ["10.5555/test.1", "10.5555/TEST.1", "https://doi.org/10.5555/Test.1"]
)
def test_a_doi_is_found_in_any_spelling(library: Library, spelling: str) -> None:
    assert [work.id for work in library.lookup(doi=spelling)] == ["acl:1999.test-main.1"]


def test_the_stronger_key_wins_over_the_weaker(library: Library) -> None:
    found = library.lookup(doi="10.5555/test.1", title="A preprint about k-means")
    assert [work.id for work in found] == ["acl:1999.test-main.1"]
    assert [w.id for w in library.lookup(doi="10.1/none", title="A preprint about k-means")] == [
        "x:two"
    ]


def test_libraries_lie_in_the_users_data_folder_unless_a_setting_names_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "mine"))
    assert library_path(None, "default") == tmp_path / "mine" / "libraries" / "default"
    assert library_path(tmp_path / "other", "default") == tmp_path / "other" / "default"
    monkeypatch.delenv("CITEWELL_DATA")
    assert library_path(None, "default").parent.parent.name == "citewell"


def test_columns_hold_year_and_citations_with_marks_for_unknown(library: Library) -> None:
    columns = library.columns()
    row = int(library.rows_of(["1999.test-main.1"])[0])
    other = int(library.rows_of(["x:three"])[0])
    assert (columns.year[row], columns.citations[row]) == (1999, 7)
    assert columns.citations[other] == -1
    assert columns.year.dtype == np.dtype("<i2")
    assert len(columns.year) == library.rows


def test_works_can_be_asked_from_many_threads_at_once(library: Library) -> None:
    def ask(number: int) -> str:
        return library.works([number % library.rows])[0].id

    expected = [work.id for work in library.iter_works()]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(400)))
    assert found == [expected[number % 4] for number in range(400)]


def test_a_closed_library_says_so(library: Library) -> None:
    library.close()
    with pytest.raises(LibraryError) as caught:
        library.works([0])
    assert caught.value.problem.code == "library-missing"


def test_an_open_library_does_not_see_a_later_build(
    folder: Path, library: Library, tmp_path: Path, write_jsonl: Callable[..., Path]
) -> None:
    more = write_jsonl(
        tmp_path / "more.jsonl", [{"id": "y:1", "title": "Later", "source": "made-up"}]
    )
    build_library(folder, add=[source_at(str(more))])
    assert len(library) == 4
    assert library.work("y:1") is None
    assert len(list(library.iter_works())) == 4
    with Library.open(folder) as newer:
        assert len(newer) == 5
        assert newer.work("y:1") is not None


def test_a_merged_record_leads_to_the_work_that_holds_it(
    folder: Path, tmp_path: Path, write_jsonl: Callable[..., Path]
) -> None:
    again = {
        "id": "z:9",
        "title": "Walking on graphs with attention",
        "authors": ["A. Lovelace"],
        "year": 2000,
        "source": "other",
    }
    source = write_jsonl(tmp_path / "again.jsonl", [again])
    build_library(folder, add=[source_at(str(source))])
    with Library.open(folder) as library:
        work = library.work("z:9")
        assert work is not None
        assert work.id == "acl:1999.test-main.1"
        assert {"acl:1999.test-main.1", "z:9"} <= set(work.same_as)
        assert [origin.source for origin in work.provenance] == ["acl-anthology", "other"]
        assert len(library) == 4
        assert library.rows == 5
        dead = sum(int(s.dead.sum()) for s in library.segments if s.dead is not None)
        assert dead == 1
