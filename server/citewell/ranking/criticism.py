"""Sentences that say what is wrong with the work before them, and cite a witness of it.

"However, it fails on long inputs [CITATION]" cites who found that out, not the work that fails. In
"Although [CITATION] introduced it, ..." the mark comes first: there the work itself is meant.
"""

from __future__ import annotations

import re

from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.query import MARK

_FAULT = lazy_pattern(
    r"""\b(?:
        fail(?:s|ed|ing|ure|ures)? | suffer(?:s|ed)? | cannot | can\s+not | unable | limitations?
      | ignor(?:es|ed|ing) | neglects? | neglected | lacks? | lacking | struggles? | struggled
      | poor(?:ly)? | drawbacks? | shortcomings? | weakness(?:es)? | criticis\w+ | criticiz\w+
      | overfits? | brittle | unreliable | contradict(?:s|ed)? | refut(?:es|ed) | disput(?:es|ed)
      | insufficient(?:ly)? | inadequate(?:ly)? | degrad(?:es|ed|ation) | worse | breaks?\s+down
      | (?:do|does|did|is|are|was|were)(?:\s+not|n['\u2019]t)
      | called\s+into\s+question | questioned
    )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_CONTRAST = lazy_pattern(
    r"^\W*(?:However|Yet|But|Unfortunately|Nevertheless|Nonetheless)\b(?:\W+\w+){5}",
    re.IGNORECASE,
)
"""A turn against the sentence before, whatever words name the fault.

"However, BERT [CITATION]" names a work and is none.
"""


def is_criticism(sentence: str) -> bool:
    """True where a citing sentence names a fault before the mark, or begins with a contrast."""
    left, mark, _ = sentence.partition(MARK)
    return bool(mark) and bool(_FAULT.search(left) or _CONTRAST.match(left))
