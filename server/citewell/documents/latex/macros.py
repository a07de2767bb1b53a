r"""User-defined cite and include commands, parsed from `\newcommand`, `\def`, `\let` ..."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from citewell.documents.latex import commands as known
from citewell.documents.latex.commands import ArgumentReader, CiteCommand, skip_gap, words
from citewell.documents.latex.plaintext import latex_to_text
from citewell.model.document import BibDeclaration, Heading, Include, IncludeMacro, KeyUse, Span

# User-defined include commands, such as `\newcommand{\part}[1]{\input{parts/#1}}`.
#
# A definition becomes templates ("parts/#1"); a use of the command fills in its arguments.

MAX_TEMPLATES = 20
MAX_TARGET = 500

_COMMAND = re.compile(r"\\([A-Za-z]+)\*?(?![A-Za-z@])")
_GROUP = re.compile(r"\s*\{([^{}]{0,300})\}")
_OPTION = re.compile(r"\s*\[([^\[\]{}]{0,300})\]")
_PARAMETERS = re.compile(r"\s*(?:#\d\s*)*")
_COUNT = re.compile(r"\s*\[\s*([1-9])\s*\]")
_SPEC = re.compile(r"[mo]|O\s*\{([^{}]*)\}|\s")
_LET = re.compile(r"\s?=?\s?\\([A-Za-z]+)(?![A-Za-z@])")

IncludeLookup = Callable[[str], IncludeMacro | None]
"""The include macro with a name, or None."""


def builtin(name: str) -> IncludeMacro | None:
    r"""`\input` and similar commands as a macro; None for any other command."""
    groups = known.INCLUDES.get(name)
    if groups is None:
        return None
    template = "#1" if groups == 1 else "#1/#2"
    return IncludeMacro(name, (None,) * groups, ((name, template),))


def include_macro(
    name: str, arguments: tuple[str | None, ...] | None, body: str, lookup: IncludeLookup
) -> IncludeMacro | None:
    """The macro with this body, if it reads other files; None for unsupported arguments.
    `arguments` has one item for each parameter: None, or the default of an optional one."""
    if arguments is None or not name or "@" in name or known.INCLUDES.get(name):
        return None
    templates = tuple(_templates(body, lookup))[:MAX_TEMPLATES]
    return IncludeMacro(name, arguments, templates) if templates else None


def include_alias(
    text: str, name: str, position: int, lookup: IncludeLookup
) -> IncludeMacro | None:
    r"""The include command that `\let` defines, or None."""
    match = _LET.match(text, position)
    found = match and (lookup(match[1]) or builtin(match[1]))
    if not found or not name or "@" in name or known.INCLUDES.get(name):
        return None
    return IncludeMacro(name, found.arguments, found.templates)


def parameters_of(kind: str, text: str, position: int, end: int) -> tuple[str | None, ...] | None:
    """The parameters of a definition of this kind, with its parameter list at [position, end)."""
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
    """The files that a use of the macro (its name is at [start, end)) includes, and the end of the
    use."""
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


def _templates(body: str, lookup: IncludeLookup) -> Iterator[tuple[str, str]]:
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
    """The template with the arguments filled in; empty if it gets too long for a file name."""

    def argument(match: re.Match[str]) -> str:
        number = int(match[1])
        return values[number - 1].strip() if number <= len(values) else match[0]

    target = re.sub(r"#([1-9])", argument, template).strip().strip('"')
    target = re.sub(r"/{2,}", "/", target)
    return target if len(target) <= MAX_TARGET else ""


_NAME = re.compile(r"\\([A-Za-z@]+)\*?")
_USE = re.compile(
    r"\\([A-Za-z@]+)\*?((?:\s*(?:\[[^\[\]]{0,200}\]|<[^<>]{0,200}>)){0,3})\s*(\{#([1-9])\})?"
)
_PARAMETER_TEXT = re.compile(r"(?:[^{}\\\n]|\\.){0,100}")
_ALIAS = re.compile(
    r"(?:\\(?:protect|leavevmode|unskip|ifmmode)\s*|~|\s)*\\([A-Za-z@]+)\*?\s*(?:\\@?xspace)?\s*"
)
_SPEC_KINDS = re.compile(r"[mrRvbdDoOsteEgG]")
_PATH_TEXT = re.compile(r"[\w ./,:~\\-]{1,500}")
_MULTIBIB = words(
    """
    cite citep citet citealp citealt citeauthor citeyear citeyearpar Citep Citet nocite
    """
)


class MacroDefinition(msgspec.Struct, frozen=True):
    """One definition: its end and the commands that it defines."""

    end: int
    commands: tuple[CiteCommand, ...] = ()
    include: IncludeMacro | None = None
    text: tuple[str, str] | None = None
    """A command without arguments and the part of a path that it stands for."""


Lookup = Callable[[str], CiteCommand | None]
"""The cite command with a name, or None."""


class Commands(NamedTuple):
    """The commands known at a definition."""

    cite: Lookup
    include: IncludeLookup


def read_definition(
    text: str, kind: str, position: int, arguments: ArgumentReader, commands: Commands
) -> MacroDefinition | None:
    """Parse the definition after the command `kind` that ends at `position`; None if it is
    incomplete."""
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
    kind: str, name: str, position: int, arguments: ArgumentReader, commands: Commands
) -> MacroDefinition | None:
    text = arguments.text
    kinds = ""
    start = position
    if kind.endswith("DocumentCommand"):
        spec = arguments.argument(position, 400)
        if spec is None:
            return None
        kinds = "".join(_SPEC_KINDS.findall(re.sub(r"\{[^{}]*\}", "", text[spec[0] : spec[1]])))
        position = spec[2]
    elif kind in ("def", "edef", "gdef", "xdef"):
        parameters = _PARAMETER_TEXT.match(text, position)
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
    """The cite command defined by a macro with this body, if it passes a parameter on as keys."""
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
    r"""Parse multibib's `\newcites{sec,web}{..}`, which defines \citesec, \citepsec, \citeweb
    ..."""
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


# Declarations of a LaTeX source: headings, title, abstract, packages, includes, bibliographies.

_BARE_FILE = re.compile(r"[ \t]+([^\s\\{}%]+)")
_BIBITEM = re.compile(r"\s*\{([^{}]*)\}")
_LINE_COMMENT = re.compile(r"(?m)%.*$")


class Declarations:
    """Collects the declarations of one text. Every method takes a command's name and range, and
    returns the offset at which to continue."""

    def __init__(self, text: str, arguments: ArgumentReader) -> None:
        self.text = text
        self.arguments = arguments
        self.bibliographies: list[BibDeclaration] = []
        self.includes: list[Include] = []
        self.packages: list[str] = []
        self.bibitems: list[KeyUse] = []
        self.document_class = ""
        self.subfile_root = ""
        """The main file in a subfile's class option."""
        self.abstract_span: Span | None = None
        self._title: Span | None = None
        self._headings: list[tuple[int, Span, Span]] = []

    @property
    def title(self) -> str:
        return self._plain(self._title)

    @property
    def abstract(self) -> str:
        return self._plain(self.abstract_span)

    @property
    def headings(self) -> tuple[Heading, ...]:
        """The headings with levels from 1 for the highest in this file."""
        top = min((level for level, _, _ in self._headings), default=0)
        return tuple(
            Heading(level - top + 1, self._plain(title), span)
            for level, title, span in self._headings
        )

    def _plain(self, span: Span | None) -> str:
        return latex_to_text(self.text[span.start : span.end]) if span else ""

    def heading(self, name: str, start: int, end: int) -> int:
        group = self.titled(end, 1_000)
        if group is None:
            return end
        level = known.HEADINGS[name]
        self._headings.append((level, Span(group[0], group[1]), Span(start, group[2])))
        return group[0]

    def set_title(self, name: str, start: int, end: int) -> int:
        group = self.titled(end, 4_000)
        if group is not None and self.text[group[0] : group[1]].strip():
            self._title = Span(group[0], group[1])
        return end

    def set_abstract(self, name: str, start: int, end: int) -> int:
        group = self.arguments.argument(end)
        if group is not None and self.abstract_span is None:
            self.abstract_span = Span(group[0], group[1])
        return end

    def titled(self, end: int, limit: int) -> tuple[int, int, int] | None:
        return self.arguments.argument(self.arguments.optional(end), limit)

    def bibliography(self, name: str, start: int, end: int) -> int:
        group = self.titled(end, 4_000)
        if group is None:
            return end
        options = self.text[end : group[0]].strip("[]{} \n").replace(" ", "").split(",")
        has_glob = not {"glob", "glob=true"}.isdisjoint(options)
        names = self._names(group[0], group[1])
        if has_glob:  # alternatives in braces may contain commas
            names = [(self.text[group[0] : group[1]].strip(), Span(group[0], group[1]))]
        self.bibliographies += (
            BibDeclaration(target, span, name, has_glob) for target, span in names
        )
        return group[2]

    def _names(self, start: int, end: int) -> Iterable[tuple[str, Span]]:
        position = start
        for part in self.text[start:end].split(","):
            inner = _LINE_COMMENT.sub("", part).strip()
            place = self.text.find(inner, position)
            if inner:
                yield inner, Span(place, place + len(inner))
            position += len(part) + 1

    def include(self, name: str, start: int, end: int) -> int:
        groups: list[tuple[int, int, int]] = []
        position = end + 1 if self.text.startswith("*", end) else end
        for _ in range(known.INCLUDES[name]):
            group = self.arguments.argument(position, 1_000)
            if group is None:
                break
            groups.append(group)
            position = group[2]
        if not groups:
            bare = _BARE_FILE.match(self.text, end) if name == "input" else None
            if bare is None:
                return end
            groups = [(bare.start(1), bare.end(1), bare.end(1))]
        target = "".join(self.text[s:e].strip() for s, e, _ in groups).strip('"')
        if len(groups) == 2:
            first = self.text[groups[0][0] : groups[0][1]].strip()
            target = first.rstrip("/") + "/" + self.text[groups[1][0] : groups[1][1]].strip()
            target = target.removeprefix("/") if not first else target
        if target:
            self.includes.append(Include(target, Span(groups[0][0], groups[-1][1]), name))
        return groups[-1][2]

    def package(self, name: str, start: int, end: int) -> int:
        options_start = skip_gap(self.text, end)
        place = self.arguments.optional(end)
        group = self.arguments.argument(place, 4_000)
        if group is None:
            return end
        names = [part for part, _ in self._names(group[0], group[1])]
        options = [o.strip() for o in self.text[options_start:place].strip("[] \n").split(",")]
        if name.startswith(("documentclass", "LoadClass")):
            self.document_class = self.document_class or ",".join(names)
            if names == ["subfiles"]:
                self.subfile_root = options[0]
            is_apa = self.document_class in ("apa", "apa6", "apa6e", "apa7")
            if "apacite" in options or (is_apa and not {"noapacite", "biblatex"} & set(options)):
                names = ["apacite"]
            else:
                names = []
        if "natbibapa" in options:
            names.append("apacite")
        self.packages += names
        return group[2]

    def bibitem(self, name: str, start: int, end: int) -> int:
        match = _BIBITEM.match(self.text, self.arguments.optional(end))
        if match is None:
            return end
        self.bibitems.append(KeyUse(match[1].strip(), Span(*match.span(1))))
        return match.end()
