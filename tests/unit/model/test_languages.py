"""Languages are stated in many ways, and mean one code."""

import pytest

from citewell.model.languages import language_code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("en", "en"),
        ("eng", "en"),
        ("English", "en"),
        ("ENGLISH", "en"),
        ("en-US", "en"),
        ("en_GB", "en"),
        ("american", "en"),
        ("English; Chinese", "en"),
        ("Chinese (Simplified)", "zh"),
        ("zh-Hant", "zh"),
        ("ger", "de"),
        ("deu", "de"),
        ("ngerman", "de"),
        ("Deutsch", "de"),
        ("français", "fr"),
        ("fre", "fr"),
        ("Brazilian", "pt"),
        ("Norwegian Bokmål", "nb"),
        ("Русский", "ru"),
        ("mul, fra", "fr"),
    ],
)
def test_a_stated_language_is_its_code(text: str, code: str) -> None:
    assert language_code(text) == code


@pytest.mark.parametrize("text", ["", "und", "mul", "zxx", "grc", "ltr", "n/a", "Text in noise"])
def test_what_states_no_language_of_iso_639_1_is_none(text: str) -> None:
    assert language_code(text) == ""
