"""Names are collected where several papers use them for the same work."""

from __future__ import annotations

import pytest

from citewell.corpus.columns import title_key
from citewell_lab.training.aliases import names_before, table_of, uses_of


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
