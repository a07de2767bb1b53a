"""Venues as authors write them: in full, or abbreviated as the file abbreviates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.titles import normalise_title
from citewell.model.venues import ABBREVIATIONS, SHORT, shown_venue, venue_ids


class Venue(msgspec.Struct, frozen=True):
    name: str
    """As written in the booktitle or journal field of an entry."""
    journal: bool = False


_CONFERENCES = {
    "neurips": "Advances in Neural Information Processing Systems",
    "nips": "Advances in Neural Information Processing Systems",
    "icml": "Proceedings of the International Conference on Machine Learning",
    "iclr": "International Conference on Learning Representations",
    "cvpr": "Proceedings of the IEEE/CVF Conference on Computer Vision and Pattern Recognition",
    "iccv": "Proceedings of the IEEE/CVF International Conference on Computer Vision",
    "eccv": "Proceedings of the European Conference on Computer Vision",
    "wacv": "Proceedings of the IEEE/CVF Winter Conference on Applications of Computer Vision",
    "aistats": "International Conference on Artificial Intelligence and Statistics",
    "uai": "Proceedings of the Conference on Uncertainty in Artificial Intelligence",
    "colt": "Proceedings of the Conference on Learning Theory",
    "corl": "Proceedings of the Conference on Robot Learning",
    "acml": "Proceedings of the Asian Conference on Machine Learning",
    "midl": "Proceedings of Medical Imaging with Deep Learning",
    "aaai": "Proceedings of the AAAI Conference on Artificial Intelligence",
    "ijcai": "Proceedings of the International Joint Conference on Artificial Intelligence",
    "icassp": "IEEE International Conference on Acoustics, Speech and Signal Processing",
    "interspeech": "Proceedings of Interspeech",
    "kdd": "Proceedings of the ACM SIGKDD International Conference on Knowledge Discovery and Data "
    "Mining",
    "chi": "Proceedings of the CHI Conference on Human Factors in Computing Systems",
    "sigir": "Proceedings of the International ACM SIGIR Conference on Research and Development in "
    "Information Retrieval",
    "cikm": "Proceedings of the ACM International Conference on Information and Knowledge "
    "Management",
    "wsdm": "Proceedings of the ACM International Conference on Web Search and Data Mining",
    "recsys": "Proceedings of the ACM Conference on Recommender Systems",
    "mm": "Proceedings of the ACM International Conference on Multimedia",
    "sigmod": "Proceedings of the ACM International Conference on Management of Data",
    "stoc": "Proceedings of the ACM Symposium on Theory of Computing",
    "soda": "Proceedings of the ACM-SIAM Symposium on Discrete Algorithms",
    "icdm": "IEEE International Conference on Data Mining",
    "sdm": "Proceedings of the SIAM International Conference on Data Mining",
    "icra": "IEEE International Conference on Robotics and Automation",
    "iros": "IEEE/RSJ International Conference on Intelligent Robots and Systems",
    "bmvc": "Proceedings of the British Machine Vision Conference",
}
_JOURNALS = {
    "jmlr": "Journal of Machine Learning Research",
    "mloss": "Journal of Machine Learning Research",
    "tmlr": "Transactions on Machine Learning Research",
    "dmlr": "Journal of Data-centric Machine Learning Research",
    "tacl": "Transactions of the Association for Computational Linguistics",
}
_VENUES = {
    **{short: Venue(name) for short, name in _CONFERENCES.items()},
    **{short: Venue(name, journal=True) for short, name in _JOURNALS.items()},
}


def venue_named(short: str) -> Venue | None:
    """The venue of a short name ("neurips", "ICML"), if it is one of the best known."""
    return _VENUES.get(normalise_title(short))


def known_venues() -> tuple[Venue, ...]:
    """Each of the best known venues once."""
    return tuple({venue.name: venue for venue in _VENUES.values()}.values())


_MONTH = r"(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber"
_DATED = lazy_pattern(
    rf"\b(?:{_MONTH})\b.*\d|\[|^[^\s:]+(?: [A-Z]+)? ?['’]\d\d: "
    r"|, [^,]*?['’ ](?:(?:19|20)\d\d|\d\d)(?:,|$)",
    re.IGNORECASE,
)
"""In the names of proceedings that DBLP gives: the dates, and the acronym with the year."""
_ORDINAL = (
    r"\d+(?:st|nd|rd|th)|(?:(?:twen|thir|for|fif|six|seven|eigh|nine)ty-?)?(?:first|second|third"
    r"|fourth|fifth|sixth|seventh|eighth|ninth)|tenth|eleventh|twelfth|\w+teenth|\w+tieth"
)
_NUMBERED = lazy_pattern(rf"\b(?:(?:19|20)\d\d|{_ORDINAL})\b|['’]\d\d\b|\s\d+$", re.IGNORECASE)
_NUMBERS = lazy_pattern(rf"\b(?:(?:19|20)\d\d|{_ORDINAL})\s+|\s+(?:19|20)\d\d$", re.IGNORECASE)
_SERIES = re.compile(
    r"(?<=\w)(?: (?:19|20)\d\d)? [-–] (?:\S+ (?:19|20)\d\d\b|\d+(?:st|nd|rd|th)\b).*"
)
"""In Springer's names of proceedings: what follows the name of the conference."""
_VOLUME = re.compile(r"^(Advances in .+?)\s+(?:\d{1,3}|[IVXL]+)$")
_PREFIX = re.compile(r"^[^\s:]+(?: [A-Z]+)? ?['’]\d\d: ")
_TAIL = re.compile(
    r"\s*(?:\[.*|\((?=[^()]*\d)[^()]*\)\s*$|\.? (?:a meeting )?held (?:at|in|on) .*)"
)
_SEGMENT_END = lazy_pattern(rf"(?:^|['’ ])(?:(?:19|20)\d\d|\d\d)$|\b(?:{_MONTH})\b", re.IGNORECASE)
_ANOTHER = lazy_pattern(
    r"\b(?:workshops?|findings|companion|extended abstracts|adjunct|tutorials?|demos?|"
    r"demonstrations?|challenges?|student|industry|shared task)\b",
    re.IGNORECASE,
)
"""In the names of volumes that are not the main one of their conference."""


