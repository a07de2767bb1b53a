"""What is known of references, kept small: a bibliography may have a hundred thousand of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from sys import intern

import msgspec

from citewell.model.check import Check, Verdict

MAX_READ = 512
"""Answers that are kept as objects too: a hover and the lenses of a screen ask again and again."""
_DECODER = msgspec.msgpack.Decoder(Check)
_ENCODER = msgspec.msgpack.Encoder()


class Answers:
    """Checks by the digest of their question, encoded: an answer as an object takes six times as
    much. One thread adds; any may ask."""

    def __init__(self) -> None:
        self._encoded: dict[bytes, bytes] = {}
        self._quiet: set[bytes] = set()
        """Of these there is nothing to say: most references are right."""
        self._read: OrderedDict[bytes, Check] = OrderedDict()
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
            check = self._read[digest] = _DECODER.decode(encoded)
            if self._encoded.get(digest) is not encoded:  # there is a newer one meanwhile
                self._read.pop(digest, None)
            while len(self._read) > MAX_READ:
                self._forget_one()
        return check

    def telling(self, digest: bytes) -> Check | None:
        """The same, but None also where there is nothing to say. For a walk over many."""
        encoded = None if digest in self._quiet else self._encoded.get(digest)
        return None if encoded is None else _DECODER.decode(encoded)

    def line(self, digest: bytes) -> str:
        """What a lens shows of an answer, read once; the few different lines are kept once."""
        from citewell.features.lens import source_line

        line = self._lines.get(digest)
        if line is None:
            encoded = self._encoded.get(digest)
            if encoded is None:
                return ""
            line = self._lines[digest] = intern(source_line(_DECODER.decode(encoded)))
            if self._encoded.get(digest) is not encoded:
                self._lines.pop(digest, None)
        return line

    def update(self, known: Mapping[bytes, Check]) -> None:
        """Add answers, in place of earlier ones."""
        for digest, check in known.items():
            self._encoded[digest] = _ENCODER.encode(check)
            self._read.pop(digest, None)
            self._lines.pop(digest, None)
            if check.verdict is Verdict.VERIFIED and not check.findings:
                self._quiet.add(digest)
            else:
                self._quiet.discard(digest)

    def _forget_one(self) -> None:
        try:
            self._read.popitem(last=False)
        except KeyError:  # another thread was faster
            return
