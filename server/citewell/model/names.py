"""Names of people and organisations, from BibTeX fields and from display names.

Follows BibTeX's rules (Patashnik, "BibTeXing", 1988, section 4) and adds what display names need:
capitalised particles ("Benjamin Van Durme"), suffixes without comma, numbers of homonyms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from citewell.model.tex import tex_to_unicode
from citewell.model.titles import fold, fold_name
from citewell.model.work import Author

_OTHERS = re.compile(r"(?:\band\s+others|\bet\s+al\.?)[}\s]*$", re.IGNORECASE)
_AND = re.compile(r"(?:^|\s)\s*and(?=\s|$)", re.IGNORECASE)
_TOKENS = re.compile(r"[{}]|(?:^|\s)\s*and(?=\s|$)", re.IGNORECASE)
_SUFFIX = re.compile(r"^(?:jr|sr|junior|senior|ii|iii|iv|[2-4](?:nd|rd|th))\.?$", re.IGNORECASE)
_HOMONYM = re.compile(r"\s+\d{4}$")
_LETTER = re.compile(r"[^\W\d_]")
_SPECIAL = re.compile(r"^\{\\")

PARTICLES = frozenset(
    {
        "van", "von", "der", "den", "de", "del", "della", "dela", "di", "da", "dos", "das", "do",
        "du", "des", "la", "le", "ten", "ter", "te", "zu", "zum", "zur", "af", "av", "al", "el",
        "bin", "ibn", "ben", "st", "van't", "vande", "vander", "'t"
    }
)  # fmt: skip
_CAPITAL_PARTICLES = frozenset(
    {
        "Van", "Von", "De", "Del", "Della", "Di", "Da", "Dos", "Den", "Der", "Ter", "Du"
    }
)  # fmt: skip
_VIETNAMESE = frozenset(
    {
        "nguyen", "tran", "le", "pham", "huynh", "hoang", "phan", "vu", "vo", "dang", "bui", "do",
        "ho", "ngo", "duong", "ly", "dinh", "trinh", "luong", "thinh", "hung", "cuong", "dung",
        "hieu"
    }
)  # fmt: skip
_ORGANISATION = frozenset(
    {
        "collaboration", "consortium", "team", "group", "inc", "inc.", "ltd", "llc", "gmbh",
        "corporation", "corp.", "university", "institute", "association", "committee",
        "organization", "organisation", "foundation", "society", "project", "initiative",
        "network", "laboratory", "laboratories", "labs", "center", "centre", "council", "agency",
        "community", "developers", "contributors", "workshop"
    }
)  # fmt: skip


_UNITS = frozenset({"AI", "DeepMind", "Research"})
"""Last words of company names, in this case: "Ai" is a surname."""


def is_organisation(author: Author) -> bool:
    """True for a name that ends like an organisation's: "Gemma Team", "Meta AI", "Gurobi, LLC"."""
    last = author.display.rpartition(" ")[2]
    return not _ORGANISATION.isdisjoint((last.lower(), author.given.lower())) or last in _UNITS


_LOWER_PARTICLES = frozenset(
    "van von der den de del della da dos das du des zu zur zum y e".split()
)
"""Particles that are not names themselves."""
_OWN_SMALL = frozenset(
    """
    adriennemareebrown bellhooks danahboyd danahmboyd eecummings kdlang mcschraefel
    """.split()
)
"""People who write their names in lower case, letters only."""
_NAME_PART = re.compile(r"[^\W\d_](?:[^\W\d_]|[\u0300-\u036f'’](?=[^\W\d_\u0300-\u036f]|$))*")
_VOWEL = re.compile("[aeiouy]")


def usual_case(name: str) -> str:
    """A personal name in reading order, in its usual capitalisation.

    "yelong shen" and "YELONG SHEN" are "Yelong Shen", "Ondrej BOJAR" is "Ondrej Bojar". A single
    word, an organisation and initials stay, and so do names that their owners write in lower case.
    """
    words = name.split()
    if len(words) < 2 or name.istitle() or any(mark in name for mark in "/&{\\@0123456789"):
        return name
    if words[-1].lower() in _ORGANISATION or words[-1] in _UNITS:
        return name
    if name.islower() and fold("".join(words)).replace(".", "") in _OWN_SMALL:
        return name
    whole = name.islower() or name.isupper()
    for at, word in enumerate(words):
        outer = at in (0, len(words) - 1)
        if word.islower():
            small = word in PARTICLES if at < len(words) - 1 else len(word) < 2
            if (whole or outer) and not small and word != "and":
                words[at] = _capitalised(word)
        elif word.isupper():
            if whole and not outer and word.lower() in _LOWER_PARTICLES:
                words[at] = word.lower()
            elif len(word.strip(".")) > (1 if whole else 3):
                words[at] = _capitalised(word)
    recased = " ".join(words)
    return recased if len(recased) == len(name) else name


