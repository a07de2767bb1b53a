"""arXiv's query interface, an Atom feed. https://info.arxiv.org/help/api"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from citewell.model import Provenance, Work
from citewell.model.identifiers import arxiv_id, normalise_doi
from citewell.sources import values
from citewell.sources.contract import (
    MATCHES,
    Answer,
    Ask,
    Conditions,
    Failed,
    Matched,
    NoMatch,
    NonsenseError,
    Source,
    SourcePolicy,
    SourceQuery,
    bare_words,
    parse_xml,
    text_of,
)

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ATOM = "{http://www.w3.org/2005/Atom}"
_ARXIV = "{http://arxiv.org/schemas/atom}"
_WITHDRAWN = re.compile(
    r"\b(?:this (?:paper|article|manuscript|submission) (?:has been|is|was) withdrawn"
    r"|withdrawn by (?:the )?(?:author|arxiv))",
    re.IGNORECASE,
)


class Arxiv(Source):
    """Preprints by id, fifty at a time, and by title; withdrawals."""

    name = "arxiv"
    title = "arXiv"
    gives = "preprints, the DOI of the published paper where the authors gave it, withdrawals"
    sends = "arXiv ids; titles of references; search words"
    policy = SourcePolicy(
        base="https://export.arxiv.org/api",
        hosts=("export.arxiv.org", "arxiv.org"),
        per_second=1 / 3,
        at_once=1,
    )
    ids = frozenset({"arxiv"})
    can = frozenset({"match", "search"})
    fields = frozenset({"computing", "mathematics", "physics", "economics"})
    most_words = 4
    batch = 50

    async def _by_ids(self, kind: str, values: Sequence[str]) -> list[Answer]:
        params = (("id_list", ",".join(values)), ("max_results", str(len(values))))
        answer = await self.works(Ask(path="/query", params=params, accept="*/*"), decode_feed)
        if isinstance(answer, Failed):
            return [answer] * len(values)
        known = {w.arxiv: w for w in answer.works} if isinstance(answer, Matched) else {}
        return [
            Matched(self.name, (known[value],)) if value in known else NoMatch(self.name)
            for value in values
        ]

    async def _match(self, wanted: SourceQuery) -> Answer:
        words = " ".join(bare_words(wanted.title))
        return await self._query(f'ti:"{words}"', MATCHES)

    async def _search(self, text: str, limit: int, where: Conditions) -> Answer:
        wanted = [f"all:{word}" for word in bare_words(text)[:12]]
        wanted += where.people('au:"{}"')
        wanted += where.years("submittedDate:[{}01010000 TO {}12312359]")
        return await self._query(" AND ".join(wanted), limit)

    async def _query(self, text: str, limit: int) -> Answer:
        params = (("search_query", text), ("max_results", str(limit)))
        return await self.works(Ask(path="/query", params=params, accept="*/*"), decode_feed)


def decode_feed(body: bytes) -> list[Work]:
    """The entries of a feed; an entry that reports an error is left out."""
    root = parse_xml(body)
    if root.tag != f"{_ATOM}feed":
        raise NonsenseError("the body is not an Atom feed")
    day = values.today()
    entries = root.findall(f"{_ATOM}entry")
    works = [work for entry in entries if (work := _work(entry, day)) is not None]
    errors = [entry for entry in entries if "/api/errors" in text_of(entry, f"{_ATOM}id")]
    if entries and not works and not errors:
        raise NonsenseError("no entry could be read")
    return works


def _work(entry: Element, day: str) -> Work | None:
    identity = arxiv_id(text_of(entry, f"{_ATOM}id"))
    title = values.title(" ".join(text_of(entry, f"{_ATOM}title").split()))
    if not identity or not title:
        return None
    names = [text_of(author, f"{_ATOM}name") for author in entry.findall(f"{_ATOM}author")]
    summary = text_of(entry, f"{_ATOM}summary")
    notes = f"{text_of(entry, f'{_ARXIV}comment')} {summary[:400]}"
    identifier = f"arxiv:{identity}"
    doi = normalise_doi(text_of(entry, f"{_ARXIV}doi"))
    same = (identifier, *((f"doi:{doi}",) if doi else ()))
    return Work(
        id=identifier,
        title=title,
        authors=values.authors(names),
        year=values.year(text_of(entry, f"{_ATOM}published")),
        kind="misc",
        venue="arXiv",
        # The authors' note on publication helps to find the paper, but is no field of this record.
        doi=doi,
        arxiv=identity,
        url=f"https://arxiv.org/abs/{identity}",
        abstract=values.abstract(summary),
        keywords=values.keywords([one.get("term") for one in entry.findall(f"{_ATOM}category")]),
        retracted=_WITHDRAWN.search(notes) is not None,
        notice=f"https://arxiv.org/abs/{identity}" if _WITHDRAWN.search(notes) else "",
        same_as=same,
        provenance=(Provenance(source="arxiv", source_id=identity, retrieved=day),),
    )
