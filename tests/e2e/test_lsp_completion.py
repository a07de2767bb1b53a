"""Completion over the real protocol: papers for placeholders, keys for citations."""

import re

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = (
    "\\documentclass{article}\n\\title{Translation with graphs}\n\\begin{document}\n"
    "Früher: 😋 we build on CITE and go on.\n"
    "\\bibliographystyle{plain}\n\\bibliography{refs}\n\\end{document}\n"
)
BIB = """@article{hochreiter97,
  author  = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  title   = {Long Short-Term Memory},
  journal = {Neural Computation},
  year    = {1997},
  doi     = {10.1162/NECO.1997.9.8.1735},
}

@inproceedings{adams2001sparse,
  author = {Adams, Ada},
  title  = {Sparse Alignment of Parallel Corpora},
  year   = {2001},
}
"""


def paper(citation: str) -> str:
    return PAPER.replace("CITE", citation)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_a_placeholder_is_completed_with_real_papers_in_every_position_encoding(
    start_editor, encoding
):
    editor = await start_editor(encodings=(encoding,), files={"refs.bib": BIB})
    assert editor.encoding == encoding
    editor.open("main.tex", paper(r"\cite<graph attention>|"))
    found = await editor.complete_list("main.tex", trigger=">")
    assert found.is_incomplete
    first = found.items[0]
    assert first.detail == "Graph Attention Networks"
    assert first.label == "Veličković et al. 2018 · Graph Attentio…"
    assert first.label_details.description == "ICLR"
    assert first.kind == types.CompletionItemKind.Reference
    text = editor.texts[editor.uri("main.tex")]
    for rank, item in enumerate(found.items):
        edit = item.text_edit
        start = editor.offset(text, edit.range.start)
        end = editor.offset(text, edit.range.end)
        assert text[start:end] == "<graph attention>"
        assert item.filter_text.startswith("<graph attention> ")
        assert item.sort_text == f"{rank:05d}"
        assert not item.commit_characters
        assert not item.additional_text_edits
        assert " " not in edit.new_text
    resolved = await editor.client.completion_item_resolve_async(first)
    assert resolved.text_edit == first.text_edit
    assert "Veličković" in resolved.documentation.value
    await editor.accept("main.tex", resolved)
    assert editor.text("main.tex") == paper(r"\cite{velickovic2018graph}")
    entry = editor.text("refs.bib").removeprefix(BIB)
    assert "@inproceedings{velickovic2018graph," in entry
    assert "Graph Attention Networks" in entry


