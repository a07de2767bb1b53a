"""The scanner for Markdown (Pandoc, Quarto, R Markdown): citations with exact ranges."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from citewell.documents.latex import commands as known
from citewell.documents.latex.cite import CiteReader
from citewell.documents.latex.commands import ArgumentReader, SpanIndex, merge_spans
from citewell.documents.markdown.blanks import RawParts, markdown_to_text
from citewell.documents.markdown.yaml_block import (
    FrontMatter,
    front_matter_span,
    join_metadata,
    read_front_matter,
)
from citewell.documents.placeholders import (
    SENTENCE_STOP,
    OpenWords,
    find_markers,
    is_dummy,
    open_words,
    runs_on,
    squeeze,
)
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

# Documents that R Markdown and Quarto insert for a chunk or shortcode.

_CHUNK = re.compile(
    r"""[ \t>]*[`~]{3,}[ \t]*\{(?:[^{}\n]*[,\s])?child[ \t]*=[ \t]*(?P<value>[^{}\n]*)\}"""
)
_OPTION = re.compile(
    r"^[ \t>]*#\|[ \t]*child[ \t]*:(?P<value>[^\n]*(?:\n#\|[ \t]+-[^\n]*)*)", re.MULTILINE
)
_QUOTED = re.compile(r"""\"([^"\n]{1,300})\"|'([^'\n]{1,300})'""")
_PLAIN = re.compile(r"[^\s\[\],#|\"'()]{2,300}")
_SHORTCODE = re.compile(r"\{\{<[ \t]*include[ \t]+(?P<value>[^\s<>]{1,300})[ \t]*>\}\}")


def child_documents(text: str, blanked: Sequence[Span]) -> Iterator[Include]:
    """The files in the `child` option of chunks, in their header or as an option, and by `include`
    shortcodes, in order. `blanked` is the code of the text, which holds the chunks."""
    found: list[Include] = []
    for span in blanked if "child" in text else ():
        if chunk := _CHUNK.match(text, span.start, span.end):
            for name in _QUOTED.finditer(text, *chunk.span("value")):
                place = Span(*name.span(name.lastindex or 1))
                found.append(Include(text[place.start : place.end], place, "child"))
        if text.startswith(("```", "~~~"), span.start):
            for option in _OPTION.finditer(text, span.start, span.end):
                names = list(_QUOTED.finditer(text, *option.span("value")))
                for name in names or _PLAIN.finditer(text, *option.span("value")):
                    place = Span(*name.span(name.lastindex or 0))
                    found.append(Include(text[place.start : place.end], place, "child"))
    for shortcode in _SHORTCODE.finditer(text) if "{{<" in text else ():
        place = Span(*shortcode.span("value"))
        found.append(Include(shortcode["value"], place, "include"))
    return iter(sorted(found, key=lambda include: include.span))


# Keys in Markdown, `@doe99` or `@{any key}`, and words in their place.

_LETTER = r"[\w\u0300-\u036f\u0653-\u0655\u3099\u309a]"
"""Characters of a key, including the combining marks of decomposed letters (NFD)."""
KEY = re.compile(
    r"(?<![^\W_])(?<!\w_)(?<!\.)(?<!(?<!\\)\\)-?@"
    r"(?:\{(?P<braced>(?:[^{}\s]|\{[^{}\s]{0,200}\}){1,500})\}"
    rf"|(?P<plain>\w{_LETTER}*(?:[:.#$%&+?<>~/-]{_LETTER}+)*))"
)
_CROSS = re.compile(
    r"(?:fig|tbl|sec|eq|lst|thm|lem|cor|prp|cnj|def|exm|exr|tab|nte|tip|wrn|imp|cau)[-:]"
)
"""Cross references of Quarto and bookdown, which look like citations."""
_KEY_SHAPE = re.compile(r".*(?:\d\d|[_:]).*|.*[a-z][A-Z].*")
_LOCATOR = re.compile(
    r"(?i)(?:pp?|pages?|chap|chapters?|ch|sec|sections?|§+|figs?|figures?|vol|volumes?|para|"
    r"part|line|note|theorem|table|eq|and|or|for|in|see|e\.g|i\.e|passim|\W*\d.*)\b.*"
)
_BEHIND_WORDS = re.compile(
    r"(?i),\s*(?:pp?\.?|(?:chap|ch|secs?|figs?|vol|eq|no|art)\.|pages?|chapters?|sections?|figures?|"
    r"volumes?|theorem|§+)\s*(?:[ivxlc]+\b|\d[\w.–-]*)(?:,.*)?\s*\Z"
)
"""A locator after words: `, p. 3`."""


def keys_in(text: str, start: int, end: int) -> list[tuple[str, Span]]:
    """The keys cited in a range of the text, with their spans; without cross references and
    dummies."""
    found = []
    for match in KEY.finditer(text, start, end):
        name = match["braced"] or match["plain"]
        if not match["braced"] and _CROSS.match(name):
            continue
        if is_dummy(name):
            continue
        place = match.start("braced") if match["braced"] else match.start("plain")
        found.append((name, Span(place, place + len(name))))
    return found


def wanted_in(text: str, start: int, end: int, dead: SpanIndex) -> tuple[int, str, Span] | None:
    """Words in place of a key: `@`, `@?`, `@?words`, `@query words`, `@a; @`; not within `dead`."""
    position = start
    while (place := text.find("@", position, end)) >= 0:
        position = place + 1
        if text[place - 1].isalnum() or dead.covers(place):
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
        if locator := _BEHIND_WORDS.search(raw):
            raw = raw[: locator.start()]
        words = squeeze(raw).rstrip(",")
        lead = len(raw) - len(raw.lstrip())
        span = Span(words_start + lead, max(words_start + lead, words_start + len(raw.rstrip())))
        if asks or not words or is_dummy(words):
            return place, "" if is_dummy(words) else words, span
        if _free_words(words):
            return place, words, span
    return None


def _free_words(words: str) -> bool:
    """True for a query of several words, false for a key with a suffix.

    Pandoc allows a locator or any suffix after a key (`[@doe99 p. 33]`): the first word must not
    look like a key and the second not like a locator.
    """
    parts = words.split()
    return (
        len(parts) >= 2
        and "," not in parts[0]
        and _KEY_SHAPE.fullmatch(parts[0]) is None
        and _LOCATOR.fullmatch(parts[1]) is None
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
    """Scan a Markdown source, even a broken one; never raises. LaTeX cite commands count in it too,
    since Pandoc passes them on."""
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
        self.dead = SpanIndex(())
        """Regions without citations for Pandoc."""

    def scan(self) -> Document:
        text = self.text
        head = front_matter_span(text)
        body = head[1] if head else 0
        raw = RawParts(text, body)
        blocks = [
            read_front_matter(text, span) for span in ([head[0]] if head else []) + raw.metadata
        ]
        front = join_metadata(blocks)
        open_code = raw.open_code or Span(len(text), len(text))
        blanked = merge_spans([*raw.blanked, open_code])
        self.dead = SpanIndex(merge_spans([*raw.blanked, *raw.latex]))
        self.pairs = self._pair_brackets(body)
        self._brackets(body)
        self._bare_keys(body, raw.examples)
        self._latex(body, SpanIndex(merge_spans(raw.blanked)))
        self._markers(body)
        self._metadata(front)
        self.placeholders = [p for p in self.placeholders if p.span.start < open_code.start]
        headings = self._headings(body)
        top = min((level for level, _, _ in headings), default=1)
        # A single heading of the highest level, without a title in the front matter, is the title.
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
            references=front.references if front else None,
            includes=tuple(child_documents(text, raw.blanked)),
            nocite_all=self.nocite_all,
            blanked=tuple(blanked),
        )

    @staticmethod
    def _bibliographies(front: FrontMatter | None) -> tuple[BibDeclaration, ...]:
        files = front.bibliographies if front else ()
        return tuple(BibDeclaration(name, span, "yaml") for name, span in files)

    def _brackets(self, position: int) -> None:
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
            covered = self.dead.find(start)
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

    def _pair_brackets(self, body: int) -> dict[int, int]:
        """The offset after the `]` for each `[` that is closed within its paragraph."""
        pairs: dict[int, int] = {}
        waiting: list[int] = []
        for match in _BRACKET.finditer(self.text, body):
            token = match[0]
            if token[0] == "\n":
                waiting.clear()
            elif token[0] == "\\" or self.dead.covers(match.start()):
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
        """Parse `[see @a, p. 5; @b]`; True for a citation or a placeholder."""
        text = self.text
        at = text.find("@", start)
        if text.rfind("[", start + 1, at) > text.rfind("]", start + 1, at):
            return False  # the citation is in an inner bracket
        if text[start - 1 : start] == "^":
            return False  # an inline footnote
        keys = self._keys_in(start + 1, inner_end)
        wanted = wanted_in(self.text, start + 1, inner_end, self.dead)
        if wanted is not None and closed and runs_on(wanted[1]):
            closed = False  # the bracket belongs to something later
            inner_end = self._loose_end(start + 1)
            keys = [key for key in keys if key.span.start < inner_end]
            wanted = wanted_in(self.text, start + 1, inner_end, self.dead)
        if not closed and wanted is None:
            return False  # `[see @key` is parsed as a bare key
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
            # Beside other keys or notes, only the `@...` itself is replaced.
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
        """The placeholder without a closing bracket, up to its last plausible word."""
        place, start = wanted[0], wanted[0] + 1
        while self.text.startswith("?", start):
            start += 1
        words = open_words(self.text, start, reach)
        query = squeeze(self.text[start : words.end])
        span = Span(start, words.end)
        return (place, "" if is_dummy(query) else query, span), words

    def _bare_keys(self, body: int, examples: Collection[str]) -> None:
        text = self.text
        taken = SpanIndex(merge_spans(self.taken))
        for match in KEY.finditer(text, body):
            start = match.start()
            if taken.covers(start):
                continue
            for use in self._keys_in(start, match.end()):
                if use.key in examples:
                    continue
                end = match.end()
                option = end + 1 if text.startswith(" [", end) else end
                stop = self.pairs.get(option) if text.startswith("[", option) else None
                if stop is not None and not text.startswith(("(", ":"), stop):
                    end = stop
                self.citations.append(Citation("@", (use,), Span(start, end)))
                self.taken.append(Span(start, end))
        for match in _BARE.finditer(text, body):
            start, end = match.span()
            if not self.dead.covers(start) and not taken.covers(start):
                empty = Span(end - 1, end)
                self.placeholders.append(
                    Placeholder(PlaceholderKind.EMPTY, Span(start, end), "", empty, "@")
                )
                self.taken.append(Span(start, end))

    def _keys_in(self, start: int, end: int) -> list[KeyUse]:
        """The keys that Pandoc finds in a range of the text."""
        found = (KeyUse(*key) for key in keys_in(self.text, start, end))
        return [use for use in found if not self.dead.covers(use.span.start)]

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

    def _markers(self, body: int) -> None:
        text = self.text
        taken = SpanIndex(merge_spans(self.taken))
        last = body
        for mark in find_markers(text, self.literal):
            start, end = mark.span.start, mark.span.end
            if start < last or self.dead.covers(start) or taken.covers(start):
                continue
            if text[start] == "[" and (_LINK.match(text, end) or text[start - 1 : start] == "]"):
                continue  # a link, its label or its definition
            self.placeholders.append(mark)
            last = end

    def _headings(self, body: int) -> list[tuple[int, str, Span]]:
        found = [
            (len(m[1]), _HEADING_END.sub("", m[2].rstrip()), Span(*m.span()))
            for m in _HEADING.finditer(self.text, body)
            if not self.dead.covers(m.start())
        ]
        found += [
            (1 if m[2][0] == "=" else 2, m[1], Span(*m.span()))
            for m in _SETEXT.finditer(self.text, body)
            if not self.dead.covers(m.start())
        ]
        found.sort(key=lambda item: item[2])
        return [(level, markdown_to_text(name), span) for level, name, span in found]


def _apart(placeholders: Sequence[Placeholder]) -> Iterator[Placeholder]:
    """The placeholders in order, without those that begin inside another one."""
    end = 0
    for item in sorted(placeholders, key=lambda p: p.span):
        if item.span.start >= end:
            end = item.span.end
            yield item
