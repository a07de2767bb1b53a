"""Titles in a normal form, equal for two records of the same paper."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from citewell.model.lazy_pattern import lazy_pattern
from citewell.model.tex import tex_to_unicode

_ASCII = str.maketrans(
    {
        code: (chr(code).lower() if chr(code).isalnum() else "" if chr(code) == "'" else " ")
        for code in range(128)
    }
)
_SPECIAL = str.maketrans(
    {
        "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i",
        "ȷ": "j", "ħ": "h", "ŧ": "t", "ŋ": "n", "ĸ": "k", "’": "", "‘": "", "ʼ": "", "ʹ": "",
        "´": "", "'": "",
    }
)  # fmt: skip
_LETTERS = {code: plain for code, plain in _SPECIAL.items() if chr(code).isalpha() and plain} | {
    ord("ß"): "ss"
}
_SPELT_OUT = str.maketrans(
    {chr(code): plain for code, plain in _LETTERS.items()}
    | {
        chr(code).upper(): plain.capitalize()
        for code, plain in _LETTERS.items()
        if len(chr(code).upper()) == 1 and not chr(code).upper().isascii()
    }
)
_GREEK_NAMES = dict(
    zip(
        "αβγδεζηθικλμνξοπρςστυφχψω",
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho "
        "sigma sigma tau upsilon phi chi psi omega".split(),
        strict=True,
    )
)
_SYMBOL = re.compile("(?<![\u0370-\u03ff])[α-ω]{1,2}(?![\u0370-\u03ff])|√")
"""One or two Greek letters alone are a symbol; more are a word of that language."""
_COMBINING = lazy_pattern("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
_NOT_WORD = re.compile(r"[\W_]+")
_MARKUP = re.compile(r"[\\{}$<&]")
_TAG = lazy_pattern(
    r"</?(?:i|b|u|em|strong|sub|sup|scp|sc|tt|span|p|br|div|a|inf|title|italic|bold|"
    r"(?:jats|mml|m|tex|xref)[:-][\w-]+)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)


def fold(text: str) -> str:
    """`text` in lower case without accents ("Ångström" is "angstrom"); other scripts stay. Used by
    search and comparison, so that an author can type a name on any keyboard."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", text).casefold().translate(_SPECIAL)
    if text.isascii():
        return text
    return _COMBINING.sub("", text)


def without_special_letters(word: str) -> str:
    """The word in plain letters, if one of its letters has no accent to drop: "Søgaard" is
    "Sogaard", "Đặng" is "Dang". Any other word stays."""
    plain = word.translate(_SPELT_OUT)
    return word if plain == word else _COMBINING.sub("", unicodedata.normalize("NFKD", plain))


def plain_title(title: str) -> str:
    """The title as displayed: HTML tags, entities and LaTeX markup resolved."""
    if _MARKUP.search(title) is None:
        return " ".join(title.split())
    if "<" in title:
        title = _TAG.sub("", title)
    if "&" in title:
        import html  # few titles have markup

        title = html.unescape(title).replace("\\&", "&")
    if "\\" in title or "{" in title or "$" in title or "}" in title:
        title = tex_to_unicode(title)
    return " ".join(title.split())


@lru_cache(maxsize=8192)
def normalise_title(title: str) -> str:
    """Lower-case words of the title with single blanks between: no markup, accents, punctuation.

    Apostrophes vanish ("what's" is "whats"), every other mark separates words, because sources
    disagree on hyphens and dashes. Symbols are spelt out: "α-Rank" is "alpha rank". Empty for a
    title without letters or digits.
    """
    if _MARKUP.search(title) is not None:
        title = plain_title(title)
    if "+" in title or "#" in title or "*" in title:
        title = _SIGNED.sub(_with_sign, title)
    if title.isascii():
        return " ".join(title.translate(_ASCII).split())
    return _NOT_WORD.sub(" ", _SYMBOL.sub(_spelt_out, fold(title))).strip()


_SIGNED = re.compile(r"(?<![\w+#*.])([A-Za-z])(\+\+|#|\*)(?![\w+#*])")
_SIGNS = {"++": "plusplus", "#": "sharp", "*": "star"}


def _with_sign(name: re.Match[str]) -> str:
    """Spell out the sign: C++, C# and A* differ from C and A."""
    return name[1] + _SIGNS[name[2]]


def _spelt_out(symbol: re.Match[str]) -> str:
    return "".join(_GREEK_NAMES.get(letter, "sqrt") for letter in symbol[0])


def title_key(title: str) -> str:
    """`normalise_title` without blanks: equal for "pre-training", "pre training" and "pretraining".
    This is the key for blocking duplicates."""
    return normalise_title(title).replace(" ", "")


_UNSPACED = re.compile(
    "[\u3005\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]{2,}"
)


def in_pairs(text: str) -> str:
    """The text with each pair of neighbouring characters as a word, for scripts without spaces
    (Chinese, Japanese): a part of a title is then found."""
    if text.isascii():
        return text
    return _UNSPACED.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    chars = run[0]
    return " " + " ".join(chars[at : at + 2] for at in range(len(chars) - 1)) + " "


def fold_name(name: str) -> str:
    """A name's letters and digits, folded: "GPT-3" is "gpt3"."""
    folded = fold(name)
    return folded if folded.isalnum() else "".join(c for c in folded if c.isalnum())
