"""Kind and language of every paper: what the filters by them read.

Each segment holds both as 32-bit hashes beside its facets. The records of a segment that was built
before there were any are read once, when the first such filter comes.
"""

from __future__ import annotations

import threading
import zlib

import msgspec
import numpy as np
from numpy.typing import NDArray

from citewell.corpus.compact.catalogue import FOLDER, CompactCatalogue
from citewell.corpus.compact.columns import CompactColumns
from citewell.corpus.contract import SegmentView
from citewell.corpus.library import Library
from citewell.model import Query, Work
from citewell.model.languages import language_code
from citewell.retrieval.arrays import open_array
from citewell.retrieval.query_grammar.words import ENTRY_TYPES, KINDS, TITLE_WORDS
from citewell.retrieval.words import split

KIND, LANGUAGE = "kind", "language"
"""Names of the columns in the folder of the facets."""
_FACETS = "facets"
_AT_ONCE = 5_000
Hashes = NDArray[np.uint32]


class _Stated(msgspec.Struct, frozen=True):
    """The part of a record that is read."""

    kind: str = "misc"
    language: str = ""


class KindsAndLanguages:
    """The columns of a library. Safe to call from any thread."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._columns: tuple[Hashes, Hashes] | None = None
        self._lock = threading.Lock()

    def of_types(self, types: tuple[str, ...]) -> NDArray[np.bool_]:
        """Which rows are of one of the entry types, shape (rows,)."""
        return np.isin(self._read()[0], np.array([text_hash(one) for one in types], np.uint32))

    def in_language(self, code: str, *, strict: bool) -> NDArray[np.bool_]:
        """Which rows are in the language; unless strict, also those of which none is stated."""
        languages = self._read()[1]
        found = languages == np.uint32(text_hash(code)) if code else np.zeros_like(languages, bool)
        return found if strict or not code else found | (languages == 0)

    def _read(self) -> tuple[Hashes, Hashes]:
        with self._lock:
            if self._columns is None:
                parts = [self._of_segment(view) for view in self._library.segments]
                empty = np.zeros(0, np.uint32)
                self._columns = (
                    np.concatenate([empty, *(kind for kind, _ in parts)]),
                    np.concatenate([empty, *(language for _, language in parts)]),
                )
            return self._columns

    def _of_segment(self, view: SegmentView) -> tuple[Hashes, Hashes]:
        if CompactColumns.is_in(view.path):
            records = CompactCatalogue(view.path / FOLDER, view.count)
            kinds = np.array([text_hash(kind) for kind in records.kinds()], np.uint32)
            return kinds[records.shared], np.zeros(view.count, np.uint32)
        folder = view.index(_FACETS)
        try:
            kind, language = (open_array(folder / f"{name}.npy") for name in (KIND, LANGUAGE))
        except (OSError, ValueError):
            kind, language = self._of_records(view)
        if len(kind) != view.count or len(language) != view.count:
            kind, language = self._of_records(view)
        return kind, language

    def _of_records(self, view: SegmentView) -> tuple[Hashes, Hashes]:
        kind, language = np.zeros(view.count, np.uint32), np.zeros(view.count, np.uint32)
        for start in range(0, view.count, _AT_ONCE):
            rows = range(start, min(view.count, start + _AT_ONCE))
            found = self._library.records((view.base + row for row in rows), _Stated)
            kind[rows.start : rows.stop] = [text_hash(one.kind) for one in found]
            language[rows.start : rows.stop] = [text_hash(one.language) for one in found]
        return kind, language


def text_hash(text: str) -> int:
    """32-bit hash of a text; 0 for an empty one."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass")) if text else 0


def entry_types(kind: str) -> tuple[str, ...]:
    """The entry types of a kind that records state: "thesis" is ("phdthesis", "mastersthesis")."""
    name = kind.strip().lower()
    return ENTRY_TYPES.get(name, (name,))


def title_words(kind: str) -> tuple[str, ...]:
    """The words of titles by which a paper is of a kind such as "survey"; empty for entry types."""
    return TITLE_WORDS.get(KINDS.get(kind.strip().lower(), ""), ())


def passes_kind_and_language(query: Query, work: Work) -> bool:
    """Whether a record passes a query's filters by kind and language."""
    if query.kind.strip() and not _is_of_kind(query.kind, work):
        return False
    if not query.language.strip():
        return True
    code = language_code(query.language)
    unstated = not work.language and not query.strict_language
    return bool(code) and (work.language == code or unstated)


def _is_of_kind(kind: str, work: Work) -> bool:
    words = title_words(kind)
    if not words:
        return work.kind in entry_types(kind)
    own = {word.decode() for word in split(work.title)}
    return any(word in own or f"{word}s" in own for word in words)
