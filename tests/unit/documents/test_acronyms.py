"""Acronyms are written out with the words that the document gives for them, or not at all."""

import pytest

from citewell.documents.context import long_forms, query_for, written_out
from citewell.documents.project.files import scan_document


@pytest.mark.parametrize(
    ("text", "name", "long"),
    [
        ("We study graph attention networks (GATs) here.", "GAT", "graph attention networks"),
        ("Our model is a graph attention network (GAT).", "GATs", "graph attention network"),
        ("\\emph{Named entity recognition} (NER) is", "NER", "Named entity recognition"),
        ("the Bidirectional Encoder Representations from Transformers (BERT)", "BERT",
         "Bidirectional Encoder Representations from Transformers"),
        ("a long short-term memory (LSTM) network", "LSTM", "long short-term memory"),
    ],
)  # fmt: skip
def test_the_long_form_stands_before_the_bracket(text: str, name: str, long: str) -> None:
    assert written_out(text, (name,)) == ((name, long),)


@pytest.mark.parametrize(
    "text",
    [
        "The model (GAT) is small.",
        "Graphs. Attention is all. The (GAT) wins.",
        "GAT is used.",
        "(GAT)",
        "We use GAT (graph attention network).",
    ],
)
def test_what_is_not_written_out_has_no_long_form(text: str) -> None:
    assert written_out(text, ("GAT",)) == ()


def test_a_placeholder_knows_the_acronyms_of_its_sentence() -> None:
    document = scan_document(
        "a.tex",
        "\\begin{document}We propose graph attention networks (GATs).\n\n"
        "Others extend GATs \\cite{?}. NER is open.\\end{document}",
    )
    query = query_for(document, document.placeholders[0])
    assert query.acronyms == (("GATs", "graph attention networks"),)


@pytest.mark.parametrize(
    ("text", "name", "long"),
    [
        ("They take contextualized word vectors as inputs", "CoVe", "contextualized word vectors"),
        ("Workers of Amazon Mechanical Turk label pairs", "AMT", "Amazon Mechanical Turk"),
        ("We use named entities", "AMT", ""),
    ],
)
def test_the_words_of_an_acronym_are_found_without_brackets(
    text: str, name: str, long: str
) -> None:
    assert long in long_forms(text, name) or not (long or long_forms(text, name))
