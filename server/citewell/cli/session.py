"""The global flags, and the objects that every command derives from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from citewell.cli.report import show_problems

if TYPE_CHECKING:
    from citewell.model.bib import BibFile
    from citewell.options.load import Loaded


@dataclass
class Session:
    """The global flags. `click.pass_obj` hands it to each command."""

    library: str = ""
    """A library's name, or the folder of one."""
    config: Path | None = None
    overrides: tuple[str, ...] = ()
    """`NAME=VALUE`, as given to --set."""
    verbosity: int = 0

    def load(self, document: Path | None = None) -> Loaded:
        """The settings for a document (or the current folder); what is wrong goes to stderr.

        A flag that cannot hold is a usage error: who named another model for this run must not be
        served by the usual one.
        """
        from citewell.options.folders import working_folder
        from citewell.options.load import load, wrong_flags

        flags = self.flags()
        if wrong := wrong_flags(flags):
            hint = f"\n{wrong[0].hint}" if wrong[0].code == "settings-unknown" else ""
            raise click.UsageError(f"--set: {wrong[0].message}{hint}")
        loaded = load(
            None,
            overrides=flags,
            document=document or working_folder(),
            user_file=self.config,
        )
        if self.verbosity >= 0:
            show_problems(loaded.problems)
        return loaded

    def flags(self) -> dict[str, Any]:
        """The flags as settings by dotted name; a usage error for `--set` without `=`."""
        from citewell.options.load import library_settings

        found: dict[str, Any] = {}
        for text in self.overrides:
            name, equals, value = text.partition("=")
            if not equals:
                raise click.UsageError(f"--set takes NAME=VALUE, not `{text}`.")
            found[name.strip()] = value.strip()
        return found | library_settings(self.library)


# The .bib files whose keys name papers on the command line.

BIB = click.Path(path_type=Path, exists=True, dir_okay=False)


def own_bibs(paths: Sequence[Path]) -> list[BibFile]:
    """These .bib files; without one, the only one of the folder, if it can be read. Raises
    `CitewellError`."""
    from citewell.documents.bib.reader import parse_bib
    from citewell.documents.project.declared_bibs import lone_bib
    from citewell.documents.textfile import read_text
    from citewell.model import CitewellError
    from citewell.options.folders import working_folder

    if paths:
        return [parse_bib(read_text(path).text, str(path)) for path in paths]
    own = lone_bib(working_folder())
    try:
        return [] if own is None else [parse_bib(read_text(own).text, str(own))]
    except CitewellError as error:
        show_problems([error.problem])
        return []
