"""PDFs as papers of a library: identified, searched by their full text, and read for how they cite."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from citewell.corpus.library import Library
from citewell.engine.local import LocalEngine
from citewell.model import Query
from citewell.model.check import Claim
from citewell.model.pdf import PdfPage
from citewell.model.work import Author
from citewell.options import Options
from citewell_corpus.build import BuildReport, build_library, default_builders
from citewell_corpus.importers.pdf import citing_sentences
from citewell_corpus.pdf_reading import PdfReading
from citewell_corpus.sources import source_at

TITLE = "Safe Crossings for Urban Wildlife"
CITED = ["Hedgehogs That Cross Roads at Night", "Tunnels for Small Animals under Roads",
         "Counting Hedgehogs with Cameras"]  # fmt: skip
BODY = "Nothing else is said on this page, but it is said in whole sentences and in many words."
PAGES = [
    [TITLE, "Kim Elm", "doi:10.1000/safe", "Abstract", "We build crossings.", "1 Introduction",
     "Many small animals die on roads when darkness falls [1]. Wire keeps them away [2, 3].", BODY],
    ["The zorbulating pavement repels badgers in rainy weather. " + BODY, BODY],
    ["References", *(f"[{n}] K. Oak. {title}. Roads, {2000 + n}." for n, title in enumerate(CITED, 1))],
]  # fmt: skip
RECORD = {
    "id": "own:1", "title": TITLE, "authors": ["Kim Elm"], "year": 2019, "doi": "10.1000/safe",
    "kind": "article", "journal": "Roads", "source": "own",
}  # fmt: skip
OTHERS = [
    {"id": f"own:{n}", "title": title, "authors": ["Kay Oak"], "year": 2000 + n, "kind": "article",
     "source": "own", "abstract": "Animals and roads."}
    for n, title in enumerate(CITED, 2)
]  # fmt: skip


@pytest.fixture
def records(tmp_path: Path, write_jsonl: Callable[..., Path]) -> Path:
    return write_jsonl(tmp_path / "records.jsonl", [RECORD, *OTHERS])


@pytest.fixture
def paper(tmp_path: Path, pdf_files: ModuleType) -> Path:
    return pdf_files.written(tmp_path / "crossings.pdf", PAGES)


@pytest.fixture
def add(tmp_path: Path) -> Callable[..., BuildReport]:
    def run(*paths: Path, **how: Any) -> BuildReport:
        options = Options()
        with PdfReading(options.pdf) as pdf:
            return build_library(
                tmp_path / "libraries" / "default",
                add=[source_at(str(path)) for path in paths],
                builders=default_builders(options),
                pdf=pdf,
                **how,
            )

    return run


@pytest.fixture
def find(tmp_path: Path) -> Callable[[str], Any]:
    from msgspec.structs import replace

    base = Options()
    library = replace(base.library, path=tmp_path / "libraries", name="default")
    learning = replace(base.learning, enabled=False)

    def run(text: str) -> Any:
        engine = LocalEngine.open(replace(base, library=library, learning=learning))
        try:
            return engine.find(Query(text=text), 5)
        finally:
            engine.close()

    return run


def test_a_known_paper_keeps_its_record_and_its_text_is_found(
    add: Callable[..., BuildReport], find: Callable[[str], Any], records: Path, paper: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    assert not add(records).problems
    report = add(paper)
    assert not report.problems
    assert report.works == 4, "the file is no paper of its own"
    assert [(source.lists, source.passages, source.texts) for source in report.sources] == [
        (1, 3, 1)
    ]
    (hit,) = [hit for hit in find("zorbulating pavement").hits if hit.work.title == TITLE]
    assert (hit.work.year, hit.work.journal) == (2019, "Roads")
    (proof,) = [one for one in hit.evidence if one.retriever == "full_text"]
    assert proof.snippet == "The zorbulating pavement repels badgers in rainy weather."
    assert proof.page == 2
    with Library.open(tmp_path / "libraries" / "default") as library:
        assert library.verify() == []


def test_a_paper_without_a_record_is_taken_in_by_its_title(
    add: Callable[..., BuildReport], find: Callable[[str], Any], paper: Path
) -> None:
    report = add(paper)
    assert [problem.code for problem in report.problems] == ["pdf-unknown"]
    work = find("zorbulating pavement").hits[0].work
    assert (work.title, work.doi, work.abstract) == (TITLE, "10.1000/safe", "We build crossings.")


def test_a_source_identifies_what_the_library_lacks(paper: Path) -> None:
    from citewell.model import Work

    requests = []

    def look(*, doi: str = "", arxiv: str = "", title: str = "") -> list[Work]:
        requests.append(doi or title)
        right = Work(id="s:1", title=TITLE, authors=(Author("Elm", "Kim"),), year=2019)
        return [right] if title else [Work(id="s:2", title="Another Paper of This DOI")]

    with PdfReading(online=look) as reading:
        found = reading.identify(reading.read(paper))
    assert requests == ["10.1000/safe", TITLE]
    assert found is not None
    assert found.id == "s:1"


def test_bad_files_of_a_folder_are_named_and_the_others_read(
    add: Callable[..., BuildReport], paper: Path, tmp_path: Path, pdf_files: ModuleType
) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    paper.rename(folder / "a.pdf")
    pdf_files.written(folder / "b.pdf", [[BODY]], encrypted=True)
    pdf_files.written(folder / "c.pdf", [[]])
    report = add(folder)
    assert report.works == 1
    (source,) = report.sources
    assert source.bad == 2
    assert [problem.code for problem in report.problems] == [
        "pdf-unknown", "pdf-encrypted", "pdf-scanned",
    ]  # fmt: skip


def test_a_changed_file_is_read_again_and_a_removed_one_goes(
    add: Callable[..., BuildReport], find: Callable[[str], Any], records: Path, paper: Path,
    pdf_files: ModuleType, tmp_path: Path,
) -> None:  # fmt: skip
    add(records, paper)
    pages = [PAGES[0], ["The quibbling hedgerow feeds dormice. " + BODY], PAGES[2]]
    pdf_files.written(paper, pages)
    assert not add().up_to_date
    assert any(one.snippet for hit in find("quibbling hedgerow").hits for one in hit.evidence)
    assert not any(one.snippet for hit in find("zorbulating").hits for one in hit.evidence)
    assert add().up_to_date
    paper.unlink()
    from citewell_corpus.sources import read_sources, write_sources

    library = tmp_path / "libraries" / "default"
    kept = {name: one for name, one in read_sources(library).items() if one.format != "pdf"}
    write_sources(library, kept)
    add()
    assert not any(one.snippet for hit in find("quibbling hedgerow").hits for one in hit.evidence)


def test_sentences_name_references_by_number_and_by_author() -> None:
    claims = [
        Claim(key="1", authors=(Author("Ash", "A."),), year=2019),
        Claim(key="2", authors=(Author("van Beech", "B."),), year=2020),
    ]
    pages = [PdfPage(1, "Rivers are slow [1, 2]. They say [7] so.\nSand is\nfine [1-2].")]
    assert [(one.reference, one.text) for one in citing_sentences(pages, claims)] == [
        (0, "Rivers are slow [CITATION]."), (1, "Rivers are slow [CITATION]."),
        (0, "Sand is fine [CITATION]."), (1, "Sand is fine [CITATION]."),
    ]  # fmt: skip
    pages = [
        PdfPage(
            1,
            "As Ash et al. (2019) show, sand is fine (van Beech and Oak, 2020). In 2019 it rained.",
        )
    ]
    assert [(one.reference, one.text) for one in citing_sentences(pages, claims)] == [
        (0, "As [CITATION] show, sand is fine ([OTHER])."),
        (1, "As [OTHER] show, sand is fine ([CITATION])."),
    ]  # fmt: skip


def test_a_hostile_list_of_numbers_costs_no_memory() -> None:
    pages = [PdfPage(1, "See [1-9999]. " * 50)]
    assert citing_sentences(pages, [Claim(key="1"), Claim(key="9999")])
    assert json.dumps([one.text for one in citing_sentences(pages, [Claim(key="1")])])


def test_a_paper_whose_text_holds_all_typed_words_is_among_the_first(
    add: Callable[..., BuildReport], find: Callable[[str], Any], paper: Path, tmp_path: Path,
    write_jsonl: Callable[..., Path],
) -> None:  # fmt: skip
    others = [
        {"id": f"own:{n}", "title": f"Pavement and Rainy Weather in Town Number {n}", "year": 2000,
         "authors": ["Kay Oak"], "kind": "article", "source": "own", "abstract": "Badgers."}
        for n in range(40)
    ]  # fmt: skip
    add(write_jsonl(tmp_path / "records.jsonl", [RECORD, *others]), paper)
    hits = find("pavement repels badgers in rainy weather").hits
    assert [hit.work.title for hit in hits].index(TITLE) == 2
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
