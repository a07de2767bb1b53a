"""Makes the starter library: gather, refine, build, compact, and say in a card what it holds."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

import msgspec

from citewell.corpus.card import card_text
from citewell.corpus.layout import CARD, STARTER
from citewell.corpus.library import Library
from citewell.model.titles import title_key
from citewell.options import Options
from citewell_corpus.build import build_library, default_builders
from citewell_corpus.compact.library import CompactReport, write_compact_library
from citewell_corpus.processes import Progress
from citewell_corpus.sources import source_at
from citewell_corpus.starter_data.card import make_card
from citewell_corpus.starter_data.gather import agreed, from_bibliographies, recent, wanted
from citewell_corpus.starter_data.refine import refine

CARD_TEXT = "CARD.md"


class StarterSources(msgspec.Struct, frozen=True, kw_only=True):
    """What the starter is made from."""

    records: tuple[Path, ...]
    """Files of records in the exchange format; abstracts are read, and left behind."""
    agreed: tuple[Path, ...] = ()
    """Works on which bibliographies agree."""
    wanted: Path | None = None
    """Table of works that are often cited: those that are missing are looked for in `citations`."""
    citations: tuple[Path, ...] = ()
    """Citations with their raw entries."""
    versions: tuple[Path, ...] = ()
    """Versions that bibliographies cite of works that the records hold in another one."""
    until: int = 2025
    """Newest year that is taken."""


def make_starter(
    sources: StarterSources, into: Path, progress: Progress, *, keep: Path | None = None
) -> CompactReport:
    """Write the folder `into`: a compact library and its card. Needs no network.

    `keep` is a folder in which the full library, with abstracts, stays for comparison.
    """
    with tempfile.TemporaryDirectory(dir=into.parent, prefix=".starter-") as temporary:
        scratch = Path(temporary)
        progress.stage("Refine the records", 0)
        files = refine(_gathered(sources, scratch), sources.versions, scratch, sources.until)
        base = keep if keep is not None else scratch / "library"
        build_library(
            base,
            add=[source_at(str(path), "records") for path in files],
            builders=default_builders(Options()),
            fresh=True,
            progress=progress,
        )
        report = write_compact_library(base, into, STARTER, progress)
    with Library.open(into) as library:
        card = make_card(library, report)
    (into / CARD).write_bytes(msgspec.json.format(msgspec.json.encode(card), indent=1))
    (into.parent / CARD_TEXT).write_text(card_text(card, files_digest(into)), encoding="utf-8")
    return report


def files_digest(folder: Path) -> str:
    """SHA-256 of a list of the folder's files with theirs, as `sha256sum` prints it."""
    paths = {f"./{path.relative_to(folder).as_posix()}": path for path in folder.rglob("*")}
    lines = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}\n"
        for name, path in sorted(paths.items(), key=lambda item: item[0].encode())
        if path.is_file()
    )
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _gathered(sources: StarterSources, scratch: Path) -> list[Path]:
    """One file of records for each source, in order."""
    files = []
    known: set[str] = set()
    owners: dict[str, str] = {}
    for number, path in enumerate(sources.records):
        files.append(_written(scratch / f"records-{number}.jsonl", recent(path, sources.until)))
    for number, path in enumerate(sources.agreed):
        found = agreed(path, sources.until, owners)
        files.append(_written(scratch / f"agreed-{number}.jsonl", found))
    if sources.wanted is not None:
        decode = msgspec.json.Decoder(type=_OptionalTitle).decode
        for path in files:
            with path.open("rb") as stream:
                known.update(title_key(decode(line).title or "") for line in stream)
        missing = wanted(sources.wanted).keys() - known
        found = from_bibliographies(missing, sources.citations)
        files.append(_written(scratch / "wanted.jsonl", found))
    return [path for path in files if path.stat().st_size]


def _written(path: Path, found: Iterable[bytes]) -> Path:
    with path.open("wb") as stream:
        for line in found:
            stream.write(line.rstrip(b"\n") + b"\n")
    return path


class _OptionalTitle(msgspec.Struct):
    title: str | None = None
