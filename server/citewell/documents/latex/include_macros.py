"""The author's own include commands: `\\newcommand{\\part}[1]{\\input{parts/#1}}` and its kind.

A definition becomes templates ("parts/#1"); a use of the command gives them its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from citewell.documents.latex import commands as known
from citewell.documents.latex.arguments import ArgumentReader, skip_gap
from citewell.model.document import Include, IncludeMacro, Span

MAX_TEMPLATES = 20
MAX_TARGET = 500

_COMMAND = re.compile(r"\\([A-Za-z]+)\*?(?![A-Za-z@])")
_GROUP = re.compile(r"\s*\{([^{}]{0,300})\}")
_OPTION = re.compile(r"\s*\[([^\[\]{}]{0,300})\]")
_PARAMETERS = re.compile(r"\s*(?:#\d\s*)*")
_COUNT = re.compile(r"\s*\[\s*([1-9])\s*\]")
_SPEC = re.compile(r"[mo]|O\s*\{([^{}]*)\}|\s")
_LET = re.compile(r"\s?=?\s?\\([A-Za-z]+)(?![A-Za-z@])")

Lookup = Callable[[str], IncludeMacro | None]
"""The include macro of a name, if it is one."""


def builtin(name: str) -> IncludeMacro | None:
    """`\\input` and its kind in the form of a macro; None for any other command."""
    groups = known.INCLUDES.get(name)
    if groups is None:
        return None
    template = "#1" if groups == 1 else "#1/#2"
    return IncludeMacro(name, (None,) * groups, ((name, template),))


def include_macro(
    name: str, arguments: tuple[str | None, ...] | None, body: str, lookup: Lookup
) -> IncludeMacro | None:
    """The macro of that body, if it reads other files; None for arguments that are not understood.

    `arguments` has one item for each parameter: None, or the default of an optional one.
    """
    if arguments is None or not name or "@" in name or known.INCLUDES.get(name):
        return None
    templates = tuple(_templates(body, lookup))[:MAX_TEMPLATES]
    return IncludeMacro(name, arguments, templates) if templates else None


def include_alias(text: str, name: str, position: int, lookup: Lookup) -> IncludeMacro | None:
    """What `\\let` makes of a name, if it becomes an include command."""
    match = _LET.match(text, position)
    found = match and (lookup(match[1]) or builtin(match[1]))
    if not found or not name or "@" in name or known.INCLUDES.get(name):
        return None
    return IncludeMacro(name, found.arguments, found.templates)


def parameters_of(kind: str, text: str, position: int, end: int) -> tuple[str | None, ...] | None:
    """The parameters of a definition of that kind, whose parameter list is at [position, end)."""
    if kind.endswith("DocumentCommand"):
        spec = text[position:end].strip().removeprefix("{").removesuffix("}")
        if "".join(match[0] for match in _SPEC.finditer(spec)) != spec:
            return None
        found = (match for match in _SPEC.finditer(spec) if match[0].strip())
        return tuple(None if m[0] == "m" else (m[1] or "") for m in found)
    if kind in ("def", "edef", "gdef", "xdef"):
        listed = text[position:end]
        return (None,) * listed.count("#") if _PARAMETERS.fullmatch(listed) else None
    count = _COUNT.match(text, position, end)
    if count is None:
        return ()
    default = _OPTION.match(text, count.end(), end)
    first: tuple[str | None, ...] = (default[1],) if default else ()
    return first + (None,) * (int(count[1]) - len(first))


def read_use(
    macro: IncludeMacro, start: int, end: int, arguments: ArgumentReader
) -> tuple[list[Include], int] | None:
    """What a use of the macro, whose name is at [start, end), includes, and where the use ends."""
    text = arguments.text
    values: list[str] = []
    groups: list[tuple[int, int]] = []
    position = end
    for default in macro.arguments:
        place = skip_gap(text, position)
        if default is not None:
            stop = arguments.option(place) if text.startswith("[", place) else None
            values.append(default if stop is None else text[place + 1 : stop - 1])
            position = position if stop is None else stop
            continue
        group = arguments.argument(position, 1_000)
        if group is None:
            return None
        values.append(text[group[0] : group[1]])
        groups.append((group[0], group[1]))
        position = group[2]
    span = Span(groups[0][0], groups[-1][1]) if groups else Span(start, end)
    filled = ((command, _fill(template, values)) for command, template in macro.templates)
    return [Include(target, span, command) for command, target in filled if target], position


def _templates(body: str, lookup: Lookup) -> Iterator[tuple[str, str]]:
    for match in _COMMAND.finditer(body):
        macro = builtin(match[1]) or lookup(match[1])
        values = _values(macro, body, match.end()) if macro is not None else None
        if macro is not None and values is not None:
            for command, template in macro.templates:
                if target := _fill(template, values):
                    yield command, target


def _values(macro: IncludeMacro, body: str, position: int) -> list[str] | None:
    values = []
    for default in macro.arguments:
        match = (_GROUP if default is None else _OPTION).match(body, position)
        if match is None and default is None:
            return None
        values.append(match[1] if match is not None else str(default))
        position = match.end() if match is not None else position
    return values


def _fill(template: str, values: Sequence[str]) -> str:
    """The template with the arguments in it; empty when it would grow beyond any file's name."""

    def argument(match: re.Match[str]) -> str:
        number = int(match[1])
        return values[number - 1].strip() if number <= len(values) else match[0]

    target = re.sub(r"#([1-9])", argument, template).strip().strip('"')
    target = re.sub(r"/{2,}", "/", target)
    return target if len(target) <= MAX_TARGET else ""
