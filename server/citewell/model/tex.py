"""LaTeX markup of names and titles as plain Unicode, by one table that covers what .bib files use.

A table of our own comes first because a library has hundreds of thousands of titles; what it does
not know is asked of pylatexenc, one macro at a time.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_COMBINING = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304",
    ".": "\u0307", "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "d": "\u0323",
    "b": "\u0331", "r": "\u030a", "k": "\u0328", "G": "\u030f", "h": "\u0309", "U": "\u030e",
    "t": "\u0361",
}  # fmt: skip
_MATH_ACCENTS = {
    "acute": "'", "grave": "`", "hat": "^", "tilde": "~", "ddot": '"', "bar": "=", "dot": ".",
    "breve": "u", "check": "v", "mathring": "r", "widehat": "^", "widetilde": "~",
}  # fmt: skip
SYMBOLS = {
    "i": "ı", "j": "ȷ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ss": "ß", "SS": "ẞ", "ae": "æ",
    "AE": "Æ", "oe": "œ", "OE": "Œ", "aa": "å", "AA": "Å", "dh": "ð", "DH": "Ð", "th": "þ",
    "TH": "Þ", "dj": "đ", "DJ": "Đ", "ng": "ŋ", "NG": "Ŋ", "textendash": "–", "textemdash": "—",
    "textquotesingle": "'", "textquoteright": "’", "textquoteleft": "‘", "textquotedblleft": "“",
    "textquotedblright": "”", "textquotedbl": '"', "textbackslash": "\\", "textunderscore": "_",
    "textasciitilde": "~", "textasciicircum": "^", "textbar": "|", "textless": "<",
    "textgreater": ">", "textbraceleft": "{", "textbraceright": "}", "textdollar": "$",
    "textregistered": "®", "texttrademark": "™", "textcopyright": "©", "copyright": "©",
    "textdegree": "°", "degree": "°", "textmu": "µ", "pounds": "£", "textsterling": "£",
    "euro": "€", "texteuro": "€", "S": "§", "P": "¶", "dots": "…", "ldots": "…", "cdots": "⋯",
    "textellipsis": "…", "slash": "/", "lq": "‘", "rq": "’", "TeX": "TeX", "LaTeX": "LaTeX",
    "BibTeX": "BibTeX", "space": " ", "quad": " ", "qquad": " ", "newline": " ", "par": " ",
    "newblock": " ", "and": " and ", "ordfeminine": "ª", "textordmasculine": "º", "guillemotleft":
    "«", "guillemotright": "»", "textperiodcentered": "·", "cdot": "·", "times": "×", "pm": "±",
    "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈", "sim": "∼",
    "equiv": "≡", "infty": "∞", "to": "→", "rightarrow": "→", "leftarrow": "←", "Rightarrow": "⇒",
    "leftrightarrow": "↔", "in": "∈", "subset": "⊂", "cup": "∪", "cap": "∩", "sum": "∑",
    "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "ell": "ℓ", "circ": "∘", "star": "⋆",
    "ast": "∗", "otimes": "⊗", "oplus": "⊕", "langle": "⟨", "rangle": "⟩", "vert": "|",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "upsilon": "υ", "phi": "ϕ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
    "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ",
    "Upsilon": "Υ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "log": "log", "max": "max", "min": "min",
    "exp": "exp", "argmax": "argmax", "sqrt": "√",
}  # fmt: skip
"""What macros without argument stand for."""
_TRANSPARENT = frozenset(
    {
        "emph", "textit", "textbf", "texttt", "textsc", "textrm", "textsf", "text", "mathrm",
        "mathbf", "mathit", "mathcal", "mathbb", "mathsf", "boldsymbol", "ensuremath", "mbox",
        "hbox", "textsuperscript", "textsubscript", "url", "em", "it", "bf", "tt", "sc", "rm",
        "sf", "relax", "protect", "frac"
    }
)  # fmt: skip
_DROPS_ARGUMENT = frozenset(
    {
        "noopsort", "singleletter", "hspace", "vspace", "label", "href", "cite", "citep", "citet",
        "textcolor", "color", "selectlanguage", "foreignlanguage", "bibinfo", "switchargs",
        "SortNoop"
    }
)  # fmt: skip

_ADDRESS = frozenset({"url", "path", "nolinkurl"})

_MARKED = re.compile(r"[\\$~`]|--|''")
_TOKEN = re.compile(
    r"""\\(?P<accent>[`'^"~=.]|[uvHtcdbrkGhU](?![a-zA-Z]))\s*+
          (?:\{\s*+(?P<braced>\\[ij](?![a-zA-Z])|[^\W\d_])?\s*+\}|(?P<bare>\\[ij](?![a-zA-Z])\s*+|[^\W\d_]))
      | \\(?P<macro>[a-zA-Z]++)\*?(?P<gap>[ \t\r\n]*+)
      | \\(?P<escape>[^a-zA-Z])
      | (?P<dash>---?) | (?P<quote>``|'') | (?P<mark>[{}~$`]) | (?P<script>[_^])""",
    re.VERBOSE,
)
_BRACES = str.maketrans("", "", "{}")
_LETTER = re.compile(r"\{\s*(\w)\s*\}|(\w)")
_ARGUMENT = re.compile(r"\s*\{[^{}]*\}")


def tex_to_unicode(text: str) -> str:
    """`text` with its LaTeX markup resolved: accents composed, braces gone, blanks collapsed.

    Never raises: a macro that nobody knows vanishes and its argument stays. Math is flattened
    ("H$_2$O" becomes "H2O"), which is what search and comparison need.
    """
    if _MARKED.search(text) is None:
        if "{" in text or "}" in text:
            text = text.translate(_BRACES)
    else:
        text = _decode(text)
    return " ".join(text.split())


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
    # A dotless letter exists to carry an accent; Unicode composes it with the plain one.
    base = {"\\i": "i", "\\j": "j"}.get(base, base)
    return unicodedata.normalize("NFC", base + _COMBINING[accent])


def _escape(char: str) -> str:
    if char in "&%$#_{}":
        return char
    if char in " \t\n\r\\,;:":
        return " "
    return "" if char in "/-!()[]*@" else char


def _macro(text: str, name: str, at: int) -> tuple[str, int]:
    """What stands for the macro, and where reading goes on."""
    symbol = SYMBOLS.get(name)
    if symbol is not None:
        return symbol, at
    if name in _MATH_ACCENTS:
        argument = _LETTER.match(text, at)
        if argument is not None:
            return _accented(_MATH_ACCENTS[name], argument[1] or argument[2]), argument.end()
        return "", at
    argument = _ARGUMENT.match(text, at)
    if argument is not None and (name in _ADDRESS or name in _DROPS_ARGUMENT):
        # In an address `~` and `_` are themselves.
        address = argument.group().strip(" \t\r\n{}").replace("\\", "")
        return (address if name in _ADDRESS else ""), argument.end()
    if name in _TRANSPARENT or name in _DROPS_ARGUMENT:
        return "", at
    return _rare_symbol(name), at


@lru_cache(maxsize=1024)
def _rare_symbol(name: str) -> str:
    """What pylatexenc knows of a macro that is a mere symbol; "" when it knows nothing."""
    from pylatexenc.latex2text import get_default_latex_context_db

    symbol = getattr(get_default_latex_context_db().get_macro_spec(name), "simplify_repl", None)
    return symbol if isinstance(symbol, str) and "%" not in symbol and len(symbol) <= 8 else ""
