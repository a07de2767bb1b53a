"""An entry says what the record says, in the style of its file."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from citewell.documents.bib.edit import insert_entry, new_bib_text
from citewell.documents.bib.reader import parse_bib
from citewell.documents.bib.style import BibStyle, detect_style, entry_text
from citewell.documents.bib.work import entry_work, find_work, inherited
from citewell.documents.latex.plaintext import escape_title
from citewell.features.text.csl_item import csl_of_work
from citewell.features.text.reference import ris_of_work
from citewell.model import Author, Work
from citewell.model.bib import FileEdit
from citewell.options.tree import BibOptions

OPTIONS = BibOptions()


@pytest.fixture
def attention() -> Work:
    return Work(
        id="x:1",
        title="Attention Is All You Need",
        authors=(Author("Vaswani", "Ashish"), Author("van den Berg", "Jan", "Jr.")),
        year=2017,
        kind="inproceedings",
        booktitle="Advances in Neural Information Processing Systems",
        pages="5998-6008",
        doi="10.1000/a_b",
        url="https://papers.org/a_b?c=1&d=50%25",
    )


@pytest.fixture
def applied() -> Callable[[str, FileEdit | None], str]:
    def apply(text: str, edit: FileEdit | None) -> str:
        assert edit is not None
        (change,) = edit.edits
        return text[: change.span.start] + change.text + text[change.span.end :]

    return apply


def test_the_default_entry(attention: Work) -> None:
    assert entry_text(attention, "vaswani2017attention", BibStyle()) == (
        "@inproceedings{vaswani2017attention,\n"
        "  title = {Attention Is All You Need},\n"
        "  author = {Vaswani, Ashish and van den Berg, Jr., Jan},\n"
        "  booktitle = {Advances in Neural Information Processing Systems},\n"
        "  pages = {5998--6008},\n"
        "  year = {2017},\n"
        "  doi = {10.1000/a_b},\n"
        "  url = {https://papers.org/a_b?c=1&d=50%25},\n"
        "}"
    )


@pytest.mark.parametrize(
    ("fields", "kind", "holds"),
    [
        ({"kind": "article", "journal": "Nature"}, "article", "journal = {Nature}"),
        ({"kind": "misc", "journal": "Nature"}, "article", "journal = {Nature}"),
        ({"kind": "inproceedings", "venue": "icml"}, "inproceedings", "Machine Learning}"),
        ({"kind": "inproceedings", "venue": "tmlr"}, "article", "journal = {Transactions on"),
        ({"kind": "inproceedings", "venue": "XYZ"}, "inproceedings", "booktitle = {XYZ}"),
        ({"kind": "incollection", "booktitle": "B"}, "incollection", "booktitle = {B}"),
        ({"kind": "phdthesis", "publisher": "MIT"}, "phdthesis", "school = {MIT}"),
        ({"kind": "techreport", "publisher": "SRI"}, "techreport", "institution = {SRI}"),
        ({"kind": "book", "publisher": "R&D"}, "book", "publisher = {R\\&D}"),
        ({"kind": "article"}, "misc", "title"),
        ({"kind": "online"}, "misc", "title"),
        ({"kind": "article", "journal": "CoRR", "arxiv": "1706.03762"}, "misc", "eprint = {1706.03762}"),
        ({"kind": "misc", "arxiv": "1706.03762"}, "misc", "url = {https://arxiv.org/abs/1706.03762}"),
        ({"kind": "misc", "arxiv": "1706.03762"}, "misc", "archiveprefix = {arXiv}"),
        ({"kind": "article", "journal": "Nature", "arxiv": "1706.03762"}, "article", "{Nature}"),
    ],
)  # fmt: skip
def test_the_entry_type_follows_the_record(fields: dict[str, str], kind: str, holds: str) -> None:
    work = Work(id="x", title="T", authors=(Author("A", "B"),), year=2020, **fields)
    text = entry_text(work, "k", BibStyle())
    assert text.startswith(f"@{kind}{{k,") and holds in text


@pytest.mark.parametrize(
    ("title", "written"),
    [
        ("BERT: Pre-Training of Deep Networks", "{BERT}: Pre-Training of Deep Networks"),
        ("GPT-3, mBERT and the ImageNet Data", "{GPT}-3, {mBERT} and the {ImageNet} Data"),
        ("U-Net for X-Ray Images", "{U-Net} for {X-Ray} Images"),
        ("A Study of T5 by I. M. Author", "A Study of {T5} by I. {M}. Author"),
        ("Variational Bayesian Methods", "Variational {Bayesian} Methods"),
        (
            "Parsing of unusual words in English and old Norse sagas",
            "Parsing of unusual words in {English} and old {Norse} sagas",
        ),
        ("R&D at 100% of $5 in C#", "{R\\&D} at 100\\% of \\$5 in {C}\\#"),
        ("An $\\mathcal{O}(n^2)$ Bound", "An {$\\mathcal{O}(n^2)$} Bound"),
        ("The \\emph{De Novo} Schr\\\"{o}dinger", "The De Novo Schrödinger"),
        ("Über die Ähnlichkeit", "Über die Ähnlichkeit"),
        ("The λ-Calculus and U\u0308ber ∞ and Λόγος", "The ${\\lambda}$-Calculus and Über ${\\infty}$ and Λόγος"),
        ("A {stray brace", "A stray brace"),
        ("snake_case and a~b", "snake\\_case and a\\textasciitilde{}b"),
    ],
)  # fmt: skip
def test_titles_keep_their_capitals(title: str, written: str) -> None:
    assert escape_title(title) == written


def test_organisations_and_names_with_and_stay_whole() -> None:
    work = Work(
        id="x",
        title="T",
        authors=(Author("Google Research"), Author("Marks and Spencer", "M."), Author("OpenAI")),
    )
    bib = parse_bib(entry_text(work, "k", BibStyle()))
    assert bib.entries[0].body.authors == work.authors


@pytest.mark.parametrize(
    "existing",
    [
        "@article{a,\n  title = {T},\n  author = {A, B},\n  year = {2017}\n}\n",
        "@Article{a,\n\tAuthor = {A, B},\n\tTitle = {T},\n\tYear = 2017}\n\n",
        "@ARTICLE{a,\r\n  AUTHOR    = \"A, B\",\r\n  TITLE     = \"T\",\r\n  YEAR      = 2017,\r\n}\r\n",
        "@article{a,\n  author={A, B},\n  title={T},\n  year={2017},\n  }\n",
        "@article{a,\n  author =  {A, B},\n  title =   {T},\n  year =    {2017},\n}\n",
        "@article{a,\n    year = {2017},\n    author = {A, B},\n    title = {T},\n}\n",
    ],
)  # fmt: skip
def test_an_entry_like_one_of_the_file_is_written_the_same_way(existing: str) -> None:
    bib = parse_bib(existing)
    work = Work(id="x", title="T", authors=(Author("A", "B"),), year=2017, kind="article")
    text = entry_text(work, "a", detect_style(bib))
    # The record has no journal, so the type differs; all else is equal.
    written = bib.entries[0].body.text
    head = written.index("{")
    assert text[text.index("{") :] == written[head:]


def test_preprints_follow_the_form_of_the_file() -> None:
    bib = parse_bib("@article{a,\n  title={T},\n  journal={arXiv preprint arXiv:1409.0473},\n}\n")
    work = Work(id="x", title="U", arxiv="1706.03762")
    text = entry_text(work, "k", detect_style(bib))
    assert text.startswith("@article{k,")
    assert "journal={arXiv preprint arXiv:1706.03762}" in text


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        ("", "", "\n"),
        ("\ufeff", "", "\n"),
        ("@misc{a, title = {T}}", "\n\n", "\n"),
        ("@misc{a, title = {T}}\n", "\n", "\n"),
        ("@misc{a, title = {T}}\n\n\n", "", "\n"),
        ("@misc{a, title = {T}}\n@misc{b, title = {T}}\n", "", "\n"),
        ("@misc{a, title = {T}}\r\n\r\n@misc{b, title = {T}}\r\n", "\r\n", "\r\n"),
        ("% only a remark", "\n\n", "\n"),
    ],
)
def test_a_new_entry_stands_at_the_end(
    text: str, before: str, after: str, attention: Work, applied: Callable[..., str]
) -> None:
    edit, key = insert_entry(parse_bib(text), attention, None, OPTIONS)
    new = applied(text, edit)
    assert new.startswith(text + before + "@inproceedings{" + key)
    assert new.endswith("}" + after)


@pytest.mark.parametrize("blanks", ["  ", "\t", "  \t "])
def test_blanks_at_the_end_of_a_file_do_not_indent_a_new_entry(
    attention: Work, applied: Callable[[str, FileEdit | None], str], blanks: str
) -> None:
    for text in (f"@misc{{a,\n  title = {{A}},\n}}\n\n{blanks}", blanks):
        edit, key = insert_entry(parse_bib(text), attention, None, OPTIONS)
        new = applied(text, edit)
        entry = entry_text(attention, key, detect_style(parse_bib(text)))
        assert new == text.removesuffix(blanks) + entry + "\n" + blanks


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("@misc{a, t = {x}}\n\n", "@misc{b,\n  title = {being ty"),
        ("@misc{a, t = {x}}\n", "  @misc{b,\n  title = {being typed},\n"),
        ("@misc{a, t = {x}}\n", "@comment{ never closed\n"),
        ("@misc{a, t = {x}}\n", "@"),
        ("", "@artic"),
        ("@misc{a, t = {x}}\n", "%@misc{b,"),
    ],
)
def test_a_new_entry_never_lands_inside_a_broken_end(
    head: str, tail: str, attention: Work, applied: Callable[..., str]
) -> None:
    edit, key = insert_entry(parse_bib(head + tail), attention, None, OPTIONS)
    new = applied(head + tail, edit)
    assert new.startswith(head.rstrip()) and new.endswith("}\n\n" + tail)
    assert key in parse_bib(new).by_key


def test_a_work_that_is_there_is_not_added_again(attention: Work) -> None:
    for there in (
        "@misc{old, doi = {https://doi.org/10.1000/A\\_B}}",
        "@misc{old, title = {{Attention} is all you need}, author = {Vaswani, A.}, year = {2018}}",
    ):
        assert insert_entry(parse_bib(there), attention, "new", OPTIONS) == (None, "old")
    other_year = "@misc{old, title = {Attention is all you need}, author={Vaswani}, year = {1999}}"
    other_author = "@misc{old, title = {Attention is all you need}, author={Else}, year = {2017}}"
    assert find_work(parse_bib(other_year), attention) is None
    assert find_work(parse_bib(other_author), attention) is None


def test_a_preprint_is_found_by_its_identifier() -> None:
    bib = parse_bib("@article{old, title={Old title}, journal={CoRR}, volume={abs/1706.03762}}")
    work = Work(id="x", title="New title", doi="10.48550/arxiv.1706.03762")
    found = find_work(bib, work)
    assert found is not None and found.key == "old"


def test_a_key_is_unique_in_the_file_and_in_the_project(attention: Work) -> None:
    bib = parse_bib("@misc{Vaswani2017Attention}")
    assert insert_entry(bib, attention, None, OPTIONS)[1] == "vaswani2017attentiona"
    taken = ("vaswani2017attentiona",)
    assert insert_entry(bib, attention, None, OPTIONS, taken)[1] == "vaswani2017attentionb"
    assert insert_entry(bib, attention, "mine", OPTIONS)[1] == "mine"
    assert (
        insert_entry(bib, attention, "vaswani2017attention", OPTIONS)[1] != "vaswani2017attention"
    )


def test_a_new_file_holds_one_entry(attention: Work) -> None:
    text, key = new_bib_text(attention, None, OPTIONS, newline="\r\n")
    assert key == "vaswani2017attention"
    assert text.startswith("@inproceedings{vaswani2017attention,\r\n") and text.endswith("}\r\n")
    assert "\n" not in text.replace("\r\n", "")


def test_fields_are_inherited_from_crossref_and_xdata() -> None:
    bib = parse_bib(
        "@inproceedings{p, title = {P}, crossref = {vol}, xdata = {x, none}, pages = {1--9}}\n"
        "@xdata{x, publisher = {Pub}, address = {Town}}\n"
        "@proceedings{vol, title = {Proc. of V}, year = {2001}, publisher = {Other}, pages = {999},\n"
        "  crossref = {p}}\n"
    )
    fields = inherited(bib.by_key, bib.entries[0])
    assert fields["booktitle"] == "Proc. of V"
    assert fields["title"] == "P"
    assert fields["publisher"] == "Pub"
    assert fields["pages"] == "1–9"
    work = entry_work(bib, bib.entries[0])
    assert (work.booktitle, work.year, work.pages) == ("Proc. of V", 2001, "1-9")
    assert work.provenance[0].source_id == "p"


@pytest.mark.parametrize(
    "start",
    [
        "",
        "@article{a,\n  author = {A B},\n title={X}, journal={J}, year={2001}, volume={2}\n}\n",
        "@inproceedings{a, title={X}, pages={1}, author={A}, booktitle={B}, year={2001}}\n",
    ],
)
def test_entries_that_are_added_one_after_another_have_their_fields_in_one_order(
    start: str, applied: Callable[[str, FileEdit | None], str]
) -> None:
    def work(number: int, **more: str) -> Work:
        title = f"Paper number {number} of many"
        return Work(id=str(number), title=title, authors=(Author("Doe", "J."),), year=2001, **more)

    kinds = (
        {"kind": "inproceedings", "booktitle": "Proc. A", "pages": "1-2", "doi": "10.1/a1"},
        {"kind": "article", "journal": "J", "volume": "3", "issue": "2", "pages": "3-9"},
        {"kind": "inproceedings", "booktitle": "Proc. B", "pages": "1-2", "publisher": "P"},
        {"kind": "misc", "arxiv": "1706.03762"},
        {"kind": "article", "journal": "J2", "volume": "3", "pages": "3-9", "doi": "10.2/22"},
    )
    text = start
    for number in range(len(kinds)):
        edit, _ = insert_entry(parse_bib(text), work(number, **kinds[number]), None, OPTIONS)
        text = applied(text, edit)
    orders = [
        ["in" if name in ("booktitle", "journal") else name for name in entry.names]
        for entry in parse_bib(text).entries
    ]
    for one in orders:
        for other in orders:
            shared = [name for name in one if name in other]
            assert shared == [name for name in other if name in one]


def test_a_field_name_that_is_too_long_for_the_column_does_not_end_the_alignment(
    applied: Callable[[str, FileEdit | None], str],
) -> None:
    text = "@book{a,\n  title  = {T},\n  author = {A, B},\n  year   = {2017},\n}\n"
    for number in range(4):
        names = (Author("Doe", "J."),)
        work = Work(id=str(number), title=f"Paper {number}", authors=names, year=2001 + number)
        work = msgspec.structs.replace(work, kind="inproceedings", booktitle="Proc. of A")
        edit, _ = insert_entry(parse_bib(text), work, None, OPTIONS)
        text = applied(text, edit)
    assert text.count("  title  = {") == 5
    assert text.count("  booktitle= {") == 4


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "see DOI"])
def test_an_address_that_is_none_of_the_web_is_left_out(attention: Work, address: str) -> None:
    work = msgspec.structs.replace(attention, url=address, doi="", arxiv="")
    assert "url" not in entry_text(work, "k", BibStyle())
    assert "URL" not in csl_of_work(work)
    assert address not in ris_of_work(work)


@pytest.mark.parametrize(
    ("recorded", "written"),
    [
        ("Advances in Neural Information Processing Systems 33: Annual Conference on Neural Information Processing Systems 2020, NeurIPS 2020, December 6-12, 2020, virtual", "Advances in Neural Information Processing Systems"),
        ("Advances in Neural Information Processing Systems 18 [Neural Information Processing Systems, NIPS 2005, December 5-8, 2005, Vancouver]", "Advances in Neural Information Processing Systems"),
        ("Advances in Neural Information Processing Systems 30", "Advances in Neural Information Processing Systems"),
        ("IEEE International Conference on Acoustics, Speech and Signal Processing, ICASSP 2022, Virtual and Singapore, 23-27 May 2022", "IEEE International Conference on Acoustics, Speech and Signal Processing"),
        ("ICASSP 2020 - 2020 IEEE International Conference on Acoustics, Speech and Signal Processing (ICASSP)", "IEEE International Conference on Acoustics, Speech and Signal Processing"),
        ("KDD '20: The 26th ACM SIGKDD Conference on Knowledge Discovery and Data Mining, Virtual Event, CA, USA, August 23-27, 2020", "Proceedings of the ACM SIGKDD International Conference on Knowledge Discovery and Data Mining"),
        ("6th International Conference on Learning Representations, ICLR 2018, Vancouver, BC, Canada, April 30 - May 3, 2018, Conference Track Proceedings", "International Conference on Learning Representations"),
        ("Interspeech 2021, 22nd Annual Conference of the International Speech Communication Association, Brno, Czechia, 30 August - 3 September 2021", "Proceedings of Interspeech"),
        ("Forty-first International Conference on Machine Learning, ICML 2024, Vienna, Austria, July 21-27, 2024", "Proceedings of the International Conference on Machine Learning"),
        ("Computer Vision - ECCV 2014 - 13th European Conference, Zurich, Switzerland, September 6-12, 2014, Proceedings, Part V", "Proceedings of the European Conference on Computer Vision"),
        ("Proceedings of the 12th Conference on the Care of Elms, Trees, and Roots, ELM 2018, Trento, Italy, October 2-7, 2018", "Proceedings of the Conference on the Care of Elms, Trees, and Roots"),
        ("Elm Care - ELM 2015 - 18th International Conference, Munich, Germany, October 5-9, 2015, Proceedings, Part III", "Elm Care"),
        # Names of publishers and of other volumes stay.
        ("Proceedings of the 60th Annual Meeting of the Association for Computational Linguistics (Volume 1: Long Papers)", ""),
        ("Findings of the Association for Computational Linguistics: EMNLP 2021", ""),
        ("Proceedings of the Conference on Fairness, Accountability, and Transparency", ""),
        ("2018 IEEE Conference on Computer Vision and Pattern Recognition Workshops, CVPR Workshops 2018, Salt Lake City, UT, USA, June 18-22, 2018", "IEEE Conference on Computer Vision and Pattern Recognition Workshops"),
    ],
)  # fmt: skip
def test_a_venue_is_written_as_authors_write_it(recorded: str, written: str) -> None:
    work = Work(id="x:1", title="A Title", kind="inproceedings", booktitle=recorded, year=2020)
    text, _ = new_bib_text(work, "k", OPTIONS)
    assert f"booktitle = {{{written or recorded}}}" in text
    text, _ = new_bib_text(work, "k", BibOptions(venue="recorded"))
    assert f"booktitle = {{{recorded}}}" in text


@pytest.mark.parametrize(
    ("held", "written"),
    [
        ("booktitle = {Proc. NeurIPS}", "booktitle = {Proc. ICML}"),
        ("booktitle = {NeurIPS 2019}", "booktitle = {ICML}"),
        ("booktitle = {Adv. Neural Inf. Process. Syst.}", "booktitle = {Proc. Int. Conf. Mach. Learn.}"),
        ("booktitle = {Int'l Conf. on Machine Learning}", "booktitle = {Int'l Conf. on Machine Learning}"),
        ("booktitle = {Advances in Neural Information Processing Systems}", "booktitle = {Proceedings of the International Conference on Machine Learning}"),
        ("journal = {J. Artif. Intell. Res.}", "booktitle = {Proceedings of the International Conference on Machine Learning}"),
    ],
)  # fmt: skip
def test_a_venue_is_abbreviated_where_the_file_abbreviates(
    held: str, written: str, applied: Callable[[str, FileEdit | None], str]
) -> None:
    text = f"@misc{{a, title = {{A}}, {held}}}\n"
    work = Work(id="x:1", title="A Title", kind="inproceedings", year=2018,
                booktitle="Proceedings of the 35th International Conference on Machine Learning, "
                          "ICML 2018, Stockholm, Sweden, July 10-15, 2018")  # fmt: skip
    edit, _ = insert_entry(parse_bib(text, "a.bib"), work, "k", OPTIONS)
    assert written in applied(text, edit)


def test_a_journal_is_abbreviated_where_the_file_abbreviates_journals(
    applied: Callable[[str, FileEdit | None], str],
) -> None:
    work = Work(
        id="x:1", title="A Title", kind="article", journal="Journal of Machine Learning Research"
    )
    for held, written in (
        ("J. Artif. Intell. Res.", "J. Mach. Learn. Res."),
        ("Nature", "Journal of Machine Learning Research"),
        ("TPAMI", "JMLR"),
        ("Journal of Artificial Intelligence Research", "Journal of Machine Learning Research"),
    ):
        text = f"@article{{a, title = {{A}}, journal = {{{held}}}}}\n"
        edit, _ = insert_entry(parse_bib(text, "a.bib"), work, "k", OPTIONS)
        assert f"journal = {{{written}}}" in applied(text, edit)


@pytest.mark.parametrize(
    ("held", "recorded", "written"),
    [
        ("Phys. Rev. Lett.", "The Journal of Chemical Physics", "J. Chem. Phys."),
        ("Phys. Rev. Lett.", "Proceedings of the National Academy of Sciences of the United States "
         "of America", "Proc. Natl. Acad. Sci. U. S. A."),
        ("Am. Econ. Rev.", "Journal of Personality and Social Psychology",
         "J. Pers. Soc. Psychol."),
        ("Nucl. Acids Res.", "Nucleic Acids Research", "Nucl. Acids Res."),
        ("Physical Review Letters", "Phys. Rev. Lett.", "Physical Review Letters"),
        ("JHEP", "Journal of High Energy Physics", "JHEP"),
    ],
)  # fmt: skip
def test_the_journals_of_other_fields_are_written_as_the_file_writes_them(
    held: str, recorded: str, written: str, applied: Callable[[str, FileEdit | None], str]
) -> None:
    text = f"@article{{a, title = {{A}}, journal = {{{held}}}}}\n"
    work = Work(id="x:1", title="A Title", kind="article", journal=recorded)
    edit, _ = insert_entry(parse_bib(text, "a.bib"), work, "k", OPTIONS)
    added = applied(text, edit).partition("{k,")[2]
    assert f"journal = {{{written}}}" in added


@pytest.mark.parametrize(
    ("name", "written"),
    [
        (Author("shen", "yelong"), "Shen, Yelong"),
        (Author("SHEN", "YELONG"), "Shen, Yelong"),
        (Author("BOJAR", "Ondřej"), "Bojar, Ondřej"),
        (Author("VAN DER BERG", "JAN"), "van der Berg, Jan"),
        (Author("MCCAW", "ZACHARY R"), "McCaw, Zachary R"),
        (Author("o'neil-smith", "ann-marie"), "O'Neil-Smith, Ann-Marie"),
        (Author("schraefel", "m. c."), "schraefel, m. c."),
        (Author("boyd", "danah"), "boyd, danah"),
        (Author("de la Fuente", "Ana"), "de la Fuente, Ana"),
        (Author("He", "K"), "He, K"),
        (Author("Smith", "JA"), "Smith, JA"),
        (Author("OPENAI"), "OPENAI"),
        (Author("NLLB Team"), "{NLLB Team}"),
        (Author("王", "伟"), "王, 伟"),
    ],
)
def test_names_are_written_in_one_case(name: Author, written: str) -> None:
    work = Work(id="x:1", title="A Title", authors=(name,), kind="misc", year=2020)
    assert f"author = {{{written}}}" in entry_text(work, "k", BibStyle())