def in_usual_case(author: Author) -> Author:
    """The author with the name in its usual capitalisation."""
    if not author.given:
        return author
    end = len(author.given)
    shown = usual_case(f"{author.given} {author.family}")
    return Author(shown[end + 1 :], shown[:end], author.suffix)


def _capitalised(word: str) -> str:
    """A word of a name with its usual capitals: "Jean-Luc", "O'Neil", "McCaw"."""
    return _NAME_PART.sub(_capitalised_part, word)


def _capitalised_part(found: re.Match[str]) -> str:
    part = found.group()
    if part.isupper() and not _VOWEL.search(fold(part)):
        return part  # initials
    part = part[0].upper() + part[1:].lower()
    if len(part) > 4 and (part[1] in "'’" or part.startswith("Mc")):
        part = part[:2] + part[2].upper() + part[3:]
    return part


def ends_with_others(field: str) -> bool:
    """True when a BibTeX name list ends with `and others`: there are more authors than named."""
    return _OTHERS.search(field) is not None


def split_authors(field: str, most: int | None = None) -> list[Author]:
    """The authors of a BibTeX name list, in order; `others` is left out (`ends_with_others`).

    With `most`, only the first ones are parsed.

    Splits at `and` outside braces only, so that `{Barnes and Noble}` stays one organisation.
    """
    if not field.strip():
        return []
    if "{" in field:
        return _named_in(_split_outside_braces(field), most)
    if field.lower().count("and") == field.count(" and "):  # the form of nearly all lists
        return _named_in(field.split(" and "), most)
    return _named_in(_AND.split(field), most)


def _named_in(names: Iterable[str], most: int | None) -> list[Author]:
    found: list[Author] = []
    for name in names:
        if len(found) == most:
            break
        if name.strip(" \t\r\n,;{}").lower() != "others":
            author = parse_author(name)
            if author.family:
                found.append(author)
    return found


def author_pieces(field: str) -> tuple[list[str], str]:
    """The names of a BibTeX name list as written, and the separator of the first two. White space
    around names is left out; " and " joins a list of one."""
    pieces = _split_outside_braces(field)
    joint = " and "
    if len(pieces) > 1:
        start = len(pieces[0].rstrip())
        end = field.find(pieces[1].lstrip(), start) if pieces[1].strip() else -1
        joint = field[start:end] if end > start else joint
    return [piece.strip() for piece in pieces if piece.strip()], joint


def _split_outside_braces(field: str) -> list[str]:
    names: list[str] = []
    depth = begin = 0
    for token in _TOKENS.finditer(field):
        mark = token.group()
        if mark == "{":
            depth += 1
        elif mark == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            names.append(field[begin : token.start()])
            begin = token.end()
    names.append(field[begin:])
    return names


@lru_cache(maxsize=4096)
def parse_author(name: str) -> Author:
    """Parse one name, in BibTeX's form or in that of running text.

    `Last, First`, `von Last, Jr, First`, `First von Last`, `{An Organisation}`; the particle is
    part of `family`. LaTeX accents become Unicode. An empty name gives an empty `family`. The
    latest names are cached, since names repeat in a bibliography.
    """
    name = name.strip(" \t\r\n;")
    marked = "{" in name or "\\" in name
    if "=" in name and (named := _named_parts(name)):
        return Author(
            " ".join(_plain(named[part], marked) for part in ("prefix", "family") if part in named),
            _plain(named.get("given", ""), marked),
            _plain(named.get("suffix", ""), marked),
        )
    if not marked and "," not in name:
        return _reading_order(name, marked) if name else Author(family="")
    if marked and _wholly_braced(name):
        return Author(family=tex_to_unicode(name))
    parts = _split_top(name, ",") if marked else name.split(",")
    parts = [part for part in (part.strip(" \t\r\n") for part in parts) if part]
    if not parts:
        return Author(family="")
    if len(parts) == 1:
        return _reading_order(parts[0], marked)
    return _sorting_order(parts, marked)


def _named_parts(name: str) -> dict[str, str]:
    """The parts of a name in biblatex's extended form, `family=Doe, given=Jane`; empty for other
    forms."""
    pairs = [part.partition("=") for part in _split_top(name, ",")]
    found = {left.strip().lower(): right.strip() for left, mark, right in pairs if mark}
    return found if "family" in found else {}


