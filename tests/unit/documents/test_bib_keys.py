"""Citation keys follow the pattern, in ASCII, and are unique."""

from __future__ import annotations

import pytest

from citewell.documents.keys.pattern import DEFAULT_PATTERN, FIELDS, check_pattern, make_key
from citewell.model import Author, Work

WORK = Work(
    id="x",
    title="Attention Is All You Need",
    authors=(Author("Vaswani", "Ashish"), Author("van den Oord", "A."), Author("Le", "Q.")),
    year=2017,
    venue="NeurIPS",
    bibkey="vaswani-etal-2017-attention",
)


@pytest.mark.parametrize(
    ("pattern", "key"),
    [
        (DEFAULT_PATTERN, "vaswani2017attention"),
        ("{Author}{YY}{Word}", "Vaswani17Attention"),
        ("{AUTHOR:3}_{year}_{title}", "VAS_2017_attentionneed"),
        ("{authors}{yy}", "vaswanioordetal17"),
        ("{Authors:3}{year}", "VaswaniOordLe2017"),
        ("{authors:1}:{year}", "vaswanietal:2017"),
        ("{venue}/{author}", "neurips/vaswani"),
        ("{Title:2}", "AttentionNeed"),
        ("{bibkey}", "vaswani-etal-2017-attention"),
        ("{nonsense}", "vaswani2017attention"),
    ],
)
def test_a_pattern_makes_a_key(pattern: str, key: str) -> None:
    assert make_key(WORK, pattern, ()) == key


@pytest.mark.parametrize(
    ("title", "author", "year", "key"),
    [
        ("Über die Pre-Training", "Łukasiewicz-Øster", 2017, "lukasiewiczoster2017uber"),
        ("Pre-Training of Nets", "Straße", 2017, "strasse2017pretraining"),
        ("Теория", "Щукин", 2017, "shchukin2017teoriya"),
        ("제목 X", "김", 2017, "gim2017jemog"),
        ("What is it?", "Le", None, "lewhat"),
        ("", "", None, "anon"),
        ("关于注意力", "王", 2017, "wang2017guanyu"),
    ],
)
def test_a_key_is_ascii(title: str, author: str, year: int | None, key: str) -> None:
    authors = (Author(author),) if author else ()
    work = Work(id="x", title=title, authors=authors, year=year)
    assert make_key(work, DEFAULT_PATTERN, ()) == key


def test_a_name_without_latin_letters_gives_way_to_a_coauthor() -> None:
    work = Work(id="x", title="On 注意", authors=(Author("王", "小明"), Author("Smith", "J.")))
    assert make_key(work, "{author}", ()) == "smith"


def test_a_suffix_makes_a_key_unique() -> None:
    taken = {"vaswani2017attention"}
    for suffix in ("a", "b", "c"):
        key = make_key(WORK, DEFAULT_PATTERN, taken)
        assert key == "vaswani2017attention" + suffix
        taken.add(key)
    taken |= {"vaswani2017attention" + chr(97 + n) for n in range(26)}
    assert make_key(WORK, DEFAULT_PATTERN, taken) == "vaswani2017attentionaa"


@pytest.mark.parametrize("pattern", ["{autor}{year}", "{author", "plain", "{author} x", "{year:x}"])
def test_a_bad_pattern_is_named_with_the_valid_fields(pattern: str) -> None:
    problem = check_pattern(pattern)
    assert problem is not None and problem.code == "key-pattern"
    assert pattern in problem.message
    assert all(f"{{{field}}}" in problem.hint for field in FIELDS)


@pytest.mark.parametrize(
    ("author", "title", "key"),
    [
        ("王伟", "图神经网络综述", "wangwei2016tushen"),
        ("山田", "深層学習", "shantian2016shenceng"),
        ("محمد", "شبكات عصبية", "mhmd2016shbkt"),
    ],
)
def test_names_and_titles_of_every_script_make_a_key(author: str, title: str, key: str) -> None:
    work = Work(id="x", title=title, authors=(Author(author),), year=2016)
    assert make_key(work, "{author}{year}{word}", ()) == key
