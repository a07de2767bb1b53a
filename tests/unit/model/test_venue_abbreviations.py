"""Venues are known by their abbreviated names, as ISO 4 and bibliography styles cut them."""

import pytest

from citewell.model.titles import title_key
from citewell.model.venues import is_one_journal, venue_ids


@pytest.mark.parametrize(
    ("text", "venue"),
    [
        ("Proc. Conf. Empirical Methods Nat. Lang. Process.", "emnlp"),
        ("Proc. of the Annual Meeting of the Assoc. for Comput. Linguistics", "acl"),
        ("Proc. Annu. Meet. Assoc. Comput. Linguist.", "acl"),
        ("Trans. of the ACL", "tacl"),
        ("Trans. Assoc. Comput. Linguist.", "tacl"),
        ("Eur. Conf. Comput. Vis.", "eccv"),
        ("Proc. ACM Conf. Hum. Factors Comput. Syst.", "chi"),
        ("IEEE Trans. Pattern Anal. Mach. Intell.", "tpami"),
        ("Proc. Int. Conf. Mach. Learn.", "icml"),
        ("Proceedings of the 2019 Conf. of the North American Chapter of the ACL", "naacl"),
    ],
)
def test_an_abbreviated_name_is_the_venue(text, venue):
    assert venue_ids(text) == {venue}


@pytest.mark.parametrize("text", ["Proc. Conf. River Dyn.", "J. Beaver Stud.", "Sci. Am."])
def test_an_unknown_abbreviation_names_no_venue(text):
    assert venue_ids(text) == frozenset()


@pytest.mark.parametrize(
    "spellings",
    [
        ("$\\alpha$-Rank", "α-Rank", "alpha-Rank", "Alpha Rank"),
        ("$\\epsilon$-greedy", "ε-greedy", "ϵ-greedy", "$\\varepsilon$-greedy"),
        ("αβ-CROWN", "$\\alpha\\beta$-CROWN", "alpha-beta-CROWN"),
        ("$O(\\sqrt{n})$ Regret", "O(√n) Regret", "O(sqrt(n)) Regret"),
        ("$L^2$ Bounds", "L2 Bounds", "L² Bounds", "L^2 Bounds"),
        ("Pre-Training", "Pretraining", "Pre training"),
    ],
)
def test_symbols_and_hyphens_are_written_in_many_ways(spellings):
    assert len({title_key(title) for title in spellings}) == 1


def test_a_greek_word_stays_greek():
    assert title_key("Λόγος") == "λογοσ"


@pytest.mark.parametrize(
    ("short", "name", "same"),
    [
        ("Phys. Rev. Lett.", "Physical Review Letters", True),
        ("J. Chem. Phys.", "The Journal of Chemical Physics", True),
        ("Proc Natl Acad Sci U S A",
         "Proceedings of the National Academy of Sciences of the United States of America", True),
        ("Mon. Not. R. Astron. Soc.", "Monthly Notices of the Royal Astronomical Society", True),
        ("JHEP", "Journal of High Energy Physics", True),
        ("Am. Econ. Rev.", "American Economic Review", True),
        ("Phys. Rev. D", "Physical Review Letters", False),
        ("Phys. Rev.", "Physical Review Letters", False),
        ("Nature", "Nature Physics", False),
        ("J. Phys. Chem.", "The Journal of Chemical Physics", False),
    ],
)  # fmt: skip
def test_a_journal_abbreviated_word_by_word_is_the_same(short, name, same):
    assert is_one_journal(short, name) is is_one_journal(name, short) is same
