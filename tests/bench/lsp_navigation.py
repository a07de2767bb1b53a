"""Latency of going from a key to its places, over a large .bib and over a workspace of many files.

Run by `lsp_bench.py` (`--only navigation,workspace`). Each request follows an edit, so that nothing
is answered from memory; beside the time at the client's end stands the server's processor time.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from rpc_client import RpcClient, percentiles

CITED = 200
"""Keys that the measured document cites."""
LARGE = 100_000
"""Bytes from which an answer is also requested from a bare peer."""


@contextmanager
def bare_peer(result: Any) -> Iterator[RpcClient]:
    """A client of a process that answers each request with this result, in as many bytes as
    Citewell takes for it."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "result.json"
        text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        file.write_text(text, encoding="utf-8")
        peer = Path(__file__).with_name("bare_peer.py")
        client = RpcClient([sys.executable, str(peer), str(file)])
        client.request("ready", None)
        yield client
        client.close()


class Typist:
    """One open file; a letter is typed and taken back in turns, far from what is asked about."""

    def __init__(self, client: RpcClient, path: Path, language: str, text: str) -> None:
        self.client = client
        self.path = path
        self.version = 1
        client.open(path, language, text)

    def type(self) -> None:
        self.version += 1
        place = {"line": 0, "character": 0}
        added = self.version % 2 == 0
        end = place if added else {"line": 0, "character": 1}
        self.client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.path.as_uri(), "version": self.version},
                "contentChanges": [
                    {"range": {"start": place, "end": end}, "text": "%" if added else ""}
                ],
            },
        )

    def at(self, line: int, character: int) -> dict[str, Any]:
        """The parameters of a request at a place."""
        shift = 1 if line == 0 and self.version % 2 == 0 else 0
        return {
            "textDocument": {"uri": self.path.as_uri()},
            "position": {"line": line, "character": character + shift},
        }

    @property
    def whole(self) -> dict[str, Any]:
        return {"textDocument": {"uri": self.path.as_uri()}}


