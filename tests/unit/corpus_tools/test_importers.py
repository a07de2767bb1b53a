"""Each format is recognised, read to the right fields, and a bad record costs itself only."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from citewell.corpus.errors import LibraryError
from citewell.model import Author, Work
from citewell_corpus.importers import IMPORTERS, ImportReport, find_importer

Read = Callable[[Path], tuple[list[Work], ImportReport]]

RECORD = {
    "id": "sit-7",
    "title": "Learning to {Sit} Still: $k$ Lessons",
    "authors": ["Ana García Márquez", "Li Wei"],
    "year": 2031,
    "venue": "SIT",
    "booktitle": "Proceedings of {SIT}",
    "pages": "10--19",
    "doi": "https://doi.org/10.5555/SIT.7\\_1",
    "url": "https://example.org/sit\\_7.html",
    "bibkey": "garcia-marquez-li-2031-learning",
    "abstract": "We sit.\n  Still.",
    "kind": "inproceedings",
    "publisher": "{ACM}",
    "retracted": True,
    "source": "sitting",
}


def test_a_record_becomes_a_work_in_plain_unicode(
    tmp_path: Path, read_works: Read, write_jsonl: Callable[..., Path]
) -> None:
    (work,), report = read_works(write_jsonl(tmp_path / "a.jsonl", [RECORD]))
    assert work.id == "sitting:sit-7"
    assert work.title == "Learning to Sit Still: k Lessons"
    assert work.authors[1] == Author(family="Wei", given="Li")
    assert (work.doi, work.pages, work.publisher) == ("10.5555/sit.7_1", "10-19", "ACM")
    assert work.url == "https://example.org/sit_7.html"
    assert work.abstract == "We sit. Still."
    assert work.retracted
    assert work.provenance[0].source_id == "sit-7"
    assert len(work.provenance[0].retrieved) == len("2031-01-01")
    assert (report.records, report.bad) == (1, 0)


@pytest.mark.parametrize("packing", ["plain", "gzip", "zstd", "bom"])
def test_records_are_read_however_they_are_packed(
    tmp_path: Path, read_works: Read, packing: str
) -> None:
    data = json.dumps(RECORD).encode() + b"\n" + json.dumps(RECORD | {"id": "b"}).encode()
    packed = {
        "plain": data,
        "gzip": gzip.compress(data),
        "zstd": zstandard.ZstdCompressor().compress(data),
        "bom": b"\xef\xbb\xbf" + data,
    }[packing]
    path = tmp_path / "records.jsonl"
    path.write_bytes(packed)
    works, _ = read_works(path)
    assert [work.id for work in works] == ["sitting:sit-7", "sitting:b"]


def test_a_bad_line_is_counted_and_named_with_its_number(tmp_path: Path, read_works: Read) -> None:
    lines = [
        json.dumps(RECORD),
        "{broken",
        json.dumps({"id": "x", "title": ""}),
        json.dumps({"id": "", "title": "No id"}),
        json.dumps({"id": "y", "title": 7}),
        '{"id": "\udcff", "title": "t"}',
        "",
        json.dumps(RECORD | {"id": "z", "year": "n.d.", "volume": 3}),
    ]
    path = tmp_path / "a.jsonl"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    works, report = read_works(path)
    assert [work.id for work in works] == ["sitting:sit-7", "sitting:z"]
    assert (works[1].year, works[1].volume) == (None, "3")
    assert report.bad == 5
    assert [problem.line for problem in report.problems] == [2, 3, 4, 5, 6]
    assert all(problem.path == str(path) and problem.hint for problem in report.problems)


def test_a_line_beyond_all_bounds_costs_itself_only(tmp_path: Path, read_works: Read) -> None:
    path = tmp_path / "a.jsonl"
    long = json.dumps(RECORD | {"abstract": "x" * (9 << 20)})
    path.write_text(f"{json.dumps(RECORD)}\n{long}\n{json.dumps(RECORD)}\n", encoding="utf-8")
    works, report = read_works(path)
    assert len(works) == 2
    assert [problem.line for problem in report.problems] == [2]


def test_deep_nesting_is_a_bad_record_and_no_crash(tmp_path: Path, read_works: Read) -> None:
    path = tmp_path / "a.jsonl"
    deep = '{"id": "d", "title": "t", "extra": ' + "[" * 200_000 + "]" * 200_000 + "}"
    path.write_text(f"{json.dumps(RECORD)}\n{deep}\n", encoding="utf-8")
    works, report = read_works(path)
    assert len(works) == 1
    assert report.bad == 1


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_a_compressed_file_that_is_cut_is_an_error_with_a_cure(
    tmp_path: Path, packing: str
) -> None:
    data = "".join(json.dumps(RECORD | {"id": str(n)}) + "\n" for n in range(20_000)).encode()
    packed = gzip.compress(data) if packing == "gzip" else zstandard.compress(data)
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(packed[: len(packed) // 2])
    importer = next(i for i in IMPORTERS if i.name == "records")
    with pytest.raises(LibraryError) as caught:
        list(importer.read(path, ImportReport()))
    assert caught.value.problem.code == "source-unreadable"


BIB = r"""
@string{conf = "Conference on Sitting"}
@inproceedings{sit2031,
  author = {Garc{\'\i}a, Ana and {The Sitting Group} and van den Berg, Jan},
  title = {Learning to {Sit}: {\"U}ber Alles},
  booktitle = conf, year = 2031, pages = {1--9}, doi = {10.5555/SIT.1},
}
@article{pre, title={A Preprint}, author={Doe, Jane}, journal={arXiv preprint arXiv:2101.00001},
  year={2021}}
@book{broken, title = {never closed
@misc{late, title = {Later Entry}, author = {Roe, Richard}, date = {2020-05}}
@proceedings{vol, title = {Proceedings of Everything}, year = 2001}
@misc{untitled, author = {Nobody}}
@misc{late, title = {The Same Key Again}}
"""


def test_bibtex_entries_become_works(tmp_path: Path, read_works: Read) -> None:
    path = tmp_path / "refs.bib"
    path.write_text(BIB, encoding="utf-8")
    works, report = read_works(path)
    by_key = {work.bibkey: work for work in works}
    assert set(by_key) == {"sit2031", "pre", "late"}
    sit = by_key["sit2031"]
    assert sit.title == "Learning to Sit: Über Alles"
    assert sit.authors == (
        Author("García", "Ana"),
        Author("The Sitting Group"),
        Author("van den Berg", "Jan"),
    )
    assert (sit.booktitle, sit.pages, sit.doi) == (
        "Conference on Sitting",
        "1-9",
        "10.5555/sit.1",
    )
    assert by_key["pre"].arxiv == "2101.00001"
    assert by_key["late"].year == 2020
    assert sit.provenance[0].source == f"bibtex:{path}"
    assert report.skipped["proceedings"] == 1
    assert report.bad >= 3
    assert {"record-bad"} == {problem.code for problem in report.problems}


CSL: list[dict[str, Any]] = [
    {
        "id": "http://zotero.org/users/1/items/ABCD",
        "type": "article-journal",
        "title": "Sitting <i>quietly</i>",
        "author": [
            {"family": "Berg", "given": "Jan", "non-dropping-particle": "van den"},
            {"literal": "The Sitting Group"},
        ],
        "issued": {"date-parts": [[2019, 3]]},
        "container-title": "Journal of Sitting",
        "volume": 3,
        "page": "1–9",
        "DOI": "10.5555/sit.3",
        "citation-key": "berg2019",
    },
    {"id": 2, "type": "paper-conference", "title": "Conf", "issued": {"raw": "May 2018"},
     "container-title": "Proc. SIT", "author": [{"family": "Roe"}]},
    {"type": "book"},
]  # fmt: skip


def test_csl_items_become_works(tmp_path: Path, read_works: Read) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(CSL, indent=2), encoding="utf-8")
    works, report = read_works(path)
    journal, conference = works
    assert journal.title == "Sitting quietly"
    assert journal.authors == (Author("van den Berg", "Jan"), Author("The Sitting Group"))
    assert (journal.kind, journal.journal, journal.year, journal.pages, journal.volume) == (
        "article",
        "Journal of Sitting",
        2019,
        "1-9",
        "3",
    )
    assert (conference.kind, conference.booktitle, conference.year) == (
        "inproceedings",
        "Proc. SIT",
        2018,
    )
    assert report.bad == 1
    assert report.problems[0].line == path.read_text("utf-8").splitlines().index("  {", 30) + 1


ZOTERO = {
    "config": {"id": "x"},
    "items": [
        {
            "itemType": "conferencePaper",
            "title": "Sitting Together",
            "creators": [
                {"creatorType": "author", "firstName": "Jane", "lastName": "Doe"},
                {"creatorType": "editor", "firstName": "Ed", "lastName": "Itor"},
                {"creatorType": "author", "name": "Sitting Group"},
            ],
            "date": "2020-07-01",
            "proceedingsTitle": "Proceedings of SIT 2020",
            "DOI": "10.5555/sit.4",
            "extra": "arXiv: 2001.00009",
            "citationKey": "doe2020",
            "itemKey": "QWER",
        },
        {"itemType": "attachment", "title": "PDF"},
        {"data": {"itemType": "journalArticle", "title": "From the Web API", "key": "Z",
                  "publicationTitle": "J. Sit.", "date": "1999", "creators": []}},
    ],
}  # fmt: skip


def test_zotero_items_become_works(tmp_path: Path, read_works: Read) -> None:
    path = tmp_path / "library.json"
    path.write_text(json.dumps(ZOTERO), encoding="utf-8")
    works, report = read_works(path)
    paper, article = works
    assert [author.family for author in paper.authors] == ["Doe", "Sitting Group"]
    assert (paper.year, paper.booktitle, paper.bibkey, paper.arxiv) == (
        2020,
        "Proceedings of SIT 2020",
        "doe2020",
        "2001.00009",
    )
    assert (article.journal, article.year) == ("J. Sit.", 1999)
    assert report.skipped["attachment"] == 1


OPENALEX = {
    "id": "https://openalex.org/W42",
    "doi": "https://doi.org/10.5555/OA.42",
    "title": "Open Sitting",
    "publication_year": 2022,
    "type": "article",
    "authorships": [{"author": {"display_name": "Jane Doe"}}, {"raw_author_name": "Li Wei"}],
    "primary_location": {
        "landing_page_url": "https://doi.org/10.5555/oa.42",
        "source": {"display_name": "J. Open Sit.", "type": "journal",
                   "host_organization_name": "Sit Press"},
    },
    "biblio": {"volume": "1", "issue": "2", "first_page": "3", "last_page": "9"},
    "cited_by_count": 5,
    "is_retracted": True,
    "abstract_inverted_index": {"We": [0], "sit": [1, 3], "and": [2]},
}  # fmt: skip


def test_openalex_works_become_works(
    tmp_path: Path, read_works: Read, write_jsonl: Callable[..., Path]
) -> None:
    paratext = OPENALEX | {"id": "https://openalex.org/W43", "is_paratext": True}
    untitled = OPENALEX | {"id": "https://openalex.org/W44", "title": None}
    odd = OPENALEX | {"id": "https://openalex.org/W45", "authorships": None, "biblio": None}
    path = write_jsonl(tmp_path / "part_000", [OPENALEX, paratext, untitled, odd])
    path.write_bytes(gzip.compress(path.read_bytes()))
    works, report = read_works(path)
    work = works[0]
    assert (work.id, work.doi, work.journal, work.pages, work.citations) == (
        "openalex:W42",
        "10.5555/oa.42",
        "J. Open Sit.",
        "3-9",
        5,
    )
    assert work.abstract == "We sit and sit"
    assert [author.family for author in work.authors] == ["Doe", "Wei"]
    assert work.retracted
    assert [w.id for w in works] == ["openalex:W42", "openalex:W45"]
    assert (report.bad, report.skipped["paratext"]) == (1, 1)


ARXIV = {
    "id": "hep-th/9901001",
    "title": "Sitting\n  on Strings",
    "authors": "Jane Doe, Li Wei",
    "authors_parsed": [["Doe", "Jane", ""], ["Poincar\\'e", "Henri", "Jr."]],
    "categories": "hep-th",
    "abstract": "  We sit\non strings. ",
    "journal-ref": None,
    "doi": None,
    "versions": [{"version": "v1", "created": "Fri, 1 Jan 1999 10:00:00 GMT"}],
    "update_date": "2015-06-26",
}


def test_arxiv_records_become_works(
    tmp_path: Path, read_works: Read, write_jsonl: Callable[..., Path]
) -> None:
    path = write_jsonl(tmp_path / "snapshot.json", [ARXIV, ARXIV | {"id": "not one"}])
    (work,), report = read_works(path)
    assert (work.id, work.arxiv, work.year) == ("arxiv:hep-th/9901001", "hep-th/9901001", 1999)
    assert work.title == "Sitting on Strings"
    assert work.authors == (Author("Doe", "Jane"), Author("Poincaré", "Henri", "Jr."))
    assert report.bad == 1


ACL = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="2031.sit">
  <volume id="main" ingest-date="2031-01-01">
    <meta>
      <booktitle>Proceedings of <fixed-case>SIT</fixed-case> 2031</booktitle>
      <publisher>Sit Press</publisher><year>2031</year><venue>sit</venue>
    </meta>
    <frontmatter><url>2031.sit-main.0</url><bibkey>sit-2031</bibkey></frontmatter>
    <paper id="1">
      <title><fixed-case>BERT</fixed-case> sits: <tex-math>O(n^2)</tex-math> chairs</title>
      <author id="x"><first>José</first><last>Pérez</last><variant script="hani"><last>X</last>
        </variant></author>
      <author><last>Madonna</last></author>
      <pages>1–10</pages><abstract>We <i>sit</i>.</abstract>
      <url hash="00">2031.sit-main.1</url><doi>10.18653/v1/2031.sit-main.1</doi>
      <bibkey>perez-madonna-2031-bert</bibkey><retracted date="2032-01-01">oops</retracted>
    </paper>
    <paper id="2"><author><last>Noname</last></author></paper>
  </volume>
</collection>
"""


def test_a_checkout_of_the_anthology_becomes_works(tmp_path: Path, read_works: Read) -> None:
    folder = tmp_path / "acl-anthology" / "data" / "xml"
    folder.mkdir(parents=True)
    (folder / "2031.sit.xml").write_text(ACL, encoding="utf-8")
    old = """<collection id="P99"><volume id="1"><meta><booktitle>Old</booktitle>
      <year>1999</year></meta><paper id="7"><title>Old Style</title></paper></volume>
      </collection>"""
    (folder / "P99.xml").write_text(old, encoding="utf-8")
    works, report = read_works(tmp_path / "acl-anthology")
    new, old_style = works
    assert (new.id, new.bibkey, new.year) == (
        "acl:2031.sit-main.1",
        "perez-madonna-2031-bert",
        2031,
    )
    assert new.title == "BERT sits: O(n2) chairs"
    assert new.booktitle == "Proceedings of SIT 2031"
    assert new.authors == (Author("Pérez", "José"), Author("Madonna"))
    assert new.pages == "1-10"
    assert new.retracted
    assert old_style.id == "acl:P99-1007"
    assert old_style.url == "https://aclanthology.org/P99-1007"
    assert report.bad == 1
    assert report.problems[0].line == 18


BOMB = """<?xml version="1.0"?>
<!DOCTYPE collection [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>
<collection id="x"><volume id="1"><paper id="1"><title>&b;</title></paper></volume></collection>
"""
OUTSIDE = """<?xml version="1.0"?>
<!DOCTYPE collection [<!ENTITY f SYSTEM "file:///etc/passwd">]>
<collection id="x"><volume id="1"><paper id="1"><title>&f;</title></paper></volume></collection>
"""


@pytest.mark.parametrize("text", [BOMB, OUTSIDE], ids=["expanding", "external"])
def test_entities_in_xml_are_refused(tmp_path: Path, read_works: Read, text: str) -> None:
    path = tmp_path / "x.xml"
    path.write_text(text, encoding="utf-8")
    works, report = read_works(path)
    assert works == []
    assert report.problems[0].code == "source-unreadable"
    assert "entities" in report.problems[0].message


def test_xml_that_is_cut_gives_the_papers_before_the_cut(tmp_path: Path, read_works: Read) -> None:
    path = tmp_path / "x.xml"
    path.write_text(ACL[: ACL.index('<paper id="2">') + 20], encoding="utf-8")
    works, report = read_works(path)
    assert len(works) == 1
    assert report.bad == 1


def test_the_starter_records_are_read_without_importing_their_package(
    tmp_path: Path, read_works: Read
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    table = {
        "sitting": ["@inproceedings{DBLP:conf/sit/Doe31,\n", "  author = {Jane Doe and\n",
                    "  Li Wei},\n", "  title = {Sitting {Down}},\n", "  year = {2031}\n", "}\n"],
        "volume": ["@proceedings{sit-2031, title = \"All of It\", year = 2031}\n"],
        "wrong": 3,
    }  # fmt: skip
    (folder / "acl.json").write_text(json.dumps(table), encoding="utf-8")
    (folder / "bad.json").write_text("[1, 2", encoding="utf-8")
    works, report = read_works(folder)
    assert [(work.id, work.title, len(work.authors)) for work in works] == [
        ("rb:DBLP:conf/sit/Doe31", "Sitting Down", 2)
    ]
    assert report.bad == 2
    assert report.skipped["proceedings"] == 1


def test_every_importer_refuses_what_is_not_its_format(tmp_path: Path) -> None:
    for name, data in {
        "letter.txt": b"Dear Sir or Madam",
        "photo.json": b"\x89PNG\r\n\x1a\n",
        "package.json": b'{"name": "left-pad", "version": "1.0.0"}',
        "empty.jsonl": b"",
        "deep.jsonl": b'{"a":' * 100_000,
    }.items():
        path = tmp_path / name
        path.write_bytes(data)
        assert find_importer(path) is None, name


def test_a_bib_entry_that_bibtexparser_cannot_split_is_recovered_with_its_line(
    tmp_path: Path, read_works: Read
) -> None:
    path = tmp_path / "refs.bib"
    path.write_text(
        "@string{jos = {Old}}\n@string{jos = {Journal of Sitting}}\n"
        "@article{comma, title = {A Comma},\n  author = {Doe, Jane}\n  journal = jos, year = 2021}\n"
        "@misc{brace, author = {Ros\\{é}, Ana}, title = {A Brace}, year = {2022}}\n"
        "@misc{twice, title = {First}, title = {Second}}\n",
        encoding="utf-8",
    )
    works, report = read_works(path)
    by_key = {work.bibkey: work for work in works}
    assert set(by_key) == {"comma", "brace", "twice"}
    assert by_key["comma"].authors == (Author("Doe", "Jane"),)
    assert by_key["comma"].journal == "Journal of Sitting"
    assert (by_key["brace"].title, by_key["brace"].year) == ("A Brace", 2022)
    assert by_key["twice"].title == "First"
    assert [(problem.line, problem.message) for problem in report.problems] == [
        (4, 'A comma is missing after the field "author".')
    ]
