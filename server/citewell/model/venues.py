"""Venues named in a text: one short id for all spellings of a conference or journal.

A text may name several ("EMNLP-IJCNLP", "Findings of ACL: EMNLP"); two texts agree when they share
one. The names are those of DBLP and the ACL Anthology. Checks of references and filters of searches
use the same table.
"""

from __future__ import annotations

import re
from functools import lru_cache

from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.titles import normalise_title
from citewell.model.work import Work

# The table of venues: patterns of full names, acronyms, short names of journals.

# ruff: noqa: E501 - a pattern on one line is easier to read than one in pieces


_CONFERENCES = {
    "neurips": r"neural info(?:rmation)? proc(?:ess(?:ing)?)? sys|nips|neurips|adv(?:ances)? (?:in )?neural inf|^neural info(?:rmation)? proc(?:ess(?:ing)?)?$",
    "iconip": r"international conference (?:on )?neural info(?:rmation)? processing(?! sys)",
    "icml": r"(?:intl?|international) (?:conf|conference) (?:on )?mach(?:ine)? learn(?:ing)?\b(?! and)(?! for)",
    "iclr": r"learning representations|conf learn represent",
    "cvpr": r"computer vision and pattern recog|comput vis pattern recog|computer vision pattern recog",
    "iccv": r"(?:international|intl?) (?:conference|conf) (?:on )?comput(?:er)? vis(?:ion)?(?! and| theory| systems)",
    "eccv": r"european (?:conference|conf) (?:on )?computer vision",
    "accv": r"asian conference on computer vision",
    "bmvc": r"british machine vision",
    "wacv": r"applications of computer vision",
    "aistats": r"artificial intelligence and statistics",
    "uai": r"uncertainty in (?:artificial intelligence|ai\b)",
    "colt": r"(?:conference|conf) (?:on )?(?:computational )?learning theory",
    "alt": r"algorithmic learning theory",
    "corl": r"(?:conference|conf) on robot learning",
    "acml": r"asian conference on machine learning",
    "ecml": r"european conference on machine learning|machine learning and (?:principles and practice of )?knowledge discovery in databases",
    "midl": r"medical imaging with deep learning",
    "aaai": r"aaai conference on artificial|\bnational conference on artificial intelligence(?! and statistics)|conference on artificial intelligence aaai|association for the advancement of artificial",
    "ijcai": r"(?:international|intl?) joint (?:conference|conf)s? (?:on )?artificial intell",
    "ecai": r"european conference on artificial intelligence",
    "aamas": r"autonomous agents and multi ?agent systems",
    "pakdd": r"pacific asia (?:conference|conf) on knowledge discovery|advances in knowledge discovery and data mining",
    "kdd": r"(?<!asia conference on )(?<!asia conf on )(?<!advances in )knowledge discovery and data mining|knowledge discovery data mining|knowledge discovery in data mining|sigkdd",
    "icdm": r"(?<!siam )(?:international|intl?) conference on data mining",
    "sdm": r"siam (?:international )?conference on data mining",
    "cikm": r"information and knowledge management",
    "wsdm": r"web search and data mining",
    "www": r"world wide web|the web conference|(?:acm )?web conference",
    "sigir": r"research and development in information retrieval|sigir",
    "ecir": r"european conference on information retrieval|advances in information retrieval",
    "recsys": r"recommender systems",
    "chi": r"human factors in computing",
    "uist": r"user interface software",
    "cscw": r"computer supported cooperative",
    "acl": r"annual meeting of the association for computational linguistics|meeting of the association for computational ling|association for computational linguistics",
    "naacl": r"north american (?:chapter|association)|human language technolog",
    "eacl": r"european chapter of the association|european association for comput",
    "aacl": r"asia pacific chapter of the association",
    "emnlp": r"empirical methods in natural language",
    "conll": r"computational natural language learning",
    "coling": r"(?:conference|conf) on computational linguistics",
    "ijcnlp": r"joint conference on natural language processing",
    "lrec": r"language resources and evaluation",
    "interspeech": r"speech communication association",
    "icassp": r"acoustics speech (?:and )?signal",
    "asru": r"automatic speech recognition and understanding",
    "slt": r"spoken language technology",
    "wmt": r"conference on machine translation|workshop on (?:statistical )?machine translation",
    "semeval": r"semantic evaluation",
    "starsem": r"lexical and computational semantics|^sem\b",
    "sigdial": r"discourse and dialogue",
    "inlg": r"natural language generation",
    "icra": r"(?:conference|conf) on robotics and automation",
    "iros": r"intelligent robots and systems",
    "rss": r"robotics science and systems",
    "miccai": r"medical image computing and computer",
    "ijcnn": r"joint conference on neural networks",
    "icann": r"conference on artificial neural networks",
    "icpr": r"(?:conference|conf) on pattern recognition",
    "icip": r"(?:conference|conf) on image processing",
    "stoc": r"symposium on theory of comput",
    "focs": r"foundations of computer science",
    "soda": r"symposium on discrete algorithms",
    "sosp": r"operating systems principles",
    "osdi": r"operating systems design and impl",
    "mlsys": r"machine learning and systems",
    "icse": r"(?:conference|conf) on software engineering",
    "sp": r"symposium on security and privacy",
    "ccs": r"computer and communications security",
    "usenix-security": r"usenix security",
    "ndss": r"network and distributed system security",
    "vldb": r"very large data ?bases|vldb endowment",
    "sigmod": r"management of data|sigmod",
    "icde": r"(?:conference|conf) on data engineering",
    "fat": r"fairness accountability and transparency",
    "siggraph": r"siggraph",
    "mm": r"conference on multimedia",
    "l4dc": r"learning for dynamics and control",
    "log": r"learning on graphs",
    "collas": r"lifelong learning agents",
    "clear": r"causal learning and reasoning",
    "chil": r"conference on health inference and learning",
    "colm": r"conference on language modeling",
    "ismir": r"music information retrieval",
    "vis": r"visual languages",
}  # fmt: skip
_JOURNAL_NAMES = {
    "jmlr": r"j(?:ournal)? (?:of )?mach(?:ine)? learn(?:ing)? res",
    "tmlr": r"trans(?:actions)? (?:on )?mach(?:ine)? learn(?:ing)? res",
    "dmlr": r"data centric machine learning",
    "mlj": r"^mach(?:ine)? learn(?:ing)?(?: journal)?$",
    "tacl": r"trans(?:actions)? (?:of )?(?:the )?(?:assoc(?:iation)? (?:for )?comput|acl\b)",
    "cl": r"^(?:journal of )?computational linguistics(?: journal)?$|^comput ling",
    "jair": r"artif(?:icial)? intell(?:igence)? res",
    "aij": r"^artificial intelligence(?: journal)?$|^artif intell$",
    "tpami": r"trans(?:actions)? (?:on )?pattern anal",
    "ijcv": r"(?:int|international) j(?:ournal)? (?:of )?comput(?:er)? vis",
    "tip": r"trans(?:actions)? (?:on )?image proc",
    "tnnls": r"trans(?:actions)? (?:on )?neural netw",
    "taslp": r"trans(?:actions)? (?:on )?audio speech|acm trans(?:actions)? (?:on )?audio",
    "tkde": r"trans(?:actions)? (?:on )?knowl",
    "tois": r"trans(?:actions)? (?:on )?inf(?:ormation)? syst",
    "tog": r"trans(?:actions)? (?:on )?graph(?:ics)?",
    "tit": r"trans(?:actions)? (?:on )?inf(?:ormation)? theory",
    "neco": r"^neural comput(?:ation)?$",
    "nn": r"^neural networks$",
    "pr": r"^pattern recognit(?:ion)?$",
    "prl": r"pattern recognition letters",
    "neucom": r"^neurocomputing$",
    "ral": r"robotics and automation letters",
    "ijrr": r"journal of robotics research",
    "nature": r"^nature$",
    "science": r"^science$",
    "pnas": r"national academy of sciences?|natl acad sci|pnas",
    "nmi": r"nature machine intell",
    "pieee": r"^proceedings of the ieee$",
    "cacm": r"communications of the acm",
    "jacm": r"^journal of the acm$",
    "csur": r"computing surveys",
    "fntml": r"foundations and trends",
    "media": r"medical image analysis",
    "bioinformatics": r"^bioinformatics$",
    "dami": r"data mining and knowledge discovery$",
    "kais": r"knowledge and information systems",
    "jasa": r"american statistical association",
    "sij": r"siam journal",
    "nle": r"natural language engineering",
    "mt": r"^machine translation$",
    "speechcomm": r"^speech communication$",
    "csl": r"computer speech (?:and |& )?language",
    "ipm": r"information processing (?:and )?management",
    "jmlrwc": r"workshop and conference proceedings",
}  # fmt: skip
NAMES = tuple(
    (lazy_pattern(text), name) for name, text in {**_CONFERENCES, **_JOURNAL_NAMES}.items()
)
"""Pairs of a pattern over a normalised name and the id."""

