"""Two records of one paper meet under the same title."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.model.tex import tex_to_unicode
from citewell.model.titles import (
    normalise_title,
    title_key,
    without_special_letters,
)


@pytest.mark.parametrize(
    ("title", "normal"),
    [
        ("{BERT}: Pre-training of Deep  Nets.", "bert pre training of deep nets"),
        ("What’s new -- and <i>why</i> &amp; how", "whats new and why how"),
        ("Schr{\\\"o}dinger's Ångström", "schrodingers angstrom"),
        ("Über H$_2$O and CO<sub>2</sub>", "uber h2o and co2"),
        ("Deep $\\alpha$-nets", "deep alpha nets"),
        ("中文标题：测试", "中文标题 测试"),
        ("p < q and r > s", "p q and r s"),
        ("?!", ""),
    ],
)
def test_a_title_is_reduced_to_its_words(title: str, normal: str) -> None:
    assert normalise_title(title) == normal


def test_hyphens_and_blanks_do_not_part_equal_titles() -> None:
    titles = ["Pre-training", "Pre training", "Pretraining", "{P}re--training"]
    assert {title_key(title) for title in titles} == {"pretraining"}


@pytest.mark.parametrize(
    ("tex", "text"),
    [
        ("\\'{\\i}", "í"),
        ('{\\"{o}}', "ö"),
        ("\\c{c}\\v{s}\\H{o}\\k a", "çšőą"),
        ("\\o\\ \\ss{}", "ø ß"),
        ("\\emph{foo} bar \\& 5\\%", "foo bar & 5%"),
        ("a--b---c ``q''", "a–b—c “q”"),
        ("\\href{http://x.org/a_b}{text}", "text"),
        ("\\unheardof{kept}", "kept"),
        ("x_y", "x_y"),
        ("$x_1^2$", "x12"),
        ("a~b", "a b"),
        ("\\", "\\"),
        ("\\'{}", "´"),
    ],
)
def test_latex_becomes_unicode(tex: str, text: str) -> None:
    assert tex_to_unicode(tex) == text


@given(st.text(alphabet="\\{}$`'\"~^_-=cuvHi abcÅ<>&;\n%", max_size=80))
def test_no_markup_makes_the_title_functions_fail(text: str) -> None:
    tex_to_unicode(text)
    normal = normalise_title(text)
    assert normal == " ".join(normal.split())


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("Søgaard", "Sogaard"),
        ("ŁUKASZ", "LUKASZ"),
        ("Đặng", "Dang"),
        ("Ærø", "Aero"),
        ("Weiß", "Weiss"),
        ("Yıldız", "Yildiz"),
        ("Müller", "Müller"),
        ("Kit", "Kit"),
    ],
)
def test_special_letters_are_written_in_plain_ones(word: str, plain: str) -> None:
    assert without_special_letters(word) == plain


def test_c_and_c_plus_plus_and_a_star_are_different_works() -> None:
    for titles in (
        ("Programming in C", "Programming in C++", "Programming in C#", r"Programming in {F\#}"),
        ("A Search", "A* Search"),
    ):
        assert len({normalise_title(title) for title in titles}) == len(titles)
    assert normalise_title("A$^*$ Search") == normalise_title("A* search")
    assert normalise_title(r"The {C}\# Language") == normalise_title("The C# language")
