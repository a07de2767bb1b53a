from __future__ import annotations

import pytest

from citewell.documents.markdown.scanner import scan_markdown
from citewell.model.document import Placeholder, PlaceholderKind

QUERY, EMPTY, MARKER = PlaceholderKind.QUERY, PlaceholderKind.EMPTY, PlaceholderKind.MARKER


def cites(text: str) -> list[tuple[str, str, str]]:
    """(command, covered text, keys) of every citation."""
    document = scan_markdown(text)
    for citation in document.citations:
        for use in citation.keys:
            assert text[use.span.start : use.span.end] == use.key
    return [
        (c.command, text[c.span.start : c.span.end], ",".join(u.key for u in c.keys))
        for c in document.citations
    ]


def only(text: str) -> Placeholder:
    document = scan_markdown(text)
    assert len(document.placeholders) == 1, document.placeholders
    return document.placeholders[0]


@pytest.mark.parametrize(
    ("text", "command", "keys"),
    [
        ("[@doe99]", "[@]", "doe99"),
        ("[see @doe99, pp. 33-35; also @smith04, ch. 1]", "[@]", "doe99,smith04"),
        ("[-@doe99]", "[@]", "doe99"),
        ("[@doe99 p. 33]", "[@]", "doe99"),
        ("[@doe99 for a survey]", "[@]", "doe99"),
        ("@doe99", "@", "doe99"),
        ("@doe99 [p. 33]", "@", "doe99"),
        ("-@doe99", "@", "doe99"),
        ("@{https://example.com/x?y}", "@", "https://example.com/x?y"),
        ("@DBLP:conf/nips/VaswaniSPUJGKP17", "@", "DBLP:conf/nips/VaswaniSPUJGKP17"),
        ("@Müller_2020", "@", "Müller_2020"),
        ("[a note\nover lines @doe99]", "[@]", "doe99"),
        (r"\citep[p. 5]{doe99}", "citep", "doe99"),
    ],
)
def test_citations_of_pandoc_are_read_with_their_keys(text: str, command: str, keys: str) -> None:
    assert cites(f"We follow {text}, as do others.") == [(command, text, keys)]


@pytest.mark.parametrize(
    "text",
    [
        "Mail me@example.org or <mailto:a@b.org>.",
        "See @fig-one, [@tbl-two; @sec-x] and @eq-y.",
        r"See \@ref(fig:one) and \@doe99.",
        "Code `@doe99` and ``[@x] ` `` here.",
        "```r\nplot(@doe99)\n```",
        "~~~\n[@x]\n````\n@y\n~~~",
        "<!-- [@x]\n @y -->",
        "Math $x_{@a}$ and $$\n[@b]\n$$.",
        "A [link](https://x.org/@user) and https://x.org/@user too.",
    ],
)
def test_what_is_no_citation_is_left_alone(text: str) -> None:
    document = scan_markdown(text)
    assert document.citations == () and document.placeholders == ()


def test_dollars_of_money_are_no_mathematics() -> None:
    assert [c[2] for c in cites("It costs $20 [@a] and $30 [@b].")] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "kind", "query", "command"),
    [
        ("[@]", EMPTY, "", "[@]"),
        ("[@?]", EMPTY, "", "[@]"),
        ("[@TODO]", EMPTY, "", "[@]"),
        ("[@?graph attention]", QUERY, "graph attention", "[@]"),
        ("[@?attention]", QUERY, "attention", "[@]"),
        ("[@graph attention networks]", QUERY, "graph attention networks", "[@]"),
        ("[@graph attention\nnetworks]", QUERY, "graph attention networks", "[@]"),
        ("@?", EMPTY, "", "@"),
        ("[CITE]", MARKER, "", ""),
        ("[CITATION]", MARKER, "", ""),
        ("[citation needed]", MARKER, "", ""),
        ("[?]", MARKER, "", ""),
        ("(CITE)", MARKER, "", ""),
        ("[CITE: graph attention]", MARKER, "graph attention", ""),
        (r"\cite{}", EMPTY, "", "cite"),
        (r"\citep<graph attention>", QUERY, "graph attention", "citep"),
    ],
)
def test_every_kind_of_placeholder_is_found_whole(
    text: str, kind: PlaceholderKind, query: str, command: str
) -> None:
    whole = f"As shown {text} in prose."
    found = only(whole)
    assert (found.kind, found.query, found.command) == (kind, query, command)
    assert whole[found.span.start : found.span.end] == text
    assert found.closed


