"""Venues as people write them: sources give ids ("cvpr"), entries whole titles of proceedings."""

from __future__ import annotations

import re

from citewell.model.lazy_pattern import lazy_pattern

_WRITTEN = {
    "neurips": "NeurIPS", "corl": "CoRL", "conll": "CoNLL", "semeval": "SemEval", "*sem": "*SEM",
    "starsem": "*SEM", "recsys": "RecSys", "mlsys": "MLSys", "interspeech": "Interspeech",
    "log": "LoG", "clear": "CLeaR", "collas": "CoLLAs", "facct": "FAccT", "fat": "FAccT",
    "usenix-security": "USENIX Security", "sp": "IEEE S&P", "ecml": "ECML", "mm": "ACM MM",
    "ecmlpkdd": "ECML PKDD", "pkdd": "PKDD", "mtsummit": "MT Summit", "mlj": "Machine Learning",
    "ml": "Machine Learning", "neco": "Neural Computation", "cl": "Computational Linguistics",
    "jeptalnrecital": "JEP/TALN/RECITAL", "thewebconf": "WWW", "bigdataconf": "IEEE Big Data",
    "corr": "arXiv", "arxiv": "arXiv", "nature": "Nature", "science": "Science",
    "findings": "Findings", "aij": "Artificial Intelligence", "icassp": "ICASSP",
    "neucom": "Neurocomputing", "nn": "Neural Networks", "pr": "Pattern Recognition",
    "prl": "Pattern Recognition Letters", "csl": "Computer Speech & Language",
    "speechcomm": "Speech Communication", "ipm": "Information Processing & Management",
    "dami": "Data Mining and Knowledge Discovery", "ral": "RA-L", "nmi": "Nature Mach. Intell.",
    "bioinformatics": "Bioinformatics", "mt": "Machine Translation", "satml": "SaTML",
    "blackboxnlp": "BlackboxNLP", "repl4nlp": "RepL4NLP", "eurosys": "EuroSys",
    "mobicom": "MobiCom", "ubicomp": "UbiComp", "cogsci": "CogSci", "sigdial": "SIGDIAL",
    "siggraph": "SIGGRAPH", "asonam": "ASONAM", "sigcomm": "SIGCOMM", "asplos": "ASPLOS",
}  # fmt: skip
"""Ids that are not written in capitals."""
_WORKSHOPS = frozenset(
    "cvpr iccv eccv wacv iclr icml neurips nips aaai ijcai acl emnlp naacl icra iros".split()
)
_NONE = frozenset({"misc", "unknown", "none", "n/a", "others"})
"""What sources write where they know no venue."""
_ID = re.compile(r"[a-z0-9*-]{2,12}")
_LEADING = lazy_pattern(
    r"^(?:(?:in )?proceedings of (?:the )?|proc\.? (?:of )?(?:the )?)"
    r"(?:(?:19|20)\d\d |\d+(?:st|nd|rd|th) |[a-z-]+(?:first|second|third|fth|th|ieth) )?",
    re.IGNORECASE,
)
LONGEST = 12
"""Letters of a venue in a list whose rows hold some 50."""


def shown_venue(name: str) -> str:
    """The name as people write it where it is only an id, else the name: "cvpr" is "CVPR"."""
    name = " ".join(name.split())
    if name.lower() in _NONE:
        return ""
    if not _ID.fullmatch(name):
        return name
    if name in _WRITTEN:
        return _WRITTEN[name]
    if name.endswith("w") and name[:-1] in _WORKSHOPS:
        return f"{shown_venue(name[:-1])} Workshops"
    # A long id is a word, a short one stands for several.
    return name.upper() if len(name) <= 7 else name.capitalize()


def short_venue(name: str, ids: frozenset[str] = frozenset()) -> str:
    """The venue for one row of a list: at most `LONGEST` letters, "" if that says nothing.

    `ids` are the venues that the name stands for; proceedings of a workshop are not those of the
    conference beside which it was held.
    """
    shown = shown_venue(name)
    if len(shown) <= LONGEST:
        return shown
    lower = shown.lower()
    if "workshop" not in lower and len(ids) == 1:
        short = shown_venue(next(iter(ids)))
        if "findings of" in lower:
            return f"Findings {short}" if len(short) < 6 else "Findings"
        if len(short) <= LONGEST:
            return short
    bare = _LEADING.sub("", shown)
    return bare if len(bare) <= LONGEST else ""
