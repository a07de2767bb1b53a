"""How requests and memory of the language server grow with the entries of a .bib.

Run by `lsp_bench.py` (`--only growth --growth-sizes 1000 20000 100000`). Processor time of the
server for each request, so that other work on the machine counts little; nothing is linted or
checked meanwhile.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import psutil
from lsp_navigation import CITED, Stopwatch, Typist, paper_text
from rpc_client import RpcClient

QUIET = ("--set", "diagnostics.enabled=false", "--set", "diagnostics.verification=off")
LISTS = ("documentSymbol", "foldingRange", "documentLink", "codeLens", "semanticTokens/full")
ROUNDS = 5


def _settled(process: psutil.Process) -> float:
    """The memory (PSS in MB) of a server, once it does nothing."""
    before, still = -1.0, 0
    while still < 4:
        time.sleep(0.25)
        now = sum(process.cpu_times()[:2])
        still = still + 1 if now - before < 0.02 else 0
        before = now
    found = process.memory_full_info()
    return round(float(getattr(found, "pss", found.rss)) / 1e6, 1)


def bench_growth(arguments: argparse.Namespace) -> dict[str, Any]:
    """Processor ms of keys, a hover and whole-file lists, each after an edit, and memory."""
    from lsp_bench import citewell_command, make_bib, project

    result: dict[str, Any] = {}
    command = citewell_command(arguments)
    for size in arguments.growth_sizes:
        keys = [f"key{number:06d}" for number in range(0, size, size // CITED)]
        bib = "\n" + make_bib(size)
        with project(bib) as (folder, main):
            client = RpcClient([*command[:-1], *QUIET, command[-1]])
            client.initialize(folder)
            text = paper_text(keys)
            main.write_text(text, encoding="utf-8")
            document = Typist(client, main, "latex", text)
            watch = Stopwatch(client, arguments.count)

            def cited(
                number: int, document: Typist = document, count: int = len(keys)
            ) -> dict[str, Any]:
                return document.at(3 + number % count, 19)

            row: dict[str, Any] = {}
            start, cpu = time.perf_counter(), watch.cpu()
            assert client.request("textDocument/completion", cited(0), 300.0)
            row["first keys after opening"] = {
                "p50": round(1e3 * (time.perf_counter() - start)),
                "cpu_ms": round(1e3 * (watch.cpu() - cpu)),
            }
            _settled(watch.process)
            row["keys"] = watch.time("textDocument/completion", cited, document.type)
            row["hover"] = watch.time("textDocument/hover", cited, document.type)
            row["memory MB, the .bib read"] = _settled(watch.process)
            refs = Typist(client, folder / "refs.bib", "bibtex", bib)
            for name in LISTS:
                client.request(f"textDocument/{name}", refs.whole, 300.0)
                row[name] = watch.time(
                    f"textDocument/{name}", lambda _, refs=refs: refs.whole, refs.type, ROUNDS
                )
            row["memory MB, the .bib open"] = _settled(watch.process)
            client.close()
        result[f"{size} entries"] = row
    return result
