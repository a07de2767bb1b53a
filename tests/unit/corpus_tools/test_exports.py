"""Exports of reference managers and citation indexes: read to the right fields, and a bad record
costs itself only."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from citewell.documents.bib.reader import parse_bib
from citewell.model import Author, Work
from citewell.verification.claims import claims_of_bib
from citewell_corpus.importers import ImportReport, find_importer
from citewell_corpus.importers import table as table_importer
from citewell_corpus.importers import xml_records as xml_importer

Read = Callable[[Path], tuple[list[Work], ImportReport]]

RIS = """\
TY  - JOUR
ID  - sit2031
AU  - García Márquez, Ana
AU  - Li, Wei
TI  - Learning to sit still in
 noisy rooms
T2  - Journal of Sitting
JA  - J. Sit.
PY  - 2031/05/04
VL  - 12
IS  - 3
SP  - 10
EP  - 19
DO  - https://doi.org/10.5555/SIT.7
UR  - https://example.org/sit
AB  - We sit. Still.
ER  -

TY  - CPAPER
A1  - Ng, A. Y.
T1  - Standing up
BT  - Proceedings of the Meeting on Standing
Y1  - 2030
N2  - We stand.
ER  -
TY  - BOOK
AU  - Curie, Marie
BT  - A book of chairs
PY  - 1911
PB  - Chair Press
"""

ENDNOTE = """\
<?xml version="1.0" encoding="UTF-8"?>
<xml><records>
<record><database name="a.enl">a.enl</database><rec-number>7</rec-number>
<ref-type name="Journal Article">17</ref-type>
<contributors><authors>
<author><style face="normal" size="100%">Garc\u00eda M\u00e1rquez, Ana</style></author>
<author>Li, Wei</author></authors></contributors>
<titles><title><style face="normal">Learning to sit </style><style face="italic">still</style></title>
<secondary-title>Journal of Sitting</secondary-title></titles>
<pages>10-19</pages><volume>12</volume><number>3</number>
<dates><year>2031</year></dates><electronic-resource-num>10.5555/sit.7</electronic-resource-num>
<abstract>We sit. Still.</abstract>
<urls><related-urls><url>https://example.org/sit</url></related-urls></urls></record>
<record><rec-number>8</rec-number><ref-type name="Conference Paper">47</ref-type>
<titles><title>Standing up</title><secondary-title>Proceedings of Standing</secondary-title></titles>
<dates><year>2030</year></dates></record>
<record><rec-number>9</rec-number><ref-type name="Book">6</ref-type><titles/></record>
</records></xml>
"""

PUBMED = """\
<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2019//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_190101.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">4711</PMID>
<Article PubModel="Print"><Journal><JournalIssue CitedMedium="Internet"><Volume>12</Volume><Issue>3</Issue>
<PubDate><MedlineDate>2031 May-Jun</MedlineDate></PubDate></JournalIssue>
<Title>Journal of sitting</Title><ISOAbbreviation>J Sit</ISOAbbreviation></Journal>
<ArticleTitle>Learning to sit <i>still</i>.</ArticleTitle><Pagination><MedlinePgn>10-9</MedlinePgn></Pagination>
<Abstract><AbstractText Label="AIM">We sit.</AbstractText><AbstractText Label="END">Still.</AbstractText></Abstract>
<AuthorList><Author><LastName>Garc\u00eda M\u00e1rquez</LastName><ForeName>Ana</ForeName></Author>
<Author><LastName>King</LastName><ForeName>Martin</ForeName><Suffix>Jr</Suffix></Author>
<Author><CollectiveName>Sitting and Standing Group</CollectiveName></Author></AuthorList>
<PublicationTypeList><PublicationType UI="D016441">Retracted Publication</PublicationType></PublicationTypeList>
</Article></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">4711</ArticleId>
<ArticleId IdType="doi">10.5555/SIT.7</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>4712</PMID><Article><ArticleTitle/></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>
"""

SCOPUS = (
    '"Authors","Author full names","Title","Year","Source title","Volume","Issue","Art. No.",'
    '"Page start","Page end","Cited by","DOI","Link","Abstract","Publisher",'
    '"Abbreviated Source Title","Document Type","EID"\n'
    '"García Márquez A.; Li W.","García Márquez, Ana (57190000001); Li, Wei (57190000002)",'
    '"Learning to sit still, quietly",2031,"Journal of Sitting","12","3","","10","19",41,'
    '"10.5555/SIT.7","https://www.scopus.com/x","We sit.\nStill.","Chair Press","J. Sit.",'
    '"Article","2-s2.0-1"\n'
    '"Ng A.Y., Li W.","","Standing up",2030,"Proceedings of Standing","","","77","","","",'
    '"","","[No abstract available]","","","Conference Paper","2-s2.0-2"\n'
    '"","","",2030,"","","","","","","","","","","","","Article","2-s2.0-3"\n'
)

WOS = (
    "PT\tAU\tAF\tTI\tSO\tPY\tVL\tIS\tBP\tEP\tAR\tDI\tAB\tPU\tTC\tDT\tUT\n"
    "J\tGarcia, A; Li, W\tGarcía Márquez, Ana; Li, Wei\tLearning to sit still\tJOURNAL OF SITTING\t"
    "2031\t12\t3\t10\t19\t\t10.5555/sit.7\tWe sit.\tCHAIR PRESS\t41\tArticle\tWOS:0001\n"
)


NBIB = """\

