import asyncio
from types import SimpleNamespace

import pytest
from lsprotocol import types

from citewell.lsp.protocol.open_document import OpenDocument
from citewell.lsp.requests.completion import handlers, may_complete


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


class _Prepared:
    """Records what is prepared and what is dropped, in place of a search."""

    def __init__(self):
        self.calls = []
        self.prepared = SimpleNamespace(stop=lambda: self.calls.append("dropped"))

    async def prepare(self, uri, command):
        self.calls.append(f"{command.start}-{command.end}")


async def typed_after(text, letters):
    """What is prepared and dropped while letters are typed behind a text."""
    document, citing = OpenDocument("file:///a.tex", text, 1, "latex", "utf-16"), _Prepared()
    editor = SimpleNamespace(open_document=lambda uri: document)
    buffers, switches = SimpleNamespace(watchers=[]), SimpleNamespace(is_on=lambda *_, **__: True)
    handlers(editor, buffers, None, engine=None, citing=citing, lists=None, switches=switches)
    for letter in letters:
        at = types.Position(0, len(document.source))
        change = types.TextDocumentContentChangePartial(types.Range(at, at), letter)
        document.apply_change(change)
        for watcher in buffers.watchers:
            watcher("file:///a.tex")
        await asyncio.sleep(0)
    return citing.calls


@pytest.mark.asyncio
async def test_the_list_of_a_place_is_prepared_while_its_command_is_typed():
    assert await typed_after("as \\ci", "te<") == ["3-7", "3-8"]
    assert await typed_after("as \\cit", "ep{") == ["3-8", "3-9"]
    assert await typed_after("as \\text", "cit<") == ["dropped", "dropped", "3-11"]


@pytest.mark.asyncio
async def test_what_was_prepared_is_dropped_when_the_author_types_something_else():
    assert await typed_after("as \\cit", "e, so") == ["3-8", *["dropped"] * 4]
    assert await typed_after("as \\cit", "e<w") == ["3-8", "dropped"]
    assert await typed_after("a \\\\cit", "e") == ["dropped"]
