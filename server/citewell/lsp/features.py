"""The table of what an editor may ask for: one line per feature, with what its handlers need."""

from __future__ import annotations

from itertools import chain

from citewell.lsp.commands import execute as commands
from citewell.lsp.commands import explore, online, reference_list
from citewell.lsp.commands import picker as picker_commands
from citewell.lsp.diagnostics import requests as diagnostics
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registry import Handlers, Switches
from citewell.lsp.requests import code_action, completion, display, hover, navigation, outline
from citewell.lsp.requests.citing import CitationService
from citewell.lsp.requests.code_action import providers
from citewell.lsp.state.session import EditorSession


def features(
    editor: Editor, session: EditorSession, switches: Switches, checked: diagnostics.Diagnostics
) -> Handlers:
    """Every request and command that is answered from the start, in the order of registration."""
    buffers, checks, projects = session.buffers, session.checks, session.projects
    consent = online.Consent(editor, buffers, session.reconfigure)
    engine, lists, zotero = session.engine, session.lists, session.zotero
    applier, edits, obstacles = session.applier, session.edits, session.obstacles
    citing = CitationService(
        projects, engine, checks, zotero=zotero, lists=lists, prefetch=session.prefetch
    )
    cards = hover.HoverCards(
        editor,
        projects,
        checks,
        engine=engine,
        cards=session.cards,
        citing=citing,
        zotero=zotero,
        switches=switches,
    )
    inserter = commands.Inserter(
        projects, applier, edits=edits, citing=citing, lists=lists, obstacles=obstacles
    )
    picker = picker_commands.CitationPicker(
        buffers,
        projects,
        checks,
        engine=engine,
        applier=applier,
        edits=edits,
        citing=citing,
        history=session.picker_history,
        obstacles=obstacles,
    )
    actions = code_action.CodeActions(
        editor,
        buffers,
        projects,
        applier=applier,
        edits=edits,
        obstacles=obstacles,
        offering=providers(
            buffers,
            checks,
            engine=engine,
            zotero=zotero,
            citing=citing,
            show_problems=editor.show_problems,
        ),
    )
    return tuple(
        chain(
            diagnostics.handlers(checked),
            completion.handlers(
                editor,
                buffers,
                projects,
                engine=engine,
                citing=citing,
                lists=lists,
                switches=switches,
            ),
            hover.handlers(editor, projects, cards),
            navigation.handlers(editor, projects),
            navigation.rename_handlers(editor, projects),
            outline.symbol_handlers(editor, buffers, projects),
            outline.folding_handlers(editor, projects),
            outline.link_handlers(editor, projects),
            display.inlay_handlers(buffers, projects, checks),
            display.token_handlers(buffers, projects),
            display.lens_handlers(editor, buffers, projects, checks),
            commands.handlers(editor, engine, zotero, inserter),
            picker_commands.handlers(editor, picker),
            explore.handlers(editor, explore.Explorer(editor, picker)),
            code_action.handlers(editor, buffers, actions),
            online.handlers(
                editor,
                buffers,
                projects,
                consent,
                engine=engine,
                checks=checks,
            ),
            online.fetch_handlers(
                editor, buffers, consent, forget_records=session.cards.forget_records
            ),
            reference_list.handlers(editor, projects, checks),
        )
    )
