"""Checks of DOI and arXiv identifier: whether they exist, and point to the reference's work."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from citewell.model import Work
from citewell.model.check import Claim, FieldFinding, Severity
from citewell.model.identifiers import acl_id, arxiv_id, arxiv_ids, dois_of
from citewell.model.venues import shown_venue, venue_ids, work_venues
from citewell.sources.combine import family, statements
from citewell.verification.finding import address, finding
from citewell.verification.identify import ClaimCandidates, Match
from citewell.verification.likeness import TitleLike, title_likeness
from citewell.verification.people import Difference, compare_people

# Facts contained in a DOI or an arXiv identifier, without any look-up.
#
# Many publishers put the venue and the year into the DOI; an arXiv identifier begins with the month
# of its first submission. A reference that contradicts them contradicts itself.


class IdentifierFacts(msgspec.Struct, frozen=True):
    """Facts about a work contained in its identifier."""

    venues: frozenset[str] = frozenset()
    year: int | None = None
    slack: int = 1
    """Number of years by which `year` and the year of publication may differ."""
    preprint: bool = False
    early: int = 0
    """Number of further years by which the publication may be later than `year`."""

    def allows(self, year: int) -> bool:
        """True when a work of this year can have the identifier."""
        assert self.year is not None
        return self.year - self.slack <= year <= self.year + self.slack + self.early


_NOTHING = IdentifierFacts()
_EARLY = 3
"""IEEE prints papers in an issue years after accepting and numbering them."""
_ACL_LETTERS = {
    "P": "acl", "N": "naacl", "D": "emnlp", "E": "eacl", "C": "coling", "Q": "tacl", "J": "cl",
    "K": "conll", "I": "ijcnlp", "L": "lrec", "S": "semeval",
}  # fmt: skip
_SPRINGER = {"10994": "mlj", "11263": "ijcv", "10618": "dami", "10115": "kais"}
_ELSEVIER = {"neucom": "neucom", "patcog": "pr", "artint": "aij", "neunet": "nn",
             "patrec": "prl", "media": "media", "csl": "csl", "ipm": "ipm"}  # fmt: skip
_CODE = re.compile(r"^10\.1109/([a-z]+)(\d{5})?\.(?:(\d{4})\.)?")
_AAAI = re.compile(r"^10\.1609/aaai\.v(\d+)i")
_IJCAI = re.compile(r"^10\.24963/(ijcai|kr)\.(\d{4})/")
_SPOKEN = re.compile(r"^10\.21437/interspeech\.(\d{4})-")
_SPRINGER_DOI = re.compile(r"^10\.1007/s(\d{5})-(\d{3})-")
_ELSEVIER_DOI = re.compile(r"^10\.1016/j\.([a-z]+)\.(\d{4})\.")
_MIT = {"10.1162/tacl": "tacl", "10.1162/coli": "cl", "10.1162/neco": "neco"}


@lru_cache(maxsize=8192)
def doi_says(doi: str) -> IdentifierFacts:
    """Facts in the form of a normalised DOI; empty for most."""
    if anthology := acl_id(doi):
        return _acl(anthology)
    if arxiv := arxiv_id(doi):
        return arxiv_says(arxiv)
    for start, name in _MIT.items():
        if doi.startswith(start):
            return IdentifierFacts(frozenset({name}))
    return _of_meeting(doi) or _of_journal(doi) or _NOTHING


def _of_meeting(doi: str) -> IdentifierFacts | None:
    if found := _AAAI.match(doi):
        return IdentifierFacts(frozenset({"aaai"}), 1986 + int(found[1]), 0)
    if found := _IJCAI.match(doi):
        return IdentifierFacts(frozenset({found[1]}), int(found[2]), 0)
    if found := _SPOKEN.match(doi):
        return IdentifierFacts(frozenset({"interspeech"}), int(found[1]), 0)
    if found := _CODE.match(doi):
        year = int(found[3] or 0)
        # The year of acceptance follows a journal's code, that of the meeting a meeting's.
        known = not found[2] and 1980 < year < 2100
        return IdentifierFacts(
            venue_ids(found[1]), year if known else None, 1, early=_EARLY if known else 0
        )
    return None


def _of_journal(doi: str) -> IdentifierFacts | None:
    if found := _SPRINGER_DOI.match(doi):
        year = int(found[2])
        ids = venue_ids(_SPRINGER.get(found[1], ""))
        return IdentifierFacts(ids, 2000 + year if 12 < year < 60 else None, 2)
    if found := _ELSEVIER_DOI.match(doi):
        return IdentifierFacts(venue_ids(_ELSEVIER.get(found[1], "")), int(found[2]), 2)
    return None


def arxiv_says(identifier: str) -> IdentifierFacts:
    """The year of first submission; a paper appears in that year or later."""
    digits = identifier.partition("/")[2] or identifier
    if not digits[:2].isdigit():
        return IdentifierFacts(preprint=True)
    year = int(digits[:2])
    return IdentifierFacts(frozenset(), (1900 if year > 90 else 2000) + year, 1, preprint=True)


def _acl(anthology: str) -> IdentifierFacts:
    if anthology[0].isdigit():
        meeting, _, volume = anthology.partition(".")
        return IdentifierFacts(venue_ids(volume.partition("-")[0]), int(meeting), 0)
    year = int(anthology[1:3])
    name = _ACL_LETTERS.get(anthology[0], "")
    # One letter covers all meetings at one place ("D19" is EMNLP and its workshops).
    return IdentifierFacts(venue_ids(name), (1900 if year > 50 else 2000) + year, 0)


def registrant(doi: str) -> str:
    """The registrant: the prefix of a DOI without "10."."""
    return doi.partition("/")[0].removeprefix("10.").partition(".")[0]


_TEST_PREFIXES = frozenset({"1234", "12345", "123456", "9999", "99999", "0000", "00000", "11111"})
_NO_NUMBER = re.compile(r"^10\.1109/(?:cvpr|iccv|wacv|icra|iros|icassp|ijcnn|icpr)\.20[2-9]\d\.")
"""Since 2020, IEEE has a number after the name of a meeting: "cvpr52688.2022"."""
HIGHEST_PREFIX = 80_000
"""Higher than any prefix assigned by 2026 (the highest known is 10.7xxxx)."""


def impossible_doi(doi: str) -> bool:
    """True for an unassigned prefix, or a form that its publisher does not use."""
    if doi.startswith("10.48550/arxiv.") and not arxiv_id(doi):
        return True
    if _NO_NUMBER.match(doi):
        return True
    prefix = registrant(doi)
    return prefix in _TEST_PREFIXES or (prefix.isdigit() and int(prefix) > HIGHEST_PREFIX)


_PATTERN = re.compile(r"(\d)\1{3}|^(?:1234|2345|3456|4567|5678|6789|9876|8765|7654|6543|5432|4321)")


def fake_registrant(doi: str) -> bool:
    """True for a prefix that looks made up ("10.88880") and is not in common use."""
    prefix = registrant(doi)
    return _PATTERN.search(prefix) is not None and prefix not in _KNOWN


def known_registrant(doi: str) -> bool:
    """True for a prefix under which scholarly works are commonly registered."""
    return registrant(doi) in _KNOWN


_NO_DOI = frozenset({"icml", "iclr", "jmlr", "tmlr", "aistats", "colt", "corl", "acml", "uai"})
_PUBLISHERS = {
    "aaai": ("1609",), "cvpr": ("1109",), "iccv": ("1109",), "wacv": ("1109",),
    "eccv": ("1007",), "acl": ("18653", "3115"), "emnlp": ("18653", "3115"),
    "naacl": ("18653", "3115"), "eacl": ("18653", "3115"), "tacl": ("1162",),
    "ijcai": ("24963", "5555"), "neurips": ("52202", "5555"),
}  # fmt: skip


def unlikely_registrant(doi: str, venues: frozenset[str]) -> bool:
    """True when a work of these venues has no reason to have a DOI of this registrant.

    Only for venues with a known publisher, and never for a common scholarly prefix: universities
    and archives register the papers of their authors.
    """
    expected = {prefix for venue in venues for prefix in _PUBLISHERS.get(venue, ())}
    if not expected and not venues & _NO_DOI:
        return False
    return not known_registrant(doi) and registrant(doi) not in expected


_BAD_ARXIV = re.compile(r"^\s*(?:arxiv\s*:?\s*)?(\d{2})(\d{2})\.([\w?]{3,6})(?:v\d+)?\s*$", re.I)


def impossible_arxiv(text: str, this_year: int) -> bool:
    """True for an arXiv identifier that cannot exist: month 13, letters, a future year."""
    found = _BAD_ARXIV.match(text)
    if found is None:
        return False
    year, month, number = int(found[1]), int(found[2]), found[3]
    if not number.isdigit():
        return number.strip("xX?0123456789") == ""
    return not 1 <= month <= 12 or 2000 + year > this_year or year < 7


# Prefixes of works in the sources' records and in real bibliographies.
_KNOWN = frozenset(
    """1000 1001 1002 1003 1004 1005 1006 1007 1012 1013 1016 1017 1021 1023 1024 1027 1029 1037
    1038 1039 1040 1042 1044 1046 1049 1051 1053 1055 1056 1057 1061 1063 1067 1071 1073
    1074 1075 1076 1079 1080 1083 1085 1086 1087 1088 1089 1090 1091 1093 1096 1097 1098
    1099 1101 1103 1104 1107 1108 1109 1111 1112 1113 1115 1116 1117 1118 1119 1121 1123
    1126 1127 1128 1130 1134 1135 1136 1137 1139 1140 1142 1144 1145 1146 1147 1148 1149
    1150 1152 1155 1158 1159 1160 1161 1162 1163 1164 1165 1167 1172 1175 1176 1177 1179
    1182 1183 1184 1186 1187 1190 1191 1192 1194 1197 1198 1201 1207 1208 1210 1212 1214
    1215 1216 1242 1257 1259 1287 1289 1348 1353 1360 1362 1364 1366 1370 1371 1377 1391
    1393 1400 1437 1504 1510 1512 1515 1518 1523 1525 1530 1541 1542 1560 1561 1571 1575
    1587 1590 1596 1601 1609 1613 1620 1649 1677 1681 1682 1686 1702 1785 1787 1891 1901
    1920 2105 2118 2139 2147 2172 2174 2190 2196 2197 2200 2208 2210 2298 2307 2312 2319
    2337 2340 2345 2352 2388 2460 2466 2471 2478 2507 2514 2519 2527 2771 2807 2861 2967
    2969 2991 3102 3103 3115 3141 3150 3152 3164 3166 3168 3169 3171 3174 3182 3186 3201
    3217 3233 3280 3332 3354 3357 3366 3368 3382 3384 3386 3389 3390 3402 3406 3410 3414
    3416 3423 3434 3455 3480 3499 3556 3568 3724 3758 3762 3765 3788 3791 3813 3837 3844
    3846 3847 3866 3870 3897 3899 3906 3917 3923 3928 3929 3934 3938 3945 3969 3982 3987
    3991 3997 4000 4007 4018 4028 4038 4049 4064 4067 4079 4086 4103 4108 4121 4135 4156
    4159 4161 4169 4171 4172 4208 4213 4218 4225 4230 4233 4236 4249 4267 4271 4300 4310
    4314 4319 4324 4337 4338 4401 4414 4992 4995 5040 5061 5070 5072 5075 5080 5087 5101
    5109 5114 5117 5120 5121 5130 5132 5167 5170 5174 5194 5195 5198 5209 5210 5216 5220
    5244 5267 5281 5287 5296 5324 5326 5334 5370 5380 5402 5406 5436 5441 5445 5446 5451
    5482 5489 5494 5500 5502 5522 5539 5552 5555 5565 5588 5591 5593 5594 5606 5614 5639
    5642 5664 5665 5682 5687 5698 5705 5708 5711 5731 5751 5753 5755 5771 5772 5773 5798
    5802 5812 5815 5840 5852 5860 5861 5865 5880 5900 5910 5914 5937 5951 5964 6000 6017
    6018 6026 6027 6028 6036 6049 6052 6075 6082 6084 6092 6094 6100 6339 6519 6688 7150
    7153 7176 7196 7249 7271 7275 7282 7287 7298 7302 7303 7312 7315 7318 7326 7341 7353
    7441 7448 7455 7479 7488 7490 7498 7519 7541 7551 7554 7557 7558 7560 7567 7577 7589
    7591 7592 7652 7710 7712 7717 7759 7763 7771 7840 7868 7907 7910 7912 7916 7924 7930
    7939 7951 8080 9728 9735 11575 11588 11590 11591 11647 11648 12677 12681 12700 12783
    12792 12987 13016 13039 13052 13140 13169 13182 14229 14267 14279 14288 14318 14445
    14489 14569 14710 14722 14778 15221 15252 15255 15307 15406 15439 15480 15488 15496
    15607 15678 15760 15781 15849 17023 17159 17169 17185 17504 17605 17632 17705 17706
    17762 17863 17877 18154 18178 18196 18419 18420 18421 18452 18653 18725 20381 20487
    20878 20944 21034 21037 21070 21105 21123 21136 21203 21227 21236 21248 21273 21275
    21276 21314 21437 21606 21608 21673 21685 21954 22028 22266 22331 22364 22459 22489
    22503 22541 23883 23915 23919 23952 23977 24158 24214 24406 24425 24432 24433 24963
    25300 25358 25365 25368 25455 25504 25534 25560 25781 25904 26083 26181 26190 26226
    26421 26434 26438 26615 26686 29007 29012 29023 29140 29189 29240 30683 30702 30727
    30785 31142 31219 31222 31223 31224 31228 31234 31235 31237 31274 31390 31649 32388
    32431 32470 32473 32604 32614 32628 32657 32782 32913 32920 32942 33011 33140 33480
    33612 33675 33774 34133 34190 34669 34726 34740 34894 34961 35111 35157 35542 35662
    35828 36227 36244 36505 36510 36680 37200 37547 37757 37936 38021 46254 46289 46298
    46586 47119 47191 47289 47348 48047 48075 48185 48448 48550 48786 51593 51903 51926
    51984 52202 52348 52591 52783 52842 52843 52950 53106 53347 53555 54151 54254 54337
    54676 55041 55094 55248 55459 55463 55776 55870 56294 56553 57221 57702 57896 57945
    57967 58496 58895 59275 59297 59350 59796 59863 60005 60692 61069 61822 61958 61969
    62039 62304 62311 62830 64628 64898 65109 65525 69566 69622 70675 70777""".split()
)


Against = tuple[str, str, float]
"""Code, sentence and confidence of a finding against an identifier."""


def check_doi(claim: Claim, match: Match, found: ClaimCandidates) -> list[FieldFinding]:
    """Check whether the DOI points to this work: by the records, then by its own form."""
    if not claim.doi:
        return check_form(claim)
    works = match.works
    known = [doi for work in works for doi in dois_of(work)]
    if claim.doi in known or (claim.raw and any(doi.startswith(claim.doi) for doi in known)):
        return []  # in a text, it may be cut at the line end
    against = _against_records(claim, match, found, known) or _against_form(claim, works)
    if against is None:
        return []
    code, message, sure = against
    sure = min(sure, DOUBTED) if may_be_cut(claim, claim.doi) else sure
    expected = next((doi for doi in known if not arxiv_id(doi)), "")
    return [_of_doi(claim, code, message, sure, expected)]


def _of_doi(claim: Claim, code: str, message: str, sure: float, expected: str = "") -> FieldFinding:
    return finding(claim, code, "doi", message, Severity.WARNING, sure, given=claim.doi,
                   expected=expected, url=f"https://doi.org/{claim.doi}")  # fmt: skip


def _against_records(
    claim: Claim, match: Match, found: ClaimCandidates, known: Sequence[str]
) -> Against | None:
    """Findings from the records of this work and of the DOI's work."""
    others = [work for work in found.by_doi if not _same_title(claim, work, match.works)]
    if others and len(others) == len(found.by_doi):
        message = f"The DOI belongs to another work: “{others[0].title}”."
        sibling = any(_same_meeting(other, work) for other in others for work in match.works)
        return "doi-other-work", message, 0.65 if sibling and _one_witness(claim, match) else 0.95
    if impossible_doi(claim.doi):
        return _impossible(claim)
    if doi_says(claim.doi).preprint:
        return _preprint_too_late(claim, match.works)
    same = [doi for doi in known if registrant(doi) == registrant(claim.doi)]
    return _against_own(claim, match, same) if same else None


