"""The files named by a declaration of a bibliography."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from citewell.documents.markdown.yaml_block import front_matter_span, read_front_matter
from citewell.documents.project.includes import absolute, folders_above
from citewell.documents.textfile import newline_of
from citewell.model.bib import BibFile, FileEdit, TextEdit
from citewell.model.document import CSL_SUFFIXES, BibDeclaration, Document, Format, Span

# The personal TeX tree, with an author's bibliographies for all papers.

_INSIDE = Path("bibtex") / "bib"
MAX_FOLDERS = 200


def personal_folders() -> tuple[Path, ...]:
    """`bibtex/bib` of TEXMFHOME, or of TeX Live's default for it, with its subfolders. Read once: a
    folder added later counts after a restart of the editor."""
    return _folders(os.environ.get("TEXMFHOME", ""))


@lru_cache(maxsize=4)
def _folders(named: str) -> tuple[Path, ...]:
    try:
        home = Path.home()
    except RuntimeError:
        return ()
    usual = home / "Library" / "texmf" if sys.platform == "darwin" else home / "texmf"
    trees = [Path(part).expanduser() for part in named.split(os.pathsep) if part] or [usual]
    found: list[Path] = []
    for tree in trees:
        for folder, inner, _ in os.walk(tree / _INSIDE):
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            found.append(Path(folder))
            if len(found) >= MAX_FOLDERS:
                return tuple(found)
    return tuple(found)


_LARGE_BIB = 8_000_000
_BIB_SUFFIXES = (".bib", ".bibtex")
_QUARTO = ("_quarto.yml", "_metadata.yml", "_bookdown.yml", "_output.yml")
"""Files of a Quarto project or R Markdown folder that may declare bibliographies."""
_BOOK_INDEXES = ("index.Rmd", "index.rmd", "index.qmd", "index.md")
"""The first file of a book; its header applies to all chapters."""
_BUILD_FILES = ("latexmkrc", ".latexmkrc", "Makefile", "makefile", "GNUmakefile")
_INPUTS = re.compile(
    r"""BIBINPUTS['"}\]]*\s*(?:[:?+.]?=|,)[ \t]*"""
    r"""(?:'(?P<one>[^'\n]*)'|"(?P<two>[^"\n]*)"|(?P<bare>[^\s;]+))"""
)
_HERE = re.compile(r"\$[({]?(?:CURDIR|PWD)[)}]?|\$[({]shell pwd[)}]")
_MACRO = re.compile(r"\\([A-Za-z]+)(?:\{\}|\s+)?")
_GLOB = re.compile(r"[*?\[{]")
_MAX_FOLDERS = 200
_MAX_GLOB = 100
_MAX_EXPANSIONS = 8

Text = Callable[[Path], str | None]


class BibPlaces:
    """Finds the bibliographies that one paper declares."""

    def __init__(
        self,
        root: Path,
        roots: Sequence[Path],
        macros: Mapping[str, str],
        is_file: Callable[[Path], bool],
        text_of: Text,
        *,
        matching: Callable[[Path, str], Iterable[Path]],
    ) -> None:
        """`matching` returns the files that match a pattern, relative to a folder."""
        self.root = root
        self.roots = roots
        self.macros = macros
        """Values of the paper's commands without arguments."""
        self.is_file = is_file
        self.text_of = text_of
        self.matching = matching
        self._inputs: list[Path] | None = None

    def paths(self, declaration: BibDeclaration, source: Path) -> tuple[Path, ...] | None:
        """The files that a declaration in `source` names, existing or not; None for an undefined
        macro, and for an address.

        Looks where BibTeX does: beside the root and the source, in `BIBINPUTS` of the environment
        and of the paper's build files, in each folder above, from which LaTeX may be run, and in
        the personal TeX tree.
        """
        target = self._expand(declaration.target)
        if "\\" in target or "#" in target or "://" in target or "\x00" in target:
            return None
        names = target.split(",") if target != declaration.target else [target]
        found: list[Path] = []
        for name in filter(None, map(str.strip, names)):
            found += self._named(name, declaration, source)
        return tuple(dict.fromkeys(found))

    def _named(self, name: str, declaration: BibDeclaration, source: Path) -> Iterator[Path]:
        is_yaml = declaration.command == "yaml"
        near = [source.parent, self.root.parent] if is_yaml else [self.root.parent, source.parent]
        if declaration.has_glob and _GLOB.search(name):
            for folder in dict.fromkeys(near):
                if matches := self._glob(folder, name):
                    yield from matches
                    return
            return
        suffixes = (*_BIB_SUFFIXES, *CSL_SUFFIXES)
        if not name.lower().endswith(suffixes):
            name += ".bib"
        elif not is_yaml and not name.lower().endswith(_BIB_SUFFIXES):
            return
        places = (absolute(folder / name) for folder in self._folders(near, source))
        first = absolute(near[0] / name)
        if name.startswith("/") and not self.is_file(first):
            # Some authors on Windows write it so: relative to the paper's folder.
            name = name.lstrip("/")
            first = absolute(near[0] / name)
        yield next((path for path in places if self.is_file(path)), first)

    def _glob(self, folder: Path, pattern: str) -> list[Path]:
        """The files that match a biblatex pattern, in order."""
        matches: set[Path] = set()
        for one in _alternatives(pattern):
            try:
                for path in self.matching(folder, one):
                    if path.suffix.lower() in _BIB_SUFFIXES:
                        matches.add(absolute(path))
                    if len(matches) >= _MAX_GLOB:
                        break
            except (OSError, ValueError, NotImplementedError):
                continue
        return sorted(matches)

    def _folders(self, near: Iterable[Path], source: Path) -> Iterator[Path]:
        yield from near
        for folder in os.environ.get("BIBINPUTS", "").split(os.pathsep):
            if folder:
                yield from _with_subfolders(Path(), folder)
        if self._inputs is None:
            self._inputs = list(self._build_inputs())
        yield from self._inputs
        yield from folders_above(self.root, self.roots)
        yield from folders_above(source, self.roots)
        yield from personal_folders()

    def _build_inputs(self) -> Iterator[Path]:
        """The folders of `BIBINPUTS` in latexmkrc files and Makefiles of the paper."""
        for folder in folders_above(self.root, self.roots):
            for name in _BUILD_FILES:
                path = folder / name
                text = self.text_of(path) if self.is_file(path) else None
                for found in _INPUTS.finditer(text or ""):
                    value = found["one"] or found["two"] or found["bare"] or ""
                    for part in re.split(r"[:;](?![\\/](?!/|$))", _HERE.sub(".", value)):
                        if part and "$" not in part:
                            yield from _with_subfolders(folder, part)

    def _expand(self, target: str) -> str:
        """The target with the known macros expanded."""
        for _ in range(_MAX_EXPANSIONS):
            if "\\" not in target or len(target) > 2_000:
                break
            target = _MACRO.sub(self._value, target)
        return target

    def _value(self, macro: re.Match[str]) -> str:
        if macro[1] == "jobname":
            return self.root.stem
        return self.macros.get(macro[1], macro[0])


