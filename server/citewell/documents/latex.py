"""Reading a LaTeX source: citations, placeholders, headings and declarations with exact ranges.

A document being typed is always broken, so that nothing here raises and nothing is believed to
close unless it does. One pass over the commands; the time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

import msgspec

from citewell.documents import latex_commands as known
from citewell.documents.latex_args import ArgumentReader, skip_gap
from citewell.documents.latex_cite import CiteReader
from citewell.documents.latex_commands import CiteCommand
from citewell.documents.latex_macros import read_definition
from citewell.documents.placeholders import find_markers, todo_query
from citewell.documents.plaintext import latex_to_text
from citewell.documents.spans import SpanIndex, merge_spans
from citewell.model.document import (
    BibDeclaration,
    Citation,
    Document,
    Format,
    Heading,
    Include,
    KeyUse,
    Placeholder,
    PlaceholderKind,
    Span,
)

_ROOT = re.compile(r"%[ \t]*!T[Ee]X\s+root\s*=\s*(.+?)\s*$")
_SIMPLE_MATH = re.compile(
    r"\$(?:[^$\\{}%\n]|\\.|\n(?![ \t]*\r?\n)"
    r"|\{(?:[^$\\{}%\n]|\\.|\{(?:[^$\\{}%\n]|\\.){0,500}+\}){0,500}+\}){1,2000}+\$",
    re.DOTALL,
)
"""Nearly all inline mathematics: no blank line, no comment, braces that match."""
_MATH_INSIDE = re.compile(r"\\.|[{}$%]|\n[ \t]*\r?\n", re.DOTALL)
_CONDITION = re.compile(r"\\(if[A-Za-z@]*|fi|else)(?![A-Za-z@])")
_FI = re.compile(r"\\fi(?![A-Za-z@])")
_NOT_CONDITION = frozenset(("iff", "ifthenelse", "ifdefined@", "ifstrequal", "ifblank"))
_VERB = re.compile(r"\*?([^A-Za-z\s*])")
_BARE_FILE = re.compile(r"[ \t]+([^\s\\{}%]+)")
_BIBITEM = re.compile(r"\s*\{([^{}]*)\}")
_MAX_MATH = 20_000


def scan_latex(
    text: str,
    path: str = "",
    *,
    cite_commands: Sequence[str] = (),
    placeholders: Sequence[str] = (),
    packages: Sequence[str] = (),
) -> Document:
    """Read a LaTeX source, whole or broken; never raises.

    `cite_commands` are further cite commands ("figcite", or "figcite#2" when the keys stand in the
    second group), `placeholders` further literal marks, `packages` those that the root file loads.
    """
    return _Scanner(text, path, cite_commands, placeholders, packages).scan()


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
        self.citations: list[Citation] = []
        self.placeholders: list[Placeholder] = []
        self.headings: list[tuple[int, Span, Span]] = []
        self.title: Span | None = None
        self.abstract: Span | None = None
        self.bibliographies: list[BibDeclaration] = []
        self.includes: list[Include] = []
        self.root = ""
        self.packages: list[str] = []
        self.document_class = ""
        self.body_start: int | None = None
        self.body_end: int | None = None
        self.nocite_all = False
        self.blanked: list[Span] = []
        self.math: list[Span] = []
        self.raw: list[Span] = []
        """Arguments in which a mark is none: addresses, options of citations."""
        self.bibitems: list[KeyUse] = []
        self.math_until = 0
        self.no_math_before = 0
        self.next_end: dict[str, int] = {}
        self.no_nested_conditions = False
        self.no_fi = False

    def scan(self) -> Document:
        text = self.text
        position = 0
        token_pattern = _token_pattern(frozenset(self.own))
        known_names = len(self.own)
        while match := token_pattern.search(text, position):
            name = match[1]
            if name is not None:
                position = self._command(name, match.start(), match.end())
                if len(self.own) != known_names:  # it was a definition
                    known_names = len(self.own)
                    token_pattern = _token_pattern(frozenset(self.own))
            elif (token := match[0]) == "%":
                position = self._comment(match.start())
            elif token == "$":
                position = self._dollar(match.start())
            elif token in ("\\[", "\\("):
                closer = "\\]" if token == "\\[" else "\\)"
                position = self._math(match.start(), match.end(), closer)
            else:
                position = match.end()
        return self._document()

    # Commands

    def _command(self, name: str, start: int, end: int) -> int:
        """Deal with one command and return the place from which to go on."""
        if (cite := self._cite_command(name)) is not None:
            return self._cite(start, end, cite)
        if (handler := _HANDLERS.get(name)) is not None:
            return handler(self, name, start, end)
        if name.startswith("bibliography") and name not in known.NOT_BIBLIOGRAPHIES:
            return self._bibliography(name, start, end)
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

    def _comment(self, start: int) -> int:
        end = self.text.find("\n", start)
        end = len(self.text) if end < 0 else end
        if not self.root and start < 5_000 and (match := _ROOT.match(self.text[start:end])):
            self.root = match[1]
        self.blanked.append(Span(start, end))
        return end

    def _begin(self, name: str, start: int, end: int) -> int:
        group = self.arguments.argument(end, 100)
        if group is None:
            return end
        name, after = self.text[group[0] : group[1]], group[2]
        if name == "document":
            self.body_start = self.body_start if self.body_start is not None else after
        elif name in known.VERBATIM_ENVIRONMENTS:
            return self._verbatim(name, start, after)
        elif name in known.MATH_ENVIRONMENTS:
            stop = self._environment_end(name, after)
            if stop is not None:
                return self._note_math(start, after, stop)
        elif name in known.ABSTRACTS:
            stop = self._environment_end(name, after)
            if stop is not None and self.abstract is None:
                self.abstract = Span(after, stop - len(name) - 6)
        elif name in known.CITE_ENVIRONMENTS:
            return self._cite(start, after, known.CITE_ENVIRONMENTS[name])
        return after

    def _end(self, name: str, start: int, end: int) -> int:
        if self.text.startswith("{document}", end):
            self.body_end = start
            self.blanked.append(Span(end + 10, len(self.text)))
            return len(self.text)
        return end

    def _verbatim(self, name: str, start: int, after: int) -> int:
        stop = self._find_end(name, after)
        stop = len(self.text) if stop < 0 else stop + len(name) + 6
        self.blanked.append(Span(start, stop))
        return stop

    def _find_end(self, name: str, position: int) -> int:
        """Start of the next `\\end{name}`, or -1; remembered, so that looking again is free."""
        found = self.next_end.get(name, 0)
        if 0 <= found < position:
            found = self.text.find(f"\\end{{{name}}}", position)
            self.next_end[name] = found
        return found

    def _environment_end(self, name: str, after: int) -> int | None:
        """The place after `\\end{name}`; None when the environment is open or another begins."""
        stop = self._find_end(name, after)
        if stop < 0 or self.text.find(f"\\begin{{{name}}}", after, min(stop, after + 50_000)) >= 0:
            return None
        return stop + len(name) + 6

    def _verb(self, name: str, start: int, end: int) -> int:
        if name == "mintinline":
            language = self.arguments.argument(self.arguments.optional(end), 100)
            end = language[2] if language else end
        elif name == "lstinline":
            end = self.arguments.optional(end)
        match = _VERB.match(self.text, end)
        if match is None:
            return end
        if match[1] == "{":
            stop = self.arguments.group(match.end() - 1, 1_000, blank=False)
        else:
            line_end = self.text.find("\n", end, end + 2_000)
            stop = self.text.find(match[1], match.end(), line_end if line_end >= 0 else end + 2_000)
            stop = stop + 1 if stop >= 0 else None
        if stop is None:
            return end
        self.blanked.append(Span(start, stop))
        return stop

    def _if_false(self, name: str, start: int, end: int) -> int:
        """`\\iffalse` and `\\if0` up to their `\\else` or `\\fi`; conditions inside are counted."""
        if name == "if":
            if not self.text.startswith("0", end):
                return end
            end += 1
        stop = None if self.no_nested_conditions else self._matching_fi(end)
        if stop is None:
            # Unbalanced, perhaps through conditions of the author's own: the next `\fi` is the best
            # guess, and without one nothing is left out.
            self.no_nested_conditions = True
            following = None if self.no_fi else _FI.search(self.text, end)
            if following is None:
                self.no_fi = True
                return end
            stop = following.start()
        self.blanked.append(Span(start, stop))
        return stop

    def _matching_fi(self, position: int) -> int | None:
        depth = 0
        for match in _CONDITION.finditer(self.text, position):
            word = match[1]
            if word in ("fi", "else"):
                if depth == 0:
                    return match.start()
                depth -= word == "fi"
            elif word not in _NOT_CONDITION and not self._declares(match.start()):
                depth += 1
        return None

    def _declares(self, start: int) -> bool:
        """True for the name in `\\newif\\ifdraft`, which opens nothing."""
        return self.text[max(0, start - 8) : start].rstrip(" {").endswith(("\\newif", "\\let"))

    # Math

    def _dollar(self, start: int) -> int:
        if start < self.math_until:
            return start + 1
        if self.text.startswith("$$", start):
            return self._math(start, start + 2, "$$")
        if start >= self.no_math_before and (match := _SIMPLE_MATH.match(self.text, start)):
            return self._note_math(start, start + 1, match.end())
        return self._math(start, start + 1, "$")

    def _note_math(self, start: int, inside: int, end: int) -> int:
        """Go on inside of mathematics only if it may hold a citation."""
        self.math.append(Span(start, end))
        self.math_until = max(self.math_until, end)
        return inside if self.text.find("cit", inside, end) >= 0 else end

    def _math(self, start: int, inside: int, closer: str) -> int:
        """Note the math that opens at `start`, if it closes within the paragraph, and go on inside:
        a citation in it still counts."""
        if start < self.math_until or start < self.no_math_before:
            return inside
        depth = 0
        stop = min(len(self.text), inside + _MAX_MATH)
        position = inside
        while match := _MATH_INSIDE.search(self.text, position, stop):
            token = match[0]
            position = match.end()
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
            elif token == "%":
                line_end = self.text.find("\n", position, stop)
                position = line_end if line_end >= 0 else stop
            elif token[0] == "\n":
                stop = match.start()
                break
            elif depth <= 0 and self.text.startswith(closer, match.start()):
                end = match.start() + len(closer)
                return self._note_math(start, inside, end)
        self.no_math_before = stop
        return inside

    # Declarations

    def _definition(self, name: str, start: int, end: int) -> int:
        found = read_definition(self.text, name, end, self.arguments, self._cite_command)
        if found is None:
            return end
        for command in found.commands:
            if known.CITE_COMMANDS.get(command.name) != command:
                self.own[command.name] = command
                self.macros.append(command.signature)
        self.blanked.append(Span(start, found.end))
        return found.end

    def _skip_raw(self, name: str, start: int, end: int) -> int:
        place = skip_gap(self.text, self.arguments.optional(end))
        stop = self.arguments.raw_group(place)
        if stop is None:
            return end
        self.raw.append(Span(start, stop))
        return stop

    def _heading(self, name: str, start: int, end: int) -> int:
        group = self._titled(end, 1_000)
        if group is None:
            return end
        level = known.HEADINGS[name]
        self.headings.append((level, Span(group[0], group[1]), Span(start, group[2])))
        return group[0]

    def _title(self, name: str, start: int, end: int) -> int:
        group = self._titled(end, 4_000)
        if group is not None and self.text[group[0] : group[1]].strip():
            self.title = Span(group[0], group[1])
        return end

    def _abstract(self, name: str, start: int, end: int) -> int:
        group = self.arguments.argument(end)
        if group is not None and self.abstract is None:
            self.abstract = Span(group[0], group[1])
        return end

    def _titled(self, end: int, limit: int) -> tuple[int, int, int] | None:
        return self.arguments.argument(self.arguments.optional(end), limit)

    def _bibliography(self, name: str, start: int, end: int) -> int:
        group = self._titled(end, 4_000)
        if group is None:
            return end
        self.bibliographies += (
            BibDeclaration(target, span, name) for target, span in self._names(group[0], group[1])
        )
        return group[2]

    def _names(self, start: int, end: int) -> Iterable[tuple[str, Span]]:
        position = start
        for part in self.text[start:end].split(","):
            inner = re.sub(r"(?m)%.*$", "", part).strip()
            place = self.text.find(inner, position)
            if inner:
                yield inner, Span(place, place + len(inner))
            position += len(part) + 1

    def _include(self, name: str, start: int, end: int) -> int:
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

    def _package(self, name: str, start: int, end: int) -> int:
        options_start = skip_gap(self.text, end)
        place = self.arguments.optional(end)
        group = self.arguments.argument(place, 4_000)
        if group is None:
            return end
        names = [part for part, _ in self._names(group[0], group[1])]
        options = [o.strip() for o in self.text[options_start:place].strip("[] \n").split(",")]
        if name.startswith(("documentclass", "LoadClass")):
            self.document_class = self.document_class or ",".join(names)
            if names == ["subfiles"] and not self.root:
                self.root = options[0]
            is_apa = self.document_class in ("apa", "apa6", "apa6e", "apa7")
            if "apacite" in options or (is_apa and not {"noapacite", "biblatex"} & set(options)):
                names = ["apacite"]
            else:
                names = []
        if "natbibapa" in options or "apacite" in names:
            self.cites.apacite = True
        self.packages += names
        return group[2]

    def _bibitem(self, name: str, start: int, end: int) -> int:
        match = _BIBITEM.match(self.text, self.arguments.optional(end))
        if match is None:
            return end
        self.bibitems.append(KeyUse(match[1].strip(), Span(*match.span(1))))
        return match.end()

    # Marks

    def _todo(self, name: str, start: int, end: int) -> int:
        """`\\todo{cite work on X}` asks for a citation; any other note is none of ours."""
        group = self._titled(end, 2_000)
        if group is None:
            return end
        note = self.text[group[0] : group[1]]
        words = todo_query(note, self.text[max(0, start - 40) : start])
        if words is None:
            return end
        self._mark(Span(start, group[2]), Span(group[0] + words[0], group[0] + words[1]))
        return group[2]

    def _missing(self, start: int, end: int) -> int:
        """`\\citationneeded`, `\\todocite{graph attention}`."""
        group = self._titled(end, 1_000) if self.text[end : end + 1] in ("{", "[", "*") else None
        stop = group[2] if group else end
        self._mark(Span(start, stop), Span(group[0], group[1]) if group else Span(stop, stop))
        return stop

    def _mark(self, span: Span, words: Span) -> None:
        query = latex_to_text(self.text[words.start : words.end]).strip()
        self.placeholders.append(Placeholder(PlaceholderKind.MARKER, span, query, words, ""))

    # The result

    def _document(self) -> Document:
        length = len(self.text)
        body = None
        if self.body_start is not None:
            body = Span(self.body_start, max(self.body_start, self.body_end or length))
        blanked = merge_spans(self.blanked)
        dead = SpanIndex(blanked)
        citations = [c for c in self.citations if not dead.covers(c.span.start)]
        blanked = merge_spans([*blanked, *(s for s in self.math if not dead.covers(s.start))])
        levels = [level for level, _, _ in self.headings]
        top = min(levels, default=0)
        return Document(
            path=self.path,
            format=Format.LATEX,
            text=self.text,
            citations=tuple(citations),
            placeholders=self._all_placeholders(blanked, body),
            headings=tuple(
                Heading(level - top + 1, self._plain(title), span)
                for level, title, span in self.headings
            ),
            title=self._plain(self.title),
            abstract=self._plain(self.abstract),
            bibliographies=tuple(self.bibliographies),
            includes=tuple(self.includes),
            root=self.root,
            packages=tuple(dict.fromkeys(self.packages)),
            document_class=self.document_class,
            body=body,
            cite_macros=tuple(dict.fromkeys(self.macros)),
            nocite_all=self.nocite_all,
            blanked=tuple(blanked),
            bibitems=tuple(self.bibitems),
        )

    def _plain(self, span: Span | None) -> str:
        return latex_to_text(self.text[span.start : span.end]) if span else ""

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
        if self.literal:  # the user's own marks win over what they hold or stand in
            own = SpanIndex(merge_spans(mark.span for mark in marks))
            self.placeholders = [p for p in self.placeholders if not own.covers(p.span.start)]
        found = sorted(
            (p for p in [*self.placeholders, *marks] if not dead.covers(p.span.start)),
            key=lambda p: p.span,
        )
        return tuple(_fold(found, self.text))


def _fold(found: Sequence[Placeholder], text: str) -> list[Placeholder]:
    """One placeholder for `\\cite{} \\todo{cite work on X}`; overlapping ones lose the later."""
    kept: list[Placeholder] = []
    for item in found:
        last = kept[-1] if kept else None
        if last is not None and item.span.start < last.span.end:
            continue
        if (
            last is not None
            and last.kind is PlaceholderKind.EMPTY
            and item.kind is PlaceholderKind.MARKER
            and item.query
            and text[item.span.start] == "\\"
            and not text[last.span.end : item.span.start].strip(" ~")
        ):
            kept[-1] = msgspec.structs.replace(
                last,
                span=Span(last.span.start, item.span.end),
                query=item.query,
                query_span=item.query_span,
            )
            continue
        kept.append(item)
    return kept


_HANDLERS = {
    "begin": _Scanner._begin,
    "end": _Scanner._end,
    "verb": _Scanner._verb,
    "Verb": _Scanner._verb,
    "lstinline": _Scanner._verb,
    "mintinline": _Scanner._verb,
    "iffalse": _Scanner._if_false,
    "if": _Scanner._if_false,
    "abstract": _Scanner._abstract,
    "usepackage": _Scanner._package,
    "RequirePackage": _Scanner._package,
    "documentclass": _Scanner._package,
    "LoadClass": _Scanner._package,
    "bibitem": _Scanner._bibitem,
    **dict.fromkeys(known.DEFINITIONS, _Scanner._definition),
    **dict.fromkeys(known.RAW_ARGUMENTS, _Scanner._skip_raw),
    **dict.fromkeys(known.HEADINGS, _Scanner._heading),
    **dict.fromkeys(known.TITLES, _Scanner._title),
    **dict.fromkeys(known.BIBLIOGRAPHIES, _Scanner._bibliography),
    **dict.fromkeys(known.INCLUDES, _Scanner._include),
    **dict.fromkeys(known.TODO_COMMANDS, _Scanner._todo),
}


@lru_cache(maxsize=64)
def _token_pattern(own: frozenset[str]) -> re.Pattern[str]:
    """Matches the commands that matter, and only those: the others pass at the speed of C."""
    plain = {name for name in (*_HANDLERS, *own, *known.CITE_COMMANDS) if "cit" not in name.lower()}
    by_letter: dict[str, list[str]] = {}
    for name in sorted(plain):
        by_letter.setdefault(name[0], []).append(re.escape(name[1:]))
    names = "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in by_letter.items())
    asks = r"(?:todo|fixme|need|missing|add|find|insert|fill|want)[a-z]*_?[Rr]ef[a-z]*"
    words = rf"{names}|bibliography[A-Za-z]+|[A-Za-z@]*[cC]it[A-Za-z@]*|{asks}"
    return re.compile(rf"\\(?:({words})(?![A-Za-z@])|[\\%$\[(])|%|\$")