JOURNALS = frozenset(_JOURNAL_NAMES)

_SAME = {
    "nips": "neurips", "nipsw": "neurips", "conf neurips": "neurips", "ecmlpkdd": "ecml",
    "pkdd": "ecml", "hlt": "naacl", "fccv": "cvpr", "thewebconf": "www", "facct": "fat",
    "mloss": "jmlr", "ml": "mlj", "tip": "tip", "pami": "tpami", "acmmm": "mm", "iswc": "iswc",
    "tsl": "taslp", "oakland": "sp", "pvldb": "vldb", "pldi": "pldi", "popl": "popl", "hri": "hri",
    "iui": "iui", "wmt": "wmt", "iwslt": "iwslt", "bea": "bea", "eamt": "eamt", "amta": "amta",
    "ranlp": "ranlp", "icwsm": "icwsm", "hpca": "hpca", "isca": "isca", "asplos": "asplos",
    "nsdi": "nsdi", "atc": "atc", "eurosys": "eurosys", "icaps": "icaps", "kr": "kr", "sat": "sat",
    "cp": "cp", "fse": "fse", "ase": "ase", "issta": "issta", "dac": "dac", "iccad": "iccad",
    "sigcomm": "sigcomm", "podc": "podc", "spaa": "spaa", "esa": "esa", "icalp": "icalp",
    "itcs": "itcs", "ec": "ec", "wine": "wine", "mobicom": "mobicom", "ubicomp": "ubicomp",
    "3dv": "3dv", "icmi": "icmi", "isbi": "isbi", "ipmi": "ipmi", "gecco": "gecco", "ppsn": "ppsn",
    "pakdd": "pakdd", "dasfaa": "dasfaa", "icdt": "icdt", "pods": "pods", "edbt": "edbt",
    "jcdl": "jcdl", "trec": "trec", "clef": "clef", "muc": "muc", "nlpcc": "nlpcc", "ccl": "ccl",
    "aied": "aied", "edm": "edm", "its": "its", "cogsci": "cogsci", "aies": "aies", "satml": "satml",
    "blackboxnlp": "blackboxnlp", "repl4nlp": "repl4nlp", "lak": "lak", "alvr": "alvr",
}  # fmt: skip
_NO_ACRONYM = frozenset({"log", "clear", "vis", "mt", "nn", "pr", "cl", "media", "science",
                         "nature", "sp", "mm", "alt", "neco", "sij", "usenix-security",
                         "pieee", "starsem", "jmlrwc", "fat", "ec", "its", "sat", "cp"})  # fmt: skip
