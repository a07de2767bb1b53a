"""LaTeX accents and symbols as Unicode, and what becomes of a command's arguments in prose."""

from __future__ import annotations

import unicodedata

from citewell.documents.latex_commands import words

_COMBINING = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    '"': "\u0308",
    "H": "\u030b",
    "r": "\u030a",
    "c": "\u0327",
    "k": "\u0328",
    "=": "\u0304",
    "b": "\u0331",
    ".": "\u0307",
    "d": "\u0323",
    "u": "\u0306",
    "v": "\u030c",
    "t": "\u0361",
}
ACCENTS = frozenset(_COMBINING)
"""Commands of one character that put an accent on the next letter."""


def accented(mark: str, letter: str) -> str:
    """The letter with LaTeX's accent on it: accented('"', "o") is "ö"."""
    base = {"\\i": "i", "\\j": "j", "ı": "i", "ȷ": "j"}.get(letter, letter)
    if not base:
        return ""
    return unicodedata.normalize("NFC", base[0] + _COMBINING[mark]) + base[1:]


SYMBOLS = {
    "ss": "ß",
    "SS": "ẞ",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "o": "ø",
    "O": "Ø",
    "aa": "å",
    "AA": "Å",
    "l": "ł",
    "L": "Ł",
    "i": "ı",
    "j": "ȷ",
    "dh": "ð",
    "DH": "Ð",
    "th": "þ",
    "TH": "Þ",
    "ldots": "...",
    "dots": "...",
    "textellipsis": "...",
    "textendash": "–",
    "textemdash": "—",
    "textquoteright": "'",
    "textquoteleft": "'",
    "textquotedblleft": '"',
    "textquotedblright": '"',
    "textquotesingle": "'",
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textunderscore": "_",
    "textless": "<",
    "textgreater": ">",
    "textbar": "|",
    "textdegree": "°",
    "textregistered": "®",
    "texttrademark": "™",
    "textcopyright": "©",
    "copyright": "©",
    "pounds": "£",
    "euro": "€",
    "S": "§",
    "P": "¶",
    "LaTeX": "LaTeX",
    "TeX": "TeX",
    "BibTeX": "BibTeX",
    "slash": "/",
    "quad": " ",
    "qquad": " ",
    "newline": " ",
    "linebreak": " ",
    "space": " ",
    "enspace": " ",
    "thinspace": " ",
    "nobreakspace": " ",
    "eg": "e.g.",
    "ie": "i.e.",
    "etal": "et al.",
    "etc": "etc.",
    "item": "\n\n",
    "par": "\n\n",
    "newpage": "\n\n",
    "clearpage": "\n\n",
    "maketitle": "\n\n",
    "bigskip": "\n\n",
    "medskip": "\n\n",
    "smallskip": "\n\n",
}
"""Commands without arguments, as text."""

DROPPED = dict.fromkeys(
    """
    label ref eqref pageref autoref cref Cref crefrange Crefrange nameref Nameref vref Vref fullref
    subref labelcref hyperref* thref figref secref tabref
    vspace hspace vskip hskip includegraphics includepdf input include subfile bibliography
    bibliographystyle index glsadd setlength addtolength setcounter addtocounter stepcounter
    refstepcounter thanks color pagecolor definecolor colorlet fontsize selectfont hypersetup
    footnotemark footnotetext footnote tablefootnote sidenote marginpar marginnote endnote
    todo TODO todoi missingfigure fxnote thispagestyle pagestyle pagenumbering
    phantomsection addcontentsline markboth markright hypertarget nocite usepackage
    hfill vfill centering raggedright noindent indent protect xspace ensuremath* url nolinkurl
    captionsetup tikz DOI author date affiliation email institute pgfplotsset graphicspath
    """.replace("hyperref*", "")
    .replace("ensuremath*", "")
    .split(),
    1,
) | {
    "setlength": 2,
    "addtolength": 2,
    "setcounter": 2,
    "addtocounter": 2,
    "definecolor": 3,
    "colorlet": 2,
    "fontsize": 2,
    "addcontentsline": 3,
    "markboth": 2,
    "crefrange": 2,
    "Crefrange": 2,
    "hfill": 0,
    "vfill": 0,
    "centering": 0,
    "raggedright": 0,
    "noindent": 0,
    "indent": 0,
    "protect": 0,
    "xspace": 0,
    "phantomsection": 0,
    "selectfont": 0,
    "footnotemark": 0,
}
"""Commands that say nothing in the sentence, with the number of groups that go with them."""

FIRST_DROPPED = words(
    """
    href textcolor colorbox fcolorbox hyperref hyperlink raisebox resizebox scalebox rotatebox
    parbox makebox framebox multicolumn multirow foreignlanguage selectlanguage
    foreigntextquote
    """
)
"""Commands whose first group is a setting and whose last is prose."""

DECLARATIONS = words(
    """
    bf it em rm sf tt sc sl bfseries itshape slshape scshape rmfamily sffamily ttfamily
    mdseries upshape normalfont tiny scriptsize footnotesize small normalsize large Large
    LARGE huge Huge boldmath unboldmath relax leavevmode unskip ignorespaces looseness
    allowbreak nobreak displaystyle textstyle break sloppy onecolumn twocolumn appendix
    frenchspacing
    """
)
"""Commands that change the state and print nothing."""