async def test_every_letter_typed_gives_a_list_that_passes_a_filter_on_the_typed_text(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    text = paper("")
    editor.open("main.tex", text)
    at = text.index("on  and go") + 3
    shown = 0
    for letter in r"\cite<neural machine translation>":
        at = editor.type("main.tex", at, letter)
        found = await editor.complete_list("main.tex", at)
        now = editor.texts[editor.uri("main.tex")]
        if found is None:
            assert not now[:at].endswith("\\cite<n"[:2]) or letter in "\\cite"
            continue
        for item in found.items:
            start = editor.offset(now, item.text_edit.range.start)
            assert item.filter_text.startswith(now[start:at])
            assert now[start] == "<"
            assert editor.offset(now, item.text_edit.range.end) == at
        shown += 1
    assert shown >= len("neural machine translation>")
    assert "Neural Machine Translation" in found.items[0].detail
    await editor.accept("main.tex", found.items[0])
    assert f"\\cite{{{found.items[0].command.arguments[0]['key']}}} and go on" in editor.text(
        "main.tex"
    )


def blink_matches(text: str, cursor: int, item: types.CompletionItem) -> tuple[int, ...] | None:
    """The places in the `filterText` that blink.cmp matches, by its Lua implementation: each letter of the
    keyword before the cursor (letters, digits, `_` and `-`, without leading `-`), in either case, at
    its next place; None where one is missing. Places that are alike have the same score."""
    keyword = re.search(r"[\w-]*\Z", text[:cursor])[0].lstrip("-").lower()
    found: list[int] = []
    for letter in keyword:
        at = item.filter_text.lower().find(letter, found[-1] + 1 if found else 0)
        if at < 0:
            return None
        found.append(at)
    return tuple(found)


def cmp_matches(text: str, cursor: int, item: types.CompletionItem, start: int) -> bool:
    """Whether nvim-cmp keeps an item: the text from the item's edit to the cursor begins its
    `filterText`, or what it lacks of that stands, letter by letter, behind the part that does."""
    typed, words = text[start:cursor].lower(), item.filter_text.lower()
    same = next((n for n in range(len(typed), 0, -1) if words.startswith(typed[:n])), 0)
    rest = iter(words[same:])
    return same > 0 and all(letter in rest for letter in typed[same:])


@pytest.mark.parametrize("typed", ["velickovic graph atten", "kipf", "bahdanau neural"])
@pytest.mark.parametrize(("opened", "closed"), [(r"\cite<", ">"), (r"\cite{", "}"), ("[@", "]")])
async def test_a_list_of_a_plugin_stays_from_letter_to_letter(start_editor, typed, opened, closed):
    """blink.cmp and nvim-cmp filter the list that they show by the next letter, and close it where
    nothing matches; a fresh list is filtered, too, and ordered by `sortText` where scores are equal."""
    name = "main.md" if opened == "[@" else "main.tex"
    editor = await start_editor(files={"refs.bib": BIB})
    text = paper(opened + closed) if name == "main.tex" else f"We build on {opened}{closed}.\n"
    editor.open(name, text)
    at = text.index(opened) + len(opened)
    shown: list[types.CompletionItem] = []
    for letter in typed:
        at = editor.type(name, at, letter)
        now = editor.texts[editor.uri(name)]
        if shown:
            start = editor.offset(now, shown[0].text_edit.range.start)
            assert any(blink_matches(now, at, item) is not None for item in shown), now[start:at]
            assert any(cmp_matches(now, at, item, start) for item in shown), now[start:at]
        found = await editor.complete_list(name, at)
        shown = list(found.items) if found else []
        if len(now[:at].rsplit(opened, 1)[1]) > 3:
            assert shown, now[:at][-40:]
        assert len({blink_matches(now, at, item) for item in shown}) <= 1
        assert all(
            cmp_matches(now, at, item, editor.offset(now, item.text_edit.range.start))
            for item in shown
        )


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("bahd|", "Neural Machine Translation by Jointly Learning"),
        (r"Veli\v{c}|", "Graph Attention Networks"),
        ("attention is all you nee|", "Attention Is All You Need"),
        ("velič|", "Graph Attention Networks"),
        ("bahd|anau", "Neural Machine Translation by Jointly Learning"),
    ],
)
async def test_half_a_word_lists_what_the_whole_one_would(start_editor, typed, title):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", paper(rf"translation \cite<{typed}>"))
    items = await editor.complete("main.tex")
    assert title in items[0].detail
    await editor.accept("main.tex", items[0])
    assert f"\\cite{{{items[0].command.arguments[0]['key']}}}" in editor.text("main.tex")


@pytest.mark.parametrize(
    "typed", [r"\cite{vaswani17|}", r"\cite<vaswani17|>", r"\cite{He2016dee|}"]
)
async def test_a_key_from_memory_lists_its_paper_first(start_editor, typed):
    editor = await start_editor(files={"refs.bib": ""})
    editor.open("main.tex", paper(f"We build on it {typed}"))
    items = await editor.complete("main.tex")
    assert editor.key(items[0]) in ("vaswani2017attention", "he2016deep")


