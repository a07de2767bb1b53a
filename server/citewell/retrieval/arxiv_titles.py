"""The titles of well-known papers by their arXiv ids: many records of proceedings lack the id."""

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
    """The title of the paper with a bare arXiv id; empty where the table lacks it."""
    return _titles().get(identifier, "")


def arxiv_year(identifier: str) -> int | None:
    """The year of the first submission, which the id begins with."""
    digits = identifier.rpartition("/")[2][:2]
    if not digits.isdigit():
        return None
    return (1900 if int(digits) > 90 else 2000) + int(digits)
