"""Latency and memory of the language server over stdio, beside the bare transport.

    python tests/bench/lsp_bench.py --library FOLDER/NAME [--json out.json] [--only hover,...]

Every figure is taken at the client's end of the pipe, by a bare JSON-RPC client. Papers for what is
typed: `typing_bench.py`. Keys, and other servers beside this one: `peers_bench.py`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).parent))
from lsp_growth import bench_growth
from lsp_navigation import bench_navigation, bench_one_line, bench_workspace
from rpc_client import RpcClient, percentiles

TOPICS = """neural machine translation with attention
graph attention networks for node classification
few-shot learning of language models
dependency parsing with biaffine attention
named entity recognition with conditional random fields
image segmentation with transformers
contrastive learning of sentence embeddings
reinforcement learning from human feedback
variational autoencoder for text generation
knowledge distillation of pretrained language models
question answering over knowledge bases
coreference resolution end to end
generative adversarial networks for image synthesis
differential privacy in deep learning
multilingual word embeddings without parallel data
low-rank adaptation of large models
speech recognition with sequence transduction
causal inference with instrumental variables
relation extraction with distant supervision
abstractive summarization with pointer networks""".splitlines()

PROSE = (
    "Large models have changed how this task is approached. Earlier systems relied on features\n"
    "that were designed by hand, and their errors were hard to explain. We follow recent work\n"
)
WORDS = [
    "alignment",
    "attention",
    "bayesian",
    "corpus",
    "decoding",
    "encoder",
    "fusion",
    "graph",
    "hybrid",
    "inference",
    "joint",
    "kernel",
    "latent",
    "memory",
    "neural",
    "optimal",
    "parsing",
    "query",
    "ranking",
    "sparse",
    "transfer",
    "unsupervised",
]


MAX_SECONDS = 60.0
"""A figure is taken from fewer requests when they take longer than this in all."""


def make_bib(entries: int) -> str:
    """A .bib of invented entries with the look of real ones."""
    rng = random.Random(entries)
    names = ["Adams", "Bauer", "Chen", "Dubois", "Evans", "Fischer", "Garcia", "Haddad", "Ito"]
    parts = []
    for number in range(entries):
        authors = " and ".join(
            f"{rng.choice(names)}, {chr(65 + rng.randrange(26))}." for _ in range(rng.randint(1, 5))
        )
        title = " ".join(rng.choice(WORDS) for _ in range(rng.randint(5, 11))).capitalize()
        parts.append(
            f"@inproceedings{{key{number:06d},\n"
            f"  author = {{{authors}}},\n  title = {{{title}}},\n"
            f"  booktitle = {{Proceedings of the Meeting on {rng.choice(WORDS).title()}}},\n"
            f"  year = {{{rng.randint(1990, 2024)}}},\n"
            f"  pages = {{{number}--{number + 9}}},\n"
            f"  doi = {{10.9999/{number}}},\n}}\n\n"
        )
    return "".join(parts)


def library_of(arguments: argparse.Namespace, stack: ExitStack) -> Path:
    """The library that is named, else the user's own, else one of the 24 papers of the tests."""
    from citewell.corpus.layout import CURRENT, default_libraries_dir

    named = arguments.library or default_libraries_dir() / "default"
    if (named / CURRENT).is_file() or arguments.library:
        return Path(named).absolute()
    from citewell.options import Options
    from citewell_corpus.build import build_library, default_builders
    from citewell_corpus.sources import FileSource

    papers = Path(__file__).resolve().parents[1] / "fixtures" / "papers.jsonl"
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "default"
    build_library(
        folder,
        add=[FileSource(path=str(papers), format="records")],
        builders=default_builders(Options()),
    )
    print("no library of your own: measured on 24 papers", flush=True)
    return folder


def citewell_command(arguments: argparse.Namespace) -> list[str]:
    return [sys.executable, "-m", "citewell", "--library", str(arguments.library), "lsp"]


def rss_mb(pid: int) -> dict[str, float]:
    """Resident memory of a process and of each of its children, and what is their own (USS)."""
    root = psutil.Process(pid)
    found = {"server": root.memory_info().rss / 1e6}
    for number, child in enumerate(root.children(recursive=True)):
        found[f"worker{number or ''}"] = child.memory_info().rss / 1e6
        found[f"worker{number or ''}_own"] = child.memory_full_info().uss / 1e6
    return {name: round(value, 1) for name, value in found.items()}


