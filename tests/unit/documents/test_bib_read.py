"""A .bib file is read exactly, and a broken entry costs only itself."""

from __future__ import annotations

import pytest

from citewell.documents.bib.reader import parse_bib, reparse
from citewell.model.bib import BibFile


def codes(bib: BibFile) -> list[tuple[str, int | None]]:
    return [(problem.code, problem.line) for problem in bib.problems]


def test_an_entry_has_type_key_fields_and_exact_ranges() -> None:
    text = '% head\n@InProceedings{ a:b/1 ,\n  Title = {A {B} C},\n  year=2000 , month = "May"\n}\n'
    bib = parse_bib(text, "refs.bib")
    (entry,) = bib.entries
    assert (entry.type, entry.key) == ("inproceedings", "a:b/1")
    assert text[entry.span.start : entry.span.end] == text[7:-1] == entry.body.text
    assert text[entry.key_span.start : entry.key_span.end] == "a:b/1"
    assert [(f.name, f.raw, f.value) for f in entry.fields] == [
        ("title", "{A {B} C}", "A B C"),
        ("year", "2000", "2000"),
        ("month", '"May"', "May"),
    ]
    for field in entry.fields:
        assert text[field.name_span.start : field.name_span.end].lower() == field.name
        assert text[field.value_span.start : field.value_span.end] == field.raw
    assert bib.problems == ()


def test_values_are_plain_unicode() -> None:
    bib = parse_bib(
        '@string{acl = {Proc. of the } # "{ACL}"}\n'
        '@misc{a, author = {Schr{\\"o}dinger, E. and {\\O}ye, P.~Q.},\n'
        '  booktitle = acl # ", " # 2019, month = oct, note = unknown,\n'
        "  url = {https://x.org/~a_b\\%20c}, title = {A\n   {\\em deep} \\& {N}ew $x^2$ -- view},\n"
        '  howpublished = {\\url{https://x.org/a_b~c}}, doi = "10.1/a{\\_}b"}\n'
    )
    (entry,) = bib.entries
    assert entry.get("author") == "Schrödinger, E. and Øye, P. Q."
    assert entry.get("booktitle") == "Proc. of the ACL, 2019"
    assert entry.get("month") == "October"
    assert entry.get("note") == "unknown"
    assert entry.get("url") == "https://x.org/~a_b%20c"
    assert entry.get("title") == "A deep & New x2 – view"
    assert entry.get("howpublished") == "https://x.org/a_b~c"
    assert entry.get("doi") == "10.1/a_b"
    assert entry.get("absent") == ""
    assert [author.family for author in entry.body.authors] == ["Schrödinger", "Øye"]


def test_parentheses_comments_and_preambles_are_understood() -> None:
    bib = parse_bib(
        "\ufeffplain text, a@b.org {x}\r\n@article(a, title = {x)y}, note = (no))\r\n"
        '@comment{ @article{hidden, title={x}} }\r\n@preamble{"\\newcommand{\\x}{}"}\r\n'
        "@misc{b} @misc{c,}\r\n"
    )
    assert [entry.key for entry in bib.entries] == ["a", "b", "c"]
    assert bib.entries[0].get("title") == "x)y"
    assert [block.type for block in bib.blocks] == ["comment", "preamble"]


def test_a_commented_out_entry_is_no_entry() -> None:
    bib = parse_bib(
        "%@misc{a,\n%  title = {x}\n%}\n@misc{b,\n  % a remark, with commas\n  t = {y}}"
    )
    assert [(e.key, e.names) for e in bib.entries] == [("b", ("t",))]
    assert bib.problems == ()


