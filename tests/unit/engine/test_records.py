"""A library as a place where the check looks references up."""

from pathlib import Path

import pytest

from citewell.corpus.library import Library
from citewell.engine import records as engine_records
from citewell.engine.records import LibraryRecords
from citewell.model import Author
from citewell.model.check import Claim, Verdict
from citewell.options import Options
from citewell.verification.checker import Checker
from citewell.verification.claims import make_claim
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.sources import source_at

PAPERS = Path(__file__).resolve().parents[2] / "fixtures" / "papers.jsonl"


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records") / "library"
    build_library(folder, add=[source_at(PAPERS)], builders=default_builders(Options()))
    with Library.open(folder) as library:
        yield LibraryRecords(library)


def test_title_doi_and_arxiv_find_the_same_work(records):
    claims = [
        Claim(
            title="BERT: pre-training of deep bidirectional transformers for language understanding"
        ),
        Claim(doi="10.18653/v1/n19-1423"),
        Claim(arxiv="1710.10903"),
        Claim(title="A Title of No Paper"),
    ]
    by_title, by_doi, by_arxiv, nothing = records.candidates(claims)
    assert by_title.by_title[0].id == by_doi.by_doi[0].id
    assert by_arxiv.by_arxiv[0].title == "Graph Attention Networks"
    assert not (nothing.by_title or nothing.by_doi or nothing.by_arxiv)


def test_a_misspelt_title_is_found_by_its_rare_words(records):
    (near, none) = records.near(
        [Claim(title="Effective Approaches to Attention-based Machine Translation"),
         Claim(title="Zzyzx Qwfp")]
    )  # fmt: skip
    assert near[0].title == "Effective Approaches to Attention-based Neural Machine Translation"
    assert none == ()


def test_similar_titles_are_the_same_however_few_titles_are_remembered(records, monkeypatch):
    monkeypatch.setattr(engine_records, "REMEMBERED_TITLES", 4)
    claims = [
        Claim(title="Effective Approaches to Attention-based Machine Translation"),
        Claim(title="Graph Attention Network Models"),
        Claim(title="Effective Approaches to Gating-based Neural Machine Translation"),
    ]
    together = records.near(claims)
    assert [near for claim in claims for near in records.near([claim])] == together
    assert together[0][0] == together[2][0]


def test_a_near_miss_is_named_with_the_right_title(records):
    claim = make_claim(
        {"title": "Effective Approaches to Gating-based Neural Machine Translation",
         "author": "Thang Luong and Hieu Pham and Christopher D. Manning", "venue": "EMNLP"},
        year=2015, venue_field="booktitle",
    )  # fmt: skip
    (check,) = Checker([records]).check([claim])
    assert check.verdict is Verdict.WRONG_DETAIL
    assert [f.code for f in check.findings] == ["title-differs"]
    assert "Attention-based" in check.findings[0].expected


def test_the_papers_of_a_meeting_are_counted_and_found_by_their_authors(records):
    held = records.meeting("naacl", 2019, [Author("Devlin", "Jacob"), Author("Chang", "Ming-Wei")])
    assert held.papers >= 1
    assert "BERT" in held.by_authors[0].title
    assert not records.meeting("naacl", 2019, [Author("Nobody", "Ned")]).by_authors
    assert records.meeting("naacl", 1850, [Author("Devlin")]).papers == 0
