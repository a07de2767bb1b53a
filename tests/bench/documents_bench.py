"""How long the author's files take: scanning, opening a paper, the context of a placeholder.

    python tests/bench/documents_bench.py [--data ../shared/data] [--json out.json]

Times are processor time of one thread, best of several runs, so that a busy machine does not show.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path

from citewell.documents.context import context_at, query_for
from citewell.documents.project.files import FileCache, scan_document
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import read_text

SENTENCE = (
    "Recent work \\citep{a2020,b2021} studies \\emph{graph} models with $x_{i} \\in X$ layers, "
    "see Section~\\ref{s}, and finds \\cite<graph attention networks> useful. % note\n"
)


def best(run: Callable[[], object], times: int = 7) -> float:
    """Milliseconds of processor time of the fastest run."""
    found = float("inf")
    for _ in range(times):
        start = time.process_time()
        run()
        found = min(found, time.process_time() - start)
    return found * 1000


def synthetic() -> dict[str, float]:
    figures: dict[str, float] = {}
    for kilobytes in (60, 300, 1_000):
        text = "\\documentclass{article}\n\\begin{document}\n" + SENTENCE * (
            kilobytes * 1000 // len(SENTENCE)
        )
        document = scan_document("a.tex", text)
        middle = document.placeholders[len(document.placeholders) // 2]
        figures[f"scan {kilobytes} kB of dense LaTeX, ms"] = best(
            lambda text=text: scan_document("a.tex", text)  # type: ignore[misc]
        )
        figures[f"context in {kilobytes} kB, ms"] = best(
            lambda document=document, middle=middle: query_for(document, middle)  # type: ignore[misc]
        )
    return figures


def real(projects: Path) -> dict[str, float]:
    paths = sorted(p for p in projects.rglob("*") if p.suffix in (".tex", ".md"))
    texts = {path: read_text(path).text for path in paths}
    size = sum(map(len, texts.values()))

    def scan_all() -> list[object]:
        return [scan_document(str(path), text) for path, text in texts.items()]

    total = best(scan_all, 3)
    documents = [scan_document(str(path), text) for path, text in texts.items()]
    rng = random.Random(0)
    places = [(d, c.span.start + 1) for d in documents for c in d.citations]
    sample = rng.sample(places, min(1_000, len(places)))
    spent = sorted(best(lambda d=d, at=at: context_at(d, at), 2) for d, at in sample)  # type: ignore[misc]
    thesis = projects / "latex" / "MWPainter__thesis" / "text" / "ch3-litreview.tex"
    figures = {
        "files": float(len(paths)),
        "megabytes of text": size / 1e6,
        "scan of all files, ms": total,
        "scan, ms per 100 kB": total / size * 1e5,
        "context, ms, median": spent[len(spent) // 2],
        "context, ms, 95th percentile": spent[int(len(spent) * 0.95)],
        "context, ms, worst": spent[-1],
    }
    if thesis.is_file():
        cache = FileCache()
        figures["thesis of 15 files opened cold, ms"] = best(lambda: Project.open(thesis), 3)
        Project.open(thesis, cache=cache)
        figures["the same again with its cache, ms"] = best(
            lambda: Project.open(thesis, cache=cache), 5
        )
        text = cache.text(thesis)
        assert isinstance(text, str)
        versions = iter([text[:9000] + "x" * n + text[9000:] for n in range(1, 20)])
        figures["the same after a keystroke, ms"] = best(
            lambda: Project.open(thesis, cache=cache, read={thesis: next(versions)}.get), 5
        )
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=default)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    figures = synthetic()
    projects = arguments.data / "projects"
    if projects.is_dir():
        figures |= real(projects)
    else:
        print(f"{projects} is not there: only made-up text is measured")
    for name, value in figures.items():
        print(f"{name:45} {value:10.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
