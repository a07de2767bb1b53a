"""References as a CSL processor renders them."""

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.features.text.csl_item import TYPES, csl_of_entry, csl_of_work
from citewell.features.text.reference import author_year, plain_reference, style_named
from citewell.model import Author, CitewellError, Work

ENTRIES = r"""
@string{nips = "Advances in Neural Information Processing Systems"}
%! article
@article{a,
  author = {M{\"u}ller, {\L}ukasz and {OpenAI} and van der Berg, Jan},
  title = {What is it? {A} *study* of $x<y$},
  journal = {Nature}, volume = 3, number = 4, pages = {1--20}, year = 2019, month = may,
  doi = {10.1000/x_y(1)z},
}
%! inproceedings
@inproceedings{b,
  author = {Vaswani, Ashish and Shazeer, Noam}, title = {Attention is all you need?},
  booktitle = nips, pages = {5998--6008}, year = {2017},
  editor = {Guyon, Isabelle and Luxburg, Ulrike von}, publisher = {Curran},
}
%! book
@book{c, author = {Knuth, Donald E.}, title = {The Art}, publisher = {AW}, edition = {Third},
  year = 1997, volume = 2}
%! phdthesis
@phdthesis{d, author = {Kim, Ada}, title = {On Trees}, school = {MIT}, year = 2011}
%! techreport
@techreport{e, author = {Xu, Yi}, title = {A Report}, institution = {Bell}, number = {TR-3},
  year = 1999}
%! preprint
@misc{f, author = {Yu, Zoe}, title = {Early}, eprint = {1706.03762}, archiveprefix = {arXiv},
  year = 2017}
%! online
@online{g, title = {A Page}, url = {https://example.org/a_b}, date = {2020-03-04},
  organization = {The Group}}
%! chapter
@incollection{h, author = {Abel, Bo}, title = {A Chapter}, booktitle = {A Book},
  editor = {Esser, Fay}, pages = {3-4}, publisher = {Pub}, year = 2001}
%! proceedings
@proceedings{k, editor = {Esser, Fay and Gao, Hu}, title = {Proceedings}, year = 2001}
%! others
@article{l, author = {Abel, Bo and others}, title = {Many.}, journal = {J}, year = {in press}}
"""

APA = {
    "article": "Müller, Ł., OpenAI, & van der Berg, J. (2019). What is it? A *study* of x<y. "
    "Nature, 3(4), 1–20. https://doi.org/10.1000/x_y(1)z",
    "inproceedings": "Vaswani, A., & Shazeer, N. (2017). Attention is all you need? In I. Guyon & "
    "U. von Luxburg (Eds.), Advances in Neural Information Processing Systems (pp. 5998–6008). "
    "Curran.",
    "book": "Knuth, D. E. (1997). The Art (3rd ed., Vol. 2). AW.",
    "phdthesis": "Kim, A. (2011). On Trees [PhD thesis, MIT].",
    "techreport": "Xu, Y. (1999). A Report (No. TR-3). Bell.",
    "preprint": "Yu, Z. (2017). Early (arXiv:1706.03762). arXiv. https://arxiv.org/abs/1706.03762",
    "online": "The Group. (2020). A Page. https://example.org/a_b",
    "chapter": "Abel, B. (2001). A Chapter. In F. Esser (Ed.), A Book (pp. 3–4). Pub.",
    "proceedings": "Esser, F., & Gao, H. (Eds.). (2001). Proceedings.",
    "others": "Abel, B., & others. (in press). Many. J.",
}
MLA = {
    "article": "Müller, Łukasz, et al. “What is it? A *study* of x<y.” Nature, vol. 3, no. 4, 2019, "
    "pp. 1–20, https://doi.org/10.1000/x_y(1)z.",
    "inproceedings": "Vaswani, Ashish, and Noam Shazeer. “Attention is all you need?” Advances in "
    "Neural Information Processing Systems, edited by Isabelle Guyon and Ulrike von Luxburg, "
    "Curran, 2017, pp. 5998–6008.",
    "book": "Knuth, Donald E. The Art. 3rd ed., vol. 2, AW, 1997.",
    "phdthesis": "Kim, Ada. On Trees. MIT, 2011.",
    "techreport": "Xu, Yi. A Report. no. TR-3, Bell, 1999.",
    "preprint": "Yu, Zoe. “Early.” arXiv:1706.03762, arXiv, 2017, https://arxiv.org/abs/1706.03762.",
    "online": "The Group. “A Page.” 2020, https://example.org/a_b.",
    "chapter": "Abel, Bo. “A Chapter.” A Book, edited by Fay Esser, Pub, 2001, pp. 3–4.",
    "proceedings": "Esser, Fay, and Hu Gao, editors. Proceedings. 2001.",
    "others": "Abel, Bo, and others. “Many.” J, in press.",
}


def items(text=ENTRIES):
    bib = parse_bib(text.replace("%! ", "% "), "refs.bib")
    return [csl_of_entry(bib, entry) for entry in bib.entries]


