"""Completing keys, hovering and reading a .bib, side by side with other programs in one run.

    python tests/bench/peers_bench.py --library FOLDER/NAME [--install] [--json out.json]

Servers: Citewell, digestif (`texlua`, TeX Live) and citation-langserver, over their pipes, with the
same bare client, the same paper and the same .bib of 1,000 and 20,000 entries. Readers: Citewell and
bibtexparser, in one process. A peer that is not found is named, with what would bring it;
`--install` brings citation-langserver into an environment of its own below `.cache`.

Times of the servers are milliseconds at the client's end of the pipe, those of the readers
milliseconds of processor time. Memory is PSS where the system tells it, else RSS.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import psutil

sys.path.insert(0, str(Path(__file__).parent))
from bib_bench import timed
from lsp_bench import WORDS, Editor, citewell_command, library_of, make_bib, project
from rpc_client import RpcClient, percentiles

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / ".cache" / "peers"
DIGESTIF = Path("/usr/share/texlive/texmf-dist/scripts/digestif/digestif.texlua")
BARE_PYGLS = "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()"
FIRST_SECONDS = 120.0
"""How long a server may take until its first list."""
CITED = 200


class Server(NamedTuple):
    """One program to be measured."""

    name: str
    command: list[str]
    settings: Callable[[Path], dict[str, Any]] = lambda folder: {}


def servers(arguments: argparse.Namespace) -> tuple[list[Server], list[str]]:
    """The servers that are there, and a line for each that is not."""
    found, missing = [Server("Citewell", citewell_command(arguments))], []
    script, lua = arguments.digestif or DIGESTIF, shutil.which("texlua")
    if lua and script.is_file():
        found.append(Server("digestif", [lua, str(script)]))
    else:
        missing.append("digestif (Debian: texlive-extra-utils texlive-luatex; or --digestif FILE)")
    other = arguments.citation_langserver or _installed("citation-langserver", arguments.install)
    if other and Path(other).is_file():
        found.append(
            Server(
                "citation-langserver",
                [str(other)],
                lambda folder: {"citation": {"bibliographies": [str(folder / "refs.bib")]}},
            )
        )
    else:
        missing.append("citation-langserver (--install, or --citation-langserver FILE)")
    return found, missing


def _installed(name: str, install: bool) -> str | None:
    folder = OWN / ("Scripts" if os.name == "nt" else "bin")
    if install and not shutil.which(name, path=str(folder)):
        venv.create(OWN, with_pip=True)
        pip = [str(folder / "python"), "-m", "pip", "install", "--quiet", name]
        subprocess.run(pip, check=True, stdin=subprocess.DEVNULL)
    return shutil.which(name) or shutil.which(name, path=str(folder))


def memory_mb(pid: int) -> dict[str, float]:
    """Of a server, and of it and its children together."""

    def of(process: psutil.Process) -> float:
        found = process.memory_full_info()
        return float(getattr(found, "pss", found.rss)) / 1e6

    server = psutil.Process(pid)
    own = of(server)
    return {
        "server": round(own, 1),
        "all": round(own + sum(of(child) for child in server.children(recursive=True)), 1),
    }


def settle(pid: int, seconds: float = 180.0) -> float:
    """Wait until a server and its children do nothing for two seconds; how long that took."""

    def spent() -> float:
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
        return sum(sum(process.cpu_times()[:2]) for process in processes)

    begin = time.monotonic()
    before, still = spent(), 0
    while still < 4 and time.monotonic() - begin < seconds:
        time.sleep(0.5)
        now = spent()
        still = still + 1 if now - before < 0.02 else 0
        before = now
    return round(time.monotonic() - begin, 1)


class Client:
    """One server with a paper open, and what is asked of it."""

    def __init__(
        self,
        server: Server,
        folder: Path,
        main: Path,
        arguments: argparse.Namespace,
        env: dict[str, str] | None = None,
    ):
        settings = server.settings(folder)
        self.rpc = RpcClient(
            server.command,
            configuration=settings,
            cwd=folder,
            env=env,
            unread=("textDocument/publishDiagnostics",),
        )
        self.folder, self.count, self.seconds = folder, arguments.count, arguments.seconds
        self.rpc.initialize(folder, initializationOptions=settings)
        self.rpc.notify("workspace/didChangeConfiguration", {"settings": settings})
        self.editor = Editor(self.rpc, main)

    def first_list(self) -> float | None:
        """Seconds from opening the paper until the first key is offered; None when none is."""
        begin = time.perf_counter()
        while not self.editor.complete_at("as \\cite{key000", "}"):
            if time.perf_counter() - begin > FIRST_SECONDS:
                return None
            time.sleep(0.05)
        return round(time.perf_counter() - begin, 2)

    def measure(self, ask: Callable[[int], int]) -> dict[str, float]:
        """Percentiles of a request, the server's processor ms for each, with all that it does
        meanwhile, and how many items an answer has in the median."""
        spent: list[float] = []
        sizes: list[int] = []
        process = psutil.Process(self.rpc.process.pid)
        before = sum(process.cpu_times()[:2])
        while len(spent) < self.count and sum(spent) < self.seconds:
            begin = time.perf_counter()
            sizes.append(ask(len(spent)))
            spent.append(time.perf_counter() - begin)
        used = 1e3 * (sum(process.cpu_times()[:2]) - before) / len(spent)
        return {
            **percentiles(spent),
            "cpu": round(used, 1),
            "items": statistics.median(sizes),
        }

    def keys(self, entries: int) -> dict[str, float]:
        return self.measure(
            lambda number: len(
                self.editor.complete_at(f"as \\cite{{key{number % (entries // 100):04d}", "}")
            )
        )

    def title_words(self) -> dict[str, float]:
        return self.measure(
            lambda number: len(
                self.editor.complete_at(f"as \\cite{{{WORDS[number % len(WORDS)]}", "}")
            )
        )

    def hover(self, entries: int) -> dict[str, float] | None:
        """Over keys of a second paper, each another entry."""
        path = self.folder / "cited.tex"
        dice = random.Random(3)
        keys = [f"key{dice.randrange(entries):06d}" for _ in range(CITED)]
        lines = [f"as in \\cite{{{key}}} and others" for key in keys]
        text = "\\documentclass{article}\n\\begin{document}\n%s\n\\bibliography{refs}\n"
        text = text % "\n".join(lines) + "\\end{document}\n"
        path.write_text(text, encoding="utf-8")
        self.rpc.open(path, "latex", text)

        def ask(number: int) -> int:
            place = {"line": 2 + number % CITED, "character": 15}
            where = {"textDocument": {"uri": path.as_uri()}, "position": place}
            return len(json.dumps(self.rpc.request("textDocument/hover", where) or ""))

        ask(0)
        found = self.measure(ask)
        return found if found["items"] > 20 else None


def bench_server(server: Server, entries: int, arguments: argparse.Namespace) -> dict[str, Any]:
    bib = make_bib(entries)
    with project(bib) as (folder, main):
        client = Client(server, folder, main, arguments)
        row: dict[str, Any] = {"first list s": client.first_list()}
        if row["first list s"] is not None:
            row["keys, right after opening"] = client.keys(entries)
            pid = client.rpc.process.pid
            settle(pid)
            row["keys, settled"] = client.keys(entries)
            words = client.title_words()
            row["title word, settled"] = words if words["items"] else None
            row["memory MB"] = memory_mb(pid)
            row["hover over a key"] = client.hover(entries)
            client.rpc.open(folder / "refs.bib", "bibtex", bib)
            row["keys, the .bib just opened too"] = client.keys(entries)
            row["settled after s"] = settle(pid)
            row["keys, the .bib open"] = client.keys(entries)
            row["memory MB, the .bib open"] = memory_mb(pid)
        client.rpc.close()
    return row


def bench_first_check(entries: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Memory with the .bib open and checked, first with an empty store of answers and then with all
    of them known, and the processor time of the server; beside a bare pygls server that has the
    same documents open."""
    bib = make_bib(entries)
    found: dict[str, Any] = {}
    own = Server("Citewell", citewell_command(arguments))
    with tempfile.TemporaryDirectory() as cache:
        for name, server in (
            ("first check", own),
            ("all answers known", own),
            ("bare pygls", Server("bare pygls", [sys.executable, "-c", BARE_PYGLS])),
        ):
            with project(bib) as (folder, main):
                env = {**os.environ, "CITEWELL_CACHE": cache}
                client = Client(server, folder, main, arguments, env)
                pid = client.rpc.process.pid
                settle(pid)
                before = sum(psutil.Process(pid).cpu_times()[:2])
                client.rpc.open(folder / "refs.bib", "bibtex", bib)
                found[name] = {
                    "settled after s": settle(pid),
                    "processor s": round(sum(psutil.Process(pid).cpu_times()[:2]) - before, 2),
                    "memory MB": memory_mb(pid),
                }
                client.rpc.close()
    return found


