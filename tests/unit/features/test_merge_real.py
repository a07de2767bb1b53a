"""Merging on every bibliography of real papers: the keys change, and no other byte."""

from __future__ import annotations

from pathlib import Path

from citewell.documents.bib.reader import parse_bib
from citewell.documents.keys.table import BibKeys, DocumentKeys, KeyTable
from citewell.documents.project.files import FileCache
from citewell.documents.project.paper_project import Project
from citewell.documents.textfile import apply_edits
from citewell.features.bib.actions import best_of, plan_merge, twins_of
from citewell.features.checking.lint import lint_bib
from citewell.features.checking.lint_rule import LintPaper
from citewell.model.bib import BibEntry, BibFile
from citewell.model.document import Document

SUFFIXES = (".tex", ".md", ".qmd", ".rmd", ".bib", ".sty", ".cls", ".yml")


def projects_of(folder: Path) -> list[Project]:
    """The papers of a repository, each with its files."""
    cache = FileCache()
    found: dict[Path, Project] = {}
    sources = [p for suffix in ("tex", "md", "qmd", "Rmd") for p in folder.rglob(f"*.{suffix}")]
    for source in sorted(sources):
        if any(source in project.documents for project in found.values()):
            continue
        project = Project.open(source, roots=[folder], cache=cache)
        if project.bibs:
            found[project.root] = project
    return list(found.values())


def pair_of(bib: BibFile, paper: LintPaper, table: KeyTable) -> tuple[str, list[str]] | None:
    """Two entries of one work, or, where there are none, any two: cited ones if there are such."""
    doubles = [r.data["key"] for r in lint_bib(bib, paper) if r.code == "duplicate-work"]
    for key in doubles:
        entry = bib.by_key[key]
        others = twins_of(bib, entry, paper)
        if others:
            return key, [other.key for other in others]
    plain = [e for e in bib.entries if e.names and bib.by_key.get(e.key) is e]
    used = [e for e in plain if table.count(e.key)]
    plain = used if len(used) > 1 else plain
    return (plain[0].key, [plain[-1].key]) if len(plain) > 1 else None


def between(document: Document) -> list[str]:
    """What stands outside of the citations."""
    edges = sorted((c.span.start, c.span.end) for c in document.citations)
    starts, ends = [0, *(end for _, end in edges)], [*(start for start, _ in edges)]
    return [document.text[a:b] for a, b in zip(starts, [*ends, len(document.text)], strict=True)]


def cited(document: Document, rename: dict[str, str]) -> list[list[str]]:
    """The keys of each citation; one that is merged counts once in it."""
    return [
        list(dict.fromkeys(rename.get(use.key, use.key) for use in citation.keys))
        for citation in document.citations
    ]


def others(bib: BibFile, without: set[str]) -> list[str]:
    return [e.body.text for e in bib.entries if e.key not in without]


def test_a_merge_changes_keys_and_entries_and_nothing_else_in_any_real_paper(
    shared_data: Path, tmp_path: Path
) -> None:
    # A paper of which a file cannot be written is left alone: so these are copied.
    for kind in ("latex", "markdown"):
        for source in (shared_data / "projects" / kind).rglob("*"):
            if source.suffix.lower() in SUFFIXES:
                copy = tmp_path / kind / source.relative_to(shared_data / "projects" / kind)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(source.read_bytes())
    folders = [p for kind in ("latex", "markdown") for p in (tmp_path / kind).iterdir()]
    merged = rewritten = 0
    for folder in sorted(folders):
        for project in projects_of(folder):
            table = KeyTable(
                {p: DocumentKeys(p, d) for p, d in project.documents.items()}
                | {p: BibKeys(p, b) for p, b in project.bibs.items()}
            )
            paper = LintPaper([project])
            for path, bib in project.bibs.items():
                pair = pair_of(bib, paper, table)
                if pair is None or not project.may_write(path):
                    continue
                keys = {pair[0], *pair[1]}
                kept: BibEntry = best_of([bib.by_key[key] for key in sorted(keys)], table)
                gone = [e for e in bib.entries if e.key in keys - {kept.key}]
                plan = plan_merge(bib, kept, gone, table, [project])
                assert not plan.problems, path
                rename = {entry.key: kept.key for entry in gone}
                for file in plan.edits:
                    where = Path(file.path)
                    text = plan.texts[where]
                    done = apply_edits(text, file.edits)
                    if where == path:
                        after = parse_bib(done)
                        assert others(after, keys) == others(bib, keys), path
                        one = after.by_key[kept.key]
                        assert set(kept.names) <= set(one.names)
                        for name in kept.names:
                            assert one.get(name) == kept.get(name), (path, name)
                        merged += 1
                        continue
                    before = project.documents[where]
                    now = project.scan(where, done)
                    assert between(now) == between(before), where
                    assert cited(now, {}) == cited(before, rename), where
                    rewritten += 1
    assert merged > 60
    assert rewritten > 30
