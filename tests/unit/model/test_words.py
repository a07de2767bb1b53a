"""One table holds the words of verdicts and certainties, for every front end."""

import re
from pathlib import Path

import pytest

from citewell.model.check import Verdict
from citewell.model.words import VERDICTS, certainty

ROOT = Path(__file__).parents[3]
SOURCES = [
    path
    for folder, pattern in (
        ("server/citewell", "*.py"), ("server/citewell/web/static", "*.js"),
        ("clients/vscode/src", "*.ts"), ("clients/neovim/lua", "*.lua"),
    )
    for path in (ROOT / folder).rglob(pattern)
    if path.name not in ("words.py", "check.py") and "vendor" not in path.parts
]  # fmt: skip


def test_every_verdict_has_a_sign_a_label_and_a_sentence():
    assert set(VERDICTS) == set(Verdict)
    assert len({words.sign for words in VERDICTS.values()}) == len(VERDICTS)
    assert all(words.meaning.endswith(".") for words in VERDICTS.values())


@pytest.mark.parametrize("label", ["likely fabricated", "wrong detail", "not checked"])
def test_no_front_end_has_the_words_of_a_verdict_of_its_own(label):
    assert label in {words.label for words in VERDICTS.values()}
    quoted = re.compile(rf"""["'`>]{label}["'`<]""", re.IGNORECASE)
    assert len(SOURCES) > 400
    assert not [path for path in SOURCES if quoted.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    ("confidence", "typed", "expected"),
    [(None, True, ""), (0.9, True, "sure"), (0.75, True, "likely"), (0.75, False, "sure"),
     (0.3, False, "a guess")],
)  # fmt: skip
def test_a_probability_in_words(confidence, typed, expected):
    assert certainty(confidence, typed=typed) == expected


def test_the_page_holds_no_threshold():
    for path in (ROOT / "server/citewell/web/static").glob("*.js"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\b(SURE|LIKELY)\b|confidence *[<>]", text), path.name
