"""What is shown beside the text: hints, colours, lenses and cards, through the real protocol."""

import asyncio

import pytest
from lsprotocol import types

BIB = """@string{nips = "Advances in Neural Information Processing Systems"}
@article{kipf17,
  author = {Kipf, Thomas N. and Welling, Max}, title = {Gr𝔸phs and {\\"U}bungen}, year = {2017},
}
@inproceedings{vaswani, author = {Vaswani, Ashish}, title = {Attention}, booktitle = nips,
  year = 2017, crossref = {kipf17}}
"""
PAPER = r"""\documentclass{article}
\begin{document}
𝔸𝔸 We follow \cite{kipf17, nobody} and \cite<graph 𝔸 networks>; 𝔸 \citep{vaswani}.
\bibliography{refs}
\end{document}
"""
pytestmark = pytest.mark.asyncio(loop_scope="module")
ENCODINGS = pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])


async def open_both(start_editor, **options):
    editor = await start_editor(files={"refs.bib": BIB, "main.tex": PAPER}, **options)
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    return editor


def document(editor, name):
    return types.TextDocumentIdentifier(editor.uri(name))


def whole(editor, name):
    text = editor.texts[editor.uri(name)]
    return types.Range(types.Position(0, 0), editor.position(text, len(text)))


def place(editor, name, position):
    """The text before a position, on its line."""
    text = editor.texts[editor.uri(name)]
    offset = editor.offset(text, position)
    return text[text.rfind("\n", 0, offset) + 1 : offset]


def words(editor, name, data):
    """The words under semantic tokens."""
    text = editor.texts[editor.uri(name)]
    found, line, column = [], 0, 0
    for at in range(0, len(data), 5):
        line += data[at]
        column = data[at + 1] + (column if not data[at] else 0)
        start = editor.offset(text, types.Position(line, column))
        end = editor.offset(text, types.Position(line, column + data[at + 2]))
        found.append((text[start:end], data[at + 3]))
    return found


@ENCODINGS
async def test_hints_stand_behind_the_keys_in_every_position_encoding(start_editor, encoding):
    editor = await open_both(start_editor, encodings=(encoding,))
    found = await editor.client.text_document_inlay_hint_async(
        types.InlayHintParams(document(editor, "main.tex"), whole(editor, "main.tex"))
    )
    shown = [(place(editor, "main.tex", h.position)[-8:], h.label, h.tooltip) for h in found]
    assert shown == [
        ("e{kipf17", "Kipf and Welling 2017", "Gr𝔸phs and Übungen"),
        ("{vaswani", "Vaswani 2017", "Attention"),
    ]
    assert all(hint.padding_left for hint in found)


@ENCODINGS
async def test_tokens_colour_each_key_by_its_state(start_editor, encoding):
    editor = await open_both(start_editor, encodings=(encoding,))
    client, legend = editor.client, ("defined", "undefined", "placeholder", "unused")
    found = await client.text_document_semantic_tokens_full_async(
        types.SemanticTokensParams(document(editor, "main.tex"))
    )
    shown = [(text, legend[kind]) for text, kind in words(editor, "main.tex", found.data)]
    assert shown == [
        ("kipf17", "defined"),
        ("nobody", "undefined"),
        ("graph 𝔸 networks", "placeholder"),
        ("vaswani", "defined"),
    ]
    part = await client.text_document_semantic_tokens_range_async(
        types.SemanticTokensRangeParams(document(editor, "refs.bib"), whole(editor, "refs.bib"))
    )
    assert words(editor, "refs.bib", part.data) == [("kipf17", 0), ("vaswani", 0)]

    text = editor.texts[editor.uri("main.tex")]
    editor.replace("main.tex", text.index("nobody"), text.index("nobody") + 6, "vaswani")
    delta = await client.text_document_semantic_tokens_full_delta_async(
        types.SemanticTokensDeltaParams(document(editor, "main.tex"), found.result_id)
    )
    assert isinstance(delta, types.SemanticTokensDelta)
    (edit,) = delta.edits
    data = [*found.data]
    data[edit.start : edit.start + edit.delete_count] = edit.data or []
    assert words(editor, "main.tex", data)[1] == ("vaswani", 0)
    lost = await client.text_document_semantic_tokens_full_delta_async(
        types.SemanticTokensDeltaParams(document(editor, "main.tex"), "another")
    )
    assert isinstance(lost, types.SemanticTokens)
    assert list(lost.data) == data


@ENCODINGS
async def test_lenses_count_citations_and_lead_to_them(start_editor, encoding):
    editor = await open_both(start_editor, encodings=(encoding,))
    found = await editor.client.text_document_code_lens_async(
        types.CodeLensParams(document(editor, "refs.bib"))
    )
    cited = [lens for lens in found if lens.command.title.startswith("cited")]
    text = editor.texts[editor.uri("refs.bib")]
    starts = [editor.offset(text, lens.range.start) for lens in cited]
    assert [text[s : s + 6] for s in starts] == ["kipf17", "vaswan"]
    assert [lens.command.title for lens in cited] == ["cited once", "cited once"]
    places = await editor.client.workspace_execute_command_async(
        types.ExecuteCommandParams(cited[1].command.command, cited[1].command.arguments)
    )
    start = places[0]["range"]["start"]
    position = types.Position(start["line"], start["character"])
    assert place(editor, "main.tex", position).endswith("\\citep{")