@pytest.mark.parametrize(
    ("broken", "code", "line"),
    [
        ("@article{a,\n title = {Foo {bar},\n year = {2000}\n}", "bib-unclosed-value", 2),
        ("@article{a,\n title = {Foo {bar,\n year = {2000}\n}", "bib-unclosed-value", 2),
        ('@article{a,\n title = "Foo bar,\n year = {2000}\n}', "bib-unclosed-value", 2),
        (
            '@article{a,\n title = "Foo bar,\n note = "x",\n year = {2000}\n}',
            "bib-unclosed-value",
            2,
        ),
        ("@article{a,\n title = {Foo bar},\n year = {2000}\n", "bib-unclosed", 1),
        ("@article{a,\n title = {Foo bar}\n year = {2000}\n}", "bib-missing-comma", 2),
        ("@article{a\n title = {Foo bar},\n year = {2000}\n}", "bib-missing-comma", 1),
        ("@article{a,\n title {Foo bar},\n year = {2000}\n}", "bib-missing-equals", 2),
        ("@article{a,\n title = {Foo bar},\n note = ,\n year = {2000}\n}", "bib-missing-value", 3),
        ("@article{a,\n title = {Foo bar},,\n year = {2000}\n}", "bib-extra-comma", 2),
        ("@article{a,\n title = {Foo bar}},\n year = {2000}\n}", "bib-extra-brace", 2),
        ("@article{a,\n title = {Foo bar},\n ?!, year = {2000}\n}", "bib-unexpected-text", 3),
        ("@article{a,\n title = {Foo bar}, year = {2000}, year = 1\n}", "bib-duplicate-field", 2),
        ("@article{a b,\n title = {Foo bar}, year = {2000}\n}", "bib-key-blank", 1),
        ("@article{,\n title = {Foo bar}, year = {2000}\n}", "bib-missing-key", 1),
        ("@article{\n title = {Foo bar}, year = {2000}\n}", "bib-missing-key", 2),
    ],
)
def test_a_fault_is_named_and_the_rest_is_read(broken: str, code: str, line: int) -> None:
    good = "@misc{good1, title = {One}}\n\n"
    bib = parse_bib(good + broken + "\n\n@misc{good2,\n title = {Two}\n}\n", "refs.bib")
    assert [entry.key for entry in bib.entries][::2] == ["good1", "good2"]
    assert bib.entries[2].get("title") == "Two"
    assert codes(bib) == [(code, line + 2)]
    assert "Foo bar" in bib.entries[1].get("title")
    assert bib.entries[1].get("year") == "2000"
    (problem,) = bib.problems
    assert problem.path == "refs.bib" and problem.message.endswith(".") and problem.hint


def test_a_value_may_quote_a_whole_entry() -> None:
    bib = parse_bib(
        "@misc{a, abstract = {Cite as\n@article{inner, title={x}}\nplease}, year = 1}\n@misc{b}"
    )
    assert [entry.key for entry in bib.entries] == ["a", "b"]
    assert bib.entries[0].get("year") == "1"


def test_identity_is_read_from_whichever_field_holds_it() -> None:
    bib = parse_bib(
        "@article{a, journal = {arXiv preprint arXiv:1706.03762}, year = 2017}\n"
        "@misc{b, eprint = {1706.03762v2}, archivePrefix = {arXiv}, date = {2017-06-12}}\n"
        "@misc{c, url = {https://doi.org/10.18653/v1/N19-1423}, eprint = {12345}, archiveprefix={x}}\n"
    )
    a, b, c = (entry.body for entry in bib.entries)
    assert (a.arxiv, b.arxiv, c.arxiv) == ("1706.03762", "1706.03762", "")
    assert (a.year, b.year, c.year) == (2017, 2017, None)
    assert c.doi == "10.18653/v1/n19-1423"


def test_a_changed_text_that_is_read_leaves_the_macros_of_the_file_as_they_were() -> None:
    text = '@string{acl = "Proc"}\n\n@article{a,\n  journal = acl\n}\n'
    bib = parse_bib(text)
    changed = reparse(bib, text.replace("Proc", "Changed").replace("{acl", "{emnlp"))
    assert bib.strings == {"acl": '"Proc"'}
    assert bib.entries[0].body.get("journal") == "Proc"
    assert changed.strings == {"emnlp": '"Changed"'}
