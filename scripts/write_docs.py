"""Writes the pages and the manifest that are made from the code: `python scripts/write_docs.py`."""

from __future__ import annotations

import json
import re
import typing
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import dedent
from typing import Any
from urllib.parse import urlsplit

import click
import msgspec

from citewell.cli.app import root
from citewell.features.checking.codes import CODES, meaning_of, part_of
from citewell.llm.providers import PROVIDERS
from citewell.model.words import PARTS
from citewell.options.folders import CACHE_VARIABLE, DATA_VARIABLE, STORED
from citewell.options.values import (
    Setting,
    bare,
    choices,
    constraints,
    describe,
    is_union,
    item,
    names,
    pattern,
    sections,
    settings,
)
from citewell.privacy import SWITCHES
from citewell.sources.registry import ALWAYS, DOWNLOADS, NEVER, source_title
from citewell.verification.finding import MEANINGS as FINDINGS

REPOSITORY = Path(__file__).resolve().parents[1]

_RANGE = re.compile(r"\b(INTEGER|FLOAT) RANGE\b")

COMMANDS_HEAD = """\
# Commands

<!-- Written by `make docs`; edit the commands' own help instead. -->

Options of `citewell` come before the command, all others after it. `-h` shows the help of any
command. Results are written to standard output, [problems](problems.md) to standard error.

| exit code | meaning |
|---|---|
| 0 | success, nothing to report |
| 1 | success with findings: no papers found, an open placeholder, a problem that `doctor` reports |
| 2 | usage error, or an environment in which the command cannot work |
| 130 | interrupted |

These options mean the same in every command that names them under *Also*:

"""
SHARED = 3
"""Number of commands from which an option is described once, in the head of the page."""


def commands(
    group: click.Command = root, name: str = "citewell"
) -> Iterator[tuple[str, click.Command]]:
    """Every command with its full name, groups before what they hold."""
    yield name, group
    if isinstance(group, click.Group):
        context = click.Context(group, info_name=name)
        for child_name in group.list_commands(context):
            child = group.get_command(context, child_name)
            if child is not None and not child.hidden:
                yield from commands(child, f"{name} {child_name}")


def commands_page() -> str:
    """The reference page as Markdown: usage, text and options of each command."""
    contexts = [
        click.Context(command, info_name=name, terminal_width=100) for name, command in commands()
    ]
    uses = Counter(record for context in contexts for record in _options(context))
    shared = {record for record, number in uses.items() if number >= SHARED}
    parts = [COMMANDS_HEAD, _block(_list(sorted(shared)))]
    for context in contexts:
        own = [record for record in _options(context) if record not in shared]
        also = [record[0].split()[0] for record in _options(context) if record in shared]
        text = click.HelpFormatter(width=100)
        context.command.format_help_text(context, text)
        usage = " ".join(context.command.collect_usage_pieces(context)).replace("[OPTIONS]", "")
        line = f"{context.info_name} {usage.strip()}".rstrip()
        parts.append(f"\n## {context.info_name}\n\n{dedent(text.getvalue()).strip()}\n\n")
        parts.append(_block(f"{line}\n{_list(own)}"))
        parts.append(f"\nAlso: {', '.join(f'`{name}`' for name in also)}\n" if also else "")
    return "".join(parts)


def _options(context: click.Context) -> list[tuple[str, str]]:
    """The options of a command with their help, without `--help`."""
    records = (
        option.get_help_record(context)
        for option in context.command.params
        if isinstance(option, click.Option)
    )
    return [(_RANGE.sub(r"\1", name), text) for name, text in filter(None, records)]


def _list(records: Sequence[tuple[str, str]]) -> str:
    """The records in two columns; their help is wrapped."""
    formatter = click.HelpFormatter(width=100)
    if records:
        formatter.indent()
        formatter.write_dl(records)
    return formatter.getvalue()


def _block(text: str) -> str:
    return f"```text\n{text.rstrip()}\n```\n"


