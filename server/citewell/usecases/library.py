"""An open library of papers, the interface of the command line and of Python programs.

`citewell.open_library` makes one with the settings of the command line; a command with its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from citewell.documents.bib.edit import new_bib_text
from citewell.documents.project.files import FileCache, format_of
from citewell.documents.project.includes import absolute
from citewell.documents.project.paper_project import Project
from citewell.engine.contract import Checks
from citewell.features.actions.verification import plan_fixes
from citewell.features.checking.check import claims_in_files, references_in
from citewell.features.citing.known_works import work_named
from citewell.features.citing.write import write_plan
from citewell.model import CitewellError, Problem, Query, Work
from citewell.model.bib import BibFile
from citewell.model.cancel import Cancel
from citewell.model.check import Check, Claim
from citewell.model.document import USUAL_SUFFIXES, Document, Format
from citewell.model.feedback import Through
from citewell.model.system.files import Closing
from citewell.options import Options
from citewell.options.folders import working_folder
from citewell.options.merge import library_settings, load, wrong_flags
from citewell.sources.service import ONLINE_SECONDS
from citewell.usecases.check import (
    SLICE,
    CheckTask,
    bibs_of,
    citing_documents,
    plan_changes,
    projects_in,
    workspace_of,
)
from citewell.usecases.fill import (
    CANDIDATES,
    Choose,
    FillPlan,
    FillTask,
    learn_fill,
    with_unattended,
)
from citewell.usecases.find import (
    Found,
    Progress,
    find_in_one_pass,
    find_papers,
    in_sentence,
    no_progress,
)
from citewell.usecases.weights import order_weights
from citewell.verification.checker import BATCH

if TYPE_CHECKING:
    from citewell.corpus.library import Library as Corpus
    from citewell.engine.local import LocalEngine
    from citewell.engine.retrievers import Opened
    from citewell.features.actions.verification import FixPlan
    from citewell.features.checking.codes import CodeSelection
    from citewell.features.checking.report import Policy
    from citewell.features.review.report import Review
    from citewell.usecases.check import ChangePlan
    from citewell.usecases.explore.contract import Exploration, ExploreQuery

LOADING_SECONDS = 120.0
"""Seconds that the first search waits for models being loaded."""
BUILT = ".built"
"""Folder next to the libraries for works from Python."""
SOURCES_SECONDS = 30.0
"""Seconds that `find` waits for the sources; later answers are left out."""


def open_library(
    name: str = "", *, online: bool = False, settings: Mapping[str, Any] | None = None
) -> Library:
    """The library of this name or in this folder; by default the one that the settings name.

    The settings are those of the command line: the user's file, `citewell.toml` and the
    environment, below `settings` by dotted name (`{"bib.indent": 4}`). With `online` the allowed
    sources are asked, too. Raises `CitewellError` for a setting that cannot hold, and where no
    source is allowed; a library that is missing is a problem of each answer.
    """
    flags = {**(settings or {}), **library_settings(name)}
    if wrong := wrong_flags(flags):
        raise CitewellError(wrong[0])
    return Library(load(None, overrides=flags, document=working_folder()).options, online=online)


class Library(Closing):
    """Finds papers, fills and checks documents. To be closed, or used in a `with` statement.
    Indexes are opened by the first search; a check needs none."""

    def __init__(self, options: Options, *, online: bool = False) -> None:
        """Open nothing yet. Raises `CitewellError` where sources are wanted and none is allowed."""
        if online and not options.sources.allow:
            from citewell.engine.online import OFF

            raise CitewellError(OFF)
        self.options = options
        self.online = online

    def close(self) -> None:
        """Close the library's files."""
        for name in ("engine", "checker"):
            if (opened := self.__dict__.pop(name, None)) is not None:
                opened.close()

    @cached_property
    def engine(self) -> LocalEngine:
        """An engine in this process; a library that cannot be opened is a problem of its
        answers."""
        from citewell.engine.local import LocalEngine

        sources = replace(self.options.sources, search=self.online)
        engine = LocalEngine.open(replace(self.options, sources=sources))
        engine.load(LOADING_SECONDS)
        return engine

    @cached_property
    def checker(self) -> LocalEngine:
        """An engine without indexes, models and history, which checks do not need."""
        from citewell.engine.local import LocalEngine
        from citewell.engine.retrievers import Opened

        def nothing(library: Corpus, options: Options) -> Opened:
            return Opened()

        base, default = self.options, Options()
        sources = base.sources
        if not self.online:
            sources = replace(default.sources, keep=base.sources.keep)
        return LocalEngine.open(
            replace(
                base,
                sources=replace(sources, search=False),
                llm=default.llm,
                learning=replace(base.learning, enabled=False),
                retrieval=replace(base.retrieval, ranker="none", cross_encoder=""),
            ),
            retrievers=nothing,
        )

    # -- find ----------------------------------------------------------------------------------

    def find(
        self,
        text: str = "",
        limit: int = 10,
        *,
        author: str = "",
        venue: str = "",
        kind: str = "",
        language: str = "",
        strict_language: bool = False,
        year_from: int | None = None,
        year_to: int | None = None,
        weights: str = "",
        pick: bool = False,
        model: bool = True,
    ) -> Found:
        """The best papers for a title, a topic, a sentence or an identifier.

        Filters work without words; `kind` is an entry type, "survey", "dataset" or "benchmark". A
        paper without a stated language passes `language` unless `strict_language`. `weights`, such
        as "relevance=1,authority=.3,recent=.2", order the 100 most relevant. With `pick` the
        language model chooses one, which comes first; without `model` nothing is sent to it.
        """
        return self.find_many(
            [text],
            limit,
            author=author,
            venue=venue,
            kind=kind,
            language=language,
            strict_language=strict_language,
            year_from=year_from,
            year_to=year_to,
            weights=weights,
            pick=pick,
            model=model,
        )[0]

    def find_many(
        self,
        texts: Iterable[str],
        limit: int = 10,
        *,
        pick: bool = False,
        weights: str = "",
        **filters: Any,
    ) -> list[Found]:
        """Return the answer of `find` to each text, in order, in one pass over the index; `filters`
        are those of `find`. An online library asks the sources for one text after the other."""
        queries = [in_sentence(Query(text=text, **filters), self.options) for text in texts]
        depth = self.options.llm.pick_depth if pick else 0
        how = order_weights(weights)
        if not self.online and len(queries) > 1:
            return find_in_one_pass(self.engine, queries, limit, pick=depth, weights=how)
        found: list[Found] = []
        for query in queries:
            if self.online:
                self.engine.wait_online(query, SOURCES_SECONDS)
            found += find_papers(self.engine, [query], limit, pick=depth, weights=how)
        return found

    def explore(self, request: ExploreQuery, cancel: Cancel | None = None) -> Iterator[Exploration]:
        """A literature search: the list after each pass. See `usecases.explore.passes.explore`."""
        from citewell.usecases.explore.passes import explore

        request = replace(request, online=self.online)
        return explore(self.engine, request, cancel=cancel)

    def bibtex(self, works: Sequence[Work]) -> str:
        """The works as BibTeX entries in the style of the settings, with distinct keys."""
        taken: set[str] = set()
        texts = []
        for work in works:
            text, key = new_bib_text(work, None, self.options.bib, taken)
            taken |= {key, key.lower()}
            texts.append(text)
        return "\n".join(texts)

    def accept(self, works: Sequence[Work]) -> tuple[Problem, ...]:
        """Store those of the works that came from a source, so that they are found without network
        from then on (`sources.keep`); return problems."""
        return self.engine.keep([work.id for work in works])

    def build(
        self, works: Iterable[Work], progress: Progress = no_progress, cancel: Cancel | None = None
    ) -> int:
        """Build the library from these works and its other sources; return its number of works.

        They replace the works of an earlier call, and are stored next to the library. Only `id` and
        `title` are needed. Raises `Cancelled`, and `CitewellError` if it cannot be built.
        """
        from citewell.corpus.layout import library_path
        from citewell.model.system.files import write_atomically
        from citewell.usecases.library_fetch import Built, run_command

        own = self.options.library
        path = library_path(own.path, own.name)
        file = path.parent / BUILT / f"{own.name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = [
            msgspec.json.encode(
                {**msgspec.to_builtins(one), "authors": [author.display for author in one.authors]}
            )
            for one in works
        ]
        write_atomically(file, b"\n".join((*lines, b"")))
        self.close()
        arguments = ["library", "add", "--json", "--format", "records", "--", str(file)]
        return run_command(self.options, arguments, Built, progress, cancel).works

    # -- fill ----------------------------------------------------------------------------------

    def fill(
        self,
        paper: str | Path,
        *,
        threshold: float | None = None,
        unattended: bool = False,
        count: int = CANDIDATES,
        seconds: float = ONLINE_SECONDS,
        choices: Mapping[str, Work | None] | None = None,
        choose: Choose | None = None,
        model: bool = True,
        progress: Progress = no_progress,
        cancel: Cancel | None = None,
    ) -> FillPlan:
        """Plan a citation for every placeholder of a paper and its files; nothing is written.

        Without `model` nothing is sent to the language model. See `FillTask`; an online library
        asks the allowed sources for what it answers badly, for at most `seconds`. Raises
        `CitewellError` for a file that is no LaTeX and no Markdown.
        """
        paper = Path(paper)
        if format_of(paper) in (None, Format.BIBTEX):
            raise CitewellError(_not_a_paper(paper))
        options = with_unattended(self.options, unattended=unattended)
        task = FillTask(
            self.engine,
            options,
            threshold=threshold,
            count=count,
            online=self.online,
            seconds=seconds,
            choices=choices,
            choose=choose,
            model=model,
        )

        def plan() -> FillPlan:
            project = Project.open(paper, options.documents, bib_options=options.bib)
            return replace(task.run(project, progress, cancel), again=plan)

        return plan()

    def write(
        self, plan: FillPlan | FixPlan | ChangePlan, through: Through = "fill"
    ) -> tuple[Problem, ...]:
        """Write the edits of a plan, all or none, and learn from it; return problems.

        If a file has changed, the plan is repeated for its current content. Raises `CitewellError`,
        and writes nothing, if the file changes constantly.
        """
        plan = write_plan(plan, plan.again)
        return learn_fill(self.engine, plan, through) if isinstance(plan, FillPlan) else ()

    # -- check ---------------------------------------------------------------------------------

    def check(self, *paths: str | Path, text: str = "", every: bool = False) -> Checks:
        """The verdicts on the references of .bib files, papers, lists and folders, and of a text.

        For a paper, the cited references; with `every`, all of its .bib. A file that cannot be read
        is a problem. Raises `CitewellError` where the library is missing.
        """
        read = claims_in_files(
            [Path(path) for path in paths],
            self.options.documents,
            every=every,
            pdf=self.options.pdf,
        )
        pasted = references_in(text)
        found = self.check_claims((*read.claims, *pasted.claims))
        return replace(found, problems=(*read.problems, *pasted.problems, *found.problems))

    def check_claims(
        self,
        claims: Sequence[Claim],
        *,
        seconds: float = ONLINE_SECONDS,
        progress: Progress = no_progress,
        cancel: Cancel | None = None,
    ) -> Checks:
        """The verdicts on parsed references; sources have `seconds` to answer."""
        if not claims:
            return Checks()
        size = SLICE if self.online else BATCH
        task = CheckTask(self.checker, claims, online=self.online, seconds=seconds, size=size)
        found = task.run(progress, cancel)
        if not self.online:
            return found
        # Without a library, only the sources were queried.
        return replace(found, problems=(*self.checker.status().problems, *found.problems))

    def fixes(self, checks: Sequence[Check], *, unsafe: bool = False) -> FixPlan:
        """Plan corrections of the checked .bib files; each is checked again (`write`)."""

        def recheck(claims: Sequence[Claim]) -> Sequence[Check]:
            return CheckTask(self.checker, claims).run().checks

        def plan() -> FixPlan:
            planned = plan_fixes(checks, recheck, unsafe=unsafe, root=working_folder())
            return replace(planned, again=plan)

        return plan()

    def review(
        self,
        paper: str | Path,
        *,
        selection: CodeSelection | None = None,
        policy: Policy | None = None,
        seconds: float = ONLINE_SECONDS,
        progress: Progress = no_progress,
        cancel: Cancel | None = None,
    ) -> Review:
        """Review a paper, all papers of a folder, or a .bib: all that is wrong with the citations,
        and what may be missing. Nothing is changed.

        `selection` are parts and codes (default: all), `policy` weighs the findings; sources of an
        online library have `seconds` to answer. Raises `CitewellError` for what is no paper, and
        where the library is missing.
        """
        from citewell.usecases.review import ReviewTask, papers_at

        papers, bibs, problems = papers_at(Path(paper), self.options)
        task = ReviewTask(
            self.engine,
            self.options,
            papers,
            bibs,
            selection=selection,
            policy=policy,
            online=self.online,
            seconds=seconds,
            folder=Path(paper) if Path(paper).is_dir() else None,
        )
        found = task.run(progress, cancel)
        return replace(found, problems=tuple(dict.fromkeys((*problems, *found.problems))))

    def consistent(self, paper: str | Path, selection: CodeSelection | None = None) -> ChangePlan:
        """Plan what makes the bibliographies of a paper consistent, as far as that can be written
        without its author (`write`)."""
        from citewell.usecases.review import plan_consistency

        def plan() -> ChangePlan:
            planned = plan_consistency(Path(paper), self.options, selection, working_folder())
            return replace(planned, again=plan)

        return plan()

    def changes(self, paths: Sequence[str | Path], changes: Mapping[str, str]) -> ChangePlan:
        """Plan changes of entries of .bib files, by key: "mark" as checked, "remove" with its
        citations, "record" for the record that the check found, or the id of the intended paper
        (`write`). `paths` are .bib files, papers or folders.

        Raises `CitewellError` if a change is impossible.
        """

        def citing(bib: BibFile, key: str) -> Mapping[Path, Document]:
            folders = dict.fromkeys(map(workspace_of, (Path(bib.path), *map(absolute, paths))))
            cache = FileCache(self.options.documents)
            projects = projects_in(list(folders), cache, lambda path: None)
            return citing_documents(projects, bib, key)

        def plan() -> ChangePlan:
            read = claims_in_files(list(map(Path, paths)), self.options.documents, every=True)
            if not read.claims and read.problems:
                raise CitewellError(read.problems[0])
            planned = plan_changes(
                changes,
                bibs_of(read.claims),
                check=lambda claims: self.check_claims(claims).checks,
                work_named=lambda name: work_named(self.engine, name),
                citing=citing,
                shown=lambda path: os.path.relpath(path).replace(os.sep, "/"),
            )
            return replace(planned, again=plan)

        return plan()


def _not_a_paper(path: Path) -> Problem:
    return Problem(
        "paper-format",
        f"{path.name} is neither a LaTeX nor a Markdown file.",
        f"Name a paper: {', '.join(USUAL_SUFFIXES[:-1])} or {USUAL_SUFFIXES[-1]}.",
    )
