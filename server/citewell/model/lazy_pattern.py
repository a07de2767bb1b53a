"""Regular expressions that are compiled at their first use.

Compiling one takes a tenth of a millisecond. Modules with dozens, few of them used, would delay the
first answer of each process.
"""

from __future__ import annotations

import re
from typing import Any, cast


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """The equivalent of `re.compile`, compiled at its first use; an error in the pattern is raised
    then."""
    return cast("re.Pattern[str]", _LazyPattern(text, flags))


class _LazyPattern:
    def __init__(self, text: str, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        # Called for missing attributes only: each method is looked up once.
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found
