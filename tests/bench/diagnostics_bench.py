"""What diagnostics cost: the first look at a .bib, a look after one edit, and hovers meanwhile.

    python tests/bench/diagnostics_bench.py [--entries 20000] [--library FOLDER/NAME]

The first table is processor time in this process, thread time of the reader. The second is taken at
the client's end of a server's pipe, with `diagnostics.delayMs` 0; `hover` runs while the server
re-checks. With `--library` the entries are looked up in it too.
"""

from __future__ import annotations

import argparse
import copy
import gc
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import rpc_client
from lsp_bench import make_bib
from rpc_client import RpcClient, percentiles

ROUNDS = 20
UNUSED = b'"code":"unused-entry"'
MAIN = (
    "\\documentclass{article}\n\\begin{document}\nWe cite \\cite{%s}.\n\\bibliography{refs}\n"
    "\\end{document}\n"
)


def paper(folder: Path, entries: int) -> tuple[Path, Path, str, str]:
    text = MAIN % ",".join(
        f"key{number:06d}" for number in range(0, entries, max(1, entries // 200))
    )
    bib = make_bib(entries)
    main, refs = folder / "main.tex", folder / "refs.bib"
    main.write_text(text, encoding="utf-8")
    refs.write_text(bib, encoding="utf-8")
    return main, refs, text, bib


def in_process(folder: Path, entries: int) -> None:
    """Processor time of finding and encoding the diagnostics, whole and after one edit."""
    from citewell.lsp.documents.project_state import DocumentInput, ProjectCache
    from citewell.lsp.protocol.open_document import LineIndex
    from citewell.lsp.state.memory import ReviewedFiles
    from citewell.lsp.state.reports import DiagnosticsBuilder, ReportRequest, subject_of
    from citewell.options import Options

    main, refs, text, bib = paper(folder, entries)
    options = Options()
    wanted = ReportRequest(
        options.diagnostics, options.features, "utf-16", 0, None, ReviewedFiles(), True, True
    )
    reports, papers = DiagnosticsBuilder(), ProjectCache()
    gc.set_threshold(20_000, 20, 50)  # as the server does

    def report(path: Path, texts: dict[Path, str], epoch: int) -> tuple[float, Any]:
        reading = DocumentInput(
            path, texts[path], texts, (folder,), options, epoch, is_bib=path.suffix == ".bib"
        )
        index = LineIndex(texts[path], "utf-16")
        start = time.thread_time()
        found = reports.of(subject_of(papers, reading, index), wanted)
        return time.thread_time() - start, found

    texts = {main: text, refs: bib}
    spent, first = report(refs, texts, 0)
    print(f"{entries:,} entries, {first.items.count(UNUSED):,} of them unused, processor ms")
    print(f"  first look at the .bib                    {spent * 1e3:8.1f}")
    for what, path, old, new in (
        ("after an edit in the .bib", refs, "pages = {7--16}", "pages = {%d--16}"),
        ("after a new key in the paper", main, "We cite \\cite{", "We cite \\cite{key%06d,"),
        ("after a word in the paper", main, "We cite", "We %d cite"),
    ):
        times = {refs: [], main: []}
        for number in range(ROUNDS):
            texts = {**texts, path: texts[path].replace(old, new % number, 1)}
            for looked_at in (refs, main):
                times[looked_at].append(report(looked_at, texts, number + 1)[0])
            texts = {**texts, path: text if path == main else bib}
        print(f"  {what}: .bib   {percentiles(times[refs])}")
        print(f"  {what}: paper  {percentiles(times[main])}")


def through_the_pipe(folder: Path, entries: int, library: Path | None) -> None:
    """From an edit to its diagnostics, and hovers while they are found."""
    main, refs, text, bib = paper(folder, entries)
    capabilities = copy.deepcopy(rpc_client.CAPABILITIES)
    capabilities["textDocument"]["publishDiagnostics"] = {"relatedInformation": True}
    rpc_client.CAPABILITIES = capabilities
    verification = "all" if library is not None else "off"
    command = [sys.executable, "-m", "citewell"]
    if library is not None:
        command += ["--library", str(library)]
    client = RpcClient([*command, "--set", "diagnostics.delay_ms=0",
                        "--set", f"diagnostics.verification={verification}", "lsp"])  # fmt: skip
    try:
        client.initialize(folder)
        begin = time.perf_counter()
        client.open(main, "latex", text)
        client.open(refs, "bibtex", bib)
        wait(client, refs, 0)
        print(f"opened to shown: {1e3 * (time.perf_counter() - begin):.0f} ms")
        line = bib[: bib.index("pages = {7--16}")].count("\n")
        edits, hovers = [], []
        for number in range(ROUNDS):
            count = seen(client, refs)
            begin = time.perf_counter()
            change(client, refs, number + 2, line, f"{number:03d}" if number == 0 else "\n")
            while seen(client, refs) == count and time.perf_counter() - begin < 20:
                start = time.perf_counter()
                client.request("textDocument/hover", {
                    "textDocument": {"uri": main.as_uri()},
                    "position": {"line": 2, "character": 17},
                })  # fmt: skip
                hovers.append(time.perf_counter() - start)
                time.sleep(0.005)
            edits.append(time.perf_counter() - begin)
        print("edit in the .bib to shown, ms  ", percentiles(edits))
        print("hover meanwhile, ms            ", percentiles(hovers))
    finally:
        client.close()


def seen(client: RpcClient, path: Path) -> int:
    return sum(
        one["method"] == "textDocument/publishDiagnostics" and one["params"]["uri"] == path.as_uri()
        for one in list(client.notifications)
    )


def wait(client: RpcClient, path: Path, count: int) -> None:
    limit = time.monotonic() + 60
    while seen(client, path) == count and time.monotonic() < limit:
        time.sleep(0.005)


def change(client: RpcClient, path: Path, version: int, line: int, text: str) -> None:
    place = {"line": line, "character": 2 if text != "\n" else 0}
    client.notify("textDocument/didChange", {
        "textDocument": {"uri": path.as_uri(), "version": version},
        "contentChanges": [{"range": {"start": place, "end": place}, "text": text}],
    })  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=20_000)
    parser.add_argument("--library", type=Path)
    arguments = parser.parse_args()
    for run in (in_process, None):
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder).resolve()
            if run is not None:
                run(place, arguments.entries)
            else:
                through_the_pipe(place, arguments.entries, arguments.library)


if __name__ == "__main__":
    main()