class Stopwatch:
    """Times requests to one server."""

    def __init__(self, client: RpcClient, count: int) -> None:
        self.client = client
        self.count = count
        self.process = psutil.Process(client.process.pid)

    def time(
        self,
        method: str,
        params: Callable[[int], dict[str, Any]],
        before: Callable[[], None],
        count: int = 0,
    ) -> dict[str, Any]:
        """Percentiles in ms of a request that follows an edit, and the processor time of both; of a
        large answer also what a bare peer takes that sends the same."""
        found: Any = None

        def ask(number: int) -> float:
            nonlocal found
            found = None  # what it takes to free it is no part of the next answer
            before()
            start = time.perf_counter()
            found = self.client.request(method, params(number))
            assert found, method
            return time.perf_counter() - start

        for number in range(-3, 0):
            ask(number)
        cpu = self.cpu()
        spent = [ask(number) for number in range(count or self.count)]
        used = (self.cpu() - cpu) / len(spent)
        size = len(json.dumps(found))
        row = {**percentiles(spent), "cpu_ms": round(1000 * used, 1), "bytes": size}
        if size >= LARGE:
            row |= self._beside_bare(ask, found, len(spent))
        return row

    @staticmethod
    def _beside_bare(ask: Callable[[int], float], result: Any, count: int) -> dict[str, Any]:
        """Medians in ms of the request and of a bare peer, in turns, and of their difference: the
        rest is the client's reading and decoding."""
        bare_times: list[float] = []
        beyond: list[float] = []
        with bare_peer(result) as bare:
            for number in range(count):
                start = time.perf_counter()
                bare.request("same", None)
                bare_times.append(time.perf_counter() - start)
                beyond.append(ask(number) - bare_times[-1])
        return {
            "bare p50": percentiles(bare_times)["p50"],
            "beyond bare p50": percentiles(beyond)["p50"],
        }

    def cpu(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


def paper_text(keys: list[str]) -> str:
    lines = [f"We follow \\citep{{{key}}} in this." for key in keys]
    head = "\n\\documentclass{article}\n\\begin{document}\n"
    return head + "\n".join(lines) + "\n\\bibliography{refs}\n\\end{document}\n"


def bench_navigation(arguments: argparse.Namespace) -> dict[str, Any]:
    """Requests about keys of a large .bib that is open beside a document."""
    from lsp_bench import citewell_command, make_bib, project, rss_mb

    result: dict[str, Any] = {}
    for size in arguments.bib_sizes:
        keys = [f"key{number:06d}" for number in range(0, size, size // CITED)]
        bib = "\n" + make_bib(size)
        lines = bib.split("\n")
        with project(bib) as (folder, main):
            client = RpcClient(citewell_command(arguments))
            client.initialize(folder)
            text = paper_text(keys)
            main.write_text(text, encoding="utf-8")
            document = Typist(client, main, "latex", text)
            refs = Typist(client, folder / "refs.bib", "bibtex", bib)
            watch = Stopwatch(client, arguments.count)
            places = [lines.index(f"@inproceedings{{{key},") for key in keys]

            def cited(
                number: int, document: Typist = document, count: int = len(keys)
            ) -> dict[str, Any]:
                return document.at(3 + number % count, 20)

            def entry(
                number: int, refs: Typist = refs, places: list[int] = places
            ) -> dict[str, Any]:
                return refs.at(places[number % len(places)], 18)

            def with_position(request: dict[str, Any]) -> dict[str, Any]:
                return request | {"context": {"includeDeclaration": True}}

            row: dict[str, Any] = {}
            row["definition"] = watch.time("textDocument/definition", cited, document.type)
            row["definition after an edit of the .bib"] = watch.time(
                "textDocument/definition", cited, refs.type
            )
            row["references"] = watch.time(
                "textDocument/references",
                lambda n, cited=cited: with_position(cited(n)),
                document.type,
            )
            row["references from the .bib"] = watch.time(
                "textDocument/references", lambda n, entry=entry: with_position(entry(n)), refs.type
            )
            row["highlight"] = watch.time("textDocument/documentHighlight", cited, document.type)
            row["prepareRename"] = watch.time("textDocument/prepareRename", cited, document.type)
            row["rename"] = watch.time(
                "textDocument/rename",
                lambda n, cited=cited: cited(n) | {"newName": f"new{n}"},
                document.type,
            )
            few = max(3, arguments.count // 20)
            for name in ("documentSymbol", "foldingRange", "documentLink"):
                row[name] = watch.time(
                    f"textDocument/{name}", lambda n, refs=refs: refs.whole, refs.type, few
                )
            row["workspace/symbol"] = watch.time(
                "workspace/symbol", lambda n: {"query": f"key{n % 100:04d}"}, document.type, few
            )
            row["rss_mb"] = rss_mb(client.process.pid)["server"]
            client.close()
        result[f"{size} entries"] = row
    return result


def bench_one_line(arguments: argparse.Namespace) -> dict[str, Any]:
    """The outline of a .bib of 10 MB in one line, beside that of the same entries on their own lines:
    from opening to the first answer, and after an edit; beside a bare peer that takes the same text and
    answers with as many bytes."""
    from lsp_bench import citewell_command, make_bib, project

    result: dict[str, Any] = {}
    bib = make_bib(36_000)
    for name, text in (("lines", bib), ("one line", bib.replace("\n", " "))):
        with project("") as (folder, _):
            client = RpcClient(
                citewell_command(arguments), unread=("textDocument/publishDiagnostics",)
            )
            client.initialize(folder)
            watch = Stopwatch(client, arguments.count)
            cpu, start = watch.cpu(), time.perf_counter()
            refs = Typist(client, folder / "refs.bib", "bibtex", text)
            found = client.request("textDocument/documentSymbol", refs.whole, 300.0)
            assert found
            row: dict[str, Any] = {
                "megabytes": round(len(text) / 1e6, 1),
                "first outline after s": round(time.perf_counter() - start, 2),
                "processor time until then s": round(watch.cpu() - cpu, 2),
            }
            with bare_peer(found) as bare:
                del found
                start = time.perf_counter()
                opened = Typist(bare, folder / "refs.bib", "bibtex", text)
                bare.request("textDocument/documentSymbol", opened.whole, 300.0)
                row["the same from a bare peer s"] = round(time.perf_counter() - start, 2)
            row["outline after an edit"] = watch.time(
                "textDocument/documentSymbol", lambda n, refs=refs: refs.whole, refs.type, 5
            )
            client.close()
        result[name] = row
    return result


def bench_workspace(arguments: argparse.Namespace) -> dict[str, Any]:
    """500 files: a book of 250 parts, and 249 notes, over one .bib of 2,000 entries."""
    import tempfile

    from lsp_bench import PROSE, citewell_command, make_bib, rss_mb

    dice = random.Random(7)
    keys = [f"key{number:06d}" for number in range(2000)]

    def prose(cite: Callable[[str], str]) -> str:
        return "\n".join(f"{PROSE} So does {cite(dice.choice(keys))}." for _ in range(60))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        (folder / "refs.bib").write_text(make_bib(2000), encoding="utf-8")
        for number in range(249):
            text = "\n" + prose(lambda key: f"\\citet{{{key}}}")
            (folder / f"part{number:03}.tex").write_text(text, encoding="utf-8")
            head = "---\nbibliography: refs.bib\n---\n"
            text = head + prose(lambda key: f"@{key}")
            (folder / f"note{number:03}.md").write_text(text, encoding="utf-8")
        inputs = "\n".join(f"\\input{{part{number:03}}}" for number in range(249))
        main = folder / "main.tex"
        main.write_text(
            f"\n\\documentclass{{book}}\n\\begin{{document}}\n{inputs}\n\\cite{{key000001}}\n"
            "\\bibliography{refs}\n\\end{document}\n",
            encoding="utf-8",
        )
        size = sum(path.stat().st_size for path in folder.iterdir())
        client = RpcClient(citewell_command(arguments))
        client.initialize(folder)
        watch = Stopwatch(client, arguments.count)
        start = time.perf_counter()
        document = Typist(client, main, "latex", main.read_text(encoding="utf-8"))
        line = 3 + 249
        found = client.request("textDocument/definition", document.at(line, 10))
        assert found
        first = time.perf_counter() - start
        first_cpu = watch.cpu()
        with_position = {"context": {"includeDeclaration": True}}
        row: dict[str, Any] = {
            "files": 499 + 1,
            "megabytes": round(size / 1e6, 1),
            "first definition after s": round(first, 2),
            "processor time until then s": round(first_cpu, 2),
            "definition": watch.time(
                "textDocument/definition", lambda n: document.at(line, 10), document.type
            ),
            "references": watch.time(
                "textDocument/references",
                lambda n: document.at(line, 10) | with_position,
                document.type,
            ),
            "rename": watch.time(
                "textDocument/rename",
                lambda n: document.at(line, 10) | {"newName": f"new{n}"},
                document.type,
            ),
            "rss_mb": rss_mb(client.process.pid)["server"],
        }
        client.close()
    return row
