"""Collects the citations of a source while it is read, for the stage that makes priors of them."""

from __future__ import annotations

import struct
from array import array
from pathlib import Path

import msgspec
import numpy as np

from citewell.corpus.columns import title_key
from citewell.corpus.keys import id_number
from citewell.model import Work
from citewell_corpus.importers.contract import Citing, FullText

FRAMES, NUMBERS, TEXTS = "citing.bin", "citing.npz", "texts.bin"
LENGTH = struct.Struct("<I")
"""Comes before each frame: its size in bytes."""


class CitingWriter:
    """Collects the citations of a source while it is read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stream = (folder / FRAMES).open("wb")
        self._encoder = msgspec.msgpack.Encoder()
        self._numbers, self._keys, self._counts = array("q"), array("Q"), array("q")
        self._texts = (folder / TEXTS).open("wb")
        self.lists = 0
        self.passages = 0
        self.texts = 0

    def cites(self, citing: Citing) -> None:
        """One more citing paper."""
        data = self._encoder.encode(citing)
        self._stream.write(LENGTH.pack(len(data)) + data)
        self.lists += 1
        self.passages += len(citing.passages)

    def text(self, text: FullText) -> None:
        """The text of one more paper."""
        data = self._encoder.encode(text)
        self._texts.write(LENGTH.pack(len(data)) + data)
        self.texts += 1

    def work(self, work: Work) -> None:
        """Add a record: its title under its ids, for references by id, and its citation count."""
        if work.citations is None and not self.lists:
            return
        key = title_key(work.title)
        for identifier in dict.fromkeys((work.id, *work.same_as)):
            self._numbers.append(id_number(identifier))
            self._keys.append(key)
            self._counts.append(-1 if work.citations is None else work.citations)

    def close(self) -> None:
        """Write the collected numbers, which completes the folder."""
        self._stream.close()
        self._texts.close()
        np.savez(
            self._folder / NUMBERS,
            number=np.array(self._numbers, np.int64),
            key=np.array(self._keys, np.uint64),
            count=np.array(self._counts, np.int64),
        )
