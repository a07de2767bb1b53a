"""What a model says beside its choice is shown short, and names nothing but the candidates."""

import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from citewell.llm.texts import GAP, MAX_REMARK, remark, without_identifiers
from citewell.model import Author, Work

WORKS = (
    Work(
        id="t:1",
        title="Attention Is All You Need",
        authors=(Author("Vaswani", "Ashish"), Author("Shazeer", "Noam")),
        year=2017,
        venue="NeurIPS",
        abstract="The Transformer uses attention only and leads on WMT 2014.",
    ),
    Work(
        id="t:2",
        title="BERT: Pre-training of Deep Bidirectional Transformers",
        authors=(Author("Devlin", "Jacob"),),
        year=2019,
    ),
)


@pytest.mark.parametrize(
    "text",
    [
        "It fits.",
        "It is about\ngraphs.",
        "Vaswani et al. (2017) introduce the Transformer, unlike Devlin (2019).",
        "Vaswani and Shazeer, 2017, use attention only.",
        "The paper 'Attention Is All You Need' fits better than [2].",
        "Proposed in 2017, it leads on WMT 2014. In 2017 nothing else did.",
        "Only one candidate is on translation; the others are on speech (e.g. WaveNet).",
        "95.3% against 28.4 BLEU: GPT-3 and ResNet-50 are something else.",
        "The others say nothing of “attention”.",
    ],
)
def test_what_speaks_of_the_candidates_stays(text: str) -> None:
    assert remark(text, WORKS) == " ".join(text.replace("“", "'").replace("”", "'").split())


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("See 10.1000/fake.123 for it", "10.1000"),
        ("See doi:10.1000/fake for it", "fake"),
        ("See 11110.1000/fake for it", "fake"),
        ("See DOI 10 .1000/ fake for it", "1000"),
        ("See arXiv:2101.00001v2 for it", "2101"),
        ("See 2101.00001 for it", "2101"),
        ("See cs.CL/0101001 for it", "0101001"),
        ("See N19-1423 for it", "N19"),
        ("See 2020.acl-main.747 for it", "acl-main"),
        ("See PMID 12345678 for it", "12345678"),
        ("See ISBN 978-0-306-40615-7 for it", "40615"),
        ("See https://evil.example/x?y=z for it", "evil"),
        ("See hxxp://evil.example/x for it", "evil"),
        ("See www.evil.example for it", "evil"),
        ("See evil.com/x for it", "evil"),
        ("See é.evil.com for it", "evil"),
        ("See 127.0.0.1:8000/x for it", "127"),
        ("See javascript:alert(1) for it", "alert"),
        ("See command:workbench.action for it", "workbench"),
        ("See evil@evil.example for it", "evil"),
        ("See <a href='https://evil.example'>this</a> for it", "evil"),
        ("See <img src=x onerror=alert(1)> for it", "alert"),
        ("See <script>alert(1)</script> for it", "alert"),
        ("See <scr<b>ipt>alert for it", "<"),
        ("See h<b></b>ttps://evil.example for it", "evil"),
        ("See ![x](https://evil.example) for it", "evil"),
        ("See [this](command:evil) for it", "evil"),
        ("See &#104;ttps for it", "&#"),
        ("See \\cite{fake2021} for it", "fake"),
        ("See \\citep[p. 3][]{fake2021, other} for it", "fake"),
        ("See \\cite<fake paper> for it", "fake"),
        ("See [@fake2021; @other] for it", "fake"),
        ("See @fake2021 for it", "fake"),
        ("See fake2021paper for it", "fake"),
        ("See Smith2021 for it", "Smith"),
        ("See @article{fake, title={A Fake}, year={2021}} for it", "Fake"),
        ("See Smith et al. (2021) for it", "Smith"),
        ("See Smith and Roe (2021) for it", "Roe"),
        ("See (Smith, 2021) for it", "Smith"),
        ("See Vaswani et al. (2021) for it", "Vaswani"),
        ("See Smith et al. for it", "Smith"),
        ("See “A Paper That Is Not There” for it", "Not There"),
        ('See "a paper that is not there" for it', "not there"),
        ("See that Attention Is Everything You Want for it", "Everything"),
        ("See candidate 9 for it", "9"),
        ("See [17] for it", "17"),
        ("See <|im_start|>system for it", "im_start"),
        ("See [[ ## choice ## ]] for it", "##"),
        ("See \x1b[31mred\x1b[0m and \x9b31m for it", "31m"),
        ("See \x1b]8;;https://evil.example\x07x for it", "evil"),
        ("See \u202eelpmaxe\u202c \u200bfor it", "\u202e"),
        ("See \uff48ttps://evil.example for it", "evil"),
        ("See 1\u200b0.1000/fake for it", "1000"),
        ("See `code` and **bold** for it", "`"),
        ("See line\u2028two\r\nthree\x85 for it", "\u2028"),
    ],
)
def test_what_names_anything_else_is_taken_out(text: str, gone: str) -> None:
    shown = remark(text, WORKS)
    assert gone not in shown
    assert shown.startswith("See ") and shown.endswith("for it"), "the rest stays"


def test_a_planted_order_loses_all_that_it_could_act_with(chat: Any) -> None:
    shown = remark(chat.INJECTION, WORKS)
    assert not [leak for leak in chat.LEAKS if leak in shown]
    assert len(shown) <= MAX_REMARK


ALPHABET = "Aa1 .,[](){}@\\<>/:-_'\"“”&#|\x1b\u202e\n"
PIECES = st.one_of(
    st.text(alphabet=ALPHABET, max_size=30),
    st.sampled_from(
        ["https://e.x/", "10.1000/fake", "arXiv:2101.00001", "a@b.example", "\\cite{k}", "[@k]",
         "Smith et al. (2021)", "<b>", "</b>", "&lt;", "www.e.x", "\u200b"]
    ),
)  # fmt: skip


@example("1arXiv:2101.00001arXiv:2101.00001")
@example("A[[@k]](")
@given(st.lists(PIECES, max_size=40).map("".join))
def test_no_text_becomes_more_than_a_line_of_words(text: str) -> None:
    shown = remark(text, WORKS)
    assert len(shown) <= MAX_REMARK
    assert shown.isprintable()
    assert not set('<>{}\\`|"“”') & set(shown)
    assert "://" not in shown and "@" not in shown.replace(GAP, "")
    assert "10.1000/fake" not in shown and "2101.00001" not in shown
    assert without_identifiers(shown.replace(GAP, "")) == " ".join(shown.replace(GAP, "").split())


@pytest.mark.parametrize(
    "piece", ["A", "A,", "a.", "A a ", "@a{", "“", "aA1", "a-", "1.1.", "<a", "[@"]
)
def test_a_long_answer_is_read_in_bounded_time(piece: str) -> None:
    began = time.process_time()
    remark(piece * (2_000_000 // len(piece)), WORKS)
    # Seconds if the whole text were read, hours where a pattern tries all its parts.
    assert time.process_time() - began < 5
