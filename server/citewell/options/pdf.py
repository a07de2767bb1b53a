"""The settings of reading PDF files."""

from typing import Annotated

from msgspec import Struct

from citewell.options.leaf import about


class PdfOptions(Struct, frozen=True, kw_only=True):
    """What reading one PDF may cost; one that costs more is a problem, and the others are read."""

    grobid: Annotated[
        str,
        about(
            "Address of a GROBID server that reads PDFs instead, such as http://localhost:8070; it "
            "receives the whole file. [What it does](pdf.md#grobid).",
            pattern=r"(?:https?://[^\s/@]+(?:/\S*)?)?",
            trusted_only=True,
            closed_if_wrong=True,
        ),
    ] = ""
    max_pages: Annotated[
        int,
        about(
            "Number of pages that are read of a file; of a longer one, the first and the last.",
            ge=2,
            le=100_000,
        ),
    ] = 1_000
    timeout_s: Annotated[
        float, about("Time limit for one file in seconds.", ge=1, le=3_600, trusted_only=True)
    ] = 60.0
    memory_mb: Annotated[
        int,
        about(
            "Memory limit of the process that reads, in MB (Linux and macOS).",
            ge=100,
            le=100_000,
            trusted_only=True,
        ),
    ] = 1_000