@pytest.mark.parametrize(("number", "kind"), list(enumerate(APA)))
def test_each_kind_of_entry_is_rendered_as_the_manual_says(number, kind):
    assert style_named("apa").reference(items()[number]).text == APA[kind]


def test_markdown_marks_what_is_italic_and_escapes_the_rest():
    found = style_named("apa").reference(items()[0]).markdown
    assert r"A \*study\* of x\<y. *Nature*, *3*(4)" in found
    assert r"[https://doi.org/10.1000/x\_y(1)z](https://doi.org/10.1000/x_y%281%29z)" in found


def test_html_escapes_what_a_record_says():
    item = {"type": "book", "title": "<script>alert(1)</script> & co", "author": []}
    found = style_named("apa").reference(item).html
    assert "<i>&lt;script&gt;alert(1)&lt;/script&gt; &amp; co</i>" in found


@pytest.mark.parametrize(
    ("short", "name"),
    [("MLA", "modern-language-association"), ("harvard", "harvard-cite-them-right")],
)
def test_a_style_may_be_named_as_people_do(short, name):
    assert style_named(short).reference(items()[2]) == style_named(name).reference(items()[2])


def test_a_style_of_ones_own_is_taken_from_a_file_beside_the_paper(tmp_path):
    (tmp_path / "mine.csl").write_text(
        """<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">
  <info><title>Mine</title><id>mine</id><updated>2026-01-01T00:00:00Z</updated></info>
  <citation><layout><text variable="title"/></layout></citation>
  <bibliography><layout suffix="!"><text variable="title" font-weight="bold"/></layout></bibliography>
</style>""",
        encoding="utf-8",
    )
    style = style_named("mine.csl", [tmp_path])
    assert style.reference(items()[2]).markdown == "**The Art**!"
    assert style.citation(items()[2]).text == "The Art"


@pytest.mark.parametrize(
    ("name", "code"),
    [("no-such-style", "style-unknown"), ("gone.csl", "style-unknown"), ("../x", "style-unknown")],
)
def test_a_style_that_is_not_there_is_told_with_its_cure(tmp_path, name, code):
    with pytest.raises(CitewellError) as caught:
        style_named(name, [tmp_path])
    assert caught.value.problem.code == code
    assert "[styles]" in caught.value.problem.hint


@pytest.mark.parametrize(
    "text",
    [
        "no xml",
        "<style/>",
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><x>&b;</x>',
        """<style xmlns="http://purl.org/net/xbiblio/csl" class="in-text" version="1.0">
  <macro name="m"><text macro="m"/></macro>
  <citation><layout><text macro="m"/></layout></citation>
  <bibliography><layout><text macro="m"/></layout></bibliography></style>""",
    ],
)
def test_a_broken_style_is_a_problem_or_gives_the_plain_form(tmp_path, text):
    path = tmp_path / "bad.csl"
    path.write_text(text, encoding="utf-8")
    try:
        style = style_named(str(path))
    except CitewellError as error:
        assert error.problem.code == "style-unreadable"
    else:
        assert style.reference(items()[2]).text == plain_reference(items()[2]).text


@pytest.mark.parametrize("kind", sorted({*TYPES, "unheard-of"}))
def test_no_entry_type_is_lost_in_any_style_that_ships(kind):
    (item,) = items(f"@{kind}{{k, author = {{Ōe, Ken}}, title = {{A Title}}, year = {{2001}}}}")
    for name in ("apa", "harvard-cite-them-right"):
        found = style_named(name).reference(item).text
        assert "A Title" in found
        assert "Ōe" in found
    assert author_year(item) == "Ōe 2001"


def test_inherited_fields_are_rendered_too():
    _, item = items(
        "@proceedings{v, title = {The Volume}, editor = {Esser, Fay}, year = 2001}\n"
        "@inproceedings{p, author = {Abel, Bo}, title = {Part}, crossref = {v}}"
    )
    found = style_named("apa").reference(item).text
    assert found == "Abel, B. (2001). Part. In F. Esser (Ed.), The Volume."


def test_a_record_of_a_library_is_rendered_alike():
    work = Work(
        id="x:1", title="Graph Attention Networks", kind="inproceedings", year=2018,
        authors=(Author("Veličković", "Petar"), Author("Bengio", "Yoshua")), booktitle="ICLR",
    )  # fmt: skip
    item = csl_of_work(work)
    expected = "Veličković, P., & Bengio, Y. (2018). Graph Attention Networks. In ICLR."
    assert style_named("apa").reference(item).text == expected
    assert style_named("apa").citation(item).text == "(Veličković & Bengio, 2018)"
    assert author_year(item) == "Veličković & Bengio 2018"


def test_every_entry_of_real_projects_is_rendered(shared_data):
    style = style_named("apa")
    rendered = 0
    for path in sorted((shared_data / "projects").rglob("*.bib")):
        bib = parse_bib(path.read_text("utf-8", errors="replace"), str(path))
        for entry in bib.entries[:: max(1, len(bib.entries) // 40)]:
            item = csl_of_entry(bib, entry)
            found = style.reference(item)
            assert found.text.strip(" ."), entry.key
            assert found.markdown
            rendered += 1
    assert rendered > 500
