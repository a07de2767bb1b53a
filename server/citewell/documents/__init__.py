"""The author's own files: scanned with exact ranges, read and written without loss."""

from citewell.documents.context import Context, acronyms_of, context_at, nearby_titles, query_for
from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.documents.scan import format_of, scan_document
from citewell.documents.textfile import TextFile, apply_edits, read_text, write_text

__all__ = [
    "Context",
    "FileCache",
    "Project",
    "TextFile",
    "acronyms_of",
    "apply_edits",
    "context_at",
    "format_of",
    "nearby_titles",
    "query_for",
    "read_text",
    "scan_document",
    "write_text",
]
