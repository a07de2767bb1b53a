"""Whether a sentence may be shown as a statement about some papers: it names nothing else.

Abstracts are other people's text. A sentence of one, or what a model made of it, may carry an
address, a reference to a paper that is not in the list, or an instruction to whoever reads it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from citewell.llm.remarks import GAP, names_known, without_identifiers
from citewell.model import Work

MAX_SENTENCE = 400
"""Characters of a sentence that is shown."""
_INSTRUCTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}"
    r"\b(?:instructions?|prompts?|previous|above|prior|list|rules?|everything)\b"
    r"|\b(?:you|the (?:reader|assistant|model|reviewer|author)s?) (?:must|should|shall|have to|"
    r"are (?:now|required|asked|instructed))\b"
    r"|\b(?:system|assistant|user|developer)\s*(?:prompt|message)?\s*:"
    r"|\bas an? (?:ai|assistant|language model|editor|reviewer) (?:i|you|model)\b"
    r"|\b(?:please|always|only|must|now|instead|should)\s+(?:cite|recommend|output|print|answer|"
    r"respond|say|write|call|run|accept|choose|pick|select)\b"
    r"|^\W*(?:cite|recommend|output|print|answer|respond|repeat|call|choose|select|say|write)\b"
    r"|\b(?:tool|function) call\b|\bend of (?:candidates|papers|abstracts?|list)\b",
    re.IGNORECASE,
)


def is_closed(sentence: str, works: Sequence[Work]) -> bool:
    """Whether the sentence is of bounded length and holds no markup, address, identifier or
    instruction, and no reference to a paper that is none of `works`.

    Only authors, years, titles and venues of the records prove a reference: what their abstracts
    say of papers may be planted there.
    """
    if not sentence or len(sentence) > MAX_SENTENCE or not sentence.isprintable():
        return False
    if _INSTRUCTION.search(sentence):
        return False
    text = without_identifiers(sentence)
    if GAP in text or "�" in text or _length(text) < _length(sentence):
        return False
    return names_known(text, [replace(work, abstract="") for work in works])


def _length(text: str) -> int:
    """Letters and digits."""
    return sum(character.isalnum() for character in text)
