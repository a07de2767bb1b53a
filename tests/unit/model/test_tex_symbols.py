"""The tables of pylatexenc, and what stands beside them."""

from citewell.documents.latex.plaintext import latex_to_text
from citewell.model.tex import tex_to_unicode


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
