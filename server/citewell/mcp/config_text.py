"""Changes of other programs' settings files: all other bytes stay.

JSON may have comments and trailing commas, as in editors. A change is rejected unless the new text
has the meaning of the old one apart from the change.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from citewell.model import CitewellError, Problem

_TOKEN = re.compile(
    r'(?P<space>\s+)|(?P<comment>//[^\r\n]*|/\*.*?\*/)|(?P<text>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<mark>[{}\[\],:])|(?P<word>[^\s{}\[\],:\"/]+)",
    re.DOTALL,
)
_INDENT = re.compile(r"\n([ \t]+)\S")


def unreadable(why: str) -> CitewellError:
    """The error of a file that cannot be changed safely."""
    return CitewellError(
        Problem(
            "mcp-client-settings",
            f"The file cannot be changed safely: {why}.",
            "Enter the lines by hand.",
        )
    )


class _Token(msgspec.Struct, frozen=True):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Member(msgspec.Struct):
    key: str
    start: int
    node: _Node
    comma: int = -1
    """Offset of the comma after it; -1 without one."""


class _Node(msgspec.Struct):
    """A value with its range."""

    start: int
    end: int
    value: Any
    members: list[_Member] | None = None
    """The members of an object."""


class Json:
    """An editable JSON text."""

    def __init__(self, text: str) -> None:
        """Parse the text. Raises `CitewellError` unless it is a JSON object."""
        self.text = text
        self._tokens: list[_Token] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise unreadable("it is not JSON")
            if found.lastgroup != "space":
                self._tokens.append(_Token(found.lastgroup or "", found[0], at))
            at = found.end()
        self._left = [one for one in self._tokens if one.kind != "comment"]
        self._next = 0
        try:
            self.root = self._value()
        except (IndexError, ValueError, RecursionError) as error:
            raise unreadable("it is not JSON") from error
        if self._next < len(self._left) or self.root.members is None:
            raise unreadable("it is no JSON object")

    def _take(self, text: str = "") -> _Token:
        token = self._left[self._next]
        if text and token.text != text:
            raise ValueError(token.text)
        self._next += 1
        return token

    def _value(self) -> _Node:
        token = self._take()
        if token.text == "{":
            members: list[_Member] = []
            while self._left[self._next].text != "}":
                key = self._take()
                if key.kind != "text":
                    raise ValueError(key.text)
                self._take(":")
                member = _Member(json.loads(key.text), key.start, self._value())
                members.append(member)
                if self._left[self._next].text == ",":
                    member.comma = self._take().start
                elif self._left[self._next].text != "}":
                    raise ValueError(key.text)
            value = {one.key: one.node.value for one in members}
            return _Node(token.start, self._take("}").end, value, members)
        if token.text == "[":
            items: list[Any] = []
            while self._left[self._next].text != "]":
                items.append(self._value().value)
                if self._left[self._next].text == ",":
                    self._take()
                elif self._left[self._next].text != "]":
                    raise ValueError(token.text)
            return _Node(token.start, self._take("]").end, items)
        if token.kind == "mark":
            raise ValueError(token.text)
        return _Node(token.start, token.end, json.loads(token.text))

    def member(self, path: Sequence[str]) -> _Member | None:
        """The member at a path of keys. Raises `CitewellError` if a value on the path is no
        object."""
        node, found = self.root, None
        for key in path:
            if node.members is None:
                raise unreadable(f"{key!r} would be in a value that is no object")
            found = next((one for one in reversed(node.members) if one.key == key), None)
            if found is None:
                return None
            node = found.node
        return found

    def set(self, path: Sequence[str], value: Any) -> str:
        """The text with a value at a path; missing objects are created."""
        held = self.member(path)
        if held is not None:
            if held.node.value == value:
                return self.text
            start, end = held.node.start, held.node.end
            new = self._dumped(value, self._indent_at(held.start))
            return self.text[:start] + new + self.text[end:]
        known = len(path) - 1
        while known and self.member(path[:known]) is None:
            known -= 1
        parent = self.member(path[:known]) if known else None
        node = self.root if parent is None else parent.node
        if node.members is None:
            raise unreadable(f"{path[known]!r} would be in a value that is no object")
        for key in reversed(path[known + 1 :]):
            value = {key: value}
        return self._inserted(node, node.members, path[known], value)

    def _inserted(self, node: _Node, members: list[_Member], key: str, value: Any) -> str:
        text, line_end = self.text, "\r\n" if "\r\n" in self.text else "\n"
        outer = self._indent_at(node.start)
        after = self._end_before(node.end - 1)
        if members and "\n" not in text[node.start : node.end]:
            new = f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        else:
            inner = self._indent_at(members[0].start) if members else outer + self._unit()
            new = f"{line_end}{inner}{json.dumps(key)}: {self._dumped(value, inner)}"
        if not members:
            closed = "\n" in text[after : node.end]
            return text[:after] + new + ("" if closed else line_end + outer) + text[after:]
        last = members[-1]
        if last.comma >= 0:
            return f"{text[:after]}{new},{text[after:]}"
        return f"{text[: last.node.end]},{text[last.node.end : after]}{new}{text[after:]}"

    def without(self, path: Sequence[str]) -> str:
        """The text without the member at a path."""
        held = self.member(path)
        if held is None:
            return self.text
        parent = self.member(path[:-1]) if len(path) > 1 else None
        node = self.root if parent is None else parent.node
        members = node.members or []
        at = members.index(held)
        before = self._end_before(held.start)
        head, tail = self.text[:before], self.text[(held.comma + 1) or held.node.end :]
        if self.text.startswith("//", self._last_before(held.start).start):
            tail = tail if tail.startswith(("\n", "\r")) else "\n" + tail
        if held.comma < 0 and at:
            comma = members[at - 1].comma
            head = head[:comma] + head[comma + 1 :]
        if len(members) == 1 and head.endswith("{") and tail.lstrip().startswith("}"):
            tail = tail.lstrip()
        return head + tail

    def _end_before(self, offset: int) -> int:
        return self._last_before(offset).end

    def _last_before(self, offset: int) -> _Token:
        """The last token or comment before an offset."""
        return max((one for one in self._tokens if one.end <= offset), key=lambda one: one.end)

    def _indent_at(self, offset: int) -> str:
        """The indent of the line of an offset."""
        line = self.text[self.text.rfind("\n", 0, offset) + 1 : offset]
        return line[: len(line) - len(line.lstrip())]

    def _unit(self) -> str:
        found = _INDENT.search(self.text)
        return found[1] if found else "  "

    def _dumped(self, value: Any, indent: str) -> str:
        line_end = "\r\n" if "\r\n" in self.text else "\n"
        lines = _laid_out(value, self._unit()).split("\n")
        return f"{line_end}{indent}".join(lines)


def _laid_out(value: Any, unit: str) -> str:
    """JSON with a line for each member of an object, and lists in one line."""
    if not isinstance(value, dict) or not value:
        return json.dumps(value, ensure_ascii=False)
    lines = [
        f"{unit}{json.dumps(key)}: " + _laid_out(one, unit).replace("\n", f"\n{unit}")
        for key, one in value.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}"


def with_entry(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """The JSON with an entry in the object `key`; further members of an existing entry stay.

    Raises `CitewellError`.
    """
    text = text if text.strip() else "{}\n"
    before = Json(text).root.value
    for field, value in entry.items():
        text = Json(text).set((key, name, field), value)
    held = before.get(key, {})
    wanted = {**before, key: {**held, name: {**held.get(name, {}), **entry}}}
    return _checked(text, wanted, lambda new: Json(new).root.value)


def without_entry(text: str, key: str, name: str) -> str:
    """The JSON without an entry of the object `key`, and without that object if it becomes empty;
    "" if nothing remains. Raises `CitewellError`."""
    found = Json(text)
    if found.member((key, name)) is None:
        return text
    wanted = {**found.root.value, key: dict(found.root.value[key])}
    del wanted[key][name]
    text = found.without((key, name))
    if not wanted[key] and "/" not in _text_of(text, key):
        del wanted[key]
        text = Json(text).without((key,))
    _checked(text, wanted, lambda new: Json(new).root.value)
    return "" if text.strip() == "{}" else text


def _text_of(text: str, key: str) -> str:
    held = Json(text).member((key,))
    return "" if held is None else text[held.node.start : held.node.end]


def _checked(text: str, wanted: Any, read: Callable[[str], Any]) -> str:
    """The text, if it has the wanted meaning."""
    if read(text) != wanted:
        raise unreadable("the change would change more than is meant")
    return text


# TOML, in which a table has its own lines.


def _blocks(text: str, key: str, name: str) -> list[tuple[int, int]]:
    """The lines of the table of an entry, and of the tables in it, as offsets."""
    part = rf"[\"']?{re.escape(name)}[\"']?"
    own = re.compile(rf"^[ \t]*\[[ \t]*{re.escape(key)}[ \t]*\.[ \t]*{part}[ \t]*[\].]", re.M)
    found = []
    for head in own.finditer(text):
        after = re.compile(r"^[ \t]*\[", re.M).search(text, head.end())
        block = text[head.start() : after.start() if after else len(text)]
        # Comments and empty lines at the end belong to the next table.
        kept = re.sub(r"(?:(?<=\n)[ \t]*(?:#[^\n]*)?(?:\n|\Z))+\Z", "", block)
        found.append((head.start(), head.start() + len(kept)))
    return found


def with_toml_entry(text: str, key: str, name: str, entry: Mapping[str, Any]) -> str:
    """The TOML with an entry in the table `key`; further settings of an existing entry stay. Raises
    `CitewellError`."""
    before = _toml(text)
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = {
        field: f"{field} = {json.dumps(value, ensure_ascii=False)}"
        for field, value in entry.items()
    }
    blocks = _blocks(text, key, name)
    held = before.get(key, {})
    if not isinstance(held, dict) or not isinstance(held.get(name, {}), dict):
        raise unreadable(f"{key} is no table")
    if name in held:
        if not blocks:
            raise unreadable(f"{name} is not a table of its own")
        start, end = blocks[0]
        block = text[start:end]
        for field, line in lines.items():
            own = re.search(rf"^[ \t]*{field}[ \t]*=[ \t]*(?:\[[^\]]*\]|[^\r\n#]*)", block, re.M)
            if own is not None:
                block = block[: own.start()] + line + block[own.end() :]
            else:
                head = block.index("\n") + 1 if "\n" in block else len(block)
                block = f"{block[:head]}{line}{line_end}{block[head:]}"
        text = text[:start] + block + text[end:]
    else:
        gap = line_end if not text or text.endswith("\n") else line_end * 2
        table = line_end.join((f"[{key}.{name}]", *lines.values()))
        text = f"{text}{gap if text else ''}{table}{line_end}"
    wanted = {**before, key: {**held, name: {**held.get(name, {}), **entry}}}
    return _checked(text, wanted, _toml)


def without_toml_entry(text: str, key: str, name: str) -> str:
    """The TOML without an entry of the table `key`. Raises `CitewellError`."""
    before = _toml(text)
    if not isinstance(before.get(key), dict) or name not in before[key]:
        return text
    wanted = {**before, key: {one: value for one, value in before[key].items() if one != name}}
    for start, end in reversed(_blocks(text, key, name)):
        head = text[:start]
        for gap in ("\r\n\r\n", "\n\n"):
            if head.endswith(gap):
                head = head[: -len(gap) // 2]
                break
        text = head + text[end:]
    if not wanted[key] and key not in _toml(text):
        del wanted[key]
    return _checked(text, wanted, _toml)


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise unreadable("it is not TOML") from error
