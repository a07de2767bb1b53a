"""Time and memory of `citewell review` on a thesis: 40 files, 900 references of the starter library.

    python tests/bench/review_bench.py

The command runs three times, the library is on the disk, and nothing is sent.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

import psutil

from citewell.corpus.library import Library
from citewell.documents.bib.style import BibStyle, entry_text

STARTER = Path(__file__).resolve().parents[2] / "corpus_tools" / "starter"
FILES, REFERENCES, RUNS = 40, 900, 3


def write_thesis(folder: Path) -> None:
    """A main file and chapters, each of which cites its share of the references in prose."""
    random.seed(1)
    with Library.open(STARTER / "citewell_starter" / "library") as library:
        works = random.sample([one for one in library.iter_works() if one.authors], REFERENCES)
    entries = [entry_text(one, f"key{n}", BibStyle()) for n, one in enumerate(works)]
    (folder / "refs.bib").write_text("\n\n".join(entries), encoding="utf-8")
    chapters = range(FILES - 1)
    for chapter in chapters:
        lines = [
            f"Much of {one.title} is told here \\cite{{key{n}}}. "
            + " ".join(f"It was read beside {other.title}." for other in random.sample(works, 5))
            + "\n"
            for n, one in enumerate(works)
            if n % (FILES - 1) == chapter
        ]
        text = "\n".join(line.replace("%", "\\%").replace("$", "") for line in lines)
        (folder / f"part{chapter}.tex").write_text(text, encoding="utf-8")
    parts = "".join(f"\\include{{part{chapter}}}\n" for chapter in chapters)
    main = f"\\documentclass{{book}}\n\\begin{{document}}\n{parts}\\bibliography{{refs}}\n"
    (folder / "thesis.tex").write_text(main + "\\end{document}\n", encoding="utf-8")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_thesis(folder)
        words = sum(len(one.read_text("utf-8").split()) for one in folder.glob("*.tex"))
        print(f"{FILES} files with {words:,} words, {REFERENCES} references")
        command = [sys.executable, "-m", "citewell", "--library", "starter", "review", "thesis.tex",
                   "--format", "json", "--out", "review.json", "--fail-on", "never"]  # fmt: skip
        environment = os.environ | {"PYTHONPATH": str(STARTER), "CITEWELL_CACHE": name}
        for _ in range(RUNS):
            start, peak = time.monotonic(), 0.0
            process = psutil.Popen(command, cwd=folder, env=environment)
            while process.poll() is None:
                with contextlib.suppress(psutil.Error):
                    peak = max(peak, process.memory_info().rss / 2**20)
                    used = process.cpu_times()
                time.sleep(0.01)
            assert process.returncode == 0
            seconds = time.monotonic() - start
            found = len(json.loads((folder / "review.json").read_text("utf-8"))["findings"])
            print(f"{seconds:.1f} s, of which {used.user + used.system:.1f} s processor, "
                  f"{peak:.0f} MB, {found} findings")  # fmt: skip


if __name__ == "__main__":
    main()
