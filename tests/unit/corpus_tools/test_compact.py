"""A compact segment: the answers of an ordinary one, in few bytes and without abstracts."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import zstandard

from citewell.corpus.arrays import FOLDER
from citewell.corpus.columns import LibraryColumns
from citewell.corpus.compact import catalogue
from citewell.corpus.compact.catalogue import CompactCatalogue
from citewell.corpus.compact.codec import (
    Texts,
    decode_rows,
    decode_varints,
    encode_rows,
    encode_varints,
    load_table,
    row_starts,
    row_widths,
    save_table,
    save_texts,
    short_varints,
)
from citewell.corpus.errors import LibraryError
from citewell.corpus.keys import work_keys
from citewell.corpus.library import Library
from citewell.corpus.volumes import LibraryPlaces
from citewell.model import Query, Work
from citewell.model.cancel import Cancel
from citewell.model.names import wanted_forms
from citewell.options import Options
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.criteria import rows_with_phrase
from citewell.retrieval.dense import DenseRetriever, compact_arrays
from citewell.retrieval.encoders.registry import load_encoder
from citewell.retrieval.facets import Facets
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.compact.library import write_compact_library
from citewell_corpus.processes import SilentProgress
from citewell_corpus.sources import source_at
from citewell_corpus.starter_data.make import missing_years

SECRET = "zyxwvutsrq"
"""A word of one abstract alone."""
WORKS = 400
Pair = tuple[Library, Library]


@pytest.fixture(scope="module")
def records(made_up: Callable[..., list[dict[str, Any]]]) -> list[dict[str, Any]]:
    found = made_up(WORKS)
    for number, record in enumerate(found):
        record["doi"] = f"10.1000/abc.{number}" if number % 3 else ""
        record["url"] = f"https://doi.org/10.1000/ABC.{number}" if number % 3 else ""
        record["bibkey"] = f"0-{number}"
        record["pages"] = f"{9 * number + 1}-{9 * number + 8}" if number % 5 else ""
        record["venue"] = ("ACL", "NeurIPS", "ICML")[number % 3]
    found[3]["title"] = "ResNet: Deep models of models"
    found[4]["title"] = r"Regret of $\alpha$-rank"
    found[5]["title"] = " ".join(f"Unheard{n}" for n in range(300))
    found[6]["authors"] = [f"Ada Name{n}" for n in range(400)]
    found[7]["authors"] = ["Yann LeCun", "Aaron van den Oord", "王伟"]
    found[8]["abstract"] = ""
    found[9]["abstract"] += f" {SECRET}"
    found[10]["year"] = None
    found[11]["authors"] = []
    found[13]["doi"], found[14]["doi"] = "10.24963/ijcai.2020/7", "10.24963/ijcai.2020/8"
    again = dict(found[12], id="other:12", source="other", venue="Journal of Elms")
    return [*found, again]


@pytest.fixture(scope="module")
def folders(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[dict[str, Any]],
    write_jsonl: Callable[..., Path],
) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("compact")
    path = write_jsonl(folder / "records.jsonl", records)
    builders = default_builders(Options())
    build_library(folder / "full", add=[source_at(str(path))], builders=builders)
    write_compact_library(
        folder / "full", folder / "small", "starter", SilentProgress(), vector_bytes=64
    )
    return folder / "full", folder / "small"


@pytest.fixture(scope="module")
def both(folders: tuple[Path, Path]) -> Pair:
    return Library.open(folders[0]), Library.open(folders[1])


def facts(work: Work) -> Work:
    """What a compact segment keeps of a work."""
    origins = tuple(msgspec.structs.replace(one, retrieved="") for one in work.provenance)
    return msgspec.structs.replace(work, abstract="", provenance=origins)


def test_every_record_comes_back_without_its_abstract(both: Pair) -> None:
    full, small = both
    assert len(small) == len(full) == WORKS
    assert list(small.iter_works()) == [facts(work) for work in full.iter_works()]


def test_every_key_finds_what_it_finds_in_the_full_library(both: Pair) -> None:
    full, small = both
    works = list(full.iter_works())
    numbers = [number for work in works for number in work_keys(work)]
    assert small.key_rows(numbers) == full.key_rows(numbers)
    assert small.key_rows([number + 1 for number in numbers]) == full.key_rows(
        [number + 1 for number in numbers]
    )
    ids = ["other:12", "made-up:0-12", "nobody:1"]
    assert small.rows_of(ids).tolist() == full.rows_of(ids).tolist()
    assert small.lookup(doi="10.1000/ABC.7")[0].id == "made-up:0-7"


def test_the_columns_are_those_of_the_full_library(both: Pair) -> None:
    full, small = (LibraryColumns(library.segments) for library in both)
    rows = np.array(random.Random(0).sample(range(WORKS), WORKS), np.int64)
    wanted, found = full.take(rows), small.take(rows)
    for name in ("key", "year", "abstract", "venue", "opening", "initials", "surname"):
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
    assert found.surname_starts.tolist() == wanted.surname_starts.tolist()
    for at in range(WORKS):
        own = wanted.word[wanted.word_starts[at] : wanted.word_starts[at + 1]].tolist()
        kept = found.word[found.word_starts[at] : found.word_starts[at + 1]].tolist()
        # "models of models" has one word twice only where a plural has the hash of its singular.
        assert kept == list(dict.fromkeys(own))
    assert small.first_authors(rows).tolist() == full.first_authors(rows).tolist()
    name = int(wanted.surname[0])
    assert small.rows_by(name).tolist() == full.rows_by(name).tolist()
    (words, counts), (same, numbers) = full.word_counts(), small.word_counts()
    assert (words.tolist(), counts.tolist()) == (same.tolist(), numbers.tolist())


@pytest.mark.parametrize("kept", [False, True], ids=["computed", "kept in the cache"])
def test_the_rows_of_each_surname_and_the_first_authors_are_the_same(
    both: Pair, kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path))
    if kept:
        monkeypatch.setattr(catalogue, "KEPT_FROM", 1)
    full, small = (LibraryColumns(library.segments) for library in both)
    rows = np.arange(WORKS)
    surnames = full.take(rows).surname
    assert len(set(surnames.tolist())) > 20
    for _ in range(2):  # a second time, from the cache
        for name in set(surnames.tolist()):
            assert small.rows_by(name).tolist() == full.rows_by(name).tolist()
        assert small.first_authors(rows).tolist() == full.first_authors(rows).tolist()
        small = LibraryColumns(both[1].segments)
    assert len(list((tmp_path / FOLDER).glob("author-rows-*"))) == kept


@pytest.mark.parametrize(
    "name",
    ["Yann LeCun", "Y. LeCun", "LeCun", "van den Oord", "Oord, A.", "Name399", "Ada Name399",
     "Kim Elm", "Elm, K.", "Elm Kim", "王伟"],
)  # fmt: skip
def test_a_filter_by_author_passes_the_same_rows(both: Pair, name: str) -> None:
    full, small = both
    wanted, found = Facets(full.segments), Facets(small.segments)
    forms = wanted_forms(name)[0]
    rows = wanted.by(forms, full.rows)
    assert rows.any()
    assert found.by(forms, small.rows).tolist() == rows.tolist()
    for form in forms:
        assert found.has(form) == wanted.has(form)


def test_a_phrase_of_a_title_is_found_without_reading_a_record(
    both: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, small = both
    titles = full.titles_of(range(WORKS))
    phrase = " ".join(titles[20].split()[:3])
    read: list[int] = []
    monkeypatch.setattr(CompactCatalogue, "_work", lambda self, row: read.append(row))
    mask = rows_with_phrase(small, Bm25Retriever(small.segments), phrase, WORKS)
    assert mask[20]
    holding = [row for row in np.flatnonzero(mask).tolist() if row != 20]
    assert all(phrase.lower() in titles[row].lower() for row in holding)
    assert read == []


def test_a_filter_by_venue_passes_the_same_rows(both: Pair) -> None:
    full, small = both
    wanted, found = Facets(full.segments), Facets(small.segments)
    for ids in (["acl"], ["neurips"], ["icml", "acl"]):
        rows = wanted.at([f"={name}" for name in ids], full.rows)
        assert rows.any()
        assert found.at([f"={name}" for name in ids], small.rows).tolist() == rows.tolist()
    assert found.at(["elms"], small.rows).tolist() == wanted.at(["elms"], full.rows).tolist()


def test_words_of_titles_names_and_years_score_as_in_the_full_index(both: Pair) -> None:
    full, small = both
    wanted, found = Bm25Retriever(full.segments), Bm25Retriever(small.segments)
    for text in ("ResNet deep models", "unheard7", "LeCun 2019", "van den Oord"):
        query = Query(text=text)
        first = wanted.search(query, 1, Cancel())
        same = found.search(query, 1, Cancel())
        assert same.rows.tolist() == first.rows.tolist(), text
        assert same.scores[0] == pytest.approx(float(first.scores[0]), rel=0.05)
        row = int(first.rows[0])
        assert found.explain(query, row, 1, 1.0).fields == wanted.explain(query, row, 1, 1.0).fields


def test_vectors_point_where_the_original_ones_do(both: Pair) -> None:
    full, _ = both
    encoder = load_encoder("citation")
    wanted, found = (DenseRetriever(library.segments, encoder) for library in both)
    rows = np.arange(WORKS)
    likeness = (wanted.vectors(rows) * found.vectors(rows)).sum(axis=1)
    assert np.median(likeness) > 0.95
    shared = 0
    for work in full.works(range(20, 60)):
        lists = (
            one.search(Query(text=work.abstract), 10, Cancel()).rows for one in (wanted, found)
        )
        shared += len(set.intersection(*(set(rows.tolist()) for rows in lists)))
    assert shared >= 0.8 * 40 * 10


def test_codes_are_decoded_once(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path))
    (folder,) = folders[1].glob("segments/*/dense")
    made = compact_arrays(folder)
    assert made["vectors"].shape == (WORKS, load_encoder("citation").dim)
    lengths = np.linalg.norm(made["vectors"].astype(np.float32), axis=1)
    np.testing.assert_allclose(lengths * made["shrink"], 1, atol=0.01)
    (file,) = (tmp_path / "arrays").glob("vectors-1-*.bin")
    written = file.stat().st_ino
    again = compact_arrays(folder)
    assert np.array_equal(again["vectors"], made["vectors"])
    assert file.stat().st_ino == written


def test_the_same_records_give_the_same_bytes(folders: tuple[Path, Path], tmp_path: Path) -> None:
    full, small = folders
    again = tmp_path / "again"
    write_compact_library(full, again, "starter", SilentProgress(), vector_bytes=64)
    files = sorted(path.relative_to(small) for path in small.rglob("*") if path.is_file())
    assert files == sorted(path.relative_to(again) for path in again.rglob("*") if path.is_file())
    for path in files:
        assert (again / path).read_bytes() == (small / path).read_bytes(), path


def test_no_text_of_an_abstract_is_kept(
    folders: tuple[Path, Path], records: list[dict[str, Any]]
) -> None:
    everything = b""
    for path in folders[1].rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".zst":
                data = zstandard.ZstdDecompressor().decompress(data)
            everything += data
    works = list(Library.open(folders[1]).iter_works())
    everything += msgspec.json.encode(works)
    assert b"LeCun" in everything
    assert SECRET.encode() not in everything
    for record in records[20:40]:
        phrase = " ".join(record["abstract"].split()[:3])
        assert phrase.encode() not in everything


@pytest.mark.parametrize("name", ["meta.json", "titles.npy", "names.zst", "records.npy"])
def test_a_damaged_file_is_a_library_error(
    folders: tuple[Path, Path], tmp_path: Path, name: str
) -> None:
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(folders[1], copy)
    (path,) = copy.glob(f"segments/*/compact/{name}")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2] + b"\xff" * (len(data) - len(data) // 2))
    with pytest.raises(LibraryError) as caught, Library.open(copy) as library:
        list(library.iter_works())
    assert caught.value.problem.code == "library-corrupt"


def test_numbers_and_texts_survive_their_codes(tmp_path: Path) -> None:
    values = np.array([0, 1, 127, 128, 16383, 16384, 2**31, 5], np.int64)
    data, sizes = encode_varints(values)
    assert decode_varints(data).tolist() == values.tolist()
    assert short_varints(data.tobytes()) == values.tolist()
    assert int(sizes.sum()) == len(data)
    with pytest.raises(ValueError, match="cut"):
        decode_varints(data[:-2])
    with pytest.raises(ValueError, match="cut"):
        short_varints(data[:-2].tobytes())
    for array in (values, values[:4].astype(np.float16), np.zeros((0, 5), np.int32)):
        save_table(tmp_path / "table.zst", array)
        found = load_table(tmp_path / "table.zst")
        assert found.dtype == array.dtype
        assert found.shape == array.shape
        assert found.tolist() == array.tolist()
    save_texts(tmp_path / "texts.zst", ["", "a b", "Ünïcode", ""])
    texts = Texts(tmp_path / "texts.zst")
    assert list(texts) == ["", "a b", "Ünïcode", ""]
    for numbers in ([], [0], [3], [0, 2], [1, 2, 3], [0, 1, 3]):
        assert texts.of(np.array(numbers, np.int64)) == [texts[one] for one in numbers]


@pytest.mark.parametrize("rows", [1, 2, 300, 360_000])
def test_runs_of_rows_survive_their_code(rows: int) -> None:
    some = random.Random(rows)
    runs = [sorted(some.sample(range(rows), min(rows, size))) for size in (1, 0, 2, 30, 9_000)]
    counts = np.array([len(run) for run in runs])
    data = encode_rows(np.array([row for run in runs for row in run], np.int64), counts, rows)
    starts, widths = row_starts(counts, rows), row_widths(counts, rows)
    for at, run in enumerate(runs):
        begin, end = int(starts[at]), int(starts[at + 1])
        assert decode_rows(data, begin, end, len(run), int(widths[at])).tolist() == run
    with pytest.raises(ValueError, match="damaged"):
        decode_rows(np.zeros_like(data), int(starts[0]), int(starts[1]), 1, int(widths[0]))


def test_the_places_in_volumes_are_those_of_the_full_library(both: Pair) -> None:
    wanted, found = (LibraryPlaces(library).take(np.arange(WORKS)) for library in both)
    for name in wanted.__struct_fields__:
        assert getattr(found, name).tolist() == getattr(wanted, name).tolist(), name
    assert wanted.first_page.any() and wanted.volume.any()


def test_only_years_in_which_a_venue_met_can_be_missing() -> None:
    """Of each venue the works of some years; others are missing, or the venue did not meet."""
    held: dict[str, tuple[Iterable[int], tuple[int, ...]]] = {
        "ijcai": ((1995, 1997, 2001, 2003, 2016, 2018, 2019), (1999, 2005, 2007, 2009, 2011, 2013, 2015, 2017)),
        "aaai": ((1999, 2000, 2002, 2004, 2006, 2007, 2008, 2010), (2005,)),
        "eccv": ((2010, 2012, 2016, 2018), (2014,)),
        "ecml": ((1995, 1997, 1998, 2000, 2001), ()),
        "coling": ((1965, 1967, 1969, 1973, 1976, 1978), ()),
        "icml": ((2010, 2011, 2013, 2014), (2012,)),
    }  # fmt: skip
    for venue, (years, missing) in held.items():
        counts = Counter(dict.fromkeys(years, 100))
        found = missing_years(venue, counts, min(years), max(years))
        assert tuple(found) == missing, venue