def _against_own(claim: Claim, match: Match, known: Sequence[str]) -> Against:
    """The finding for another DOI of the same publisher: it is wrong, or that of another
    version."""
    message = f"The work's DOI is {known[0]}."
    if any(claim.doi.startswith(f"{doi}/") for doi in known):
        return "doi-differs", f"{message} Something was appended to it.", 0.6
    ids, places = venue_ids(claim.venue), _venues(match.works)
    elsewhere = bool(claim.venue) and not ids & places and not doi_says(claim.doi).venues & places
    if elsewhere or (_one_witness(claim, match) and not _against_form(claim, match.works)):
        return "doi-differs", message, 0.65
    return "doi-differs", message, 0.8


def _one_witness(claim: Claim, match: Match) -> bool:
    """True when everything but the DOI agrees, and one record alone contradicts the DOI.

    Some collections have DOIs shifted by a line; then the record is as likely to be wrong as the
    reference. An identifier of the ACL Anthology is a part of its DOI, and no slip.
    """
    work = match.work
    if work.id.startswith("acl:") or match.title is not TitleLike.SAME:
        return False
    if len(_sources_of_doi(match)) > 1:
        return False
    return (
        match.people.difference is Difference.SAME
        and claim.year == work.year
        and bool(venue_ids(claim.venue) & work_venues(work))
    )


