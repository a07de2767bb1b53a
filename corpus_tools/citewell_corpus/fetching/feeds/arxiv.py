"""arXiv by category and date over OAI-PMH, and by words over its search.

https://info.arxiv.org/help/oa/ and https://info.arxiv.org/help/api/
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from citewell.model.identifiers import arxiv_id
from citewell.model.names import split_authors
from citewell.sources.adapters.arxiv import Arxiv
from citewell.sources.contract import (
    LAST_YEAR,
    Ask,
    Conditions,
    NonsenseError,
    Source,
    SourcePolicy,
    bare_words,
    parse_xml,
)
from citewell_corpus.fetching.contract import BaseFeed, FetchedPage, Selection

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_OAI = "{http://www.openarchives.org/OAI/2.0/}"
_ARXIV = "{http://arxiv.org/OAI/arXiv/}"
_ATOM = "{http://www.w3.org/2005/Atom}"
_ENTRY = "{http://arxiv.org/schemas/atom}"
_OPENSEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
_NAME_PARTS = ("keyname", "forenames", "suffix")


class _ArxivOai(Source):
    """The harvesting interface, which has its own address."""

    name = "arxiv"
    title = "arXiv"
    gives = "preprints by category"
    sends = "names of categories and dates"
    policy = SourcePolicy(
        base="https://oaipmh.arxiv.org",
        hosts=("oaipmh.arxiv.org", "export.arxiv.org"),
        per_second=0.33,
        at_once=1,
        max_bytes=32_000_000,
    )


class ArxivFeed(BaseFeed):
    """`ListRecords`, about a thousand papers a page; the lines are those of arXiv's snapshot."""

    name = "arxiv"
    source = _ArxivOai
    format = "arxiv"
    fields = frozenset({"categories", "query", "since", "until"})
    needs = frozenset({"categories", "query"})
    page_size = 1000

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The next page of one category after the other; the cursor names both."""
        index, _, token = cursor.partition(" ")
        category = selection.categories[int(index or 0)]
        if token:
            params = [("verb", "ListRecords"), ("resumptionToken", token)]
        else:
            params = [("verb", "ListRecords"), ("metadataPrefix", "arXiv"), ("set", _set(category))]
            # Dates are those of the last change: an older paper was not changed since.
            first = changed_since or (f"{selection.since}-01-01" if selection.since else "")
            params += [("from", first)] if first else []
        return Ask(path="/oai", params=tuple(params), accept="text/xml")

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The papers of an answer within the years."""
        index, count = int(cursor.partition(" ")[0] or 0), len(selection.categories)
        root = parse_xml(body)
        error = root.find(f"{_OAI}error")
        if error is not None and error.get("code") != "noRecordsMatch":
            raise NonsenseError(f"the harvest was refused ({error.get('code', 'no reason')})")
        listed = root.find(f"{_OAI}ListRecords")
        if listed is None and error is None:
            raise NonsenseError("the body has no list of records")
        records, token, total = [], "", None
        for record in listed.iter(f"{_ARXIV}arXiv") if listed is not None else ():
            line = _line(record, selection)
            if line is not None:
                records.append(line)
        if listed is not None and (found := listed.find(f"{_OAI}resumptionToken")) is not None:
            token = (found.text or "").strip()
            size = found.get("completeListSize", "")
            total = int(size) if size.isdigit() and count == 1 else None
        following = f"{index + 1} " if index + 1 < count else ""
        return FetchedPage(
            records=tuple(records), cursor=f"{index} {token}" if token else following, total=total
        )


