"""A key is read by the habit in which it was made, and compared with a record."""

import pytest

from citewell.features.citing.undefined_key import fit, read_key
from citewell.model import Author, Work

TREES = Work(
    id="w:1",
    title="Improved Semantic Representations From Tree-Structured Networks",
    authors=(Author("Tai", "Kai"), Author("Socher", "R."), Author("Manning", "C.")),
    year=2015,
    bibkey="tai-etal-2015-improved",
    arxiv="1503.00075",
    url="https://aclanthology.org/P15-1150",
)


@pytest.mark.parametrize(
    ("key", "surname", "year", "words"),
    [
        ("vaswani2017attention", "vaswani", 2017, "attention"),
        ("devlin-etal-2019-bert", "devlin", 2019, "bert"),
        ("Tai2015ImprovedNetworks", "tai", 2015, "Improved Networks"),
        ("heDeepResidualLearning2015", "he", 2015, "Deep Residual Learning"),
        ("blei-03", "blei", 2003, ""),
        ("knuth'84", "knuth", 1984, ""),
        ("DBLP:journals/corr/MikolovLS13", "mikolov", 2013, ""),
        ("pmlr-v97-wu19e", "wu", 2019, ""),
        ("Velickovic:2018", "velickovic", 2018, ""),
        ("attention", "attention", None, ""),
        ("XXX", "xxx", None, ""),
        ("", "", None, ""),
    ],
)
def test_a_key_is_taken_apart(key, surname, year, words):
    meaning = read_key(key)
    assert (meaning.surname, meaning.year, meaning.words) == (surname, year, words)


@pytest.mark.parametrize(
    ("key", "field", "value"),
    [
        ("P15-1150", "anthology", "P15-1150"),
        ("2020.acl-main.1", "anthology", "2020.acl-main.1"),
        ("1503.00075", "arxiv", "1503.00075"),
        ("arXiv:1503.00075v2", "arxiv", "1503.00075"),
        ("10.1162/tacl_a_00051", "doi", "10.1162/tacl_a_00051"),
    ],
)
def test_identifiers_are_seen(key, field, value):
    assert getattr(read_key(key), field) == value


@pytest.mark.parametrize(
    "key",
    [
        "tai2015improved",
        "Tai2015ImprovedNetworks",
        "Tai2015ImprovedSR",
        "tai2015improvedsemanticrepresentations",
        "Tai:2015:ISR",
        "tai-socher-manning:2015:improved",
        "taiImprovedSemantic2015",
        "Tai.Socher.Manning.2015",
        "DBLP:conf/acl/TaiSM15",
    ],
)
def test_each_habit_fits_its_paper_and_nothing_in_the_key_is_left_over(key):
    fits = fit(read_key(key), TREES)
    assert (fits.surname, fits.year) == (1.0, 1.0)
    assert fits.contradicts == 0.0
    assert fits.title == 1.0 or fits.title_detail == 0.0


@pytest.mark.parametrize(
    ("key", "part", "most"),
    [
        ("tai2014improved", "year", 0.5),
        ("tai2009improved", "year", 0.0),
        ("socher2015improved", "surname", 0.3),
        ("blei2015improved", "surname", 0.0),
        ("tai2015parsing", "title", 0.0),
    ],
)
def test_what_does_not_fit_counts_against_the_paper(key, part, most):
    assert getattr(fit(read_key(key), TREES), part) <= most


def test_the_source_s_own_key_and_identifiers_are_proof():
    for key in ("tai-etal-2015-improved", "P15-1150", "1503.00075"):
        assert fit(read_key(key), TREES).identifier == 1.0
    assert fit(read_key("tai2015improved"), TREES).identifier == 0.0
