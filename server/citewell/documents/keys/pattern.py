"""Citation keys made from a record by a pattern.

A pattern is text with fields in braces. Fields:

| field | example | what |
|---|---|---|
| `author` | `vaswani` | surname of the first author, particles left out |
| `authors` | `vaswanishazeeretal` | surnames of the first two authors, then "etal" |
| `year` | `2017` | |
| `yy` | `17` | |
| `word` | `attention` | first word of the title that is not a stop word |
| `title` | `attentionallneed` | first three such words |
| `venue` | `neurips` | short name of the venue, else initials of the full name |
| `bibkey` | `devlin-etal-2019-bert` | the key that the source itself uses |

The case of the field's name is the case of its text: `{author}` lower, `{Author}` capitalised,
`{AUTHOR}` upper. `{field:n}` keeps the first n letters; of `title` the first n words, of `authors`
the first n names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import chain

from anyascii import anyascii

from citewell.model.names import family_key
from citewell.model.problem import Problem
from citewell.model.titles import fold, in_pairs, normalise_title
from citewell.model.work import Work

DEFAULT_PATTERN = "{author}{year}{word}"
FIELDS = ("author", "authors", "year", "yy", "word", "title", "venue", "bibkey")

_FIELD = re.compile(r"\{([^{}]*)\}")
_SPEC = re.compile(r"^([A-Za-z]+)(?::(\d{1,2}))?$")
_UNSAFE = re.compile(r"[^A-Za-z0-9_:./+-]+")
_ILLEGAL = re.compile(r"[^\w:./+-]")
NEVER_IN_KEYS = frozenset('{}(),=\\~%#"\t\n\r ')
r"""Characters that end a key in a .bib, or have a meaning in the argument of `\cite`."""
MAX_KEY = 200
KEY_SHAPE = "Use only letters, digits and _ : . / + -."
_HYPHEN = re.compile(r"(?<=\w)[-‐‑](?=\w)")
_INITIALS = re.compile(r"\b[A-Z]")
_STOP_WORDS = frozenset(
    {
        "a", "an", "the", "on", "in", "of", "for", "and", "or", "to", "with", "by", "from", "at",
        "as", "is", "are", "be", "it", "its", "do", "does", "can", "we", "you", "your", "how",
        "what", "why", "when", "where", "which", "who", "whats", "via", "using", "into", "towards",
        "toward", "over", "under", "between", "through", "not", "no", "all", "this", "that",
        "der", "die", "das", "le", "la", "les", "un", "une", "el", "los", "und", "et",
    }
)  # fmt: skip
_LETTERS = {
    "а": "a", "б": "b", "в": "v", "г": "g", "д": "d", "е": "e", "ж": "zh", "з": "z", "и": "i",
    "к": "k", "л": "l", "м": "m", "н": "n", "о": "o", "п": "p", "р": "r", "с": "s", "т": "t",
    "у": "u", "ф": "f", "х": "kh", "ц": "ts", "ч": "ch", "ш": "sh", "щ": "shch", "ъ": "", "ы": "y",
    "ь": "", "э": "e", "ю": "yu", "я": "ya", "і": "i", "є": "ye", "ґ": "g", "α": "a", "β": "b",
    "γ": "g", "δ": "d", "ε": "e", "ζ": "z", "η": "i", "θ": "th", "ι": "i", "κ": "k", "λ": "l",
    "μ": "m", "ν": "n", "ξ": "x", "ο": "o", "π": "p", "ρ": "r", "σ": "s", "ς": "s", "τ": "t",
    "υ": "y", "φ": "f", "χ": "ch", "ψ": "ps", "ω": "o",
}  # fmt: skip


def check_key(key: str, signs: str = "") -> Problem | None:
    """The problem with a key given by a program or an author, or None.

    Valid are letters and digits of any script and `_:./+-`: BibTeX, biblatex and LaTeX interpret
    nearly everything else, and a brace or comma would end the key. `signs` are further valid
    characters.
    """
    if not key:
        return Problem("key-invalid", "A key cannot be empty.", KEY_SHAPE)
    if len(key) > MAX_KEY:
        return Problem("key-invalid", f"A key has at most {MAX_KEY} characters.", KEY_SHAPE)
    char = next((char for char in _ILLEGAL.findall(key) if char not in signs), "")
    if not char:
        return None
    shown = f"`{char}`" if char.isprintable() else f"U+{ord(char):04X}"
    if char.isspace():
        shown = "a blank"
    return Problem("key-invalid", f"A key cannot contain {shown}.", KEY_SHAPE)


def check_pattern(pattern: str) -> Problem | None:
    """The problem with a key pattern, with the valid fields, or None."""
    wrong = [text for text in _FIELD.findall(pattern) if not _valid(text)]
    rest = _FIELD.sub("", pattern)
    if wrong:
        message = f'The key pattern "{pattern}" has no field "{{{wrong[0]}}}".'
    elif "{" in rest or "}" in rest:
        message = f'The key pattern "{pattern}" has an unbalanced brace.'
    elif not _FIELD.search(pattern):
        message = f'The key pattern "{pattern}" has no field.'
    elif _UNSAFE.search(rest):
        message = f'The key pattern "{pattern}" contains a character that keys cannot contain.'
    else:
        return None
    fields = ", ".join(f"{{{name}}}" for name in FIELDS)
    return Problem("key-pattern", message, f'Use {fields}, for example "{DEFAULT_PATTERN}".')


def make_key(work: Work, pattern: str, taken: Container[str]) -> str:
    """Make a key for `work` from `pattern` that is not in `taken`, with a, b, c ... appended if
    needed.

    ASCII letters, digits and `_:./+-` only, which BibTeX, biblatex and Pandoc all take. A bad
    pattern (`check_pattern`) is replaced by the default one, so that a citation never fails for it.
    """
    key = _preferred_key(work, pattern)
    if key not in taken and key.lower() not in taken:
        return key
    number = 0
    while True:
        suffix = _letters(number)
        if key + suffix not in taken and (key + suffix).lower() not in taken:
            return key + suffix
        number += 1


@lru_cache(maxsize=512)
def _preferred_key(work: Work, pattern: str) -> str:
    """The key from the pattern alone. Cached: most papers of a list return after the next
    letter."""
    if check_pattern(pattern) is not None:
        pattern = DEFAULT_PATTERN
    key = _clean(_FIELD.sub(lambda found: _text(work, found[1]), pattern))
    if key and any(char.isalnum() for char in key):
        return key
    key = _clean(_UNSAFE.sub("", work.bibkey))
    return key or _clean(_FIELD.sub(lambda found: _text(work, found[1]), DEFAULT_PATTERN)) or "ref"


def is_stop_word(word: str) -> bool:
    """True for a word of a title that is left out of keys ("the", "of")."""
    return word in _STOP_WORDS


def _valid(text: str) -> bool:
    spec = _SPEC.match(text)
    return spec is not None and spec[1].lower() in FIELDS


def _clean(key: str) -> str:
    return _UNSAFE.sub("", key).strip(":./+-_")


def _letters(number: int) -> str:
    """a ... z, aa ... zz, ..."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(97 + rest) + text
    return text