@contextmanager
def project(bib: str = "") -> Iterator[tuple[Path, Path]]:
    """A folder with main.tex and, if asked for, refs.bib."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        main = folder / "main.tex"
        main.write_text(document_text(""), encoding="utf-8")
        (folder / "refs.bib").write_text(bib, encoding="utf-8")
        yield folder, main


def document_text(last_line: str) -> str:
    return (
        "\\documentclass{article}\n\\title{A study}\n\\begin{document}\n\\section{Introduction}\n"
        + PROSE * 20
        + last_line
        + "\n\\bibliography{refs}\n\\end{document}\n"
    )


def position_after(text: str, needle: str) -> dict[str, int]:
    end = text.index(needle) + len(needle)
    return {"line": text.count("\n", 0, end), "character": end - text.rfind("\n", 0, end) - 1}


class Editor:
    """One open document whose last line of prose is typed anew for each request."""

    def __init__(
        self, client: RpcClient, path: Path, before: str | None = None, after: str = ""
    ) -> None:
        """The line is between `before` and `after`; by default, in `document_text`."""
        if before is None:
            before, after = document_text("\0").split("\0")
        self.client = client
        self.path = path
        self.version = 1
        client.open(path, "latex", before + after)
        self.line = before.count("\n")
        self.length = 0

    def type_line(self, line: str) -> None:
        self.version += 1
        place = {"line": self.line}
        self.client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": self.path.as_uri(), "version": self.version},
                "contentChanges": [
                    {
                        "range": {
                            "start": {**place, "character": 0},
                            "end": {**place, "character": self.length},
                        },
                        "text": line,
                    }
                ],
            },
        )
        self.length = len(line)

    def complete_at(self, before: str, after: str) -> list[dict[str, Any]]:
        """Type a line anew and complete between its two parts."""
        self.type_line(before + after)
        result = self.start_completion(column=len(before))(60.0)
        return result["items"] if isinstance(result, dict) else result or []

    def start_completion(self, column: int | None = None) -> Callable[[float], Any]:
        return self.client.start_request(
            "textDocument/completion",
            {
                "textDocument": {"uri": self.path.as_uri()},
                "position": {
                    "line": self.line,
                    "character": self.length if column is None else column,
                },
                "context": {"triggerKind": 1},
            },
        )

    def complete(self) -> list[dict[str, Any]]:
        result = self.start_completion()(60.0)
        return result["items"] if isinstance(result, dict) else result or []


def measure(task: Callable[[int], None], count: int, warm: int = 10) -> dict[str, float]:
    limit = time.perf_counter() + MAX_SECONDS / 3
    for number in range(warm):
        if time.perf_counter() < limit:
            task(number)
    spent: list[float] = []
    while len(spent) < count and sum(spent) < MAX_SECONDS:
        start = time.perf_counter()
        task(warm + len(spent))
        spent.append(time.perf_counter() - start)
    return percentiles(spent)


def processor_ms(process: psutil.Process) -> float:
    """Processor time that a process has taken so far, of all its threads."""
    times = process.cpu_times()
    return 1e3 * float(times.user + times.system)


def bench_start(arguments: argparse.Namespace) -> dict[str, Any]:
    """Spawn to the answer of `initialize`: Citewell and a bare pygls server, in turns.

    The first start of each, which may write bytecode, does not count.
    """
    bare = [
        sys.executable,
        "-c",
        "from pygls.lsp.server import LanguageServer; LanguageServer('bare', '1').start_io()",
    ]
    spent: dict[str, list[float]] = {"citewell": [], "bare pygls": []}
    processor: dict[str, list[float]] = {"citewell": [], "bare pygls": []}
    with project() as (folder, _):
        for number in range(arguments.starts + 1):
            for name, command in (("bare pygls", bare), ("citewell", citewell_command(arguments))):
                client = RpcClient(command)
                process = psutil.Process(client.process.pid)
                client.start(folder)
                elapsed, taken = time.perf_counter() - client.spawned, processor_ms(process)
                if number:
                    spent[name].append(elapsed)
                    processor[name].append(taken)
                client.close()
    medians = {name: statistics.median(times) for name, times in spent.items()}
    # The system counts in steps of 10 ms: a mean of several starts is finer than their median.
    means = {name: statistics.mean(times) for name, times in processor.items()}
    return {
        **{name: percentiles(times) for name, times in spent.items()},
        "ratio of medians": round(medians["citewell"] / medians["bare pygls"], 2),
        "processor_ms, mean": {name: round(mean, 1) for name, mean in means.items()},
        "ratio of processor time": round(means["citewell"] / means["bare pygls"], 2),
    }


def bench_hover(arguments: argparse.Namespace) -> dict[str, Any]:
    """Hover over a key, alone and while four searches run all the time."""
    bib = make_bib(1000)
    with project(bib) as (folder, main):
        client = RpcClient(citewell_command(arguments))
        client.initialize(folder)
        heavy = []
        for number in range(4):
            path = folder / f"part{number}.tex"
            path.write_text("", encoding="utf-8")
            heavy.append(Editor(client, path))
        editor = Editor(client, main)
        editor.type_line("as shown \\cite{key000500}")
        place = {"line": editor.line, "character": 18}

        def hover(_number: int) -> None:
            found = client.request(
                "textDocument/hover",
                {"textDocument": {"uri": main.as_uri()}, "position": place},
            )
            assert found and "key000500" in json.dumps(found)
            time.sleep(0.01)

        def timed(count: int) -> dict[str, float]:
            spent = []
            for number in range(count):
                start = time.perf_counter()
                hover(number)
                spent.append(time.perf_counter() - start - 0.01)
            return percentiles(spent)

        timed(20)
        idle = timed(arguments.count)
        running: list[Callable[[float], Any] | None] = [None] * 4
        rng = random.Random(2)
        done = 0
        spent = []
        for number in range(arguments.count):
            for place_number, pending in enumerate(running):
                if pending is not None and pending.number in client._waiting:  # type: ignore[attr-defined]
                    continue
                done += pending is not None
                words = rng.choice(TOPICS).split() + rng.sample(WORDS, 3)
                heavy[place_number].type_line(f"so \\cite<{' '.join(words)}>")
                running[place_number] = heavy[place_number].start_completion()
            start = time.perf_counter()
            hover(number)
            spent.append(time.perf_counter() - start - 0.01)
        for pending in running:
            if pending is not None:
                pending(60.0)
        client.close()
    return {"idle": idle, "under load": percentiles(spent), "searches done meanwhile": done}


def bench_shown(arguments: argparse.Namespace) -> dict[str, Any]:
    """Cards of 200 different entries, hints of 60 lines, lenses and tokens of 20,000 entries."""
    bib = make_bib(20_000)
    line = "as in \\citep{key%06d,key%06d} and others say\n"
    cited = "".join(line % (n, n + 1000) for n in range(1000))
    with project(bib) as (folder, main):
        client = RpcClient(citewell_command(arguments))
        client.initialize(folder)
        text = document_text(cited)
        first = text[: text.index(cited)].count("\n")
        client.open(main, "latex", text)
        refs = folder / "refs.bib"
        client.open(refs, "bibtex", bib)

        def ask(method: str, path: Path, **more: Any) -> Any:
            document = {"textDocument": {"uri": path.as_uri()}}
            return client.request(f"textDocument/{method}", document | more)

        def hover(number: int) -> None:
            place = {"line": first + number % 1000, "character": 16}
            found = ask("hover", main, position=place)
            assert found and "(pp. " in json.dumps(found)

        def part(start: int) -> dict[str, Any]:
            return {
                "start": {"line": start, "character": 0},
                "end": {"line": start + 60, "character": 0},
            }

        def inlay(number: int) -> None:
            assert ask("inlayHint", main, range=part(first + number % 900))

        result = {
            "hover, each another entry": measure(hover, 200),
            "inlay hints of 60 lines": measure(inlay, 200),
            "code lenses": measure(lambda _: bool(ask("codeLens", refs)), 20),
            "tokens of 60 lines": measure(
                lambda n: bool(ask("semanticTokens/range", refs, range=part(n * 500))), 100
            ),
            "tokens, whole": measure(lambda _: bool(ask("semanticTokens/full", refs)), 20),
            "rss_mb": rss_mb(client.process.pid),
        }
        client.close()
    return result


BENCHES: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "start": bench_start,
    "hover": bench_hover,
    "shown": bench_shown,
    "navigation": bench_navigation,
    "one_line": bench_one_line,
    "growth": bench_growth,
    "workspace": bench_workspace,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, help="folder of a built library")
    parser.add_argument("--count", type=int, default=200, help="requests per figure")
    parser.add_argument("--starts", type=int, default=10)
    parser.add_argument("--bib-sizes", type=int, nargs="*", default=[1000, 20000])
    parser.add_argument("--growth-sizes", type=int, nargs="*", default=[1000, 20_000])
    parser.add_argument("--only", default="", help=f"some of {', '.join(BENCHES)}")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    names = [name for name in arguments.only.split(",") if name] or list(BENCHES)
    results: dict[str, Any] = {
        "machine": {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "python": sys.version[:6]}
    }
    with ExitStack() as stack:
        arguments.library = library_of(arguments, stack)
        for name in names:
            results[name] = BENCHES[name](arguments)
            print(name, json.dumps(results[name], indent=1), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