PMID- 4711
OWN - NLM
TI  - Learning to sit still
      in noisy rooms.
PG  - 10-9
LID - 10.5555/SIT.7 [doi]
AB  - We sit. Still
      sitting.
FAU - García Márquez, Ana
AU  - García Márquez A
FAU - Li, Wei
AU  - Li W
CN  - Sitting and Standing Group
LA  - eng
PT  - Journal Article
PT  - Retracted Publication
DP  - 2031 May-Jun
TA  - J Sit
JT  - Journal of sitting
VI  - 12
IP  - 3
AID - S1 [pii]
AID - 10.5555/SIT.7 [doi]

PMID- 4712
PB  - Chair Press
DP  - 2030 Jan
TI  - Standing up
BTI - Chairs
FAU - Ng, A Y

PMID- 4713
PB  - Chair Press
DP  - 2029
BTI - A book of chairs
"""

ENW = """\
%0 Journal Article
%A García Márquez, Ana
%A Li, Wei
%T Learning to sit still
%J Journal of Sitting
%V 12
%N 3
%P 10-19
%D 2031
%R 10.5555/sit.7
%M sit2031
%X We sit.

Still.
%U https://example.org/sit

%0 Conference Proceedings
%A Ng, A. Y.
%T Standing up
%B Proceedings of Standing
%D 2030

%0 Book
%A Curie, Marie
%T A book of chairs
%I Chair Press
%D 1911
"""

CIW = """\
FN Clarivate Analytics Web of Science
VR 1.0
PT J
AU Garcia, A
   Li, W
AF García Márquez, Ana
   Li, Wei
TI Learning to sit still
   in noisy rooms
SO JOURNAL OF SITTING
LA English
DT Article
AB We sit. Still.
CR Ng A, 2030, STANDING
   Curie M, 1911, CHAIRS
TC 41
PU CHAIR PRESS
PD MAY
PY 2031
VL 12
IS 3
BP 10
EP 19
DI 10.5555/sit.7
UT WOS:0001
ER

PT C
AU Ng, AY
TI Standing up
BT Proceedings of Standing
SO PROCEEDINGS OF STANDING
DT Proceedings Paper
PY 2030
UT WOS:0002
ER

EF
"""

CSL = """\
{"id": "sit", "type": "article-journal", "title": "Learning to sit still", "issued": %s,
 "author": [{"family": "García Márquez", "given": "Ana"}], "container-title": "Journal of Sitting",
 "volume": "12", "issue": "3", "page": "10-19", "DOI": "10.5555/sit.7", "abstract": "We sit."}
