"""The parts of a Markdown source without citations for Pandoc: code, comments, mathematics, raw
HTML and LaTeX, addresses, attributes, metadata.

Lines are parsed into blocks like Pandoc's as far as that separates prose from code; within a
paragraph the first mark that is closed counts. An unclosed one is prose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from citewell.documents.latex import commands as known
from citewell.documents.latex.commands import ArgumentReader
from citewell.documents.latex.plaintext import latex_to_text, squeeze_paragraphs
from citewell.documents.markdown.yaml_block import later_block
from citewell.model.document import Span

_QUOTE = re.compile(r"[ \t]{0,3}>")
_INDENT = re.compile(r"[ \t]*")
_FENCE = re.compile(r"(?P<mark>`{3,}(?=[^`\n]*$)|~{3,})[^\n]*$", re.MULTILINE)
_RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})\r?$", re.MULTILINE)
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\r?$", re.MULTILINE)
_ITEM = re.compile(
    r"(?P<marker>[-*+]|(?P<open>\()?(?P<number>\d{1,9}|#|[a-zA-Z]|[ivxlcdm]+|[IVXLCDM]+|@[\w-]*)"
    r"(?(open)\)|[.)]))(?:(?P<gap>[ \t]+)(?=\S)|[ \t]*\r?$)",
    re.MULTILINE,
)
_PAGE = re.compile(r"p\.[ \t]+\d")
_NOTE = re.compile(r"\[\^[^\]\s]{1,200}\]:[ \t]*")
_DEFINED = re.compile(r"[:~][ \t]+(?=\S)")
_TABLE_END = re.compile(r"[-|+=][ \t]*\r?\n\s*\Z")
"""The end of a table, before a caption that looks like a definition."""
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\r?$)", re.MULTILINE)
_DIV = re.compile(r":{3,}")
_DIV_END = re.compile(r":{3,}[ \t]*\r?$", re.MULTILINE)
_DIV_TAG = re.compile(r"(?i:</?div)\b[^<>\n]*>[ \t]*\r?$", re.MULTILINE)
_BLOCK_TAG = re.compile(r"(?i:</?(?:div|pre|table|tr|ul|ol|section|article|details|figure))\b")
_TARGET = re.compile(
    r"""\[(?!\^|@)[^\[\]\n]{1,300}\]:[ \t]*(?:\r?\n[ \t]*)?(?:<[^<>\n]*>|[^\s<]\S*)"""
    r"""(?:[ \t]*(?:\r?\n[ \t]*)?(?:"[^"\n]*"|'[^'\n]*'|\([^()\n]*\))|[ \t]*\{[^{}\n]*\})*"""
    r"""[ \t]*\r?$""",
    re.MULTILINE,
)
_ATTRIBUTE = r"""(?:[#.][\w:.-]+|[\w:-]+=(?:"[^"\n]*"|'[^'\n]*'|[^\s{}"']+)|-|=\w+)"""
_ATTRIBUTES = rf"\{{[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE})*[ \t]*\}}"
_LAST_ATTRIBUTES = re.compile(rf"{_ATTRIBUTES}[ \t]*\r?$", re.MULTILINE)
_TAG = (
    r"""<[A-Za-z][\w-]*(?:\s+[A-Za-z_:][\w:.-]*(?:\s*=\s*(?:"[^"]{0,2000}"|'[^']{0,2000}'|[^\s"'=<>`]+))?)"""
    r"""{0,30}\s*/?>|</[A-Za-z][^<>]{0,300}>"""
)
_INLINE = re.compile(
    r"(?P<comment><!--(?!>|-(?!->)))"
    r"|(?P<instruction><\?)"
    r"|(?P<raw><(?P<element>(?i:pre|script|textarea|style))\b[^<>]*>)"
    rf"|(?P<tag>{_TAG})"
    r"|\\begin[ \t]*\{(?P<environment>[^{}\n]{1,50})\}"
    r"|(?P<command>\\[A-Za-z]+\*?)"
    r"|(?P<group>\{(?=\\[A-Za-z]))"
    r"|(?P<math>\$\$)"
    r"|\\.|@\{[^{}\s]{1,500}\}"
    r"|(?P<ticks>`+)"
    r"|(?P<dollar>\$(?=[^\s$]))"
    r"|(?P<link>\]\()"
    rf"|(?P<attributes>(?<=[\]`)]){_ATTRIBUTES})"
    r"|(?P<url><(?i:https?|mailto|ftp):[^\s<>]{0,2000}>|\b(?i:https?|ftp)://[^\s<>()\[\]]{1,2000})",
    re.DOTALL,
)
_DOLLAR_END = re.compile(r"(?<![\s\\])\$(?!\d)|\n[ \t]*\r?\n")
_LINK_TARGET = re.compile(
    r"""\]\((?>[^()\n"']+|\n(?![ \t]*\r?\n)|"(?:[^"\n\\]|\\.)*+"|'(?:[^'\n\\]|\\.)*+'|["']"""
    r"""|\((?:[^()\n]|\([^()\n]*+\))*+\))*+\)"""
)
_MAX_LINK = 2_000
_MAX_OPEN = 500
"""Maximum number of kinds of unclosed raw text to look for."""
_PARAGRAPH_END = re.compile(r"\n[ \t]*\r?\n")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*")
_DEFINED_NAME = re.compile(r"[ \t]*\\[A-Za-z@]+(?:#\d)*")
_VERB = re.compile(r"([^\w\s*{])[^\n]*?\1")
_LATEX_BEGIN = re.compile(
    r"\\(?:begin[ \t]*\{(?P<environment>[^{}\n]{1,50})\}|(?P<command>[A-Za-z]+))"
)
_INTERRUPTING = {"`": (_FENCE,), "<": (_BLOCK_TAG,), ":": (_DIV_END, _DEFINED), "~": (_DEFINED,)}


