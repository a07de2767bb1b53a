"""Author lists that were damaged on their way are told from unusual ones."""

import pytest

from citewell.model import Author
from citewell.sources.values import is_malformed


@pytest.mark.parametrize(
    "authors",
    [
        (Author("Ge"), Author("Weifeng")),
        (Author("Chen", "Xi"), Author("Chen", "Xi")),
        (Author("Ash; Ben Beech", "Ann"),),
        (Author("emph{et al.}", "Dongxian"),),
        (Author("...", ""),),
        (Author("Ash", " and ".join(["Ann Ash"] * 12)),),
    ],
)
def test_a_damaged_list_is_recognised(authors):
    assert is_malformed(authors)


@pytest.mark.parametrize(
    "authors",
    [
        (),
        (Author("Plato"),),
        (Author("NLLB Team"), Author("Costa-jussà", "Marta R.")),
        (Author("Aristotle"), Author("Ash", "Ann")),
        (Author("Wang", "Wei"), Author("Wang", "Wen")),
        (Author("d&apos;Amore", "Francesco"), Author("Ash", "Ann")),
    ],
)
def test_an_unusual_list_is_sound(authors):
    assert not is_malformed(authors)
