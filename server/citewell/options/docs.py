"""Writes the reference page of the settings: `python -m citewell.options.docs > docs/settings.md`.

`--json` writes the JSON Schema that the editors' manifests repeat. A test keeps both in step.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from citewell.options.values import Setting, constraints, describe, json_schema, sections, settings

HEAD = """\
# Settings

<!-- Written by `make docs`; edit server/citewell/options/tree.py instead. -->

Every setting has one name and can be set in five places; later ones override earlier ones:

1. the user file, `citewell/config.toml` in the configuration folder of your system
   (`~/.config` on Linux, `~/Library/Application Support` on macOS, `%LOCALAPPDATA%` on Windows),
   or the file that `--config` or the variable `CITEWELL_CONFIG` names;
2. the workspace file, the nearest `citewell.toml` from the manuscript's folder upward to the
   root of the workspace or repository;
3. the environment, as `CITEWELL_RETRIEVAL_RRF_K=30`; lists are separated by commas;
4. the editor, in camelCase below `citewell`, as `"citewell.retrieval.rrfK": 30`;
5. the flag `--set retrieval.rrf_k=30` of the command line.

```toml
[retrieval]
rrf_k = 30
```

A wrong name or value is reported with its place and the nearest valid one, and the setting keeps
the value from the other places; on the command line it is an error. For settings that name a
recipient (`llm.provider`, `sources.allow`), a wrong value means no recipient, whatever the other
places say. `citewell doctor` shows where each setting was set.

The user data folder, with the libraries, the learned history and the usage of
language models, is `~/.local/share/citewell` on Linux, `~/Library/Application Support/citewell` on
macOS and `%LOCALAPPDATA%\\citewell` on Windows, or the folder that the variable `CITEWELL_DATA`
names.

A `citewell.toml` travels with other people's manuscripts. It therefore cannot set settings marked
"not in workspaces": those that send data, run a program, or name a provider, an address or a
private path. Settings marked "in workspaces below the paper" may name only paths inside the folder
of the paper's main file, links followed: no `..`, no `~`, no absolute path. All other settings only
affect what is found, shown and written into the paper's own files.
"""


def page() -> str:
    """The reference page as Markdown."""
    titles = dict(sections())
    parts = [HEAD]
    section = ""
    for setting in settings():
        above = setting.name.rpartition(".")[0]
        if above != section:
            section = above
            parts.append(f"\n## {section}\n\n{titles.get(section, '')}\n")
            parts.append("\n| setting | in the editor | value | default | meaning |")
            parts.append("\n|---|---|---|---|---|\n")
        parts.append(_row(setting))
    return "".join(parts)


def _row(setting: Setting) -> str:
    value, meta = describe(setting.type), constraints(setting.type)
    if meta.ge is not None and meta.le is not None:
        value += f", {meta.ge:g} to {meta.le:g}"
    elif meta.ge is not None:
        value += f", at least {meta.ge:g}"
    elif meta.le is not None:
        value += f", at most {meta.le:g}"
    note = " Not in workspaces." if setting.trusted_only else ""
    note += " In workspaces below the paper." if setting.stays_inside else ""
    cells = (
        f"`{setting.name}`",
        f"`{setting.wire}`",
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


def main(arguments: list[str]) -> None:
    """Write the page, or with `--json` the schema, to standard output as UTF-8."""
    if "--json" in arguments:
        text = json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    else:
        text = page()
    sys.stdout.buffer.write(text.encode("utf-8"))


if __name__ == "__main__":
    main(sys.argv[1:])
