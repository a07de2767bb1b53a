"""Reviews a whole paper: what is wrong with its citations, and what may be missing.

Read-only. The diagnostics of keys and references are those of an editor, so comments and settings
that silence one there silence it here; all other findings can be silenced in the same way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from citewell.documents.bib.reader import check_edits
from citewell.documents.project.files import FileCache, SourceFiles, format_of
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.documents.project.workspace import Workspace
from citewell.documents.textfile import apply_edits
from citewell.engine.contract import Engine
from citewell.features.checking.check import (
    CODES,
    FABRICATED,
    NOT_FOUND,
    claim_diagnostics,
    diagnose,
    question,
    question_digest,
)
from citewell.features.checking.codes import OWN, CodeSelection
from citewell.features.checking.lint import is_distributed
from citewell.features.checking.lint_rule import LintPaper, level_of
from citewell.features.checking.report import POLICIES, Policy, Weight
from citewell.features.citing.hover import shown_path
from citewell.features.citing.write import unified_diff
from citewell.features.review.consistency import inconsistencies
from citewell.features.review.names import (
    is_listed,
    listed_references,
    name_diagnostics,
    sentence_diagnostics,
    uncited_names,
)
from citewell.features.review.report import Review, ReviewFinding, figures_of, in_order, located
from citewell.model import CitewellError, Problem
from citewell.model.bib import BibEntry, BibFile, FileEdit, TextEdit
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Verdict
from citewell.model.display_text import shorten
from citewell.model.document import Diagnostic, Document, Format, Level, Span
from citewell.model.titles import fold, normalise_title, title_key
from citewell.options import Options
from citewell.sources.service import ONLINE_SECONDS
from citewell.usecases.check import ChangePlan, CheckTask
from citewell.usecases.find import Progress, no_progress
from citewell.verification.claims import claims_of_thebibliography

MOST_SUGGESTED = 10
FEWEST_BESIDE = 3
"""References beside which others cite a suggested work, at least."""
READING = "reading the paper"


def papers_at(path: Path, options: Options) -> tuple[list[Project], list[BibFile], list[Problem]]:
    """The papers of a file or a folder, the .bib files that none of them uses, and what could not
    be read. Raises `CitewellError` for a file that is neither a paper nor a .bib, and for a folder
    without any."""
    if path.is_dir():
        roots = [absolute(path)]
        cache = FileCache(options.documents)
        workspace = Workspace(cache, roots=roots, bib_options=options.bib)
        workspace.refresh(lambda path: None, opened=SourceFiles(roots).list())
        papers = [one for one in workspace.projects if one.root_document.format != Format.BIBTEX]
        used = {bib.path for project in papers for bib in project.bibliographies}
        lone = [bib for bib in workspace.bibs() if bib.path not in used]
        if not papers and not lone:
            raise CitewellError(_no_paper(path, "has no paper in LaTeX or Markdown, and no .bib."))
        return papers, lone, [one for project in papers for one in project.problems]
    kind = format_of(path)
    if not path.is_file() or kind is None:
        reason = "is no paper in LaTeX or Markdown, no .bib and no folder."
        raise CitewellError(_no_paper(path, reason))
    project = Project.open(path, options.documents, bib_options=options.bib)
    if kind is Format.BIBTEX and project.root_document.format is Format.BIBTEX:
        return [], list(project.bibliographies), list(project.problems)
    return [project], [], list(project.problems)


def _no_paper(path: Path, reason: str) -> Problem:
    return Problem(
        "review-no-paper",
        f"{path.resolve().name} {reason}",
        "Name the main file of a paper, or its folder.",
        path=str(path),
    )


class ReviewTask:
    """A review of some papers, and of .bib files that none of them uses."""

    def __init__(
        self,
        engine: Engine,
        options: Options,
        papers: Sequence[Project],
        bibs: Sequence[BibFile] = (),
        *,
        selection: CodeSelection | None = None,
        policy: Policy | None = None,
        online: bool = False,
        seconds: float = ONLINE_SECONDS,
        folder: Path | None = None,
    ) -> None:
        """With `online` the allowed sources are asked about references, for at most `seconds`.
        `folder` has all files (default: that of the paper); a finding keeps its fingerprint when
        the folder moves."""
        self._engine = engine
        self._options = options
        self._papers = papers
        self._selection = selection or CodeSelection()
        self._policy = policy or POLICIES["default"]
        self._online, self._seconds = online, seconds
        roots = [*(one.root for one in papers), *(Path(one.path) for one in bibs)]
        self._folder = absolute(folder) if folder is not None else next(iter(roots), Path()).parent
        self._sources: dict[Path, Document | BibFile] = {}
        self._bibs: dict[Path, BibFile] = {}
        self._holders: dict[Path, list[Project]] = defaultdict(list)
        for paper in papers:
            self._bibs |= paper.bibs
            for path, source in (*paper.documents.items(), *paper.bibs.items()):
                self._sources.setdefault(path, source)  # type: ignore[arg-type]
                self._holders[path].append(paper)
        self._bibs |= {Path(bib.path): bib for bib in bibs}
        self._sources = {**self._bibs, **self._sources}
        self._checks: dict[bytes, Check] = {}
        self._listed: dict[tuple[str, str], Check] = {}
        self._suggested: set[str] = set()
        self._more: dict[Path, list[Diagnostic]] = defaultdict(list)
        self._others: dict[Path, list[Diagnostic]] = defaultdict(list)

    def run(self, progress: Progress = no_progress, cancel: Cancel | None = None) -> Review:
        """The review. Raises `Cancelled`, and `CitewellError` where the engine gives no answer."""
        cancel = cancel or Cancel()
        wants = self._selection.has_part
        problems: tuple[Problem, ...] = ()
        if wants("references"):
            problems = self._check(progress, cancel)
        progress(READING, 0, len(self._sources))
        if wants("consistency"):
            self._find_inconsistencies()
        for paper in self._papers:
            cancel.check()
            if wants("names"):
                self._find_names(paper)
            if wants("sentences"):
                self._find_sentences(paper)
            if wants("suggestions"):
                self._suggest(paper)
        found: list[ReviewFinding] = []
        for number, (path, source) in enumerate(self._sources.items()):
            cancel.check()
            progress(READING, number, len(self._sources))
            found += self._of_source(path, source)
        return Review(
            findings=in_order(one for one in found if self._selection.has(one.code)),
            figures=figures_of(self._papers),
            policy=self._policy.name,
            problems=problems,
        )

    def findings_by_file(self) -> dict[Path, tuple[str, tuple[Diagnostic, ...]]]:
        """The findings of each file with the text that was read; of those that only a review
        makes, also the silenced ones. For after the run."""
        return {
            path: (
                source.text,
                (*(one for one in self._more[path] if one.code in OWN), *self._others[path]),
            )
            for path, source in self._sources.items()
        }

    def _used(self) -> Iterator[tuple[BibFile, LintPaper, list[BibEntry]]]:
        """Each bibliography with its papers, and the entries that these use and read."""
        for path, bib in self._bibs.items():
            paper = LintPaper(self._holders[path])
            yield bib, paper, _read_entries(bib, paper)

    def _check(self, progress: Progress, cancel: Cancel) -> tuple[Problem, ...]:
        """Check what the papers cite."""
        claims: dict[bytes, bytes] = {}
        for bib, _, entries in self._used():
            for entry in entries:
                found_claim = question(bib, entry)
                if found_claim is not None:
                    claims.setdefault(found_claim.digest, found_claim.encoded)
        items = [
            claim
            for path, source in self._sources.items()
            if isinstance(source, Document) and source.bibitems
            for claim in claims_of_thebibliography(source.text, str(path))
        ]
        task = CheckTask(
            self._engine,
            [*claims.values(), *items],
            online=self._online,
            seconds=self._seconds,
        )
        found = task.run(progress, cancel)
        self._checks = dict(zip(claims, found.checks, strict=False))
        for check in found.checks[len(claims) :]:
            self._listed[check.claim.path, check.claim.key] = check
            self._more[Path(check.claim.path)] += claim_diagnostics(check)
        return found.problems

    def _find_inconsistencies(self) -> None:
        for bib, paper, entries in self._used():
            found = inconsistencies(bib, entries, keeps_case=_keeps_case(paper))
            self._more[Path(bib.path)] += [one.diagnostic for one in found]

    def _find_names(self, paper: Project) -> None:
        if any(not is_distributed(Path(one.path)) for one in paper.problems):
            return  # a file is missing: what the paper cites is unknown
        entries: dict[str, BibEntry] = {}
        for _, entry in paper.entries():
            entries.setdefault(entry.key, entry)
        lint = LintPaper([paper])
        own = [entry for entry in entries.values() if _is_used(lint, entry)]
        uses = uncited_names(paper.documents, own, paper.citing_paper().title)
        listed = normalise_title(listed_references(paper.documents.values()))
        works = [
            None if work is None or is_listed(work, own, listed) else work
            for work in self._engine.expected([use.name for use in uses])
        ]
        for path, one in name_diagnostics(uses, works, paper.documents, entries):
            self._add(path, one)

    def _add(self, path: Path, one: Diagnostic) -> None:
        """Report it once, though several papers may share the file."""
        if all(
            (one.code, one.span, one.message) != (o.code, o.span, o.message)
            for o in self._more[path]
        ):
            self._more[path].append(one)

    def _find_sentences(self, paper: Project) -> None:
        lint = LintPaper([paper])
        cited = {
            fold(author.family)
            for _, entry in paper.entries()
            if _is_used(lint, entry)
            for author in entry.body.authors
        }
        for path, one in sentence_diagnostics(paper.documents, cited):
            self._add(path, one)

    def _suggest(self, paper: Project) -> None:
        citing = paper.citing_paper()
        titles = {title_key(entry.get("title")) for _, entry in paper.entries()}
        titles.add(title_key(citing.title))
        listed = normalise_title(listed_references(paper.documents.values()))
        found = self._engine.suggest(citing, 3 * MOST_SUGGESTED)
        new = [one for one in found if title_key(one.work.title) not in titles]
        new = [one for one in new if not is_listed(one.work, (), listed)]
        new = [one for one in new if one.beside >= FEWEST_BESIDE]
        new = [one for one in new if one.work.id not in self._suggested]
        self._suggested.update(one.work.id for one in new[:MOST_SUGGESTED])
        for one in new[:MOST_SUGGESTED]:
            work = one.work
            who = ", ".join([*(author.family for author in work.authors[:1]), str(work.year or "")])
            self._add(
                paper.root,
                Diagnostic(
                    code="work-suggested",
                    span=Span(0, 0),
                    message=f"“{shorten(work.title, 120)}” ({who}) is cited together with "
                    f"{one.beside} of the references, by {one.papers:,} papers.",
                    level=Level.INFORMATION,
                    data={"work": work.id},
                ),
            )

    def _of_source(self, path: Path, source: Document | BibFile) -> Iterator[ReviewFinding]:
        """The findings of one file, as far as its author wants them."""
        blocks_not_found = self._policy.weight_of((Verdict.NOT_FOUND.value,)) is not Weight.NOTE
        options = msgspec.structs.replace(
            self._options.diagnostics,
            enabled=True,
            verification="all",
            list_not_found=blocks_not_found,
        )
        holders = self._holders[path]
        for one in diagnose(source, holders, options, self._checks.get, self._more[path]):
            # What is cited at a place is reported at its entry.
            if one.code != FABRICATED:
                if one.code not in OWN:
                    self._others[path].append(one)
                yield located(one, str(path), source, self._weight(one, source), self._folder)

    def _weight(self, one: Diagnostic, source: Document | BibFile) -> Weight:
        if one.code not in CODES:
            return self._policy.weight_of((one.code,))
        if one.level is Level.HINT and one.code != NOT_FOUND:
            return Weight.NOTE
        names = [one.code]
        if one.code == NOT_FOUND:
            names.append(Verdict.NOT_FOUND.value)
        key = one.data.get("key", "")
        check = self._listed.get((source.path, key))
        bib = self._bibs.get(Path(source.path))
        if bib is not None and (entry := bib.by_key.get(key)) is not None:
            check = self._checks.get(question_digest(bib, entry) or b"")
        if check is not None:
            names.append(check.verdict.value)
        return self._policy.weight_of(names)


def plan_consistency(
    path: Path, options: Options, selection: CodeSelection | None, folder: Path
) -> ChangePlan:
    """The edits that make the .bib files of a paper or folder consistent; diffs have paths as seen
    from `folder`. An edit inside another one is left for the next run."""
    papers, lone, _ = papers_at(path, options)
    wanted = selection or CodeSelection()

    def is_wanted(code: str) -> bool:
        return wanted.has(code) and level_of(code, options.diagnostics.severity) != "off"

    bibs = {
        bib.path: bib
        for paper in papers
        for bib in paper.bibliographies
        if paper.may_write(Path(bib.path))
    } | {bib.path: bib for bib in lone}
    edits = [
        edit
        for bib in bibs.values()
        for edit in consistent_edits(
            bib, [one for one in papers if Path(bib.path) in one.bibs], is_wanted
        )
    ]
    texts = {edit.path: bibs[edit.path].text for edit in edits}
    check_edits(edits, texts)
    diffs = tuple(
        unified_diff(
            texts[edit.path],
            apply_edits(texts[edit.path], edit.edits),
            shown_path(edit.path, str(folder / "any")),
        )
        for edit in edits
    )
    return ChangePlan(edits=tuple(edits), diffs=diffs, texts=texts)


def consistent_edits(
    bib: BibFile, papers: Sequence[Project], is_wanted: Callable[[str], bool]
) -> list[FileEdit]:
    """The edits that make a .bib of the papers consistent in the wanted codes; none where it is."""
    paper = LintPaper(papers)
    found = inconsistencies(bib, _read_entries(bib, paper), keeps_case=_keeps_case(paper))
    changes = [edit for one in found if is_wanted(one.code) for edit in one.edits]
    apart: list[TextEdit] = []
    for edit in sorted(changes, key=lambda one: one.span):
        if not apart or edit.span.start >= apart[-1].span.end:
            apart.append(edit)
    return [FileEdit(bib.path, tuple(apart))] if apart else []


def _is_used(paper: LintPaper, entry: BibEntry) -> bool:
    """Whether a paper uses an entry; of a file that no paper uses, all entries count."""
    return not paper.projects or paper.nocite_all or paper.is_used(entry)


def _read_entries(bib: BibFile, paper: LintPaper) -> list[BibEntry]:
    """The used entries, without those that an earlier one with the same key hides."""
    path = Path(bib.path)
    return [
        entry
        for key, entry in bib.by_key.items()
        if _is_used(paper, entry)
        and (
            not paper.projects
            or any((one.entry(key) or (path,))[0] == path for one in paper.projects)
        )
    ]


def _keeps_case(paper: LintPaper) -> bool:
    """Whether no style changes the capitals of names in titles: biblatex and citeproc do not."""
    formats = {one.format for one in paper.manuscripts}
    return paper.is_biblatex or (bool(formats) and Format.LATEX not in formats)
