"""Sources in the editor: asked about once, asked for only then, and never waited for."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

BIB = """@inproceedings{devlin,
  title = {BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding},
  author = {Jacob Devlin and Ming-Wei Chang and Kenton Lee and Kristina Toutanova},
  year = 2011, booktitle = {NAACL}, doi = {10.18653/v1/N19-1423}}
"""
MAIN = r"""\documentclass{article}
\begin{document}
We use \cite{devlin}. Kettles wait \cite<patience of kettles>.
\bibliography{refs}
\end{document}
"""
CHECK = "citewell.checkOnline"


class Answers:
    """An author who answers questions, and what they were asked."""

    def __init__(self, editor: Any, answer: str) -> None:
        self.requests: list[types.ShowMessageRequestParams] = []

        @editor.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)
        def ask(params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
            self.requests.append(params)
            return types.MessageActionItem(title=answer) if answer else None


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_sources: Any) -> Path:
    """A user's settings file with comments, which leads all requests to the fake."""
    path = tmp_path / "user" / "config.toml"
    path.parent.mkdir()
    path.write_bytes(
        b"# mine\r\n[bib]\r\nkey_pattern = \"{author}{year}\"  # short\r\n\r\n[sources]\r\n"
        b"timeout_s = 5.0 # patience\r\nbase_url = \"%s\"\r\n" % fake_sources.url.encode()
    )  # fmt: skip
    monkeypatch.setenv("CITEWELL_CONFIG", str(path))
    monkeypatch.setenv("CITEWELL_CACHE", str(tmp_path / "cache"))
    return path


async def command(editor: Any, name: str, *arguments: Any) -> Any:
    return await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(command=name, arguments=list(arguments))
    )


async def test_the_author_is_asked_once_what_may_be_sent_and_yes_is_written_down(
    start_editor: Any, user_file: Path, fake_sources: Any
) -> None:
    editor = await start_editor(files={"refs.bib": BIB, "main.tex": MAIN}, alone=True)
    author = Answers(editor, "Allow")
    editor.open("refs.bib", language="bibtex")
    result = await command(editor, CHECK, editor.uri("refs.bib"))
    (question,) = author.requests
    assert "api.crossref.org" in question.message and "Never sent" in question.message
    assert [action.title for action in question.actions or ()] == ["Allow", "Not now", "Never"]
    assert result["checked"] == 1
    assert result["verdicts"] == {"wrong-detail": 1}
    text = user_file.read_bytes()
    assert b'allow = ["crossref", "arxiv", "dblp", "datacite", "doi"]' in text
    for kept in (b"# mine\r\n", b'key_pattern = "{author}{year}"  # short\r\n', b"# patience\r\n"):
        assert kept in text
    assert text.count(b"\n") == text.count(b"\r\n")
    await command(editor, CHECK, editor.uri("refs.bib"))
    assert len(author.requests) == 1
    assert {one.source for one in fake_sources.log} <= {
        "crossref",
        "arxiv",
        "dblp",
        "datacite",
        "doi",
    }


async def test_what_the_sources_say_is_underlined(
    start_editor: Any, user_file: Path, fake_sources: Any
) -> None:
    editor = await start_editor(files={"refs.bib": BIB, "main.tex": MAIN}, alone=True)
    Answers(editor, "Allow")
    editor.open("refs.bib", language="bibtex")
    await command(editor, CHECK, editor.uri("refs.bib"))
    uri = editor.uri("refs.bib")

    def codes() -> set[str]:
        return {str(item.code) for item in editor.client.diagnostics.get(uri, ())}

    await editor.wait_for(lambda: "year-differs" in codes())
    assert "reference-not-found" not in codes()


@pytest.mark.parametrize("answer", ["Not now", "Never", ""])
async def test_without_a_yes_nothing_is_sent(
    answer: str, start_editor: Any, user_file: Path, fake_sources: Any
) -> None:
    before = user_file.read_bytes()
    editor = await start_editor(files={"refs.bib": BIB, "main.tex": MAIN}, alone=True)
    author = Answers(editor, answer)
    editor.open("refs.bib", language="bibtex")
    editor.open("main.tex")
    for _ in range(2):
        assert (await command(editor, CHECK, editor.uri("refs.bib")))["checked"] == 0
    await editor.complete("main.tex", MAIN.index("kettles>") + 7)
    assert len(author.requests) == 1
    assert any("nothing was sent" in message for message in editor.messages)
    if answer == "Never":
        assert b"ask = false" in user_file.read_bytes()
    else:
        assert user_file.read_bytes() == before
    # By the time that a later search is sent, for an author who allows it, this one would have been.
    user_file.write_bytes(before + b'allow = ["openreview"]\r\n')
    later = await start_editor(files={"main.tex": MAIN.replace("kettles", "cups")}, alone=True)
    later.open("main.tex")
    await later.complete("main.tex", MAIN.index("kettles>") + len("cups"))
    await later.wait_for(lambda: fake_sources.log)
    assert all("kettles" not in one.target.lower() for one in fake_sources.log)
    assert {dict(one.params).get("term") for one in fake_sources.log} == {"patience of cups"}


async def test_a_slow_source_joins_a_later_list_and_its_paper_can_be_inserted(
    start_editor: Any, user_file: Path, fake_sources: Any
) -> None:
    with user_file.open("ab") as stream:
        stream.write(b'allow = ["openreview"]\r\n')
    fake_sources.delay = 4.0
    editor = await start_editor(files={"refs.bib": "", "main.tex": MAIN}, alone=True)
    editor.open("main.tex")
    at = MAIN.index("kettles>") + 7
    await editor.complete("main.tex", at)  # warm
    fake_sources.log.clear()
    begin = time.monotonic()
    first = await editor.complete("main.tex", at)
    assert time.monotonic() - begin < 3.8
    assert not any("Patience of Kettles" in str(item.detail) for item in first)
    await editor.wait_for(lambda: fake_sources.of("openreview"))
    assert dict(fake_sources.log[0].params)["term"] == "patience of kettles"
    for _ in range(300):
        await asyncio.sleep(0.1)
        items = await editor.complete("main.tex", at)
        found = [item for item in items if "Patience of Kettles" in str(item.detail)]
        if found:
            break
    assert found, "the late answer never joined the list"
    assert len(fake_sources.of("openreview")) == 1
    shown = await editor.client.completion_item_resolve_async(found[0])
    assert "openreview" in str(shown.documentation)
    await editor.accept("main.tex", found[0])
    await editor.wait_for(lambda: "Patience of Kettles" in editor.text("refs.bib"))


async def test_the_sentence_is_never_sent_and_letters_are_not_sent_one_by_one(
    start_editor: Any, user_file: Path, fake_sources: Any
) -> None:
    with user_file.open("ab") as stream:
        stream.write(b'allow = ["all"]\r\n')
    text = MAIN.replace("patience of kettles", "")
    editor = await start_editor(files={"refs.bib": "", "main.tex": text}, alone=True)
    editor.open("main.tex")
    at = text.index("cite<>") + 5
    await editor.complete("main.tex", at)
    for letter in "patience of kettles":
        at = editor.type("main.tex", at, letter)
        await editor.complete("main.tex", at)

    def terms() -> list[str | None]:
        return [dict(one.params).get("term") for one in fake_sources.of("openreview")]

    await editor.wait_for(lambda: "patience of kettles" in terms())
    sent = terms()
    assert len(sent) <= 4, "typing sent its letters"
    for one in fake_sources.log:
        assert "Kettles wait" not in one.target and "warm up" not in one.target
