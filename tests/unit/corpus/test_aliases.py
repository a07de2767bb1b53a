"""The table of names by which others cite papers."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell.corpus.aliases import Alias, Aliases, alias_name, read_aliases, write_aliases
from citewell.corpus.columns import title_key
from citewell.model import CitewellError
from citewell.retrieval.opening import ALIASES


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("ResNets", "resnet"),
        ("GPT-3", "gpt3"),
        ("U-Net", "unet"),
        ("GRUs", "gru"),
        ("BLISS", "bliss"),
    ],
)
def test_case_hyphens_and_a_plural_make_no_other_name(typed: str, name: str) -> None:
    assert alias_name(typed) == name


def test_what_is_written_is_read(tmp_path: Path) -> None:
    known = {"orch": (Alias(7, 5, 9), Alias(8, 2, 9)), "vale": (Alias(title_key("Valleys"), 3, 3),)}
    write_aliases(known, tmp_path / "a.tsv")
    found = read_aliases(tmp_path / "a.tsv")
    assert dict(found.items()) == known
    assert found.of("ORCHs") == known["orch"]
    assert found.of("nobody") == ()
    assert known["orch"][0].strength == 0.5


@pytest.mark.parametrize("text", ["", "other\n", "citewell-aliases-1\na\tb\tc\n"])
def test_another_file_is_refused_with_a_cure(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.tsv").write_text(text, "utf-8")
    with pytest.raises(CitewellError) as caught:
        read_aliases(tmp_path / "a.tsv")
    assert caught.value.problem.code == "aliases-unreadable"


def test_the_table_that_ships_is_small_and_knows_common_names() -> None:
    assert ALIASES.stat().st_size <= 400_000
    shipped = read_aliases(ALIASES)
    for name, title in {
        "resnet": "Deep Residual Learning for Image Recognition",
        "lstm": "Long Short-Term Memory",
        "gpt-3": "Language Models are Few-Shot Learners",
        "word2vec": "Efficient Estimation of Word Representations in Vector Space",
        "transformer": "Attention is All you Need",
        "PPO": "Proximal Policy Optimization Algorithms",
        "U-Net": "U-Net: Convolutional Networks for Biomedical Image Segmentation",
        "BPE": "Neural Machine Translation of Rare Words with Subword Units",
        "roberta": "RoBERTa: A Robustly Optimized BERT Pretraining Approach",
    }.items():
        assert title_key(title) in {work.key for work in shipped.of(name)}, name


def test_what_a_name_means_is_a_guess_until_many_papers_agree() -> None:
    known = Aliases(
        {
            "abc": (Alias(1, 3, 3),),
            "abcnet": (Alias(2, 3, 3),),
            "abd": (Alias(3, 40, 40),),
            "two": (Alias(4, 12, 26), Alias(5, 10, 26)),
            "vit": (Alias(6, 50, 50),),
        }
    )

    def share(name: str) -> float:
        found = known.shares(name)
        return found[0][1] if found else 0.0

    assert share("ABC") < share("ABCNet") < 0.8 < share("abd")
    assert share("two") < 0.8 and len(known.shares("two")) == 2
    assert share("ViTs") == share("vit") > 0.9
    assert share("VITS") == share("other") == 0.0
