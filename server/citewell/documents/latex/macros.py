"""The author's own cite and include commands, read from `\\newcommand`, `\\def`, `\\let` ..."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from citewell.documents.latex.arguments import ArgumentReader, skip_gap
from citewell.documents.latex.commands import CiteCommand, words
from citewell.documents.latex.include_macros import Lookup as IncludeLookup
from citewell.documents.latex.include_macros import include_alias, include_macro, parameters_of
from citewell.model.document import IncludeMacro

_NAME = re.compile(r"\\([A-Za-z@]+)\*?")
_USE = re.compile(
    r"\\([A-Za-z@]+)\*?((?:\s*(?:\[[^\[\]]{0,200}\]|<[^<>]{0,200}>)){0,3})\s*(\{#([1-9])\})?"
)
_PARAMETERS = re.compile(r"(?:[^{}\\\n]|\\.){0,100}")
_ALIAS = re.compile(
    r"(?:\\(?:protect|leavevmode|unskip|ifmmode)\s*|~|\s)*\\([A-Za-z@]+)\*?\s*(?:\\@?xspace)?\s*"
)
_SPEC = re.compile(r"[mrRvbdDoOsteEgG]")
_PATH_TEXT = re.compile(r"[\w ./,:~\\-]{1,500}")
_MULTIBIB = words(
    """
    cite citep citet citealp citealt citeauthor citeyear citeyearpar Citep Citet nocite
    """
)


class MacroDefinition(msgspec.Struct, frozen=True):
    """One definition: where it ends and the commands that it brings."""

    end: int
    commands: tuple[CiteCommand, ...] = ()
    include: IncludeMacro | None = None
    text: tuple[str, str] | None = None
    """A command without arguments and the piece of a path for which it stands."""


Lookup = Callable[[str], CiteCommand | None]
"""The cite command of a name, if it is one."""


class Commands(NamedTuple):
    """What is known of commands where a definition stands."""

    cite: Lookup
    include: IncludeLookup


def read_definition(
    text: str,
    kind: str,
    position: int,
    arguments: ArgumentReader,
    commands: Commands,
) -> MacroDefinition | None:
    """Read the definition whose command `kind` ends at `position`; None if it breaks off."""
    if text.startswith("*", position):
        position += 1
    if kind == "newcites":
        return _newcites(text, position, arguments)
    if kind in ("newenvironment", "renewenvironment"):
        return _groups(position, arguments, 3)
    named = _defined_name(text, position, arguments)
    if named is None:
        return None
    name, position = named
    if kind == "let":
        return _let(text, name, position, commands)
    if kind in ("DeclareCiteCommand", "DeclareMultiCiteCommand"):
        multi = kind == "DeclareMultiCiteCommand"
        rest = _groups(position, arguments, 2 if multi else 4)
        return rest and MacroDefinition(rest.end, (CiteCommand(name, repeats=multi),))
    return _macro(kind, name, position, arguments, commands)


def _defined_name(text: str, position: int, arguments: ArgumentReader) -> tuple[str, int] | None:
    place = skip_gap(text, position)
    if text.startswith("{", place):
        group = arguments.argument(place, 200)
        if group is None:
            return None
        match = _NAME.match(text[group[0] : group[1]].strip())
        return (match[1], group[2]) if match else ("", group[2])
    match = _NAME.match(text, place)
    return (match[1], match.end()) if match else None


def _macro(
    kind: str,
    name: str,
    position: int,
    arguments: ArgumentReader,
    commands: Commands,
) -> MacroDefinition | None:
    text = arguments.text
    kinds = ""
    start = position
    if kind.endswith("DocumentCommand"):
        spec = arguments.argument(position, 400)
        if spec is None:
            return None
        kinds = "".join(_SPEC.findall(re.sub(r"\{[^{}]*\}", "", text[spec[0] : spec[1]])))
        position = spec[2]
    elif kind in ("def", "edef", "gdef", "xdef"):
        parameters = _PARAMETERS.match(text, position)
        position = parameters.end() if parameters else position
        kinds = "m" * 9
    else:
        place = skip_gap(text, position)
        options = arguments.optional(position)
        kinds = "o" + "m" * 8 if text.count("[", place, options) > 1 else "m" * 9
        position = options
    body = arguments.argument(position)
    if body is None:
        return None
    content = text[body[0] : body[1]]
    command = _cites(name, content, kinds, commands.cite)
    include = None
    if command is None and "\\" in content:
        listed = parameters_of(kind, text, start, position)
        include = include_macro(name, listed, content, commands.include)
    is_text = command is None and include is None and name and _PATH_TEXT.fullmatch(content)
    text_macro = (name, content.strip()) if is_text else None
    return MacroDefinition(body[2], (command,) if command else (), include, text_macro)


def _cites(name: str, body: str, kinds: str, lookup: Lookup) -> CiteCommand | None:
    """The command that a macro of this body is, if it passes a parameter on as keys."""
    if not name or "@" in name:
        return None
    if (alias := _ALIAS.fullmatch(body)) and (known := lookup(alias[1])):
        return msgspec.structs.replace(known, name=name)
    for use in _USE.finditer(body):
        if use[4] and lookup(use[1]):
            before = sum(1 for k in kinds[: int(use[4]) - 1] if k in "mrRv")
            return CiteCommand(name, before)
    return None


def _let(text: str, name: str, position: int, commands: Commands) -> MacroDefinition | None:
    match = re.compile(r"\s?=?\s?\\([A-Za-z@]+)").match(text, position)
    if match is None:
        return None
    known = commands.cite(match[1])
    if known and name:
        return MacroDefinition(match.end(), (msgspec.structs.replace(known, name=name),))
    return MacroDefinition(match.end(), (), include_alias(text, name, position, commands.include))


def _newcites(text: str, position: int, arguments: ArgumentReader) -> MacroDefinition | None:
    """multibib's `\\newcites{sec,web}{..}` defines \\citesec, \\citepsec, \\citeweb ..."""
    group = arguments.argument(position, 500)
    if group is None:
        return None
    suffixes = [part.strip() for part in text[group[0] : group[1]].split(",")]
    return MacroDefinition(
        group[2],
        tuple(CiteCommand(base + s) for s in suffixes if s.isalpha() for base in sorted(_MULTIBIB)),
    )


def _groups(position: int, arguments: ArgumentReader, count: int) -> MacroDefinition | None:
    for _ in range(count):
        group = arguments.argument(arguments.optional(position))
        if group is None:
            return None
        position = group[2]
    return MacroDefinition(position)
