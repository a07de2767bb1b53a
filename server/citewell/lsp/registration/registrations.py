"""Which requests are announced to the editor: the switches of `features`.

A request that is off in every file that it could serve is not announced. One that is off in some
files only, because another tool serves them, is registered for the languages of the others if the
editor supports dynamic registration; so is one that is turned on later. A request that was
announced and then turned off returns nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from lsprotocol import types

from citewell.lsp.protocol.editor import Editor
from citewell.lsp.registration.registry import Request, registered_as
from citewell.lsp.registration.switches import Switches
from citewell.model.document import Format
from citewell.model.flavours import LANGUAGES

logger = logging.getLogger(__name__)


class Registrations:
    """Keeps track of what was announced and registered. For the event loop."""

    def __init__(self, editor: Editor, switches: Switches, requests: Iterable[Request]) -> None:
        self._editor = editor
        self._switches = switches
        self._requests = [request for request in requests if request.is_switched]
        self._client: types.ClientCapabilities | None = None
        self._later: dict[str, object] = {}
        """The options of what can be registered later, by method."""
        self._registered: dict[str, frozenset[Format]] = {}

    def announce(
        self, announced: types.ServerCapabilities, client: types.ClientCapabilities
    ) -> None:
        """Remove from the capabilities what is off, or on in some files only."""
        self._client = client
        for request in self._requests:
            options = getattr(announced, request.capability)
            wanted = self._wanted(request)
            takes = self._takes_registrations(request)
            if options is None or wanted == request.formats or (wanted and not takes):
                continue
            setattr(announced, request.capability, None)
            if takes:
                self._later[request.method] = options

    async def update(self) -> None:
        """Register what is on and was not announced, and unregister what is off."""
        new, gone = [], []
        for request in self._requests:
            if request.method not in self._later:
                continue
            wanted = self._wanted(request)
            given = self._registered.get(request.method, frozenset())
            if wanted == given:
                continue
            if given:
                gone.append(types.Unregistration(_id(request), registered_as(request)))
            if wanted:
                new.append(self._registration(request, wanted))
            self._registered[request.method] = wanted
        try:
            if gone:
                await self._editor.unregister(gone)
            if new:
                await self._editor.register(new)
        except Exception as error:
            logger.warning("The editor does not take what is offered: %s", error)

    def _wanted(self, request: Request) -> frozenset[Format]:
        return self._switches.formats(request.switches, request.formats)

    def _takes_registrations(self, request: Request) -> bool:
        assert self._client is not None
        client = self._client
        part = client.workspace if request.is_of_workspace else client.text_document
        return bool(getattr(getattr(part, request.name, None), "dynamic_registration", False))

    def _registration(self, request: Request, kinds: frozenset[Format]) -> types.Registration:
        options = self._later[request.method]
        registered: dict[str, Any] = {}
        if not isinstance(options, bool):
            registered = self._editor.as_wire(options)
        if not request.is_of_workspace:
            names = [name for kind in Format if kind in kinds for name in LANGUAGES[kind]]
            registered["documentSelector"] = [{"language": name} for name in names]
        return types.Registration(_id(request), registered_as(request), registered)


def _id(request: Request) -> str:
    return f"citewell-{request.capability}"
