"""Diagnostics through the protocol: asked for and sent, on real files and a real library."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENCODINGS = pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
Severity = types.DiagnosticSeverity

MAIN = r"""\documentclass{article}
\begin{document}
é神🎉 \cite{kant1781,nobody} and \cite<walking>.
\bibliography{refs}
\end{document}
"""
BIB = """@string{é = {神}}
@book{kant1781, title = {🎉}, author = {Kant, Immanuel}, publisher = {H}, year = 1781}
@misc{🎉alone, title = {Alone}}
@misc{kant1781, title = {Again}}
"""
FILES = {"main.tex": MAIN, "refs.bib": BIB}

REFERENCES = """@inproceedings{right,
  title = {Deep Residual Learning for Image Recognition},
  author = {He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian},
  booktitle = {CVPR},
  year = {2016},
}

@inproceedings{late,
  title = {Semi-Supervised Classification with Graph Convolutional Networks},
  author = {Kipf, Thomas N. and Welling, Max},
  booktitle = {ICLR},
  year = {2012},
}

@inproceedings{invented,
  title = {Neural Machine Translation by Jointly Learning to Align and Translate},
  author = {Miller, Zoe and Stone, Abel and Wood, Carl},
  booktitle = {ICLR},
  year = {2015},
}

@inproceedings{unknown,
  title = {A Long Title That No Paper of This Small Library Bears},
  author = {Cedar, Cy},
  booktitle = {Paths},
  year = {2015},
}
"""
CITING = MAIN.replace("kant1781,nobody", "right,late,invented,unknown").replace(
    r" and \cite<walking>", ""
)


def pulling(capabilities: types.ClientCapabilities) -> None:
    """A client that asks for diagnostics and can be told to ask again."""
    assert capabilities.text_document and capabilities.workspace
    capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
    capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(
        refresh_support=True
    )


async def pull(editor: Any, name: str, previous: str | None = None) -> Any:
    return await editor.client.text_document_diagnostic_async(
        types.DocumentDiagnosticParams(
            text_document=types.TextDocumentIdentifier(editor.uri(name)),
            previous_result_id=previous,
        )
    )


async def pull_workspace(editor: Any, previous: dict[str, str] | None = None) -> dict[str, Any]:
    report = await editor.client.workspace_diagnostic_async(
        types.WorkspaceDiagnosticParams(
            previous_result_ids=[
                types.PreviousResultId(uri=editor.uri(name), value=value)
                for name, value in (previous or {}).items()
            ]
        )
    )
    return {item.uri.rpartition("/")[2]: item for item in report.items}


def shown(editor: Any, name: str, found: Any) -> list[tuple[str, str, int]]:
    """Code, underlined text and severity."""
    text = editor.text(name)
    return [
        (
            one.code,
            text[editor.offset(text, one.range.start) : editor.offset(text, one.range.end)],
            one.severity,
        )
        for one in found
    ]


def sent(editor: Any, name: str) -> list[tuple[str, str, int]]:
    try:
        return shown(editor, name, editor.client.diagnostics.get(editor.uri(name), ()))
    except IndexError:
        return []  # they are of a version that was longer


def codes(editor: Any, name: str) -> list[str]:
    return [code for code, _, _ in sent(editor, name)]


MAIN_FOUND = [
    ("undefined-key", "nobody", Severity.Error),
    ("unresolved-placeholder", r"\cite<walking>", Severity.Warning),
]
BIB_FOUND = [
    ("unused-entry", "🎉alone", Severity.Hint),
    ("bib-duplicate-key", "kant1781", Severity.Error),
]
LINT_ONLY = {"diagnostics": {"verification": "off", "delayMs": 50}}


@ENCODINGS
async def test_a_client_that_cannot_ask_is_sent_what_is_wrong(start_editor, encoding):
    editor = await start_editor(files=FILES, encodings=(encoding,), settings=LINT_ONLY)
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    await editor.wait_for(lambda: sent(editor, "refs.bib") == BIB_FOUND)
    assert sent(editor, "main.tex") == MAIN_FOUND
    hint, error = editor.client.diagnostics[editor.uri("refs.bib")]
    assert list(hint.tags) == [types.DiagnosticTag.Unnecessary]
    assert (error.source, error.tags) == ("citewell", None)
    first = error.related_information[0].location
    assert first.uri == editor.uri("refs.bib")
    assert first.range.start.line == 1
    assert error.code_description.href.endswith("diagnostics.md#bib-duplicate-key")


@ENCODINGS
async def test_a_client_that_asks_is_answered_and_sent_nothing(start_editor, encoding):
    editor = await start_editor(
        files=FILES, encodings=(encoding,), settings=LINT_ONLY, capabilities=pulling
    )
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    full = await pull(editor, "main.tex")
    assert full.kind == "full"
    assert shown(editor, "main.tex", full.items) == MAIN_FOUND
    bib = await pull(editor, "refs.bib")
    assert shown(editor, "refs.bib", bib.items) == BIB_FOUND
    assert (await pull(editor, "main.tex", full.result_id)).kind == "unchanged"
    assert (await pull(editor, "refs.bib", bib.result_id)).kind == "unchanged"
    assert not editor.client.diagnostics


async def test_the_workspace_is_answered_for_files_that_nobody_opened(start_editor):
    files = {**FILES, "notes.md": "---\nbibliography: refs.bib\n---\nAs @noone says.\n"}
    editor = await start_editor(files=files, settings=LINT_ONLY, capabilities=pulling)
    editor.open("main.tex")
    found = await pull_workspace(editor)
    assert set(found) == {"main.tex", "notes.md", "refs.bib"}
    assert shown(editor, "main.tex", found["main.tex"].items) == MAIN_FOUND
    assert found["main.tex"].version == 1
    assert shown(editor, "notes.md", found["notes.md"].items) == [
        ("undefined-key", "noone", Severity.Error)
    ]
    # What is only a hint is not worth a line in the list of all problems.
    assert shown(editor, "refs.bib", found["refs.bib"].items) == [
        ("bib-duplicate-key", "kant1781", Severity.Error)
    ]
    known = {name: item.result_id for name, item in found.items()}
    again = await pull_workspace(editor, known)
    assert {item.kind for item in again.values()} == {"unchanged"}
    editor.write("notes.md", "Nothing is cited.\n")
    editor.client.workspace_did_change_watched_files(
        types.DidChangeWatchedFilesParams(
            [types.FileEvent(editor.uri("notes.md"), types.FileChangeType.Changed)]
        )
    )
    after = await pull_workspace(editor, known)
    assert after["notes.md"].kind == "full"
    assert not after["notes.md"].items
    assert after["main.tex"].kind == "unchanged"


async def test_a_change_in_one_file_makes_the_client_ask_about_the_other(start_editor):
    editor = await start_editor(files=FILES, settings=LINT_ONLY, capabilities=pulling)
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    await pull(editor, "main.tex")
    before = await pull(editor, "refs.bib")
    text = editor.text("main.tex")
    editor.type("main.tex", text.index("nobody"), "🎉alone,")
    await pull(editor, "main.tex")
    await editor.wait_for(lambda: editor.client.diagnostic_refresh_count)
    after = await pull(editor, "refs.bib", before.result_id)
    assert [code for code, _, _ in shown(editor, "refs.bib", after.items)] == ["bib-duplicate-key"]
    # A change that bears on nothing else is no reason to ask.
    count = editor.client.diagnostic_refresh_count
    text = editor.text("main.tex")
    editor.type("main.tex", text.index("and"), "prose ")
    await pull(editor, "main.tex")
    # The next one that does is the next reason.
    text = editor.text("main.tex")
    at = text.index("🎉alone,")
    editor.replace("main.tex", at, at + len("🎉alone,"), "")
    await pull(editor, "main.tex")
    await editor.wait_for(lambda: editor.client.diagnostic_refresh_count > count)
    assert editor.client.diagnostic_refresh_count == count + 1


async def test_a_client_that_is_slow_to_ask_is_not_told_again(start_editor):
    editor = await start_editor(files=FILES, settings=LINT_ONLY, capabilities=pulling)
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    await pull(editor, "main.tex")
    await pull(editor, "refs.bib")
    editor.type("main.tex", editor.text("main.tex").index("nobody"), "🎉alone,")
    await pull(editor, "main.tex")
    await editor.wait_for(lambda: editor.client.diagnostic_refresh_count)
    for word in ("prose ", "more "):
        editor.type("main.tex", editor.text("main.tex").index("and"), word)
        await pull(editor, "main.tex")
        await asyncio.sleep(0.5)
    assert editor.client.diagnostic_refresh_count == 1
    await pull(editor, "refs.bib")
    at = editor.text("main.tex").index("🎉alone,")
    editor.replace("main.tex", at, at + len("🎉alone,"), "")
    await editor.wait_for(lambda: editor.client.diagnostic_refresh_count == 2)


async def test_what_is_sent_follows_the_typing_and_other_files(start_editor):
    editor = await start_editor(files=FILES, settings=LINT_ONLY)
    editor.open("main.tex")
    await editor.wait_for(lambda: sent(editor, "main.tex") == MAIN_FOUND)
    # The .bib is closed: its errors are told, its hints are not.
    await editor.wait_for(lambda: codes(editor, "refs.bib") == ["bib-duplicate-key"])
    at = editor.text("main.tex").index("nobody")
    editor.replace("main.tex", at, at + len("nobody"), "🎉alone")
    await editor.wait_for(lambda: codes(editor, "main.tex") == ["unresolved-placeholder"])
    editor.open("refs.bib", language="bibtex")
    await editor.wait_for(lambda: codes(editor, "refs.bib") == ["bib-duplicate-key"])
    editor.replace("refs.bib", 0, len(editor.text("refs.bib")), "@misc{🎉alone, title = {Alone}}\n")
    await editor.wait_for(lambda: codes(editor, "refs.bib") == [])
    await editor.wait_for(
        lambda: codes(editor, "main.tex") == ["undefined-key", "unresolved-placeholder"]
    )


async def test_a_closed_document_is_taken_back(start_editor):
    editor = await start_editor(files=FILES, settings=LINT_ONLY)
    editor.open("main.tex")
    await editor.wait_for(lambda: sent(editor, "main.tex"))
    editor.leave()
    await editor.wait_for(lambda: not any(editor.client.diagnostics.values()))


async def test_nothing_is_said_before_the_author_pauses(start_editor):
    editor = await start_editor(
        files={"main.tex": MAIN.replace("nobody", "kant1781"), "refs.bib": BIB},
        settings={"diagnostics": {"verification": "off", "delayMs": 700}},
    )
    editor.open("main.tex")
    await editor.wait_for(lambda: codes(editor, "main.tex") == ["unresolved-placeholder"])
    at = editor.text("main.tex").index("kant1781}")
    for letter in "abcdefgh":
        at = await editor.type_slowly("main.tex", at, letter, pause=0.05)
        assert codes(editor, "main.tex") == ["unresolved-placeholder"]
    await editor.wait_for(lambda: "undefined-key" in codes(editor, "main.tex"))


async def test_the_settings_silence_and_raise_codes_and_a_wrong_one_is_told(start_editor):
    severity = {"undefined-key": "hint", "unresolved": "off", "unusd-entry": "off"}
    editor = await start_editor(
        files=FILES, settings={"diagnostics": {**LINT_ONLY["diagnostics"], "severity": severity}}
    )
    editor.open("main.tex")
    await editor.wait_for(
        lambda: sent(editor, "main.tex") == [("undefined-key", "nobody", Severity.Hint)]
    )
    await editor.wait_for(lambda: any("unusd-entry" in message for message in editor.messages))
    assert any('Did you mean "unused-entry"?' in message for message in editor.messages)


# -- is it real, and right? ------------------------------------------------------------------------

QUICK = {"diagnostics": {"delayMs": 50, "severity": {"type-differs": "off"}}}
FOUND = [
    ("year-differs", "{2012}", Severity.Warning),
    ("author-unrelated", "{Miller, Zoe and Stone, Abel and Wood, Carl}", Severity.Error),
    ("reference-not-found", "unknown", Severity.Hint),
]


async def test_wrong_and_invented_references_are_underlined_on_their_field(start_editor):
    editor = await start_editor(files={"main.tex": CITING, "refs.bib": REFERENCES}, settings=QUICK)
    editor.open("refs.bib", language="bibtex")
    await editor.wait_for(lambda: sent(editor, "refs.bib") == FOUND, 30)
    late, invented, unknown = editor.client.diagnostics[editor.uri("refs.bib")]
    assert late.message.startswith("late (“Semi-Supervised Classification with Graph…”): ")
    assert "The work is from 2017, not from 2012. Source: fixture." in late.message
    assert "(90% sure)\n" in late.message
    assert "Semi-Supervised Classification with Graph Convolutional Networks" in late.message
    assert " is likely fabricated: None of the authors given is" in invented.message
    assert "Dzmitry Bahdanau" in invented.message
    assert "No record with this title was found in: library." in unknown.message
    assert late.code_description.href.endswith("diagnostics.md#year-differs")
    # A correction is looked up anew, and nothing else is.
    text = editor.text("refs.bib")
    at = text.index("2012")
    editor.replace("refs.bib", at, at + 4, "2017")
    await editor.wait_for(lambda: sent(editor, "refs.bib") == FOUND[1:], 30)


async def test_an_entry_in_doubt_is_replaced_marked_or_removed(start_editor):
    files = {"main.tex": CITING, "refs.bib": REFERENCES}
    editor = await start_editor(files=files, settings=QUICK)
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    await editor.wait_for(lambda: sent(editor, "refs.bib") == FOUND, 30)
    titles = [one.title for one in await editor.actions("refs.bib", "unknown,")]
    assert any(title.startswith("Replace by ") for title in titles)
    assert "Remove `unknown` and leave its citation open" in titles
    assert "Mark `unknown` as checked" in titles
    invented = await editor.actions("refs.bib", "invented,")
    assert [one.title for one in invented if "invented" in one.title] == [
        "Remove `invented` and leave its citation open", "Mark `invented` as checked",
    ]  # fmt: skip

    # Marked: nothing is reported of it any more, and the file says who checked it.
    await editor.act(next(one for one in invented if one.title.startswith("Mark")))
    marked = editor.text("refs.bib")
    assert re.search(
        r"\n% citewell: ignore [a-z, -]+: checked \d{4}-\d\d-\d\d against \S+\n@inproceedings"
        r"\{invented,", marked
    )  # fmt: skip
    await editor.wait_for(lambda: sent(editor, "refs.bib") == [FOUND[0], FOUND[2]], 30)
    listed = await editor.execute("citewell.documentReferences", editor.uri("refs.bib"))
    (shown,) = [one for one in listed["references"] if one["key"] == "invented"]
    assert (shown["state"], shown["words"]) == ("marked", "marked as checked")
    (problem,) = shown["problems"]
    assert re.match(
        r"likely fabricated, marked as checked on \d{4}-\d\d-\d\d against", problem["message"]
    )
    assert listed["references"][-1] != listed["references"][0]["key"] == "late"
    again = await editor.actions("refs.bib", "invented,")
    assert not any(one.title.startswith(("Mark", "Remove")) for one in again)

    # Removed: its citation is open.
    actions = await editor.actions("refs.bib", "unknown,")
    edit = await editor.act(next(one for one in actions if one.title.startswith("Remove")))
    assert len(edit.document_changes) == 2
    assert "{unknown," not in editor.text("refs.bib")
    assert "right,late,invented,?" in editor.text("main.tex")

    # Replaced: the key stays, all else is of the record.
    actions = await editor.actions("refs.bib", "late,")
    assert not any(one.title.startswith(("Replace by", "Remove")) for one in actions)


def striking(capabilities: types.ClientCapabilities) -> None:
    """A client that strikes out items of a list, and shows words at their end."""
    assert capabilities.text_document
    capabilities.text_document.completion = types.CompletionClientCapabilities(
        completion_item=types.ClientCompletionItemOptions(
            label_details_support=True,
            documentation_format=[types.MarkupKind.Markdown],
            tag_support=types.CompletionItemTagOptions([types.CompletionItemTag.Deprecated]),
        )
    )


@pytest.mark.parametrize("capabilities", [striking, None])
async def test_an_invented_entry_is_marked_in_the_list_and_a_real_paper_stands_before_it(
    start_editor, capabilities
):
    words = r"\cite<neural machine translation by jointly learning to align and translate>"
    files = {"main.tex": MAIN.replace(r"\cite<walking>", words), "refs.bib": REFERENCES}
    options = {} if capabilities is None else {"capabilities": capabilities}
    editor = await start_editor(files=files, settings=QUICK, **options)
    editor.open("refs.bib", language="bibtex")
    await editor.wait_for(lambda: FOUND[1] in sent(editor, "refs.bib"), 60)
    editor.open("main.tex")
    at = editor.text("main.tex").index(words) + len(words)
    items = await editor.complete("main.tex", at)
    assert items[0].label != "invented" and items[0].detail.startswith("Neural Machine")
    (marked,) = [item for item in items if item.label == "invented"]
    assert marked is items[-1]
    assert marked.detail.startswith("✗ likely fabricated: Neural")
    if capabilities is not None:
        assert list(marked.tags) == [types.CompletionItemTag.Deprecated]
        assert marked.label_details.description == "✗ likely fabricated"
    assert not any(item.tags for item in items[:-1])
    card = await editor.client.completion_item_resolve_async(marked)
    assert "Likely fabricated" in card.documentation.value
    actions = [one.title for one in await editor.actions("main.tex", words) if "Cite " in one.title]
    assert "✗" not in actions[0] and actions[0].startswith("Cite ")


@pytest.mark.parametrize("asks", [True, False], ids=["asked", "sent"])
async def test_an_invented_reference_is_marked_where_it_is_cited(start_editor, asks):
    options = {"capabilities": pulling} if asks else {}
    editor = await start_editor(
        files={"main.tex": CITING, "refs.bib": REFERENCES}, settings=QUICK, **options
    )
    editor.open("main.tex")
    if asks:
        before = await pull(editor, "main.tex")
        if "reference-fabricated" not in [one.code for one in before.items]:
            await editor.wait_for(lambda: editor.client.diagnostic_refresh_count, 30)
        items = (await pull(editor, "main.tex")).items
    else:
        await editor.wait_for(lambda: "reference-fabricated" in codes(editor, "main.tex"), 30)
        items = editor.client.diagnostics[editor.uri("main.tex")]
    (mark,) = [one for one in items if one.code == "reference-fabricated"]
    assert shown(editor, "main.tex", [mark]) == [
        ("reference-fabricated", "invented", Severity.Error)
    ]
    assert mark.message.startswith("invented (“Neural Machine Translation by Jointly Learning")
    (entry,) = mark.related_information
    assert entry.location.uri == editor.uri("refs.bib")
    # When the entry is put right, the mark is gone.
    editor.open("refs.bib", language="bibtex")
    text = editor.text("refs.bib")
    names = "Miller, Zoe and Stone, Abel and Wood, Carl"
    right = "Bahdanau, Dzmitry and Cho, Kyunghyun and Bengio, Yoshua"
    editor.replace("refs.bib", text.index(names), text.index(names) + len(names), right)
    for _ in range(100):
        if asks:
            items = (await pull(editor, "main.tex")).items
        else:
            items = editor.client.diagnostics[editor.uri("main.tex")]
        if "reference-fabricated" not in [one.code for one in items]:
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the mark stays")


async def test_what_an_open_paper_cites_is_looked_up_in_a_closed_bib(start_editor):
    cited = CITING.replace("right,late,invented,unknown", "right,late")
    editor = await start_editor(files={"main.tex": cited, "refs.bib": REFERENCES}, settings=QUICK)
    editor.open("main.tex")
    await editor.wait_for(lambda: sent(editor, "refs.bib") == FOUND[:1], 30)


async def test_a_bib_that_is_opened_again_is_known_from_disk(start_editor):
    files = {"main.tex": CITING, "refs.bib": REFERENCES}
    first = await start_editor(files=files, settings=QUICK)
    first.open("refs.bib", language="bibtex")
    await first.wait_for(lambda: sent(first, "refs.bib") == FOUND, 30)
    await first.end()
    # Marked on disk: a second check would not have this sentence.
    with closing(sqlite3.connect(Path(os.environ["CITEWELL_CACHE"]) / "checks.sqlite")) as database:
        rows = database.execute("SELECT world, digest, value FROM checks").fetchall()
        marked = [(v.replace(b"The work is from", b"The disk is from"), w, d) for w, d, v in rows]
        database.executemany("UPDATE checks SET value = ? WHERE world = ? AND digest = ?", marked)
        database.commit()
    second = await start_editor(settings=QUICK)
    second.open("refs.bib", language="bibtex")
    await second.wait_for(lambda: len(sent(second, "refs.bib")) == len(FOUND), 30)
    late = second.client.diagnostics[second.uri("refs.bib")][0]
    assert "The disk is from 2017" in late.message


async def test_without_a_library_nothing_is_accused_and_the_lint_works(start_editor, tmp_path):
    editor = await start_editor(
        files={**FILES, "refs.bib": BIB + REFERENCES},
        library=tmp_path / "none",
        settings={"diagnostics": {"delayMs": 50, "severity": {"unused-entry": "off"}}},
    )
    editor.open("refs.bib", language="bibtex")
    await editor.wait_for(lambda: codes(editor, "refs.bib") == ["bib-duplicate-key"])
    await editor.execute("citewell.check", editor.uri("refs.bib"))
    assert codes(editor, "refs.bib") == ["bib-duplicate-key"]


async def test_a_long_check_shows_progress_and_ends_when_the_author_says_so(start_editor):
    entries = 20_000  # a second of a fast machine checks six thousand
    many = "".join(
        f"@article{{k{n}, title = {{Walk number {n} of {n * 7919} through attention networks}}, "
        f"author = {{Ash, A{n}.}}, journal = {{Paths}}, year = {{2001}}}}\n"
        for n in range(entries)
    )
    editor = await start_editor(files={"refs.bib": many}, settings={"diagnostics": {"delayMs": 50}})
    editor.open("refs.bib", language="bibtex")
    reports = editor.client.progress_reports

    def published(kind: type) -> list[tuple[Any, Any]]:
        # The library may take its second to open, which is shown too.
        checks = [(t, values) for t, values in reports.items() if "check" in str(t)]
        return [(t, v) for t, values in checks for v in values if isinstance(v, kind)]

    await editor.wait_for(lambda: published(types.WorkDoneProgressReport), 60)
    token, begin = published(types.WorkDoneProgressBegin)[0]
    assert begin.title == "Citewell: checking references"
    assert begin.cancellable
    editor.client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token=token))
    await editor.wait_for(lambda: published(types.WorkDoneProgressEnd), 20)
    await editor.come_to_rest()
    found = len(editor.client.diagnostics[editor.uri("refs.bib")])
    assert found < entries, "the check went on"


@ENCODINGS
async def test_a_wrong_detail_is_corrected_and_its_diagnostic_goes(start_editor, encoding):
    text = "% 🎉 神\n" + REFERENCES
    editor = await start_editor(
        files={"main.tex": CITING, "refs.bib": text}, settings=QUICK, encodings=(encoding,)
    )
    editor.open("refs.bib", language="bibtex")
    await editor.wait_for(lambda: sent(editor, "refs.bib") == FOUND, 30)
    late = list(editor.client.diagnostics[editor.uri("refs.bib")])[:1]
    actions = await editor.actions("refs.bib", "{2012}", diagnostics=late)
    first = actions[0]
    assert first.title == "Use the record's year: 2017"
    assert first.is_preferred
    assert [one.code for one in first.diagnostics] == ["year-differs"]
    await editor.act(first)
    assert editor.text("refs.bib") == text.replace("{2012}", "{2017}")
    await editor.wait_for(lambda: sent(editor, "refs.bib") == FOUND[1:], 30)
