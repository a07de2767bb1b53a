"""The review of the open paper over the protocol: unsaved text counts, comments silence, and what it
found is underlined and fixed until the text changes there."""

from pathlib import Path

import pytest
from lsprotocol import types
from tests.e2e.test_learning import kept

STARTER = Path(__file__).resolve().parents[2] / "corpus_tools" / "starter" / "citewell_starter"

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAPER = """\\documentclass{article}
\\begin{document}
Machines that compute space \\cite{zuse1969} are old, ä and \\cite{nobody} says so.
\\bibliography{refs}
\\end{document}
"""
BIB = """@book{zuse1969,
  title = {Rechnender Raum},
  author = {Zuse, Konrad},
  publisher = {Vieweg},
  year = {1969},
}
"""


async def review(editor):
    found = await editor.execute("citewell.review", editor.uri("main.tex"))
    starts = [(one["code"], one["range"]["start"]) for one in found["rows"]]
    return [(code, start["line"], start["character"]) for code, start in starts]


async def test_the_paper_as_it_is_in_the_editor_is_reviewed(start_editor):
    editor = await start_editor(files={"main.tex": PAPER, "refs.bib": BIB})
    editor.open("main.tex")
    line = PAPER.splitlines()[2]
    rows = await review(editor)
    assert ("undefined-key", 2, line.index("nobody")) in rows

    # Each finding is silenced by a code action, though other providers fix it.
    (silence,) = titled(await editor.actions("main.tex", "nobody"), "Silence undefined-key")
    await editor.act(silence)
    comment = "% citewell: ignore undefined-key\n"
    assert editor.text("main.tex") == PAPER.replace(line, comment + line)
    assert titled(await editor.actions("main.tex", "nobody"), "Silence") == []
    assert "undefined-key" not in [code for code, *_ in await review(editor)]


async def test_rows_apply_their_actions_where_the_finding_stands_by_then(start_editor):
    links = BIB.replace("year =", "doi = {http://dx.doi.org/10.1000/raum},\n  year =")
    editor = await start_editor(files={"main.tex": PAPER, "refs.bib": links})
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    answer = await editor.execute("citewell.review", editor.uri("main.tex"))
    rows = {one["code"]: one["actions"] for one in answer["rows"]}
    assert list(rows["doi-link"]) == ["consistent", "silence"]
    assert rows["doi-link"]["consistent"]["title"] == "Fix doi-link in the whole file"
    editor.replace("refs.bib", 0, 0, "% ä\n")
    assert (await editor.execute("citewell.act", rows["doi-link"]["consistent"]))["applied"]
    fixed = links.replace("http://dx.doi.org/", "")
    assert editor.text("refs.bib") == f"% ä\n{fixed}"
    editor.replace("main.tex", 0, 0, "% ä\n")
    for code in ("undefined-key", "reference-not-found"):
        assert (await editor.execute("citewell.act", rows[code]["silence"]))["applied"]
    assert "% citewell: ignore undefined-key\nMachines" in editor.text("main.tex")
    assert [code for code, *_ in await review(editor)] == []


UNCITED = """\\documentclass{article}
\\begin{document}
Residual networks \\cite{he} train well, ä.
  We score the answers with BERTScore as well.
It has been shown that long documents need a memory of facts.
\\bibliography{refs}
\\end{document}
"""
HE = """@inproceedings{he,
  title = {Deep Residual Learning for Image Recognition},
  author = {He, Kaiming and Zhang, Xiangyu and Ren, Shaoqing and Sun, Jian},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  doi = {http://dx.doi.org/10.1109/cvpr.2016.90},
  year = {2016},
}
"""


@pytest.fixture
def over_starter(start_editor, tmp_path, monkeypatch):
    """Start an editor over the starter library, with these files."""
    if not (STARTER / "library" / "CURRENT").is_file():
        pytest.skip("needs the starter library")
    monkeypatch.setenv("PYTHONPATH", str(STARTER.parent))

    async def start(files):
        return await start_editor(files=files, library=tmp_path / "none")

    return start


def underlined(editor, name, code):
    """The underlined texts of a code."""
    found = editor.client.diagnostics.get(editor.uri(name), ())
    lines = editor.text(name).splitlines()
    return [
        lines[one.range.start.line]
        .encode("utf-16-le")[2 * one.range.start.character : 2 * one.range.end.character]
        .decode("utf-16-le")
        for one in found
        if one.code == code
    ]


def titled(actions, beginning):
    return [one for one in actions if one.title.startswith(beginning)]


