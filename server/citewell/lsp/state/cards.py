"""Looks up once what is known of an entry beyond its fields, and caches it.

Renderings and records are remembered by the entry's body, which stays the same for as long as the
entry does: a hover over the same entry costs nothing but the look-up of where it is cited.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from citewell.model import CitewellError, Problem, Work
from citewell.model.bib import BibEntry, BibFile
from citewell.model.bib_body import BibBody

if TYPE_CHECKING:
    from citewell.engine.contract import Engine

logger = logging.getLogger(__name__)

DEFAULT_STYLE = "apa"
MAX_KNOWN = 4096
RECORD_SECONDS = 0.15
"""Seconds that a card waits for the library, which answers in milliseconds once it is open."""
V = TypeVar("V")


class ByBody(Generic[V]):
    """Values by entry body, the least recently used forgotten first."""

    def __init__(self) -> None:
        # The body is kept alive, so that its `id` is not reused for another one.
        self._values: OrderedDict[tuple[int, object], tuple[BibBody, V]] = OrderedDict()

    def get(self, body: BibBody, about: object = None) -> V | None:
        """The value, if it is known."""
        found = self._values.get((id(body), about))
        if found is None:
            return None
        self._values.move_to_end((id(body), about))
        return found[1]

    def put(self, body: BibBody, value: V, about: object = None) -> V:
        """Remember a value."""
        self._values[id(body), about] = (body, value)
        while len(self._values) > MAX_KNOWN:
            self._values.popitem(last=False)
        return value


class Cards:
    """References in the author's style, and the library's records of entries. For the loop."""

    def __init__(self, show_problems: Callable[[list[Problem]], None]) -> None:
        self._show_problems = show_problems
        self._references: ByBody[str] = ByBody()
        self._records: ByBody[tuple[Work | None]] = ByBody()
        self._asking: dict[int, asyncio.Task[Work | None]] = {}

    def forget_records(self) -> None:
        """Forget the records: the library may have changed."""
        self._records = ByBody()

    async def reference(
        self, bib: BibFile, entry: BibEntry, style: str, folders: tuple[Path, ...]
    ) -> str:
        """The entry in a style, as Markdown; "" when there is no processor."""
        inherits = "crossref" in entry.names or "xdata" in entry.names
        about = (style, bib.text if inherits else None)
        known = self._references.get(entry.body, about)
        if known is not None:
            return known
        rendered, problem = await asyncio.to_thread(render, bib, entry, style, folders)
        if problem is not None:
            self._show_problems([problem])
        return self._references.put(entry.body, rendered, about)

    async def record(self, engine: Engine, entry: BibEntry) -> Work | None:
        """The library's record of the work that an entry describes, if it is known in time.

        A look-up that takes longer continues, so that the next card has its result.
        """
        body = entry.body
        asking = self._asking.get(id(body))
        if asking is None:
            known = self._records.get(body)
            if known is not None:
                return known[0]
            asking = asyncio.ensure_future(self._look_up(engine, entry))
            self._asking[id(body)] = asking
            asking.add_done_callback(lambda _: self._asking.pop(id(body), None))
        try:
            return await asyncio.wait_for(asyncio.shield(asking), RECORD_SECONDS)
        except TimeoutError:
            return None

    async def _look_up(self, engine: Engine, entry: BibEntry) -> Work | None:
        from citewell.features.checking.support import find_record

        try:
            found = await asyncio.to_thread(find_record, engine, entry)
        except CitewellError as error:
            logger.info("No record of %s: %s", entry.key, error)
            return None
        self._records.put(entry.body, (found,))
        return found


def render(
    bib: BibFile, entry: BibEntry, style: str, folders: tuple[Path, ...]
) -> tuple[str, Problem | None]:
    """The entry in a style, as Markdown, and why it is another style than the one asked for."""
    problem = None
    for name in dict.fromkeys((style, DEFAULT_STYLE)):
        try:
            from citewell.features.text.csl_item import csl_of_entry
            from citewell.features.text.reference import style_named

            chosen = style_named(name, folders)
            return chosen.reference(csl_of_entry(bib, entry)).markdown, problem
        except CitewellError as error:
            problem = problem or error.problem
        except ImportError as error:
            logger.warning("References are not rendered: %s", error)
            break
    return "", problem
