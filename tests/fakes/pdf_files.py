"""PDF files for tests: written by hand, whole and hostile, and compiled by LaTeX in three styles."""

from __future__ import annotations

import subprocess
import zlib
from collections.abc import Sequence
from pathlib import Path

STYLES = {
    "numeric": ("", "", "plain"),
    "author-year": ("", "\\usepackage{natbib}", "plainnat"),
    "two-columns": ("[twocolumn]", "", "ieeetr"),
}
"""Options of the class, preamble and BibTeX style."""
BODY = " ".join(["This sentence fills the page with words that no reference has."] * 50)
PAPER = r"""\documentclass%(options)s{article}
\usepackage[utf8]{inputenc}\usepackage[T1]{fontenc}\usepackage{url}\usepackage{amsmath}%(preamble)s
\title{%(title)s}\author{Ann Ash}
\begin{document}\maketitle
\begin{abstract}We study references.\end{abstract}
\section{Introduction}
%(text)s
\nocite{*}
\bibliographystyle{%(style)s}\bibliography{refs}
\appendix\section{Appendix} %(body)s
\end{document}
"""


def compiled(
    folder: Path, bib: str, style: str, title: str = "A Study of Reference Lists", text: str = BODY
) -> Path:
    """`paper.pdf` with all entries of a bibliography in one of the STYLES."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "refs.bib").write_text(bib, encoding="utf-8")
    options, preamble, bst = STYLES[style]
    filled = PAPER % {
        "options": options, "preamble": preamble, "style": bst, "title": title, "text": text,
        "body": BODY,
    }  # fmt: skip
    (folder / "paper.tex").write_text(filled, encoding="utf-8")
    latex = ["pdflatex", "-interaction=nonstopmode", "paper.tex"]
    for command in (latex, ["bibtex", "paper"], latex, latex):
        subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=300,
            check=False,
        )  # fmt: skip
    return folder / "paper.pdf"


def written(
    path: Path,
    pages: Sequence[Sequence[str]],
    *,
    title: str = "",
    encrypted: bool = False,
    content: bytes | None = None,
) -> Path:
    """A PDF with lines of text (Latin letters) on each page; the first line of all is large.

    `content` is a compressed content stream that every page shows instead.
    """
    objects: list[bytes] = [b"", b""]
    font = _add(objects, b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    kids = []
    stream = None
    for number, lines in enumerate(pages):
        if content is None:
            text = "\n".join(_line(number, at, line) for at, line in enumerate(lines))
            stream = _add(objects, _stream(text.encode("latin-1"), b""))
        elif stream is None:
            stream = _add(objects, _stream(content, b"/Filter/FlateDecode"))
        kids.append(
            _add(
                objects,
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F %d 0 R>>>>"
                b"/Contents %d 0 R>>" % (font, stream),
            )
        )
    info = _add(objects, b"<</Title(%s)>>" % title.encode("latin-1"))
    objects[0] = b"<</Type/Catalog/Pages 2 0 R>>"
    places = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (len(kids), places)
    more = b""
    if encrypted:
        secret = b"<" + b"41" * 32 + b">"
        lock = _add(objects, b"<</Filter/Standard/V 1/R 2/O %s/U %s/P -4>>" % (secret, secret))
        more = b"/Encrypt %d 0 R/ID[<00><00>]" % lock
    data = bytearray(b"%PDF-1.4\n")
    starts = []
    for number, body in enumerate(objects, 1):
        starts.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % start for start in starts)
    data += b"trailer<</Size %d/Root 1 0 R/Info %d 0 R%s>>\nstartxref\n%d\n%%%%EOF" % (
        len(objects) + 1, info, more, table,
    )  # fmt: skip
    path.write_bytes(bytes(data))
    return path


def endless() -> bytes:
    """A small compressed stream that draws text for very long."""
    return zlib.compress(b"BT /F 9 Tf (words) Tj 0 -1 Td ET\n" * 5_000_000, 9)


def _line(page: int, at: int, line: str) -> str:
    size = 20 if page == at == 0 else 10
    words = line.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /F {size} Tf 72 {720 - 14 * at} Td ({words}) Tj ET"


def _stream(data: bytes, filters: bytes) -> bytes:
    return b"<</Length %d%s>>stream\n%s\nendstream" % (len(data), filters, data)


def _add(objects: list[bytes], body: bytes) -> int:
    objects.append(body)
    return len(objects)