def _sources_of_doi(match: Match) -> set[str]:
    """Independent sources of the merged record's DOI."""
    return {
        family(origin.source)
        for record in statements(match.work)
        if record.doi == match.work.doi
        for origin in match.work.provenance
        if origin.source in record.sources
    }


def _same_meeting(one: Work, other: Work) -> bool:
    return one.year == other.year and bool(work_venues(one) & work_venues(other))


def _preprint_too_late(claim: Claim, works: Sequence[Work]) -> Against | None:
    year = doi_says(claim.doi).year
    years = [work.year for work in works if work.year]
    if not year or not years or year <= max(years) + 1:
        return None
    message = f"The DOI belongs to a preprint of {year}; the work is older."
    return "doi-other-year", message, 0.85 if min(years) >= 2016 else 0.5


def _against_form(claim: Claim, works: Sequence[Work]) -> Against | None:
    """The finding if venue, year or publisher in the DOI contradict the records."""
    facts, venues = doi_says(claim.doi), _venues(works)
    if facts.preprint:
        return None
    years = [work.year for work in works if work.year]
    if facts.venues and venues and not facts.venues & (venues | venue_ids(claim.venue)):
        message = f"The DOI belongs to a paper of {_named(facts.venues)}."
        return "doi-other-venue", message, 0.85
    wide = msgspec.structs.replace(facts, slack=facts.slack + 1)
    if facts.year and years and not any(wide.allows(year) for year in years):
        return "doi-other-year", f"The DOI belongs to a paper of {facts.year}.", 0.8
    if unlikely_registrant(claim.doi, venues):
        message = (
            f"The DOI prefix 10.{registrant(claim.doi)} belongs to neither the work's publisher "
            "nor a known archive."
        )
        return "doi-unlikely", message, 0.75
    return _fake(claim)


