"""Names are collected where several papers use them for the same work."""

from __future__ import annotations

import pytest

from citewell.corpus.columns import title_key
from citewell.model import Author
from citewell.verification.likeness import are_versions
from citewell_lab.training.aliases import names_before, table_of, uses_of, with_mentions


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("We train a ResNet [CITATION].", {"ResNet"}),
        ("We train a ResNet model [CITATION] here.", {"ResNet"}),
        ("A residual network (ResNet) [CITATION]", {"ResNet"}),
        ("We follow Mask R-CNN [CITATION]", {"R-CNN", "Mask R-CNN"}),
        ("as in BERT [OTHER] [CITATION]", set()),
        ("This is the [CITATION]", set()),
        ("[CITATION] shows", set()),
    ],
)
def test_a_name_stands_right_before_the_mark(sentence: str, names: set[str]) -> None:
    found = {name for name, shaped in names_before(sentence) if shaped}
    assert found == names


def record(number: int, sentence: str, title: str) -> dict[str, str]:
    return {"id": str(number), "source_title": f"paper {number}", "sentence": sentence,
            "gold_title": title, "gold_id": ""}  # fmt: skip


def test_a_name_is_kept_where_papers_agree_on_the_work() -> None:
    orch, other = "A Study of Orchards", "Valleys"
    records = [
        record(1, "We use ORCH [CITATION].", orch),
        record(2, "They use ORCHs [CITATION].", orch),
        record(3, "We use ORCH [CITATION].", other),
        record(4, "We use VALE [CITATION].", other),
        record(5, "We use a trick [CITATION].", orch),
        record(6, "We use a trick [CITATION].", orch),
    ]
    known = table_of(uses_of(records, {}))
    assert set(known) == {"orch"}
    (work,) = known["orch"]
    assert (work.key, work.papers, work.of) == (title_key(orch), 2, 2)


REFLEXION = (
    "Reflexion: an autonomous agent with dynamic memory and self-reflection",
    "Reflexion: language agents with verbal reinforcement learning",
)
POINTNET = (
    "PointNet: Deep Learning on Point Sets for 3D Classification and Segmentation",
    "PointNet++: Deep Hierarchical Feature Learning on Point Sets in a Metric Space",
)


@pytest.mark.parametrize(
    ("titles", "authors", "are"),
    [
        (REFLEXION, ("Shinn", "Shinn"), True),
        (("Generative Adversarial Nets", "Generative Adversarial Networks"),
         ("Goodfellow", "Goodfellow"), True),
        (POINTNET, ("Qi", "Qi"), False),
        (REFLEXION, ("Shinn", "Wang"), False),
        (REFLEXION, ("", ""), False),
        (("Linguistic Regularities in Continuous Space Word Representations",
          "Efficient Estimation of Word Representations in Vector Space"),
         ("Mikolov", "Mikolov"), False),
    ],
)  # fmt: skip
def test_versions_have_like_titles_and_one_first_author(
    titles: tuple[str, str], authors: tuple[str, str], *, are: bool
) -> None:
    assert are_versions(*titles, *authors) is are


def test_a_name_of_two_versions_stands_for_one_work() -> None:
    old, new = REFLEXION
    records = [
        record(number, "We use Reflexion [CITATION].", title)
        for number, title in enumerate([new, new, new, new, old, old])
    ]
    found = uses_of(records, {})
    facts = {title_key(title): (title, Author("Shinn", "Noah")) for title in REFLEXION}
    assert with_mentions(table_of(found), found, records, {}, {})["reflexion"][0].mentions == -1
    (first, *_) = with_mentions(table_of(found), found, records, {}, facts)["reflexion"]
    assert (first.key, first.mentions, first.cited) == (title_key(new), 6, 6)
