"""Reads PDFs: in a local process, or with the GROBID server in the settings."""

from __future__ import annotations

from pathlib import Path

import msgspec

from citewell.documents.pdf.reader import PdfReader
from citewell.model import Problem
from citewell.model.pdf import PdfPaper
from citewell.model.system.files import Closing
from citewell.options.tree import PdfOptions


class PdfPapers(Closing):
    """For one thread; to be closed, or used in a `with` statement."""

    def __init__(self, options: PdfOptions | None = None) -> None:
        """Set the options; nothing is started yet."""
        self._options = options or PdfOptions()
        self._reader = PdfReader(self._options)

    def close(self) -> None:
        """End the reading process."""
        self._reader.close()

    def read(self, path: Path) -> PdfPaper | Problem:
        """Read the paper in a file; return the problem if it cannot be read.

        Where GROBID fails, the file is read on this machine, and the failure is one of the paper's
        problems.
        """
        if not self._options.grobid or not path.is_file():
            return self._reader.read(path)
        from citewell.sources.local import read_with_grobid

        found = read_with_grobid(self._options.grobid, path, seconds=self._options.timeout_s)
        if isinstance(found, PdfPaper):
            return found
        own = self._reader.read(path)
        if isinstance(own, Problem):
            return own
        return msgspec.structs.replace(own, problems=(found, *own.problems))