"""


def csl(year: str = '{"date-parts": [[2031]]}') -> str:
    return CSL % year


def export(tmp_path: Path, name: str, text: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text", "format_name"),
    [
        ("refs.ris", RIS, "ris"),
        ("export.txt", RIS, "ris"),
        ("export.xml", ENDNOTE, "endnote-xml"),
        ("pubmed.xml", PUBMED, "pubmed-xml"),
        ("pubmed.xml.gz", gzip.compress(PUBMED.encode()), "pubmed-xml"),
        ("scopus.csv", SCOPUS, "table"),
        ("savedrecs.txt", WOS, "table"),
        ("savedrecs.txt", WOS.encode("utf-16"), "table"),
        ("pubmed.nbib", NBIB, "pubmed-nbib"),
        ("pubmed.txt", NBIB.replace("\n", "\r\n"), "pubmed-nbib"),
        ("refs.enw", ENW, "endnote"),
        ("refs.enw", ENW.replace("\n", "\r"), "endnote"),
        ("refs.txt", ENW.replace("%0 Journal Article\n", ""), "endnote"),
        ("savedrecs.ciw", CIW, "wos"),
        ("savedrecs.txt", "\ufeff" + CIW, "wos"),
        ("savedrecs.txt", CIW.encode("utf-16"), "wos"),
        ("refs.ris", RIS.replace("\n", "\r"), "ris"),
        ("refs.ris", RIS.encode("utf-16"), "ris"),
        ("refs.ris", ("\ufeff" + RIS).encode("utf-16-be"), "ris"),
        ("refs.ris", RIS.encode("utf-16-le"), "ris"),
        ("refs.ris", RIS.encode("utf-16-be"), "ris"),
        ("refs.ris", RIS.encode("cp1252"), "ris"),
        ("item.json", csl(), "csl-json"),
        ("items.jsonl", 2 * csl().replace("\n ", " "), "csl-json"),
        ("items.json", csl().encode("utf-16"), "csl-json"),
        ("items.json", f'{{"items": [{csl()}]}}', "csl-json"),
        ("items.json", f'{{"sit": {csl()}}}', "csl-json"),
        ("items.json", f"[{csl()}]", "csl-json"),
        ("old.json", csl('[{"year": "2031", "month": "5"}]'), "csl-json"),
        ("old.json", csl('{"raw": "May 2031"}'), "csl-json"),
        ("old.json", csl('{"date-parts": [["2031-05-04"]]}'), "csl-json"),
        ("old.json", csl('{"date-parts": [2031, 5]}'), "csl-json"),
        ("old.json", csl('{"year": 2031}'), "csl-json"),
        ("old.json", csl('"2031-05"'), "csl-json"),
    ],
)
def test_each_export_is_recognised_and_gives_the_fields_of_its_record(
    tmp_path: Path, read_works: Read, name: str, text: str | bytes, format_name: str
) -> None:
    path = export(tmp_path, name, text)
    importer = find_importer(path)
    assert importer is not None and importer.name == format_name
    works, _ = read_works(path)
    work = works[0]
    assert work.title.startswith("Learning to sit still")
    assert work.authors[0] == Author(family="García Márquez", given="Ana")
    assert (work.year, work.volume, work.issue, work.doi) == (2031, "12", "3", "10.5555/sit.7")
    assert work.journal.lower() == "journal of sitting"
    assert work.kind == "article"
    assert work.pages in ("10-19", "10-9")
    assert work.abstract.startswith("We sit.")
    assert work.provenance[0].source_id
    assert work.provenance[0].retrieved


def test_ris_continues_values_and_takes_a_last_record_without_an_end(
    tmp_path: Path, read_works: Read
) -> None:
    works, report = read_works(export(tmp_path, "refs.ris", RIS))
    assert [work.title for work in works] == [
        "Learning to sit still in noisy rooms",
        "Standing up",
        "A book of chairs",
    ]
    assert works[1].kind == "inproceedings"
    assert works[1].booktitle == "Proceedings of the Meeting on Standing"
    assert works[1].authors == (Author(family="Ng", given="A. Y."),)
    assert (works[2].kind, works[2].publisher, works[2].booktitle) == ("book", "Chair Press", "")
    assert (report.records, report.bad) == (3, 0)


def test_pubmed_gives_groups_suffixes_and_retractions(tmp_path: Path, read_works: Read) -> None:
    (work,), report = read_works(export(tmp_path, "p.xml", PUBMED))
    assert work.id == "pubmed:4711"
    assert work.retracted
    assert work.authors[1] == Author(family="King", given="Martin", suffix="Jr")
    assert work.authors[2] == Author(family="Sitting and Standing Group")
    assert work.abstract == "We sit. Still."
    assert work.url == "https://pubmed.ncbi.nlm.nih.gov/4711/"
    assert report.bad == 1


PUBMED_BOOK = """\
<PubmedArticleSet><PubmedBookArticle><BookDocument><PMID Version="1">4713</PMID>
<ArticleIdList><ArticleId IdType="doi">10.5555/chair.1</ArticleId></ArticleIdList>
<Book><Publisher><PublisherName>Chair Press</PublisherName></Publisher>
<BookTitle book="chairs">Chairs and their uses</BookTitle><PubDate><Year>2030</Year></PubDate>
<AuthorList Type="editors"><Author><LastName>Stool</LastName><ForeName>Ed</ForeName></Author></AuthorList></Book>
<ArticleTitle book="chairs" part="one">Standing up.</ArticleTitle><Language>eng</Language>
<AuthorList Type="authors"><Author><LastName>Ng</LastName><ForeName>A Y</ForeName></Author></AuthorList>
<Abstract><AbstractText>We stand.</AbstractText></Abstract></BookDocument></PubmedBookArticle>
<PubmedBookArticle><BookDocument><PMID>4714</PMID><Book><BookTitle>All chairs</BookTitle>
<PubDate><Year>2029</Year></PubDate><AuthorList Type="authors"><Author><LastName>Stool</LastName>
<ForeName>Ed</ForeName></Author></AuthorList></Book></BookDocument></PubmedBookArticle></PubmedArticleSet>
"""


def test_books_of_pubmed_and_their_chapters_are_read(tmp_path: Path, read_works: Read) -> None:
    (chapter, book), report = read_works(export(tmp_path, "b.xml", PUBMED_BOOK))
    assert (chapter.title, chapter.kind, chapter.year) == ("Standing up", "incollection", 2030)
    assert chapter.booktitle == "Chairs and their uses"
    assert (chapter.publisher, chapter.doi) == ("Chair Press", "10.5555/chair.1")
    assert chapter.authors == (Author(family="Ng", given="A Y"),)
    assert (book.title, book.kind) == ("All chairs", "book")
    assert book.authors == (Author(family="Stool", given="Ed"),)
    assert report.bad == 0


def test_tagged_text_joins_lines_and_keeps_records_apart(tmp_path: Path, read_works: Read) -> None:
    works, report = read_works(export(tmp_path, "p.nbib", NBIB))
    article, chapter, book = works
    assert article.title == "Learning to sit still in noisy rooms"
    assert article.abstract == "We sit. Still sitting." and article.retracted
    assert article.authors[2] == Author(family="Sitting and Standing Group")
    assert article.id == "pubmed:4711"
    assert (chapter.kind, chapter.booktitle) == ("incollection", "Chairs")
    assert (book.kind, book.title, book.publisher) == ("book", "A book of chairs", "Chair Press")
    works, report = read_works(export(tmp_path, "e.enw", ENW))
    assert [work.kind for work in works] == ["article", "inproceedings", "book"]
    assert works[0].abstract == "We sit. Still."
    assert works[1].booktitle == "Proceedings of Standing"
    without_types = "\n".join(line for line in ENW.split("\n") if not line.startswith("%0"))
    works, report = read_works(
        export(tmp_path, "r.enw", without_types.replace("\n\nStill", " Still"))
    )
    assert [work.title for work in works][1:] == ["Standing up", "A book of chairs"]
    works, report = read_works(export(tmp_path, "w.ciw", CIW))
    assert works[0].title == "Learning to sit still in noisy rooms"
    assert works[0].authors == (Author("García Márquez", "Ana"), Author("Li", "Wei"))
    assert (works[0].citations, works[1].kind) == (41, "inproceedings")
    assert (report.records, report.bad) == (2, 0)


DBLP = """\
@inproceedings{DBLP:conf/trees/Elm, author = {Ada Elm}, title = {Sitting under elms},
  pages = {1--9}, crossref = {DBLP:conf/trees/2031}}