def _fake(claim: Claim) -> Against | None:
    if not fake_registrant(claim.doi):
        return None
    message = f"The DOI prefix 10.{registrant(claim.doi)} looks invented."
    return "doi-unlikely", message, 0.75


def _impossible(claim: Claim) -> Against:
    message = f"{claim.doi} is not a possible DOI: no such prefix or number has been assigned."
    return "doi-impossible", message, 0.85


def check_form(claim: Claim) -> list[FieldFinding]:
    """The finding for a `doi` field without a DOI."""
    if claim.doi or not claim.raw_doi:
        return []
    return [
        finding(claim, "doi-malformed", "doi", f"“{claim.raw_doi}” is not a DOI.",
                Severity.INFO, 0.6,
                given=claim.raw_doi)
    ]  # fmt: skip


def check_doi_alone(claim: Claim, found: ClaimCandidates) -> list[FieldFinding]:
    """Findings on the DOI of a reference to an unknown work."""
    if not claim.doi:
        return check_form(claim)
    facts, given = doi_says(claim.doi), venue_ids(claim.venue)
    verdict: Against | None = None
    if found.by_doi:
        message = f"The DOI belongs to another work: “{found.by_doi[0].title}”."
        verdict = "doi-other-work", message, 0.9
    elif impossible_doi(claim.doi):
        verdict = _impossible(claim)
    elif facts.venues and given and not facts.venues & given:
        message = f"The DOI belongs to a paper of {_named(facts.venues)}, not of {claim.venue}."
        verdict = "doi-other-venue", message, 0.8
    elif facts.year and claim.year and _contradicts(facts, claim.year):
        what = "preprint" if facts.preprint else "paper"
        verdict = "doi-other-year", f"The DOI belongs to a {what} of {facts.year}.", 0.75
    else:
        verdict = _fake(claim)
    if verdict is None:
        return []
    code, message, sure = verdict
    return [_of_doi(claim, code, message, DOUBTED if may_be_cut(claim, claim.doi) else sure)]