def _sorting_order(parts: list[str], marked: bool) -> Author:
    """Parse `Last, First`, `Last, Jr, First`, or another order that people write."""
    if len(parts) == 2 and _SUFFIX.match(parts[1]):
        author = _reading_order(parts[0], marked)
        return Author(author.family, author.given, _plain(parts[1], marked))
    family, suffix, given = _plain(parts[0], marked), "", parts[1:]
    if len(parts) > 2:
        # "Last, First, Jr" is wrong and common.
        at = -1 if _SUFFIX.match(given[-1]) and not _SUFFIX.match(given[0]) else 0
        suffix = _plain(given.pop(at), marked)
    else:
        head, _, tail = family.rpartition(" ")
        if head and _SUFFIX.match(tail):
            family, suffix = head, tail
    return Author(family, _plain(" ".join(given), marked), suffix)


def _reading_order(name: str, marked: bool) -> Author:
    if name[-1].isdigit():
        name = _HOMONYM.sub("", name)
    if marked:
        words = [word for word in _split_top(name, None) if word]
    else:
        words = name.replace("~", " ").split()
        if (
            len(words) == 2
            and words[0] != "The"
            and words[0][0].isupper()
            and words[1][0].isupper()
        ):
            # The form of most names.
            if words[1].lower() not in _ORGANISATION:
                return Author(words[1], words[0])
            return Author(name)
    if not words:
        return Author(family="")
    suffix = ""
    if len(words) > 2 and _SUFFIX.match(words[-1]):
        suffix = words.pop()
    if len(words) == 1 or words[-1].lower() in _ORGANISATION:
        return Author(_plain(" ".join(words), marked), "", suffix)
    first_of_family = _first_particle(words)
    given = _plain(" ".join(words[:first_of_family]), marked)
    return Author(_plain(" ".join(words[first_of_family:]), marked), given, suffix)


def _first_particle(words: list[str]) -> int:
    """Index of the word at which the family name begins."""
    last = len(words) - 1
    for index, word in enumerate(words[:last]):
        if _is_lower(word) and (index > 0 or word in PARTICLES):
            return index
    begin = last
    while begin > 1 and words[begin - 1] in _CAPITAL_PARTICLES:
        begin -= 1
    if words[begin] == "Van" and begin == last - 1 and fold(words[last]) in _VIETNAMESE:
        return last
    return begin


def _is_lower(word: str) -> bool:
    """Whether BibTeX sees the word as lower case, by its first letter; braced text counts as a
    name."""
    if word[0] == "{":
        if not _SPECIAL.match(word):
            return False
        word = tex_to_unicode(word)
    elif word[0] == "\\":
        word = tex_to_unicode(word)
    letter = _LETTER.search(word)
    return letter is not None and letter.group().islower()


def _plain(text: str, marked: bool) -> str:
    return tex_to_unicode(text) if marked else " ".join(text.replace("~", " ").split())


def _wholly_braced(name: str) -> bool:
    """True when the first brace closes at the very end, and is not a lone accent."""
    if not (name.startswith("{") and name.endswith("}")) or name.startswith("{\\"):
        return False
    depth = 0
    for index, char in enumerate(name):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return index == len(name) - 1
    return False


def _split_top(text: str, separator: str | None) -> list[str]:
    """Split at `separator` (None: blanks and ties) outside braces."""
    parts: list[str] = []
    depth = begin = 0
    escaped = False
    for index, char in enumerate(text):
        if char == "{":
            depth += 1
        elif char == "}":
            depth = max(0, depth - 1)
        elif depth == 0 and not escaped:
            blank = char.isspace() or char == "~"
            # `\c c` is one letter: the blank after a letter accent is no separator.
            if blank and index >= 2 and text[index - 2] == "\\" and text[index - 1].isalpha():
                blank = False
            if char == separator or (separator is None and blank):
                parts.append(text[begin:index])
                begin = index + 1
        escaped = char == "\\" and not escaped
    parts.append(text[begin:])
    return parts


def family_key(author: Author | str) -> str:
    """The surname for comparison: folded, letters and digits only, leading particles dropped.

    "van den Oord", "Van Den Oord" and "Oord" are equal, because sources disagree on particles; a
    surname that is itself a particle ("Le", "Do") stays. Takes a family name or an `Author`.
    """
    family = fold(author.family if isinstance(author, Author) else author)
    if family.isalnum():
        return family
    words = family.replace("-", " ").replace(".", " ").split()
    while len(words) > 1 and words[0] in PARTICLES:
        words.pop(0)
    return "".join(char for char in "".join(words) if char.isalnum())


# Forms of an author's name: "Yann LeCun", "LeCun, Y.", "Le Cun".
#
# A record and a filter name the same person when they share a surname and their given names agree
# as far as both are given in full. Indexes keep the forms of every author, so these must be few; a
# filter may try many.

_PIECE = re.compile(r"[^\W\d_]+")
_LONGEST = 3
"""Longest surname, in words, that its first or last word alone may stand for."""
_AMONG = re.compile(r"\s*(?:;|&|\band\b)\s*", re.IGNORECASE)
_SPELT_OUT = (("ae", "a"), ("oe", "o"), ("ue", "u"))
"""Umlauts as typed on a keyboard without them."""


