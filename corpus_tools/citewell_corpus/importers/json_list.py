"""Records of a JSON document that is one array, or an object with the array inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from citewell.corpus.errors import library_error
from citewell_corpus.importers import files
from citewell_corpus.importers.contract import ImportReport


def records(path: Path, name: str, report: ImportReport) -> Iterator[tuple[int, msgspec.Raw]]:
    """Line and raw text of each element of the array, or of the array under `name`.

    Only the frame is parsed here: a bad element costs itself. Raises `LibraryError` for a file
    that is no JSON.
    """
    data = files.whole(path, report)
    try:
        if data.lstrip()[:1] == b"{":
            frame = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
            array = msgspec.json.decode(frame.get(name, msgspec.Raw(b"[]")), type=list[msgspec.Raw])
        else:
            array = msgspec.json.decode(data, type=list[msgspec.Raw])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        message = f"The file is not valid JSON: {error}."
        raise library_error("source-unreadable", message, path) from None
    line, at = 1, 0
    for raw in array:
        # The elements come in file order, so that each search begins where the last one ended.
        start = data.find(bytes(raw), at)
        if start >= 0:
            line += data.count(b"\n", at, start)
            at = start
        yield line, raw
