"""Reading Markdown as Pandoc, Quarto and R Markdown write it: citations with exact ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from citewell.documents.latex import commands as known
from citewell.documents.latex.arguments import ArgumentReader
from citewell.documents.latex.cite import CiteReader
from citewell.documents.markdown.plaintext import markdown_to_text
from citewell.documents.markdown.yaml_block import FrontMatter, front_matter_span, read_front_matter
from citewell.documents.open_words import OpenWords, open_words, runs_on
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

_CODE = re.compile(
    r"(?P<fence>^[ \t]{0,3}(?P<mark>`{3,}|~{3,})[^\n]*$)"
    r"|(?P<comment><!--)"
    r"|(?P<math>\$\$)"
    r"|\\."
    r"|(?P<ticks>`+)"
    r"|(?P<dollar>\$(?=[^\s$]))"
    r"|(?P<link>\]\()"
    r"|(?P<url><(?:https?|mailto|ftp):[^\s<>]{0,2000}>|\b(?:https?|ftp)://[^\s<>()\[\]]{1,2000})",
    re.MULTILINE | re.DOTALL,
)
_DOLLAR_END = re.compile(r"(?<![\s\\])\$(?!\d)|\n[ \t]*\r?\n")
_LINK_END = re.compile(r"\)|\n")
_HEADING = re.compile(r"^(#{1,6})[ \t]+([^\r\n]{1,1000})", re.MULTILINE)
_HEADING_END = re.compile(r"[ \t]*#*[ \t]*(?:\{[^{}]*\})?[ \t]*$")
_SETEXT = re.compile(r"^(?![ \t]*[-=#>*+|`])([^\n]{1,300})\r?\n(=+|-{3,})[ \t]*\r?$", re.MULTILINE)
_KEY = re.compile(
    r"(?<![\w@\\/.+-])-?@"
    r"(?:\{(?P<braced>[^{}\s]{1,500})\}|(?P<plain>\w+(?:[:.#$%&+?<>~/-]+\w+)*))"
)
_CROSS = re.compile(
    r"(?:fig|tbl|sec|eq|lst|thm|lem|cor|prp|cnj|def|exm|exr|tab|nte|tip|wrn|imp|cau)[-:]"
)
"""Quarto's and bookdown's cross references, which look like citations."""
_BRACKET = re.compile(r"\\.|[\[\]]|\n[ \t]*\r?\n", re.DOTALL)
_ALL = re.compile(r"@\*")
_BARE = re.compile(r"(?<![\w@\\])@\?(?!\w)")
_LATEX = re.compile(r"\\([A-Za-z]+)")
_LINK = re.compile(r"\(|\[(?!@)|:")
_LOOSE = re.compile(r"[\n\r;\[\]@]|[.!?]\s+(?=[A-Z])")
_KEY_SHAPE = re.compile(r".*(?:\d\d|[_:]).*|.*[a-z][A-Z].*")
_LOCATOR = re.compile(
    r"(?i)(?:pp?|pages?|chap|chapters?|ch|sec|sections?|§+|figs?|figures?|vol|volumes?|para|"
    r"part|line|note|theorem|table|eq|and|or|for|in|see|e\.g|i\.e|passim|\W*\d.*)\b.*"
)
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
        self.blanked: list[Span] = []
        self.nocite_all = False
        self.pairs: dict[int, int] = {}

    def scan(self) -> Document:
        text = self.text
        head = front_matter_span(text)
        front = read_front_matter(text, head[0]) if head else None
        body = head[1] if head else 0
        self._blank(body)
        blanked = merge_spans(self.blanked)
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

    def _blank(self, position: int) -> None:
        """Find code, comments, mathematics and addresses: nothing counts there."""
        text = self.text
        limits: dict[str, int] = {}
        while match := _CODE.search(text, position):
            kind = match.lastgroup
            start, position = match.start(), match.end()
            end: int | None = None
            if match["fence"]:
                end = self._fence_end(match)
            elif match["comment"]:
                stop = text.find("-->", position)
                end = stop + 3 if stop >= 0 else len(text)
            elif kind in ("math", "ticks"):
                end = self._delimited(match[0], position, limits)
            elif kind == "dollar" and start >= limits.get("$", 0):
                stop_match = _DOLLAR_END.search(text, position, position + 2_000)
                if stop_match and stop_match[0] == "$":
                    end = stop_match.end()
                else:  # then none that opens before that place closes either
                    limits["$"] = stop_match.start() if stop_match else position + 2_000
            elif kind == "link":
                stop_match = _LINK_END.search(text, position, position + 2_000)
                end = stop_match.start() if stop_match and stop_match[0] == ")" else None
            elif kind == "url":
                end = position
            if end is not None:
                self.blanked.append(Span(start, end))
                position = end

    def _fence_end(self, match: re.Match[str]) -> int:
        mark = match["mark"]
        closing = re.compile(
            rf"^[ \t]{{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?$", re.MULTILINE
        )
        found = closing.search(self.text, match.end())
        return found.end() if found else len(self.text)

    def _delimited(self, mark: str, position: int, limits: dict[str, int]) -> int | None:
        """The end of a span that the same mark closes in the same paragraph."""
        if position < limits.get(mark, 0):
            return None
        paragraph = re.compile(r"\n[ \t]*\r?\n").search(self.text, position, position + 20_000)
        stop = paragraph.start() if paragraph else min(len(self.text), position + 20_000)
        run = re.escape(mark)
        edge = re.escape(mark[0])
        found = re.compile(rf"(?<!{edge}){run}(?!{edge})").search(self.text, position, stop)
        if found is None:
            limits[mark] = stop
            return None
        return found.end()

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
        keys = [KeyUse(*key) for key in self._keys(start + 1, inner_end)]
        wanted = self._wanted(start + 1, inner_end)
        if wanted is not None and closed and runs_on(wanted[1]):
            closed = False  # the bracket belongs to something further on
            inner_end = self._loose_end(start + 1)
            keys = [key for key in keys if key.span.start < inner_end]
            wanted = self._wanted(start + 1, inner_end)
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

    def _wanted(self, start: int, end: int) -> tuple[int, str, Span] | None:
        """Words that stand for a key: `@`, `@?`, `@?words`, `@query words`, `@a; @`."""
        text = self.text
        position = start
        while (place := text.find("@", position, end)) >= 0:
            position = place + 1
            if text[place - 1].isalnum():
                continue
            stop = len(text)
            for char in ";@":
                found = text.find(char, place + 1, end)
                stop = min(stop, found if found >= 0 else end)
            asks = text.startswith("?", place + 1)
            words_start = place + 2 if asks else place + 1
            while asks and text.startswith("?", words_start):
                words_start += 1
            raw = text[words_start:stop]
            words = squeeze(raw).rstrip(",")
            lead = len(raw) - len(raw.lstrip())
            span = Span(
                words_start + lead, max(words_start + lead, words_start + len(raw.rstrip()))
            )
            if asks or not words or is_dummy(words):
                return place, "" if is_dummy(words) else words, span
            if _free_words(words):
                return place, words, span
        return None

    def _keys(self, start: int, end: int) -> list[tuple[str, Span]]:
        found = []
        for match in _KEY.finditer(self.text, start, end):
            name = match["braced"] or match["plain"]
            if not match["braced"] and _CROSS.match(name):
                continue
            if is_dummy(name):
                continue
            place = match.start("braced") if match["braced"] else match.start("plain")
            found.append((name, Span(place, place + len(name))))
        return found

    def _bare_keys(self, body: int, dead: SpanIndex) -> None:
        text = self.text
        taken = SpanIndex(merge_spans(self.taken))
        for match in _KEY.finditer(text, body):
            start = match.start()
            if dead.covers(start) or taken.covers(start):
                continue
            for name, span in self._keys(start, match.end()):
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
            for match in _KEY.finditer(self.text, place.start, place.end):
                for name, span in self._keys(match.start(), match.end()):
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


def _free_words(words: str) -> bool:
    """True for a query of several words, false for a key with what may follow it.

    Pandoc lets a locator or any suffix follow a key (`[@doe99 p. 33]`), so that the first word must
    not look like a key and the second not like a locator.
    """
    parts = words.split()
    return (
        len(parts) >= 2
        and "," not in parts[0]
        and _KEY_SHAPE.fullmatch(parts[0]) is None
        and _LOCATOR.fullmatch(parts[1]) is None
    )