async def test_an_editor_that_replaces_up_to_the_cursor_only_leaves_nothing_behind(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", paper(r"\cite<graph attention|>"))
    items = await editor.complete("main.tex")
    text = editor.texts[editor.uri("main.tex")]
    cursor = editor.position(text, text.index("attention>") + len("attention"))
    await editor.accept("main.tex", items[0], end=cursor)
    assert editor.text("main.tex") == paper(r"\cite{velickovic2018graph}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("as [@graph attention networks|] show", "as [@velickovic2018graph] show"),
        ("as [@?graph attention networks|] show", "as [@velickovic2018graph] show"),
        ("as [@?graph attention networks]| show", "as [@velickovic2018graph] show"),
        ("as [CITE: graph attention networks]| show", "as [@velickovic2018graph] show"),
        ("as \\cite<graph attention networks>| show", "as \\cite{velickovic2018graph} show"),
    ],
)
async def test_markdown_placeholders_are_completed_alike(start_editor, before, after):
    head = "---\ntitle: T\nbibliography: refs.bib\n---\n\n"
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("paper.md", head + before + "\n", language="markdown")
    items = await editor.complete("paper.md")
    assert items[0].detail == "Graph Attention Networks"
    await editor.accept("paper.md", items[0])
    assert editor.text("paper.md") == head + after + "\n"
    assert "velickovic2018graph" in editor.text("refs.bib")


@pytest.mark.parametrize(
    "text",
    [
        "plain prose |",
        "a word| of prose",
        r"\section{Intro |duction}",
        r"as \cite{hochreiter97} |",
        r"% \cite<graph attention>|",
        r"\begin{verbatim}\cite<graph attention>|\end{verbatim}",
        r"[1]| and (x)",
        r"\cite<see>[p.~5]{hochreiter97} |",
    ],
)
async def test_the_answer_is_null_where_nothing_is_to_be_cited(start_editor, text):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", paper(text))
    assert await editor.complete_list("main.tex", trigger=" ") is None


async def test_the_list_prepared_for_a_typed_command_is_that_of_its_place(start_editor):
    editor = await start_editor(files={"refs.bib": ""})
    squad = "the reading comprehension data set of Wikipedia questions "
    editor.open("main.tex", paper(squad + "\\cite<|"))
    opened = await editor.complete("main.tex", trigger="<")
    assert "SQuAD" in opened[0].detail
    text = paper(squad)
    editor.open("typed.tex", text)
    at = text.index(squad) + len(squad)
    at = await editor.type_slowly("typed.tex", at, "\\cite")
    # The author takes it back, writes of something else and begins again.
    editor.replace("typed.tex", text.index(squad), at, "graph attention networks ")
    at = text.index(squad) + len("graph attention networks ")
    at = editor.type("typed.tex", at, "\\cite<")
    other = await editor.complete("typed.tex", at, trigger="<")
    assert "SQuAD" not in other[0].detail
    editor.replace("typed.tex", text.index(squad), at, squad)
    at = await editor.type_slowly("typed.tex", text.index(squad) + len(squad), "\\cite<")
    typed = await editor.complete("typed.tex", at, trigger="<")
    assert [item.label for item in typed] == [item.label for item in opened]


