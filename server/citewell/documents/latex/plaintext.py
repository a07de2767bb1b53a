"""LaTeX as plain prose: markup off, accents as letters, mathematics kept as bare symbols.

The result reads like the sentences on which the rankers were trained, where `\\alpha_t` is
"alpha_t" and a reference leaves nothing behind.
"""

from __future__ import annotations

import re
from functools import cache

from citewell.documents.latex.arguments import ArgumentReader
from citewell.documents.latex.commands import CITE_COMMANDS, looks_like_cite, words
from citewell.model.tex import ACCENTS, accented, symbol

# What becomes of LaTeX commands in prose: those that print text, and those of no words.

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
    vphantom hphantom phantom natexlab bibstring orcidlink
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
    texorpdfstring parbox makebox framebox multicolumn multirow foreignlanguage selectlanguage
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


_TOKEN = re.compile(
    r"\\([A-Za-z@]+)[ \t]*\n?[ \t]*|\\(.|\n|$)|%[^\n]*(?:\n[ \t]*)?|[{}$~&]|---?|``|''", re.DOTALL
)
_LETTER = re.compile(r"\s*(?:\{\s*(\\?[A-Za-zı]*)\s*\}|(\\[ij](?![A-Za-z]))\s?|([A-Za-z]))")
_BREAKS = re.compile(r"\n[ \t]*\n\s*")
_OPTION = re.compile(r"\s{0,20}\[[^\[\]{}]{0,200}(?:\{[^{}]{0,200}\}[^\[\]{}]{0,200}){0,4}\]")
_PUNCTUATION = {"---": "—", "--": "–", "``": '"', "''": '"', "~": " ", "&": " ", "$": ""}
_ACCENTS = ACCENTS - frozenset("GhU")
"""Without those that are seldom used, and names of an author's own macros."""
_GAP = "\ue002"
"""Where something was left out: no space stays between it and the punctuation that follows."""
_CLOSED_GAP = re.compile(r"\s{0,4}\ue002\s{0,4}(?=[,.;:?!)\]])")


def latex_to_text(text: str) -> str:
    """The prose of a piece of LaTeX, broken or not; blank lines stay as "\\n\\n"."""
    if not any(c in text for c in "\\{}$~%&`'-"):
        return squeeze_paragraphs(text)
    plain = _CLOSED_GAP.sub("", "".join(_Stripper(text).pieces())).replace(_GAP, "")
    return squeeze_paragraphs(plain)


def squeeze_paragraphs(text: str) -> str:
    """White space made single spaces; blank lines kept as one."""
    paragraphs = _BREAKS.split(text.replace("\r", " "))
    return "\n\n".join(filter(None, (" ".join(p.split()) for p in paragraphs)))


class _Stripper:
    def __init__(self, text: str) -> None:
        self.text = text
        self.arguments = ArgumentReader(text)

    def pieces(self) -> list[str]:
        text = self.text
        out: list[str] = []
        position = 0
        while match := _TOKEN.search(text, position):
            out.append(text[position : match.start()])
            position = match.end()
            token = match[0]
            if match[1] is not None:
                piece, position = self._command(match[1], match)
                out.append(piece)
            elif match[2] is not None:
                piece, position = self._character(match[2], position)
                out.append(piece)
            elif token[0] not in "%{}":
                out.append(_PUNCTUATION[token])
        out.append(text[position:])
        return out

    def _character(self, char: str, position: int) -> tuple[str, int]:
        if char in _ACCENTS:
            return self._accent(char, position)
        if char == "\\":
            option = _OPTION.match(self.text, position)
            return " ", option.end() if option else position
        if char in ",;:! \n/":
            return ("" if char in "!/" else " "), position
        return ("" if char in "()[]-@" else char), position

    def _accent(self, mark: str, position: int) -> tuple[str, int]:
        match = _LETTER.match(self.text, position)
        if match is None:
            return "", position
        letter = match[1] or match[2] or match[3] or ""
        if letter.startswith("\\"):
            letter = {"\\i": "i", "\\j": "j"}.get(letter, "")
        return accented(mark, letter), match.end()

    def _command(self, name: str, match: re.Match[str]) -> tuple[str, int]:
        text = self.text
        end = match.end()
        name_end = match.end(1)
        if name in _ACCENTS and _LETTER.match(text, name_end):
            return self._accent(name, name_end)
        if (text_of := printed(name)) is not None:
            return text_of, self._options(name_end) if name == "item" else end
        if name in ("begin", "end"):
            return self._environment(name_end, end)
        if "cit" in name.lower() and (name in CITE_COMMANDS or looks_like_cite(name)):
            return _GAP, self._skip(name_end, 1, end)
        if name in DROPPED or name in FIRST_DROPPED:
            return _GAP if DROPPED.get(name) else "", self._skip(
                name_end, DROPPED.get(name, 1), end
            )
        return self._other(name, name_end, end)

    def _other(self, name: str, name_end: int, end: int) -> tuple[str, int]:
        """A command of which nothing is known: its arguments, or else its name, say something."""
        text = self.text
        if text.startswith("{}", name_end):
            return ("" if name in DECLARATIONS else name), name_end + 2
        if text.startswith(("{", "*{", "["), name_end):
            return "", self._options(name_end)
        gap = " " if end > name_end or text.startswith("\\", end) else ""
        return ("" if name in DECLARATIONS else name + gap), end

    def _environment(self, name_end: int, default: int) -> tuple[str, int]:
        group = self.arguments.argument(name_end, 100)
        if group is None:
            return "", default
        inline = _inline(self.text[group[0] : group[1]])
        return "" if inline else "\n\n", self._options(group[2])

    def _options(self, position: int) -> int:
        if self.text.startswith("*", position):
            position += 1
        while option := _OPTION.match(self.text, position):
            position = option.end()
        return position

    def _skip(self, position: int, groups: int, default: int) -> int:
        if not groups:
            return default
        position = self._options(position)
        for _ in range(groups):
            group = self.arguments.argument(position)
            if group is None:
                break
            position = self._options(group[2])
        return position


def _inline(environment: str) -> bool:
    """True for environments that stand inside a sentence."""
    return environment.rstrip("*") in ("math", "small", "footnotesize", "sloppypar", "CJK", "em")
