"""The providers of code actions."""

from __future__ import annotations

from citewell.engine.worker_client import WorkerEngine
from citewell.lsp.documents.buffers import Buffers
from citewell.lsp.requests.actions.bib_path import BibPathActions
from citewell.lsp.requests.actions.bibliography import BibliographyActions
from citewell.lsp.requests.actions.contract import ActionProvider
from citewell.lsp.requests.actions.placeholder import PlaceholderActions, ShowProblems
from citewell.lsp.requests.actions.support import SupportActions
from citewell.lsp.requests.actions.uncited import UncitedActions
from citewell.lsp.requests.actions.undefined import MissingEntriesActions, UndefinedKeyActions
from citewell.lsp.requests.actions.verification import VerificationActions
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.state.checking import ReferenceChecks
from citewell.lsp.state.zotero import Zotero

KINDS = ("quickfix", "refactor.rewrite", "source", "citewell.ask")
"""The kinds of actions, which the server announces."""


def providers(
    buffers: Buffers,
    checks: ReferenceChecks,
    *,
    engine: WorkerEngine,
    zotero: Zotero,
    citing: CitationService,
    show_problems: ShowProblems,
) -> tuple[ActionProvider, ...]:
    """All that offer actions, in the order in which theirs are shown."""
    return (
        UndefinedKeyActions(engine, zotero, citing),
        MissingEntriesActions(engine, zotero),
        BibPathActions(),
        PlaceholderActions(engine, checks, citing, show_problems),
        UncitedActions(engine, citing),
        VerificationActions(checks, buffers, engine),
        BibliographyActions(engine),
        SupportActions(engine),
    )
