from lsprotocol import types

from citewell.lsp.protocol.open_document import OpenDocument
from citewell.lsp.requests.completion import may_complete
from citewell.lsp.requests.hover import plain


def context_of(text, marks=()):
    before = text.partition("|")[0]
    document = OpenDocument("file:///a.tex", text.replace("|", ""), 1, "latex", "utf-16")
    position = types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)
    return may_complete(document, position, marks)


def test_prose_is_not_looked_at_and_everything_that_may_be_a_citation_is():
    assert not context_of("plain prose that goes on |")
    assert not context_of("\\cite{a}\n\nanother paragraph |")
    assert context_of("\\cite<graph |")
    assert context_of("[@graph |")
    assert context_of("so [?]|")
    assert context_of("line one \\cite<graph\nattention|")


def test_an_authors_own_mark_is_known():
    assert not context_of("so XXCITE|")
    assert context_of("so XXCITE|", ["XXCITE"])


def test_a_card_is_shown_as_plain_text_where_markdown_is_not_understood():
    assert plain("**A\\_b** [doi:1](https://x) `k`") == "A_b doi:1 (https://x) k"
