"""The LaTeX scanner: citations, placeholders, headings and declarations with exact ranges.

A document being typed is always broken: nothing here raises, and an opener counts only if it is
closed. One pass over the commands, linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache

from citewell.documents.latex import commands as known
from citewell.documents.latex.cite import CiteReader
from citewell.documents.latex.commands import (
    ArgumentReader,
    Blanks,
    CiteCommand,
    SpanIndex,
    merge_spans,
    skip_gap,
)
from citewell.documents.latex.macros import Commands, Declarations, read_definition, read_use
from citewell.documents.latex.plaintext import latex_to_text
from citewell.documents.placeholders import find_markers, fold_markers, todo_query
from citewell.model.document import (
    Citation,
    Document,
    FileContents,
    Format,
    IncludeMacro,
    Placeholder,
    PlaceholderKind,
    Span,
)

_ROOT = re.compile(r"%[ \t]*!T[Ee]X\s+root\s*=\s*(.+?)\s*$")


def scan_latex(
    text: str,
    path: str = "",
    *,
    cite_commands: Sequence[str] = (),
    placeholders: Sequence[str] = (),
    packages: Sequence[str] = (),
    include_macros: Sequence[IncludeMacro] = (),
    defined_keys: Collection[str] = (),
) -> Document:
    """Scan a LaTeX source, even a broken one; never raises.

    `cite_commands` are additional cite commands ("figcite", or "figcite#2" when the keys are in the
    second group), `placeholders` additional literal markers, `packages` those loaded by the root
    file, `include_macros` include commands defined in other files, `defined_keys` keys of the
    bibliographies that look like words ("who?").
    """
    scanner = _Scanner(text, path, cite_commands, placeholders, packages)
    scanner.cites.defined = frozenset(defined_keys)
    scanner.including = {macro.name: macro for macro in include_macros}
    return scanner.scan()


class _Scanner:
    def __init__(
        self,
        text: str,
        path: str,
        cite_commands: Sequence[str],
        literal: Sequence[str],
        packages: Sequence[str],
    ) -> None:
        self.text = text
        self.path = path
        self.literal = literal
        self.arguments = ArgumentReader(text)
        self.cites = CiteReader(text, self.arguments, apacite="apacite" in packages)
        self.own: dict[str, CiteCommand] = {
            command.name: command for command in map(known.parse_signature, cite_commands)
        }
        self.macros: list[str] = []
        self.including: dict[str, IncludeMacro] = {}
        self.include_macros: dict[str, IncludeMacro] = {}
        self.citations: list[Citation] = []
        self.placeholders: list[Placeholder] = []
        self.blanks = Blanks(text, self.arguments)
        self.declarations = Declarations(text, self.arguments)
        self.root = ""
        self.body_start: int | None = None
        self.body_end: int | None = None
        self.nocite_all = False
        self.file_contents: list[FileContents] = []
        self.text_macros: dict[str, str] = {}
        self.raw: list[Span] = []
        """Arguments without placeholders: addresses, options of citations."""

    def scan(self) -> Document:
        text = self.text
        position = 0
        token_pattern = _token_pattern(self._names())
        known_names = len(self.own) + len(self.including)
        while match := token_pattern.search(text, position):
            name = match[1]
            if name is not None:
                position = self._command(name, match.start(), match.end())
                if len(self.own) + len(self.including) != known_names:  # it was a definition
                    known_names = len(self.own) + len(self.including)
                    token_pattern = _token_pattern(self._names())
            elif (token := match[0]) == "%":
                position = self._comment(match.start())
            elif token == "$":
                position = self.blanks.dollar(match.start())
            elif token in ("\\[", "\\("):
                closer = "\\]" if token == "\\[" else "\\)"
                position = self.blanks.math_until_closed(match.start(), match.end(), closer)
            else:
                position = match.end()
        return self._document()

    # Commands

    def _names(self) -> frozenset[str]:
        return frozenset((*self.own, *self.including))

    def _command(self, name: str, start: int, end: int) -> int:
        """Handle one command and return the offset at which to continue."""
        if (cite := self._cite_command(name)) is not None:
            return self._cite(start, end, cite)
        if (handler := _HANDLERS.get(name)) is not None:
            return handler(self, name, start, end)
        if (macro := self.including.get(name)) is not None:
            return self._include(macro, start, end)
        if name.startswith("bibliography") and name not in known.NOT_BIBLIOGRAPHIES:
            return self.declarations.bibliography(name, start, end)
        if known.is_missing_cite(name):
            return self._missing(start, end)
        return end

    def _cite_command(self, name: str) -> CiteCommand | None:
        command = self.own.get(name) or known.CITE_COMMANDS.get(name)
        if command is None and "cit" in name.lower() and known.looks_like_cite(name):
            command = known.fallback_command(name)
        return command

    def _cite(self, start: int, end: int, command: CiteCommand) -> int:
        result = self.cites.read(start, end, command)
        if result is None:
            return end
        if result.citation is not None:
            if command.name.startswith("nocite") and any(
                use.key == "*" for use in result.citation.keys
            ):
                self.nocite_all = True
            else:
                self.citations.append(result.citation)
        if result.placeholder is not None:
            self.placeholders.append(result.placeholder)
        self.raw.append(Span(start, result.end))
        return result.end

    def _include(self, macro: IncludeMacro, start: int, end: int) -> int:
        found = read_use(macro, start, end, self.arguments)
        if found is None:
            return end
        self.declarations.includes += found[0]
        return found[1]

    def _comment(self, start: int) -> int:
        end = self.text.find("\n", start)
        end = len(self.text) if end < 0 else end
        if not self.root and start < 5_000 and (match := _ROOT.match(self.text[start:end])):
            self.root = match[1]
        return self.blanks.add(start, end)

    def _begin(self, name: str, start: int, end: int) -> int:
        group = self.arguments.argument(end, 100)
        if group is None:
            return end
        name, after = self.text[group[0] : group[1]], group[2]
        if name == "document":
            self.body_start = self.body_start if self.body_start is not None else after
        elif name in known.VERBATIM_ENVIRONMENTS:
            if name.startswith("filecontents"):
                self._file_contents(name, after)
            return self.blanks.verbatim(name, start, after)
        elif name in known.MATH_ENVIRONMENTS:
            stop = self.blanks.environment_end(name, after)
            if stop is not None:
                return self.blanks.note_math(start, after, stop)
        elif name in known.ABSTRACTS:
            stop = self.blanks.environment_end(name, after)
            if stop is not None and self.declarations.abstract_span is None:
                self.declarations.abstract_span = Span(after, stop - len(name) - 6)
        elif name in known.CITE_ENVIRONMENTS:
            return self._cite(start, after, known.CITE_ENVIRONMENTS[name])
        return after

    def _file_contents(self, name: str, after: int) -> None:
        place = self.arguments.optional(after)
        group = self.arguments.argument(place, 300)
        stop = self.text.find(f"\\end{{{name}}}", place)
        if group is None or stop < 0:
            return
        start = min(self.text.find("\n", group[2]) + 1 or stop, stop)
        options = set(self.text[after:place].strip("[] \n").replace(" ", "").split(","))
        overwrites = not options.isdisjoint(("overwrite", "force"))
        file_name = self.text[group[0] : group[1]].strip()
        self.file_contents.append(FileContents(file_name, Span(start, stop), overwrites))

    def _end(self, name: str, start: int, end: int) -> int:
        if self.text.startswith("{document}", end):
            self.body_end = start
            return self.blanks.add(end + 10, len(self.text))
        return end

    def _package(self, name: str, start: int, end: int) -> int:
        position = self.declarations.package(name, start, end)
        if "apacite" in self.declarations.packages:
            self.cites.apacite = True
        return position

    def _definition(self, name: str, start: int, end: int) -> int:
        commands = Commands(self._cite_command, self.including.get)
        found = read_definition(self.text, name, end, self.arguments, commands)
        if found is None:
            return end
        for command in found.commands:
            if known.CITE_COMMANDS.get(command.name) != command:
                self.own[command.name] = command
                self.macros.append(command.signature)
        if (include := found.include) is not None and include.name not in _HANDLERS:
            self.including[include.name] = self.include_macros[include.name] = include
        if found.text is not None and not (
            name.lower().startswith("provide") and found.text[0] in self.text_macros
        ):
            self.text_macros[found.text[0]] = found.text[1]
        return self.blanks.add(start, found.end)

    def _skip_raw(self, name: str, start: int, end: int) -> int:
        place = skip_gap(self.text, self.arguments.optional(end))
        stop = self.arguments.raw_group(place)
        if stop is None:
            return end
        self.raw.append(Span(start, stop))
        return stop

    # Placeholders

    def _todo(self, name: str, start: int, end: int) -> int:
        r"""Handle `\todo{cite work on X}`, which asks for a citation; other notes are ignored."""
        group = self.declarations.titled(end, 2_000)
        if group is None:
            return end
        note = self.text[group[0] : group[1]]
        words = todo_query(note, self.text[max(0, start - 40) : start])
        if words is None:
            return end
        self._mark(Span(start, group[2]), Span(group[0] + words[0], group[0] + words[1]))
        return group[2]

    def _missing(self, start: int, end: int) -> int:
        r"""Handle `\citationneeded` and `\todocite{graph attention}`."""
        group = (
            self.declarations.titled(end, 1_000)
            if self.text[end : end + 1] in ("{", "[", "*")
            else None
        )
        stop = group[2] if group else end
        self._mark(Span(start, stop), Span(group[0], group[1]) if group else Span(stop, stop))
        return stop

    def _mark(self, span: Span, words: Span) -> None:
        query = latex_to_text(self.text[words.start : words.end]).strip()
        self.placeholders.append(Placeholder(PlaceholderKind.MARKER, span, query, words, ""))

    # Result

    def _document(self) -> Document:
        length = len(self.text)
        body = None
        if self.body_start is not None:
            body = Span(self.body_start, max(self.body_start, self.body_end or length))
        blanked = merge_spans(self.blanks.blanked)
        dead = SpanIndex(blanked)
        citations = [c for c in self.citations if not dead.covers(c.span.start)]
        blanked = merge_spans(
            [*blanked, *(s for s in self.blanks.math if not dead.covers(s.start))]
        )
        declared = self.declarations
        return Document(
            path=self.path,
            format=Format.LATEX,
            text=self.text,
            citations=tuple(citations),
            placeholders=self._all_placeholders(blanked, body),
            headings=declared.headings,
            title=declared.title,
            abstract=declared.abstract,
            bibliographies=tuple(declared.bibliographies),
            includes=tuple(declared.includes),
            root=self.root or declared.subfile_root,
            packages=tuple(dict.fromkeys(declared.packages)),
            document_class=declared.document_class,
            body=body,
            cite_macros=tuple(dict.fromkeys(self.macros)),
            text_macros=tuple(self.text_macros.items()),
            include_macros=tuple(self.include_macros.values()),
            nocite_all=self.nocite_all,
            blanked=tuple(blanked),
            file_contents=tuple(self.file_contents),
            bibitems=tuple(declared.bibitems),
        )

    def _all_placeholders(
        self, blanked: Sequence[Span], body: Span | None
    ) -> tuple[Placeholder, ...]:
        dead = SpanIndex(blanked)
        raw = SpanIndex(merge_spans([*self.raw, *(p.span for p in self.placeholders)]))
        marks = [
            mark
            for mark in find_markers(self.text, self.literal)
            if (body is None or mark.span.start in body) and not raw.covers(mark.span.start)
        ]
        found = sorted(
            (p for p in [*self.placeholders, *marks] if not dead.covers(p.span.start)),
            key=lambda p: p.span,
        )
        return tuple(fold_markers(found, self.text))


_Handler = Callable[[_Scanner, str, int, int], int]


def _declaration(method: Callable[[Declarations, str, int, int], int]) -> _Handler:
    return lambda scanner, name, start, end: method(scanner.declarations, name, start, end)


def _blank(method: Callable[[Blanks, str, int, int], int]) -> _Handler:
    return lambda scanner, name, start, end: method(scanner.blanks, name, start, end)


_HANDLERS: dict[str, _Handler] = {
    "begin": _Scanner._begin,
    "end": _Scanner._end,
    "abstract": _declaration(Declarations.set_abstract),
    "bibitem": _declaration(Declarations.bibitem),
    **dict.fromkeys(("verb", "Verb", "lstinline", "mintinline"), _blank(Blanks.verb)),
    **dict.fromkeys(("iffalse", "if"), _blank(Blanks.if_false)),
    **dict.fromkeys(known.PACKAGES, _Scanner._package),
    **dict.fromkeys(known.DEFINITIONS, _Scanner._definition),
    **dict.fromkeys(known.RAW_ARGUMENTS, _Scanner._skip_raw),
    **dict.fromkeys(known.HEADINGS, _declaration(Declarations.heading)),
    **dict.fromkeys(known.TITLES, _declaration(Declarations.set_title)),
    **dict.fromkeys(known.BIBLIOGRAPHIES, _declaration(Declarations.bibliography)),
    **dict.fromkeys(known.INCLUDES, _declaration(Declarations.include)),
    **dict.fromkeys(known.TODO_COMMANDS, _Scanner._todo),
}


@lru_cache(maxsize=64)
def _token_pattern(own: frozenset[str]) -> re.Pattern[str]:
    """The pattern of the relevant commands only: the regular expression engine skips the others."""
    plain = {name for name in (*_HANDLERS, *own, *known.CITE_COMMANDS) if "cit" not in name.lower()}
    by_letter: dict[str, list[str]] = {}
    for name in sorted(plain):
        by_letter.setdefault(name[0], []).append(re.escape(name[1:]))
    names = "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    asks = r"(?:todo|fixme|need|missing|add|find|insert|fill|want)[a-z]*_?[Rr]ef[a-z]*"
    words = rf"{names}|bibliography[A-Za-z]+|[A-Za-z@]*[cC]it[A-Za-z@]*|{asks}"
    return re.compile(rf"\\(?:({words})(?![A-Za-z@])|[\\%$\[(])|%|\$")
