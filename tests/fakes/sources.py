"""A small HTTP server on the loopback interface that speaks as the sources do.

It answers below `/NAME/...` for every source from records that it is given, keeps a log of all
requests with their times, and fails on command: see `Fault`. It speaks HTTP by hand, so that it
can also break off in the middle of a body, promise more than it sends, or never answer.

    python tests/fakes/sources.py 8765      serves the small records beside this file
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

SMALL = Path(__file__).with_suffix(".json")
MAX_REQUEST = 1_000_000


@dataclass(frozen=True)
class Fault:
    """How an answer goes wrong: a status, or one of the kinds below."""

    status: int = 0
    kind: str = ""
    """"hang", "truncated", "malformed", "empty-body", "huge", "foreign-redirect", "loop", "shape"."""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Logged:
    """One request as it came in."""

    at: float
    """Seconds of the monotonic clock."""
    method: str
    source: str
    path: str
    """Below the source, unquoted."""
    params: tuple[tuple[str, str], ...]
    headers: Mapping[str, str]
    body: bytes
    open_now: int
    """Requests of this source that were open, this one included."""

    @property
    def target(self) -> str:
        return f"{self.path}?{self.params}"


@dataclass(frozen=True)
class Reply:
    """An answer."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps(self.body).encode()


Handler = Callable[["FakeSources", str, dict[str, str], Logged], Reply]


