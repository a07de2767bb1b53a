"""What a bibliography writes in several ways, and the edits that make it one."""

from __future__ import annotations

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.documents.textfile import apply_edits
from citewell.features.review.consistency import inconsistencies

LONG = "Advances in Neural Information Processing Systems"
JMLR = "Journal of Machine Learning Research"


def entry(key: str, kind: str = "inproceedings", **fields: str) -> str:
    given = {"title": "{Trees in rows}", "author": "{Ash, Ann}", "year": "{2020}"} | fields
    return f"@{kind}{{{key},\n" + "".join(f"  {n} = {v},\n" for n, v in given.items()) + "}\n"


def found_in(*entries: str, keeps_case: bool = False) -> dict[str, tuple[str, ...]]:
    bib = parse_bib("".join(entries), "refs.bib")
    found = inconsistencies(bib, bib.entries, keeps_case=keeps_case)
    return {one.code: one.keys for one in found}


def venues(*names: str, field: str = "booktitle", kind: str = "inproceedings") -> list[str]:
    return [entry(f"k{n}", kind, **{field: f"{{{name}}}"}) for n, name in enumerate(names)]


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        ((LONG, LONG, "NeurIPS"), ("k2",)),
        ((LONG, LONG, "NIPS"), ("k2",)),
        (("NeurIPS", "NIPS", "NeurIPS"), ("k1",)),
        ((LONG, f"{LONG} 30", f"{LONG}, Volume 31"), None),
        (("Proceedings of the 31st International Conference on Machine Learning",
          "International Conference on Machine Learning"), None),
        ((LONG, "NeurIPS Workshop on Trees"), None),
        (("Orchard Days", "Orchard Nights"), None),
    ],
)  # fmt: skip
def test_a_venue_has_one_spelling(names: tuple[str, ...], keys: tuple[str, ...] | None) -> None:
    assert found_in(*venues(*names)).get("venue-spelling") == keys


def test_a_journal_is_one_if_its_words_are_abbreviated() -> None:
    same = venues(JMLR, JMLR, "J. Mach. Learn. Res.", field="journal", kind="article")
    assert found_in(*same)["venue-spelling"] == ("k2",)
    names = ("SIAM Journal on Computing", "SIAM J. Numer. Anal.")
    assert "venue-spelling" not in found_in(*venues(*names, field="journal", kind="article"))


@pytest.mark.parametrize(
    ("code", "fields", "others", "keys"),
    [
        ("given-names", {"author": "{Ash, A. B.}"}, {}, ("a",)),
        ("title-braces", {"title": "{{Trees in Rows}}"}, {}, ("a",)),
        # The braces of a title of one word protect a name.
        ("title-braces", {"title": "{{OrchNet}}"}, {}, None),
        ("given-names", {"author": "{Ash, Yu. É.}"}, {"author": "{Ash, A.}"}, None),
        ("given-names", {"author": "{Ash, Yu}"}, {"author": "{Ash, A.}"}, ("a",)),
        # A name in capitals is no row of initials, and a company has none.
        ("given-names", {"author": "{ANNABEL B. ASH}"}, {}, None),
        ("given-names", {"author": "{Ash, AB}"}, {}, ("a",)),
        ("given-names", {"author": "{Orchard Optimization, LLC}"}, {}, None),
        ("title-capitals", {"title": "{OrchNet for trees}"}, {}, ("a",)),
        ("title-capitals", {"title": "{{OrchNet} for trees}"}, {}, None),
        ("title-capitals", {"title": "{TREES IN ROWS}"}, {}, None),
        ("pages-partly", {"booktitle": "{ICML}"}, {"booktitle": "{ICML}", "pages": "{1--2}"}, ("a",)),
        ("doi-partly", {"booktitle": "{ICML}", "doi": "{10.1/a}"}, {"booktitle": "{ICML}"}, ("a",)),
        ("doi-link", {"doi": "{https://doi.org/10.1/a}"}, {}, ("a",)),
        ("doi-link", {"url": "{http://dx.doi.org/10.1/a}"}, {}, ("a",)),
        ("doi-link", {"url": "{https://doi.org/10.1/a}"}, {}, None),
        ("dates-partly", {"month": "jun"}, {}, ("a",)),
        # Pages of the web have a date of their own.
        ("dates-partly", {"kind": "misc", "month": "jun"}, {"kind": "misc"}, None),
        ("arxiv-kinds", {"kind": "phdthesis", "school": "{Grove}", "eprint": "{2001.00001}"},
         {"kind": "misc", "eprint": "{2001.00002}"}, None),
        ("arxiv-kinds", {"eprint": "{2001.00001}", "archiveprefix": "{arXiv}"},
         {"journal": "{arXiv preprint arXiv:2001.00002}"}, ("a",)),
        # The journal that has the number is what is printed.
        ("arxiv-kinds", {"journal": "{arXiv:2001.00001 [cs]}", "eprint": "{2001.00001}"},
         {"journal": "{arXiv preprint arXiv:2001.00002}"}, None),
        ("arxiv-kinds", {"journal": "{ArXiv e-prints}", "eprint": "{2001.00001}",
         "archiveprefix": "{arXiv}"}, {"journal": "{arXiv preprint arXiv:2001.00002}"}, ("a",)),
    ],
)  # fmt: skip
def test_what_differs_is_reported_once_with_its_keys(
    code: str, fields: dict[str, str], others: dict[str, str], keys: tuple[str, ...] | None
) -> None:
    rest = [entry(key, **others) for key in ("b", "c", "d")]
    assert found_in(entry("a", **fields), *rest).get(code) == keys
    assert code not in found_in(*rest)


