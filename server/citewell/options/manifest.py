"""Writes the settings into an editor's manifest: `citewell.options.manifest package.json`.

Settings of the extension itself, which the tree does not know, stay as they are.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from citewell.options.tree import TITLES
from citewell.options.values import json_schema, sections

_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")
PREFIX = "citewell."


def with_settings(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest with one group for each section of the tree in the order of use, and its own
    last: who has to name the server is led there by a message."""
    schema = json_schema()
    contributes = manifest.get("contributes", {})
    groups: list[dict[str, Any]] = []
    for name in sorted((name for name, _ in sections()), key=_place):
        found = (
            (wire, entry)
            for wire, entry in schema.items()
            if wire.removeprefix(PREFIX).rpartition(".")[0] == name
        )
        # An editor sorts by name what has no order.
        inside = {wire: {"order": at, **_shown(entry)} for at, (wire, entry) in enumerate(found)}
        if inside:
            groups.append({"title": _title(name), "order": len(groups) + 1, "properties": inside})
    for own in _own_groups(contributes.get("configuration", []), schema):
        groups.append({**own, "order": len(groups) + 1})
    return {**manifest, "contributes": {**contributes, "configuration": groups}}


def _title(section: str) -> str:
    return TITLES.get(section, section.replace("_", " ").replace(".", ": ").title())


def _place(section: str) -> int:
    """Where a section stands; a new one before what few authors touch."""
    order = list(TITLES)
    return order.index(section) if section in order else order.index("sources")


def _own_groups(groups: list[dict[str, Any]], schema: dict[str, Any]) -> list[dict[str, Any]]:
    """The groups that hold a setting which is not in the tree."""
    prefixes = {wire.split(".")[1] for wire in schema}
    return [
        group
        for group in groups
        if any(name.split(".")[1] not in prefixes for name in group["properties"])
    ]


def _shown(entry: dict[str, Any]) -> dict[str, Any]:
    """An entry as the editor's page of settings shows it: Markdown, without our relative links."""
    text = _LINK.sub(r"\1: docs/\2", entry["description"])
    rest = {name: value for name, value in entry.items() if name != "description"}
    return {"scope": "resource", **rest, "markdownDescription": text}


def main(arguments: list[str]) -> None:
    """Rewrite the manifests whose paths are given."""
    for argument in arguments:
        path = Path(argument)
        manifest = with_settings(json.loads(path.read_text(encoding="utf-8")))
        text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