async def test_a_name_is_cited_and_a_sentence_silenced_where_the_review_found_them(
    over_starter, tmp_path, monkeypatch
):
    monkeypatch.delenv("CITEWELL_LEARNING_ENABLED", raising=False)
    monkeypatch.setenv("CITEWELL_DATA", str(tmp_path / "history"))
    editor = await over_starter({"main.tex": UNCITED, "refs.bib": HE})
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    assert titled(await editor.actions("main.tex", "BERTScore"), "Cite the work of") == []
    await editor.execute("citewell.review", editor.uri("main.tex"))
    await editor.wait_for(
        lambda: (
            underlined(editor, "main.tex", "name-uncited") == ["BERTScore"]
            and underlined(editor, "main.tex", "sentence-uncited") == [""]
        )
    )

    # It moves with its text, and other findings stay where one is silenced.
    editor.replace("main.tex", 0, 0, "% ä line above 😀\n")
    (silence,) = titled(await editor.actions("main.tex", "facts", end="facts."), "Silence")
    await editor.act(silence)
    comment = "% citewell: ignore sentence-uncited\n"
    assert f"{comment}It has been shown" in editor.text("main.tex")
    await editor.wait_for(lambda: not underlined(editor, "main.tex", "sentence-uncited"))
    assert titled(await editor.actions("main.tex", "facts", end="facts."), "Silence") == []
    assert underlined(editor, "main.tex", "name-uncited") == ["BERTScore"]

    cite, silence = await editor.actions("main.tex", "BERTScore", only=["quickfix"])
    assert cite.title == "Cite the work of BERTScore here"
    assert cite.is_preferred
    assert silence.title == "Silence name-uncited here by a comment"
    await editor.act(cite)
    line = editor.text("main.tex").splitlines()[4]
    assert line == "  We score the answers with BERTScore~\\cite{zhang2020bertscore} as well."
    assert "@inproceedings{zhang2020bertscore," in editor.text("refs.bib")
    assert editor.text("refs.bib").startswith(HE)
    await editor.wait_for(lambda: not underlined(editor, "main.tex", "name-uncited"))
    assert titled(await editor.actions("main.tex", "BERTScore"), "Cite the work of") == []
    # It is learned from as a citation of any code action.
    (event,) = kept()
    assert (event["kind"], event["through"]) == ("accepted", "action")
    assert event["title"].startswith("BERTScore")


async def test_a_name_in_a_macro_is_cited_by_the_key_that_the_bibliography_has(over_starter):
    own = "@misc{own, title = {{BERTScore}: Evaluating Text Generation with BERT}, year = {2020}}\n"
    editor = await over_starter(
        {"main.tex": UNCITED.replace("BERTScore", "\\textsc{BERTScore}"), "refs.bib": HE + own}
    )
    editor.open("main.tex")
    answer = await editor.execute("citewell.review", editor.uri("main.tex"))
    (row,) = [one for one in answer["rows"] if one["code"] == "name-uncited"]
    assert row["actions"]["cite"]["title"] == "Cite own here"
    assert (await editor.execute("citewell.act", row["actions"]["cite"]))["applied"]
    assert "\\textsc{BERTScore~\\cite{own}} as well" in editor.text("main.tex")
    assert editor.text("refs.bib") == HE + own


async def test_a_finding_in_a_bibliography_is_silenced_above_its_entry(over_starter):
    editor = await over_starter({"main.tex": UNCITED, "refs.bib": f"% mine\n{HE}"})
    editor.open("main.tex")
    editor.open("refs.bib", language="bibtex")
    await editor.execute("citewell.review", editor.uri("main.tex"))
    await editor.wait_for(lambda: underlined(editor, "refs.bib", "doi-link"))
    found = [
        one for one in editor.client.diagnostics[editor.uri("refs.bib")] if one.code == "doi-link"
    ]
    assert found[0].severity is types.DiagnosticSeverity.Information
    assert found[0].code_description.href.endswith("docs/review.md#codes")
    actions = await editor.actions("refs.bib", "http://dx", diagnostics=found)
    (silence,) = titled(actions, "Silence doi-link")
    assert [one.range for one in silence.diagnostics] == [found[0].range]
    await editor.act(silence)
    assert editor.text("refs.bib") == f"% mine\n% citewell: ignore doi-link\n{HE}"
    await editor.wait_for(lambda: not underlined(editor, "refs.bib", "doi-link"))


async def test_a_name_in_markdown_is_silenced_at_the_end_of_its_line(over_starter):
    text = "# Scores\r\n\r\nWe use BERTScore here.  \r\nThat is all.\r\n"
    editor = await over_starter({"main.md": text})
    editor.open("main.md", language="markdown")
    await editor.execute("citewell.review", editor.uri("main.md"))
    await editor.wait_for(lambda: underlined(editor, "main.md", "name-uncited") == ["BERTScore"])
    (silence,) = titled(await editor.actions("main.md", "BERTScore"), "Silence")
    await editor.act(silence)
    comment = " <!-- citewell: ignore name-uncited -->"
    assert editor.text("main.md") == text.replace("here.", f"here.{comment}")
    await editor.wait_for(lambda: not underlined(editor, "main.md", "name-uncited"))
