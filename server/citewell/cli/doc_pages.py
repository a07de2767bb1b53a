"""Writes the pages that are made from the code: `python -m citewell.cli.doc_pages commands`.

Pages: `commands` and `privacy`. Tests keep `docs/` in step with the code.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import urlsplit

import click

from citewell.cli.app import root
from citewell.llm.providers import PROVIDERS
from citewell.options.folders import CACHE_VARIABLE, DATA_VARIABLE, STORED
from citewell.privacy import SWITCHES
from citewell.sources.registry import ALWAYS, DOWNLOADS, NEVER, SOURCES, what_is_sent

COMMANDS_HEAD = """\
# Commands

<!-- Written by `make docs`; edit the commands' own help instead. -->

Global options come before the command. Problems are written to standard error, with a code
([problems.md](problems.md)) and a hint; results are written to standard output.

| exit code | meaning |
|---|---|
| 0 | success, nothing to report |
| 1 | success with findings: no papers found, an open placeholder, a problem that `doctor` reports |
| 2 | usage error, or an environment in which the command cannot work |
| 130 | interrupted |
"""


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
    """The reference page as Markdown: the help of each command."""
    parts = [COMMANDS_HEAD]
    for name, command in commands():
        context = click.Context(
            command, info_name=name, terminal_width=100, help_option_names=["-h", "--help"]
        )
        parts.append(f"\n## {name}\n\n```text\n{command.get_help(context).rstrip()}\n```\n")
    return "".join(parts)


PRIVACY_HEAD = f"""\
# Privacy

<!-- Written by `make docs`; edit the tables in the code instead. -->

Citewell works on your machine. It connects to nothing else, and writes nothing outside the folders
below, unless a setting or a command of yours says so. Tests trace the system calls of its commands
and of the packages that these use.

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
On Linux and macOS, only you can read the folders for data and cache; what an older version left
open to others is closed when it is written again. A library that several people share belongs
elsewhere (`library.path`). The cache may be deleted at any time. A command also uses the system's
temporary folder, and removes what it put there when it ends. `fill`, `check --fix`, editors, and
agents with `--allow-write` write into your project, and options such as `--json` the files that
they name.

No command runs code of the working folder: no process imports from there, and no settings of a
project can name a program or a recipient. What a command starts ends with it, even if it is killed.

## Sent, and when

"""
SETTINGS = (
    (
        "the hub of Hugging Face",
        "huggingface.co",
        "the name of a model",
        "when `retrieval.encoders`, `retrieval.cross_encoder` or `llm.model` names one that is not "
        "on this machine; never again once it is",
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
        "by `library build --ray HOST:PORT`; `--ray local` is this machine alone",
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
## Packages of others

Some packages report their use, look for updates or download lists by themselves. Citewell sets
these variables in each of its processes before such a package can be imported, whatever they were:

"""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def privacy_page() -> str:
    """The page as Markdown."""
    sources = [
        (title, host, sends, "when `sources.allow` names it")
        for title, host, sends in what_is_sent(tuple(SOURCES))
    ]
    bulk = [
        (name, "its own", "nothing of yours", "by `library fetch`, when allowed")
        for name in DOWNLOADS
    ]
    models = [
        (
            one.title,
            urlsplit(one.base).hostname or "its own",
            "the passage, titles and abstracts",
            "when `llm.provider` names it",
        )
        for one in PROVIDERS.values()
        if one.name != "transformers"
    ]
    stored = _table(
        ("folder", "name", "contents", "written"),
        [(one.folder, f"`{one.name}`", one.contents, one.written) for one in STORED],
    )
    sent = _table(("to", "host", "what", "when"), [*sources, *bulk, *models, *SETTINGS])
    switched = _table(
        ("package", "variables"),
        [
            (package, " ".join(f"`{name}={value}`" for name, value in variables.items()))
            for package, variables in SWITCHES.items()
        ],
    )
    return "".join(
        (PRIVACY_HEAD, stored, FOLDERS, sent, f"\n{NEVER} {ALWAYS}\n", SWITCHED, switched)
    )


PAGES = {"commands": commands_page, "privacy": privacy_page}

if __name__ == "__main__":
    sys.stdout.buffer.write(PAGES[sys.argv[1]]().encode("utf-8"))
