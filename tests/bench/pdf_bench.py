"""Reads the reference lists of PDFs that LaTeX makes of .bib files in three styles, and counts the
titles that are exact. Also states time per page, and the memory of the reading process.

    python tests/bench/pdf_bench.py FOLDER [--keep FOLDER]

FOLDER holds .bib files, at any depth. Needs pdflatex and bibtex.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from citewell.documents.bib.reader import parse_bib
from citewell.documents.pdf.reader import PdfReader
from citewell.documents.textfile import read_text
from citewell.model import Problem
from citewell.model.titles import title_key
from citewell.verification.claims import claims_of_bib, claims_of_pdf

sys.path.insert(0, str(Path(__file__).parents[1] / "fakes"))
import pdf_files

_BIBITEM = re.compile(
    r"\\bibitem(?:\[(?:[^][]|\[[^]]*\]|\{(?:[^{}]|\{[^{}]*\})*\})*\])?\{([^}]*)\}"
)


def titles(folder: Path) -> tuple[list[str], int]:
    """Titles of the entries that BibTeX printed, as keys, and how many entries it printed."""
    printed = _BIBITEM.findall((folder / "paper.bbl").read_text(encoding="utf-8", errors="replace"))
    bib = read_text(folder / "refs.bib").text
    of = {claim.key: title_key(claim.title) for claim in claims_of_bib(parse_bib(bib, ""))}
    return [of[key] for key in printed if of.get(key)], len(printed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bibs", type=Path, help="folder of .bib files")
    parser.add_argument("--keep", type=Path, help="folder for the PDFs")
    arguments = parser.parse_args()
    work = arguments.keep or Path(tempfile.mkdtemp())
    bibs = sorted(arguments.bibs.rglob("*.bib"))
    jobs = [
        (work / f"{number:03}-{style}", read_text(bib).text, style)
        for style in pdf_files.STYLES
        for number, bib in enumerate(bibs)
    ]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: pdf_files.compiled(*job), jobs))
    count: Counter[tuple[str, str]] = Counter()
    pages = 0
    spent = 0.0
    with PdfReader() as reader:
        for folder, _, style in jobs:
            began = time.perf_counter()
            paper = reader.read(folder / "paper.pdf")
            if isinstance(paper, Problem):
                print(paper)
                continue
            spent += time.perf_counter() - began
            pages += paper.page_count
            claims = claims_of_pdf(paper)
            read = Counter(title_key(claim.title) for claim in claims)
            wanted, printed = titles(folder)
            count[style, "printed"] += printed
            count[style, "found"] += len(claims)
            count[style, "titles"] += len(wanted)
            count[style, "exact"] += sum(read[title] > 0 for title in wanted)
    for style in pdf_files.STYLES:
        exact = count[style, "exact"] / max(1, count[style, "titles"])
        print(
            f"{style:12} {count[style, 'printed']:6,} references, {count[style, 'found']:6,} "
            f"found, {exact:.3f} of {count[style, 'titles']:,} titles exact"
        )
    print(f"{len(jobs)} PDFs, {pages:,} pages, {1e3 * spent / max(1, pages):.1f} ms a page")
    if sys.platform != "win32":
        import resource

        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"largest child process (TeX included): {used / 1e3:.0f} MB")


if __name__ == "__main__":
    main()