@pytest.mark.parametrize(
    "text",
    [
        "[ref](x.html) [cite][1] [text][cite] [CITE](x)",
        "[cite]: http://x.org",
        "A [note] (and references) [12].",
        "`[CITE]` and <!-- [?] -->",
        "- [x] done [ ] open",
    ],
)
def test_links_and_boxes_are_no_placeholders(text: str) -> None:
    assert scan_markdown(text).placeholders == ()


def test_beside_other_keys_only_the_empty_one_is_replaced() -> None:
    text = "As in [see @a, p. 5; @?graph attention]."
    found = only(text)
    assert text[found.span.start : found.span.end] == "@?graph attention"
    assert (found.command, found.other_keys, found.query) == ("@", ("a",), "graph attention")
    assert cites(text)[0][2] == "a"


@pytest.mark.parametrize(
    ("text", "covers", "query"),
    [
        ("We use [@graph att", "[@graph att", "graph att"),
        ("We use [@", "[@", ""),
        ("We use [@?", "[@?", ""),
        ("We use [@graph att\n\nNext [@b].", "[@graph att", "graph att"),
        ("We use [@graph att\nnext line", "[@graph att", "graph att"),
    ],
)
def test_an_unclosed_placeholder_ends_with_its_line(text: str, covers: str, query: str) -> None:
    found = only(text)
    assert not found.closed
    assert text[found.span.start : found.span.end] == covers
    assert found.query == query


def test_a_key_being_typed_is_a_citation() -> None:
    assert cites("We use [@doe99\n\nNext.") == [("@", "@doe99", "doe99")]


HEAD = """---
title: "Graph *attention*: a study"
author: [A, B]
abstract: |
  First line,
  second line.
bibliography:
  - refs/a.bib   # ours
  - 'b c.bib'
---

# Intro {#sec-intro}
## Sub `code`

Setext
------

```
# no heading
```
"""


def test_front_matter_and_headings_are_read() -> None:
    document = scan_markdown(HEAD)
    assert document.title == "Graph attention: a study"
    assert document.abstract == "First line, second line."
    assert [b.target for b in document.bibliographies] == ["refs/a.bib", "b c.bib"]
    for declaration in document.bibliographies:
        assert HEAD[declaration.span.start : declaration.span.end] == declaration.target
    assert [(h.level, h.title) for h in document.headings] == [
        (1, "Intro"),
        (2, "Sub code"),
        (2, "Setext"),
    ]


@pytest.mark.parametrize(
    ("yaml", "files"),
    [
        ("bibliography: refs.bib", ["refs.bib"]),
        ("bibliography: 'my refs.bib'  # x", ["my refs.bib"]),
        ("bibliography: my refs.bib", ["my refs.bib"]),
        ('bibliography: [a.bib, "b.bib"]', ["a.bib", "b.bib"]),
        ("bibliography: [a.bib,\n  b.bib]\ntitle: x", ["a.bib", "b.bib"]),
        ("bibliography:\n- a.bib\n- b.bib", ["a.bib", "b.bib"]),
        ("bibliography:", []),
        ("format:\n  html:\n    bibliography: no.bib", []),
    ],
)
def test_the_bibliography_may_be_written_in_every_way_of_yaml(yaml: str, files: list[str]) -> None:
    document = scan_markdown(f"---\n{yaml}\n---\ntext")
    assert [b.target for b in document.bibliographies] == files


def test_what_the_front_matter_cites_counts() -> None:
    text = (
        "---\ntitle: About @home\nnocite: |\n  @a, @{b}\n  # @no\nabstract: We follow @c.\n"
        "author: me@mail.example\n---\nText @d.\n"
    )
    document = scan_markdown(text, "a.md")
    found = [(c.command, use.key) for c in document.citations for use in c.keys]
    assert found == [("nocite", "a"), ("nocite", "b"), ("nocite", "no"), ("@", "c"), ("@", "d")]
    assert all(text[u.span.start : u.span.end] == u.key for c in document.citations for u in c.keys)
    assert not document.nocite_all
    assert scan_markdown("---\nnocite: '@*'\n---\n", "a.md").nocite_all
