"""What must hold on real papers, which are not part of the repository (see CONTRIBUTING)."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from citewell.documents.context import context_at, query_for
from citewell.documents.project.files import FileCache, scan_document
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import read_text
from citewell.model.document import Document

SUFFIXES = (".tex", ".md", ".sty", ".cls")


@pytest.fixture(scope="module")
def sources(shared_data: Path) -> list[Path]:
    found = [p for p in (shared_data / "projects").rglob("*") if p.suffix in SUFFIXES]
    assert len(found) > 300
    return sorted(found)


def records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def check(document: Document) -> None:
    for citation in document.citations:
        for use in citation.keys:
            assert document.text[use.span.start : use.span.end] == use.key
    for item in document.placeholders:
        query_for(document, item)


def test_every_file_of_every_project_opens(sources: list[Path]) -> None:
    cache = FileCache()
    cited = 0
    for path in sources:
        project = Project.open(path, cache=cache)
        check(project.document)
        cited += len(project.document.citations)
        project.citing_paper()
        project.target_bib()
    assert cited > 2_000


def test_every_file_opens_when_cut_at_random_places(sources: list[Path]) -> None:
    rng = random.Random(0)
    for path in sources:
        text = read_text(path).text
        for _ in range(12):
            cut = rng.randrange(len(text) + 1)
            # The start of the file up to the cut is what an author has typed; of a long file the
            # last stretch shows as much as the whole.
            document = scan_document(str(path), text[max(0, cut - 20_000) : cut])
            check(document)
            context_at(document, len(document.text))


def test_real_placeholders_that_ask_for_a_citation_are_found(shared_data: Path) -> None:
    missed = []
    count = 0
    for record in records(shared_data / "contexts" / "placeholders.jsonl.gz"):
        folder = shared_data / "projects" / "latex" / record["source_repo"].replace("/", "__")
        path = folder / record["file"]
        if record["in_comment"]:
            continue
        if path.is_file():
            text = read_text(path).text
            lines = text.splitlines(keepends=True)
            offset = sum(map(len, lines[: record["line"] - 1])) + record["col"]
        else:
            text = record["line_text"]
            offset = text.find(record["text"])
        # These notes want a \ref: "Lemma \todo{ref}", "\todo{ref the section where ...}".
        if record["kind"] == "todo_macro" and "cit" not in record["text"]:
            continue
        count += 1
        document = scan_document("a.tex", text)
        if not any(p.span.start <= offset < p.span.end for p in document.placeholders):
            missed.append(record["text"])
    assert count == 26
    assert missed == []
