"""LaTeX markup in names and titles as plain Unicode: one scanner over pylatexenc's tables.

A library has hundreds of thousands of titles, and pylatexenc's parser takes a hundred times as long
(`tests/bench/tex_bench.py`).
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache

from citewell.model.lazy_pattern import lazy_pattern

# The output of LaTeX macros, from pylatexenc's tables: symbols, and accents on a letter.
#
# pylatexenc is loaded at the first macro. Its parser is not used: see `model/tex.py`.

_ADDED = {
    "SS": "ẞ", "textquotedbl": '"', "textunderscore": "_", "textbar": "|", "textless": "<",
    "textgreater": ">", "textbraceleft": "{", "textbraceright": "}", "copyright": "©",
    "degree": "°", "pounds": "£", "euro": "€", "S": "§", "P": "¶", "slash": "/", "lq": "‘",
    "rq": "’", "TeX": "TeX", "LaTeX": "LaTeX", "BibTeX": "BibTeX", "space": " ", "newline": " ",
    "linebreak": " ", "enspace": " ", "thinspace": " ", "nobreakspace": " ", "par": " ",
    "newblock": " ", "and": " and ", "ordfeminine": "ª", "ne": "≠", "argmax": "argmax",
}  # fmt: skip
"""Macros missing from pylatexenc."""
_CHANGED = {"textasciicircum": "^", "textperiodcentered": "·", "quad": " ", "qquad": " ",
            "sqrt": "√"}  # fmt: skip
"""Macros for which pylatexenc prints another character ("ˆ", "˙"), or more than one."""
_OTHER_ACCENTS = {
    "bar": "\u0304", "G": "\u030f", "h": "\u0309", "U": "\u030e", "t": "\u0361",
    "mathring": "\u030a", "widehat": "\u0302", "widetilde": "\u0303",
}  # fmt: skip
"""Accents missing from pylatexenc, and one that it draws over the letter (U+0305)."""
ACCENTS = frozenset("`'^~\"=.uvHcdbrktGhU")
"""One-character commands that put an accent on the next letter."""
MATH_ACCENTS = frozenset(
    {
        "acute", "grave", "hat", "tilde", "ddot", "bar", "dot", "breve", "check", "mathring",
        "widehat", "widetilde"
    }
)  # fmt: skip
"""Names of accent commands in formulas."""
_LONGEST = 8
"""Length in characters of the longest symbol."""


@lru_cache(maxsize=4096)
def symbol(name: str) -> str | None:
    """The text that a macro without arguments prints, such as "ß" for "ss"; None if unknown."""
    known = _CHANGED.get(name) or _ADDED.get(name)
    if known is not None:
        return known
    from pylatexenc.latex2text import get_default_latex_context_db

    spec = get_default_latex_context_db().get_macro_spec(name)
    text = getattr(spec, "simplify_repl", None)
    # "%s" stands for an argument.
    is_symbol = isinstance(text, str) and "%" not in text and 0 < len(text) <= _LONGEST
    return text if is_symbol else None


def accented(accent: str, letter: str) -> str:
    """The letter with an accent: "ö" for '"' and "o"; a dotless letter counts as plain."""
    base = {"\\i": "i", "\\j": "j", "ı": "i", "ȷ": "j"}.get(letter, letter)
    if not base:
        return ""
    return unicodedata.normalize("NFC", base[0] + _combining(accent)) + base[1:]


@cache
def _combining(accent: str) -> str:
    """The combining character of an accent."""
    if accent in _OTHER_ACCENTS:
        return _OTHER_ACCENTS[accent]
    from pylatexenc.latex2text import LatexNodes2Text

    return unicodedata.normalize("NFD", LatexNodes2Text().latex_to_text(f"\\{accent}{{o}}"))[1:]


_JOURNALS = {
    "aap": "Astronomy & Astrophysics", "aapr": "Astronomy and Astrophysics Review",
    "aaps": "Astronomy & Astrophysics Supplement Series", "actaa": "Acta Astronomica",
    "aj": "The Astronomical Journal", "ao": "Applied Optics", "apj": "The Astrophysical Journal",
    "apjl": "The Astrophysical Journal Letters", "apjlett": "The Astrophysical Journal Letters",
    "apjs": "The Astrophysical Journal Supplement Series", "aplett": "Astrophysical Letters",
    "apss": "Astrophysics and Space Science", "astap": "Astronomy & Astrophysics",
    "araa": "Annual Review of Astronomy and Astrophysics", "azh": "Astronomicheskii Zhurnal",
    "baas": "Bulletin of the American Astronomical Society",
    "gca": "Geochimica et Cosmochimica Acta", "grl": "Geophysical Research Letters",
    "icarus": "Icarus",
    "jcap": "Journal of Cosmology and Astroparticle Physics",
    "jcp": "The Journal of Chemical Physics", "jgr": "Journal of Geophysical Research",
    "jqsrt": "Journal of Quantitative Spectroscopy and Radiative Transfer",
    "jrasc": "Journal of the Royal Astronomical Society of Canada",
    "memras": "Memoirs of the Royal Astronomical Society",
    "mnras": "Monthly Notices of the Royal Astronomical Society", "na": "New Astronomy",
    "nar": "New Astronomy Reviews", "nat": "Nature", "nphysa": "Nuclear Physics A",
    "pasa": "Publications of the Astronomical Society of Australia",
    "pasj": "Publications of the Astronomical Society of Japan",
    "pasp": "Publications of the Astronomical Society of the Pacific",
    "physrep": "Physics Reports", "physscr": "Physica Scripta",
    "planss": "Planetary and Space Science", "pra": "Physical Review A",
    "prb": "Physical Review B", "prc": "Physical Review C", "prd": "Physical Review D",
    "pre": "Physical Review E", "prl": "Physical Review Letters",
    "procspie": "Proceedings of SPIE", "psj": "The Planetary Science Journal",
    "qjras": "Quarterly Journal of the Royal Astronomical Society",
    "rmxaa": "Revista Mexicana de Astronomía y Astrofísica", "solphys": "Solar Physics",
    "ssr": "Space Science Reviews", "zap": "Zeitschrift für Astrophysik",
}  # fmt: skip
"""Journals by their macros in AASTeX, which ADS exports (adsabs.harvard.edu)."""
_JOURNAL = re.compile(r"[\s{]*\\([a-z]+)[\s{}]*")

_DROPS_ARGUMENT = frozenset(
    {
        "noopsort", "singleletter", "hspace", "vspace", "label", "href", "cite", "citep", "citet",
        "textcolor", "color", "selectlanguage", "foreignlanguage", "bibinfo", "switchargs",
        "SortNoop", "texorpdfstring", "index", "vphantom", "hphantom", "phantom", "natexlab",
        "bibstring", "thanks", "footnote", "footnotetext", "footnotemark", "nocite", "orcidlink",
        "hypertarget", "fontsize", "raisebox", "rule", "ref", "marginpar", "todo", "setcounter",
    }
)  # fmt: skip

_ADDRESS = frozenset({"url", "path", "nolinkurl"})

_TOKEN = lazy_pattern(
    r"""\\(?P<accent>[`'^"~=.]|[uvHtcdbrkGhU](?![a-zA-Z]))\s*+
          (?:\{\s*+(?P<braced>\\[ij](?![a-zA-Z])|[^\W\d_])?\s*+\}|(?P<bare>\\[ij](?![a-zA-Z])\s*+|[^\W\d_]))
      | \\(?P<macro>[a-zA-Z]++)\*?(?P<gap>[ \t\r\n]*+)
      | \\(?P<escape>[^a-zA-Z])
      | (?P<dash>---?) | (?P<quote>``|'') | (?P<mark>[{}~$`]) | (?P<script>[_^])""",
    re.VERBOSE,
)
_BRACES = str.maketrans("", "", "{}")
_LETTER = re.compile(r"\{\s*(\w)\s*\}|(\w)")
_ARGUMENT = re.compile(r"(?:\s*\[[^\[\]{}]*\])?\s*\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")


def tex_to_unicode(text: str) -> str:
    """`text` with its LaTeX markup resolved: accents composed, braces gone, blanks collapsed.

    Never raises: an unknown macro is dropped and its argument kept. Math is flattened ("H$_2$O"
    becomes "H2O"), which is what search and comparison need. A text that is the macro of a journal
    alone is the journal's name.
    """
    # One pattern for all marks takes four times as long as these checks.
    if "\\" in text or "$" in text or "~" in text or "`" in text or "--" in text or "''" in text:
        text = _journal(text) or _decode(text)
    elif "{" in text or "}" in text:
        text = text.translate(_BRACES)
    return " ".join(text.split())


def _journal(text: str) -> str:
    """The journal that a macro alone stands for, else ""."""
    found = _JOURNAL.fullmatch(text)
    return _JOURNALS.get(found[1], "") if found is not None else ""


def _decode(text: str) -> str:
    out: list[str] = []
    at = 0
    in_math = False
    while (token := _TOKEN.search(text, at)) is not None:
        start = token.start()
        if start > at:
            out.append(text[at:start])
        at = token.end()
        kind = token.lastgroup
        if token["accent"] is not None:
            out.append(_accented(token["accent"], token["braced"] or token["bare"] or ""))
        elif kind == "mark":
            mark = token["mark"]
            if mark == "$":
                in_math = not in_math
            elif mark in "~`":
                out.append(" " if mark == "~" else "‘")
        elif token["macro"] is not None:
            piece, at = _macro(text, token["macro"], at)
            out.append(piece)
        elif kind == "escape":
            out.append(_escape(token["escape"]))
            if token["escape"] in "()":
                in_math = token["escape"] == "("
        elif kind == "dash":
            out.append("—" if len(token["dash"]) == 3 else "–")
        elif kind == "quote":
            out.append("“" if token["quote"] == "``" else "”")
        elif not in_math:
            out.append(token["script"])
    out.append(text[at:])
    return unicodedata.normalize("NFC", "".join(out))


def _accented(accent: str, base: str) -> str:
    base = base.strip()
    if not base:
        return {"~": "~", "^": "^", "'": "´", "`": "`", '"': "¨"}.get(accent, "")
    return accented(accent, base)


def _escape(char: str) -> str:
    if char in "&%$#_{}":
        return char
    if char in " \t\n\r\\,;:":
        return " "
    return "" if char in "/-!()[]*@" else char


def _macro(text: str, name: str, at: int) -> tuple[str, int]:
    """The replacement of the macro, and the offset after it."""
    if name in MATH_ACCENTS:
        argument = _LETTER.match(text, at)
        if argument is not None:
            return accented(name, argument[1] or argument[2]), argument.end()
        return "", at
    argument = _ARGUMENT.match(text, at)
    if argument is not None and (name in _ADDRESS or name in _DROPS_ARGUMENT):
        # In an address, `~` and `_` are literal.
        address = argument.group().strip(" \t\r\n{}").replace("\\", "")
        return (address if name in _ADDRESS else ""), argument.end()
    return symbol(name) or "", at
