r"""LaTeX as plain prose: without markup, accents as letters, mathematics kept as bare symbols.

The result reads like the sentences on which the rankers were trained, where `\alpha_t` is
"alpha_t" and a reference leaves nothing behind.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from citewell.documents.latex.commands import CITE_COMMANDS, ArgumentReader, looks_like_cite, words
from citewell.model.tex import ACCENTS, accented, symbol, tex_to_unicode

# The output of LaTeX commands in prose: those that print text, and those that are dropped.

_PRINTED = words(
    """
    ss SS ae AE oe OE o O aa AA l L i j dh DH th TH ldots dots textellipsis textendash textemdash
    textquoteright textquoteleft textquotedblleft textquotedblright textquotesingle textbackslash
    textasciitilde textasciicircum textunderscore textless textgreater textbar textdegree
    textregistered texttrademark textcopyright copyright pounds euro S P LaTeX TeX BibTeX slash
    quad qquad newline linebreak space enspace thinspace nobreakspace
    """
)
r"""Macros replaced by their symbol; others, such as `\alpha`, are replaced by their name."""
_TYPED = str.maketrans({"…": "...", "‘": "'", "’": "'", "“": '"', "”": '"'})
"""Characters in the form of the rankers' training sentences."""
_OWN = {"eg": "e.g.", "ie": "i.e.", "etal": "et al.", "etc": "etc."} | dict.fromkeys(
    words("item par newpage clearpage maketitle bigskip medskip smallskip"), "\n\n"
)
"""Macros that many papers define, and those that begin a paragraph."""


@cache
def printed(name: str) -> str | None:
    """The text of a macro without arguments in prose; None for any other macro."""
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
"""Commands without meaning in the sentence, with the number of groups to drop with them."""

FIRST_DROPPED = words(
    """
    href textcolor colorbox fcolorbox hyperref hyperlink raisebox resizebox scalebox rotatebox
    texorpdfstring parbox makebox framebox multicolumn multirow foreignlanguage selectlanguage
    foreigntextquote
    """
)
"""Commands with a setting as the first group and prose as the last."""

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
"""Without rare accents, and without names of users' own macros."""
_GAP = "\ue002"
"""A place where text was left out: the space before the following punctuation is dropped."""
_CLOSED_GAP = re.compile(r"\s{0,4}\ue002\s{0,4}(?=[,.;:?!)\]])")


def latex_to_text(text: str) -> str:
    """The prose of a piece of LaTeX, even if it is incomplete; blank lines become "\n\n"."""
    if not any(c in text for c in "\\{}$~%&`'-"):
        return squeeze_paragraphs(text)
    plain = _CLOSED_GAP.sub("", "".join(_Stripper(text).pieces())).replace(_GAP, "")
    return squeeze_paragraphs(plain)


def squeeze_paragraphs(text: str) -> str:
    """The text with white space reduced to single spaces, and blank lines to one."""
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
        """The replacement of an unknown command: its arguments, or else its name."""
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
    """True for environments within a sentence."""
    return environment.rstrip("*") in ("math", "small", "footnotesize", "sloppypar", "CJK", "em")


# Plain text as LaTeX text, and titles protected against lower-casing bibliography styles.
#
# Only characters that LaTeX would misread are escaped; accents and other scripts stay UTF-8. Math
# in a title (`$\alpha$`) is kept.

_SPECIAL = {
    "&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}", "\\": "\\textbackslash{}", "{": "", "}": "",
}  # fmt: skip
_IN_MATH = """
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi
    rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi
    Psi Omega infty le leq ge geq ne neq approx sim to rightarrow leftarrow in sqrt
"""
_SIGN = re.compile(r"(?<![\u0370-\u03ff])[Α-Ωα-ωϵϕ∞≤≥≠≈∼→←∈√](?![\u0370-\u03ff])")
"""A single Greek letter or sign, which pdfLaTeX lacks outside math; Greek words stay."""
_TO_ESCAPE = re.compile(r"[&%$#_~^\\{}]")
_MATH = re.compile(r"\$(?=[^$]*[\\^_{]|[^$ ]{1,3}\$)[^$\r\n]{1,200}\$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")

_WORD = re.compile(r"\S+")
_PART = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")
_PROPER = frozenset(
    {
        "Bayes", "Bayesian", "Markov", "Markovian", "Gauss", "Gaussian", "Gaussians", "Bernoulli",
        "Fourier", "Wasserstein", "Monte", "Carlo", "Hilbert", "Banach", "Euclidean", "Euclid",
        "Riemann", "Riemannian", "Lipschitz", "Lyapunov", "Turing", "Shapley", "Thompson", "Nash",
        "Poisson", "Dirichlet", "Boltzmann", "Langevin", "Newton", "Hessian", "Jacobian", "Bregman",
        "Kalman", "Laplace", "Laplacian", "Hamiltonian", "Hawkes", "Sinkhorn", "Frank", "Wolfe",
        "English", "French", "German", "Spanish", "Italian", "Portuguese", "Dutch", "Russian",
        "Czech", "Polish", "Turkish", "Arabic", "Hebrew", "Persian", "Hindi", "Urdu", "Bengali",
        "Tamil", "Chinese", "Mandarin", "Cantonese", "Japanese", "Korean", "Vietnamese", "Latin",
        "Greek", "Swedish", "Danish", "Norwegian", "Finnish", "Hungarian", "Romanian", "Sanskrit",
        "African", "American", "Asian", "European", "Indian", "Wikipedia", "Twitter", "Reddit",
        "Google", "Facebook", "Python", "Java", "Winograd", "Penn", "Treebank", "Zipf",
    }
)  # fmt: skip


