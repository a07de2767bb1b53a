"""A row per request and per command: handlers, capabilities and switches follow from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Awaitable, Callable
from typing import Any

from lsprotocol import types
from msgspec import Struct

from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.switches import Switches
from citewell.model.document import Format

Handler = Callable[[Any], Awaitable[Any]]
ALL_FORMATS = frozenset(Format)
BIB_ONLY = frozenset({Format.BIBTEX})


class Request(Struct, frozen=True, eq=False):
    """One request of the protocol that is answered."""

    method: str
    handler: Handler
    options: Any = None
    """Its value in the server's capabilities."""
    switches: tuple[str, ...] = ()
    """Settings of `features`; one that is on is enough to announce it. A single one also decides
    in each document; a handler with several looks at them itself."""
    formats: frozenset[Format] = ALL_FORMATS
    """The kinds of files in which it has answers."""
    is_part: bool = False
    """True for a request that the capability of another one covers, such as `prepareRename`."""

    @property
    def capability(self) -> str:
        """The attribute of the server's capabilities: "document_symbol_provider"."""
        place = "workspace_" if self.is_of_workspace else ""
        return f"{place}{self.name}_provider"

    @property
    def name(self) -> str:
        """The attribute of the client's capabilities: "document_symbol", "semantic_tokens"."""
        name = self.method.split("/")[1]
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()

    @property
    def is_of_workspace(self) -> bool:
        """True for "workspace/symbol", False for "textDocument/hover"."""
        return self.method.startswith("workspace/")

    @property
    def is_switched(self) -> bool:
        """True when its capability comes and goes with the switches."""
        return bool(self.switches) and not self.is_part


class Command(Struct, frozen=True, eq=False):
    """One command that a client may have executed."""

    name: str
    handler: Callable[..., Awaitable[Any]]


Handlers = tuple[Request | Command, ...]


def guarded(editor: Editor, switches: Switches, request: Request) -> Handler:
    """The handler of a request; with a single switch it answers nothing where that is off."""
    if len(request.switches) != 1:
        return request.handler
    (switch,), handler = request.switches, request.handler

    @functools.wraps(handler)
    async def answer(params: Any) -> Any:
        await editor.configured()
        document = getattr(params, "text_document", None)
        if not switches.is_on(switch, document.uri if document is not None else ""):
            return None
        return await handler(params)

    return answer


def registered_as(request: Request) -> str:
    """The method to register; the requests of semantic tokens are registered under one name."""
    is_tokens = request.method == types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL
    return "textDocument/semanticTokens" if is_tokens else request.method
