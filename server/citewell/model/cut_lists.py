"""Author lists that their source cuts: the names after the last one are missing.

Entries that Google Scholar exports name ten authors at most. Records made from such entries keep
the ten names, and not the "and others" after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from citewell.model.work import Author

_CUT_AFTER = {"bibliographies": 10}
"""Number of names after which a source cuts a list."""
_COMPLETE = frozenset({"cited:6b6e7fa8ca", "cited:74432ba23a"})
"""Ids of works with exactly ten authors, according to four or more bibliographies: RoBERTa and
"Automatic Differentiation in PyTorch"."""


def is_cut(authors: Sequence[Author], sources: Iterable[str], identifier: str = "") -> bool:
    """True when each of the sources cuts its lists after as many names as these.

    `identifier` is the work's id, if it is known: some works have exactly this number of authors.
    """
    if identifier in _COMPLETE:
        return False
    lengths = {_CUT_AFTER.get(source, 0) for source in sources}
    return lengths == {len(authors)} and bool(authors)