def test_two_preprints_have_no_usual_form_and_equal_counts_no_majority() -> None:
    forms = (
        {"eprint": "{2001.00001}", "archiveprefix": "{arXiv}"},
        {"journal": "{arXiv:2001.00002}"},
    )
    assert "arxiv-kinds" not in found_in(
        *(entry(key, **form) for key, form in zip("ab", forms, strict=True))
    )
    bib = parse_bib(
        "".join(entry(k, **f) for k, f in zip("abcd", forms * 2, strict=True)), "refs.bib"
    )
    (found,) = inconsistencies(bib, bib.entries)
    assert found.message == (
        "4 preprints on arXiv are entered in 2 ways: 2 as @inproceedings with eprint, 2 as "
        "@inproceedings with journal."
    )


def test_a_name_that_a_conference_gave_up_is_right_for_its_years() -> None:
    old = entry("a", booktitle="{NIPS}", year="{2015}")
    new = [entry(key, booktitle="{NeurIPS}", year="{2020}") for key in ("b", "c")]
    assert "venue-spelling" not in found_in(old, *new)
    late = entry("d", booktitle="{NIPS}", year="{2021}")
    assert found_in(old, *new, late)["venue-spelling"] == ("d",)


@pytest.mark.parametrize(
    "written",
    ['"NeurIPS" # np', "{NeurIPS} # np", "np", "{NeurIPS, volume 32}", "{NeurIPS (Oral)}"],
)
def test_only_a_plain_value_is_replaced_by_the_usual_venue(written: str) -> None:
    text = '@string{np = ""}\n' + "".join(venues(LONG, LONG)) + entry("x", booktitle=written)
    bib = parse_bib(text, "refs.bib")
    assert [edit for one in inconsistencies(bib, bib.entries) for edit in one.edits] == []


def test_the_words_of_a_macro_of_another_file_are_unknown() -> None:
    others = [entry(key, booktitle="neurips") for key in ("a", "b")]
    long = entry("c", booktitle=f"{{{LONG}}}")
    assert "venue-spelling" not in found_in(*others, long)
    known = '@string{neurips = "NeurIPS"}\n'
    assert found_in(known, *others, long)["venue-spelling"] == ("c",)


def test_the_usual_venue_is_copied_as_it_is_written() -> None:
    text = "".join(
        venues(JMLR, f"{{{JMLR[:10]}}}{JMLR[10:]}", f"{{{JMLR[:10]}}}{JMLR[10:]}",
               "J. Mach. Learn. Res.", field="journal", kind="article")
    )  # fmt: skip
    bib = parse_bib(text, "refs.bib")
    edits = [edit for one in inconsistencies(bib, bib.entries) for edit in one.edits]
    assert apply_edits(text, edits).count(f"{{{{{JMLR[:10]}}}{JMLR[10:]}}}") == 3


def test_a_macro_in_a_title_gets_no_braces() -> None:
    title = "{Trees of } # OrchName # { and AppleNet}"
    text = '@string{OrchName = "x"}\n' + entry("a", title=title)
    bib = parse_bib(text, "refs.bib")
    edits = [edit for one in inconsistencies(bib, bib.entries) for edit in one.edits]
    assert apply_edits(text, edits) == text


def test_the_edits_make_all_entries_like_the_most() -> None:
    text = "".join(venues(LONG, LONG, "NeurIPS")) + entry(
        "x", "article", title='"OrchNet and {GPT} trees"', url="{http://dx.doi.org/10.1/a}"
    )
    bib = parse_bib(text, "refs.bib")
    edits = sorted(
        (edit for one in inconsistencies(bib, bib.entries) for edit in one.edits),
        key=lambda edit: edit.span,
    )
    assert apply_edits(text, edits) == text.replace("{NeurIPS}", f"{{{LONG}}}").replace(
        '"OrchNet and', '"{OrchNet} and'
    ).replace("http://dx.doi.org/", "https://doi.org/")
