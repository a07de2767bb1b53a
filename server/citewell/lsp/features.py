"""The table of what an editor may ask for: one line per feature, with what its handlers need."""

from __future__ import annotations

from itertools import chain

from citewell.lsp.commands import execute as commands
from citewell.lsp.commands import online, reference_list
from citewell.lsp.commands import picker as picker_commands
from citewell.lsp.diagnostics import requests as diagnostics
from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.registry import Handlers
from citewell.lsp.registration.switches import Switches
from citewell.lsp.requests import (
    code_action,
    completion,
    folding,
    hover,
    inlay,
    lens,
    links,
    navigation,
    rename,
    symbols,
    tokens,
)
from citewell.lsp.state.session import Session


def features(
    editor: Editor, session: Session, switches: Switches, checked: diagnostics.Diagnostics
) -> Handlers:
    """Every request and command that is answered from the start, in the order of registration."""
    buffers, checks, projects = session.buffers, session.checks, session.projects
    return tuple(
        chain(
            diagnostics.handlers(checked),
            completion.handlers(editor, session, switches),
            hover.handlers(editor, session, switches),
            navigation.handlers(editor, projects),
            rename.handlers(editor, projects),
            symbols.handlers(editor, buffers, projects),
            folding.handlers(editor, projects),
            links.handlers(editor, projects),
            inlay.handlers(buffers, projects, checks),
            tokens.handlers(buffers, projects),
            lens.handlers(editor, buffers, projects, checks),
            commands.handlers(editor, session),
            picker_commands.handlers(editor, session),
            code_action.handlers(editor, session),
            online.handlers(editor, session),
            reference_list.handlers(editor, projects, checks),
        )
    )
