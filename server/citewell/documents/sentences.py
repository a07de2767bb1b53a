"""Plain prose cut into sentences, with the abbreviations of scholarly writing in mind."""

from __future__ import annotations

from citewell.model.lazy_pattern import lazy_pattern

_END = lazy_pattern(
    r"[.!?][\"')\]”’]*(?:\[(?:CITATION|OTHER)\]|[\ue000\ue001])*"
    r"(?=\s+[\"'(\[“‘]?[A-Z0-9\ue000\ue001\[À-ÖØ-Þ“])"
    r"|\n\n"
)
_ABBREVIATION = lazy_pattern(
    r"(?:^|[\s(\[~])(?:e\.?g|i\.?e|cf|vs|al|resp|approx|ca|etc|viz|et|w\.?r\.?t|s\.t|a\.k\.a|"
    r"[Ff]igs?|[Ee]qs?|[Ee]qns?|[Ss]ecs?|[Ss]ect|[Tt]abs?|[Cc]h|[Cc]hap|[Aa]pp|[Rr]efs?|[Aa]lg|"
    r"[Dd]ef|[Tt]hm|[Pp]rop|[Ll]em|[Nn]os?|[Nn]r|[Vv]ol|pp?|[Ee]d|[Ee]ds|"
    r"[Dd]r|[Mm]rs?|[Mm]s|[Pp]rof|[Ss]t|Jr|Sr|Inc|Ltd|Co|Corp|Univ|Dept|[Aa]vg|max|min|[A-Z])\.$"
)


def split_sentences(text: str) -> list[str]:
    """The sentences of plain prose in order; a blank line always ends one."""
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match[0] != "\n\n" and _abbreviates(text[start : match.end()]):
            continue
        if sentence := text[start : match.end()].strip():
            sentences.append(sentence)
        start = match.end()
    if sentence := text[start:].strip():
        sentences.append(sentence)
    return sentences


def _abbreviates(sentence: str) -> bool:
    return _ABBREVIATION.search(sentence[-12:]) is not None
