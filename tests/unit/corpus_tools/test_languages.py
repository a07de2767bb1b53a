"""Each format's way to state the language of a work, and the filters by language and kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.corpus.library import Library
from citewell.model import Work
from citewell.sources.adapters.crossref import work_of_crossref
from citewell.sources.adapters.datacite import work_of_datacite
from citewell.sources.adapters.pubmed import work_of_summary
from citewell_corpus.build import build_library
from citewell_corpus.importers import ImportReport
from citewell_corpus.sources import FileSource, source_at

Read = Callable[[Path], tuple[list[Work], ImportReport]]

RIS = """\
TY  - JOUR
AU  - Müller, Jörg
TI  - Über das Stillsitzen
T2  - Zeitschrift für Stühle
PY  - 2031
LA  - ger
ER  -

TY  - JOUR
AU  - Li, Wei
TI  - Learning to sit still
PY  - 2031
LA  - English
ER  -

TY  - JOUR
AU  - Ng, Ada
TI  - Standing up for longer
PY  - 2030
ER  -
"""
ENDNOTE = """\
<?xml version="1.0" encoding="UTF-8"?>
<xml><records>
<record><rec-number>7</rec-number><ref-type name="Journal Article">17</ref-type>
<titles><title>Über das Stillsitzen</title></titles><language>German</language></record>
<record><rec-number>8</rec-number><ref-type name="Journal Article">17</ref-type>
<titles><title>Learning to sit still</title></titles><language><style>eng</style></language></record>
<record><rec-number>9</rec-number><ref-type name="Journal Article">17</ref-type>
<titles><title>Standing up for longer</title></titles></record>
</records></xml>
"""
PUBMED = """\
<?xml version="1.0" ?>
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID>1</PMID><Article>
<ArticleTitle>[On sitting still].</ArticleTitle><VernacularTitle>Über das Stillsitzen.</VernacularTitle>
<Language>ger</Language></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>2</PMID><Article>
<ArticleTitle>Learning to sit still.</ArticleTitle>
<Language>eng</Language><Language>fre</Language></Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>3</PMID><Article>
<ArticleTitle>Standing up for longer.</ArticleTitle><Language>und</Language>
</Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""
SCOPUS = (
    '"Authors","Title","Year","Language of Original Document","Document Type","EID"\n'
    '"Müller J.","Über das Stillsitzen",2031,"German","Article","1"\n'
    '"Li W.","Learning to sit still",2031,"English; Chinese","Article","2"\n'
    '"Ng A.","Standing up for longer",2030,"","Article","3"\n'
)
WOS = (
    "PT\tAU\tTI\tPY\tLA\tDT\tUT\n"
    "J\tMuller, J\tÜber das Stillsitzen\t2031\tGerman\tArticle\tWOS:1\n"
    "J\tLi, W\tLearning to sit still\t2031\tEnglish\tArticle\tWOS:2\n"
    "J\tNg, A\tStanding up for longer\t2030\t\tArticle\tWOS:3\n"
)
BIBTEX = """\
@article{muller, title = {Über das Stillsitzen}, author = {Müller, Jörg}, year = 2031,
  langid = {ngerman}}
@article{li, title = {Learning to sit still}, author = {Li, Wei}, year = 2031,
  language = {English}}
@article{ng, title = {Standing up for longer}, author = {Ng, Ada}, year = 2030}
"""
CSL = json.dumps(
    [
        {"id": "a", "type": "article-journal", "title": "Über das Stillsitzen", "language": "de-DE",
         "issued": {"date-parts": [[2031]]}},
        {"id": "b", "type": "article-journal", "title": "Learning to sit still", "language": "en",
         "issued": {"date-parts": [[2031]]}},
        {"id": "c", "type": "article-journal", "title": "Standing up for longer",
         "issued": {"date-parts": [[2030]]}},
    ]
)  # fmt: skip
ZOTERO = json.dumps(
    [
        {"key": "A", "itemType": "journalArticle", "title": "Über das Stillsitzen",
         "language": "Deutsch"},
        {"key": "B", "itemType": "journalArticle", "title": "Learning to sit still",
         "language": "en-US"},
        {"key": "C", "itemType": "journalArticle", "title": "Standing up for longer",
         "language": ""},
    ]
)  # fmt: skip


