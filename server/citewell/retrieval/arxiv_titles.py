"""Titles of well-known papers by arXiv id: many records of proceedings lack the id."""

from __future__ import annotations

from functools import cache

from citewell.retrieval.encoders.citation import WEIGHTS

TABLE = WEIGHTS / "arxiv_titles.tsv"


@cache
def _titles() -> dict[str, str]:
    if not TABLE.exists():
        return {}
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def title_of_arxiv(identifier: str) -> str:
    """The title of the paper with a bare arXiv id; empty if it is not in the table."""
    return _titles().get(identifier, "")


def arxiv_year(identifier: str) -> int | None:
    """The year of first submission, from the id."""
    digits = identifier.rpartition("/")[2][:2]
    if not digits.isdigit():
        return None
    return (1900 if int(digits) > 90 else 2000) + int(digits)