"""Ids that are also words of other names: they count only as the whole text."""

SHORT = {
    **{name: name for name in (*_CONFERENCES, *_JOURNAL_NAMES)},
    **_SAME,
    "tmlr": "tmlr", "web conference": "www", "corr": "arxiv", "arxiv": "arxiv",
}  # fmt: skip
"""From a whole normalised text to its id."""

ACRONYMS = {name: name_id for name, name_id in SHORT.items() if name not in _NO_ACRONYM}
"""From a word inside a longer text to its id."""

PREPRINTS = lazy_pattern(
    r"\b(?:arxiv|corr|biorxiv|medrxiv|preprints?|eprint|ssrn|techrxiv|openreview|"
    r"(?:under|in) (?:review|submission|preparation)|unpublished|to appear|"
    r"technical report|tech report|manuscript|blog)\b"
)
"""Text in a venue field that names no venue, and is therefore not reported as a wrong one."""

LINKING = lazy_pattern(r"\b(?:in|of|for|on|the|and) ")
"""Words that ISO 4 omits."""
BARE_NAMES = tuple(
    (lazy_pattern(LINKING.sub("", pattern.pattern)), name) for pattern, name in NAMES
)
"""`NAMES` without those words."""

ABBREVIATIONS = {
    "adv": "advances", "ann": "annual", "artif": "artificial", "assoc": "association",
    "autom": "automation", "commun": "communications", "conf": "conference",
    "develop": "development", "discov": "discovery", "electron": "electronics",
    "empir": "empirical", "eng": "engineering", "eur": "european", "found": "foundations",
    "hum": "human", "inf": "information", "int": "international", "intl": "international",
    "intell": "intelligence", "j": "journal", "knowl": "knowledge", "lang": "language",
    "learn": "learning", "linguist": "linguistics", "mach": "machine", "manag": "management",
    "meth": "methods", "nat": "natural", "netw": "networks", "proc": "proceedings",
    "process": "processing", "recog": "recognition", "recognit": "recognition",
    "represent": "representations", "res": "research", "retr": "retrieval", "robot": "robotics",
    "sci": "science", "secur": "security", "softw": "software", "stat": "statistics",
    "symp": "symposium", "syst": "systems", "technol": "technologies", "theor": "theory",
    "trans": "transactions", "vis": "vision",
}  # fmt: skip
"""Words in venue names by their ISO 4 abbreviations (List of Title Word Abbreviations)."""


