"""Several sources about one work: one record, and every word of each source kept."""

from __future__ import annotations

import msgspec

from citewell.model import Author, Provenance, Work
from citewell.sources.combine import fill_gaps, merge, same_works


def record(source: str, **fields: object) -> Work:
    """A record of one paper as a source gives it."""
    facts: dict[str, object] = {
        "id": f"{source}:1",
        "title": "On the Patience of Kettles",
        "authors": (Author("Example", "Ada"), Author("Wang", "Jun")),
        "year": 2020,
        "doi": "10.5555/kettle.1",
        "provenance": (Provenance(source, "1"),),
    }
    return Work(**{**facts, **fields})  # type: ignore[arg-type]


def test_a_contradiction_stays_visible_and_the_most_trusted_source_is_shown() -> None:
    merged = merge([record("openalex", year=2023), record("crossref"), record("dblp")])
    assert merged.work.year == 2020
    first, second = merged.conflicts["year"]
    assert (first.text, first.sources) == ("2020", ("crossref", "dblp"))
    assert (second.text, second.sources) == ("2023", ("openalex",))


def test_spelling_accents_and_page_ends_are_no_contradiction() -> None:
    merged = merge(
        [
            record("crossref", title="On the patience of kettles", pages="12-20"),
            record("pubmed", authors=(Author("Example", "A."), Author("Wang", "J.")), pages="12"),
        ]
    )
    assert merged.conflicts == {}


def test_a_wrong_title_under_the_right_doi_is_told_with_its_source() -> None:
    merged = merge([record("crossref"), record("dblp"), record("openalex", title="Teapots")])
    assert merged.work.title == "On the Patience of Kettles"
    assert [value.sources for value in merged.conflicts["title"]] == [
        ("crossref", "dblp"), ("openalex",),
    ]  # fmt: skip


def test_a_retraction_of_one_source_marks_the_work_and_keeps_the_notice() -> None:
    merged = merge([record("openalex"), record("crossref", retracted=True, notice="10.5555/n")])
    assert merged.work.retracted and merged.work.notice == "10.5555/n"
    assert merged.values_by_field["retracted"][0].sources == ("crossref",)


def test_records_meet_by_doi_by_arxiv_and_by_title_with_a_name() -> None:
    by_doi = record("crossref", title="Another Spelling of the Title of This Paper")
    by_arxiv = record("arxiv", doi="", arxiv="2001.01234", title="A Preprint's Own Title")
    both = record("semantic-scholar", arxiv="2001.01234")
    titled = record("dblp", doi="")
    stranger = record("openalex", doi="", authors=(Author("Nobody", "Nora"),))
    groups = same_works([both, by_doi, by_arxiv, titled, stranger])
    ids = [[work.id for work in group] for group in groups]
    assert ids == [["semantic-scholar:1", "crossref:1", "arxiv:1", "dblp:1"], ["openalex:1"]]


OWN = Work(
    id="own:1", title="A Paper", year=2019, provenance=(Provenance("bibtex:mine.bib", "p"),),
    same_as=("own:1",),
)  # fmt: skip
FULL = Work(
    id="acl:1", title="A Paper", year=2019, kind="inproceedings", authors=(Author("Elm", "Ann"),),
    venue="ACL", booktitle="Proceedings", pages="1-9", doi="10.1/a", retracted=True,
    notice="10.1/n", same_as=("acl:1",), provenance=(Provenance("acl-anthology", "1"),),
)  # fmt: skip


def test_gaps_of_ones_own_record_are_filled_and_both_sources_are_named() -> None:
    work = fill_gaps(OWN, FULL)
    assert (work.id, work.kind, work.authors) == ("own:1", "inproceedings", FULL.authors)
    assert (work.booktitle, work.pages, work.doi) == ("Proceedings", "1-9", "10.1/a")
    assert work.retracted and work.notice == "10.1/n"
    assert [one.source for one in work.provenance] == ["bibtex:mine.bib", "acl-anthology"]
    assert work.same_as == ("own:1", "acl:1")
    assert work.variants == ()


def test_values_of_ones_own_record_win_and_the_others_stay_as_a_variant() -> None:
    own = msgspec.structs.replace(OWN, authors=(Author("Oak", "A."),), booktitle="Proceedings")
    work = fill_gaps(msgspec.structs.replace(own, kind="inproceedings"), FULL)
    assert work.authors == own.authors
    assert work.doi == "10.1/a"
    (variant,) = work.variants
    assert variant.sources == ("acl-anthology",) and variant.authors == FULL.authors


def test_gaps_are_not_filled_from_another_publication() -> None:
    elsewhere = {
        "other years": msgspec.structs.replace(OWN, year=2018),
        "a preprint": msgspec.structs.replace(OWN, arxiv="1901.00001"),
        "another venue": msgspec.structs.replace(OWN, kind="inproceedings", booktitle="A workshop"),
        "other pages": msgspec.structs.replace(OWN, pages="88"),
        "an article": msgspec.structs.replace(OWN, kind="article"),
    }
    for name, own in elsewhere.items():
        work = fill_gaps(own, FULL)
        assert work.authors == FULL.authors, name
        assert (work.booktitle, work.pages, work.doi) == (own.booktitle, own.pages, ""), name
        assert (work.kind, work.year) == (own.kind, own.year), name