def escape(text: str) -> str:
    """`text` as LaTeX text with balanced braces: math kept, markup resolved, specials escaped."""
    if _TO_ESCAPE.search(text) is None and _CONTROL.search(text) is None:
        if text.isascii():
            return text.strip()
        return _signs(unicodedata.normalize("NFC", text.strip()))
    pieces: list[str] = []
    at = 0
    for math in _MATH.finditer(text):
        if not _balanced(math.group()):
            continue
        formula = math.group()
        if any(char.isupper() for char in formula):
            # Braces protect the formula from styles that convert titles to lower case.
            formula = f"{{{formula}}}"
        pieces += (_escape_prose(text[at : math.start()]), formula)
        at = math.end()
    pieces.append(_escape_prose(text[at:]))
    return _CONTROL.sub(" ", "".join(pieces)).strip()


def _escape_prose(text: str) -> str:
    if "\\" in text:
        # A record with LaTeX in it: `\emph{de novo}`, `Schr\"odinger`, `R\&D`. Blanks at the ends
        # separate it from the math beside it.
        plain = tex_to_unicode(text)
        text = f"{' ' * text[:1].isspace()}{plain}{' ' * text[-1:].isspace()}"
    text = _TO_ESCAPE.sub(lambda special: _SPECIAL[special.group()], text)
    return text if text.isascii() else _signs(unicodedata.normalize("NFC", text))


def _signs(text: str) -> str:
    return _SIGN.sub(lambda sign: _in_math().get(sign.group(), sign.group()), text)


@cache
def _in_math() -> dict[str, str]:
    """Formulas by the sign that they print."""
    return {symbol(name) or "": f"${{\\{name}}}$" for name in _IN_MATH.split()}


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return depth == 0


def escape_title(title: str) -> str:
    """The title with braces around the parts that a style must not convert to lower case.

    These are acronyms and names with inner capitals (BERT, ImageNet, GPT-3, U-Net); in a title in
    sentence case also its proper nouns, in one in title case those of a short list.
    """
    text = escape(title)
    words = list(_WORD.finditer(text))
    sentence_case = _is_sentence_case([word.group() for word in words])
    out: list[str] = []
    at, after_stop, in_math = 0, True, False
    for word in words:
        out.append(text[at : word.start()])
        token = word.group()
        dollars = token.count("$") - token.count("\\$")
        if in_math or dollars or "\\text" in token:
            out.append(token)
        else:
            protected = _protected(token, sentence_case and not after_stop)
            # A style keeps the first letter of the title.
            lone = word.start() == 0 and sum(char.isalpha() for char in token) == 1
            out.append(token if lone else protected)
        in_math = in_math != bool(dollars % 2)
        after_stop = token[-1] in ":.?!"
        at = word.end()
    out.append(text[at:])
    return "".join(out)


def _is_sentence_case(words: list[str]) -> bool:
    """True when most words that title case would capitalise begin in lower case."""
    long = [word for word in words[1:] if len(word) > 4 and word[1:4].islower()]
    return len(long) >= 2 and 2 * sum(word[0].islower() for word in long) >= len(long)


def _protected(token: str, names_stand_out: bool) -> str:
    parts = list(_PART.finditer(token))
    kept = [part for part in parts if _needs_braces(part.group(), names_stand_out)]
    if not kept:
        return token
    if len(parts) > 1 and any(len(part.group()) == 1 for part in kept):
        # U-Net, X-ray, Q-learning: one name.
        begin, end = parts[0].start(), parts[-1].end()
        return f"{token[:begin]}{{{token[begin:end]}}}{token[end:]}"
    out: list[str] = []
    at = 0
    for part in kept:
        out += (token[at : part.start()], "{", part.group(), "}")
        at = part.end()
    return "".join(out) + token[at:]


def _needs_braces(part: str, names_stand_out: bool) -> bool:
    if part in _PROPER or part.removesuffix("'s").removesuffix("’s") in _PROPER:
        return True
    if any(char.isupper() for char in part[1:]):
        return True
    if not part[0].isupper():
        return False
    if len(part) == 1:
        return part not in ("A", "I")
    return names_stand_out or any(char.isdigit() for char in part)