_GENERIC = frozenset(
    """proceedings proc of the in on for and a an annual international intl int national conference
    conf joint workshop workshops symposium symp meeting journal j transactions trans trans. volume
    vol part long short papers main track ieee acm cvf rsj press letters research advances
    annals review reviews lecture notes series edition european world asian pacific first second
    third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth twenty thirty forty fifty
    companion extended abstracts adjunct findings society association chapter advance usa""".split()
)
_ORDINAL = lazy_pattern(r"^(?:\d+(?:st|nd|rd|th)?|[ivxlc]+|\w+(?:ieth|teenth)|\d+\w?)$")
_CODE = re.compile(r"^([a-z]{2,})\d{2,}$")
_MLA = re.compile(r"^mla:[^:]*?\d{4}([a-z]+)-")
_DBLP = re.compile(r"DBLP:(?:conf|journals)/([a-z0-9]+)/")
_SERIES = lazy_pattern(
    r"(?:including (?:its )?subseries )?(?:and )?lecture notes in "
    r"(?:computer science|artificial intelligence|bioinformatics)"
    r"|^synthesis lectures (?:on|in) .*"
)
"""A series holds the volumes of many meetings and is no venue itself."""


@lru_cache(maxsize=16384)
def venue_ids(text: str) -> frozenset[str]:
    """Ids of the venues named in the text; empty for unknown ones."""
    words = _SERIES.sub(" ", normalise_title(text)).strip()
    if not words:
        return frozenset()
    found = _ids_in(words)
    if not found and "." in text:
        # ISO 4 abbreviates "computer", "computational" and "computing" identically.
        for ending in ("er", "ational", "ing"):
            bare = LINKING.sub("", _written_out(words, ending))
            found = found or frozenset(name for pattern, name in BARE_NAMES if pattern.search(bare))
    return found


