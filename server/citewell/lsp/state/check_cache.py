"""What is known of references, kept small: a bibliography may have a hundred thousand of them."""

from __future__ import annotations

import zlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from sys import intern
from typing import TYPE_CHECKING

import msgspec

from citewell.model.check import Check, Verdict

if TYPE_CHECKING:
    from citewell.documents.keys.index import KeyIndex
    from citewell.features.text.entry_state import CheckOf, FindCheck
    from citewell.model.bib import BibEntry, BibFile

MAX_READ = 128
"""Answers that are kept as objects too: a hover and the lenses of a screen ask again and again."""
FEW_ENTRIES = 500
"""Reading this many entries as references takes a few hundredths of a second."""
_WINDOW = -12
"""Raw deflate with a window of 4 KB, which costs 12 us for an answer; 32 KB would cost 45."""
_WINDOW_BYTES = 1 << 12
_ENCODER = msgspec.msgpack.Encoder()


@cache
def _decoder() -> msgspec.msgpack.Decoder[Check]:
    # A millisecond of each start, before there is an answer to be read.
    return msgspec.msgpack.Decoder(Check)


class CheckCache:
    """Checks by the digest of their question, encoded and compressed: as an object, an answer takes
    thirty times the memory. One thread adds; any thread may read."""

    def __init__(self) -> None:
        self._encoded: dict[bytes, bytes] = {}
        self._dictionary = b""
        """The first answers, in which the others find the names of fields and the sentences that
        they have in common: with it an answer is a sixth as long."""
        self._quiet: set[bytes] = set()
        """Digests of checks with nothing to report: most references are right."""
        self._read: OrderedDict[bytes, Check] = OrderedDict()
        self._is_scattered = False
        """Whether answers came since `compact`."""
        self._lines: dict[bytes, str] = {}

    def __len__(self) -> int:
        return len(self._encoded)

    def __contains__(self, digest: object) -> bool:
        return digest in self._encoded

    def get(self, digest: bytes) -> Check | None:
        """The answer to a question, if it is known."""
        check = self._read.get(digest)
        if check is None:
            encoded = self._encoded.get(digest)
            if encoded is None:
                return None
            check = self._read[digest] = self._decode(encoded)
            if self._encoded.get(digest) is not encoded:  # there is a newer one meanwhile
                self._read.pop(digest, None)
            while len(self._read) > MAX_READ:
                self._forget_one()
        return check

    def telling(self, digest: bytes) -> Check | None:
        """The known check if it has anything to report, else None. For loops over many entries."""
        encoded = None if digest in self._quiet else self._encoded.get(digest)
        return None if encoded is None else self._decode(encoded)

    def line(self, digest: bytes) -> str:
        """What a lens shows of an answer, read once; the few different lines are kept once."""
        from citewell.features.display.lens import source_line

        line = self._lines.get(digest)
        if line is None:
            encoded = self._encoded.get(digest)
            if encoded is None:
                return ""
            line = self._lines[digest] = intern(source_line(self._decode(encoded)))
            if self._encoded.get(digest) is not encoded:
                self._lines.pop(digest, None)
        return line

    def check_of(self, bib: BibFile) -> CheckOf:
        """A function that returns the known check of an entry of a .bib, or None. For any thread.

        Entries that were not considered yet count as unknown: at first, most of a large file.
        """
        few = len(bib.entries) <= FEW_ENTRIES

        def known(entry: BibEntry) -> Check | None:
            from citewell.features.checking.verify import question_digest

            if not few and entry.body.question is msgspec.UNSET:
                return None
            digest = question_digest(bib, entry)
            return self.get(digest) if digest is not None else None

        return known

    def find_check(self, index: KeyIndex) -> FindCheck:
        """A function that returns the check of an indexed entry, given the path of its file."""
        files = {path: self.check_of(bib) for path, bib in index.files.items()} if self else {}

        def known(path: str, entry: BibEntry) -> Check | None:
            check_of = files.get(path)
            return check_of(entry) if check_of is not None else None

        return known

    def source_of(self, bib: BibFile) -> Callable[[BibEntry], str]:
        """A function that returns one line about the record found for an entry."""
        from citewell.features.checking.verify import question_digest

        few = len(bib.entries) <= FEW_ENTRIES

        def line(entry: BibEntry) -> str:
            if not few and entry.body.question is msgspec.UNSET:
                return ""
            digest = question_digest(bib, entry)
            return self.line(digest) if digest is not None else ""

        return line

    def update(self, known: Mapping[bytes, Check]) -> None:
        """Add answers, in place of earlier ones."""
        if not self._encoded:
            first = b"".join(map(_ENCODER.encode, islice(known.values(), 20)))
            self._dictionary = first[:_WINDOW_BYTES]
        self._is_scattered = True
        for digest, check in known.items():
            self._encoded[digest] = self._encode(check)
            self._read.pop(digest, None)
            self._lines.pop(digest, None)
            if check.verdict is Verdict.VERIFIED and not check.findings:
                self._quiet.add(digest)
            else:
                self._quiet.discard(digest)

    def compact(self) -> None:
        """Copy the answers, which arrived one by one between short-lived objects and keep the
        memory of these from being given back. For the thread that adds; nothing where none came
        since the last time."""
        if not self._is_scattered:
            return
        self._is_scattered = False
        self._encoded = {
            digest: bytes(memoryview(encoded)) for digest, encoded in self._encoded.items()
        }

    def _encode(self, check: Check) -> bytes:
        deflate = zlib.compressobj(1, wbits=_WINDOW, memLevel=4, zdict=self._dictionary)
        return deflate.compress(_ENCODER.encode(check)) + deflate.flush()

    def _decode(self, encoded: bytes) -> Check:
        return _decoder().decode(zlib.decompressobj(_WINDOW, self._dictionary).decompress(encoded))

    def _forget_one(self) -> None:
        try:
            self._read.popitem(last=False)
        except KeyError:  # another thread was faster
            return
