"""Author lists that were damaged on their way into a record.

Such lists are no evidence: they are kept for display and never held against a reference.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from citewell.model.titles import fold
from citewell.model.work import Author

_LONGEST = 80
"""Letters of the longest real personal names; longer ones are several names run together."""
_MARKS = re.compile(r"[;\\{}<>@=|*†‡]")
_WORDS = re.compile(r"\bet\.?\s*al\b|https?:", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")


def is_malformed(authors: Sequence[Author]) -> bool:
    """True for a list with markup in a name, a name twice, or every name cut into two.

    An organisation or a mononym among other names is sound, and so is an empty list.
    """
    shown = [html.unescape(author.display) for author in authors]
    if any(_is_broken(name) for name in shown):
        return True
    if len({fold(name) for name in shown}) < len(shown):
        return True
    # "Family; Given" that was split at the semicolon leaves single words only.
    single = [author for author in authors if not author.given and " " not in author.family]
    return len(authors) > 1 and len(single) == len(authors)


def _is_broken(name: str) -> bool:
    if len(name) > _LONGEST or _MARKS.search(name) is not None:
        return True
    if not name[:1].isalpha() and _LETTER.search(name) is None:
        return True
    # Every record of an import comes here, and these two tests are cheaper than the pattern.
    low = name.lower()
    may_match = "http" in low or ("et" in low and "al" in low)
    return may_match and _WORDS.search(name) is not None
