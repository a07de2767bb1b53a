"""Which file a declaration of a bibliography names."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from citewell.documents.markdown.yaml_block import read_front_matter
from citewell.documents.project.includes import absolute
from citewell.documents.project.texmf import personal_folders
from citewell.model.bib import BibFile
from citewell.model.document import BibDeclaration, Document, Format, Span

_LARGE_BIB = 8_000_000
_QUARTO = ("_quarto.yml", "_metadata.yml", "_bookdown.yml", "_output.yml")
"""Files of a Quarto project or R Markdown folder that may declare bibliographies."""


def declared_path(
    declaration: BibDeclaration, source: Path, root: Path, is_file: Callable[[Path], bool]
) -> Path | None:
    """The .bib that a declaration in `source` names, though it may not exist; None for a target
    that is no .bib. Looks where BibTeX does: beside the root and the source, in `BIBINPUTS`, and in
    the personal TeX tree."""
    target = declaration.target.replace("\\jobname", root.stem)
    if "\\" in target or "#" in target or "://" in target or "\x00" in target:
        return None
    if not target.lower().endswith((".bib", ".bibtex", ".json", ".yaml", ".yml")):
        target += ".bib"
    if not target.lower().endswith((".bib", ".bibtex")):
        return None
    folders = [root.parent, source.parent]
    if declaration.command == "yaml":
        folders.reverse()
    if os.environ.get("BIBINPUTS"):
        folders += [Path(p) for p in os.environ["BIBINPUTS"].split(os.pathsep) if p]
    folders += personal_folders()
    places = [absolute(folder / target) for folder in folders]
    return next((path for path in places if is_file(path)), places[0])


def quarto_declarations(
    source: Path,
    document: Document,
    roots: Collection[Path],
    text_of: Callable[[Path], str | None],
    is_file: Callable[[Path], bool],
) -> Iterator[BibDeclaration]:
    """What the `_quarto.yml` of the folder or of one above declares for a Markdown file."""
    if document.format is not Format.MARKDOWN:
        return
    for folder in list(source.parents)[:4]:
        for name in _QUARTO:
            path = folder / name
            text = text_of(path) if is_file(path) else None
            if text is not None:
                front = read_front_matter(text, Span(0, len(text)))
                for target, span in front.bibliographies:
                    yield BibDeclaration(str(folder / target), span, "yaml")
        if folder in roots or is_file(folder / "_quarto.yml"):
            return


def lone_bib(folder: Path) -> Path | None:
    """The only .bib of a folder; None where there is none or more than one."""
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