async def test_a_hover_finds_a_bibitem_and_a_key_of_bibtex_in_another_case(start_editor):
    paper = r"""\documentclass{article}
\begin{document}
\cite{item} \cite{Zuse69} \cite{nobody}
\bibliography{refs}
\begin{thebibliography}{1}
\bibitem{item} It.
\end{thebibliography}
\end{document}
"""
    bib = "@book{zuse69, author = {Zuse, Konrad}, title = {Raum}, year = 1969}\n"
    editor = await start_editor(files={"refs.bib": bib, "main.tex": paper})
    editor.open("main.tex")
    assert await editor.hover("main.tex", "item") == "`\\bibitem{item}` in main.tex:6"
    card = await editor.hover("main.tex", "Zuse69")
    assert card.startswith("Zuse, K. (1969).")
    assert "cited here once: main.tex:3" in card
    assert (await editor.hover("main.tex", "nobody")).startswith("No entry `nobody`")


@ENCODINGS
async def test_a_hover_in_a_bib_shows_the_entry_and_the_one_it_names(start_editor, encoding):
    editor = await open_both(start_editor, encodings=(encoding,))
    card = await editor.hover("refs.bib", "vaswani,")
    assert card.startswith(
        "Vaswani, A. (2017). Attention. In *Advances in Neural Information Processing Systems*."
    )
    assert "`vaswani` in refs.bib · cited here once: main.tex:3" in card
    assert (await editor.hover("refs.bib", "kipf17}}")).startswith("Kipf, T. N., & Welling, M.")
    assert await editor.hover("refs.bib", "Attention") == ""
    assert "Übungen" in await editor.hover("main.tex", "kipf17")


async def test_the_card_has_what_the_library_knows(start_editor):
    bib = "@misc{gat, title = {Graph Attention Networks}, author = {Velickovic, P.}, year = 2018}\n"
    editor = await start_editor(files={"refs.bib": bib})
    editor.open("refs.bib", language="bibtex")
    card = ""
    for _ in range(100):  # the library may still be opening
        card = await editor.hover("refs.bib", "gat")
        if "record:" in card:
            break
    assert "not cited · record:" in card
    assert len(card.split("\n\n")) >= 3


async def test_what_the_check_found_stands_beside_the_entry_above_it_and_in_its_card(start_editor):
    bib = """@inproceedings{gat,
  title = {Graph Attention Networks}, year = 2011,
  author = {Veličković, Petar and Cucurull, Guillem and Casanova, Arantxa and Romero, Adriana
    and Liò, Pietro and Bengio, Yoshua},
}
"""
    editor = await start_editor(files={"refs.bib": bib})
    editor.open("refs.bib", language="bibtex")
    parameters = types.InlayHintParams(document(editor, "refs.bib"), whole(editor, "refs.bib"))
    hints = []
    for _ in range(200):
        hints = await editor.client.text_document_inlay_hint_async(parameters)
        if hints:
            break
        await asyncio.sleep(0.05)
    assert [(h.label, place(editor, "refs.bib", h.position)) for h in hints] == [
        ("⚠ year", "@inproceedings{gat,")
    ]
    lenses = await editor.client.text_document_code_lens_async(
        types.CodeLensParams(document(editor, "refs.bib"))
    )
    assert lenses[0].command.title == "not cited"
    assert lenses[1].command.title.startswith("⚠ wrong detail · ")
    assert "⚠ Wrong detail\n- " in await editor.hover("refs.bib", "gat")


async def test_a_style_that_is_not_there_is_told_once_and_apa_stands_in(start_editor):
    editor = await open_both(start_editor, settings={"hover": {"style": "no-such-style"}})
    assert (await editor.hover("main.tex", "vaswani")).startswith("Vaswani, A. (2017).")
    assert await editor.hover("main.tex", "kipf17")
    assert len([message for message in editor.messages if "no-such-style" in message]) == 1


async def test_an_edit_of_one_file_has_the_others_shown_anew(start_editor):
    def able(capabilities):
        workspace = capabilities.workspace
        workspace.inlay_hint = types.InlayHintWorkspaceClientCapabilities(refresh_support=True)
        workspace.semantic_tokens = types.SemanticTokensWorkspaceClientCapabilities(
            refresh_support=True
        )
        workspace.code_lens = types.CodeLensWorkspaceClientCapabilities(refresh_support=True)

    editor = await open_both(start_editor, capabilities=able)
    requests = []
    for method in ("inlayHint", "semanticTokens", "codeLens"):
        remember(editor.client, method, requests)
    await editor.hover("main.tex", "kipf17")
    text = editor.texts[editor.uri("main.tex")]
    editor.replace("main.tex", text.index("nobody"), text.index("nobody") + 6, "vaswani")
    await editor.wait_for(lambda: set(requests) == {"inlayHint", "semanticTokens", "codeLens"})
    found = await editor.client.text_document_code_lens_async(
        types.CodeLensParams(document(editor, "refs.bib"))
    )
    assert "cited 2 times" in [lens.command.title for lens in found]


def remember(client, method, requests):
    """Have the client note the requests to refresh."""

    @client.feature(f"workspace/{method}/refresh")
    def refresh(params=None) -> None:
        requests.append(method)


async def test_a_document_that_is_not_open_is_answered_with_nothing(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    nothing = document(editor, "refs.bib")
    assert await editor.client.text_document_code_lens_async(types.CodeLensParams(nothing)) is None
    assert (
        await editor.client.text_document_semantic_tokens_full_async(
            types.SemanticTokensParams(nothing)
        )
        is None
    )
