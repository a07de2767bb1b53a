"""How a setting is declared: its type, its description, and who may set it."""

from __future__ import annotations

from typing import Any

from msgspec import Meta


def about(
    description: str,
    *,
    ge: float | None = None,
    le: float | None = None,
    pattern: str | None = None,
    trusted_only: bool = False,
    stays_inside: bool = False,
    closed_if_wrong: bool = False,
) -> Meta:
    """What is known of a leaf besides its type. The whole text must match `pattern`.

    `trusted_only`: sends data, runs a program or opens files outside the project, so it is not
    taken from a workspace file. `stays_inside`: names a file, and is taken from there only if that
    lies below the paper's folder. `closed_if_wrong`: a wrong value falls back to the default and
    not to another settings layer, so that text is never sent to a recipient whom the user meant to
    replace.
    """
    constraints: dict[str, Any] = {"ge": ge, "le": le}
    if pattern is not None:
        constraints["pattern"] = rf"^(?:{pattern})\Z"
    marks = {
        "trusted_only": trusted_only,
        "stays_inside": stays_inside,
        "closed_if_wrong": closed_if_wrong,
    }
    return Meta(description=description, extra=marks, **constraints)
