"""Papers laid out as people do it: the keys of each are known, in an editor with its defaults."""

import json

import pytest
from lsprotocol import types

pytestmark = pytest.mark.asyncio(loop_scope="module")

ENTRY = "@article{held2001, title = {A Held Paper}, author = {Doe, Jane}, year = 2001}\n"
CITED = "\\cite{held2001} and \\cite{nowhere1999}"
MD = "As [@held2001] and [@nowhere1999] say.\n"


def tex(preamble: str = "", end: str = "", body: str = CITED) -> str:
    return (
        f"\\documentclass{{article}}\n{preamble}\n\\begin{{document}}\n{body}.\n{end}\n"
        "\\end{document}\n"
    )


def md(header: str, body: str = MD) -> str:
    return f"---\n{header}\n---\n\n{body}"


CSL_YAML = (
    "references:\n- id: held2001\n  type: article-journal\n  title: A Held Paper\n"
    "  author:\n  - family: Doe\n    given: Jane\n  issued:\n    date-parts:\n    - - 2001\n"
)
CSL_JSON = json.dumps(
    [{"type": "book", "title": "A Held Paper", "id": "held2001", "issued": {"year": 2001},
      "author": [{"family": "Doe", "given": "Jane"}]}]
)  # fmt: skip
CONTENTS = f"\\begin{{filecontents}}{{refs.bib}}\n{ENTRY}\\end{{filecontents}}"

