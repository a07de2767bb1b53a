"""The classes of the protocol, each completed by attrs when it is first used.

`lsprotocol.types` has 554 of them, and attrs writes and compiles the methods of each: 22 MB and two
thirds of the time until the server answers, for classes of which a connection uses a fifth.
"""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any, TypeVar

import attrs

C = TypeVar("C", bound=type)

_LOCK = RLock()


class _Fields:
    """Placeholder for the fields of an incomplete class, which completes the class when they are
    accessed."""

    def __get__(self, _instance: object, cls: type) -> Any:
        _complete(cls)
        return cls.__attrs_attrs__  # type: ignore[attr-defined]


_FIELDS = _Fields()


def load_types() -> None:
    """Import `lsprotocol.types` with classes that are completed on demand. No effect if it is
    already imported. For the main thread, before another one runs: `attrs.define` is replaced
    meanwhile."""
    if "lsprotocol.types" in sys.modules:
        return
    define = attrs.define
    attrs.define = _on_demand  # type: ignore[assignment]
    try:
        import lsprotocol.types  # noqa: F401
    finally:
        attrs.define = define
    from lsprotocol import _hooks

    # Otherwise the converter would complete all of them: it resolves the names in their
    # annotations.
    _hooks._resolved_forward_references = True


def _on_demand(cls: C) -> C:
    """Replacement of `attrs.define`: returns the class of the source, incomplete."""
    cls.__init__ = _init  # type: ignore[misc]
    cls.__attrs_attrs__ = _FIELDS  # type: ignore[attr-defined]
    return cls


def _init(self: Any, *arguments: Any, **values: Any) -> None:
    _complete(type(self))
    self.__init__(*arguments, **values)


def _complete(cls: type) -> None:
    """Let attrs complete a class in place, since a class with slots would be another one."""
    with _LOCK:
        if cls.__dict__["__attrs_attrs__"] is not _FIELDS:
            return
        from lsprotocol.types import ALL_TYPES_MAP

        attrs.define(cls, slots=False, init=True)
        attrs.resolve_types(cls, ALL_TYPES_MAP, {})
