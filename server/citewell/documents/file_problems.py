"""What may be wrong with a PDF or with a word processor's document, each with its remedy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from citewell.model.installing import install_command
from citewell.model.problem import Problem


def not_installed(path: Path) -> Problem:
    """Of a PDF where the package that reads it is missing."""
    return Problem(
        "pdf-not-installed",
        "Reading PDF files needs the package pypdfium2, which is not installed.",
        f"Run `{install_command('pdf')}`.",
        str(path),
    )


def encrypted(path: Path) -> Problem:
    """Of a file that opens with a password alone."""
    return Problem(
        "pdf-encrypted",
        f"{path.name} is protected by a password.",
        "Save a copy without the password, and give that.",
        str(path),
    )


def broken(path: Path, reason: str) -> Problem:
    """Of a file that is no PDF, or a damaged one."""
    because = f" ({reason.rstrip('.')})" if reason else ""
    return Problem(
        "pdf-broken",
        f"{path.name} cannot be read as a PDF{because}.",
        "Open it in a viewer; if that fails too, get the file again.",
        str(path),
    )


def scanned(path: Path) -> Problem:
    """Of a file that holds pictures of its pages."""
    return Problem(
        "pdf-scanned",
        f"{path.name} has no text: its pages are pictures.",
        "Recognise the text first, for example with `ocrmypdf`.",
        str(path),
    )


def long(path: Path, count: int, first: int, last: int) -> Problem:
    """Of a file of which the pages from `first` to `last` are not read."""
    return Problem(
        "pdf-long",
        f"{path.name} has {count:,} pages; pages {first:,} to {last:,} are not read.",
        "Raise `pdf.max_pages`, or split the file.",
        str(path),
    )


def unreadable_pages(path: Path, pages: Sequence[int]) -> Problem:
    """Of pages that are damaged while others are not."""
    shown = ", ".join(map(str, pages[:10])) + (" ..." if len(pages) > 10 else "")
    return Problem(
        "pdf-pages",
        f"Pages of {path.name} cannot be read: {shown}.",
        "Open the file in a viewer and save a new copy.",
        str(path),
    )


def slow(path: Path, seconds: float) -> Problem:
    """Of a file that takes longer than it may."""
    return Problem(
        "pdf-slow",
        f"{path.name} was not read within {seconds:g} s.",
        "Raise `pdf.timeout_s`, or save a new copy from a viewer.",
        str(path),
    )


def heavy(path: Path, memory_mb: int) -> Problem:
    """Of a file that takes more memory than it may."""
    return Problem(
        "pdf-memory",
        f"Reading {path.name} takes more than {memory_mb:,} MB of memory.",
        "Raise `pdf.memory_mb`, or save a new copy from a viewer.",
        str(path),
    )


def crashed(path: Path) -> Problem:
    """Of a file on which the reading process ends."""
    return Problem(
        "pdf-crash",
        f"The process that reads PDFs ended on {path.name}.",
        "Save a new copy from a viewer.",
        str(path),
    )


def large(path: Path, megabytes: int) -> Problem:
    """Of a file that is not opened for its size."""
    return Problem(
        "file-too-large",
        f"{path.name} is larger than {megabytes:,} MB.",
        "Split the file.",
        str(path),
    )


def no_office_package(path: Path) -> Problem:
    """Of a word processor's document where the package that reads it is missing."""
    return Problem(
        "office-missing",
        f"{path.name} cannot be read without the extra `office`.",
        f"Run `{install_command('office')}`.",
        str(path),
    )


def large_document(path: Path, megabytes: int, most: int) -> Problem:
    """Of a word processor's document that unpacks to more than is read."""
    return Problem(
        "office-large",
        f"{path.name} holds {megabytes} MB of text and pictures; the limit is {most} MB.",
        "Save its references as a document of their own.",
        str(path),
    )


def broken_document(path: Path, reason: str) -> Problem:
    """Of a file that is no word processor's document, or a damaged one."""
    return Problem(
        "office-broken",
        f"{path.name} is no sound document ({reason}).",
        "Open it in its program and save it again.",
        str(path),
    )
