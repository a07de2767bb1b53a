"""The bulk interfaces of scholarly sources on this machine, with faults.

Answers as the sources document: OpenAlex and Crossref with cursors, Semantic Scholar with tokens,
arXiv over OAI-PMH with resumption tokens, DBLP with offsets, the Anthology and Retraction Watch's
list as one file. Works are made up; `count` of them are served.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = tuple[int, dict[str, str], bytes]
NAMES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Ginkgo", "Hazel", "Ivy", "Larch")
TOPICS = ("Growth of Trees", "Forest Soils")


class BulkServer:
    """Serves `count` works of each source. `fault(n, path)` may answer request n otherwise."""

    def __init__(self, count: int = 450, page: int | None = None) -> None:
        self.count, self.page = count, page
        self.requests: list[str] = []
        self.fault: Callable[[int, str], Answer | str | None] = lambda number, path: None
        self.slow = 0.0
        self.edges: dict[int, list[int]] | None = None
        """What each work cites, by number; None: the three works before it."""
        self._counter: Counter[str] = Counter()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        number = len(self.requests)
        self.requests.append(handler.path)
        parts = urlsplit(handler.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        time.sleep(self.slow)
        found = self.fault(number, handler.path)
        source, _, path = parts.path.lstrip("/").partition("/")
        if isinstance(found, tuple):
            status, headers, body = found
        else:
            status, headers, body = self._sound(source, "/" + path, query)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        if found == "cut":
            handler.wfile.write(body[: len(body) // 2])
            handler.wfile.flush()
            # Else the handler waits for the next request of a client that waits for the rest.
            handler.close_connection = True
            return
        handler.wfile.write(body)

    def _sound(self, source: str, path: str, query: dict[str, str]) -> Answer:
        make = getattr(self, "_" + source.replace("-", "_"), None)
        if make is None:
            return 404, {}, b"{}"
        made = make(path, query)
        if isinstance(made, int):
            return made, {}, b"{}"
        if isinstance(made, bytes):
            return 200, {"content-type": "application/octet-stream"}, made
        return 200, {"content-type": "application/json"}, json.dumps(made).encode()

    def _openalex(self, path: str, query: dict[str, str]) -> Any:
        if path.startswith("/works/doi:"):
            number = path.rsplit(".", 1)[1]
            return self._work(int(number)) if number.isdigit() else 404
        if path != "/works":
            if "nowhere" in query["search"]:
                return {"meta": {"count": 0}, "results": []}
            letter = {"/topics": "T", "/sources": "S", "/authors": "A", "/institutions": "I"}[path]
            return {"results": [{"id": f"https://openalex.org/{letter}77", "display_name": "X"}]}
        chosen = _chosen(query)
        if chosen is not None:
            works = [self._work(i) for i in chosen if i < self.count]
            return {"meta": {"count": len(works)}, "results": works}
        cursor = query["cursor"]
        if cursor != "*" and not cursor.startswith("c"):
            return 400
        start = 0 if cursor == "*" else int(cursor[1:])
        size = self.page or int(query["per_page"])
        numbers = _selected(query.get("filter", ""), self.count)
        if "sort" in query:
            numbers = numbers[::-1]
        works = [self._work(i) for i in numbers[start : start + size]]
        end = start + len(works)
        following = f"c{end}" if works else None
        return {"meta": {"count": len(numbers), "next_cursor": following}, "results": works}

    def _work(self, i: int) -> dict[str, Any]:
        cited = range(max(0, i - 3), i) if self.edges is None else self.edges.get(i, ())
        return _openalex_work(i) | {
            "referenced_works": [f"https://openalex.org/W{1000 + j}" for j in cited]
        }

    def _crossref(self, path: str, query: dict[str, str]) -> Any:
        start = 0 if query["cursor"] == "*" else int(query["cursor"][1:])
        rows = self.page or int(query["rows"])
        items = [
            {
                "DOI": f"10.5555/cr.{i}", "title": [_title(i)], "type": "journal-article",
                "author": [{"family": NAMES[i % 10], "given": "Ann"}],
                "issued": {"date-parts": [[2000 + i % 20]]},
                "container-title": ["Journal of Trees"],
            }
            for i in range(start, min(self.count, start + rows))
        ]  # fmt: skip
        message = {
            "total-results": self.count, "items": items, "next-cursor": f"k{start + len(items)}",
        }  # fmt: skip
        return {"status": "ok", "message": message}

    def _semantic_scholar(self, path: str, query: dict[str, str]) -> Any:
        start = int(query.get("token", "t0")[1:])
        size = self.page or 1000
        data = [
            {
                "paperId": f"{i:040x}", "title": _title(i), "year": 2000 + i % 20,
                "authors": [{"name": f"Ann {NAMES[i % 10]}"}], "citationCount": i,
                "externalIds": {"DOI": f"10.5555/s2.{i}"}, "venue": "Trees",
            }
            for i in range(start, min(self.count, start + size))
        ]  # fmt: skip
        end = start + len(data)
        more = {"token": f"t{end}"} if end < self.count else {}
        return {"total": self.count, "data": data, **more}

    def _dblp(self, path: str, query: dict[str, str]) -> Any:
        first, size = int(query["f"]), self.page or int(query["h"])
        hits = [
            {
                "info": {
                    "key": f"conf/trees/T{i}", "title": _title(i) + ".", "year": str(2000 + i % 20),
                    "authors": {"author": [{"text": f"Ann {NAMES[i % 10]}"}]}, "venue": "TREES",
                    "type": "Conference and Workshop Papers",
                }
            }
            for i in range(first, min(self.count, first + size))
        ]  # fmt: skip
        counts = {"@total": str(self.count), "@sent": str(len(hits)), "@first": str(first)}
        return {"result": {"hits": counts | ({"hit": hits} if hits else {})}}

    def _arxiv(self, path: str, query: dict[str, str]) -> Any:
        if path == "/query":
            start, size = int(query["start"]), self.page or int(query["max_results"])
            entries = "".join(map(_arxiv_entry, range(start, min(self.count, start + size))))
            return (
                '<feed xmlns="http://www.w3.org/2005/Atom" '
                'xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
                f"<opensearch:totalResults>{self.count}</opensearch:totalResults>{entries}</feed>"
            ).encode()
        start = int(query.get("resumptionToken", "r0")[1:])
        size = self.page or 1000
        end = min(self.count, start + size)
        records = "".join(_arxiv_record(i) for i in range(start, end))
        token = (
            f'<resumptionToken cursor="{start}" completeListSize="{self.count}">'
            f"{'r' + str(end) if end < self.count else ''}</resumptionToken>"
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>x</responseDate>'
            f"<ListRecords>{records}{token}</ListRecords></OAI-PMH>"
        ).encode()

    def _retraction_watch(self, path: str, query: dict[str, str]) -> Any:
        columns = (
            "Record ID,Title,Subject,Journal,Publisher,Author,RetractionDate,RetractionDOI,"
            "OriginalPaperDate,OriginalPaperDOI,RetractionNature,Reason,Notes"
        )
        rows = [
            f'{i},"{_title(i)}",(BLS) Botany;,Journal of Trees,Wood Press,"Ann {NAMES[i % 10]};",'
            f"1/2/2021 0:00,10.5555/notice.{i},3/4/{2000 + i % 20} 0:00,10.5555/rw.{i},"
            f'Retraction,+Error;,"a note\nover two lines"'
            for i in range(self.count)
        ]
        rows.append("99999,A corrected paper,,J,P,Ben Ash,,,1/1/2001 0:00,10.5555/c,Correction,,")
        return "\r\n".join([columns, *rows, ""]).encode()

    def _acl_anthology(self, path: str, query: dict[str, str]) -> Any:
        entries = "".join(
            f'@inproceedings{{{NAMES[i % 10].lower()}-{i},\n    title = "{_title(i)}",\n'
            f'    author = "{NAMES[i % 10]}, Ann",\n    year = "{2000 + i % 20}",\n'
            f'    booktitle = "Proceedings of TREES",\n    abstract = "On trees @ {i}."\n}}\n'
            for i in range(self.count)
        )
        return gzip.compress(entries.encode())


def _chosen(query: dict[str, str]) -> list[int] | None:
    """The works that a filter by identifiers names, or that words find."""
    if "search" in query:
        return [0]
    for part in query.get("filter", "").split(","):
        kind, _, values = part.partition(":")
        if kind == "openalex":
            return [int(value[1:]) - 1000 for value in values.split("|")]
        if kind == "doi":
            return [int(value.rsplit(".", 1)[1]) for value in values.split("|") if "/oa." in value]
        if kind == "title.search":
            return [int(values.rsplit(" ", 1)[1])] if values[-1].isdigit() else []
    return None


def _selected(filters: str, count: int) -> list[int]:
    """The works with one of the topics that they have, later than a year."""
    found = list(range(count))
    for part in filters.split(","):
        kind, _, values = part.partition(":")
        if kind == "topics.id" and values.startswith("T1"):
            found = [i for i in found if f"T{10 + i % 2}" in values.split("|")]
        if kind == "publication_year" and values.startswith(">"):
            found = [i for i in found if 2000 + i % 20 > int(values[1:])]
    return found


def _title(i: int) -> str:
    return f"On the growth of the {NAMES[i % 10]} number {i}"


def _openalex_work(i: int) -> dict[str, Any]:
    return {
        "id": f"https://openalex.org/W{1000 + i}",
        "doi": f"https://doi.org/10.5555/oa.{i}",
        "title": _title(i),
        "display_name": _title(i),
        "publication_year": 2000 + i % 20,
        "type": "article",
        "authorships": [{"author": {"display_name": f"Ann {NAMES[i % 10]}"}}],
        "primary_location": {
            "source": {
                "id": "https://openalex.org/S8",
                "display_name": "Journal of Trees",
                "type": "journal",
            }
        },
        "topics": [
            {"id": f"https://openalex.org/T{10 + i % 2}", "display_name": TOPICS[i % 2]},
        ],
        "biblio": {"volume": "1", "issue": None, "first_page": str(i), "last_page": str(i + 9)},
        "cited_by_count": 3 * i,
        "is_retracted": False,
        "is_paratext": False,
        "abstract_inverted_index": {"Trees": [0], "grow": [1], f"slowly{i}": [2]},
    }


def _arxiv_entry(i: int) -> str:
    return (
        f"<entry><id>http://arxiv.org/abs/2001.{i:05d}v2</id><title>{_title(i)}</title>"
        f"<published>20{i % 20:02d}-01-02T03:04:05Z</published><summary>On trees.</summary>"
        f"<author><name>Ann {NAMES[i % 10]}</name></author><category term='cs.CL'/></entry>"
    )


def _arxiv_record(i: int) -> str:
    if i % 50 == 49:
        return '<record><header status="deleted"><identifier>x</identifier></header></record>'
    return (
        f"<record><header><identifier>oai:arXiv.org:2001.{i:05d}</identifier></header><metadata>"
        '<arXiv xmlns="http://arxiv.org/OAI/arXiv/">'
        f"<id>2001.{i:05d}</id><created>20{i % 20:02d}-01-02</created><authors><author>"
        f"<keyname>{NAMES[i % 10]}</keyname><forenames>Ann</forenames></author></authors>"
        f"<title>{_title(i)}</title><categories>cs.CL</categories>"
        f"<abstract>On trees &amp; their growth.</abstract></arXiv></metadata></record>"
    )
