"""The edit that makes a paper use a bibliography it does not declare yet."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from citewell.documents.markdown.yaml_block import read_front_matter
from citewell.documents.textfile import newline_of
from citewell.model.bib import FileEdit, TextEdit
from citewell.model.document import Document, Format, Span

_EMPTY = re.compile(
    r"(?P<command>\\bibliography|\\addbibresource(?:\s*\[[^\]\n\r]*\])?)\s*\{(?P<names>\s*)\}"
)
_COMMENT = re.compile(r"(?<!\\)%")
_STYLES = {
    "apacite": "apacite",
    "natbib": "plainnat",
    "acl": "acl_natbib",
    "naacl": "acl_natbib",
    "emnlp": "acl_natbib",
    "neurips": "plainnat",
    "nips": "plainnat",
    "icml": "icml2024",
    "iclr": "plainnat",
}
"""Bibliography styles by the beginning of a package's name."""
_CLASS_STYLES = {
    "acmart": "ACM-Reference-Format",
    "IEEEtran": "IEEEtran",
    "llncs": "splncs04",
    "elsarticle": "elsarticle-num",
    "revtex4-1": "apsrev4-1",
    "revtex4-2": "apsrev4-2",
}


def declaration_edit(
    root: Path, documents: Mapping[Path, Document], styles: Iterable[Document], bib: Path
) -> FileEdit | None:
    """Declare `bib` in the paper whose main file is `root`; None where there is no place for it.

    A declaration that is there is extended, also an empty one, since BibTeX takes no second
    `\\bibliography`; otherwise one is added where the format wants it.
    """
    if documents[root].format is Format.MARKDOWN:
        return _markdown(root, documents[root], bib)
    for path, document in documents.items():
        for declaration in reversed(document.bibliographies):
            end = declaration.span.end
            if declaration.command == "bibliography":
                return _edit(path, end, "," + _name(bib, root)[: -len(".bib")])
            if declaration.command == "addbibresource":
                after = document.text.find("}", end) + 1
                newline = newline_of(document.text)
                return _edit(path, after, f"{newline}\\addbibresource{{{_name(bib, root)}}}")
    for path, document in documents.items():
        if empty := _empty(document.text):
            sources = [d.text for d in (*documents.values(), *styles)]
            return _filled(path, empty, _name(bib, root), sources, document)
    return _latex(root, documents, styles, bib)


def _empty(text: str) -> re.Match[str] | None:
    """The first declaration, outside of comments, that names no file."""
    for found in _EMPTY.finditer(text):
        line = max(text.rfind("\n", 0, found.start()), text.rfind("\r", 0, found.start())) + 1
        if not _COMMENT.search(text, line, found.start()):
            return found
    return None


def _filled(
    path: Path, empty: re.Match[str], name: str, sources: Iterable[str], document: Document
) -> FileEdit:
    """Names the file in a declaration that names none."""
    edits = []
    if empty["command"] == "\\bibliography":
        name = name[: -len(".bib")]
        if not any("\\bibliographystyle" in text for text in sources):
            style = _style(document.document_class, document.packages)
            at = empty.start("command")
            line = f"\\bibliographystyle{{{style}}}{newline_of(document.text)}"
            edits.append(TextEdit(Span(at, at), line))
    edits.append(TextEdit(Span(*empty.span("names")), name))
    return FileEdit(str(path), tuple(edits))


def _name(bib: Path, root: Path) -> str:
    """The path of `bib` as the document writes it: relative, with forward slashes."""
    try:
        return Path(os.path.relpath(bib, root.parent)).as_posix()
    except ValueError:  # another drive
        return bib.as_posix()


def _edit(path: Path, at: int, text: str) -> FileEdit:
    return FileEdit(str(path), (TextEdit(Span(at, at), text),))


def _latex(
    root: Path, documents: Mapping[Path, Document], styles: Iterable[Document], bib: Path
) -> FileEdit | None:
    document = documents[root]
    if document.body is None or any(d.bibitems for d in documents.values()):
        return None
    newline = newline_of(document.text)
    name = _name(bib, root)
    sources = [d.text for d in (*documents.values(), *styles)]
    packages = [name for d in (document, *styles) for name in d.packages]
    end = document.body.end
    if "biblatex" in packages:
        begin = _begin(document)
        edits = [TextEdit(Span(begin, begin), f"\\addbibresource{{{name}}}{newline}")]
        if not any("\\printbibliography" in text for text in sources):
            edits.append(_at_end(document.text, end, "\\printbibliography", newline))
        return FileEdit(str(root), tuple(edits))
    lines = f"\\bibliography{{{name[: -len('.bib')]}}}"
    if not any("\\bibliographystyle" in text for text in sources):
        style = _style(document.document_class, packages)
        lines = f"\\bibliographystyle{{{style}}}{newline}{lines}"
    return FileEdit(str(root), (_at_end(document.text, end, lines, newline),))


def _begin(document: Document) -> int:
    """The start of the line with `\\begin{document}`."""
    assert document.body is not None
    start = document.text.rfind("\\begin", 0, document.body.start)
    line = document.text.rfind("\n", 0, start) + 1
    return line if not document.text[line:start].strip() else start


def _at_end(text: str, end: int, lines: str, newline: str) -> TextEdit:
    """`lines` on lines of their own before `\\end{document}`."""
    line = max(text.rfind("\n", 0, end), text.rfind("\r", 0, end)) + 1
    if text[line:end].strip():
        return TextEdit(Span(end, end), f"{newline}{lines}{newline}")
    return TextEdit(Span(line, line), f"{lines}{newline}")


def _style(document_class: str, packages: Iterable[str]) -> str:
    if document_class in _CLASS_STYLES:
        return _CLASS_STYLES[document_class]
    for beginning, style in _STYLES.items():
        if any(name.startswith(beginning) for name in packages):
            return style
    return "plain"


def _markdown(path: Path, document: Document, bib: Path) -> FileEdit:
    text = document.text
    newline = newline_of(text)
    name = _name(bib, path)
    if document.front_matter is None:
        return _edit(path, 0, newline.join(("---", f"bibliography: {name}", "---", "", "")))
    front = read_front_matter(text, document.front_matter)
    if not front.bibliographies:
        if front.bibliography_key is not None:  # `bibliography:` with nothing behind it
            at = text.index(":", front.bibliography_key.start) + 1
            return _edit(path, at, f" {name}")
        return _edit(path, front.span.end, f"bibliography: {name}{newline}")
    last = front.bibliographies[-1][1]
    quoted = text[last.end : last.end + 1] in ("'", '"')
    end = last.end + quoted
    start = front.bibliographies[0][1].start - quoted
    line = text.rfind("\n", 0, last.start) + 1
    lead = text[line : last.start - quoted]
    if lead.strip() == "-":
        return _edit(path, end, f"{newline}{lead}{name}")
    if text.rfind("[", front.span.start, start) > text.rfind("\n", 0, start):
        return _edit(path, end, f", {name}")
    listed = f"[{text[start:end]}, {name}]"
    return FileEdit(str(path), (TextEdit(Span(start, end), listed),))
