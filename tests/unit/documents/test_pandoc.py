"""Pandoc's own reader as the judge of what is a citation in Markdown."""

import json
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from citewell.documents.markdown.scanner import scan_markdown

pypandoc = pytest.importorskip("pypandoc")

JUDGE = """
for line in io.lines() do
  local found = pandoc.List()
  pandoc.read(pandoc.json.decode(line), "markdown"):walk({
    Cite = function(cite)
      for _, citation in ipairs(cite.citations) do found:insert(citation.id) end
    end
  })
  io.write(pandoc.json.encode(found), "\\n")
  io.flush()
end
"""

INLINE = [
    "%", "*%*", "**%**", "(see %)", "“%”", "words % words", "`%`", "``%` `` x", "\\`%\\`", "x [t %](u) y",
    "[t](u \"%\")", "[t](u '(%)')", "![alt %](u) x", "![x](u){width=5 title=\"%\"} y", "[t]{title=\"%\"}",
    "[%]{.smallcaps}", "<span title=\"%\">x</span>", "<span>%</span>", "<a href='x' title='%'>%</a>",
    "<b>%</b>", "<pre>%</pre> x", "<script>%</script> x", "<textarea>%</textarea> x", "<!-- % --> x",
    "x <!-- %\n% --> y", "<?php % ?> x", "$x_%$ y", "$$ % $$ x", "\\emph{see %} x", "\\footnote{%} x",
    "\\foo[%]{x}{%} y", "\\textbf{x}% y", "{\\em %} x", "\\begin{foo}%\\end{foo} x", "\\verb|%| x",
    "`%`{=latex} x", "`%`{title=\"%\"}", "x^[%]", "~~%~~", "5 < 6 % 7 > 2",
    "\\newcommand{\\x}{%} y", "x[^1] %", "costs $5 % and $6 x", "a\\\n%", "x\n%",
]  # fmt: skip
BLOCK = [
    "%", "# H %", "# H % {#id title=\"%\"}", "H %\n===", "    %", "\t%", "    code\n    %\n\n    %", "> %",
    "> x\n>\n>     %", "> ```\n> %\n> ```\n> %", "- %", "- x\n\n    %", "- x\n\n        %",
    "1.  x\n\n    %\n\n        %", "- x\n    - %\n\n        %\n\n            %", "* x\n* %\n\n  %\n\n      %",
    "```\n%\n```", "~~~\n%\n\n%\n~~~", "````md\n```\n%\n```\n````", "```{r, x=\"%\"}\n%\n```",
    "x\n```\n%\n```\n%", "- x\n\n  ```\n  %\n  ```\n\n  %", "```{=latex}\n%\n```", "```\n%\n",
    "<pre>\n%\n\n%\n</pre>\n\n%", "<script>\n%\n\n%\n</script>", "<style>\n%\n</style>", "<div>\n%\n</div>",
    "<div title='%'>\n\n%\n\n</div>", "<div>\n    %\n</div>", "<table>\n<tr><td>%</td></tr>\n</table>",
    "<!-- x\n\n% -->\n\n%", "<!-- x -->\n    %", "\\begin{verbatim}\n%\n\n%\n\\end{verbatim}\n\n%",
    "\\begin{table}\n%\n\n\\caption{%}\n\\end{table}\n\n%", "x\n\\begin{foo}\n%\n\\end{foo}\n%",
    "\\begin{a}\n\\begin{a}%\\end{a}\n%\n\\end{a}\n\n%", "\\begin{foo}\n%", "::: {.note title=\"%\"}\n%\n:::",
    "::: warning\n\n%\n\n:::", "[id]: http://x.org \"%\"", "[id]: <u>\n  '%'\n\n%", "T\n:   %\n\n    %\n\n        %",
    "[^1]: x %\n\n    %\n\n        %\n\ny[^1]", "| line %\n| %", "| a | b |\n|---|---|\n| x | % |\n\n: caption %",
    "(@good) x %\n\nas (@good) says, and @good", "---\n\n    %", "***\n%", "x\n\n---\nother: 'x'\n---\n\n%",
    "- [ ] %\n\n      %", "p. 3\n\n    %", "1986. %\n\n    %", "A. Smith %\n\n    %",
]  # fmt: skip
OPEN_CODE = "```\n%\n"
"""Code that is being typed, of which Pandoc makes prose."""
CITATIONS = [
    "[@doe99]", "@doe99", "[see @doe99, p. 3; @roe2004]", "[-@doe99]", "@doe99 [p. 3]", "@{doe99}",
    "[@DBLP:conf/nips/X17]", "[@müller_2020]", "-@doe99",
]  # fmt: skip


@pytest.fixture(scope="module")
def keys_of_pandoc():
    process = subprocess.Popen(
        [pypandoc.get_pandoc_path(), "lua", "-e", JUDGE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )

    def read(text: str) -> set[str]:
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(text) + "\n")
        process.stdin.flush()
        return set(json.loads(process.stdout.readline()))

    with process:
        yield read
        assert process.stdin
        process.stdin.close()


def keys_of(text: str) -> set[str]:
    cited = (c for c in scan_markdown(text).citations if c.command in ("@", "[@]"))
    return {use.key for citation in cited for use in citation.keys}


def numbered(citation: str, text: str) -> tuple[str, int]:
    """The text with a citation of its own, and so a key of its own, in each place."""
    parts = text.split("%")
    out = parts[0]
    for number, part in enumerate(parts[1:]):
        for name in ("doe99", "X17", "müller_2020", "roe2004"):
            if name in citation:
                break
        out += citation.replace(name, f"{name}n{number}") + part
    return out, len(parts) - 1


PIECES = st.one_of(st.sampled_from(INLINE), st.sampled_from(BLOCK))


@settings(
    max_examples=400,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(PIECES, min_size=1, max_size=4, unique=True), st.sampled_from(CITATIONS))
def test_the_citations_are_those_that_pandoc_reads(keys_of_pandoc, pieces, citation):
    text, _ = numbered(citation, "\n\n".join(pieces))
    assert keys_of(text) == keys_of_pandoc(text), text


@pytest.mark.parametrize("piece", [*INLINE, *(one for one in BLOCK if one != OPEN_CODE)])
def test_words_are_wanted_only_where_pandoc_would_read_a_citation(keys_of_pandoc, piece):
    text, count = numbered("[@doe99]", piece)
    read = keys_of_pandoc(text)
    wanted = piece
    for number in range(count):
        wanted = wanted.replace("%", f"[@?graph networks n{number}]", 1)
    placeholders = {p.query.rpartition(" ")[2] for p in scan_markdown(wanted).placeholders}
    assert placeholders == {key.removeprefix("doe99") for key in read if key.startswith("doe99")}