class NameForm(msgspec.Struct, frozen=True, order=True):
    """A surname, with a given name as far as it is known."""

    family: str
    """Folded, letters and digits only."""
    given: str = ""
    """The first given name in full, folded; empty if only an initial, or nothing, is known."""
    initial: str = ""
    """The first letter of the given name; empty if there is none."""

    def fits(self, other: NameForm) -> bool:
        """True when both may name one person; `self` is the query."""
        if self.family != other.family or not self.initial:
            return self.family == other.family
        if self.initial != other.initial:
            return False
        return not (self.given and other.given) or self.given == other.given


@lru_cache(maxsize=65536)
def forms_of(author: Author) -> tuple[NameForm, ...]:
    """The forms under which the author of a record is found; none for a name without letters."""
    given = given_forms(author.given)
    found = dict.fromkeys(
        NameForm(family, name, initial)
        for family in _families(author.family)
        for name, initial in given
    )
    return tuple(found)


def wanted_forms(text: str) -> tuple[tuple[NameForm, ...], ...]:
    """For each person in a filter, the alternative forms of the name.

    "and", "&" or a semicolon separates people. A name without comma is read in both orders, and
    each of its words may begin the surname.
    """
    names = _AMONG.sub(" and ", text.strip())
    people = [_forms_in_any_order(name) for name in names.split(" and ") if split_authors(name)]
    return tuple(forms for forms in people if forms)


def _forms_in_any_order(name: str) -> tuple[NameForm, ...]:
    found: dict[NameForm, None] = {}
    if "," in name:
        author = parse_author(name)
        found.update(_of(author.family, author.given))
    else:
        author = parse_author(name)
        words = f"{author.given} {author.family}".split()
        for at in range(len(words)):
            found.update(_of(" ".join(words[at:]), " ".join(words[:at])))
        if len(words) > 1:
            # "Wang Wei", "LeCun Y": surname first, without a comma.
            found.update(_of(words[0], " ".join(words[1:])))
    for form in tuple(found):
        for written, meant in _SPELT_OUT:
            if written in form.family:
                plain = form.family.replace(written, meant)
                found[msgspec.structs.replace(form, family=plain)] = None
    return tuple(found)


def _of(family: str, given: str) -> Iterator[tuple[NameForm, None]]:
    names = given_forms(given)
    keys = dict.fromkeys((family_key(family), fold_name(family)))
    return ((NameForm(key, *name), None) for key in keys if key for name in names)


def _families(family: str) -> tuple[str, ...]:
    """The whole surname, without its particles, and its first and last word if it has two or
    three."""
    keys = [fold_name(family), family_key(family)]
    words = [fold_name(part) for part in family.replace("-", " ").split()]
    while words and words[0] in PARTICLES:
        words.pop(0)
    if 1 < len(words) <= _LONGEST:
        keys += [words[-1], words[0]]
    return tuple(dict.fromkeys(key for key in keys if key))


@lru_cache(maxsize=65536)
def given_forms(given: str) -> tuple[tuple[str, str], ...]:
    """Given names with their initials: the first, and all of them as one word ("Kai-Wei" is also
    "Kaiwei"); after an initial, the next name, by which the person may be known."""
    pieces = _PIECE.findall(fold(given))
    if not pieces:
        return (("", ""),)
    first = pieces[0]
    full = [piece for piece in pieces if len(piece) > 1]
    forms = [(first if len(first) > 1 else "", first[0])]
    if full:
        forms += [("".join(full), full[0][0]), (full[0], full[0][0])]
    return tuple(dict.fromkeys(forms))


# Author lists that their source truncates.
#
# Google Scholar exports at most ten authors. Records made from its entries keep the ten names, and
# not the "and others" after them.

CUT = "bibliographies:cut"
"""Source of records with truncated author lists of any length."""
_CUT_AFTER = {"bibliographies": 10}
"""Number of names at which a source truncates a list."""
_COMPLETE = frozenset({"cited:6b6e7fa8ca", "cited:74432ba23a"})
"""Ids of works with exactly ten authors, according to four or more bibliographies: RoBERTa and
"Automatic Differentiation in PyTorch"."""


def is_cut(authors: Sequence[Author], sources: Iterable[str], identifier: str = "") -> bool:
    """True when every source truncates its lists at as many names as these. `identifier` is the
    work's id, if known: some works have exactly this number of authors."""
    if identifier in _COMPLETE:
        return False
    sources = set(sources)
    if sources == {CUT}:
        return bool(authors)
    lengths = {_CUT_AFTER.get(source, 0) for source in sources}
    return lengths == {len(authors)} and bool(authors)