LAYOUTS = {
    "macro": {
        "a.tex": tex("\\newcommand{\\bibdir}{bib}\n\\addbibresource{\\bibdir/refs.bib}"),
        "bib/refs.bib": ENTRY,
    },
    "macro of all names": {
        "a.tex": tex("\\def\\allbibs{other,bib/refs}", "\\bibliography{\\allbibs}"),
        "bib/refs.bib": ENTRY,
        "other.bib": "",
    },
    "macro that is renewed": {
        "a.tex": tex(
            "\\newcommand*\\bibdir{old}\\renewcommand{\\bibdir}{bib}", "\\bibliography{\\bibdir/refs}"
        ),
        "bib/refs.bib": ENTRY,
    },
    "macro of a package": {
        "a.tex": tex("\\usepackage{own}", "\\bibliography{\\bibdir/refs}"),
        "own.sty": "\\providecommand{\\bibdir}{./bib/}",
        "bib/refs.bib": ENTRY,
    },
    "folder above": {
        "thesis/a.tex": tex("\\addbibresource{thesis/one/refs.bib}"),
        "thesis/one/refs.bib": ENTRY,
    },
    "one level up": {"reviews/a.tex": tex("\\addbibresource{mybib.bib}"), "mybib.bib": ENTRY},
    "latexmkrc": {
        "a.tex": tex(end="\\bibliography{refs}"),
        ".latexmkrc": "$pdf_mode = 1;\n$ENV{'BIBINPUTS'} = './lib//:';\n",
        "lib/deep/refs.bib": ENTRY,
    },
    "ensure_path": {
        "a.tex": tex(end="\\bibliography{refs}"),
        "latexmkrc": "ensure_path( 'BIBINPUTS', './lib' );\n",
        "lib/refs.bib": ENTRY,
    },
    "Makefile": {
        "a.tex": tex(end="\\bibliography{refs}"),
        "Makefile": "export BIBINPUTS ?= $(CURDIR)/lib:\nall:\n\tlatexmk a\n",
        "lib/refs.bib": ENTRY,
    },
    "command of a Makefile": {
        "a.tex": tex(end="\\bibliography{refs}"),
        "Makefile": "all:\n\tBIBINPUTS=.:lib: bibtex a\n",
        "lib/refs.bib": ENTRY,
    },
    "slash of Windows": {"src/a.tex": tex(end="\\bibliography{/../library}"), "library.bib": ENTRY},
    "glob": {
        "a.tex": tex("\\usepackage{biblatex}\\addbibresource[glob]{bib/[rs]*.bib}"),
        "bib/refs.bib": ENTRY,
    },
    "glob with alternatives": {
        "a.tex": tex("\\addbibresource[location=local, glob=true]{{x,bib/{a,r}*}.bib}"),
        "bib/refs.bib": ENTRY,
    },
    "filecontents": {"a.tex": tex(CONTENTS, "\\bibliography{refs}")},
    "filecontents of the job": {
        "a.tex": tex(
            CONTENTS.replace("{filecontents}", "{filecontents*}").replace(
                "}{refs", "}[overwrite]{\\jobname-refs"
            )
            + "\n\\addbibresource{\\jobname-refs.bib}"
        )
    },
    "filecontents of two files": {
        "a.tex": tex(
            "\\begin{filecontents}{x.bib}\n@misc{x,title={X}}\n\\end{filecontents}\n" + CONTENTS,
            "\\bibliography{x,refs}",
        )
    },
    "child": {
        "paper.Rmd": md("bibliography: refs.bib", "```{r, child='parts/a.Rmd'}\n```\n"),
        "parts/a.Rmd": MD,
        "refs.bib": ENTRY,
    },
    "child as an option": {
        "paper.qmd": md("bibliography: refs.bib", '```{r}\n#| child: "a.qmd"\n```\n'),
        "a.qmd": MD,
        "refs.bib": ENTRY,
    },
    "several children": {
        "paper.Rmd": md("bibliography: [refs.bib]", '```{r x, child = c("b.Rmd", "a.Rmd")}\n```\n'),
        "a.Rmd": MD,
        "b.Rmd": "None.\n",
        "refs.bib": ENTRY,
    },
    "include of Quarto": {
        "paper.qmd": md("bibliography: refs.bib", "{{< include _a.qmd >}}\n"),
        "_a.qmd": MD,
        "refs.bib": ENTRY,
    },
    "bookdown": {
        "_bookdown.yml": "rmd_files: ['index.Rmd', '01-a.Rmd']\n",
        "index.Rmd": md("title: Book\nsite: bookdown::bookdown_site\nbibliography: [book.bib]", ""),
        "01-a.Rmd": "# One\n\n" + MD,
        "book.bib": ENTRY,
    },
    "later block": {
        "a.md": md("bibliography: old.bib", "x\n\n---\nbibliography: refs.bib\n---\n\n" + MD),
        "refs.bib": ENTRY,
    },
    "CSL YAML": {"a.md": md("bibliography: refs.yaml"), "refs.yaml": CSL_YAML},
    "CSL YAML in a block": {
        "a.md": md("bibliography: refs.yml"),
        "refs.yml": f"---\n{CSL_YAML}...\n",
    },
    "CSL JSON": {"a.qmd": md("bibliography:\n  - refs.json"), "refs.json": CSL_JSON},
    "references": {"a.md": md("title: X\n" + CSL_YAML + "lang: en")},
}  # fmt: skip


def opened(files: dict[str, str]) -> str:
    """The file that cites."""
    return next(name for name, text in files.items() if "nowhere1999" in text)


def codes(editor, name: str) -> set[tuple[str, str]]:
    text = editor.text(name)
    found = editor.client.diagnostics.get(editor.uri(name), ())
    return {
        (
            str(one.code),
            text[editor.offset(text, one.range.start) : editor.offset(text, one.range.end)],
        )
        for one in found
        if one.code in ("undefined-key", "bib-missing")
    }


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_keys_of_the_paper_are_known_wherever_they_are_declared(start_editor, layout):
    files = LAYOUTS[layout]
    editor = await start_editor(files=files)
    name = opened(files)
    editor.open(name, language="latex" if name.endswith(".tex") else "markdown")
    await editor.wait_for(lambda: editor.uri(name) in editor.client.diagnostics)
    cited = "{held2001} and" if name.endswith(".tex") else "@held2001"
    assert "A Held Paper" in await editor.hover(name, cited)
    await editor.wait_for(lambda: codes(editor, name) == {("undefined-key", "nowhere1999")})
    at = editor.text(name).index("nowhere1999")
    editor.replace(name, at, at + len("nowhere1999"), "hel")
    found = await editor.complete(name, at + 3)
    assert "held2001" in {editor.key(item) for item in found}


