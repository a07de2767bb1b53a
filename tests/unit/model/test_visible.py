"""Control characters of foreign texts, written out."""

import json
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from citewell.model.display_text import visible, visible_json


def test_what_a_terminal_obeys_is_written_out():
    assert visible("a\x1b[8mb") == "a\\x1b[8mb"
    assert visible("\x07\x08\x7f\x9b31m") == "\\x07\\x08\\x7f\\x9b31m"
    assert visible("abc\rxyz") == "abc\\x0dxyz"
    assert visible("evil\u202egpj.exe\u2066") == "evil\\u202egpj.exe\\u2066"


def test_text_stays_as_it_is():
    text = "Größe\tVeličković 😀\n北京\r\nשלום عربى e\u0301 \u200d"
    assert visible(text) == text


@given(st.text())
def test_no_control_character_is_left(text):
    shown = visible(text)
    left = [c for c in shown.replace("\r\n", "") if unicodedata.category(c) == "Cc"]
    assert set(left) <= {"\t", "\n"}
    assert visible(shown) == shown


@given(st.dictionaries(st.text(), st.text()))
def test_json_means_the_same(value):
    for text in (json.dumps(value, ensure_ascii=False), json.dumps(value, indent=1)):
        assert json.loads(visible_json(text)) == value