PRIVACY_HEAD = f"""\
# Privacy

<!-- Written by `make docs`; edit the tables in the code instead. -->

Citewell works on your machine. It connects to nothing else, and writes nothing outside these
folders, unless one of your settings or commands says so.

## Stored on this machine

| folder | Linux | macOS | Windows | variable |
|---|---|---|---|---|
| data | `~/.local/share/citewell` | `~/Library/Application Support/citewell` | \
`%LOCALAPPDATA%\\citewell` | `{DATA_VARIABLE}` |
| cache | `~/.cache/citewell` | `~/Library/Caches/citewell` | \
`%LOCALAPPDATA%\\citewell\\Cache` | `{CACHE_VARIABLE}` |
| settings | `~/.config/citewell` | `~/Library/Application Support/citewell` | \
`%LOCALAPPDATA%\\citewell` | `CITEWELL_CONFIG` (the file) |

"""
FOLDERS = """
On Linux and macOS, only you can read the folders for data and cache. Keep a shared library
elsewhere (`library.path`). You may delete the cache at any time. Commands remove their temporary
files. `fill`, `check --fix`, editors, and agents with `--allow-write` write into your project.

No command runs code of the working folder, and no settings of a project can name a program or a
recipient.

## Sent, and when

"""
SETTINGS = (
    (
        "the hub of Hugging Face",
        "huggingface.co",
        "the name of a model",
        "when `retrieval.encoders`, `retrieval.cross_encoder` or `llm.model` names one that is not "
        "on this machine",
    ),
    (
        "a Qdrant server",
        "that of the setting",
        "words of a search and their vector; with `library build --to`, the library",
        "when `retrieval.backend` or `--to` names it",
    ),
    (
        "a Ray cluster",
        "that of the option",
        "titles and abstracts of the library",
        "by `library build --ray HOST:PORT`",
    ),
    ("GROBID", "that of the setting", "the whole PDF", "when `pdf.grobid` names it"),
    (
        "Zotero",
        "this machine",
        "search words and keys",
        "by `library add zotero:`, and with `zotero.live`",
    ),
    (
        "the package index of pip or uv",
        "that of their settings",
        "names of packages",
        "when you install the server from an editor",
    ),
)
SWITCHED = """
## Third-party packages

Some packages report usage, look for updates, download lists or draw progress bars. Citewell sets
these variables in each of its processes:

"""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def privacy_page() -> str:
    """The page as Markdown."""
    models = [one for one in PROVIDERS.values() if one.name != "transformers"]
    recipients = (
        (
            "each allowed source",
            "[its host](sources.md#the-sources)",
            "identifiers, titles, first authors and years of references; search words",
            "when `sources.allow` names it",
        ),
        (
            " and ".join(source_title(name) for name in DOWNLOADS),
            "its own",
            "nothing of yours",
            "by `library fetch`, when allowed",
        ),
        (
            "a language model",
            ", ".join(
                f"{urlsplit(one.base).hostname or 'its own'} ({one.title})" for one in models
            ),
            "the passage, titles and abstracts",
            "when `llm.provider` names it",
        ),
        *SETTINGS,
    )
    stored = _table(
        ("folder", "name", "contents", "written"),
        [(one.folder, f"`{one.name}`", one.contents, one.written) for one in STORED],
    )
    sent = _table(("to", "host", "what", "when"), recipients)
    switched = _table(
        ("package", "variables"),
        [
            (package, " ".join(f"`{name}={value}`" for name, value in variables.items()))
            for package, variables in SWITCHES.items()
        ],
    )
    return "".join(
        (
            PRIVACY_HEAD,
            stored,
            FOLDERS,
            sent,
            f"\n**Sources.** {NEVER} {ALWAYS}\n",
            SWITCHED,
            switched,
        )
    )


SETTINGS_HEAD = """\
# Settings

<!-- Written by `make docs`; edit server/citewell/options/tree.py instead. -->

Every setting has one name and can be set in five places; later ones override earlier ones:

1. the user file, `citewell/config.toml` in the configuration folder of your system
   (`~/.config` on Linux, `~/Library/Application Support` on macOS, `%LOCALAPPDATA%` on Windows),
   or the file that `--config` or the variable `CITEWELL_CONFIG` names;
2. the workspace file, the nearest `citewell.toml` from the manuscript's folder upward to the
   root of the workspace or repository;
3. the environment, as `CITEWELL_RETRIEVAL_RRF_K=30`; lists are separated by commas. A file of
   variables, such as `.env`, is read only with `citewell --env-file .env COMMAND`, below those of
   the process: a workspace must not set keys by itself;
4. the editor, in camelCase below `citewell`, as `"citewell.retrieval.timeoutMs": 5000`;
5. the flag `--set retrieval.timeout_ms=5000` of the command line.

```toml
[retrieval]
timeout_ms = 5000
```

A wrong name or value is reported, and the setting keeps the value from the other places; on the
command line it is an error. A wrong recipient (`llm.provider`, `sources.allow`) means none.
`citewell doctor` shows where each setting was set.

A `citewell.toml` travels with other people's manuscripts. It cannot set settings marked "not in
workspaces", which send data, run a program, or name an address or a private path. Settings marked
"in workspaces below the paper" may name only paths inside the folder of the paper's main file,
symbolic links followed.
"""


def settings_page() -> str:
    """The reference page of the settings as Markdown."""
    titles = dict(sections())
    parts = [SETTINGS_HEAD]
    for section, grouped in groupby(settings(), lambda one: one.name.rpartition(".")[0]):
        members = list(grouped)
        is_trusted = all(setting.trusted_only for setting in members)
        note = " Workspace files cannot set these." if is_trusted else ""
        parts.append(f"\n## {section}\n\n{titles.get(section, '')}{note}\n")
        parts.append("\n| setting | value | default | meaning |\n|---|---|---|---|\n")
        parts += [_row(setting, note="" if is_trusted else _note(setting)) for setting in members]
    return "".join(parts)


