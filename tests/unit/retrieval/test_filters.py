"""Filters by author, venue, year, kind and language."""

import numpy as np
import pytest

from citewell.corpus.layout import SegmentView
from citewell.corpus.library import Library
from citewell.model import Author, Query, Work
from citewell.model.names import parse_author
from citewell.retrieval.attributes import passes
from citewell.retrieval.bm25 import Bm25Retriever
from citewell.retrieval.bm25_build import Bm25Builder
from citewell.retrieval.facets import Facets, FacetsBuilder, KindsAndLanguages
from citewell.retrieval.filters import Filters
from citewell.sources.values import record_line
from citewell_corpus.build import build_library
from citewell_corpus.sources import source_at

DBLP = (
    "Advances in Neural Information Processing Systems 27: Annual Conference on Neural Information "
    "Processing Systems 2014, December 8-13 2014, Montreal, Quebec, Canada"
)
WORKS = [
    Work(id="w:0", title="A", authors=(Author("LeCun", "Yann"),), year=1998, venue="NIPS"),
    Work(id="w:1", title="B", authors=(Author("Le Cun", "Y."),), year=2014, booktitle=DBLP),
    Work(id="w:2", title="C", authors=(Author("Müller", "Klaus-Robert"),), year=2019,
         venue="neurips"),
    Work(id="w:3", title="D", authors=(parse_author("Wei Wang"),), year=2020,
         booktitle="Findings of the Association for Computational Linguistics: EMNLP 2020"),
    Work(id="w:4", title="E", authors=(parse_author("Wei Li"),), year=2020,
         booktitle="Proceedings of the Second Workshop on Figurative Language Processing"),
    Work(id="w:5", title="F", authors=(parse_author("Ann Wang"),), year=2017,
         journal="Journal of Machine Learning Research", venue="JMLR"),
]  # fmt: skip


@pytest.fixture(scope="module")
def segment(tmp_path_factory: pytest.TempPathFactory) -> SegmentView:
    folder = tmp_path_factory.mktemp("segment")
    for builder in (Bm25Builder(), FacetsBuilder()):
        (folder / builder.name).mkdir()
        builder.build(lambda: iter(WORKS), len(WORKS), folder / builder.name, lambda n: None)
    return SegmentView(path=folder, base=0, count=len(WORKS))


@pytest.fixture(scope="module")
def filters(segment: SegmentView) -> Filters:
    return Filters(years(), Bm25Retriever([segment]), Facets([segment]))


def years() -> np.ndarray:
    return np.array([work.year for work in WORKS], np.int16)


def rows(filters: Filters, **parameters: object) -> list[int]:
    mask = filters(Query(**parameters))  # type: ignore[arg-type]
    assert mask is not None
    return np.flatnonzero(mask).tolist()


@pytest.mark.parametrize(
    ("author", "expected"),
    [
        ("Yann LeCun", [0, 1]), ("LeCun, Yann", [0, 1]), ("Y. LeCun", [0, 1]), ("LeCun", [0, 1]),
        ("lecun", [0, 1]), ("Jan LeCun", []), ("Klaus-Robert Mueller", [2]), ("K. Muller", [2]),
        ("Wang", [3, 5]), ("Wei Wang", [3]), ("A. Wang", [5]), ("Wang and Li", []), ("!", []),
    ],
)  # fmt: skip
def test_an_author_is_found_as_people_write_the_name(
    filters: Filters, author: str, expected: list[int]
) -> None:
    assert rows(filters, author=author) == expected


@pytest.mark.parametrize(
    ("venue", "expected"),
    [
        ("NIPS", [0, 1, 2]), ("NeurIPS", [0, 1, 2]), ("NeurIPS 2014", [1]), ("NIPS'98", [0]),
        ("Neural Information Processing Systems", [0, 1, 2]),
        ("Advances in Neural Information Processing Systems 2019", [2]),
        ("EMNLP", [3]), ("Findings of EMNLP", [3]), ("emnlp 2019", []),
        ("J. Mach. Learn. Res.", [5]), ("jmlr", [5]),
        ("Figurative Language", [4]), ("workshop on figurative language processing", [4]),
        ("Teacups", []), ("2020", [3, 4]),
    ],
)  # fmt: skip
def test_a_venue_is_found_by_acronym_full_and_old_name(
    filters: Filters, venue: str, expected: list[int]
) -> None:
    assert rows(filters, venue=venue) == expected
    assert [n for n, work in enumerate(WORKS) if passes(Query(venue=venue), work)] == expected


def test_the_filter_that_leaves_nothing_is_named(filters: Filters) -> None:
    problem = filters.empty(Query(text="x", author="Jan LeCun", venue="NIPS"))
    assert problem is not None and problem.code == "filter-empty"
    assert "'Jan LeCun'" in problem.message and "NIPS" not in problem.message
    assert "'LeCun' alone has 2 papers" in problem.hint
    both = filters.empty(Query(text="x", author="LeCun", venue="JMLR"))
    assert both is not None and "2 by 'LeCun', 1 of the venue 'JMLR'" in both.message
    years = filters.empty(Query(text="x", year_from=2030))
    assert years is not None and "of 2030 or later" in years.message
    words = filters.empty(Query(text="x", author="LeCun"))
    assert words is not None and "None of the 2 papers by 'LeCun'" in words.message
    assert filters.empty(Query(text="x")) is None


STATED = [
    Work(id="k:0", title="A Survey of Chairs", kind="article", language="en"),
    Work(id="k:1", title="Über das Stillsitzen", kind="article", language="de"),
    Work(id="k:2", title="Standing Up", kind="inproceedings"),
    Work(id="k:3", title="Reviews of Stools", kind="phdthesis", language="en"),
    Work(id="k:4", title="Stools in Product Reviews", kind="misc", language="fr"),
]


@pytest.fixture(scope="module")
def stated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Filters:
    """The filters of a library of the works above."""
    folder = tmp_path_factory.mktemp("stated")
    source = folder / "works.jsonl"
    source.write_bytes(b"".join(record_line(work) + b"\n" for work in STATED))
    builders = (Bm25Builder(), FacetsBuilder())
    build_library(folder / "library", add=[source_at(str(source))], builders=builders)
    library = Library.open(folder / "library")
    request.addfinalizer(library.close)
    views = library.segments
    return Filters(
        library.columns().year, Bm25Retriever(views), Facets(views),
        kinds=KindsAndLanguages(library),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"kind": "article"}, {0, 1}),
        ({"kind": "Journal"}, {0, 1}),
        ({"kind": "thesis"}, {3}),
        ({"kind": "survey"}, {0, 3}),
        ({"kind": "surveys", "language": "en"}, {0, 3}),
        ({"kind": "chair"}, set()),
        ({"language": "German"}, {1, 2}),
        ({"language": "de-AT", "strict_language": True}, {1}),
        ({"language": "de", "kind": "inproceedings"}, {2}),
        ({"language": "Klingon"}, set()),
    ],
)
def test_kinds_and_languages(
    stated: Filters, parameters: dict[str, object], expected: set[int]
) -> None:
    works = {f"k:{number}" for number in expected}
    # Rows are in the order of the source.
    assert {STATED[row].id for row in rows(stated, **parameters)} == works
    query = Query(**parameters)  # type: ignore[arg-type]
    assert {work.id for work in STATED if passes(query, work)} == works
