"""Merging keeps what every record says, so that no credible record is lost."""

from citewell.model import Author, Provenance, Work
from citewell.sources.combine import combine, records_of

ASH, BEECH, CEDAR = Author("Ash", "Ann"), Author("Beech", "Ben"), Author("Cedar", "Cy")


def record(source, **fields):
    values = {"title": "Slow Rivers", "authors": (ASH, BEECH), "year": 2020, "venue": "icml",
              "booktitle": "International Conference on Machine Learning",
              "kind": "inproceedings"}  # fmt: skip
    return Work(id=f"{source}:1", provenance=(Provenance(source, "1"),), **values | fields)


def test_a_record_that_disagrees_is_kept_in_what_it_says_otherwise():
    merged = combine([record("acl-anthology"), record("dblp", authors=(BEECH, ASH))])
    (variant,) = merged.variants
    assert variant.sources == ("dblp",)
    assert variant.authors == (BEECH, ASH)
    assert (variant.title, variant.year, variant.venue) == ("", None, "")


def test_every_record_can_be_had_again():
    merged = combine([record("acl-anthology"),
                      record("dblp", title="Slow Rivers and Brooks", year=2019),
                      record("openalex", authors=(CEDAR,))])  # fmt: skip
    seen = {(one.title, one.year, one.authors) for one in records_of(merged)}
    assert seen == {
        ("Slow Rivers", 2020, (ASH, BEECH)),
        ("Slow Rivers and Brooks", 2019, (ASH, BEECH)),
        ("Slow Rivers", 2020, (CEDAR,)),
    }
    sources = {one.provenance[0].source for one in records_of(merged)}
    assert sources == {"acl-anthology", "dblp", "openalex"}


def test_accents_and_case_are_no_disagreement():
    plain, accented = (Author("Lio", "Pietro"),), (Author("Liò", "pietro"),)
    assert not combine(
        [record("dblp", authors=plain), record("crossref", authors=accented)]
    ).variants


def test_a_damaged_author_list_yields_to_a_sound_one():
    split = (Author("Ash"), Author("Ann"))
    merged = combine([record("acl-anthology", authors=split), record("dblp")])
    assert merged.authors == (ASH, BEECH)
