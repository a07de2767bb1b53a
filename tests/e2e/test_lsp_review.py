"""The review of the open paper over the protocol: unsaved text counts, and comments silence."""

import pytest

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
    at = PAPER.index("says so.") + len("says so.")
    editor.replace("main.tex", at, at, " % citewell: ignore undefined-key")
    assert "undefined-key" not in [code for code, *_ in await review(editor)]