def check_arxiv(
    claim: Claim, works: Sequence[Work], found: ClaimCandidates, year_now: int
) -> list[FieldFinding]:
    """Check whether the arXiv identifier exists and points to this work."""
    if claim.raw_arxiv and impossible_arxiv(claim.raw_arxiv, year_now):
        message = f"{claim.raw_arxiv} is not a possible arXiv identifier."
        return [
            finding(claim, "arxiv-impossible", "eprint", message, Severity.WARNING, 0.9,
                    given=claim.raw_arxiv)
        ]  # fmt: skip
    in_doi = bool(claim.arxiv) and arxiv_id(claim.doi) == claim.arxiv
    if not claim.arxiv or (in_doi and found.by_doi):
        return []
    known = {work.arxiv for work in works if work.arxiv}
    if claim.arxiv in known:
        return []
    others = [work for work in found.by_arxiv if not _same_title(claim, work, works)]
    facts = arxiv_says(claim.arxiv)
    years = [work.year for work in works if work.year]
    if others and len(others) == len(found.by_arxiv):
        listed = any(claim.arxiv in arxiv_ids(work) for work in others)
        doubted = _same_people(claim, others) if not (works and listed) else False
        code, sure = "arxiv-other-work", DOUBTED if doubted else 0.95
        message = f"The arXiv identifier belongs to another work: “{others[0].title}”."
    elif facts.year and years and facts.year > max(years) + 2 and not in_doi:
        # Whole old proceedings were submitted years later.
        code, sure = "arxiv-later", 0.75 if min(years) >= 2016 else 0.5
        message = f"The arXiv identifier is from {facts.year}, after the work appeared."
    else:
        return []
    return [
        finding(claim, code, "doi" if in_doi else "eprint", message, Severity.WARNING, sure,
                given=claim.doi if in_doi else claim.arxiv,
                expected="" if in_doi else next(iter(sorted(known)), ""),
                url=f"https://arxiv.org/abs/{claim.arxiv}")
    ]  # fmt: skip