async def test_an_edit_of_the_open_bib_is_seen_at_once(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", paper(r"\cite{zuse|}"))
    editor.open("refs.bib", language="bibtex")
    end = len(editor.text("refs.bib"))
    editor.replace(
        "refs.bib", end, end, "\n@book{zuse1969, title={Rechnender Raum}, author={Zuse, Konrad}}\n"
    )
    items = await editor.complete("main.tex")
    assert items[0].label == "zuse1969"


async def test_a_bib_changed_on_disk_outside_the_editor_is_seen(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", paper(r"\cite{zuse}"))
    at = editor.text("main.tex").index("zuse") + 4
    before = await editor.complete("main.tex", at)
    assert "zuse1969" not in [item.label for item in before]
    editor.write("refs.bib", BIB + "\n@book{zuse1969, title={Rechnender Raum}}\n")
    items = await editor.complete("main.tex", at)
    assert items[0].label == "zuse1969"


async def test_resolution_tells_abstract_venue_reason_and_the_entry(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", paper(r"\cite<graph attention>|"))
    item = (await editor.complete("main.tex"))[0]
    assert item.documentation is None
    assert item.label == "Veličković et al. 2018 · Graph Attentio…"
    resolved = await editor.client.completion_item_resolve_async(item)
    card = resolved.documentation.value
    assert "each node of a graph attends" in card
    assert re.search(r"^(Sure|Likely|A guess)\. [A-Z].+ .+\.$", card, re.MULTILINE), card
    assert "rank" not in card and "#1" not in card
    assert "@inproceedings{velickovic2018graph," in card
    assert "https://arxiv.org/abs/1710.10903" in card
    for name in ("sort_text", "filter_text", "text_edit", "label"):
        assert getattr(resolved, name) == getattr(item, name)


async def test_resolution_of_a_list_that_is_long_gone_gives_the_item_back(start_editor):
    editor = await start_editor(files={"refs.bib": BIB})
    item = types.CompletionItem(label="x", data={"list": 99, "rank": 3})
    assert (await editor.client.completion_item_resolve_async(item)).label == "x"
    strange = types.CompletionItem(label="y", data="nonsense")
    assert (await editor.client.completion_item_resolve_async(strange)).label == "y"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
async def test_a_bib_is_completed_from_entry_type_to_value(start_editor, encoding):
    files = {"refs.bib": BIB, "main.tex": paper("")}
    editor = await start_editor(encodings=(encoding,), files=files)
    editor.open("refs.bib", "% 𝔸\n@arti|", language="bibtex")

    def plain(items):
        return {item.label: item.text_edit.new_text for item in items}

    items = await editor.complete("refs.bib", trigger="@")
    assert items[0].label == "article"
    await editor.accept("refs.bib", items[0])
    text = "% 𝔸\n@article{k,\n  title = {𝔸 b},\n  journ|\n}\n"
    editor.replace("refs.bib", 0, len(editor.text("refs.bib")), text)
    items = await editor.complete("refs.bib")
    assert items[0].label == "journal"
    assert items[0].detail == "required in @article"
    await editor.accept("refs.bib", items[0])
    at = editor.text("refs.bib").index("journal = {") + len("journal = {")
    items = await editor.complete("refs.bib", at)
    assert "Journal of Machine Learning Research" in plain(items)
    found = await editor.complete_list("refs.bib", editor.text("refs.bib").index("@article{k") + 9)
    assert found is None


PROSE = " in the middle of a sentence, where x>y and more follow"


@pytest.mark.parametrize(
    ("opened", "citation"),
    [
        ("\\citep<graph attention", "\\citep{velickovic2018graph}"),
        ("\\citep{graph attention", "\\citep{velickovic2018graph}"),
        ("\\citep<graph attention ", "\\citep{velickovic2018graph}"),
    ],
)
async def test_accepting_at_an_open_placeholder_leaves_the_prose(start_editor, opened, citation):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", paper(opened + "|" + PROSE))
    items = await editor.complete("main.tex")
    await editor.accept("main.tex", items[0])
    assert editor.text("main.tex") == paper(citation + PROSE)


HEAD = "---\nbibliography: refs.bib\n---\n\n"


@pytest.mark.parametrize(
    ("typed", "query", "cited"),
    [
        ("as [@attention |] is", "attention ", "as [@KEY] is"),
        ("as [@attention | is", "attention ", "as [@KEY] is"),
        ("as [@graph attention |] is", "graph attention ", "as [@KEY] is"),
        ("as [@graph attention | is", "graph attention ", "as [@KEY] is"),
        ("as [@?graph attention |] is", "?graph attention ", "as [@KEY] is"),
        (
            "as [see @hochreiter97; @attention |] is",
            "attention ",
            "as [see @hochreiter97; @KEY] is",
        ),
        ("as [@GraphNets attention|] is", "GraphNets attention", "as [@KEY] is"),
        ("as [@attention for graphs|] is", "attention for graphs", "as [@KEY] is"),
    ],
)
async def test_blanks_among_the_words_in_markdown_are_part_of_them(
    start_editor, typed, query, cited
):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("paper.md", HEAD + typed + "\n", language="markdown")
    found = await editor.complete_list("paper.md", trigger=" ")
    assert found is not None
    first = found.items[0]
    assert first.filter_text.startswith(f"{query} ")
    await editor.accept("paper.md", first)
    assert editor.text("paper.md") == HEAD + cited.replace("KEY", editor.key(first)) + "\n"


@pytest.mark.parametrize(
    "text",
    ["as [@hochreiter97 |] is", "as [@hochreiter97 p|] is", "as @attention | is", "as [a |]"],
)
async def test_the_notes_behind_a_key_are_completed_with_nothing(start_editor, text):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("paper.md", HEAD + text + "\n", language="markdown")
    assert await editor.complete_list("paper.md", trigger=" ") is None


@pytest.mark.parametrize(
    ("typed", "cited"),
    [
        (r"\nocite{|}", r"\nocite{hochreiter97}"),
        (r"\nocite{hoch|}", r"\nocite{hochreiter97}"),
        (r"\nocite{hoch|", r"\nocite{hochreiter97}"),
        (r"\nocite{adams2001sparse,|}", r"\nocite{adams2001sparse,hochreiter97}"),
        (r"\nocite{adams2001sparse, |}", r"\nocite{adams2001sparse, hochreiter97}"),
        (r"\cite{adams2001sparse,|}", r"\cite{adams2001sparse,hochreiter97}"),
        (r"\cite{|,adams2001sparse}", r"\cite{hochreiter97,adams2001sparse}"),
        (r"\citep[see][p. 2]{hoch|, adams2001sparse}",
         r"\citep[see][p. 2]{hochreiter97, adams2001sparse}"),
        ("\\cite{adams2001sparse,\n  |}", "\\cite{adams2001sparse,\n  hochreiter97}"),
        ("\\cite{adams2001sparse,\n  hoch|}", "\\cite{adams2001sparse,\n  hochreiter97}"),
        ("\\cite{adams2001sparse,\n  hoch|\n}", "\\cite{adams2001sparse,\n  hochreiter97\n}"),
        ("\\cite{\n  |\n}", "\\cite{\n  hochreiter97\n}"),
        ("\\cite{\n  adams2001sparse,\n  |\n}", "\\cite{\n  adams2001sparse,\n  hochreiter97\n}"),
    ],
)  # fmt: skip
async def test_keys_are_completed_wherever_a_key_may_stand(start_editor, typed, cited):
    editor = await start_editor(files={"refs.bib": BIB})
    editor.open("main.tex", paper(typed))
    items = await editor.complete("main.tex")
    item = next(item for item in items if item.label == "hochreiter97")
    await editor.accept("main.tex", item)
    assert editor.text("main.tex") == paper(cited)
    assert editor.text("refs.bib") == BIB


MEMBERS = """@inproceedings{gat, author = {Petar Veli{\\v{c}}kovi{\\'c}}, title = {Graph Attention Networks}, year = {2018}}
@inproceedings{gan, author = {Ian Goodfellow}, title = {Generative Adversarial Nets}, year = {2014}}
@inproceedings{seq, author = {Ilya Sutskever},
  title = {Sequence to Sequence Learning with Neural Networks}, year = {2014}}
"""


@pytest.mark.parametrize(
    ("given", "next_one"),
    [
        ("gat", "Semi-Supervised Classification with Graph Convolutional Networks"),
        ("gan", "Auto-Encoding Variational Bayes"),
        ("seq", "Neural Machine Translation by Jointly Learning to Align and Translate"),
    ],
)
async def test_the_next_paper_of_a_citation_follows_from_those_that_it_has(
    start_editor, given, next_one
):
    editor = await start_editor(files={"refs.bib": MEMBERS})
    editor.open("main.tex", paper(f"others \\citep{{{given}, |}}"))
    cursor = editor.text("main.tex").index("|")
    papers = [item.detail for item in await editor.complete("main.tex")][2:]
    while not papers:  # Keys do not wait for a worker that has only been started.
        papers = [item.detail for item in await editor.complete("main.tex", cursor)][2:]
    assert next_one in papers[:2]
    assert not {title for title in papers if title in MEMBERS}
