"""Venues as people write them."""

import pytest

from citewell.model.venues import LONGEST, short_venue, shown_venue


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("cvpr", "CVPR"),
        ("neurips", "NeurIPS"),
        ("ecmlpkdd", "ECML PKDD"),
        ("cvprw", "CVPR Workshops"),
        ("neco", "Neural Computation"),
        ("interspeech", "Interspeech"),
        ("SemEval", "SemEval"),
        ("Neural  Computation", "Neural Computation"),
        ("nature", "Nature"),
        ("misc", ""),
        ("", ""),
    ],
)
def test_an_id_is_shown_as_people_write_it_and_a_name_stays(name, shown):
    assert shown_venue(name) == shown


@pytest.mark.parametrize(
    ("name", "ids", "short"),
    [
        ("cvpr", (), "CVPR"),
        ("Proceedings of the 2016 Conference on Empirical Methods in NLP", ("emnlp",), "EMNLP"),
        ("Proceedings of the Second Workshop on Stylistic Variation", ("acl",), ""),
        ("Findings of the Association for Computational Linguistics", ("acl",), "Findings ACL"),
        ("Proceedings of the 12th Uplands Day", (), "Uplands Day"),
        ("A journal that nobody can shorten", (), ""),
        ("Proceedings of EMNLP and IJCNLP, two in one", ("emnlp", "ijcnlp"), ""),
        ("cvprw", (), ""),
    ],
)
def test_a_list_shows_a_venue_only_where_it_fits(name, ids, short):
    assert short_venue(name, frozenset(ids)) == short
    assert len(short) <= LONGEST