def _with_subfolders(base: Path, written: str) -> Iterator[Path]:
    """A folder of `BIBINPUTS`, with its subfolders if it ends with two slashes."""
    top = base / written
    yield top
    if written.endswith(("//", "\\\\")):
        for count, (folder, inner, _) in enumerate(os.walk(top)):
            if count >= _MAX_FOLDERS:
                return
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            yield Path(folder)


def _alternatives(pattern: str) -> list[str]:
    """The patterns that one with `{a,b}` expands to."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    if found is None:
        return [pattern]
    head, tail = pattern[: found.start()], pattern[found.end() :]
    return [one for part in found[1].split(",")[:20] for one in _alternatives(head + part + tail)]


def shared_declarations(
    source: Path,
    document: Document,
    roots: Collection[Path],
    text_of: Text,
    is_file: Callable[[Path], bool],
) -> Iterator[BibDeclaration]:
    """The declarations that apply to a Markdown file from its project: from `_quarto.yml` and the
    like, and from the header of a book's first file, in its folder or one above."""
    if document.format is not Format.MARKDOWN:
        return
    for folder in list(source.parents)[:4]:
        names = [name for name in _QUARTO if is_file(folder / name)]
        indexes = [name for name in _BOOK_INDEXES if is_file(folder / name)]
        for name in (*names, *indexes):
            path = folder / name
            text = text_of(path) or ""
            span = Span(0, len(text))
            if name in indexes:
                head = front_matter_span(text)
                is_book = names or (head and "\nsite:" in text[: head[1]])
                if head is None or not is_book or path == source:
                    continue
                span = head[0]
            for target, place in read_front_matter(text, span).bibliographies:
                yield BibDeclaration(str(folder / target), place, "yaml")
        if folder in roots or is_file(folder / "_quarto.yml"):
            return


def lone_bib(folder: Path) -> Path | None:
    """The only .bib of a folder; None if there is none or more than one."""
    try:
        found = [path for path in folder.iterdir() if path.suffix.lower() == ".bib"]
    except OSError:
        return None
    return found[0] if len(found) == 1 else None


def is_collection(path: Path, bib: BibFile | None) -> bool:
    """Whether a .bib is a collection for all papers, such as that of the whole ACL Anthology."""
    return path.stem.lower().startswith("anthology") or (
        bib is not None and len(bib.text) > _LARGE_BIB
    )


# The edit that makes a paper use a bibliography it does not declare.

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
"""Bibliography styles by the prefix of a package's name."""
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
    r"""Declare `bib` in the paper with the main file `root`; None if there is no place for it.

    An existing declaration is extended, even an empty one, since BibTeX allows only one
    `\bibliography`; otherwise one is added where the format requires it.
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
    """The first declaration outside comments without a file."""
    for found in _EMPTY.finditer(text):
        line = max(text.rfind("\n", 0, found.start()), text.rfind("\r", 0, found.start())) + 1
        if not _COMMENT.search(text, line, found.start()):
            return found
    return None


def _filled(
    path: Path, empty: re.Match[str], name: str, sources: Iterable[str], document: Document
) -> FileEdit:
    """Name the file in a declaration without one."""
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
    """The path of `bib` in the document: relative, with forward slashes."""
    try:
        return Path(os.path.relpath(bib, root.parent)).as_posix()
    except ValueError:  # on another drive
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
    r"""The edit that adds `lines` before `\end{document}`."""
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
        if front.bibliography_key is not None:  # `bibliography:` without a value
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
