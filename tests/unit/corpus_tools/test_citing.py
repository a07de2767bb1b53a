"""How others cite, from records and from one's own papers: read, kept, asked, removed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from citewell.corpus.columns import title_key
from citewell.corpus.errors import LibraryError
from citewell.corpus.library import Library
from citewell.corpus.priors import Priors
from citewell.engine.local import LocalEngine
from citewell.model import CitingPaper, Query, Reference
from citewell.options import Options
from citewell_corpus.build import BuildReport, build_library, default_builders
from citewell_corpus.importers import find_importer
from citewell_corpus.sources import source_at
from citewell_corpus.stages import citing

WORKS = {
    1: "Hedgehogs That Cross Roads at Night",
    2: "Tunnels for Small Animals under Roads",
    3: "Counting Hedgehogs with Cameras",
    4: "Gardens as Habitat in Towns",
    5: "Fences and the Movement of Mammals",
    6: "Noise Beside Highways",
}


def openalex(number: int, references: tuple[int, ...] = (), count: int = 0) -> dict[str, Any]:
    return {
        "id": f"https://openalex.org/W{number}",
        "title": WORKS[number],
        "publication_year": 2000 + number,
        "type": "article",
        "authorships": [{"author": {"display_name": f"Kim Name{number}"}}],
        "cited_by_count": count,
        "referenced_works": [f"https://openalex.org/W{one}" for one in references],
        "abstract_inverted_index": {"Animals": [0], "and": [1], "roads": [2]},
    }


RECORDS = [
    openalex(1, (), 40),
    openalex(2, (1, 3, 5), 12),
    openalex(3, (1,), 0),
    openalex(4, (1, 2, 3, 99), 2),
    openalex(5, (1, 3, 4), 1),
    openalex(6, (), 0),
]

PAPER = r"""\documentclass{article}
\title{Safe Crossings for Urban Wildlife}
\begin{document}
\begin{abstract}We build crossings.\end{abstract}
Many small animals die on roads when darkness falls~\cite{night}.
Wire keeps them away \cite{fence,noise}, which cameras confirm~\cite{count}.
Nobody wrote \cite{gone}.
\bibliography{refs}
\end{document}
"""
BIB = """@article{night, title={Hedgehogs that cross roads at night}, year=2001}
@article{fence, title={Fences and the Movement of Mammals}, year=2005}
@article{noise, title={Noise Beside Highways}, year=2006}
@article{count, title={Counting {Hedgehogs} with Cameras}, year=2003}
@article{uncited, title={Gardens as Habitat in Towns}, year=2004}
"""


@pytest.fixture
def works(tmp_path: Path, write_jsonl: Callable[..., Path]) -> Path:
    return write_jsonl(tmp_path / "works.jsonl", RECORDS)


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    folder = tmp_path / "paper"
    folder.mkdir()
    (folder / "main.tex").write_text(PAPER, encoding="utf-8")
    (folder / "refs.bib").write_text(BIB, encoding="utf-8")
    return folder / "main.tex"


def part_of(library: Library, source: Path) -> Priors:
    uses = library.manifest.sources[str(source)]
    assert uses.citing is not None
    return next(p for p in library.citing if p.use == uses.citing).priors()


def lists_of(priors: Priors) -> dict[int, set[int]]:
    return {
        int(key): {
            int(priors.key[n])
            for n in priors.list_cited[priors.list_starts[i] : priors.list_starts[i + 1]]
        }
        for i, key in enumerate(priors.list_key)
    }


def keys(*titles: str) -> set[int]:
    return {title_key(title) for title in titles}


def test_openalex_records_tell_what_papers_cite_and_how_often_they_are_cited(
    works: Path, build: Callable[..., BuildReport], opened: Callable[[], Library]
) -> None:
    report = build(works)
    assert report.sources[0].lists == 4
    library = opened()
    priors = part_of(library, works)
    # A reference that no record names is left out; one alone links, and says nothing of a topic.
    assert lists_of(priors) == {
        title_key(WORKS[3]): keys(WORKS[1]),
        title_key(WORKS[2]): keys(WORKS[1], WORKS[3], WORKS[5]),
        title_key(WORKS[4]): keys(WORKS[1], WORKS[2], WORKS[3]),
        title_key(WORKS[5]): keys(WORKS[1], WORKS[3], WORKS[4]),
    }
    times = dict(zip(priors.key.tolist(), np.expm1(priors.citations.astype(float)), strict=True))
    assert times[title_key(WORKS[1])] == pytest.approx(40, rel=0.01)
    assert times[title_key(WORKS[3])] < 0, "never cited elsewhere: unknown"
    topics = dict(zip(priors.list_key.tolist(), priors.list_vectors.any(axis=1), strict=True))
    assert [key for key, has in topics.items() if not has] == [title_key(WORKS[3])]
    assert isinstance(priors.list_vectors, np.memmap), "mapped, not read"


def test_semantic_scholar_records_are_read_with_their_references(
    tmp_path: Path, write_jsonl: Callable[..., Path], build: Any, opened: Any
) -> None:
    record = {
        "paperId": "a" * 40,
        "externalIds": {"DOI": "10.5555/S2.7", "ArXiv": "2101.00007", "CorpusId": 7},
        "title": "Owls over Motorways",
        "authors": [{"authorId": "1", "name": "Ana García"}],
        "year": 2021,
        "venue": "Journal of Owls",
        "journal": {"name": "Journal of Owls", "volume": "3", "pages": "1-9"},
        "publicationTypes": ["JournalArticle"],
        "abstract": "Owls fly low.",
        "citationCount": 17,
        "references": [
            {"paperId": "b" * 40, "title": WORKS[1]},
            {"citedPaper": {"paperId": "c" * 40, "title": WORKS[5]}},
            {"paperId": "d" * 40, "title": None},
        ],
    }
    cited = {"paperId": "d" * 40, "title": WORKS[6], "citationCount": 0}
    bulk = {"corpusid": 8, "title": "Bats", "externalids": {"DOI": "10.5555/S2.8"},
            "citationcount": 3, "authors": [], "year": 2020}  # fmt: skip
    path = write_jsonl(tmp_path / "s2.jsonl", [record, cited, bulk, {"paperId": "e"}])
    found = find_importer(path)
    assert found is not None and found.name == "semantic-scholar"
    report = build(path)
    assert (report.works, report.sources[0].bad, report.sources[0].lists) == (3, 1, 1)
    library = opened()
    owls = library.lookup(doi="10.5555/s2.7")[0]
    assert (owls.journal, owls.volume, owls.pages, owls.arxiv, owls.kind, owls.citations) == (
        "Journal of Owls", "3", "1-9", "2101.00007", "article", 17,
    )  # fmt: skip
    assert library.lookup(doi="10.5555/s2.8")[0].citations == 3
    assert lists_of(part_of(library, path)) == {
        title_key("Owls over Motorways"): keys(WORKS[1], WORKS[5], WORKS[6])
    }


def test_ones_own_paper_gives_its_sentences_and_its_list_but_no_record(
    works: Path, paper: Path, build: Callable[..., BuildReport], opened: Callable[[], Library]
) -> None:
    report = build(works, paper)
    own = report.sources[1]
    assert (own.records, own.lists, own.passages, own.problems) == (0, 1, 4, ())
    library = opened()
    assert len(library) == 6
    assert not library.lookup(title="Safe Crossings for Urban Wildlife")
    assert not library.lookup(title="Noise of Nobody")
    priors = part_of(library, paper)
    assert lists_of(priors) == {
        title_key("Safe Crossings for Urban Wildlife"): keys(WORKS[1], WORKS[5], WORKS[6], WORKS[3])
    }
    assert len(priors.passage_cited) == 4


def test_a_paper_that_cites_nothing_says_so(tmp_path: Path, build: Any) -> None:
    path = tmp_path / "empty.tex"
    path.write_text("\\title{A Paper without References}\nNothing.", encoding="utf-8")
    (problem,) = build(path).problems
    assert problem.code == "source-empty"
    assert problem.message == "No citation in it has an entry in a .bib."


def test_a_changed_bibliography_of_a_paper_is_read_again(
    works: Path, paper: Path, build: Any, opened: Any
) -> None:
    build(works, paper)
    assert build().up_to_date
    refs = paper.parent / "refs.bib"
    refs.write_text(BIB + "@article{gone, title={Tunnels for Small Animals under Roads}}\n",
                    encoding="utf-8")  # fmt: skip
    report = build()
    assert [source.name for source in report.sources] == [str(paper)]
    lists = lists_of(part_of(opened(), paper))
    assert title_key(WORKS[2]) in lists[title_key("Safe Crossings for Urban Wildlife")]


def test_a_damaged_part_is_found_at_opening_or_by_verifying(
    tmp_path: Path, works: Path, build: Any, opened: Any
) -> None:
    build(works)
    (part,) = opened().citing
    vectors = part.path / "list_vectors.npy"
    data = vectors.read_bytes()
    vectors.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    (problem,) = opened().verify()
    assert problem.code == "library-corrupt" and problem.path.endswith("list_vectors.npy")
    vectors.write_bytes(data[:-1])
    with pytest.raises(LibraryError, match="bytes instead of"):
        opened()


def test_a_build_that_was_killed_before_the_snapshot_takes_the_finished_part(
    tmp_path: Path, works: Path, build: Any, opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*arguments: Any, **how: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("citewell_corpus.build.merge_sources", die)
    with pytest.raises(KeyboardInterrupt):
        build(works)
    monkeypatch.undo()
    made = [p.name for p in (tmp_path / "library" / "segments").iterdir()]
    monkeypatch.setattr(citing, "gather", die)
    build()
    assert [part.use.id for part in opened().citing] == made


@pytest.fixture
def asking(tmp_path: Path) -> Callable[[], LocalEngine]:
    """An engine over the library with every index; the head that ships orders nothing here."""

    def open_engine() -> LocalEngine:
        base = Options()
        build_library(tmp_path / "library", builders=default_builders(base))
        return LocalEngine.open(
            replace(
                base,
                library=replace(base.library, path=tmp_path, name="library"),
                retrieval=replace(base.retrieval, ranker="none"),
            )
        )

    return open_engine


def test_a_sentence_like_ones_own_finds_what_one_cited_there(
    works: Path, paper: Path, build: Any, asking: Callable[[], LocalEngine]
) -> None:
    query = Query(sentence="Small creatures die when darkness falls [CITATION].")
    build(works, paper)
    engine = asking()
    hits = engine.find(query, 6).hits
    hit = {one.work.title: one for one in hits}[WORKS[1]]
    fields = [e.fields for e in hit.evidence if e.retriever == "citation_context"]
    assert fields and "cited in such words" in fields[0]
    engine.close()


def test_the_words_around_ones_own_citations_are_known_beside_those_that_ship(
    works: Path, paper: Path, build: Any, asking: Callable[[], LocalEngine]
) -> None:
    query = Query(sentence="Wire keeps them away [CITATION].")
    rows = np.arange(6)

    def weights() -> dict[str, float]:
        engine = asking()
        assert engine._signals is not None
        signals = engine._signals.passages(query, rows)
        assert signals is not None
        titles = [work.title for work in engine._signals.works(rows)]
        engine.close()
        return dict(zip(titles, signals[:, 0].tolist(), strict=True))

    build(works)
    before = weights()
    build(paper)
    after = weights()
    assert after[WORKS[5]] > before[WORKS[5]]
    assert after[WORKS[6]] > before[WORKS[6]]
    assert after[WORKS[4]] == before[WORKS[4]]


def test_papers_that_are_cited_with_ones_references_are_found_by_them(
    works: Path, paper: Path, build: Any, asking: Callable[[], LocalEngine]
) -> None:
    build(works, paper)
    engine = asking()
    references = (Reference(title=WORKS[1]), Reference(title=WORKS[5]), Reference(title=WORKS[6]))
    query = Query(text="cameras", paper=CitingPaper(references=references))
    found = {hit.work.title: hit for hit in engine.find(query, 6).hits}[WORKS[3]]
    cited = next(e for e in found.evidence if e.retriever == "citation_context")
    assert "cited with your references" in cited.fields
    engine.close()


def test_a_folder_of_papers_is_taken_for_their_bib_unless_its_format_is_named(
    paper: Path, tmp_path: Path
) -> None:
    assert source_at(str(paper.parent)).format == "bibtex"
    assert source_at(str(paper.parent), "manuscripts").format == "manuscripts"
    assert source_at(str(paper)).format == "manuscripts"
    alone = tmp_path / "alone"
    shutil.copytree(paper.parent, alone, ignore=shutil.ignore_patterns("*.bib"))
    with pytest.raises(LibraryError):
        source_at(str(alone))


@pytest.mark.parametrize("has_lists", [True, False])
def test_a_field_that_the_shipped_priors_do_not_know_is_ranked_by_its_own_lists(
    tmp_path: Path, build: Any, has_lists: bool
) -> None:
    places = ("Moor", "Fen", "Heath", "Dune", "Marsh", "Meadow", "Copse", "Hedge")
    titles = [f"Lapwing Broods Counted on {place}land" for place in places]
    others = [f"Peat Depth Series {number} of Upland Bogs" for number in range(4)]
    citing_papers = [f"Wader Survey Report {number}" for number in range(12)]
    target = 5
    every = [*titles, *others, *citing_papers]
    lists = {len(titles) + len(others) + n: (8, 9, 10, target) for n in range(len(citing_papers))}
    works = tmp_path / "field.jsonl"
    works.write_text(
        "".join(
            json.dumps(
                openalex(1, (), 90 if number == target and has_lists else 0)
                | {
                    "id": f"https://openalex.org/W{100 + number}",
                    "title": title,
                    "referenced_works": [
                        f"https://openalex.org/W{100 + one}"
                        for one in (lists.get(number, ()) if has_lists else ())
                    ],
                }
            )
            + "\n"
            for number, title in enumerate(every)
        ),
        encoding="utf-8",
    )
    build(works)
    base = Options()
    build_library(tmp_path / "library", builders=default_builders(base))
    library = replace(base.library, path=tmp_path, name="library", starter=False)
    engine = LocalEngine.open(replace(base, library=library))
    paper = CitingPaper(references=tuple(Reference(title=title) for title in others[:3]))
    found = engine.find(Query(text="lapwing broods counted", paper=paper), 8).hits
    engine.close()
    assert (found[0].work.title == titles[target]) is has_lists
