"""The table of what an editor may ask for, beside the protocol's types and the settings."""

from __future__ import annotations

from typing import get_args

import pytest
from lsprotocol import types

from citewell.lsp.registry import Request
from citewell.lsp.requests import formatting
from citewell.lsp.server import Server, create_server, features
from citewell.options.tree import Feature


@pytest.fixture(scope="module")
def server() -> Server:
    return create_server()


@pytest.fixture(scope="module")
def rows(server: Server) -> list[Request]:
    offered = features(server.editor, server.session, server.switches, server.diagnostics)
    later = formatting.handlers(server.editor, server.session.projects)
    return [*(one for one in offered if isinstance(one, Request)), *later]


def test_each_switch_of_the_settings_stands_in_a_row(rows: list[Request]) -> None:
    known = set(get_args(Feature))
    assert {switch for row in rows for switch in row.switches} == known


def test_the_capabilities_of_a_switched_row_are_those_of_the_protocol(rows: list[Request]) -> None:
    switched = [row for row in rows if row.is_switched]
    assert len(switched) > 10
    workspace, text = types.WorkspaceClientCapabilities(), types.TextDocumentClientCapabilities()
    for row in switched:
        assert hasattr(types.ServerCapabilities(), row.capability), row.method
        assert hasattr(workspace if row.is_of_workspace else text, row.name), row.method
    assert len({row.capability for row in switched}) == len(switched)


async def test_a_session_that_has_ended_starts_nothing() -> None:
    session = create_server().session
    session.close()
    session.start()
    session.reconfigure()
    session.wake()
    assert not session.engine.begun
