"""What a citing sentence names at the place of the citation, and what at its neighbours'."""

import numpy as np
import pytest

from citewell.corpus.aliases import NO_ALIASES, Alias, Aliases
from citewell.corpus.columns import columns_of, title_key
from citewell.model import Author, Work
from citewell.ranking.named import NAMES, named

PAPERS = [
    Work(id="bert", title="BERT: Pre-training of Transformers",
         authors=(Author(family="Devlin"), Author(family="Chang"))),
    Work(id="adam", title="Adam: A Method for Stochastic Optimization",
         authors=(Author(family="Kingma"),)),
    Work(id="resnet", title="Deep Residual Learning for Image Recognition",
         authors=(Author(family="He"),)),
]  # fmt: skip
ALIASES = Aliases({"resnet": (Alias(title_key(PAPERS[2].title), 8, 9),)})


def of(sentence: str, name: str, aliases: Aliases = NO_ALIASES) -> list[float]:
    found = named(sentence, columns_of(PAPERS), aliases)
    assert found.shape == (3, len(NAMES))
    return [round(float(value), 2) for value in found[:, NAMES.index(name)]]


def test_each_name_belongs_to_the_mark_that_follows_it() -> None:
    sentence = "We train BERT [CITATION] on all of our data with Adam [OTHER]."
    assert of(sentence, "name_at") == [1, 0, 0]
    assert of(sentence, "name_beside") == [0, 1, 0]
    near = "We train BERT [CITATION] with Adam [OTHER]."
    assert of(near, "name_at")[1] < of(near, "name_beside")[1]


def test_a_name_after_the_mark_belongs_to_it_until_the_clause_ends() -> None:
    assert of("We use [CITATION] (BERT).", "name_at")[0] > 0
    assert of("As shown [CITATION]; BERT is common.", "name_at")[0] == 0


@pytest.mark.parametrize(
    "before", ["Devlin et al.", "Devlin and Chang", "Devlin, et al.", "Devlin et al.'s"]
)
def test_authors_before_the_mark(before: str) -> None:
    sentence = f"{before} [CITATION] train a model."
    assert of(sentence, "author_at") == [1, 0, 0]
    assert of(sentence, "stranger_author") == [0, 1, 1]


def test_a_lone_capitalised_word_is_no_author() -> None:
    assert of("We follow Devlin [CITATION].", "stranger_author") == [0, 0, 0]


def test_a_name_that_is_no_candidates_is_a_stranger() -> None:
    assert of("We use AllenNLP [CITATION].", "stranger_at") == [1, 1, 1]
    assert of("We use BERT [CITATION].", "stranger_at") == [0, 1, 1]


@pytest.mark.parametrize(
    "sentence", ["", "No mark.", "[CITATION]", "[OTHER] [CITATION]", "([CITATION"]
)
def test_sentences_that_say_nothing(sentence: str) -> None:
    assert np.isfinite(named(sentence, columns_of(PAPERS), ALIASES)).all()
    assert named(sentence, columns_of(()), ALIASES).shape == (0, len(NAMES))