class RawParts:
    """The parts of a Markdown source from `position` on that are no prose for Pandoc."""

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.blanked: list[Span] = []
        """Ignored regions."""
        self.latex: list[Span] = []
        """Raw LaTeX: Pandoc passes it on, and only LaTeX commands cite there."""
        self.metadata: list[Span] = []
        """The contents of YAML blocks in the text."""
        self.open_code: Span | None = None
        """Region from an unclosed fence to the end: prose for Pandoc, but for an author code that
        is being typed. Citations count there, placeholders do not."""
        self.examples: set[str] = set()
        """Labels of numbered examples, `(@label)`: a bare `@label` refers to one."""
        self._arguments = ArgumentReader(text)
        self._limits: dict[str, int] = {}
        """For each closing mark: the offset before which it does not occur."""
        self._columns: list[int] = []
        """Columns at which the contents of the enclosing list items and notes begin."""
        self._quoted = False
        """Whether the current block is quoted."""
        self._unbalanced: set[str] = set()
        r"""Environments with more `\begin` than `\end`."""
        self._read_blocks(position)

    # Blocks

    def _read_blocks(self, position: int) -> None:
        text, length = self.text, len(self.text)
        columns = self._columns
        after_blank = is_prose = False
        """Whether the previous line was blank, and whether a paragraph may continue after it."""
        while position < length:
            start, indent, quoted = self._line(position)
            end = self._line_end(position)
            if not text[start:end].strip():
                after_blank, is_prose, position = True, False, end + 1
                continue
            if not is_prose:
                while columns and indent < columns[-1]:
                    columns.pop()
            base = columns[-1] if columns else 0
            if indent - base >= 4 and not is_prose:
                self._blank(start, end)
                after_blank, position = False, end + 1
                continue
            if not is_prose:
                self._quoted = quoted
            position, is_prose = self._block(start, indent, new=after_blank or not is_prose)
            after_blank = False

    def _block(self, start: int, column: int, *, new: bool) -> tuple[int, bool]:
        """Parse the block with its first letter at `start`; return the next line's start, and
        whether a paragraph may continue there."""
        text, end = self.text, self._line_end(start)
        while (marker := self._marker(start, new=new)) is not None:
            # Another block follows a marker in the same line.
            start, width, gap = marker
            column += width + (gap if gap <= 4 else 1)
            self._columns.append(column)
            if gap > 4:
                self._blank(start, end)
            if gap > 4 or start >= end:
                return end + 1, False
            new = True
        if (stop := self._raw_block(start, new=new)) is not None:
            return self._line_end(stop) + 1, False
        if is_heading := _HEADING.match(text, start) is not None:
            self._last_attributes(start, end)
        if is_heading or _RULE.match(text, start) or _DIV_TAG.match(text, start):
            return max(end, self._line_end(self._inline(start, end))) + 1, False
        return self._paragraph(start)

    def _raw_block(self, start: int, *, new: bool) -> int | None:
        """Blank a block without prose and return its end; None for prose."""
        text, stop = self.text, None
        if (fence := _FENCE.match(text, start)) and (new or fence[0][0] == "`"):
            stop = self._fence_end(fence)
            if stop is None and self.open_code is None and not self._quoted:
                self.open_code = Span(start, len(text))
        elif new and (block := later_block(text, start)):
            self.metadata.append(block[0])
            stop = block[1]
        elif new and (target := _TARGET.match(text, start)):
            stop = target.end()
        elif (_DIV if new else _DIV_END).match(text, start):
            stop = self._line_end(start)
        elif text.startswith("<!--", start):
            end = self._after("-->", start)
            stop = end if end is not None and not text[end : self._line_end(end)].strip() else None
        return None if stop is None else self._blank(start, stop)

    def _marker(self, start: int, *, new: bool) -> tuple[int, int, int] | None:
        """The start of the contents of a list item, note or definition, and the widths of its
        marker and of the gap after it; None elsewhere."""
        text = self.text
        if note := _NOTE.match(text, start):
            return note.end(), 3, 1
        if (defined := _DEFINED.match(text, start)) and not _TABLE_END.search(
            text, max(0, start - 50), start
        ):
            return defined.end(), 3, 1
        item = _ITEM.match(text, start)
        if item is None or _RULE.match(text, start) or _PAGE.match(text, start):
            return None
        number, gap = item["number"] or "", item["gap"]
        if not new and not (self._columns and (number.isdigit() or not number)):
            return None
        if re.fullmatch(r"[A-Z]\.", item["marker"]) and len(gap or "") < 2:
            return None  # initials of a name
        if number.startswith("@"):
            self.examples.add(number[1:])
            self._blank(start, item.end("marker"))
        width = item.end("marker") - start
        return item.end(), width, 1 if gap is None else len(gap.expandtabs(4))

    def _line(self, position: int) -> tuple[int, int, bool]:
        """The first letter of a line after its quotation marks, its column, and whether it is
        quoted."""
        quoted = False
        while mark := _QUOTE.match(self.text, position):
            quoted = True
            position = mark.end()
            if self.text.startswith(" ", position):
                position += 1
        gap = _INDENT.match(self.text, position)
        assert gap is not None
        column = len(gap[0].expandtabs(4))
        return gap.end(), column, quoted

    def _line_end(self, position: int) -> int:
        end = self.text.find("\n", position)
        return end if end >= 0 else len(self.text)

    def _fence_end(self, match: re.Match[str]) -> int | None:
        """The end of the line that closes a fence; None when none does."""
        mark = match["mark"]
        lead = "[ \\t>]*" if self._quoted else "[ \\t]*"
        kind = f"{mark[0]}{len(mark)}{lead}"
        if match.start() < self._limits.get(kind, 0) or len(self._limits) > _MAX_OPEN:
            return None
        closing = re.compile(
            rf"^{lead}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*\r?$", re.MULTILINE
        )
        found = closing.search(self.text, match.end())
        if found is None:
            self._limits[kind] = len(self.text)
            return None
        if self._quoted:  # the quotation must continue to there
            lines = self.text[match.end() + 1 : found.start()].splitlines()
            if not all(_QUOTE.match(line) for line in lines):
                return None
        return found.end()

    def _paragraph(self, start: int) -> tuple[int, bool]:
        end = self._paragraph_end(start)
        position = self._inline(start, end)
        while position > end:  # raw text that extends beyond the paragraph
            end = self._paragraph_end(position)
            position = self._inline(position, end)
        last = self.text.rfind("\n", 0, end) + 1
        if last > start and _UNDERLINE.match(self.text, self._line(last)[0]):
            before = max(start, self.text.rfind("\n", 0, last - 1) + 1)
            self._last_attributes(before, last - 1)
            return end + 1, False
        return end + 1, True

    def _paragraph_end(self, position: int) -> int:
        """The end of the last line of the paragraph at `position`."""
        end = self._line_end(position)
        while end < len(self.text):
            start, _, quoted = self._line(end + 1)
            stop = self._line_end(end + 1)
            if quoted and not self._quoted:
                end = stop  # no quotation begins within a paragraph
                continue
            if start >= stop or self._interrupts(start):
                break
            end = stop
            if _UNDERLINE.match(self.text, start):
                break
        return end

    def _interrupts(self, start: int) -> bool:
        """Whether a line within a paragraph begins a new block."""
        text = self.text
        if text[start] in "-*+0123456789":
            return bool(self._columns) and _ITEM.match(text, start) is not None
        kinds = _INTERRUPTING.get(text[start], ())
        return any(kind.match(text, start) for kind in kinds)

    # Within a paragraph

    def _blank(self, start: int, end: int) -> int:
        self.blanked.append(Span(start, end))
        return end

    def _last_attributes(self, start: int, end: int) -> None:
        if found := _LAST_ATTRIBUTES.search(self.text, start, end):
            self._blank(*found.span())

    def _inline(self, position: int, end: int) -> int:
        """Blank everything but prose from `position` to `end`; return where that ends, `end` or
        later."""
        while match := _INLINE.search(self.text, position, end):
            stop = self._token_end(match)
            position = stop if stop is not None else match.end()
        return position

    def _token_end(self, match: re.Match[str]) -> int | None:
        """Blank the raw text that begins with a token and return its end; None for prose."""
        kind = match.lastgroup
        start, position = match.span()
        if kind == "environment":
            stop = self._environment_end(match["environment"], position)
            return None if stop is None else self._raw_latex(start, stop)
        if kind == "command":
            stop = self._command_end(match[0][1:].rstrip("*"), position)
            return self._raw_latex(start, stop) if stop > position else None
        if kind == "group":
            group = self._arguments.group(start)
            return None if group is None else self._raw_latex(start, group)
        stop = None
        if kind == "comment":
            stop = self._after("-->", position)
        elif kind == "instruction":
            stop = self._after("?>", position)
        elif kind == "raw":
            stop = self._element_end(match)
        elif kind in ("tag", "url", "attributes"):
            stop = position
        elif kind in ("math", "ticks"):
            stop = self._delimited(match[0], position)
        elif kind == "dollar":
            stop = self._dollar_end(start, position)
        elif kind == "link":
            target = _LINK_TARGET.match(self.text, start, start + _MAX_LINK)
            stop = target.end() if target else None
            start = start + 1
        return None if stop is None else self._blank(start, stop)

    def _after(self, mark: str, position: int) -> int | None:
        if position < self._limits.get(mark, 0):
            return None
        found = self.text.find(mark, position)
        if found < 0:
            self._limits[mark] = len(self.text)
            return None
        return found + len(mark)

    def _element_end(self, match: re.Match[str]) -> int:
        """The end of an element without Markdown in it; the end of its tag if it is unclosed."""
        name = match["element"].lower()
        line = self.text.rfind("\n", 0, match.start()) + 1
        if name == "style" and self.text[line : match.start()].strip():
            return match.end()
        mark = f"</{name}"
        if match.end() < self._limits.get(mark, 0):
            return match.end()
        found = re.compile(rf"</{name}\s*>", re.IGNORECASE).search(self.text, match.end())
        if found is None:
            self._limits[mark] = len(self.text)
            return match.end()
        return found.end()

    def _dollar_end(self, start: int, position: int) -> int | None:
        if start < self._limits.get("$", 0):
            return None
        stop = _DOLLAR_END.search(self.text, position, position + 2_000)
        if stop and stop[0] == "$":
            return stop.end()
        # An opener before that place is not closed either.
        self._limits["$"] = stop.start() if stop else position + 2_000
        return None

    def _delimited(self, mark: str, position: int) -> int | None:
        """The end of a span closed by the same mark in the same paragraph."""
        if position < self._limits.get(mark, 0):
            return None
        paragraph = _PARAGRAPH_END.search(self.text, position, position + 20_000)
        stop = paragraph.start() if paragraph else min(len(self.text), position + 20_000)
        run, edge = re.escape(mark), re.escape(mark[0])
        found = re.compile(rf"(?<!{edge}){run}(?!{edge})").search(self.text, position, stop)
        if found is None:
            self._limits[mark] = stop
            return None
        return found.end()

    # Raw LaTeX

    def _environment_end(self, name: str, position: int) -> int | None:
        r"""The offset after the `\end` of an environment, nested ones of its name considered."""
        mark = f"\\end{{{name}}}"
        if position < self._limits.get(mark, 0) or len(self._limits) > _MAX_OPEN:
            return None
        depth, first = 1, None
        pattern = re.compile(rf"\\(begin|end)[ \t]*\{{{re.escape(name)}\}}|(?<!\\)%[^\n]*")
        takes_first = name in known.VERBATIM_ENVIRONMENTS or name in self._unbalanced
        for found in pattern.finditer(self.text, position):
            if found[1] == "begin":
                depth += 1
            elif found[1] == "end":
                depth -= 1
                first = first or found.end()
            elif takes_first and mark in found[0]:
                first = first or found.start() + found[0].index(mark) + len(mark)
            if first is not None and (takes_first or depth == 0):
                return first if takes_first else found.end()
        if first is None:
            self._limits[mark] = len(self.text)
        self._unbalanced.add(name)
        return first

    def _command_end(self, name: str, position: int) -> int:
        """The offset after the arguments of a command; `position` if it has none."""
        text = self.text
        if name in ("verb", "lstinline") and (verb := _VERB.match(text, position)):
            return verb.end()
        if name in known.DEFINITIONS and (defined := _DEFINED_NAME.match(text, position)):
            position = defined.end()
        has_group = False
        while True:
            place = position
            while not has_group and text.startswith((" ", "\t"), place):
                place += 1
            if text.startswith("[", place) and not has_group:
                stop = self._arguments.option(place)
            elif text.startswith("{", place):
                stop = self._arguments.group(place)
                has_group = True
            else:
                stop = None
            if stop is None:
                return position
            position = stop

    def _raw_latex(self, start: int, end: int) -> int:
        self.latex.append(Span(start, end))
        self.blanked += self._dead_latex(start, end)
        return end

    def _dead_latex(self, start: int, end: int) -> Iterator[Span]:
        """The parts that LaTeX itself ignores: verbatim text, definitions, comments."""
        position = start
        for comment in _COMMENT.finditer(self.text, start, end):
            yield Span(*comment.span())
        while match := _LATEX_BEGIN.search(self.text, position, end):
            position = match.end()
            name, stop = match["environment"], None
            if name in known.VERBATIM_ENVIRONMENTS:
                stop = self._environment_end(name, position)
            elif match["command"] in known.DEFINITIONS or match["command"] in ("verb", "lstinline"):
                stop = self._command_end(match["command"], position)
            if stop is not None and stop > position:
                yield Span(match.start(), min(stop, end))
                position = stop


