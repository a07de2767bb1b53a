"""Parsing of one LaTeX cite command: its keys, or words to search for.

Rules for `<...>`: it is apacite's prefix if a non-empty key follows, a beamer overlay if it
consists of slide numbers, and the author's query in every other case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from citewell.documents.latex.commands import ArgumentReader, CiteCommand, skip_gap
from citewell.documents.placeholders import (
    SENTENCE_STOP,
    KeyList,
    KeyPiece,
    OpenWords,
    closes_words,
    free_text,
    key_pieces,
    open_words,
    runs_into_prose,
    runs_on,
    split_keys,
    squeeze,
)
from citewell.model.document import Citation, KeyUse, Placeholder, PlaceholderKind, Span

# The braces of a LaTeX citation and their ends, also when the closing one is missing.

COMMAND = re.compile(r"\\[A-Za-z]")
_KEY_STOP = re.compile(r"\\.|[{}$]|%[^\n]*|\n[ \t]*\r?\n", re.DOTALL)
_LOOSE_STOP = re.compile(rf"[\r\n\\${{}}<>%&]|[!?;]\s+(?=[A-Z])|{SENTENCE_STOP}")
_TYPED_STOP = re.compile(rf"[\r\n\\${{}}<>%]|{SENTENCE_STOP}")
COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?[ \t]*")
_BRACE = re.compile(r"\\.|[{}]|%[^\n]*", re.DOTALL)
_PARAGRAPH = re.compile(r"\n[ \t]*\r?\n")

MAX_KEYS = 20_000
_LONG_WORDS = 8


class KeyGroup(msgspec.Struct, frozen=True):
    """The `{...}` with the keys of a citation."""

    start: int
    """Start of the contents."""
    end: int
    """End of the contents."""
    after: int
    """Offset after the closing brace; `end` when it is missing."""
    closed: bool


class KeyGroupReader:
    """Parses the key groups of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._balance_checks = 100  # each check reads a paragraph

    def read(self, place: int) -> KeyGroup:
        """Parse the group at `place`, up to a plausible end when it is not closed."""
        text = self.text
        depth = 1
        for match in _KEY_STOP.finditer(text, place + 1, min(len(text), place + MAX_KEYS)):
            token = match[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth == 0:
                    group = KeyGroup(place + 1, match.start(), match.end(), True)
                    if self._belongs_outside(group):
                        break
                    return group
            elif token[0] == "\\" and (len(token) < 2 or not token[1].isalpha()):
                continue
            elif token[0] in "\\$" and not text[place + 1 : match.start()].strip():
                continue  # `\cite{\mykeys}`
            elif token == "$" and not text[match.start() - 1].isspace():
                continue  # Zotero creates keys such as yao$t$bench2024
            elif token[0] in "\\$\n":
                break
        end = self.loose_end(place + 1)
        return KeyGroup(place + 1, end, end, False)

    def _belongs_outside(self, group: KeyGroup) -> bool:
        r"""True when the brace that closes `\footnote{see \cite{neural mach and so on}` is the
        footnote's: long prose in a paragraph that lacks a closing brace."""
        text = self.text
        words = text[group.start : group.end]
        if runs_on(words):
            return True
        if len(words.split()) <= _LONG_WORDS or "," in words or self._balance_checks <= 0:
            return False
        self._balance_checks -= 1
        window = 4_000
        low, high = max(0, group.start - window), min(len(text), group.end + window)
        for match in _PARAGRAPH.finditer(text, low, group.start):
            low = match.end()
        following = _PARAGRAPH.search(text, group.end, high)
        high = following.start() if following else high
        depth = 0
        for match in _BRACE.finditer(text, low, high):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
        return depth > 0

    def loose_end(self, start: int) -> int:
        """The end of unclosed words: the line end, a command or a sentence end."""
        return self._end(_LOOSE_STOP, start)

    def typed_end(self, start: int) -> int:
        """The end of words before a cursor: `kingma & ba` and `Zhou 2015; Luo 2016` are words
        there, although the rest of a table or a sentence may look the same."""
        return self._end(_TYPED_STOP, start)

    def _end(self, stop: re.Pattern[str], start: int) -> int:
        limit = min(len(self.text), start + 300)
        match = stop.search(self.text, start, limit)
        return match.start() if match else limit

    def pieces(self, group: KeyGroup) -> Iterator[KeyPiece]:
        """The keys of a group, and any words in their place."""
        text = self.text
        content = text[group.start : group.end]
        if "%" in content:
            content = COMMENT.sub(lambda m: " " * len(m[0]), content)
        stripped = content.strip()
        if stripped.startswith("{") and stripped.endswith("}"):
            content = content.replace("{", " ").replace("}", " ")
        if "#" in content or COMMAND.search(content):
            return  # a parameter of a macro, or a macro: the key is unknown
        pieces = list(key_pieces(content, group.start))
        if not group.closed and len(pieces) == 1 and content.strip() and content[-1:].isspace():
            # A space after the first word, without a closing brace: words are being typed, not a
            # key.
            yield KeyPiece(pieces[0].text + " ?", pieces[0].span)
            return
        yield from pieces


_OVERLAY = re.compile(
    r"[\d\-,+.*|\s]*(?:\|?(?:handout|beamer|article|trans|second|all):[\d\-,+.]+)*"
)
_ANGLE = re.compile(
    r"<((?:[^<>{}\n]|(?<=[-=])>|(?<=\s)>(?=[\s\w$\\=])|(?<=\b\w)>(?=\w)|>(?=[=\d])"
    r"|\{[^{}\n]{0,200}\}|\r?\n(?![ \t]*\r?\n)){0,600})>"
)

_ASKS = re.compile(r"[\w?]")
"""Characters of a placeholder for a missing key that the punctuation of a sentence lacks."""


class CiteResult(msgspec.Struct, frozen=True):
    """The result of parsing one cite command."""

    end: int
    citation: Citation | None = None
    placeholder: Placeholder | None = None


class _Site(msgspec.Struct, frozen=True):
    """The position of a command: its backslash, its name with star, the offset after them."""

    start: int
    name: str
    after_name: int


class CiteReader:
    """Parses the cite commands of one text."""

    def __init__(self, text: str, arguments: ArgumentReader, *, apacite: bool = False) -> None:
        self.text = text
        self.arguments = arguments
        self.apacite = apacite
        """Whether apacite is loaded: `<see>{}` is then its prefix."""
        self.defined: frozenset[str] = frozenset()
        """Keys of the bibliographies that look like words."""
        self._groups = KeyGroupReader(text)

    def read(self, start: int, position: int, command: CiteCommand) -> CiteResult | None:
        r"""Parse the command with its backslash at `start` and the end of its name at `position`.
        None if it is no citation, as in `\let\mycite\cite`."""
        text = self.text
        name = command.name
        if text.startswith("*", position):
            position += 1
            name += "*"
        site = _Site(start, name, position)
        keys: list[KeyUse] = []
        wanted: Placeholder | None = None
        end = None
        while True:
            found = self._group_place(position, command, site, first=end is None)
            if isinstance(found, Placeholder):
                return CiteResult(found.span.end, placeholder=found)
            if found is None:
                break
            group_start, angle = found
            group = self._groups.read(group_start)
            words = None
            if group.closed:
                listed = split_keys(self._groups.pieces(group), self.defined)
                end = group.after
            else:
                listed, words = self._open_list(group)
                end = words.end
            keys += [KeyUse(piece.text, piece.span) for piece in listed.keys]
            if not command.name.startswith("nocite"):
                wanted = wanted or self._wanted(site, group, listed, angle, words)
            if not group.closed or not command.repeats:
                break
            position = end
        if end is None:
            return None
        citation = Citation(name, tuple(keys), Span(start, end)) if keys else None
        return CiteResult(end, citation, wanted)

    def _group_place(
        self, position: int, command: CiteCommand, site: _Site, *, first: bool
    ) -> tuple[int, Span | None] | Placeholder | None:
        """The start of the key group, and the `<...>` before it; or the placeholder that this
        is."""
        text = self.text
        angle: Span | None = None
        before = command.groups_before
        while True:
            place = skip_gap(text, position)
            char = text[place : place + 1]
            end: int | None = None
            if char == "[":
                end = self.arguments.option(place)
            elif char == "(" and place == position and first:
                end = self._round(place)
            elif char == "<" and first and angle is None:
                found = self._angle(site, place)
                if found is None or isinstance(found, Placeholder):
                    return found
                end, angle = found.end, found
                if _OVERLAY.fullmatch(text, found.start + 1, found.end - 1):
                    angle = None
            elif char == "{" and before:
                end = self.arguments.group(place, 1_000, blank=False)
                before -= 1
            elif char == "{":
                return place, angle
            if end is None:
                return None
            position = end

    def _round(self, place: int) -> int | None:
        """The end of `(..)`, a multicite's note, if arguments follow it directly."""
        end = self.text.find(")", place, place + 500)
        return end + 1 if end >= 0 and self.text[end + 1 : end + 2] in ("(", "[", "{") else None

    def _angle(self, site: _Site, place: int) -> Span | Placeholder | None:
        """Parse `<...>`: its span when keys follow, else its placeholder."""
        text = self.text
        match = _ANGLE.match(text, place)
        if match is None or not closes_words(text, match.end() - 1) or runs_into_prose(match[1]):
            return self._open_angle(site, place)
        span = Span(*match.span())
        if self._keys_follow(span):
            return span
        return self._query(site, Span(*match.span(1)), span.end)

    def _keys_follow(self, angle: Span) -> bool:
        """Whether options and a key group, which may be empty, follow the closing `>`."""
        text = self.text
        place = skip_gap(text, angle.end)
        content = text[angle.start + 1 : angle.end - 1]
        if (
            content.strip()
            and _OVERLAY.fullmatch(content)
            and text[place : place + 1] in ("{", "[")
        ):
            return True
        while text.startswith("[", place):
            end = self.arguments.option(place)
            if end is None:
                return False
            place = skip_gap(text, end)
        if not text.startswith("{", place):
            return False
        end = self.arguments.group(place, 4_000, blank=False)
        if end is None:
            return False
        inside = text[place + 1 : end - 1].strip()
        listed = split_keys(key_pieces(inside, 0))
        if listed.query and not (self.apacite and place == angle.end):
            return False  # an unrelated group of prose
        return COMMAND.search(inside) is None

    def _open_angle(self, site: _Site, place: int) -> Placeholder:
        words = self._open_words(place + 1, self._groups.loose_end(place + 1))
        return self._query(site, Span(place + 1, words.end), words.end, words)

    def _open_words(self, start: int, reach: int) -> OpenWords:
        words = open_words(self.text, start, reach)
        typed = open_words(self.text, start, self._groups.typed_end(start))
        return msgspec.structs.replace(words, reach=max(words.reach, typed.reach))

    def _query(
        self, site: _Site, words: Span, end: int, open_: OpenWords | None = None
    ) -> Placeholder:
        query = squeeze(self._without_comments(words))
        closed = open_ is None
        return Placeholder(
            kind=PlaceholderKind.QUERY if query else PlaceholderKind.EMPTY,
            span=Span(site.start, end),
            query=query,
            query_span=self._trim(words) if closed else words,
            command=site.name,
            closed=closed,
            prefix=self.text[site.after_name : words.start - 1].strip(),
            reach=0 if open_ is None else open_.reach,
            certain=open_ is None or open_.certain,
        )

    def _wanted(
        self,
        site: _Site,
        group: KeyGroup,
        listed: KeyList,
        angle: Span | None,
        open_: OpenWords | None,
    ) -> Placeholder | None:
        """The placeholder in a key group, or None."""
        if listed.wanted is None:
            return None
        after_name = site.after_name
        prefix = self.text[after_name : group.start - 1].strip()
        query, span, kind = listed.query, listed.wanted, listed.kind
        if angle is not None and not query and not listed.keys and not self.apacite:
            # `\cite<query>{}`: the words are the query unless apacite makes them a prefix.
            words = Span(angle.start + 1, angle.end - 1)
            query = squeeze(self.text[words.start : words.end])
            if query:
                kind, span = PlaceholderKind.QUERY, self._trim(words)
            prefix = self.text[after_name : angle.start] + self.text[angle.end : group.start - 1]
            prefix = prefix.strip()
        return Placeholder(
            kind=kind,
            span=Span(site.start, group.after if open_ is None else open_.end),
            query=query,
            query_span=span,
            command=site.name,
            closed=group.closed,
            prefix=prefix,
            other_keys=tuple(piece.text for piece in listed.keys),
            reach=0 if open_ is None else open_.reach,
            certain=open_ is None or open_.certain,
        )

    def _open_list(self, group: KeyGroup) -> tuple[KeyList, OpenWords]:
        """The keys of an unclosed group, and the words after them."""
        text, reach = self.text, group.end
        if text[group.start : group.start + 1].isspace():  # just begun, before prose
            words = self._open_words(group.start, reach)
            return KeyList((), Span(group.start, group.start)), words
        keys: list[KeyPiece] = []
        end = group.start
        for piece in self._groups.pieces(group):
            wanted = None if piece.text in self.defined else free_text(piece.text)
            if wanted is None:
                # The full stop may be the sentence's; the end of the key is unknown.
                key = piece.text.rstrip(".")
                end = piece.span.start + len(key)
                keys.append(KeyPiece(key, Span(piece.span.start, end)))
                continue
            start = piece.span.start
            words = self._open_words(start, reach)
            query = free_text(text[start : words.end] + " ?") if wanted else ""
            if query or piece.span.end >= reach or not text[piece.span.end : reach].strip():
                if keys and query:  # `\cite{key, 3) of them`: the comma may be the sentence's
                    words = msgspec.structs.replace(words, certain=False)
                elif keys and not _ASKS.search(text, start, words.end):
                    words = msgspec.structs.replace(words, end=start)
                return KeyList(tuple(keys), Span(start, words.end), query or ""), words
        return KeyList(tuple(keys)), OpenWords(end, reach, True)

    def _without_comments(self, span: Span) -> str:
        return COMMENT.sub(" ", self.text[span.start : span.end])

    def _trim(self, span: Span) -> Span:
        content = self.text[span.start : span.end]
        lead = len(content) - len(content.lstrip())
        return Span(span.start + lead, span.start + max(lead, len(content.rstrip())))