@lru_cache(maxsize=1024)
def written_venue(name: str) -> str:
    """The venue of a record as authors write it, without the date and place of the meeting.

    A name that its publisher wrote stays, number included, unless it is one of the best known.
    """
    ids = venue_ids(name)
    venue = _VENUES.get(next(iter(ids))) if len(ids) == 1 else None
    main = venue is not None and not venue.journal and not _ANOTHER.search(name)
    if venue is not None and main and _NUMBERED.search(name):
        return venue.name
    if not _DATED.search(name):
        return _VOLUME.sub(r"\1", name)
    bare = _SERIES.sub("", _TAIL.sub("", _PREFIX.sub("", name)))
    segments = re.split(r",\s*|:\s+(?=(?:\d|Annual|Proceedings of a ))", bare)
    end = next((at for at, one in enumerate(segments) if _SEGMENT_END.search(one)), len(segments))
    # Commas within a name come before its "and": "Acoustics, Speech and Signal Processing".
    listed = (at for at in range(end - 1, 0, -1) if re.search(r"\band\b", segments[at]))
    bare = ", ".join(segments[: max(1, next(listed, 0) + 1)])
    bare = _NUMBERS.sub("", bare).strip(" ,-").removeprefix("The ")
    return _VOLUME.sub(r"\1", bare) or name


Form = Literal["full", "iso", "acronym", "proc"]
_WORDS = {
    **{full: short for short, full in ABBREVIATIONS.items()},
    "american": "am", "analysis": "anal", "annals": "ann", "applied": "appl",
    "applications": "appl", "biology": "biol", "bulletin": "bull", "chemical": "chem",
    "chemistry": "chem", "computational": "comput", "computer": "comput", "computing": "comput",
    "engineering": "eng", "international": "int", "learning": "learn", "letters": "lett",
    "mathematics": "math", "mathematical": "math", "medical": "med", "medicine": "med",
    "molecular": "mol", "physical": "phys", "physics": "phys", "quarterly": "q",
    "recognition": "recognit", "reports": "rep", "review": "rev", "reviews": "rev",
    "society": "soc", "statistical": "stat", "statistics": "stat", "theoretical": "theor",
    "theory": "theory", "vision": "vis",
}  # fmt: skip
"""Words of venues' names as ISO 4 cuts them."""
_LINKING = frozenset("a an and at for in of on the to".split())
_PROC = re.compile(r"^(?:in )?proc\.? (?:of )?(?:the )?(?=\S+$)", re.IGNORECASE)
_YEAR = re.compile(r"\s*['’]?(?:(?:19|20)\d\d|\d\d)$")


@lru_cache(maxsize=64)
def usual_form(names: tuple[str, ...]) -> Form:
    """How most of the venues of a file are written; "full" where there are none."""
    forms = Counter(_form(_YEAR.sub("", name)) for name in names)
    form, count = forms.most_common(1)[0] if forms else ("full", 0)
    return form if 2 * count > forms.total() else "full"


def _form(name: str) -> Form:
    if _PROC.match(name) and normalise_title(_PROC.sub("", name)) in SHORT:
        return "proc"
    if normalise_title(name) in SHORT and sum(map(str.isupper, name)) > 1:
        return "acronym"
    cut = (word[:-1].lower() in _ISO_WORDS for word in name.split() if word.endswith("."))
    return "iso" if any(cut) else "full"


_ISO_WORDS = frozenset(_WORDS.values())


def venue_in_file(name: str, held: Iterable[str], *, journal: bool) -> str:
    """The venue as a file would write it that writes the venues `held` (of the same field).

    That is as it wrote the same venue before, or in the form of most others.
    """
    name = name if journal else written_venue(name)
    ids = venue_ids(name)
    names = tuple(held)
    if ids and not _ANOTHER.search(name):
        same = Counter(
            one for one in names
            if venue_ids(one) == ids and not _NUMBERED.search(one) and not _ANOTHER.search(one)
        )  # fmt: skip
        if same:
            return same.most_common(1)[0][0]
    form = usual_form(names)
    if form == "iso":
        return _abbreviated(name)
    if form == "full" or len(ids) != 1 or _ANOTHER.search(name):
        return name
    short = shown_venue(next(iter(ids)))
    return f"Proc. {short}" if form == "proc" else short


def _abbreviated(name: str) -> str:
    """A name cut as ISO 4 prescribes; one word alone stays."""
    words = [word for word in name.split() if word.lower() not in _LINKING]
    if len(words) < 2:
        return name
    cut = []
    for word in words:
        short = _WORDS.get(word.strip(",").lower(), "")
        same = not short or short == word.strip(",").lower()
        cut.append(word.strip(",") if same else f"{short.capitalize()}.")
    return " ".join(cut)
