from lsprotocol import types

from citewell.lsp.protocol.open_document import OpenDocument
from citewell.lsp.requests.completion import may_complete
from citewell.lsp.requests.hover import plain


def asked(text, marks=()):
    before = text.partition("|")[0]
    document = OpenDocument("file:///a.tex", text.replace("|", ""), 1, "latex", "utf-16")
    position = types.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)
    return may_complete(document, position, marks)


def test_prose_is_not_looked_at_and_everything_that_may_be_a_citation_is():
    assert not asked("plain prose that goes on |")
    assert not asked("\\cite{a}\n\nanother paragraph |")
    assert asked("\\cite<graph |")
    assert asked("[@graph |")
    assert asked("so [?]|")
    assert asked("line one \\cite<graph\nattention|")


def test_an_authors_own_mark_is_known():
    assert not asked("so XXCITE|")
    assert asked("so XXCITE|", ["XXCITE"])


def test_a_card_is_shown_as_plain_text_where_markdown_is_not_understood():
    assert plain("**A\\_b** [doi:1](https://x) `k`") == "A_b doi:1 (https://x) k"
