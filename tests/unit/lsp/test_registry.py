"""The table of what an editor may ask for, beside the protocol's types and the settings."""

from __future__ import annotations

import asyncio
from typing import Any, get_args

import pytest
from lsprotocol import types

from citewell.lsp.registry import Command, Request
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


def test_a_row_is_all_that_a_request_and_a_command_take() -> None:
    server = create_server()

    async def implementation(params: types.ImplementationParams) -> str:
        return params.text_document.uri

    async def double(number: Any) -> int:
        return 2 * int(number)

    server.add(
        Request(types.TEXT_DOCUMENT_IMPLEMENTATION, implementation, switches=("definition",))
    )
    server.add(Command("citewell.double", double))
    assert types.TEXT_DOCUMENT_IMPLEMENTATION in server.protocol.fm.features
    assert asyncio.run(server.protocol.fm.commands["citewell.double"]("21")) == 42


async def test_a_session_that_has_ended_starts_nothing() -> None:
    session = create_server().session
    session.close()
    session.start()
    session.reconfigure()
    session.wake()
    assert not session.engine.begun
