"""The tables of pylatexenc, and what stands beside them."""

import pytest

from citewell.documents.latex.plaintext import latex_to_text
from citewell.model.tex import tex_to_unicode
from citewell.model.tex_symbols import accented, symbol


@pytest.mark.parametrize(
    ("name", "text"),
    [("ss", "ß"), ("alpha", "α"), ("textasciicircum", "^"), ("quad", " "), ("copyright", "©")],
)
def test_a_macro_prints_its_symbol(name: str, text: str) -> None:
    assert symbol(name) == text


@pytest.mark.parametrize("name", ["emph", "frac", "nobodyknowsthis", "textbf"])
def test_a_macro_with_arguments_or_unknown_prints_no_symbol(name: str) -> None:
    assert symbol(name) is None


@pytest.mark.parametrize(
    ("accent", "letter", "text"),
    [("'", "e", "é"), ("bar", "a", "ā"), ("v", "\\i", "ǐ"), ("h", "o", "ỏ"), ("c", "", "")],
)
def test_an_accent_is_composed_with_its_letter(accent: str, letter: str, text: str) -> None:
    assert accented(accent, letter) == text


def test_values_and_prose_print_the_same_letters_and_prose_keeps_names_of_formulas() -> None:
    both = r"Stra\ss e \o \'{e} \S 3"
    assert tex_to_unicode(both) == latex_to_text(both)
    assert tex_to_unicode(r"a \ldots $\alpha$") == "a …α"
    assert latex_to_text(r"a \ldots{} $\alpha$") == "a ... alpha"
