"""Readers of the shared data folder, in the form that training needs."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import zstandard
from msgspec.structs import replace

from citewell.engine.local import LocalEngine
from citewell.model import CitingPaper, Query, Question
from citewell.options import Options
from citewell.ranking.contract import Ranker

CORPORA = ("acl", "ml")


class TrainingPaper(msgspec.Struct, frozen=True):
    """One record of the corpora."""

    id: str
    title: str
    abstract: str
    authors: tuple[str, ...]
    year: int | None
    venue: str


class CitationContext(msgspec.Struct, frozen=True):
    """One real citation of a paper."""

    id: str
    source: str
    """The citing repository."""
    paper: str
    """The citing paper, as far as the data set identifies it."""
    title: str
    sentence: str
    before: tuple[str, ...]
    after: str
    gold: tuple[str, ...]
    """Ids that count as the cited paper; empty when the corpora do not hold it."""
    siblings: tuple[str, ...]
    """Ids of the other papers of the same cite command."""
    year: int | None
    clean: bool
    origin: str
    form: str = "latex"
    """Source format of the citing text: latex, markdown, html, or text of a PDF."""
    group: int = 1
    """Papers of the same cite command or marker, the cited one included."""


def read_jsonl(path: Path) -> Iterator[dict[str, Any]]:
    """Records of a .jsonl.gz or .jsonl.zst file."""
    if path.suffix == ".zst":
        with path.open("rb") as raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
            for line in io.TextIOWrapper(stream, encoding="utf-8"):
                yield json.loads(line)
    else:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


def read_papers(data: Path, names: tuple[str, ...] = CORPORA) -> list[TrainingPaper]:
    """Every paper of the named corpora, in file order; extra abstracts filled in."""
    extra: dict[str, str] = {}
    more = data / "corpus" / "abstracts_extra.jsonl.gz"
    if more.exists():
        extra = {r["id"]: r["abstract"] for r in read_jsonl(more) if r.get("abstract")}
    return [
        TrainingPaper(
            r["id"],
            r["title"] or "",
            r.get("abstract") or extra.get(r["id"], ""),
            tuple(r["authors"] or ()),
            r["year"],
            r.get("venue") or "",
        )
        for name in names
        for r in read_jsonl(data / "corpus" / f"{name}.jsonl.zst")
    ]


def read_contexts(path: Path) -> list[CitationContext]:
    """Every citation of a contexts file."""
    return [context_of(record) for record in read_jsonl(path)]


def context_of(r: dict[str, Any]) -> CitationContext:
    """The citation of a record."""
    return CitationContext(
        r["id"],
        r["source_repo"],
        paper_of(r),
        r["source_title"] or "",
        r["sentence"],
        tuple(r.get("context_before_list") or ()),
        r.get("context_after") or "",
        tuple(dict.fromkeys((r["gold_id"], *(r["gold_alt_ids"] or ())))) if r["gold_id"] else (),
        tuple(g for g in r["group_gold_ids"] or () if g and g != r["gold_id"]),
        r["gold_year"],
        bool(r["clean"]),
        r.get("source_dataset") or "dev",
        r.get("format") or "latex",
        max(len(r.get("group_keys") or ()), len(r["group_gold_ids"] or ()), 1),
    )


def paper_of(record: dict[str, Any]) -> str:
    """The citing paper of a record, as far as the data set identifies it."""
    if record.get("source_paper_id"):
        return f"{record['source_repo']}|{record['source_paper_id']}"
    # The folder identifies the paper within a repository if the title is unknown.
    folder = record["file"].rpartition("/")[0].split("/")
    place = "/".join(folder[:2])
    return f"{record['source_repo']}|{record['source_title'] or place}"


def fold_title(title: str) -> str:
    """A title's letters and digits alone, lower-case: how titles are compared."""
    text = unicodedata.normalize("NFKD", title.lower())
    return re.sub(r"[^a-z0-9]+", "", text)


# Opens a library as the trainers of rankers need it.


def open_library(library: Path, ranker: Ranker) -> LocalEngine:
    """The engine with this ranker; nothing that was learned from use, nothing of sources."""
    options = Options()
    options = replace(
        options,
        library=replace(options.library, path=library.parent, name=library.name, starter=False),
        learning=replace(options.learning, enabled=False),
        sources=replace(options.sources, keep=False),
        # A busy machine must not change what is learned.
        retrieval=replace(options.retrieval, timeout_ms=600_000),
    )
    return LocalEngine.open(options, ranker=ranker)


def as_query(context: CitationContext) -> Query:
    """The question that a context asks."""
    return Query(
        sentence=context.sentence,
        before=context.before[-3:],
        after=(context.after,) if context.after else (),
        paper=CitingPaper(title=context.title),
    )


# The split: the papers that train, tune and test, stated only here.

Part = Literal["train", "valid", "test"]
Role = Literal["encoder", "head", "tune"]

SALT = "citewell-split-1"
TRAIN_REPOSITORIES = frozenset({"Pinafore/publications"})
NEWER_SOURCES = frozenset({"github-tex2", "deepscholar-bench"})
"""Data sets of `contexts_train2` with papers' own LaTeX."""
UNREAD_SHARE, TUNING_SHARE = 0.3, 0.25


def fraction(name: str, salt: str = SALT) -> float:
    """A number in [0, 1) that depends on the name alone."""
    digest = hashlib.sha256(f"{salt}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def dev_part(repository: str) -> Part:
    """Part of a repository of `contexts/dev`: a quarter trains, a quarter tunes, half tests."""
    if repository in TRAIN_REPOSITORIES:
        return "train"
    place = fraction(repository)
    return "test" if place < 0.5 else "valid" if place < 0.75 else "train"


def citation_part(question: Question) -> Part:
    """Part of a citation of `contexts/dev`."""
    repository = next(tag[11:] for tag in question.tags if tag.startswith("repository:"))
    return dev_part(repository)


def question_part(qid: str) -> Part:
    """Part of a literature-search question (AutoScholar, SPARBench): a third each."""
    place = fraction(qid)
    return "test" if place < 1 / 3 else "valid" if place < 2 / 3 else "train"


def role_of(paper: str, origin: str, form: str) -> Role:
    """The role of a training paper: it trains the encoder or the ranker, or it tunes.

    The encoder's scores of a citation that it has read are too good: 30% of the newer LaTeX
    sources are kept from it, three quarters of which teach the ranker.
    """
    newer = origin in NEWER_SOURCES and form == "latex"
    if not newer or fraction(paper, "citewell-tune-1") >= UNREAD_SHARE:
        return "encoder"
    return "tune" if fraction(paper, "citewell-calibrate-1") < TUNING_SHARE else "head"


def is_tuning(record: dict[str, Any]) -> bool:
    """Whether the citing paper of a record of a contexts file tunes."""
    form = record.get("format") or "latex"
    return role_of(paper_of(record), record.get("source_dataset") or "dev", form) == "tune"
