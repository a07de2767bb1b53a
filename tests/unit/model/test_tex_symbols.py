"""The tables of pylatexenc, and what stands beside them."""

import pytest

from citewell.documents.latex.plaintext import latex_to_text
from citewell.model.tex import accented, symbol, tex_to_unicode


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


def test_commands_whose_argument_is_no_text_print_nothing() -> None:
    text = (
        r"\texorpdfstring{$\alpha$}{alpha} Rank\thanks{Supported {by} us} of \vphantom{j}Graphs"
        r"\index{graph!rank}\natexlab{b}\footnote{See \textbf{there}.} in \bibstring{in}Time"
    )
    assert tex_to_unicode(text) == "alpha Rank of Graphs in Time"
    assert latex_to_text(text) == "alpha Rank of Graphs in Time"