@pytest.mark.parametrize(
    "files",
    [
        {"a.tex": tex(end="\\bibliography{\\unknown/refs}")},
        {"a.tex": tex("\\addbibresource{biblatex-examples.bib}")},
        {"a.tex": tex(end="\\bibliography{xampl}")},
        {"a.tex": tex("\\addbibresource[location=remote]{https://x.org/a.bib}")},
    ],
)
async def test_no_key_is_undefined_where_a_bibliography_is_elsewhere(start_editor, files):
    editor = await start_editor(files=files)
    editor.open("a.tex")
    await editor.wait_for(lambda: editor.uri("a.tex") in editor.client.diagnostics)
    assert codes(editor, "a.tex") == set()


@pytest.mark.parametrize(
    ("name", "text", "fixed"),
    [
        ("a.tex", tex(end="\\bibliography{old/refs, x}"), "\\bibliography{lib/refs, x}"),
        ("a.tex", tex("\\addbibresource{refs.bib}"), "\\addbibresource{lib/refs.bib}"),
        (
            "a.tex",
            tex("\\newcommand{\\dir}{d}\\addbibresource[label=x]{\\dir/Refs.bib}"),
            "\\addbibresource[label=x]{lib/refs.bib}",
        ),
        ("docs/a.md", md("bibliography: 'refs.bib'"), "bibliography: '../lib/refs.bib'"),
        ("docs/a.qmd", md("bibliography: [x.bib, y/refs.bib]"), "[x.bib, ../lib/refs.bib]"),
    ],
)
async def test_a_missing_bib_is_found_by_its_name(start_editor, name, text, fixed):
    files = {name: text, "lib/refs.bib": ENTRY, "x.bib": "", "docs/x.bib": ""}
    editor = await start_editor(files=files, alone=True)
    editor.open(name, language="latex" if name.endswith(".tex") else "markdown")
    await editor.wait_for(lambda: any(code == "bib-missing" for code, _ in codes(editor, name)))
    (shown,) = [
        one
        for one in editor.client.diagnostics[editor.uri(name)]
        if one.code == "bib-missing" and "efs.bib" in one.message
    ]
    place = text[editor.offset(text, shown.range.start) :]
    (action,) = [
        one
        for one in await editor.actions(name, place, diagnostics=[shown])
        if one.title.startswith("Use `")
    ]
    assert action.kind == "quickfix" and list(action.diagnostics) == [shown]
    await editor.act(action)
    assert fixed in editor.text(name)
    await editor.wait_for(lambda: ("undefined-key", "nowhere1999") in codes(editor, name))


async def test_a_key_that_the_bibliography_defines_is_no_placeholder(start_editor):
    keys = ("who?", "TODO", "two words", "韓非子")
    entries = "".join(ENTRY.replace("held2001", key).replace("Held", key) for key in keys)
    body = "\\cite{who?}, \\cite{held2001, TODO}, \\cite{two words}, \\cite{韓非子,nowhere1999}"
    files = {"a.tex": tex(end="\\bibliography{refs}", body=body), "refs.bib": ENTRY + entries}
    editor = await start_editor(files=files)
    editor.open("a.tex")
    await editor.wait_for(lambda: codes(editor, "a.tex") == {("undefined-key", "nowhere1999")})
    for key in keys:
        assert f"A {key} Paper" in await editor.hover("a.tex", key)
    # Without their entries they are words again; an edit of the paper changes nothing in that.
    editor.open("refs.bib", language="bibtex")
    start = editor.text("refs.bib").index("@article{who?")
    editor.replace("refs.bib", start, len(editor.text("refs.bib")), "")
    editor.type("a.tex", editor.text("a.tex").index(".\n"), " again")
    shown = editor.client.diagnostics
    await editor.wait_for(
        lambda: (
            [one.code for one in shown[editor.uri("a.tex")]].count("unresolved-placeholder")
            == len(keys)
        )
    )


async def test_no_file_is_named_for_a_missing_bib_where_two_have_its_name(start_editor):
    text = tex("\\addbibresource{refs.bib}")
    files = {"a.tex": text, "b/refs.bib": ENTRY, "c/refs.bib": ENTRY}
    editor = await start_editor(files=files, alone=True)
    editor.open("a.tex")
    await editor.wait_for(lambda: codes(editor, "a.tex") == {("bib-missing", "refs.bib")})
    assert not [one for one in await editor.actions("a.tex", "refs.bib") if "Use `" in one.title]


