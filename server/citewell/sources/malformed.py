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
_MARKUP = re.compile(r"[;\\{}<>@=|*†‡]|\bet\.?\s*al\b|https?:", re.IGNORECASE)
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
    return len(name) > _LONGEST or _LETTER.search(name) is None or _MARKUP.search(name) is not None
