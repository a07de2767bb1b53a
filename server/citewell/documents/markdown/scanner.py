"""Reading Markdown as Pandoc, Quarto and R Markdown write it: citations with exact ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citewell.documents.latex import commands as known
from citewell.documents.latex.arguments import ArgumentReader
from citewell.documents.latex.cite import CiteReader
from citewell.documents.markdown.blanks import blanked_spans
from citewell.documents.markdown.keys import KEY, keys_in, wanted_in
from citewell.documents.markdown.plaintext import markdown_to_text
from citewell.documents.markdown.yaml_block import FrontMatter, front_matter_span, read_front_matter
from citewell.documents.open_words import SENTENCE_STOP, OpenWords, open_words, runs_on
from citewell.documents.placeholders import find_markers, is_dummy, squeeze
from citewell.documents.spans import SpanIndex, merge_spans
from citewell.model.document import (
    BibDeclaration,
    Citation,
    Document,
    Format,
    Heading,
    KeyUse,
    Placeholder,
    PlaceholderKind,
    Span,
)

_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\r\n]{1,1000})", re.MULTILINE)
_HEADING_END = re.compile(r"[ \t]*#*[ \t]*(?:\{[^{}]*\})?[ \t]*$")
_SETEXT = re.compile(r"^(?![ \t]*[-=#>*+|`])([^\n]{1,300})\r?\n(=+|-{3,})[ \t]*\r?$", re.MULTILINE)
_BRACKET = re.compile(r"\\.|[\[\]]|\n[ \t]*\r?\n", re.DOTALL)
_ALL = re.compile(r"@\*")
_BARE = re.compile(r"(?<![\w@\\])@\?(?!\w)")
_LATEX = re.compile(r"\\([A-Za-z]+)")
_LINK = re.compile(r"\(|\[(?!@)|:")
_LOOSE = re.compile(rf"[\n\r;\[\]@]|[!?]\s+(?=[A-Z])|{SENTENCE_STOP}")
_MAX_BRACKET = 2_000


def scan_markdown(
    text: str,
    path: str = "",
    *,
    cite_commands: Sequence[str] = (),
    placeholders: Sequence[str] = (),
) -> Document:
    """Read a Markdown source, whole or broken; never raises.

    LaTeX cite commands count in it too, as Pandoc passes them on.
    """
    return _Scanner(text, path, cite_commands, placeholders).scan()


class _Scanner:
    def __init__(
        self, text: str, path: str, cite_commands: Sequence[str], literal: Sequence[str]
    ) -> None:
        self.text = text
        self.path = path
        self.literal = literal
        self.own = {c.name: c for c in map(known.parse_signature, cite_commands)}
        self.citations: list[Citation] = []
        self.placeholders: list[Placeholder] = []
        self.taken: list[Span] = []
        self.nocite_all = False
        self.pairs: dict[int, int] = {}

    def scan(self) -> Document:
        text = self.text
        head = front_matter_span(text)
        front = read_front_matter(text, head[0]) if head else None
        body = head[1] if head else 0
        blanked = merge_spans(blanked_spans(text, body))
        dead = SpanIndex(blanked)
        self.pairs = self._pair_brackets(body, dead)
        self._brackets(body, dead)
        self._bare_keys(body, dead)
        self._latex(body, dead)
        self._markers(body, dead)
        self._metadata(front)
        headings = self._headings(body, dead)
        top = min((level for level, _, _ in headings), default=1)
        # A single heading of the highest level, and no title in front matter: it is the title.
        levels = [level for level, _, _ in headings]
        title = front.title if front else ""
        if not title and levels and levels[0] == top and levels.count(top) == 1:
            title = headings[0][1]
        return Document(
            path=self.path,
            format=Format.MARKDOWN,
            text=text,
            citations=tuple(sorted(self.citations, key=lambda c: c.span)),
            placeholders=tuple(_apart(self.placeholders)),
            headings=tuple(Heading(level - top + 1, name, span) for level, name, span in headings),
            title=markdown_to_text(title),
            abstract=markdown_to_text(front.abstract) if front else "",
            bibliographies=self._bibliographies(front),
            front_matter=front.span if front else None,
            nocite_all=self.nocite_all,
            blanked=tuple(blanked),
        )

    @staticmethod
    def _bibliographies(front: FrontMatter | None) -> tuple[BibDeclaration, ...]:
        files = front.bibliographies if front else ()
        return tuple(BibDeclaration(name, span, "yaml") for name, span in files)

    def _brackets(self, position: int, dead: SpanIndex) -> None:
        text = self.text
        at = text.find("@", position)
        while (start := text.find("[", position)) >= 0:
            position = start + 1
            at = text.find("@", start) if 0 <= at < start else at
            if at < 0:
                break
            if at - start > _MAX_BRACKET:
                position = text.rfind("[", start, at - _MAX_BRACKET + 1) + 1
                continue
            covered = dead.find(start)
            if covered is not None:
                position = max(position, covered.end)
                continue
            if text[start - 1 : start] == "\\":
                continue
            end = self.pairs.get(start)
            inner_end = end - 1 if end is not None else self._loose_end(start + 1)
            if text.find("@", start, inner_end) < 0:
                continue
            if self._group(start, inner_end, closed=end is not None):
                position = end if end is not None else inner_end

    def _pair_brackets(self, body: int, dead: SpanIndex) -> dict[int, int]:
        """The place after the `]` for each `[` that closes within its paragraph."""
        pairs: dict[int, int] = {}
        waiting: list[int] = []
        for match in _BRACKET.finditer(self.text, body):
            token = match[0]
            if token[0] == "\n":
                waiting.clear()
            elif token[0] == "\\" or dead.covers(match.start()):
                continue
            elif token == "[":
                waiting.append(match.start())
            elif waiting:
                start = waiting.pop()
                if match.end() - start <= _MAX_BRACKET:
                    pairs[start] = match.end()
        return pairs

    def _loose_end(self, start: int) -> int:
        first = self.text[start : start + 2].removeprefix("-")[:1] == "@"
        offset = start + (self.text[start : start + 2].find("@") + 1 if first else 0)
        match = _LOOSE.search(self.text, offset, offset + 300)
        return match.start() if match else min(len(self.text), offset + 300)

    def _group(self, start: int, inner_end: int, *, closed: bool) -> bool:
        """Read `[see @a, p. 5; @b]`; True when it was a citation or a placeholder."""
        text = self.text
        at = text.find("@", start)
        if text.rfind("[", start + 1, at) > text.rfind("]", start + 1, at):
            return False  # the citation is in a bracket further in
        if text[start - 1 : start] == "^":
            return False  # an inline footnote
        keys = [KeyUse(*key) for key in keys_in(self.text, start + 1, inner_end)]
        wanted = wanted_in(self.text, start + 1, inner_end)
        if wanted is not None and closed and runs_on(wanted[1]):
            closed = False  # the bracket belongs to something further on
            inner_end = self._loose_end(start + 1)
            keys = [key for key in keys if key.span.start < inner_end]
            wanted = wanted_in(self.text, start + 1, inner_end)
        if not closed and wanted is None:
            return False  # `[see @key` is read as a bare key
        open_: OpenWords | None = None
        if wanted is not None and not closed:
            wanted, open_ = self._opened(wanted, inner_end)
            inner_end = open_.end
            keys = [key for key in keys if key.span.start < wanted[0]]
        span = Span(start, inner_end + 1 if closed else inner_end)
        if wanted is not None:
            place, query, query_span = wanted
            keys = [k for k in keys if not query_span.start <= k.span.start < query_span.end]
            alone = not keys and not text[start + 1 : place].strip(" -")
            alone = alone and not text[query_span.end : inner_end].strip()
            # Beside other keys or notes only the `@...` itself is replaced.
            self.placeholders.append(
                Placeholder(
                    kind=PlaceholderKind.QUERY if query else PlaceholderKind.EMPTY,
                    span=span if alone else Span(place, query_span.end),
                    query=query,
                    query_span=query_span,
                    command="[@]" if alone else "@",
                    closed=closed,
                    other_keys=tuple(k.key for k in keys),
                    reach=0 if open_ is None else open_.reach,
                    certain=open_ is None or open_.certain,
                )
            )
        if keys:
            self.citations.append(Citation("[@]", tuple(keys), span))
        if keys or wanted is not None:
            self.taken.append(span)
            return True
        return False

    def _opened(
        self, wanted: tuple[int, str, Span], reach: int
    ) -> tuple[tuple[int, str, Span], OpenWords]:
        """The placeholder up to its last plausible word, for one without a closing bracket."""
        place, start = wanted[0], wanted[0] + 1
        while self.text.startswith("?", start):
            start += 1
        words = open_words(self.text, start, reach)
        query = squeeze(self.text[start : words.end])
        span = Span(start, words.end)
        return (place, "" if is_dummy(query) else query, span), words

    def _bare_keys(self, body: int, dead: SpanIndex) -> None:
        text = self.text
        taken = SpanIndex(merge_spans(self.taken))
        for match in KEY.finditer(text, body):
            start = match.start()
            if dead.covers(start) or taken.covers(start):
                continue
            for name, span in keys_in(self.text, start, match.end()):
                end = match.end()
                option = end + 1 if text.startswith(" [", end) else end
                stop = self.pairs.get(option) if text.startswith("[", option) else None
                if stop is not None and not text.startswith(("(", ":"), stop):
                    end = stop
                self.citations.append(Citation("@", (KeyUse(name, span),), Span(start, end)))
                self.taken.append(Span(start, end))
        for match in _BARE.finditer(text, body):
            start, end = match.span()
            if not dead.covers(start) and not taken.covers(start):
                empty = Span(end - 1, end)
                self.placeholders.append(
                    Placeholder(PlaceholderKind.EMPTY, Span(start, end), "", empty, "@")
                )
                self.taken.append(Span(start, end))

    def _metadata(self, front: FrontMatter | None) -> None:
        """Citations in the front matter, which Pandoc reads as text: `nocite: "@a, @b"`."""
        for field, place in front.cites if front else ():
            command = "nocite" if field == "nocite" else "@"
            for match in KEY.finditer(self.text, place.start, place.end):
                for name, span in keys_in(self.text, match.start(), match.end()):
                    whole = Span(*match.span())
                    self.citations.append(Citation(command, (KeyUse(name, span),), whole))
            if field == "nocite" and _ALL.search(self.text, place.start, place.end):
                self.nocite_all = True

    def _latex(self, body: int, dead: SpanIndex) -> None:
        if "\\" not in self.text:
            return
        reader = CiteReader(self.text, ArgumentReader(self.text))
        position = body
        while match := _LATEX.search(self.text, position):
            position = match.end()
            name = match[1]
            if dead.covers(match.start()):
                continue
            command = self.own.get(name) or known.CITE_COMMANDS.get(name)
            if command is None and "cit" in name.lower() and known.looks_like_cite(name):
                command = known.fallback_command(name)
            if command is None:
                continue
            result = reader.read(match.start(), match.end(), command)
            if result is None:
                continue
            position = result.end
            if result.citation is not None:
                if name == "nocite" and result.citation.keys[0].key == "*":
                    self.nocite_all = True
                else:
                    self.citations.append(result.citation)
            if result.placeholder is not None:
                self.placeholders.append(result.placeholder)
            self.taken.append(Span(match.start(), result.end))

    def _markers(self, body: int, dead: SpanIndex) -> None:
        text = self.text
        taken = SpanIndex(merge_spans(self.taken))
        last = body
        for mark in find_markers(text, self.literal):
            start, end = mark.span.start, mark.span.end
            if start < last or dead.covers(start) or taken.covers(start):
                continue
            if text[start] == "[" and (_LINK.match(text, end) or text[start - 1 : start] == "]"):
                continue  # a link, its label or its definition
            self.placeholders.append(mark)
            last = end

    def _headings(self, body: int, dead: SpanIndex) -> list[tuple[int, str, Span]]:
        found = [
            (len(m[1]), _HEADING_END.sub("", m[2].rstrip()), Span(*m.span()))
            for m in _HEADING.finditer(self.text, body)
            if not dead.covers(m.start())
        ]
        found += [
            (1 if m[2][0] == "=" else 2, m[1], Span(*m.span()))
            for m in _SETEXT.finditer(self.text, body)
            if not dead.covers(m.start())
        ]
        found.sort(key=lambda item: item[2])
        return [(level, markdown_to_text(name), span) for level, name, span in found]


def _apart(placeholders: Sequence[Placeholder]) -> Iterator[Placeholder]:
    """The placeholders in order, without those that begin inside of another one."""
    end = 0
    for item in sorted(placeholders, key=lambda p: p.span):
        if item.span.start >= end:
            end = item.span.end
            yield item
