"""Compares the conversion of LaTeX to Unicode with pylatexenc's own, on real titles and authors.

    python tests/bench/tex_bench.py [--show 10]

The values are the titles and authors of the .bib files below ../shared. Both converters read all of
them in one run; the time is that of the processor. What differs is counted by what it comes from.
"""

from __future__ import annotations

import argparse
import logging
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pylatexenc.latex2text import LatexNodes2Text

from citewell.documents.bib.reader import parse_bib
from citewell.model.tex import tex_to_unicode

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def values() -> list[str]:
    """The distinct raw values of `title` and `author`, without their outer braces or quotes."""
    found: dict[str, None] = {}
    for path in sorted(DATA.rglob("*.bib")):
        text = path.read_text(encoding="utf-8", errors="replace")
        for entry in parse_bib(text).entries:
            for field in entry.fields:
                if field.name.lower() in ("title", "author"):
                    found[field.raw.strip()[1:-1]] = None
    return list(found)


def timed(convert: Callable[[str], str], texts: list[str]) -> tuple[list[str], float]:
    """What the texts become, and microseconds of processor time for each."""
    begin = time.process_time()
    made = [convert(text) for text in texts]
    return made, (time.process_time() - begin) / len(texts) * 1e6


def by_parser() -> Callable[[str], str]:
    """pylatexenc's conversion with blanks collapsed, as ours are."""
    converter = LatexNodes2Text(math_mode="text", keep_braced_groups=False)

    def convert(text: str) -> str:
        try:
            return " ".join(converter.latex_to_text(text).split())
        except Exception as error:
            return f"\0{type(error).__name__}"

    return convert


def reason(raw: str, ours: str, theirs: str) -> str:
    """What a difference comes from."""
    if theirs.startswith("\0"):
        return "pylatexenc raises"
    if unicodedata.normalize("NFC", theirs) == ours:
        return "pylatexenc leaves accents decomposed"
    if len(theirs) < 0.7 * len(ours):
        return "pylatexenc drops the rest (% or unbalanced braces)"
    if "".join(theirs.split()) == "".join(ours.split()):
        return "blanks only"
    if "$" in raw:
        return "formulas"
    return "macros and signs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", type=int, default=0, help="so many examples of each kind")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    texts = values()
    marked = [text for text in texts if "\\" in text or "$" in text]
    for name, some in (("all", texts), ("with commands", marked)):
        ours, spent = timed(tex_to_unicode, some)
        theirs, parsed = timed(by_parser(), some)
        print(
            f"{len(some)} titles and authors, {name}: ours {spent:.1f} us each, "
            f"pylatexenc's parser {parsed:.0f} us ({parsed / spent:.0f} times)"
        )
    kinds: dict[str, list[tuple[str, str, str]]] = {}
    for raw, one, other in zip(marked, ours, theirs, strict=True):
        if one != other:
            kinds.setdefault(reason(raw, one, other), []).append((raw, one, other))
    print(f"differ: {sum(map(len, kinds.values()))} of {len(marked)}")
    for kind, count in Counter({kind: len(rows) for kind, rows in kinds.items()}).most_common():
        print(f"  {count:5} {kind}")
        for raw, one, other in kinds[kind][: arguments.show]:
            print(
                f"        {raw[:110]!r}\n          ours   {one[:110]!r}\n          theirs {other[:110]!r}"
            )


if __name__ == "__main__":
    main()