async def test_definition_leads_to_the_entry_in_the_document_and_in_csl(start_editor):
    for layout in ("filecontents", "CSL YAML", "CSL JSON", "references"):
        files = LAYOUTS[layout]
        editor = await start_editor(files=files)
        name = opened(files)
        editor.open(name, language="latex" if name.endswith(".tex") else "markdown")
        text = editor.text(name)
        found = await editor.client.text_document_definition_async(
            types.DefinitionParams(
                types.TextDocumentIdentifier(editor.uri(name)),
                editor.position(text, text.rindex("held2001") + 1),
            )
        )
        places = found if isinstance(found, list) else [found]
        (place,) = places
        uri = getattr(place, "target_uri", None) or place.uri
        span = getattr(place, "target_selection_range", None) or place.range
        where = next(other for other in files if editor.uri(other) == uri)
        there = editor.text(where)
        start, end = editor.offset(there, span.start), editor.offset(there, span.end)
        assert there[start:end] == "held2001", layout
        assert start != text.rindex("held2001") or where != name


async def test_half_a_surrogate_pair_in_a_document_is_no_error(start_editor):
    editor = await start_editor(files={"refs.bib": ENTRY})
    text = tex(end="\\bibliography{refs}").replace("and", "cut \ud83d emoji and")
    editor.open("a.tex", text)
    editor.texts[editor.uri("a.tex")] = text.replace("\ud83d", "\ufffd")
    assert "A Held Paper" in await editor.hover("a.tex", "{held2001}")
    await editor.wait_for(lambda: editor.uri("a.tex") in editor.client.diagnostics)
    assert codes(editor, "a.tex") == {("undefined-key", "nowhere1999")}


INVENTED = {
    "id": "invented",
    "type": "paper-conference",
    "title": "Neural Machine Translation by Jointly Learning to Align and Translate",
    "container-title": "ICLR",
    "author": [
        {"family": family, "given": given}
        for family, given in (("Miller", "Zoe"), ("Stone", "Abel"), ("Wood", "Carl"))
    ],
    "issued": {"date-parts": [[2015]]},
}
HEADER = "references:\n" + "".join(
    f"{'-' if name == 'id' else ' '} {name}: {json.dumps(value)}\n"
    for name, value in INVENTED.items()
)
CITING = "We follow [@invented].\n"


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("refs.yaml", {"a.md": md("bibliography: refs.yaml", CITING), "refs.yaml": HEADER}),
        (
            "refs.json",
            {
                "a.qmd": md("bibliography: [refs.json]", CITING),
                "refs.json": json.dumps([INVENTED], indent=1),
            },
        ),
        ("a.Rmd", {"a.Rmd": md("title: X\n" + HEADER, CITING)}),
    ],
)
async def test_an_invented_reference_of_a_csl_list_is_accused_at_its_place(
    start_editor, name, files
):
    editor = await start_editor(files=files)
    paper = next(iter(files))
    editor.open(paper, language="markdown")

    def accused(file: str) -> list[str]:
        text = editor.text(file)
        return [
            text[editor.offset(text, one.range.start) :].split("]")[0].split('"')[0].split("\n")[0]
            for one in editor.client.diagnostics.get(editor.uri(file), ())
            if one.severity == types.DiagnosticSeverity.Error
        ]

    await editor.wait_for(lambda: "invented" in accused(name) and "invented" in accused(paper), 30)
    shown = editor.client.diagnostics[editor.uri(name)]
    why = next(one for one in shown if "None of the authors given is" in one.message)
    assert " is likely fabricated: " in why.message
    text = editor.text(name)
    start = editor.offset(text, why.range.start)
    assert start == text.index("invented")
    # No fix is offered, which would write BibTeX there.
    actions = await editor.actions(name, "invented", diagnostics=[why]) if name == paper else []
    assert not [one for one in actions or () if "Replace" in one.title or "Remove" in one.title]