class FakeSources:
    """The server. `with FakeSources(records) as fake:` runs it on a thread of its own."""

    def __init__(self, records: Mapping[str, list[dict[str, Any]]] | None = None) -> None:
        small = json.loads(SMALL.read_text(encoding="utf-8"))
        self.records: dict[str, list[dict[str, Any]]] = {**small, **(records or {})}
        self.log: list[Logged] = []
        self.faults: dict[str, list[Fault]] = {}
        """By source: the next answers in order; the last one stays."""
        self.extra: dict[str, dict[str, str]] = {}
        """Further headers by source: freshness, rates."""
        self.canned: dict[str, Reply] = {}
        """Fixed replies by `SOURCE/PATH?QUERY` or `SOURCE/PATH`, before the records are asked."""
        self.limits = {"x-rate-limit-limit": "50", "x-rate-limit-interval": "1s"}
        """What Crossref says of the rate that it allows."""
        self.delay = 0.0
        self._open: dict[str, int] = {}
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self.port = 0

    # -- for tests ------------------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def of(self, source: str) -> list[Logged]:
        """The requests of one source."""
        return [one for one in self.log if one.source == source]

    def fail(self, source: str, *faults: Fault) -> None:
        """Make the next answers of a source go wrong; the last fault stays, none: all is well."""
        self.faults[source] = list(faults)

    def __enter__(self) -> FakeSources:
        threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True).start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        if self._loop is not None and self._stop is not None:
            self._loop.call_soon_threadsafe(self._stop.set)

    # -- the server -----------------------------------------------------------------------

    async def _serve(self, port: int = 0) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        async with server:
            await self._stop.wait()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError
        ):
            while await self._one(reader, writer):
                pass
        writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        size = int(headers.get("content-length", "0"))
        body = await reader.readexactly(size) if 0 < size <= MAX_REQUEST else b""
        parts = urlsplit(target)
        _, source, path = (*parts.path.split("/", 2), "", "")[:3]
        self._open[source] = self._open.get(source, 0) + 1
        params = tuple(parse_qsl(parts.query, keep_blank_values=True))
        logged = Logged(
            time.monotonic(), method, source, "/" + unquote(path), params, headers, body,
            self._open[source],
        )  # fmt: skip
        self.log.append(logged)
        try:
            if self.delay:
                await asyncio.sleep(self.delay)
            return await self._answer(writer, source, parts, logged)
        finally:
            self._open[source] -= 1

    def _fault(self, source: str) -> Fault | None:
        faults = self.faults.get(source)
        if not faults:
            return None
        return faults.pop(0) if len(faults) > 1 else faults[0]

    async def _answer(
        self, writer: asyncio.StreamWriter, source: str, parts: Any, logged: Logged
    ) -> bool:
        fault = self._fault(source)
        if fault is not None and fault.kind == "hang":
            await asyncio.sleep(30)
            return False
        if fault is not None and fault.status:
            reply = Reply(b"<html>no</html>", fault.status, fault.headers)
        elif fault is not None and fault.kind in ("foreign-redirect", "loop"):
            place = "http://169.254.169.254/latest/" if fault.kind != "loop" else logged.path
            place = f"/{source}{place}" if fault.kind == "loop" else place
            reply = Reply(b"", 302, {"location": place})
        else:
            reply = self._reply(source, parts, logged)
        data = reply.data
        if fault is not None:
            data = _spoilt(fault, data)
        headers = {
            "content-type": "application/json", **self.extra.get(source, {}), **reply.headers,
        }  # fmt: skip
        length = len(data)
        if headers.get("etag") and logged.headers.get("if-none-match") == headers["etag"]:
            reply, data, length = Reply(b"", 304), b"", 0
        elif "gzip" in logged.headers.get("accept-encoding", "") and reply.status == 200:
            data = gzip.compress(data)
            headers["content-encoding"] = "gzip"
            headers["vary"] = "Accept-Encoding"
            length = len(data)
        if fault is not None and fault.kind == "truncated":
            data = data[: length // 2]
        headers["content-length"] = str(length)
        lines = [f"HTTP/1.1 {reply.status} X", *(f"{n}: {v}" for n, v in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + data)
        await writer.drain()
        return not (fault is not None and fault.kind == "truncated")

    def _reply(self, source: str, parts: Any, logged: Logged) -> Reply:
        whole = f"{source}{logged.path}"
        for name in (f"{whole}?{parts.query}", whole):
            if name in self.canned:
                return self.canned[name]
        handler = HANDLERS.get(source)
        if handler is None:
            return Reply({"error": "no such source"}, 404)
        return handler(self, logged.path, dict(logged.params), logged)


def _spoilt(fault: Fault, data: bytes) -> bytes:
    if fault.kind == "malformed":
        return b'{"status": "ok", "message": {"items": [' + data[:40]
    if fault.kind == "empty-body":
        return b""
    if fault.kind == "shape":
        return b'{"error": "an internal error, with status 200"}'
    if fault.kind == "huge":
        return b'{"message": "' + b"x" * 3_000_000 + b'"}'
    return data


# -- what each source says ------------------------------------------------------------------


_FILTERS = re.compile(
    r"submittedDate:\[[^]]*\]|PUB_YEAR:\[[^]]*\]|publicationYear:\[[^]]*\]|\d+:\d+\[dp\]|"
    r"date \d+->\d+|py:\d+-\d+|(?:au|AUTH|creators\.name):\"[^\"]*\"|[\w ]+\[au\]"
)
"""Filters inside the words of a search."""


def _within(years: str, year: int) -> bool:
    """Whether a filter admits a year: the first four digits of its last two numbers bound it."""
    low, high = (int(one[:4]) for one in re.findall(r"\d{4,}", years)[-2:])
    return low <= year <= high


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


def _search(
    records: list[dict[str, Any]], title: Callable[[dict[str, Any]], str], text: str, limit: int
) -> list[dict[str, Any]]:
    """Records that share words of their title with the text, most first; at least half of them."""
    query_words = _words(_FILTERS.sub(" ", text))
    scored = []
    for number, record in enumerate(records):
        known = _words(title(record))
        shared = len(query_words & known)
        if shared and shared * 2 >= min(len(query_words), len(known)):
            scored.append((-shared, number))
    return [records[number] for _, number in sorted(scored)[:limit]]


def _first(value: Any) -> str:
    return str(value[0] if isinstance(value, list) and value else value or "")


def _crossref_title(record: dict[str, Any]) -> str:
    return _first(record.get("title"))


def _crossref(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records = fake.records["crossref"]
    limits = fake.limits
    if path.startswith("/works/"):
        doi = path.removeprefix("/works/").removesuffix("/transform").lower()
        for record in records:
            if record["DOI"].lower() == doi:
                if path.endswith("/transform"):
                    return Reply(record, headers=limits)
                return Reply({"status": "ok", "message": record}, headers=limits)
        return Reply(b"Resource not found.", 404, {**limits, "content-type": "text/plain"})
    rows = int(params.get("rows", "20"))
    if "from-pub-date" in params.get("filter", ""):
        found = _search(records, _crossref_title, params["query.bibliographic"], rows)
        items = [
            record for record in found
            if _within(params["filter"], record["issued"]["date-parts"][0][0])
        ]  # fmt: skip
    elif "filter" in params:
        wanted = {part.removeprefix("doi:") for part in params["filter"].lower().split(",")}
        items = [record for record in records if record["DOI"].lower() in wanted]
    else:
        items = _search(records, _crossref_title, params.get("query.bibliographic", ""), rows)
    message = {"total-results": len(items), "items": items[:rows]}
    return Reply({"status": "ok", "message-type": "work-list", "message": message}, headers=limits)


def _openalex(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records = fake.records["openalex"]

    def doi(record: dict[str, Any]) -> str:
        return str(record.get("doi") or "").lower().removeprefix("https://doi.org/")

    if path.startswith("/works/"):
        wanted = path.removeprefix("/works/").removeprefix("doi:").lower()
        found = next((record for record in records if doi(record) == wanted), None)
        return Reply(found) if found else Reply({"error": "Not Found"}, 404)
    limit = int(params.get("per_page", "25"))
    name, _, value = params.get("filter", "").partition(":")
    if name == "doi":
        dois = value.lower().split("|")
        items = [record for record in records if doi(record) in dois]
    elif name in ("cites", "cited_by"):
        items = records[:2]
    else:
        text = value if name == "title.search" else params.get("search", "")
        items = _search(records, lambda record: record.get("title") or "", text, limit)
    return Reply({"meta": {"count": len(items)}, "results": items[:limit]})


_S2_NAMES = {"PubMed": "pmid"}


def _s2_ids(record: dict[str, Any]) -> set[str]:
    others = record.get("externalIds") or {}
    names = {f"{_S2_NAMES.get(name, name)}:{value}".lower() for name, value in others.items()}
    return {*names, record["paperId"].lower()}


def _semantic(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records = fake.records["semantic-scholar"]
    missing = Reply({"error": "Paper not found"}, 404)
    if path == "/paper/batch":
        wanted = [name.lower() for name in json.loads(logged.body)["ids"]]
        return Reply([next((r for r in records if name in _s2_ids(r)), None) for name in wanted])
    if path.startswith("/paper/search"):
        limit = 1 if path.endswith("match") else int(params.get("limit", "10"))
        items = _search(records, lambda r: r.get("title") or "", params.get("query", ""), limit)
        if path.endswith("match"):
            return Reply({"data": items}) if items else missing
        return Reply({"total": len(items), "offset": 0, **({"data": items} if items else {})})
    name = path.removeprefix("/paper/").lower()
    for what, side in (("references", "citedPaper"), ("citations", "citingPaper")):
        if name.endswith(f"/{what}"):
            return Reply({"offset": 0, "data": [{side: record} for record in records[:2]]})
    found = next((record for record in records if name in _s2_ids(record)), None)
    return Reply(found) if found else missing


def _atom(entries: list[dict[str, Any]]) -> Reply:
    from xml.sax.saxutils import escape

    def entry(record: dict[str, Any]) -> str:
        people = "".join(f"<author><name>{escape(n)}</name></author>" for n in record["authors"])
        rest = "".join(
            f"<arxiv:{name}>{escape(record[name])}</arxiv:{name}>"
            for name in ("comment", "doi", "journal_ref")
            if record.get(name)
        )
        return (
            f"<entry><id>http://arxiv.org/abs/{record['id']}v1</id>"
            f"<title>{escape(record['title'])}</title><published>{record['published']}</published>"
            f"<summary>{escape(record.get('summary', ''))}</summary>{people}{rest}</entry>"
        )

    text = (
        "<?xml version='1.0' encoding='UTF-8'?>"
        '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom">'
        f"<title>arXiv Query</title>{''.join(entry(record) for record in entries)}</feed>"
    )
    return Reply(text.encode(), headers={"content-type": "application/atom+xml"})


def _arxiv(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records = fake.records["arxiv"]
    if "id_list" in params:
        wanted = params["id_list"].split(",")
        return _atom([record for record in records if record["id"] in wanted])
    text = re.sub(r"\b(?:ti|all):|\bAND\b", " ", params.get("search_query", ""))
    found = _search(records, lambda r: r["title"], text, int(params.get("max_results", "10")))
    years = re.search(r"submittedDate:\[[^]]*\]", text)
    return _atom([r for r in found if not years or _within(years[0], int(r["published"][:4]))])


def _dblp(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    found = _search(
        fake.records["dblp"], lambda r: r["info"].get("title") or "", params.get("q", ""),
        int(params.get("h", "30")),
    )  # fmt: skip
    hits: dict[str, Any] = {"@total": str(len(found)), "@sent": str(len(found)), "@first": "0"}
    if found:
        hits["hit"] = found
    return Reply({"result": {"status": {"@code": "200", "text": "OK"}, "hits": hits}})


def _datacite(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records = fake.records["datacite"]
    if path.startswith("/dois/"):
        doi = path.removeprefix("/dois/").lower()
        found = next((record for record in records if record["id"].lower() == doi), None)
        return Reply({"data": found}) if found else Reply({"errors": [{"status": "404"}]}, 404)
    text = re.sub(r'titles\.title:|"|\bAND\b', " ", params.get("query", ""))
    items = _search(
        records, lambda r: r["attributes"]["titles"][0]["title"], text,
        int(params.get("page[size]", "25")),
    )  # fmt: skip
    return Reply({"data": items, "meta": {"total": len(items)}})


def _pubmed(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records = fake.records["pubmed"]
    if path == "/esearch.fcgi":
        term = params.get("term", "")
        if term.endswith("[doi]"):
            doi = term.removesuffix("[doi]")
            found = [r for r in records if any(i["value"] == doi for i in r["articleids"])]
        else:
            text = term.removesuffix("[title]")
            found = _search(records, lambda r: r["title"], text, int(params.get("retmax", "20")))
        return Reply({"esearchresult": {"idlist": [record["uid"] for record in found]}})
    wanted = params.get("id", "").split(",")
    known = {record["uid"]: record for record in records}
    result: dict[str, Any] = {"uids": wanted}
    for uid in wanted:
        result[uid] = known.get(uid, {"uid": uid, "error": "cannot get document summary"})
    return Reply({"result": result})


def _europe_pmc(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records, query = fake.records["europe-pmc"], params.get("query", "")
    if found := re.fullmatch(r"EXT_ID:(\d+) AND SRC:MED", query):
        items = [record for record in records if record["pmid"] == found[1]]
    elif found := re.fullmatch(r'DOI:"(.*)"', query):
        items = [record for record in records if record["doi"].lower() == found[1].lower()]
    else:
        text = re.sub(r'TITLE:"|"', " ", query)
        items = _search(records, lambda r: r["title"], text, int(params.get("pageSize", "25")))
    return Reply({"version": "6.9", "hitCount": len(items), "resultList": {"result": items}})


def _inspire(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records = fake.records["inspire"]
    for kind, name in (("/doi/", "dois"), ("/arxiv/", "arxiv_eprints")):
        if path.startswith(kind):
            wanted = path.removeprefix(kind).lower()
            for record in records:
                if any(one["value"].lower() == wanted for one in record["metadata"].get(name, [])):
                    return Reply(record)
            return Reply({"status": 404, "message": "PID does not exist."}, 404)
    text = re.sub(r'^t "|"$|\band\b', " ", params.get("q", ""))
    found = _search(
        records, lambda r: r["metadata"]["titles"][0]["title"], text, int(params.get("size", "10"))
    )
    return Reply({"hits": {"hits": found, "total": len(found)}})


def _zbmath(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records, query = fake.records["zbmath"], params.get("search_string", "")
    if query.startswith("doi:"):
        doi = query.removeprefix("doi:").lower()
        items = [r for r in records if any(one["identifier"].lower() == doi for one in r["links"])]
    else:
        text = re.sub(r'ti:"|any:|"|& au:.*|&', " ", query)
        items = _search(
            records, lambda r: r["title"]["title"], text, int(params.get("results_per_page", "100"))
        )
    if not items:
        return Reply({"result": None, "status": {"status_code": 404}}, 404)
    return Reply({"result": items, "status": {"status_code": 200, "nr_total_results": len(items)}})


def _open_library(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    records = fake.records["open-library"]
    if path == "/api/books":
        wanted = params.get("bibkeys", "").split(",")
        known = {f"ISBN:{isbn}": record for record in records for isbn in record["isbn"]}
        editions = {
            name: {
                "key": known[name]["key"], "title": known[name]["title"],
                "authors": [{"name": one} for one in known[name]["author_name"]],
                "publish_date": f"March {known[name]['first_publish_year']}",
                "publishers": [{"name": one} for one in known[name]["publisher"]],
            }
            for name in wanted
            if name in known
        }  # fmt: skip
        return Reply(editions)
    text = params.get("title") or params.get("q", "")
    found = _search(records, lambda r: r["title"], text, int(params.get("limit", "100")))
    return Reply({"numFound": len(found), "start": 0, "docs": found})


def _openreview(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    notes = fake.records["openreview"]
    found = _search(
        notes, lambda note: _value(note, "title"), params.get("term", ""),
        int(params.get("limit", "10")),
    )  # fmt: skip
    return Reply({"notes": found, "count": len(found)})


def _value(note: dict[str, Any], name: str) -> str:
    value = note["content"].get(name, "")
    return str(value.get("value", "") if isinstance(value, dict) else value)


def _doi(fake: FakeSources, path: str, params: dict[str, str], logged: Logged) -> Reply:
    doi = path.removeprefix("/").lower()
    if any(record["DOI"].lower() == doi for record in fake.records["crossref"]):
        place = f"{fake.url}/crossref/works/{doi}/transform"
        return Reply(b"<html>Handle Redirect</html>", 302, {"location": place})
    for record in fake.records["datacite"]:
        if record["id"].lower() == doi:
            facts = record["attributes"]
            item = {
                "type": "article", "DOI": doi, "title": facts["titles"][0]["title"],
                "issued": {"date-parts": [[facts["publicationYear"]]]},
                "author": [
                    {"family": one.get("familyName"), "given": one.get("givenName")}
                    for one in facts["creators"]
                ],
            }  # fmt: skip
            return Reply(item)
    return Reply(b"<html>DOI Not Found</html>", 404, {"content-type": "text/html"})


HANDLERS: dict[str, Handler] = {
    "crossref": _crossref,
    "openalex": _openalex,
    "semantic-scholar": _semantic,
    "arxiv": _arxiv,
    "dblp": _dblp,
    "datacite": _datacite,
    "pubmed": _pubmed,
    "europe-pmc": _europe_pmc,
    "inspire": _inspire,
    "zbmath": _zbmath,
    "open-library": _open_library,
    "openreview": _openreview,
    "doi": _doi,
}


def running(records: Mapping[str, list[dict[str, Any]]] | None = None) -> Iterator[FakeSources]:
    """For fixtures."""
    with FakeSources(records) as fake:
        yield fake


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8765
    server = FakeSources()
    print(f"sources.base_url = http://127.0.0.1:{port}")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(server._serve(port))
