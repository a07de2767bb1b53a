"""Reading one LaTeX cite command: its keys, or the words that wait to become a citation.

The rules for `<...>`: it is apacite's prefix when a non-empty key follows, a beamer overlay when it
is made of slide numbers, and the author's query in every other case.
"""

from __future__ import annotations

import re

import msgspec

from citewell.documents.latex.arguments import ArgumentReader, skip_gap
from citewell.documents.latex.commands import CiteCommand
from citewell.documents.latex.key_group import COMMAND, COMMENT, KeyGroup, KeyGroupReader
from citewell.documents.open_words import (
    OpenWords,
    closes_words,
    open_words,
    runs_into_prose,
)
from citewell.documents.placeholders import (
    KeyList,
    KeyPiece,
    free_text,
    key_pieces,
    split_keys,
    squeeze,
)
from citewell.model.document import Citation, KeyUse, Placeholder, PlaceholderKind, Span

_OVERLAY = re.compile(
    r"[\d\-,+.*|\s]*(?:\|?(?:handout|beamer|article|trans|second|all):[\d\-,+.]+)*"
)
_ANGLE = re.compile(
    r"<((?:[^<>{}\n]|(?<=[-=])>|(?<=\s)>(?=[\s\w$\\=])|(?<=\b\w)>(?=\w)|>(?=[=\d])"
    r"|\{[^{}\n]{0,200}\}|\r?\n(?![ \t]*\r?\n)){0,600})>"
)


class CiteResult(msgspec.Struct, frozen=True):
    """What one cite command turned out to be."""

    end: int
    citation: Citation | None = None
    placeholder: Placeholder | None = None


class _Site(msgspec.Struct, frozen=True):
    """Where a command stands: its backslash, its name with star, the place after them."""

    start: int
    name: str
    after_name: int


class CiteReader:
    """Reads the cite commands of one text."""

    def __init__(self, text: str, arguments: ArgumentReader, *, apacite: bool = False) -> None:
        self.text = text
        self.arguments = arguments
        self.apacite = apacite
        """apacite is loaded: `<see>{}` is then its prefix."""
        self._groups = KeyGroupReader(text)

    def read(self, start: int, position: int, command: CiteCommand) -> CiteResult | None:
        """Read the command whose backslash is at `start` and whose name ends at `position`.

        None when it is no citation at all, as in `\\let\\mycite\\cite`.
        """
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
                listed = split_keys(self._groups.pieces(group))
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
        """Where the key group opens, and the `<...>` before it; a placeholder if that is one."""
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
        """Read `<...>`: its span when keys follow it, else the placeholder that it is."""
        text = self.text
        match = _ANGLE.match(text, place)
        if match is None or not closes_words(text, match.end() - 1) or runs_into_prose(match[1]):
            return self._open_angle(site, place)
        span = Span(*match.span())
        if self._keys_follow(span):
            return span
        return self._query(site, Span(*match.span(1)), span.end)

    def _keys_follow(self, angle: Span) -> bool:
        """The rule: options and a key group, which may be empty, follow the closing `>`."""
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
            return False  # a group of prose that happens to follow
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
        """The placeholder that a key group holds, if it holds one."""
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
        """The keys of a group that nothing closes, and the words that follow them."""
        text, reach = self.text, group.end
        if text[group.start : group.start + 1].isspace():  # only begun, in front of prose
            words = self._open_words(group.start, reach)
            return KeyList((), Span(group.start, group.start)), words
        keys: list[KeyPiece] = []
        end = group.start
        for piece in self._groups.pieces(group):
            wanted = free_text(piece.text)
            if wanted is None:
                keys.append(piece)
                end = piece.span.end
                continue
            start = piece.span.start
            words = self._open_words(start, reach)
            query = free_text(text[start : words.end] + " ?") if wanted else ""
            if query or piece.span.end >= reach or not text[piece.span.end : reach].strip():
                return KeyList(tuple(keys), Span(start, words.end), query or ""), words
        return KeyList(tuple(keys)), OpenWords(end, reach, True)

    def _without_comments(self, span: Span) -> str:
        return COMMENT.sub(" ", self.text[span.start : span.end])

    def _trim(self, span: Span) -> Span:
        content = self.text[span.start : span.end]
        lead = len(content) - len(content.lstrip())
        return Span(span.start + lead, span.start + max(lead, len(content.rstrip())))
