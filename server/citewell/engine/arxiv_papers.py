"""The source, or the PDF, of a paper on arXiv, downloaded for a check.

The download is untrusted: only LaTeX text files are unpacked, of bounded number and size, into a
separate folder.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
import zlib
from pathlib import Path, PurePosixPath

from citewell.engine.online import missing_package
from citewell.model import Problem
from citewell.options import Options
from citewell.sources.contract import Ask, Failed, NoMatch, NonsenseError, Source, SourcePolicy
from citewell.sources.registry import allowed

MAX_UNPACKED = 100_000_000
"""Bytes of all files."""
MAX_FILES = 2_000
_SUFFIXES = (".tex", ".ltx", ".bbl", ".bib")


class _ArxivFiles(Source):
    name = "arxiv"
    title = "arXiv"
    gives = "the source of a paper"
    sends = "an arXiv id"
    policy = SourcePolicy(
        base="https://export.arxiv.org",
        hosts=("export.arxiv.org", "arxiv.org"),
        per_second=1 / 3,
        at_once=1,
        max_bytes=80_000_000,
    )


def download(arxiv: str, options: Options, folder: Path) -> Problem | None:
    """Write the files of a paper below a folder: LaTeX and BibTeX, or "paper.pdf".

    `arxiv` is a bare id. Returns the problem, if any. Requires the user's permission for arXiv.
    """
    if "arxiv" not in allowed(options.sources.allow)[0]:
        return Problem(
            "sources-off",
            f"The source arxiv is not allowed, so arXiv:{arxiv} cannot be read.",
            "Run `citewell sources allow arxiv`; arXiv then receives the identifier.",
        )
    if (problem := missing_package()) is not None:
        return problem
    answer = asyncio.run(_fetch(arxiv, options))
    if isinstance(answer, NoMatch):
        return Problem(
            "file-missing", f"arXiv has no paper arXiv:{arxiv}.", "Check the identifier."
        )
    if isinstance(answer, Failed):
        return answer.problem
    for name, data in answer.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return None


async def _fetch(arxiv: str, options: Options) -> dict[str, bytes] | NoMatch | Failed:
    from citewell.options.folders import sources_folder
    from citewell.sources.web.client import Web, WebOptions

    own, folder = options.sources, sources_folder()
    web = Web(
        [_ArxivFiles],
        WebOptions(
            contact=own.contact, base_url=own.base_url, cache=None, pace=folder, timeout=60.0
        ),
    )
    try:
        ask = Ask(path=f"/e-print/{arxiv}", accept="*/*", absent=True)
        return await web(_ArxivFiles, ask, unpacked)
    finally:
        await web.aclose()


def unpacked(body: bytes) -> dict[str, bytes]:
    """The files in arXiv's answer, by relative name: a PDF, or a gzip file of one document or of an
    archive. Raises `NonsenseError`."""
    if body.startswith(b"%PDF-"):
        return {"paper.pdf": body}
    data = _inflated(body) if body.startswith(b"\x1f\x8b") else body
    try:
        files = _of_archive(data)
    except tarfile.TarError:
        files = {} if b"\0" in data[:1000] else {"paper.tex": data}
    if not files:
        raise NonsenseError("the answer holds neither LaTeX nor a PDF")
    return files


def _inflated(body: bytes) -> bytes:
    decoder = zlib.decompressobj(wbits=31)
    try:
        data = decoder.decompress(body, MAX_UNPACKED)
    except zlib.error:
        raise NonsenseError("the answer is no whole gzip file") from None
    if decoder.unconsumed_tail or not decoder.eof:
        raise NonsenseError("the source is cut, or too large")
    return data


def _of_archive(data: bytes) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        for number, member in enumerate(archive):
            path = PurePosixPath(member.name)
            sound = not path.is_absolute() and ".." not in path.parts and "\\" not in member.name
            if number < MAX_FILES and sound and member.isfile() and path.suffix in _SUFFIXES:
                stream = archive.extractfile(member)
                files[str(path)] = stream.read() if stream is not None else b""
    return files