# Markdown as plain prose: without emphasis, links and code marks, but with their words.

_HTML_COMMENT = re.compile(r"<!--(?:[^-]|-(?!->)){0,20000}(?:-->|$)")
_FOOTNOTE = re.compile(r"\[\^[^\]\n]{1,100}\](?::)?")
_IMAGE = re.compile(r"!\[[^\[\]\n]{0,1000}\](?:\([^()\n]{0,1000}\))?(?:\{[^{}\n]{0,300}\})?")
_LINK = re.compile(r"\[([^\[\]\n]{0,1000})\](?:\([^()\n]{0,1000}\)|\[[^\[\]\n]{0,200}\])")
_SPAN = re.compile(r"\[([^\[\]\n]{0,1000})\]\{[^{}\n]{0,300}\}")
_ADDRESS = re.compile(r"<(?:https?|mailto):[^<>\s]{1,2000}>")
_HTML_TAG = re.compile(r"</?[A-Za-z][^<>\n]{0,300}>")
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=[\w.,;:!?)])_{1,3}(?!\w))")
_TICKS = re.compile(r"`+(?:\{=?[\w-]+\})?")
_CROSS = re.compile(r"\s?\\?@(?:ref\([^()\s]{0,200}\)|(?:fig|tbl|sec|eq|lst|thm|tab)[-:][\w:-]+)")
_LINE_START = re.compile(r"(?m)^[ \t]*(?:#{1,6}|>+|[-*+]|\d{1,3}[.)])[ \t]+")
_LIST_ITEM = re.compile(r"(?m)^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+")
_MATH = re.compile(r"\$[^$\n]{1,2000}\$|\\[A-Za-z]")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


def markdown_to_text(text: str) -> str:
    """The prose of a piece of Markdown; blank lines become "\n\n", and items stay separate."""
    text = _HTML_COMMENT.sub("", text)
    text = _IMAGE.sub("", text)
    text = _FOOTNOTE.sub("", text)
    text = _ADDRESS.sub("", text)
    text = _CROSS.sub("", text)
    text = _LINK.sub(r"\1", text)
    text = _SPAN.sub(r"\1", text)
    text = _LIST_ITEM.sub("\n\n", text)
    text = _LINE_START.sub("", text)
    text = _HTML_TAG.sub("", text)
    text = _TICKS.sub("", text)
    text = _EMPHASIS.sub("", text)
    if _MATH.search(text):
        return latex_to_text(text.replace("%", r"\%"))
    return squeeze_paragraphs(_ESCAPE.sub(r"\1", text))
