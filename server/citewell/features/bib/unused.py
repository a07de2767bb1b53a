"""Entries that no paper cites, and a .bib without them."""

from __future__ import annotations

from pathlib import Path

from citewell.features.checking.lint import lint_bib
from citewell.features.checking.lint_rule import LintPaper
from citewell.model.bib import BibEntry, BibFile


def unused_entries(bib: BibFile, paper: LintPaper) -> list[BibEntry]:
    """The entries that no paper cites, neither itself nor through an entry that names them.

    Empty where this cannot be determined: no paper uses the file, or one contains `\\nocite{*}`.
    """
    if Path(bib.path) not in paper.bibs:
        return []
    keys = {one.data.get("key", "") for one in lint_bib(bib, paper) if one.code == "unused-entry"}
    return [entry for entry in bib.entries if entry.key in keys and entry.type != "xdata"]
