"""Plain text as LaTeX text, and titles whose capitals survive a bibliography style.

Only what LaTeX would misread is escaped; accents and other scripts stay UTF-8. Math in a title
(`$\\alpha$`) is kept as it is.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from citewell.model.tex import symbol, tex_to_unicode

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
"""A lone Greek letter or sign, which pdfLaTeX does not know outside math; Greek words stay."""
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
        # A record that kept its LaTeX: `\emph{de novo}`, `Schr\"odinger`, `R\&D`. Blanks at the
        # ends part it from the math beside it.
        plain = tex_to_unicode(text)
        text = f"{' ' * text[:1].isspace()}{plain}{' ' * text[-1:].isspace()}"
    text = _TO_ESCAPE.sub(lambda special: _SPECIAL[special.group()], text)
    return text if text.isascii() else _signs(unicodedata.normalize("NFC", text))


def _signs(text: str) -> str:
    return _SIGN.sub(lambda sign: _in_math().get(sign.group(), sign.group()), text)


@cache
def _in_math() -> dict[str, str]:
    """Sign -> the formula that prints it."""
    return {symbol(name) or "": f"${{\\{name}}}$" for name in _IN_MATH.split()}


def _balanced(text: str) -> bool:
    depth = 0
    for char in text:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return depth == 0


def escape_title(title: str) -> str:
    """The title with braces around what a style must not turn to lower case.

    Acronyms and names with capitals inside (BERT, ImageNet, GPT-3, U-Net); in a title in sentence
    case also its proper nouns, in one in title case those of a short list.
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
            # A style leaves the first letter of the title alone.
            lone = word.start() == 0 and sum(char.isalpha() for char in token) == 1
            out.append(token if lone else protected)
        in_math = in_math != bool(dollars % 2)
        after_stop = token[-1] in ":.?!"
        at = word.end()
    out.append(text[at:])
    return "".join(out)


def _is_sentence_case(words: list[str]) -> bool:
    """True when most words that title case would capitalise begin small."""
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
