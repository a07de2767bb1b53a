"""Queries with authors, venues and years as an author types them, asked of a real library."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.engine_of_records import engine_of

from citewell.engine.local import LocalEngine
from citewell.model import Query, SearchResult

PAPERS = (
    ("Attention in Orchards", "We graft attention.", 2017, "NeurIPS", ("Ana Ruiz", "Bo He")),
    ("Attention over Valleys", "Attention again.", 2018, "NeurIPS", ("Ana Ruiz",)),
    ("Attention for Rivers", "Attention flows.", 2017, "ACL", ("Ana Ruiz",)),
    ("Orchards without Irrigation", "Apples are dry.", 2017, "NeurIPS", ("Ana Ruiz",)),
    ("A Survey of Grafting", "All of grafting is read.", 2012, "ACL", ("Chi Okafor",)),
    ("Grafting by Robots", "Robots graft; a dependency.", 2021, "ACL", ("Chi Okafor",)),
    ("Markov Chains of Apples", "Chains of apples.", 2015, "ICML", ("Dan Markov",)),
    ("Markov Decision Trees", "Trees decide.", 2016, "ICML", ("Eve Lund",)),
)
OTHERS = tuple(
    (f"Attention in Field {n} of Translation", "We translate markov processes with attention.",
     2000 + n % 20, ("ICML", "ACL", "NeurIPS")[n % 3], (f"Fay Name{n}",))
    for n in range(60)
)  # fmt: skip
MARKOV = tuple(
    (f"Markov Model {n} of Weather", "Rain.", 2010, "ACL", (f"Gus Nomen{n}",)) for n in range(20)
)

HOSTILE = (
    '"', '""', '"unbalanced attention', "((((", "))))", "-", "--", "- -", "+", "+ +", "-\"",
    "author:", 'author:"', "venue: :", "year:", "year:99999", "year:2019-2010-2000", "citations:>",
    "citations:>99999999999999999999", "cites:", "cited by", "like:nothing", "by by by by",
    "by and and and", "et al. et al. et al.", "since before after between", "between 2019 and",
    "NOT NOT NOT", "but not", "but not or or or", "attention " * 10_000, "by Ana Ruiz " * 500,
    "2017 " * 400, "注意力机制 2017 作者:刘洋", "внимание Иванов и др. с 2019 года",
    "انتباه منذ 2019", "\u202eattention\u202c \u200b2017", "attention\x00\x01\x1b[31m 2017",
    "<script>alert(1)</script> by Ruiz", "ignore all instructions; author:\"'; DROP TABLE\"",
)  # fmt: skip


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    lines = [
        {
            "id": f"t:{number}",
            "title": title,
            "abstract": abstract,
            "year": year,
            "venue": venue,
            "authors": list(authors),
            "kind": "inproceedings",
            "citations": 100 if number < 2 else 1,
            "source": "test-records",
        }
        for number, (title, abstract, year, venue, authors) in enumerate(
            (*PAPERS, *OTHERS, *MARKOV)
        )
    ]
    engine = engine_of(lines, tmp_path_factory.mktemp("libraries"))
    yield engine
    engine.close()


def find(engine: LocalEngine, text: str, k: int = 20) -> SearchResult:
    return engine.find(Query(text=text), k)


def titles(result: SearchResult) -> list[str]:
    return [hit.work.title for hit in result.hits]


@pytest.mark.parametrize(
    "text",
    [
        "ruiz 2017 attention neurips",
        "papers by Ana Ruiz on attention at NeurIPS in 2017",
        "Which papers on attention did Ana Ruiz publish at NIPS in 2017?",
        "attention, Ruiz and He 2017",
    ],
)
def test_a_paper_that_meets_every_condition_comes_first(engine: LocalEngine, text: str) -> None:
    found = titles(find(engine, text))
    assert found[0] == "Attention in Orchards"


def test_a_paper_that_only_matches_the_topic_comes_after_those_that_meet_all(
    engine: LocalEngine,
) -> None:
    found = find(engine, "attention by Ana Ruiz")
    by = [any(a.family == "Ruiz" for a in hit.work.authors) for hit in found.hits]
    about = ["attention" in hit.work.title.lower() for hit in found.hits]
    assert [x and y for x, y in zip(by, about, strict=True)][:3] == [True] * 3
    assert by.index(False) == sum(by)
    assert len(by) > 4, "a condition without a flag is no filter"


def test_what_was_understood_comes_back_with_its_place_in_the_text(engine: LocalEngine) -> None:
    text = "attention by Ana Ruiz at NeurIPS since 2015"
    found = find(engine, text).understood
    assert [(text[p.start : p.end], p.kind, p.value) for p in found.parts] == [
        ("by Ana Ruiz", "author", "Ana Ruiz"),
        ("at NeurIPS", "venue", "NeurIPS"),
        ("since 2015", "year", "2015-"),
    ]
    assert found.query.topic == "attention"
    batch = engine.find_batch([Query(text=text), Query(text="t:1"), Query(text="rivers")], 3)
    assert batch[0].understood == found
    assert batch[2].understood.parts == ()


def test_the_reason_for_the_order_is_shown(engine: LocalEngine) -> None:
    hit = find(engine, "papers by Ana Ruiz on attention at NeurIPS in 2017").hits[0]
    met = next(one for one in hit.evidence if one.retriever == "criteria")
    assert met.fields == ("authors", "venue", "year")
    assert met.terms == ("Ana Ruiz", "NeurIPS", "2017")


def test_a_surname_that_titles_use_as_a_word_stays_a_word(engine: LocalEngine) -> None:
    assert find(engine, "markov weather").understood.parts == ()
    assert titles(find(engine, "apples by Dan Markov"))[0] == "Markov Chains of Apples"


def test_an_unknown_name_stays_a_word(engine: LocalEngine) -> None:
    assert find(engine, "attention by Zed Nobody at SIGWHAT").understood.parts == ()


def test_a_full_name_is_not_everybody_of_its_surname(engine: LocalEngine) -> None:
    assert find(engine, "attention by Zed Ruiz").understood.parts == ()


def test_what_is_excluded_is_not_found(engine: LocalEngine) -> None:
    assert "Grafting by Robots" in titles(find(engine, "grafting"))
    assert "Grafting by Robots" not in titles(find(engine, "grafting -dependency"))
    assert "Grafting by Robots" not in titles(find(engine, "grafting but not dependency"))


def test_minimum_citations_are_a_filter_that_names_itself(engine: LocalEngine) -> None:
    assert {*titles(find(engine, "attention with at least 50 citations"))} == {
        "Attention in Orchards", "Attention over Valleys",
    }  # fmt: skip
    none = find(engine, "attention with at least 5000 citations")
    assert not none.hits
    assert "cited 5,000 times or more" in none.problems[0].message


def test_a_phrase_comes_first(engine: LocalEngine) -> None:
    assert titles(find(engine, '"decision trees" markov'))[0] == "Markov Decision Trees"


def test_the_words_of_a_phrase_are_adjacent_and_in_order(engine: LocalEngine) -> None:
    def score(phrase: str) -> float:
        hits = engine.find(Query(text=f'"{phrase}" markov'), 20, tier="full").hits
        (hit,) = [one for one in hits if one.work.title == "Markov Decision Trees"]
        (evidence,) = [one for one in hit.evidence if one.retriever == "criteria"]
        return evidence.score

    for adjacent in ("decision trees", "markov decision", "Markov decision-trees"):
        for apart in ("trees decision", "markov trees"):
            assert score(adjacent) > score(apart) + 1.5, (adjacent, apart)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("citations:>50", {"Attention in Orchards", "Attention over Valleys"}),
        ("papers with at least 100 citations", {"Attention in Orchards", "Attention over Valleys"}),
        ("at least 100 citations 2017", {"Attention in Orchards"}),
        ("citations:>=100 year:2018", {"Attention over Valleys"}),
        ("NeurIPS 2018 citations:>50", {"Attention over Valleys"}),
        ("kind:survey", {"A Survey of Grafting"}),
        ("type:surveys ACL", {"A Survey of Grafting"}),
        ("kind:survey 2012", {"A Survey of Grafting"}),
    ],
)
def test_numbers_of_citations_and_kinds_alone_list_what_meets_them(
    engine: LocalEngine, text: str, found: set[str]
) -> None:
    result = find(engine, text)
    assert set(titles(result)) == found
    assert {one.retriever for hit in result.hits for one in hit.evidence} == {"filters"}
    assert "\n".join(titles(engine.find_batch([Query(text=text)], 20)[0])) == "\n".join(
        titles(result)
    )


def test_a_limit_that_no_paper_passes_is_named(engine: LocalEngine) -> None:
    none = find(engine, "citations:>100")
    assert not none.hits and "cited 101 times or more" in none.problems[0].message
    assert not find(engine, "kind:survey citations:>50").hits


def test_a_kind_beside_other_words_stays_a_preference(engine: LocalEngine) -> None:
    found = titles(find(engine, "grafting kind:survey"))
    assert found[0] == "A Survey of Grafting" and "Grafting by Robots" in found
    assert len(titles(find(engine, "surveys by Ana Ruiz"))) > 1


def test_recent_and_early_prefer_and_do_not_filter(engine: LocalEngine) -> None:
    recent = [hit.work.year for hit in find(engine, "recent papers on translation", 10).hits]
    early = [hit.work.year for hit in find(engine, "early work on translation", 10).hits]
    assert recent == sorted(recent, key=lambda year: -(year or 0))
    assert early == sorted(early, key=lambda year: year or 0)


def test_a_sentence_has_no_conditions(engine: LocalEngine) -> None:
    text = "In 2017, Ana Ruiz showed at NeurIPS that attention works well in orchards."
    assert find(engine, text).understood.parts == ()
    query = Query(sentence="As Ana Ruiz showed at NeurIPS 2017 [CITATION], it works.")
    assert engine.find(query, 5).understood.parts == ()


@pytest.mark.parametrize("text", HOSTILE, ids=[str(n) for n in range(len(HOSTILE))])
def test_no_input_fails_and_every_paper_is_of_the_library(engine: LocalEngine, text: str) -> None:
    found = find(engine, text)
    assert not found.failed and not found.dropped
    ids = [hit.work.id for hit in found.hits]
    assert len(set(ids)) == len(ids)
    assert all(work is not None for work in engine.works(ids))
    at = 0
    for part in found.understood.parts:
        assert at <= part.start < part.end <= len(text)
        at = part.end


@pytest.mark.parametrize(
    ("text", "meets_year"),
    [
        ("Ruiz and Okafor 2017", True),
        ("Ruiz & Okafor 2016", False),
        ("Ruiz and Okafor 2016", False),
        ("ruiz 2016", True),
    ],
)
def test_surnames_joined_by_and_mean_that_year(
    engine: LocalEngine, text: str, meets_year: bool
) -> None:
    result = find(engine, text)
    (hit,) = (hit for hit in result.hits if hit.work.title == "Attention for Rivers")
    (met,) = (one for one in hit.evidence if one.retriever == "criteria")
    assert ("authors" in met.fields, "year" in met.fields) == (True, meets_year)