def _written_out(words: str, ending: str) -> str:
    """The words with ISO 4 abbreviations expanded, "comput" with this ending."""
    full = {**ABBREVIATIONS, "comput": f"comput{ending}"}
    return " ".join(full.get(word, word) for word in words.split())


def _ids_in(words: str) -> frozenset[str]:
    if found := SHORT.get(words):
        return frozenset({found})
    ids = {name for pattern, name in NAMES if pattern.search(words)}
    if len(words) > 12 or not ids:
        for word in words.split():
            coded = _CODE.match(word)
            word = coded[1] if coded else word
            if word in ACRONYMS:
                ids.add(ACRONYMS[word])
    if {"naacl", "eacl", "aacl", "tacl"} & ids:
        ids.discard("acl")
    return frozenset(ids)


_OF_ACL = lazy_pattern(r"\bACL\b|\bmeeting\b", re.IGNORECASE)


def work_venues(work: Work) -> frozenset[str]:
    """Ids of every venue of a record: from its fields, and from the ids merged into it."""
    ids: set[str] = set()
    for text in (work.venue, work.booktitle, work.journal):
        if text:
            ids |= venue_ids(text)
    if work.venue.lower() == "acl" and _OF_ACL.search(work.booktitle) is None:
        volume = venue_ids(work.booktitle)
        if volume and "acl" not in volume:
            ids.discard("acl")  # from a source that calls all meetings of the Anthology "acl"
    for identifier in (work.id, *work.same_as):
        found = _MLA.match(identifier) or _DBLP.search(identifier)
        if found:
            ids |= venue_ids(found[1])
    return frozenset(ids)


def content_words(text: str) -> list[str]:
    """The distinctive words of a venue, in order."""
    return [
        word
        for word in normalise_title(text).split()
        if word not in _GENERIC and not _ORDINAL.match(word)
    ]


def abbreviates(short: str, word: str) -> bool:
    """Whether a word is written short as in ISO 4: "phys" for "physical", "natl" for "national"."""
    if word.startswith(short) or not 2 < len(short) < _LONGEST_CONTRACTION or short[0] != word[0]:
        return word.startswith(short)
    rest = iter(word)
    return len(short) < len(word) - 1 and all(letter in rest for letter in short)


_LONGEST_CONTRACTION = 6


def is_one_journal(one: str, other: str) -> bool:
    """Whether two names of journals are one, in full, abbreviated word by word or as its initials:
    "Proc. Natl. Acad. Sci. U.S.A.", "JHEP"."""
    short, full = sorted((_telling(one), _telling(other)), key=lambda words: len("".join(words)))
    if len(short) == 1:
        return short == full or (len(full) > 1 and short[0] == "".join(word[0] for word in full))
    return len(short) == len(full) and all(map(abbreviates, short, full))


def _telling(name: str) -> list[str]:
    return LINKING.sub("", f"{normalise_title(name)} ").split()


# Display names of venues: sources give ids ("cvpr"), entries whole titles of proceedings.

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
"""Display names that are not the id in capitals."""
_WORKSHOPS = frozenset(
    "cvpr iccv eccv wacv iclr icml neurips nips aaai ijcai acl emnlp naacl icra iros".split()
)
_NONE = frozenset({"misc", "unknown", "none", "n/a", "others"})
"""Values of sources for an unknown venue."""
_ID = re.compile(r"[a-z0-9*-]{2,12}")
_LEADING = lazy_pattern(
    r"^(?:(?:in )?proceedings of (?:the )?|proc\.? (?:of )?(?:the )?)"
    r"(?:(?:19|20)\d\d |\d+(?:st|nd|rd|th) |[a-z-]+(?:first|second|third|fth|th|ieth) )?",
    re.IGNORECASE,
)
LONGEST = 12
"""Maximum length of a venue in a list with rows of about 50 characters."""


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