def _note(setting: Setting) -> str:
    """Where a workspace file may not set the setting."""
    note = " Not in workspaces." if setting.trusted_only else ""
    return note + (" In workspaces below the paper." if setting.stays_inside else "")


def _row(setting: Setting, note: str) -> str:
    value, meta = describe(setting.type), constraints(setting.type)
    if meta.ge is not None and meta.le is not None:
        value += f", {meta.ge:g} to {meta.le:g}"
    elif meta.ge is not None:
        value += f", at least {meta.ge:g}"
    elif meta.le is not None:
        value += f", at most {meta.le:g}"
    cells = (
        f"`{setting.name}`",
        value,
        _default(setting.default),
        setting.help + note,
    )
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def _default(value: Any) -> str:
    if value is None or value in ("", (), {}):
        return "none"
    if isinstance(value, bool):
        return "`true`" if value else "`false`"
    if isinstance(value, tuple):
        return ", ".join(_default(item) for item in value)
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


TITLES = {
    "library": "Library of Papers",
    "bib": "Entries in the .bib",
    "completion": "Completion",
    "documents": "Citations and Placeholders",
    "fill": "Filling Placeholders",
    "diagnostics": "Diagnostics",
    "features": "Features",
    "hover": "Hover",
    "inlay": "Inlay Hints",
    "lens": "Code Lenses",
    "sources": "Online Sources",
    "zotero": "Zotero",
    "learning": "Learning from Use",
    "llm": "Language Model",
    "pdf": "PDF Files",
    "serve": "HTTP Server",
    "retrieval": "Search Engine",
}
"""What an editor's page of settings calls the sections, in the order of use."""


def json_schema() -> dict[str, dict[str, Any]]:
    """JSON Schema of each setting by wire name below "citewell.", for the editors' manifests.

    Settings that must not travel with a workspace carry `scope: "machine"`.
    """
    found: dict[str, dict[str, Any]] = {}
    for setting in settings():
        entry = _type_schema(setting.type)
        limits: dict[str, Any] = {
            key: entry.pop(key) for key in ("minimum", "maximum", "pattern") if key in entry
        }
        entry |= {
            "default": msgspec.json.decode(msgspec.json.encode(setting.default, enc_hook=str)),
            "description": setting.help,
            **limits,
        }
        if setting.trusted_only:
            entry["scope"] = "machine"
        found[f"citewell.{setting.wire}"] = entry
    return found


def _type_schema(kind: Any) -> dict[str, Any]:
    """The schema of a type in the form that editors show best: one `type`, choices in order."""
    if choices(kind):
        return {"type": "string", "enum": list(choices(kind))}
    if (inner := item(kind)) is not None:
        schema = _type_schema(inner)
        if typing.get_origin(bare(kind)) is dict:
            known = {name: schema for name in names(kind)}
            more = {"properties": known} if known else {}
            return {"type": "object", **more, "additionalProperties": False if known else schema}
        return {"type": "array", "items": schema}
    if is_union(bare(kind)):
        members = typing.get_args(bare(kind))
        return {"type": [_type_schema(member)["type"] for member in members]}
    schema = msgspec.json.schema(kind, schema_hook=lambda custom: {"type": "string"})
    schema.pop("description", None)
    if "pattern" in schema:
        schema["pattern"] = f"^(?:{pattern(kind)})$"
    return schema


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


def manifest() -> str:
    """The manifest of the VS Code extension with the settings as they are now."""
    text = (REPOSITORY / "clients/vscode/package.json").read_text(encoding="utf-8")
    return json.dumps(with_settings(json.loads(text)), indent=2, ensure_ascii=False) + "\n"


CODES_HEAD = """\
## Codes

<!-- Written by `make docs`; edit `features/checking/codes.py` and what it names instead. -->

The part `references` also has the codes of the [check](check.md#findings).

| code | part | meaning |
|---|---|---|
"""


def review_page() -> str:
    """The page of the review with the table of its codes as they are now."""
    page = (REPOSITORY / "docs/review.md").read_text(encoding="utf-8")
    codes: dict[tuple[str, str], list[str]] = {}
    for code in sorted(CODES, key=_part_number):
        if code not in FINDINGS:
            codes.setdefault((part_of(code), meaning_of(code)), []).append(f"`{code}`")
    rows = (
        f"| {', '.join(same)} | {part} | {meaning} |\n" for (part, meaning), same in codes.items()
    )
    return page.partition("## Codes\n")[0] + CODES_HEAD + "".join(rows)


def _part_number(code: str) -> int:
    return list(PARTS).index(part_of(code))


PAGES = {
    "docs/review.md": review_page,
    "docs/settings.md": settings_page,
    "docs/commands.md": commands_page,
    "docs/privacy.md": privacy_page,
    "clients/vscode/package.json": manifest,
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (REPOSITORY / name).write_text(page(), encoding="utf-8", newline="\n")
