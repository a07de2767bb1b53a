"""Makes the table of arXiv ids of well-known papers: `python -m
citewell_lab.training.arxiv_titles DATA OUT.tsv`.

Records of proceedings seldom have the arXiv id of the paper. Records of scholarly sources and
entries that people wrote have both id and title: of these facts, and nothing else, the table
consists. An id with two titles that as many witnesses name is left out.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from citewell.documents.bib.reader import parse_bib
from citewell.model.identifiers import arxiv_id
from citewell.model.titles import plain_title, title_key

LEAST_LETTERS = 13
"""Letters of a title that stands for one paper."""


def pairs(data: Path) -> Iterator[tuple[str, str]]:
    """Each witness of the data: an arXiv id and a title."""
    for record in _records(data / "api" / "semantic_scholar_records.jsonl.gz"):
        ids = record.get("externalIds") or {}
        yield arxiv_id(ids.get("ArXiv") or "") or arxiv_id(ids.get("DOI") or ""), _text(record)
    for record in _records(data / "api" / "openalex_records.jsonl.gz"):
        places = [place or {} for place in record.get("locations") or []]
        texts = [record.get("doi"), *(place.get("landing_page_url") for place in places)]
        for found in {arxiv_id(text) for text in texts if text}:
            yield found, _text(record)
    for record in _records(data / "api" / "dblp_records.jsonl.gz"):
        info = record.get("info") or {}
        if isinstance(info.get("ee"), str):
            yield arxiv_id(info["ee"]), _text(info).rstrip(".")
    for record in _records(data / "contexts" / "train.jsonl.gz"):
        raw = record.get("bib_entry_raw") or ""
        if "rxiv" in raw or "eprint" in raw:
            for entry in parse_bib(raw).entries:
                yield entry.body.arxiv, entry.get("title")


def table(data: Path) -> dict[str, str]:
    """The title of each arXiv id."""
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    written: dict[str, str] = {}
    for identifier, title in pairs(data):
        key = title_key(title)
        if identifier and len(key) >= LEAST_LETTERS:
            seen[identifier][key] += 1
            written.setdefault(key, plain_title(title))
    found = {}
    for identifier, counts in sorted(seen.items()):
        (key, most), *others = counts.most_common(2)
        if not others or others[0][1] < most:
            found[identifier] = written[key]
    return found


def _text(record: dict[str, Any]) -> str:
    title = record.get("title") or record.get("display_name") or ""
    return title if isinstance(title, str) else ""


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)


def main(data: str, out: str) -> None:
    """Write the table as tab-separated values."""
    lines = [f"{identifier}\t{title}\n" for identifier, title in table(Path(data)).items()]
    Path(out).write_text("".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:3])