def _text(work: Work, spec_text: str) -> str:
    spec = _SPEC.match(spec_text)
    assert spec is not None, "the pattern was checked"
    name, count = spec[1], int(spec[2]) if spec[2] else None
    field = name.lower()
    parts = _parts(work, field, count)
    if name.isupper() and len(name) > 1:
        return "".join(parts).upper()
    if name[0].isupper():
        return "".join(part[:1].upper() + part[1:] for part in parts)
    text = "".join(parts)
    return text if field == "bibkey" else text.lower()


def _parts(work: Work, field: str, count: int | None) -> list[str]:
    if field == "title":
        return _words(work)[: count or 3]
    if field == "authors":
        names = _surnames(work)
        kept = names[: count or 2]
        return [*kept, "etal"] if len(names) > len(kept) else kept
    year = "" if work.year is None else str(work.year)
    text = {
        "author": lambda: _surnames(work)[0],
        "year": lambda: year,
        "yy": lambda: year[-2:],
        "word": lambda: _first_word(work),
        "venue": lambda: _venue(work),
        "bibkey": lambda: _UNSAFE.sub("", _ascii(work.bibkey, keep_case=True)),
    }[field]()
    return [text[:count]]


def _surnames(work: Work) -> list[str]:
    """Surnames in ASCII. Those in scripts without a table here (Chinese ...) are skipped in favour
    of coauthors'; if none is left, they are romanized. Without any, the venue or "anon"."""
    families = [family_key(author) for author in work.authors]
    names = [name for family in families if (name := _ascii(family))]
    names = names or [name for family in families if (name := _romanized(family))]
    return names or [_venue(work) or "anon"]


def _first_word(work: Work) -> str:
    """The first of `_words`; the others are not computed, since a list makes a key for each
    paper."""
    first = ""
    for word in _title_words(work):
        if _is_telling(word):
            return word
        first = first or word
    return first


def _words(work: Work) -> list[str]:
    words = list(_title_words(work))
    return list(filter(_is_telling, words)) or words


def _title_words(work: Work) -> Iterator[str]:
    title = in_pairs(normalise_title(_HYPHEN.sub("", work.title)))
    words = filter(None, map(_ascii, title.split()))
    first = next(words, "")
    if first:
        return chain((first,), words)
    return filter(None, map(_romanized, title.split()))


def _is_telling(word: str) -> bool:
    return word not in _STOP_WORDS and len(word) > 1


def _venue(work: Work) -> str:
    if work.venue:
        return "".join(_ascii(work.venue).split())
    full = work.booktitle or work.journal
    initials = "".join(_INITIALS.findall(full))
    return (initials if len(initials) > 1 else _ascii(full.split()[0] if full else "")).lower()


def _ascii(text: str, keep_case: bool = False) -> str:
    """`text` in ASCII: accents dropped, Cyrillic, Greek, kana and Hangul transliterated."""
    if text.isascii():
        folded = text if keep_case else text.lower()
        if folded.isalnum():
            return folded
    else:
        composed = unicodedata.normalize("NFC", text)
        folded = "".join(_transliterate(char, keep_case) for char in composed)
    return "".join(char for char in folded if char.isalnum() or (keep_case and char in "_:./+-"))


def _transliterate(char: str, keep_case: bool) -> str:
    if char.isascii():
        return char if keep_case else char.lower()
    name = unicodedata.name(char, "")
    if name.startswith("HANGUL SYLLABLE "):
        return name.removeprefix("HANGUL SYLLABLE ").lower()
    if name.startswith(("HIRAGANA LETTER ", "KATAKANA LETTER ")):
        return name.rpartition(" ")[2].lower()
    folded = fold(char)
    if folded.isascii():
        return folded
    return "".join(_LETTERS.get(part, "") for part in folded)


def _romanized(text: str) -> str:
    """`text` of any script in ASCII letters."""
    return "".join(char for char in anyascii(text).lower() if char.isalnum())
