"""Citations in the author's own manuscripts, with their sentences.

Manuscripts do not become papers of the library: an unfinished paper must never be suggested as a
reference. Only their citations are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from citewell.documents.context import context_at
from citewell.documents.project.files import FileCache, format_of
from citewell.documents.project.paper_project import Project
from citewell.model import Reference, Work
from citewell.model.document import PAPER_SUFFIXES, Format
from citewell.model.titles import title_key
from citewell.options.tree import DocumentOptions
from citewell_corpus.importers.contract import MAX_CITED, CitedWork, ImportReport, PaperCitations
from citewell_corpus.importers.files import FileImporter

TELLING_TITLE = 13
"""Minimum letters of a distinctive title. A paper's own citations are excluded while it is written
or evaluated, and only its title identifies it."""
_MAX_PASSAGES = 2_000
_MAX_SENTENCE = 2_000


class ManuscriptImporter(FileImporter):
    """A .tex or Markdown file with its .bib, or, named by its format, a folder of such papers."""

    name = "manuscripts"
    about = "Your own papers (.tex, Markdown) with their .bib: how they cite, no records"
    suffixes = (*PAPER_SUFFIXES, ".bib")

    def recognise(self, path: Path) -> bool:
        """A folder needs `--format`: most folders of papers are added for their .bib."""
        return path.is_file() and self.recognise_file(path)

    def recognise_file(self, path: Path) -> bool:
        return format_of(path) not in (None, Format.BIBTEX)

    def files(self, folder: Path) -> list[Path]:
        """All manuscripts of a folder; for a single file, all files of its paper."""
        if folder.is_dir():
            return super().files(folder)
        project = Project.open(folder, DocumentOptions())
        return sorted({folder, *project.documents, *project.bibs})

    def read(self, path: Path, report: ImportReport) -> Iterator[Work]:
        """Yields no works; passes each paper to `report.cites` once."""
        seen: dict[str, PaperCitations] = {}
        done: set[Path] = set()
        cache = FileCache(DocumentOptions())
        for file in self.files(path) if path.is_dir() else [path]:
            if file in done or not self.recognise_file(file):
                continue
            project = Project.open(file, DocumentOptions(), cache=cache)
            done.update(project.documents)
            citing = _citing(project)
            if not citing.cited:
                report.skip("manuscripts without citations of a .bib")
            elif len(title_key(citing.title)) < TELLING_TITLE:
                report.skip("manuscripts without a distinctive title")
            else:
                # Posters, drafts and copies share a title: keep the most complete one.
                key = title_key(citing.title)
                held = seen.get(key)
                if held is not None:
                    report.skip("other versions of a manuscript")
                if held is None or len(held.passages) < len(citing.passages):
                    seen[key] = citing
        for citing in seen.values():
            report.cites(citing)
        yield from ()


def _citing(project: Project) -> PaperCitations:
    """The references that the text cites, each with its sentences."""
    paper = project.citing_paper()
    known: dict[str, Reference] = {one.key: one for one in paper.references if one.title}
    number: dict[str, int] = {}
    cited: list[CitedWork] = []
    passages: list[tuple[int, str]] = []
    for document in project.documents.values():
        for citation in document.citations:
            keys = dict.fromkeys(use.key for use in citation.keys if use.key in known)
            if not keys or len(cited) >= MAX_CITED:
                continue
            sentence = ""
            if not citation.command.startswith("nocite") and len(passages) < _MAX_PASSAGES:
                sentence = context_at(document, citation.span.start).sentence[:_MAX_SENTENCE]
            for key in keys:
                if key not in number:
                    number[key] = len(cited)
                    cited.append(CitedWork(known[key].title))
                if sentence:
                    passages.append((number[key], sentence))
    return PaperCitations(paper.title, tuple(cited), paper.abstract, tuple(passages))