@proceedings{DBLP:conf/trees/2031, editor = {Bo Fir}, title = {Proceedings of the Trees},
  publisher = {Tree Press}, year = {2031}, xdata = {press}}
@article{leaf, title = {Leaves}, xdata = {journal, people}}
@xdata{journal, journaltitle = {Journal of Leaves}, date = {2030-05}, xdata = {press}}
@xdata{people, author = {Oak, Ann and {The Beech Society}}}
@xdata{press, publisher = {Leaf Press}, address = {Wood}, xdata = {journal}}
@inbook{part, author = {Bo Fir}, title = {Roots}, crossref = {whole}}
@book{whole, author = {Ann Oak}, title = {Trees and roots}, date = {2029}, publisher = {Root Press}}
@inproceedings{lost, author = {Ada Elm}, title = {Nowhere}, crossref = {missing}, year = 2028}
"""


def test_entries_inherit_as_the_check_reads_them(tmp_path: Path, read_works: Read) -> None:
    works, _ = read_works(export(tmp_path, "dblp.bib", DBLP))
    paper, leaf, part, _whole, lost = works
    assert (paper.year, paper.booktitle) == (2031, "Proceedings of the Trees")
    assert (paper.publisher, paper.kind) == ("Tree Press", "inproceedings")
    assert paper.authors == (Author("Elm", "Ada"),)
    assert (leaf.year, leaf.journal, leaf.publisher) == (2030, "Journal of Leaves", "Leaf Press")
    assert leaf.authors == (Author("Oak", "Ann"), Author("The Beech Society"))
    assert (part.booktitle, part.year) == ("Trees and roots", 2029)
    assert part.authors == (Author("Fir", "Bo"),)
    assert (lost.year, lost.booktitle) == (2028, "")
    claims = {claim.key: claim for claim in claims_of_bib(parse_bib(DBLP, "dblp.bib"))}
    for work in works:
        claim = claims[work.bibkey]
        assert (claim.year, claim.venue) == (work.year, work.booktitle or work.journal)
        assert claim.authors == work.authors


def test_the_table_of_scopus_gives_counts_short_names_and_article_numbers(
    tmp_path: Path, read_works: Read
) -> None:
    works, report = read_works(export(tmp_path, "s.csv", SCOPUS))
    assert works[0].citations == 41
    assert works[0].venue == "J. Sit."
    assert works[0].abstract == "We sit. Still."
    assert works[1].authors == (Author(family="Ng", given="A.Y."), Author(family="Li", given="W."))
    assert (works[1].kind, works[1].pages, works[1].abstract) == ("inproceedings", "77", "")
    assert works[1].booktitle == "Proceedings of Standing"
    assert (report.records, report.bad) == (2, 1)
    # The line in the file: the abstract of the first record has two.
    assert report.problems[0].line == 5


def test_the_library_of_google_scholar_gives_its_fields(tmp_path: Path, read_works: Read) -> None:
    path = tmp_path / "citations.csv"
    path.write_text(
        "Authors,Title,Publication,Volume,Number,Pages,Year,Publisher\n"
        '"Fir, Clara; Elm, Bo; ",Roots of trees,Journal of Forests,12,3,45-67,2016,Wood Press\n'
    )
    (work,), _ = read_works(path)
    assert work.authors == (Author("Fir", "Clara"), Author("Elm", "Bo"))
    assert (work.title, work.journal, work.year) == ("Roots of trees", "Journal of Forests", 2016)
    assert (work.volume, work.issue, work.pages) == ("12", "3", "45-67")
    assert work.publisher == "Wood Press"


def test_a_table_of_ones_own_needs_a_title_and_names_or_years(
    tmp_path: Path, read_works: Read
) -> None:
    path = export(tmp_path, "own.csv", "Title;Author;Date\nSitting;Ana García and Li Wei;2031-02\n")
    importer = find_importer(path)
    assert importer is not None and importer.name == "table"
    (work,), _ = read_works(path)
    assert (work.title, work.year) == ("Sitting", 2031)
    assert find_importer(export(tmp_path, "numbers.csv", "a,b\n1,2\n")) is None
    assert find_importer(export(tmp_path, "prose.txt", "Title of my thesis\n")) is None


def test_xml_with_entities_is_refused_and_broken_xml_gives_what_came_before(
    tmp_path: Path, read_works: Read
) -> None:
    bomb = ENDNOTE.replace(
        "<xml>", '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><xml>', 1
    )
    works, report = read_works(export(tmp_path, "bomb.xml", bomb))
    assert works == [] and report.problems[0].code == "source-unreadable"
    cut = ENDNOTE[: ENDNOTE.index("<rec-number>9")]
    works, report = read_works(export(tmp_path, "cut.xml", cut))
    assert len(works) == 2
    assert "broken" in report.problems[0].message


def test_a_record_or_a_field_of_endless_length_is_refused(
    tmp_path: Path, read_works: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xml_importer, "MAX_RECORD", 100_000)
    monkeypatch.setattr(table_importer, "MAX_FIELD", 10_000)
    long = ENDNOTE.replace("Standing up", "x" * 300_000)
    works, report = read_works(export(tmp_path, "long.xml", long))
    assert len(works) <= 1 and report.problems[0].code == "source-unreadable"
    works, report = read_works(
        export(tmp_path, "long.csv", SCOPUS.replace("[No abstract available]", "y" * 20_000))
    )
    assert [work.title for work in works] == ["Learning to sit still, quietly"]
    assert report.bad >= 1
