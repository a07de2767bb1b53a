"""Reference sets become claims with labels, and what cannot be read is named."""

import json

import pytest

from citewell_lab.datasets import open_data


@pytest.fixture
def write(tmp_path):
    def run(*records):
        path = tmp_path / "set.jsonl"
        text = "".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records)
        path.write_text(text, encoding="utf-8")
        return path

    return run


ENTRY = {
    "bibtex_key": "k1",
    "bibtex_type": "inproceedings",
    "fields": {"title": "A Title", "author": "Ann Ash and Ben Beech", "year": "2021",
               "booktitle": "ICML", "doi": "10.1000/X.1"},
    "label": "HALLUCINATED",
    "hallucination_type": "swapped_authors",
}  # fmt: skip


def test_hallmark_entries_become_claims_with_their_type(write):
    valid = ENTRY | {"bibtex_key": "k2", "label": "VALID", "hallucination_type": None}
    data = open_data(write(ENTRY, valid))
    assert (data.schema, data.kind) == ("hallmark", "references")
    first, second = data.references
    assert (first.valid, first.kind, second.valid, second.kind) == (
        False, "swapped_authors", True, "valid"
    )  # fmt: skip
    claim = first.claim
    assert (claim.title, claim.year, claim.venue, claim.doi) == (
        "A Title", 2021, "ICML", "10.1000/x.1"
    )  # fmt: skip
    assert [author.family for author in claim.authors] == ["Ash", "Beech"]


def test_written_references_come_as_text_as_fields_or_as_another_checkers_reading(write):
    data = open_data(
        write(
            {"set": "s", "id": "a", "label": "fabricated", "text": "Ann Ash. A title. 2021."},
            {"id": "b", "label": "wrong_detail:near_miss_title", "fields": ENTRY["fields"]},
            {"id": "c", "label": "not_fabricated",
             "ref": {"ref_title": "T", "ref_authors_cited": "A. Ash, B. Beech",
                     "ref_year_cited": "2020", "ref_venue_cited": "CVPR"}},
        )
    )  # fmt: skip
    assert data.schema == "references"
    assert [(one.kind, one.valid) for one in data.references] == [
        ("fabricated", False), ("near_miss_title", False), ("valid", True),
    ]  # fmt: skip
    assert data.references[0].claim.title == "A title"
    assert len(data.references[2].claim.authors) == 2
