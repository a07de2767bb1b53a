"""Completion inside a .bib, and of bibliography paths, as plain data."""

from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.latex.scanner import scan_latex
from citewell.documents.markdown.scanner import scan_markdown
from citewell.features.bib.complete import (
    SiteKind,
    complete_bib,
    complete_paths,
    count_values,
    path_at,
    site_at,
)


def at(text):
    """The .bib and the site at the cursor, which `|` marks."""
    cursor = text.index("|")
    bib = parse_bib(text[:cursor] + text[cursor + 1 :], "/p/refs.bib")
    return bib, site_at(bib, cursor)


def offered(text, *others, more=()):
    bib, site = at(text)
    assert site is not None
    bibs = [bib, *(parse_bib(other, f"/p/{n}.bib") for n, other in enumerate(others))]
    return complete_bib(site, bibs, count_values, bib.text, more)


def accepted(text, number=0, *others):
    """The text after an item was accepted."""
    bib, site = at(text)
    item = offered(text, *others)[number]
    return bib.text[: site.span.start] + item.text + bib.text[site.span.end :]


def test_a_new_entry_comes_with_the_fields_that_it_needs():
    snippet = offered("@inpro|")[0].snippet
    assert snippet == (
        "inproceedings{${1:key},\n  author = {${2}},\n  title = {${3}},\n"
        "  booktitle = {${4}},\n  year = {${5}},\n}$0"
    )


@pytest.mark.parametrize(
    "text",
    [
        "@article{k,|}",
        "@article{k, |\n}\n@misc{b, title={T}}",
        "@article{k,\n  |",
        "@article{k,\n  title = {A, {B} C},\n  |\n  volume = 3,\n}",
        '@article{k,\n  title = "A {x} B" # foo # {c},\n  |}',
    ],
)
def test_fields_that_are_missing_come_first(text):
    items = offered(text)
    first = [item.label for item in items[:3]]
    assert first == [n for n in ("author", "title", "journal", "year", "volume") if n in first]
    assert first[0] == "author"
    assert items[0].detail == "required in @article"
    assert ("title" in [item.label for item in items]) == ("title =" not in text)
    assert "volume =" not in text or "volume" not in [item.label for item in items]


def test_a_field_name_is_completed_with_its_braces_or_before_those_it_has():
    assert accepted("@article{k,\n  jour|\n}") == "@article{k,\n  journal = {\n}"
    assert accepted("@article{k,\n  jour| = {X},\n}") == "@article{k,\n  journal = {X},\n}"


JOURNALS = (
    "@article{a, journal = {J. of {ML}}}\n@article{b, journal = {J. of {ML}}}\n"
    '@article{c, journaltitle = "Nature"}\n'
)


def test_the_journals_of_the_project_come_first_and_keep_their_markup():
    items = offered("@article{k, journal = {|}}", JOURNALS, more=["Nature", "Science"])
    assert [item.label for item in items[:2]] == ["J. of {ML}", "Nature"]
    assert items[-1].label == "Science"
    assert "Journal of Machine Learning Research" in [item.label for item in items]
    assert (
        accepted("@article{k, journal = {na|}}", 0, JOURNALS) == "@article{k, journal = {Nature}}"
    )


def test_months_and_macros_are_offered_where_a_value_begins():
    strings = '@string{nips = "Neural Information"}\n'
    assert [item.label for item in offered("@article{k, month = |}")][:3] == ["jan", "feb", "mar"]
    items = offered(strings + "@article{k, journal = n|}")
    assert [(item.label, item.detail) for item in items][:1] == [("nips", "Neural Information")]
    assert accepted("@article{k, month = ju|}") == "@article{k, month = jun}"


def test_crossref_offers_the_keys_of_the_file_volumes_first():
    volumes = "@misc{other, title={T}}\n@proceedings{acl20, title = {Proceedings of ACL}}\n"
    items = offered(volumes + "@inproceedings{k, crossref = {|}}")
    assert [(item.label, item.detail) for item in items] == [
        ("acl20", "Proceedings of ACL"),
        ("other", "T"),
    ]
    assert accepted(volumes + "@book{k, related = {other, ac|}}").endswith(
        "related = {other, acl20}}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "@article{ke|y, title={T}}",
        "@article{k, title={T}}|",
        "% a comm|ent",
        "plain |",
        "@comment{jabref|}",
        "somebody@exam|ple.org",
        "@article{k, title={T}}\n\n|",
    ],
)
def test_nothing_is_offered_where_a_key_or_prose_is_typed(text):
    assert at(text)[1] is None


def test_no_place_of_any_cut_off_file_is_an_error():
    text = '@string{a = "x"}\n@article{k,\n title = {A {b}} # a, month = jan,\n x="q{r}",\n}\n@mi'
    for end in range(len(text) + 1):
        bib = parse_bib(text[:end])
        for cursor in range(end + 1):
            site = site_at(bib, cursor)
            if site is not None:
                assert site.span.start <= cursor <= site.span.end
                assert site.kind in SiteKind
                complete_bib(site, [bib], count_values, bib.text)


BIBS = [Path("/p/refs.bib"), Path("/p/bib/more.bib"), Path("/shared/all.bib")]


def paths(document, cursor):
    found = path_at(document, cursor)
    if found is None:
        return None
    return [item.text for item in complete_paths(document, *found, Path("/p/main.tex"), BIBS)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r"\bibliography{|}", ["refs", "bib/more", "../shared/all"]),
        (r"\bibliography{refs,m|}", ["bib/more"]),
        (r"\addbibresource{|}", ["refs.bib", "bib/more.bib", "../shared/all.bib"]),
        (r"\addbibresource[location=local]{mo|", ["bib/more.bib"]),
        (r"\bibliographystyle{|}", None),
        (r"% \bibliography{|}", None),
        (r"see \cite{|}", None),
    ],
)
def test_bibliographies_are_named_as_the_command_wants_them(text, expected):
    cursor = text.index("|")
    document = scan_latex(text.replace("|", ""), "/p/main.tex")
    assert paths(document, cursor) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "---\ntitle: T\nbibliography: |\n---\n",
            ["refs.bib", "bib/more.bib", "../shared/all.bib"],
        ),
        ("---\nbibliography: [refs.bib, bi|]\n---\n", ["bib/more.bib", "../shared/all.bib"]),
        ("---\nbibliography:\n  - refs.bib\n  - mo|\n---\n", ["bib/more.bib"]),
        ("---\nauthor:\n  - mo|\n---\n", None),
        ("bibliography: |", None),
    ],
)
def test_bibliographies_are_named_in_the_front_matter(text, expected):
    cursor = text.index("|")
    document = scan_markdown(text.replace("|", ""), "/p/main.md")
    assert paths(document, cursor) == expected


def test_a_value_that_has_no_brace_yet_gets_both():
    other = "@proceedings{emnlp20, booktitle = {EMNLP}, title = {T}}\n@string{jf = {J. of Foo}}\n"
    assert accepted(f"{other}@inproceedings{{k,\n  crossref = |\n}}").endswith(
        "  crossref = {emnlp20}\n}"
    )
    assert accepted(f"{other}@inproceedings{{k,\n  booktitle = EM|\n}}").endswith(
        "  booktitle = {EMNLP}\n}"
    )
    assert accepted(f"{other}@article{{k,\n  journal = jf|\n}}").endswith("  journal = jf\n}")
