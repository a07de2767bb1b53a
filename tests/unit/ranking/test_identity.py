"""How far a match of typed words is trusted, by what it rests on."""

from __future__ import annotations

import numpy as np
import pytest

from citewell.corpus.aliases import Alias, Aliases
from citewell.corpus.columns import columns_of, title_key
from citewell.model import Query, Work
from citewell.ranking.identity import (
    CERTAIN,
    CLEAR,
    IDENTIFIED,
    UNDECIDED,
    Bounds,
    bounds,
    highest_of,
    of_key,
)
from citewell.ranking.lexical import TitleWords
from citewell.ranking.typed_features import TypedInputs, typed_features

TITLES = {
    "Peat Drainage: Ditches for Wet Moors": 4,
    "Draining Models in the Wet Moor Framework": 2,
    "Modern Latent Otter Allocation": 90,
    "A Study of Modern Latent Otter Allocation": 1,
    "MOSS: Mapping Old Sphagnum Stands": 60,
    "MOSS: More Otters Sleep Soundly": 1,
    "FERN: Finding Every Rare Newt": 3,
    "Contextualized Peat Vectors for Bogs": 20,
    "Chains of Verified Peat": 9,
    "Small Otters Swim Far": 5,
    "Fern-Light: FeN Readers": 0,
    "Fast FeN and Slow FEN": 0,
    "FEN Scores of Lakes": 0,
}
KNOWN = Aliases(
    {
        "cove": (Alias(title_key("Chains of Verified Peat"), 3, 3),),
        "otternet": (Alias(title_key("Small Otters Swim Far"), 40, 130),),
        "fen": (Alias(title_key("Small Otters Swim Far"), 47, 50),),
        "vit": (Alias(title_key("Small Otters Swim Far"), 50, 50),),
    }
)


def trusted(text: str, **query: object) -> dict[str, tuple[float, float]]:
    """The bounds of each title, 2 digits each."""
    titles = list(TITLES)
    columns = columns_of([Work(id=str(n), title=title) for n, title in enumerate(titles)])
    words, counts = np.unique(columns.word, return_counts=True)
    even = np.zeros(len(titles), np.float32)
    popularity = np.log1p(np.array(list(TITLES.values()), np.float32))
    typed = TypedInputs(text, columns, even, even, even, popularity, popularity, False, KNOWN)
    table = typed_features(typed, TitleWords(words, counts, len(titles)))
    found: Bounds = bounds(
        Query(text=text, **query),  # type: ignore[arg-type]
        columns,
        KNOWN,
        table,
        lambda places: [titles[int(at)] for at in places],
    )
    pairs = zip(found.lowest.round(2).tolist(), found.highest.round(2).tolist(), strict=True)
    return dict(zip(titles, pairs, strict=True))


def test_words_from_within_a_title_decide_nothing() -> None:
    assert (
        trusted("wet moor framework")["Draining Models in the Wet Moor Framework"][1] == UNDECIDED
    )
    assert trusted("wet moors")["Peat Drainage: Ditches for Wet Moors"][1] == UNDECIDED


def test_a_whole_title_its_head_and_its_first_words_are_more_than_a_part() -> None:
    for text in ("Draining Models in the Wet Moor Framework", "peat drainage", "draining models"):
        assert max(high for _, high in trusted(text).values()) == 1


def test_a_part_of_a_title_means_the_paper_that_is_cited_far_more_than_others_with_it() -> None:
    found = trusted("latent otter allocation")
    assert found["Modern Latent Otter Allocation"][1] > 0.8
    assert found["A Study of Modern Latent Otter Allocation"][1] == UNDECIDED


def test_a_short_head_needs_to_be_cited_and_shares_what_others_bear_too() -> None:
    found = trusted("moss")
    assert found["MOSS: Mapping Old Sphagnum Stands"][1] > 0.9
    assert found["MOSS: More Otters Sleep Soundly"][1] == UNDECIDED
    assert trusted("FERN")["FERN: Finding Every Rare Newt"][1] == UNDECIDED


def test_initials_mean_the_paper_that_is_well_known() -> None:
    assert trusted("mloa")["Modern Latent Otter Allocation"] == (CLEAR, 1 - 0.15)
    assert trusted("sosf")["Small Otters Swim Far"] == (0, UNDECIDED)


def test_a_name_that_few_use_is_a_guess_and_one_that_many_use_is_settled() -> None:
    assert trusted("CoVe")["Chains of Verified Peat"] == (0, 0.6)
    assert trusted("otternet")["Small Otters Swim Far"][0] == CLEAR


@pytest.mark.parametrize(
    "query",
    [
        {"sentence": "We use contextualized peat vectors [CITATION]."},
        {
            "sentence": "We use them [CITATION].",
            "acronyms": (("CoVe", "contextualized peat vectors"),),
        },
    ],
)
def test_the_words_that_an_acronym_stands_for_in_the_text_decide(query: dict[str, object]) -> None:
    found = trusted("CoVe", **query)
    assert found["Contextualized Peat Vectors for Bogs"] == (CLEAR, 1)
    assert found["Chains of Verified Peat"] == (0, UNDECIDED)


def test_a_name_of_two_things_by_its_case_and_a_capital_s_decide_nothing() -> None:
    assert trusted("FEN")["Small Otters Swim Far"][1] > 0.9
    assert trusted("FeN")["Small Otters Swim Far"] == (0, UNDECIDED)
    assert trusted("ViTs")["Small Otters Swim Far"][1] > 0.9
    assert trusted("VITS")["Small Otters Swim Far"] == (0, UNDECIDED)


def test_a_record_alone_is_trusted_by_the_same_rule() -> None:
    work = Work(id="1", title="Peat Drainage: Ditches for Wet Moors")
    assert highest_of("peat drainage ditches for wet moors", work) == 1
    assert highest_of("Peat Drainage", work) == 1
    assert highest_of("ditches for wet moors", work) == UNDECIDED
    assert highest_of("wide ditches for moors", work) == 1, "what it lacks is not its title's"
    assert highest_of("UCB", Work(id="2", title="UCB")) == UNDECIDED


def test_a_key_is_trusted_by_author_year_and_title() -> None:
    key = {"is_identified": False, "is_name": False, "is_authors": True, "has_title": True}
    assert of_key(0.6, title=1.0, **key) == CERTAIN
    assert of_key(0.3, title=1.0, **key) == 0.3
    assert of_key(0.99, title=0.75, **key) == UNDECIDED
    assert of_key(0.7, title=0.0, **key | {"has_title": False}) == 0.7
    assert of_key(0.0, title=0.0, **key | {"is_identified": True}) == IDENTIFIED