def check_further(
    claim: Claim, works: Sequence[Work], found: ClaimCandidates
) -> list[FieldFinding]:
    """Check whether other identifiers, such as an address of the ACL Anthology, point to this work.
    An address shared by several works, such as that of a volume, is no evidence."""
    findings = []
    for given in claim.identifiers:
        one = given.identifier
        owners = [work for work in found.by_identifier if one.names(work)]
        if (
            len(owners) != 1
            or any(one.names(work) for work in works)
            or _same_title(claim, owners[0], works)
        ):
            continue
        doubted = may_be_cut(claim, one.value) or (not works and _same_people(claim, owners))
        sure = DOUBTED if doubted else 0.95
        code = _OF_ANOTHER.get(one.kind, "url-other-work")
        message = f"The {one.noun} belongs to another work: “{owners[0].title}”."
        findings.append(
            finding(claim, code, given.field, message, Severity.WARNING, sure, given=one.value,
                    url=address(owners[0]))
        )  # fmt: skip
    return findings


def _same_people(claim: Claim, others: Sequence[Work]) -> bool:
    """True when an author of the other works is named: they may have a version with this title."""
    unlike = (Difference.UNRELATED, Difference.UNKNOWN)
    return any(
        compare_people(claim.authors, work.authors).difference not in unlike for work in others
    )


_OF_ANOTHER = {"doi": "doi-other-work", "arxiv": "arxiv-other-work"}
DOUBTED = 0.6
_CONTINUES = re.compile(r"[./_-]?\s(?!(?:19|20)\d\d\b)[\w./-]*\d")


def may_be_cut(claim: Claim, identifier: str) -> bool:
    """True when more of the identifier may follow in a text, behind the end of a line."""
    _, found, rest = claim.raw.lower().rpartition(identifier.lower())
    return bool(found) and _CONTINUES.match(rest) is not None


def _contradicts(facts: IdentifierFacts, year: int) -> bool:
    """True when a work of that year cannot have the identifier, with one year of tolerance."""
    assert facts.year is not None
    if facts.preprint:
        return facts.year > year + 1  # it may be much older than its publication, but not younger
    return not msgspec.structs.replace(facts, slack=facts.slack + 1).allows(year)


def _same_title(claim: Claim, work: Work, works: Sequence[Work]) -> bool:
    titles = [claim.title, *(one.title for one in works)]
    return any(title_likeness(title, work.title) is not TitleLike.OTHER for title in titles)


def _venues(works: Sequence[Work]) -> frozenset[str]:
    return frozenset[str]().union(*(work_venues(work) for work in works))


def _named(venues: frozenset[str]) -> str:
    return " or ".join(sorted(map(shown_venue, venues)))