def bench_readers(entries: int) -> dict[str, dict[str, float]]:
    """Least and median ms of reading a .bib, and of reading it again after one letter."""
    from citewell.documents.bib.reader import parse_bib, reparse

    text = make_bib(entries)
    bib = parse_bib(text)
    found = {"Citewell: read": timed(lambda: parse_bib(text), 5)}
    again: list[float] = []
    for share in (0.0, 0.5, 0.999):
        at = bib.entries[int(share * entries)].start + 30
        edited = text[:at] + "x" + text[at:]
        assert reparse(bib, edited).text == edited
        again += timed(lambda edited=edited: reparse(bib, edited), 5)
    found["Citewell: read again after one letter"] = again
    try:
        import bibtexparser
    except ImportError:
        print("not found: bibtexparser (pip install bibtexparser)")
    else:
        found[f"bibtexparser {bibtexparser.__version__}: read"] = timed(
            lambda: bibtexparser.parse_string(text), 3
        )
    return {
        name: {"least": round(min(times), 1), "median": round(statistics.median(times), 1)}
        for name, times in found.items()
    }


FIGURES = (
    "first list s",
    "keys, right after opening",
    "keys, settled",
    "title word, settled",
    "keys, the .bib just opened too",
    "keys, the .bib open",
    "hover over a key",
    "memory MB",
    "memory MB, the .bib open",
)