def _openalex(number: int, title: str, language: str | None) -> str:
    place = {"source": {"display_name": "Journal of Sitting", "type": "journal"}}
    return json.dumps(
        {"id": f"https://openalex.org/W{number}", "title": title, "language": language,
         "authorships": [], "publication_year": 2031, "primary_location": place}
    )  # fmt: skip


OPENALEX = "\n".join(
    [
        _openalex(1, "Über das Stillsitzen", "de"),
        _openalex(2, "Learning to sit still", "en"),
        _openalex(3, "Standing up for longer", None),
    ]
)
ANTHOLOGY = """\
<?xml version='1.0' encoding='UTF-8'?>
<collection id="2031.sitting"><volume id="main"><meta><booktitle>Proceedings</booktitle></meta>
<paper id="1"><title>Über das Stillsitzen</title><language>deu</language></paper>
<paper id="2"><title>Learning to sit still</title><language>eng</language></paper>
<paper id="3"><title>Standing up for longer</title></paper>
</volume></collection>
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("refs.ris", RIS),
        ("endnote.xml", ENDNOTE),
        ("pubmed.xml", PUBMED),
        ("scopus.csv", SCOPUS),
        ("savedrecs.txt", WOS),
        ("refs.bib", BIBTEX),
        ("refs.json", CSL),
        ("zotero.json", ZOTERO),
        ("openalex.jsonl", OPENALEX),
        ("2031.sitting.xml", ANTHOLOGY),
    ],
)
def test_the_language_that_a_record_states(
    tmp_path: Path, read_works: Read, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    works, report = read_works(path)
    assert [work.language for work in works] == ["de", "en", ""], report.problems


@pytest.mark.parametrize(
    ("source", "titles"),
    [
        (FileSource("", "", languages=("de",)), ("Über das Stillsitzen", "Standing up for longer")),
        (FileSource("", "", languages=("de",), strict_language=True), ("Über das Stillsitzen",)),
        (FileSource("", "", languages=("de", "en"), strict_language=True),
         ("Über das Stillsitzen", "Learning to sit still")),
        (FileSource("", "", kinds=("book",), languages=("de",)), ()),
    ],
)  # fmt: skip
def test_a_source_is_read_in_part(
    tmp_path: Path, read_works: Read, source: FileSource, titles: tuple[str, ...]
) -> None:
    path = tmp_path / "refs.ris"
    path.write_text(RIS, encoding="utf-8")
    works, _ = read_works(path)
    assert tuple(work.title for work in works if not source.leaves_out(work)) == titles


def test_a_work_that_two_sources_leave_out_at_once_leaves_the_library(tmp_path: Path) -> None:
    library = tmp_path / "library"
    paths = [tmp_path / "one.ris", tmp_path / "other.ris"]
    for path in paths:
        path.write_text(RIS.replace("ER  -\n\n", f"UR  - https://a.org/{path.stem}\nER  -\n\n"))
    sources = [source_at(str(path)) for path in paths]
    assert build_library(library, add=sources).works == 3
    report = build_library(
        library, add=[FileSource(one.path, one.format, languages=("en",)) for one in sources]
    )
    assert [one.skipped for one in report.sources] == [{"language de": 1}] * 2
    assert (report.works, report.removed) == (2, 1)
    with Library.open(library) as opened:
        assert {work.title for work in opened.iter_works()} == {
            "Learning to sit still", "Standing up for longer",
        }  # fmt: skip


def test_the_answers_of_sources_state_languages() -> None:
    crossref = work_of_crossref({"DOI": "10.5555/a", "title": ["Titel"], "language": "de"}, "")
    pubmed = work_of_summary({"uid": "1", "title": "Titel.", "lang": ["ger"]}, "")
    facts = {"doi": "10.5555/a", "titles": [{"title": "Titel"}], "language": "de-AT"}
    datacite = work_of_datacite({"attributes": facts}, "")
    for work in (crossref, pubmed, datacite):
        assert isinstance(work, Work) and work.language == "de"