class ArxivSearchFeed(BaseFeed):
    """The search, a hundred papers a page; the lines are those of `ArxivFeed`."""

    name = "arxiv"
    source = Arxiv
    format = "arxiv"
    fields = frozenset({"categories", "query", "since", "until"})
    needs = frozenset({"query"})
    page_size = 100

    def ask(self, selection: Selection, cursor: str, changed_since: str) -> Ask:
        """The papers with all words, in one of the categories; the cursor is a number of papers."""
        wanted = [f"all:{word}" for word in bare_words(selection.query)]
        if selection.categories:
            wanted.append(f"({' OR '.join(f'cat:{name}' for name in selection.categories)})")
        where = Conditions(selection.since, selection.until)
        wanted += where.years("submittedDate:[{}01010000 TO {}12312359]")
        if changed_since:
            since = changed_since.replace("-", "")
            wanted.append(f"submittedDate:[{since}0000 TO {LAST_YEAR}12312359]")
        params = (
            ("search_query", " AND ".join(wanted)),
            ("start", cursor or "0"),
            ("max_results", str(self.page_size)),
            ("sortBy", "submittedDate"),
            ("sortOrder", "ascending"),
        )
        return Ask(path="/query", params=params, accept="*/*")

    def page(self, selection: Selection, cursor: str, body: bytes) -> FetchedPage:
        """The papers of an answer."""
        root = parse_xml(body)
        total = (root.findtext(f"{_OPENSEARCH}totalResults") or "").strip()
        if root.tag != f"{_ATOM}feed" or not total.isdigit():
            raise NonsenseError("the body is not an Atom feed with a total")
        entries = root.findall(f"{_ATOM}entry")
        end = int(cursor or 0) + len(entries)
        return FetchedPage(
            records=tuple(map(_entry_line, entries)),
            cursor=str(end) if entries and end < int(total) else "",
            total=int(total),
        )


def _entry_line(entry: Element) -> bytes:
    def text(name: str) -> str:
        found = entry.find(name)
        return "" if found is None else " ".join("".join(found.itertext()).split())

    names = (author.findtext(f"{_ATOM}name") or "" for author in entry.iter(f"{_ATOM}author"))
    created = text(f"{_ATOM}published")[:10]
    return msgspec.json.encode(
        {
            "id": arxiv_id(text(f"{_ATOM}id")),
            "title": text(f"{_ATOM}title"),
            "authors_parsed": [
                [one.family, one.given, one.suffix]
                for name in names
                for one in split_authors(" ".join(name.split()))
            ],
            "categories": " ".join(one.get("term", "") for one in entry.iter(f"{_ATOM}category")),
            "abstract": text(f"{_ATOM}summary"),
            "doi": text(f"{_ENTRY}doi"),
            "journal-ref": text(f"{_ENTRY}journal_ref"),
            "update_date": text(f"{_ATOM}updated")[:10] or created,
            "versions": [{"created": created}],
        }
    )


def _set(category: str) -> str:
    """ "cs.CL" as the set "cs:cs:CL", "hep-th" as "physics:hep-th", "cs" as itself."""
    archive, _, subject = category.partition(".")
    if archive in ("cs", "math", "stat", "eess", "econ", "q-bio", "q-fin"):
        return f"{archive}:{archive}:{subject}" if subject else archive
    return f"physics:{archive}" + (f":{subject}" if subject else "")


def _line(record: Element, selection: Selection) -> bytes | None:
    def text(name: str) -> str:
        found = record.find(_ARXIV + name)
        return "" if found is None else " ".join("".join(found.itertext()).split())

    created = text("created")
    year = int(created[:4]) if created[:4].isdigit() else 0
    if (selection.since and year < selection.since) or (selection.until and year > selection.until):
        return None
    authors = [
        [(author.findtext(_ARXIV + part) or "").strip() for part in _NAME_PARTS]
        for author in record.iter(f"{_ARXIV}author")
    ]
    return msgspec.json.encode(
        {
            "id": text("id"),
            "title": text("title"),
            "authors_parsed": authors,
            "categories": text("categories"),
            "abstract": text("abstract"),
            "doi": text("doi"),
            "journal-ref": text("journal-ref"),
            "update_date": text("updated") or created,
            "versions": [{"created": created}],
        }
    )