def _shown(value: Any) -> str:
    match value:
        case None:
            return "-"
        case {"p50": middle, "p95": high, "cpu": used}:
            return f"{middle:.1f} / {high:.1f} ({used:.1f})"
        case {"server": own, "all": both}:
            return f"{own:.0f}" if own == both else f"{own:.0f}, with its worker {both:.0f}"
    return str(value)


def tables(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = []
    for title, rows in results["servers"].items():
        lines += [
            "",
            f"| {title}: p50 / p95 (processor) ms | {' | '.join(rows)} |",
            "|---" * len(rows) + "|---|",
        ]
        for figure in FIGURES:
            shown = (_shown(row.get(figure)) for row in rows.values())
            lines.append(f"| {figure} | {' | '.join(shown)} |")
    for title, rows in results["servers checked"].items():
        lines += ["", f"| {title}, the .bib open and checked | memory MB | server's processor s |"]
        lines += ["|---|---|---|"]
        lines += [
            f"| {name} | {_shown(row['memory MB'])} | {row['processor s']} |"
            for name, row in rows.items()
        ]
    for title, rows in results["readers"].items():
        lines += ["", f"| {title}: processor ms | least | median |", "|---|---|---|"]
        lines += [f"| {name} | {r['least']} | {r['median']} |" for name, r in rows.items()]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", type=Path, help="folder of a built library")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1000, 20000])
    parser.add_argument("--readers", type=int, nargs="*", default=[10_000])
    parser.add_argument("--count", type=int, default=300, help="requests per figure")
    parser.add_argument("--seconds", type=float, default=20.0, help="at most, per figure")
    parser.add_argument("--only", default="", help="only these servers, with commas between")
    parser.add_argument("--install", action="store_true", help="install citation-langserver")
    parser.add_argument("--digestif", type=Path)
    parser.add_argument("--citation-langserver", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results: dict[str, Any] = {
        "machine": {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "python": sys.version[:6]},
        "servers": {},
        "servers checked": {},
    }
    print(json.dumps(results["machine"]), flush=True)
    results["readers"] = {f"{size:,} entries": bench_readers(size) for size in arguments.readers}
    with ExitStack() as stack:
        arguments.library = library_of(arguments, stack)
        found, missing = servers(arguments)
        for line in missing:
            print(f"not found: {line}", flush=True)
        wanted = [name for name in arguments.only.split(",") if name]
        if not wanted or "Citewell" in wanted:
            for size in arguments.sizes:
                checked = bench_first_check(size, arguments)
                results["servers checked"][f"{size:,} entries"] = checked
                print(size, "checked", json.dumps(checked), flush=True)
        for size in arguments.sizes:
            rows = results["servers"].setdefault(f"{size:,} entries", {})
            for server in found:
                if not wanted or server.name in wanted:
                    rows[server.name] = bench_server(server, size, arguments)
                    print(size, server.name, json.dumps(rows[server.name]), flush=True)
    print(tables(results))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
