"""Search of entries by part of a key, a title, a name or a year.

The index covers all .bib files of a project; refreshing it costs only what changed.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.model.bib import BibBody, BibEntry, BibFile, plain_value
from citewell.model.titles import fold, in_pairs

# The words of many entries in arrays: for each word its entries and fields.
#
# Postings follow the order of the sorted vocabulary, so that all words with a common prefix are one
# slice, found by two binary searches.

KEY, TITLE, YEAR, AUTHOR = 0, 1, 2, 3
FIELD_NAMES = ("key", "title", "year", "author")
"""By field number; a higher number means a stronger match."""

_KEY_PIECE = re.compile(r"[^\W\d_]+|\d+|\n")
_NOT_WORD = re.compile(r"[^\w\n]|_")
_END = "\0"
"""Separates the words of two rows."""
_SEPARATORS = str.maketrans(
    {chr(code): " " for code in range(128) if not chr(code).isalnum() and chr(code) != "\n"}
)


def identities(entries: Sequence[BibEntry]) -> NDArray[np.int64]:
    """The identities (`id()`) of the entries' bodies."""
    return np.fromiter((id(entry.body) for entry in entries), np.int64, len(entries))


class KeySegment:
    """An immutable index over entries; row numbers are positions in `entries`."""

    def __init__(self, entries: Sequence[BibEntry], paths: Sequence[str]) -> None:
        self.entries = entries
        self.paths = paths
        """Path of each entry's file."""
        self.keys = [_folded(entry.key) for entry in entries]
        self._index()

    def _index(self) -> None:
        bodies = [entry.body for entry in self.entries]
        words = (
            _KEY_PIECE.findall("\n".join(self.keys).replace(_END, " ")),
            _words([_plain(body, "title") for body in bodies]),
            _words([_year(body) for body in bodies]),
            _words([_plain(body, "author").replace(" and ", " ") for body in bodies]),
        )
        numbers: defaultdict[str, int] = defaultdict(count().__next__)
        ends = numbers[_END], numbers["\n"]
        packed: list[NDArray[np.int64]] = []
        for field, found in enumerate(words):
            tokens = np.fromiter(map(numbers.__getitem__, found), np.int64, len(found))
            is_end = tokens <= max(ends)
            rows = np.cumsum(is_end)
            packed.append(((tokens << 34) | (rows << 2) | field)[~is_end])
        all_words = list(numbers)
        order = sorted(range(2, len(all_words)), key=all_words.__getitem__)
        self.vocabulary: list[str] = [all_words[number] for number in order]
        rank = np.zeros(len(all_words), np.int64)
        rank[np.asarray(order, np.int64)] = np.arange(len(order))
        postings = np.concatenate(packed)
        postings = (rank[postings >> 34] << 34) | (postings & ((1 << 34) - 1))
        postings.sort()
        self.token_rows: NDArray[np.int32] = ((postings >> 2) & 0xFFFFFFFF).astype(np.int32)
        self.token_fields: NDArray[np.int8] = (postings & 3).astype(np.int8)
        self.token_starts: NDArray[np.int64] = np.searchsorted(
            postings >> 34, np.arange(len(order) + 1)
        )

    @cached_property
    def bodies(self) -> NDArray[np.int64]:
        """Identities by row of the indexed bodies, which this segment keeps alive."""
        return identities(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def rows_of_key(self, key: str) -> Sequence[int]:
        """Row numbers of an exact key; several files may define it."""
        return self._rows_by_key.get(key, ())

    @cached_property
    def _rows_by_key(self) -> dict[str, list[int]]:
        table: dict[str, list[int]] = {}
        for number, entry in enumerate(self.entries):
            table.setdefault(entry.key, []).append(number)
        return table

    def postings(self, low: int, high: int) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
        """Rows and fields of the words numbered [low, high); a row may repeat."""
        begin, end = self.token_starts[low], self.token_starts[high]
        return self.token_rows[begin:end], self.token_fields[begin:end]

    def prefix_range(self, beginning: str) -> tuple[int, int]:
        """Numbers [low, high) of the words that start with `beginning`."""
        low = bisect_left(self.vocabulary, beginning)
        return low, bisect_right(self.vocabulary, beginning + "\U0010ffff", lo=low)

    def rows_with_key_part(self, part: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Rows with `part` in the key, and whether the key begins with it."""
        rows = [row for row, key in enumerate(self.keys) if part in key] if part else []
        starts = [self.keys[row].startswith(part) for row in rows]
        return np.asarray(rows, np.int64), np.asarray(starts, np.bool_)

    def rows_with_key_start(self, beginning: str) -> NDArray[np.int64]:
        """Rows whose key starts with `beginning`."""
        rows = [row for row, key in enumerate(self.keys) if key.startswith(beginning)]
        return np.asarray(rows, np.int64)


def _folded(key: str) -> str:
    """A key in the form used for searching; the same object if it is in that form."""
    folded = fold(key).replace("\n", " ")
    return key if folded == key else folded


def _plain(body: BibBody, name: str) -> str:
    """The text of a field, close enough to plain text for its words; fast for the common value."""
    if name not in body.names:
        return ""
    raw = body.raw(body.names.index(name))
    if raw[:1] in ("{", '"') and "\\" not in raw and "#" not in raw:
        return raw
    return plain_value(name, raw, body.strings)


def _year(body: BibBody) -> str:
    """The year, and its last two digits as a second word."""
    year = (_plain(body, "year") or _plain(body, "date")).strip('{}" ')[:4]
    return f"{year} {year[-2:]}" if year.isdecimal() else ""


def _words(lines: Sequence[str]) -> list[str]:
    """The folded words of all lines, with `_END` between lines. All ASCII lines are translated
    together, many times faster than one by one."""
    joined = "\n".join([line.replace("\n", " ") if line.isascii() else "" for line in lines])
    for vanishing in "{}'":
        joined = joined.replace(vanishing, "")
    folded = joined.lower().translate(_SEPARATORS).split("\n")
    other = [at for at, line in enumerate(lines) if not line.isascii()]
    if other:
        joined = fold("\n".join([lines[at].replace("\n", " ") for at in other]))
        joined = joined.replace("{", "").replace("}", "")
        for at, line in zip(other, in_pairs(_NOT_WORD.sub(" ", joined)).split("\n"), strict=True):
            folded[at] = line
    return f" {_END} ".join(folded).split()


_EXACT_KEY, _KEY_START, _KEY_PART, _ALL_WORDS, _FUZZY = 100.0, 60.0, 32.0, 40.0, 12.0
_FIELD_WEIGHT = {KEY: 2.0, TITLE: 3.0, YEAR: 4.0, AUTHOR: 5.0}
_HERE, _CITED = 15.0, 6.0
"""Weights added for a citation in this document, and elsewhere in the project."""
_REBUILD = 0.05
"""Share of new rows above which the index is rebuilt."""

_WORD = re.compile(r"[^\W_]+")
_PIECE = re.compile(r"[^\W\d_]+|\d+")

_Scores = NDArray[np.float32]


class KeyMatch(msgspec.Struct, frozen=True):
    """One entry that matches the typed text."""

    entry: BibEntry
    path: str
    score: float
    """Orders one result; has no meaning outside it."""
    field: str
    """The best matching field: "key", "title", "author", "year"; "" when nothing was typed."""


class KeyIndex:
    """An index over the entries of a project's .bib files. Immutable: `refreshed` returns
    another."""

    def __init__(
        self,
        files: Mapping[str, BibFile],
        segments: Sequence[KeySegment],
        alive: Sequence[NDArray[np.bool_]],
        cited: Mapping[str, int],
    ) -> None:
        self.files = files
        self.segments = segments
        self.alive = alive
        self.cited = cited
        self._count = sum(int(one.sum()) for one in alive)

    @classmethod
    def build(cls, bibs: Iterable[BibFile], cited: Mapping[str, int] | None = None) -> KeyIndex:
        """Index all entries; `cited` gives the project's number of citations of each key."""
        files = {bib.path: bib for bib in bibs}
        segment = _segment(_entries(files.values()))
        return cls(files, [segment], [np.ones(len(segment), np.bool_)], cited or {})

    def refreshed(
        self, bibs: Iterable[BibFile], cited: Mapping[str, int] | None = None
    ) -> KeyIndex:
        """The index of the current files, rebuilt only for entries that changed."""
        files = {bib.path: bib for bib in bibs}
        cited = self.cited if cited is None else cited
        base = self.segments[0]
        found = _entries(files.values())
        live = identities([entry for entry, _ in found])
        alive = np.isin(base.bodies, live)
        new = [found[number] for number in np.flatnonzero(~np.isin(live, base.bodies))]
        if len(new) > max(64, _REBUILD * len(base)) or int(alive.sum()) * 2 < len(base):
            return KeyIndex.build(files.values(), cited)
        if not new:
            return KeyIndex(files, [base], [alive], cited)
        delta = _segment(new)
        return KeyIndex(files, [base, delta], [alive, np.ones(len(delta), np.bool_)], cited)

    def with_cited(self, cited: Mapping[str, int]) -> KeyIndex:
        """An index of the same entries for another paper, with its numbers of citations by key."""
        return KeyIndex(self.files, self.segments, self.alive, cited)

    def __len__(self) -> int:
        return self._count

    def search(
        self,
        typed: str,
        limit: int = 50,
        here: Collection[str] = (),
        cited: Mapping[str, int] | None = None,
    ) -> list[KeyMatch]:
        """The best entries for the typed text, best first; all entries if it is empty.

        Words match in any order at the start of a word of key, title, author or year; the whole
        text matches anywhere in a key. Misspelt words and keys are tried only when nothing matches.
        `here` holds the keys that this document cites, which precede equally good others.
        """
        typed = fold(typed).strip()
        cited = self.cited if cited is None else cited
        found: list[tuple[float, str, str, str]] = []
        for attempt in (_direct, _pieces, _misspelt) if typed else (_everything,):
            for segment, alive in zip(self.segments, self.alive, strict=True):
                scores, fields = attempt(segment, typed)
                scores[~alive] = 0.0
                _add_use(segment, scores, here, cited)
                for number in _best(scores, limit):
                    name = FIELD_NAMES[fields[number]] if typed else ""
                    key = segment.entries[number].key
                    found.append((-float(scores[number]), key, segment.paths[number], name))
            if found:
                break
        if typed:
            found.sort(key=lambda item: item[:2])
        else:
            found.sort(key=lambda item: item[0])
        return [
            KeyMatch(self.files[path].by_key[key], path, -score, field)
            for score, key, path, field in found[:limit]
        ]


def _entries(bibs: Iterable[BibFile]) -> list[tuple[BibEntry, str]]:
    """The first entry of each key, with its path; @xdata cannot be cited."""
    return [
        (entry, bib.path)
        for bib in bibs
        for key, entry in bib.by_key.items()
        if key and entry.type != "xdata"
    ]


def _segment(found: Sequence[tuple[BibEntry, str]]) -> KeySegment:
    return KeySegment([entry for entry, _ in found], [path for _, path in found])


def _best(scores: _Scores, limit: int) -> NDArray[np.int64]:
    """The numbers of the best rows with a score above zero, best first; ties in file order."""
    hits = np.flatnonzero(scores > 0)
    if len(hits) > 4 * limit:
        # Many scores are equal; a partition at a low place is ten times faster on them.
        cut = -np.partition(-scores[hits], limit - 1)[limit - 1]
        hits = hits[scores[hits] >= cut]
    return hits[np.argsort(-scores[hits], kind="stable")][: 4 * limit]


def _add_use(
    segment: KeySegment, scores: _Scores, here: Collection[str], cited: Mapping[str, int]
) -> None:
    for key in {*here, *cited}:
        for number in segment.rows_of_key(key):
            if scores[number] > 0:
                often = math.log1p(cited.get(key, 0))
                scores[number] += (_HERE if key in here else _CITED) + min(often, 4.0)


def _everything(segment: KeySegment, _: str) -> tuple[_Scores, NDArray[np.int8]]:
    return np.ones(len(segment), np.float32), np.zeros(len(segment), np.int8)


def _direct(segment: KeySegment, typed: str) -> tuple[_Scores, NDArray[np.int8]]:
    """Scores where all words match, or the whole text matches a key."""
    words = _WORD.findall(in_pairs(typed))
    scores, fields = _all_words(segment, words)
    whole = typed.replace(" ", "")
    if not whole:
        return scores, fields
    if len(whole) == 1:
        rows = segment.rows_with_key_start(whole)
        starts = np.ones(len(rows), np.bool_)
    else:
        rows, starts = segment.rows_with_key_part(whole)
    if len(rows):
        lengths = np.asarray([len(segment.keys[row]) for row in rows.tolist()], np.float32)
        part = _KEY_PART + min(20.0, 2.0 * len(whole))
        key_scores = np.where(starts, _KEY_START, part) + 10.0 * len(whole) / lengths
        key_scores[lengths == len(whole)] = _EXACT_KEY
        better = key_scores > scores[rows]
        scores[rows[better]] = key_scores[better]
        fields[rows[better]] = KEY
    return scores, fields


def _pieces(segment: KeySegment, typed: str) -> tuple[_Scores, NDArray[np.int8]]:
    """Scores with letters and digits split: "vas17att" matches vaswani2017attention."""
    return _all_words(segment, _PIECE.findall(typed))


def _all_words(segment: KeySegment, words: Sequence[str]) -> tuple[_Scores, NDArray[np.int8]]:
    """Rows in which every word is a prefix of some word, scored by field; and the best field."""
    size = len(segment)
    total = np.zeros(size, np.float32)
    fields = np.zeros(size, np.int8)
    fits = np.full(size, bool(words))
    for word in words[:16]:
        low, high = segment.prefix_range(word)
        weight, field = _word_weights(segment, range(low, high), 1.0)
        if low < high and segment.vocabulary[low] == word:
            whole, _ = _word_weights(segment, range(low, low + 1), 1.3)
            np.maximum(weight, whole, out=weight)
        if len(word) > 2:
            rows, _ = segment.rows_with_key_part(word)
            weight[rows] = np.maximum(weight[rows], np.float32(1.0))
        fits &= weight > 0
        if not fits.any():
            return np.zeros(size, np.float32), fields
        total += weight
        np.maximum(fields, field, out=fields)
    total[fits] += _ALL_WORDS
    total[~fits] = 0.0
    return total, fields


def _word_weights(
    segment: KeySegment, tokens: range, factor: float
) -> tuple[_Scores, NDArray[np.int8]]:
    """For each row, the weight of its best field with one of the words, and that field."""
    weights = np.zeros(len(segment), np.float32)
    fields = np.zeros(len(segment), np.int8)
    if tokens:
        rows, in_fields = segment.postings(tokens.start, tokens.stop)
        for field in (KEY, TITLE, YEAR, AUTHOR):
            there = rows[in_fields == field]
            weights[there] = _FIELD_WEIGHT[field] * factor
            fields[there] = field
    return weights, fields


def _misspelt(segment: KeySegment, typed: str) -> tuple[_Scores, NDArray[np.int8]]:
    """Scores of keys with nearly this prefix, and of rows with nearly these words."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    size = len(segment)
    scores = np.zeros(size, np.float32)
    fields = np.zeros(size, np.int8)
    whole = typed.replace(" ", "")
    if len(whole) < 4:
        return scores, fields
    for length in _lengths(whole):
        beginnings = [key[:length] for key in segment.keys]
        for _, similarity, row in process.extract(
            whole, beginnings, scorer=OSA.normalized_similarity, score_cutoff=0.7, limit=200
        ):
            scores[row] = max(scores[row], _FUZZY * similarity)
    total = np.zeros(size, np.float32)
    fits = np.ones(size, np.bool_)
    best = np.zeros(size, np.int8)
    for word in _WORD.findall(in_pairs(typed))[:8]:
        weight, field = _nearly(segment, word)
        fits &= weight > 0
        total += weight
        np.maximum(best, field, out=best)
    better = fits & (total + _FUZZY > scores)
    scores[better] = total[better] + _FUZZY
    fields[better] = best[better]
    return scores, fields


def _nearly(segment: KeySegment, word: str) -> tuple[_Scores, NDArray[np.int8]]:
    """Weights of rows with a word that begins like `word`, except for a typo or two."""
    from rapidfuzz import process
    from rapidfuzz.distance import OSA

    low, high = segment.prefix_range(word)
    weights, fields = _word_weights(segment, range(low, high), 1.0)
    if len(word) < 4:
        return weights, fields
    # The first letter is usually typed correctly.
    low, high = segment.prefix_range(word[0])
    slips = 1 if len(word) < 8 else 2
    # Too many words nearly match a prefix of four letters ("adam" and "adaptation"): only whole
    # words.
    for length in _lengths(word) if len(word) > 4 else (None,):
        beginnings = [token[:length] for token in segment.vocabulary[low:high]]
        for _, _, at in process.extract(
            word, beginnings, scorer=OSA.distance, score_cutoff=slips, limit=50
        ):
            token = low + at
            near, near_field = _word_weights(segment, range(token, token + 1), 0.5)
            np.maximum(weights, near, out=weights)
            np.maximum(fields, near_field, out=fields)
    return weights, fields


def _lengths(typed: str) -> tuple[int, ...]:
    """Plausible lengths of the prefix that was meant: one more if a letter was left out. With four
    letters that would be a guess."""
    return (len(typed),) if len(typed) < 5 else (len(typed), len(typed) + 1)
