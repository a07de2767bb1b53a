"""What a LaTeX source declares: headings, title, abstract, packages, includes, bibliographies."""

from __future__ import annotations

import re
from collections.abc import Iterable

from citewell.documents.latex import commands as known
from citewell.documents.latex.arguments import ArgumentReader, skip_gap
from citewell.documents.latex.plaintext import latex_to_text
from citewell.model.document import BibDeclaration, Heading, Include, KeyUse, Span

_BARE_FILE = re.compile(r"[ \t]+([^\s\\{}%]+)")
_BIBITEM = re.compile(r"\s*\{([^{}]*)\}")
_LINE_COMMENT = re.compile(r"(?m)%.*$")


class Declarations:
    """Collects the declarations of one text. Every method takes a command's name and range, and
    returns the place from which to go on."""

    def __init__(self, text: str, arguments: ArgumentReader) -> None:
        self.text = text
        self.arguments = arguments
        self.bibliographies: list[BibDeclaration] = []
        self.includes: list[Include] = []
        self.packages: list[str] = []
        self.bibitems: list[KeyUse] = []
        self.document_class = ""
        self.subfile_root = ""
        """The main file that a subfile's class option names."""
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
        """The headings with levels from 1, whichever the highest in this file is."""
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
        if has_glob:  # with alternatives in braces, it may hold commas
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
