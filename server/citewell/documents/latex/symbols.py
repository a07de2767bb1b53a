"""What becomes of LaTeX commands in prose: those that print text, and those of no words."""

from __future__ import annotations

from functools import cache

from citewell.documents.latex.commands import words
from citewell.model.tex_symbols import symbol

_PRINTED = words(
    """
    ss SS ae AE oe OE o O aa AA l L i j dh DH th TH ldots dots textellipsis textendash textemdash
    textquoteright textquoteleft textquotedblleft textquotedblright textquotesingle textbackslash
    textasciitilde textasciicircum textunderscore textless textgreater textbar textdegree
    textregistered texttrademark textcopyright copyright pounds euro S P LaTeX TeX BibTeX slash
    quad qquad newline linebreak space enspace thinspace nobreakspace
    """
)
"""Macros of which prose holds the symbol; of others, such as `\\alpha`, it holds the name."""
_TYPED = str.maketrans({"…": "...", "‘": "'", "’": "'", "“": '"', "”": '"'})
"""As the sentences write them on which the rankers were trained."""
_OWN = {
    "eg": "e.g.",
    "ie": "i.e.",
    "etal": "et al.",
    "etc": "etc.",
} | dict.fromkeys(words("item par newpage clearpage maketitle bigskip medskip smallskip"), "\n\n")
"""Macros that many papers define, and those that begin a paragraph."""


@cache
def printed(name: str) -> str | None:
    """The text that a macro without arguments leaves in prose; None for any other macro."""
    if name in _PRINTED:
        return (symbol(name) or "").translate(_TYPED)
    return _OWN.get(name)


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
